"""Meshes of the driving domain's objects."""
