"""The searchers room."""
