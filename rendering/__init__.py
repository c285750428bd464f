"""Mesh building and the Embree ray tracer."""
