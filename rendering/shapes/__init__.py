"""Shapes that several domains use: primitives, people."""
