"""What the renderer computes for each ray, compiled by numba: scalars in, scalars out, no arrays
of temporaries. The arithmetic is in doubles; arrays are float32, one row a ray.
"""
