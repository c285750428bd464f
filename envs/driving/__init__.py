"""The driving room."""
