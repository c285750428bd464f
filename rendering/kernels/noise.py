"""Lookups in tileable noise textures, and a few scalar functions."""

from __future__ import annotations

import math

from ..mesh import F32
from ..noise import SIZE
from .compiled import kernel

_MASK = SIZE - 1
_SHIFT = SIZE.bit_length() - 1


@kernel
def smoothstep(low: float, high: float, x: float) -> float:
    """Return the cubic step from 0 at `low` to 1 at `high` (which may be the lower one)."""
    y = min(max((x - low) / (high - low), 0.0), 1.0)
    return float(y * y * (3.0 - 2.0 * y))


@kernel
def nearest(texture: F32, u: float, v: float) -> float:
    """Look up a flat texture at texel coordinates, wrapping."""
    column = math.floor(u) & _MASK
    row = math.floor(v) & _MASK
    return float(texture[row << _SHIFT | column])


@kernel
def bilinear(texture: F32, u: float, v: float) -> float:
    """Look up a flat texture at texel coordinates, wrapping, linear between texels."""
    column_floor, row_floor = math.floor(u), math.floor(v)
    a, b = u - column_floor, v - row_floor
    left, top = int(column_floor) & _MASK, int(row_floor) & _MASK
    right, bottom = (left + 1) & _MASK, (top + 1) & _MASK
    top, bottom = top << _SHIFT, bottom << _SHIFT
    upper = float(texture[top | left])
    upper += a * (texture[top | right] - upper)
    lower = float(texture[bottom | left])
    lower += a * (texture[bottom | right] - lower)
    return float(upper + b * (lower - upper))


@kernel
def hashed(a: float, b: float) -> float:
    """Return a fixed pseudo-random value in [0, 1) for a pair of whole numbers."""
    mixed = (int(a) * 0x9E3779B1) & 0xFFFFFFFF ^ (int(b) * 0x85EBCA77) & 0xFFFFFFFF
    mixed ^= mixed >> 15
    mixed = (mixed * 0x2C1B3C6D) & 0xFFFFFFFF
    mixed ^= mixed >> 13
    return float((mixed >> 8) * 2.0**-24)


@kernel
def normalised(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a vector at unit length."""
    scale = 1.0 / math.sqrt(max(x * x + y * y + z * z, 1e-12))
    return x * scale, y * scale, z * scale
