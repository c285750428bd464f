"""Tileable noise textures: every procedural pattern of the renderer is a lookup in one of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from .mesh import F32

SIZE = 512
"""Side of a noise texture, texels; a power of two, so that wrapping is a mask."""

_MASK = SIZE - 1
_SHIFT = SIZE.bit_length() - 1


@cache
def cloud_noise() -> F32:
    """Return fractal noise, flat `SIZE * SIZE`, uniform on [0, 1], smooth at one texel."""
    return _fractal((4, 8, 16, 32, 64, 128), seed=11)


@cache
def grain_noise() -> F32:
    """Return fine grain, flat `SIZE * SIZE`, uniform on [0, 1]."""
    return _fractal((128, 256, 512), seed=23)


def _fractal(cells: tuple[int, ...], seed: int) -> F32:
    rng = np.random.default_rng(seed)
    total = np.zeros((SIZE, SIZE))
    for octave, count in enumerate(cells):
        grid = rng.random((count, count))
        position = np.arange(SIZE) * (count / SIZE)
        low = np.floor(position).astype(int)
        part = position - low
        part = part * part * (3.0 - 2.0 * part)
        high = (low + 1) % count
        rows = grid[low] * (1.0 - part[:, None]) + grid[high] * part[:, None]
        total += 0.55**octave * (rows[:, low] * (1.0 - part) + rows[:, high] * part)
    # Uniform values: a threshold of 1 - c covers exactly the share c of the texture.
    ranks = np.empty(SIZE * SIZE, dtype=np.float32)
    ranks[np.argsort(total.ravel(), kind="stable")] = np.linspace(0.0, 1.0, SIZE * SIZE)
    return ranks


def nearest(texture: F32, u: F32, v: F32) -> F32:
    """Look up `texture` at texel coordinates (`n`, `n`), wrapping."""
    column = np.floor(u).astype(np.int32)
    row = np.floor(v).astype(np.int32)
    column &= _MASK
    row &= _MASK
    row <<= _SHIFT
    row |= column
    values: F32 = texture.take(row)
    return values


def bilinear(texture: F32, u: F32, v: F32) -> F32:
    """Look up `texture` at texel coordinates (`n`, `n`), wrapping, linear between texels."""
    column_floor, row_floor = np.floor(u), np.floor(v)
    a, b = u - column_floor, v - row_floor
    column, row = column_floor.astype(np.int32), row_floor.astype(np.int32)
    left, right = column & _MASK, (column + 1) & _MASK
    top, bottom = (row & _MASK) << _SHIFT, ((row + 1) & _MASK) << _SHIFT
    upper = texture.take(top | left)
    upper += a * (texture.take(top | right) - upper)
    lower = texture.take(bottom | left)
    lower += a * (texture.take(bottom | right) - lower)
    lower -= upper
    lower *= b
    upper += lower
    values: F32 = upper
    return values


def hashed(a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> F32:
    """Return a fixed pseudo-random value in [0, 1) for each pair of integers."""
    mixed = a.astype(np.uint32) * np.uint32(0x9E3779B1) ^ b.astype(np.uint32) * np.uint32(
        0x85EBCA77
    )
    mixed ^= mixed >> np.uint32(15)
    mixed *= np.uint32(0x2C1B3C6D)
    mixed ^= mixed >> np.uint32(13)
    values: F32 = (mixed >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return values
