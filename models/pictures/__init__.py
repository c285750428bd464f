"""Generative picture models and folders of pictures: where a scene's picture may come from."""
