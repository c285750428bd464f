"""The light of a kitchen: ceiling lamps, the window's daylight, what the walls shed back. Ours."""

from __future__ import annotations

import numpy as np

from ...rendering.world import Atmosphere, Lamp
from .layout import CEILING, Layout

_WARM, _COOL = np.array([1.0, 0.86, 0.68]), np.array([0.93, 0.97, 1.0])


def light(layout: Layout, rng: np.random.Generator) -> Atmosphere:
    """Return one light of a brightly lit kitchen (Table 5: "bright lighting").

    Two ceiling lamps before the run, from warm to neutral white, and ambient light of the same
    hue; strengths vary by about a fifth.
    """
    tone = rng.random()
    colour = _WARM + (_COOL - _WARM) * tone
    power = rng.uniform(0.85, 1.15)
    right, left = layout.side_walls
    shift = rng.uniform(-0.25, 0.25)
    lamps = tuple(
        Lamp(
            x=float(rng.uniform(-1.9, -1.3)),
            y=float(right + share * (left - right) + shift),
            z=CEILING - 0.12,
            colour=_rgb(2.6 * power * colour),
            radius=0.16,
        )
        for share in (0.3, 0.7)
    )
    walls = 0.80 * power * (0.5 * np.ones(3) + 0.5 * colour)
    return Atmosphere(
        sun=(0.0, 0.0, 0.0),
        zenith=_rgb(walls),
        horizon=_rgb(0.92 * walls),
        ground=_rgb(0.60 * walls * np.array([1.0, 0.95, 0.88])),
        clouds=0.0,
        lamps=lamps,
        exposure=float(rng.uniform(0.95, 1.1)),
    )


def _rgb(values: np.ndarray) -> tuple[float, float, float]:
    red, green, blue = (float(value) for value in values)
    return red, green, blue
