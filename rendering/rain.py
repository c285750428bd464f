"""Rain in the picture: streaks at several depths."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .mesh import F32

# (streaks per pixel at full rain, length and width in pixels at height 384, opacity)
_LAYERS = (
    (0.0056, 14.0, 0.8, 0.28),
    (0.0020, 32.0, 1.1, 0.34),
    (0.0006, 66.0, 1.7, 0.34),
)
_SLANT = 0.09


@lru_cache(maxsize=16)
def streaks(width: int, height: int, amount: float, seed: int) -> F32:
    """Return the opacity of the rain, `height x width`, read-only.

    Args:
        width: Pixels.
        height: Pixels.
        amount: 0 none ... 1 heavy.
        seed: Chooses the pattern; nothing else does.
    """
    rng = np.random.default_rng([seed, 77])
    scale = height / 384.0
    total = np.zeros((height, width), dtype=np.float32)
    slant = _SLANT * (1.0 if rng.random() < 0.5 else -1.0)
    for density, length, thick, opacity in _LAYERS:
        count = int(density * amount * width * height / scale)
        if count == 0:
            continue
        steps = max(int(length * scale), 2)
        thick *= scale
        top = rng.uniform(-steps, height, count)
        left = rng.uniform(-0.1 * width, 1.1 * width, count)
        lengths = rng.uniform(0.6, 1.0, count)
        lean = slant + rng.normal(0.0, 0.012, count)
        bright = rng.uniform(0.35, 1.0, count) * opacity
        k = np.arange(steps)
        rows = top[:, None] + k * lengths[:, None]
        columns = left[:, None] + (rows - top[:, None]) * lean[:, None]
        taper = np.sin(np.pi * (k + 0.5) / steps) ** 0.5
        reach = int(np.ceil(thick))
        base = np.floor(columns).astype(np.int64)
        row = np.floor(rows).astype(np.int64)
        for offset in range(-reach, reach + 1):
            column = base + offset
            distance = np.abs(columns - (column + 0.5))
            cover = np.clip(0.5 + 0.5 * thick - distance, 0.0, 1.0) * min(thick, 1.0)
            value = cover * taper * bright[:, None] * lengths[:, None]
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            np.add.at(total, (row[inside], column[inside]), value[inside].astype(np.float32))
    np.clip(total, 0.0, 0.75, out=total)
    total.flags.writeable = False
    return total
