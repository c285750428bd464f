"""The light of a kitchen: ceiling lamps, the window's daylight, what the walls shed back. Ours."""

from __future__ import annotations

import numpy as np

from ...rendering.world import Atmosphere, Lamp
from .layout import Layout
from .room_shell import lamp_places

_WARM, _COOL = np.array([1.0, 0.86, 0.68]), np.array([0.93, 0.97, 1.0])


def light(layout: Layout, rng: np.random.Generator) -> Atmosphere:
    """Return one light of a brightly lit kitchen (Table 5: "bright lighting").

    The room's two ceiling lamps, from warm to neutral white, and ambient light of the same
    hue; strengths vary by about a fifth.
    """
    tone = rng.random()
    colour = _WARM + (_COOL - _WARM) * tone
    power = rng.uniform(0.85, 1.15)
    strength = _rgb(2.6 * power * colour)
    lamps = tuple(Lamp(*at, colour=strength, radius=0.16) for at in lamp_places(layout))
    walls = 0.80 * power * (0.5 * np.ones(3) + 0.5 * colour)
    return Atmosphere(
        sun=(0.0, 0.0, 0.0),
        zenith=_rgb(walls),
        horizon=_rgb(0.92 * walls),
        ground=_rgb(0.80 * walls * np.array([1.0, 0.95, 0.88])),
        clouds=0.0,
        lamps=lamps,
        exposure=float(rng.uniform(0.95, 1.1)),
    )


def _rgb(values: np.ndarray) -> tuple[float, float, float]:
    red, green, blue = (float(value) for value in values)
    return red, green, blue
