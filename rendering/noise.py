"""Tileable noise textures: every procedural pattern of the renderer is a lookup in one of them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .mesh import F32

SIZE = 512
"""Side of a noise texture, texels; a power of two, so that wrapping is a mask."""


class Noise(NamedTuple):
    """The textures, flat `SIZE * SIZE`, uniform on [0, 1].

    Attributes:
        cloud: Fractal, smooth at one texel.
        fine: Fine grain.
    """

    cloud: F32
    fine: F32


@cache
def textures() -> Noise:
    """Return all noise textures."""
    return Noise(cloud_noise(), grain_noise())


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
