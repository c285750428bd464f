"""The _surrogates room."""
