"""From radiance to display values."""

from __future__ import annotations

import math

import numpy as np

from ..mesh import F32
from .compiled import kernel


@kernel
def looked_up(radiance: F32, table: F32, scale: float) -> F32:
    """Return `table` at the square root of each radiance times `scale`, `n x 3`."""
    out = np.empty_like(radiance)
    last = len(table) - 1
    for i in range(radiance.shape[0]):
        for k in range(radiance.shape[1]):
            value = radiance[i, k]
            # Written so that what is not a number is black, too.
            place = math.sqrt(value) * scale + 0.5 if value > 0.0 else 0.0
            out[i, k] = table[int(place) if place < last else last]
    return out
