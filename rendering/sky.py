"""The light of an atmosphere: sun, sky, fog and wet, as the kernels take it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import noise
from .world import Atmosphere

RGB = tuple[float, float, float]

_SUN_SCALE = 0.72


class Light(NamedTuple):
    """Light and weather of one frame; colours are linear RGB radiance.

    Attributes:
        sunny: Whether the sun casts shadows.
        sun: The sun's radiance.
        sunlight: What a surface that faces the sun gets of it.
        towards_sun: Unit vector.
        zenith: Colour overhead.
        horizon: Colour at the horizon, of fog and of haze.
        ambient_up: Light that reaches a surface facing up.
        ambient_down: Light that reaches a surface facing down.
        extinction: Of fog, haze and rain together, 1/m.
        fog: Extinction of the fog bank, 1/m.
        cover: Share of the sky under clouds, 0...1.
        cloud_u, cloud_v: Where the clouds are cut from their texture, texels.
        exposure: Factor before the tone curve.
        wetness: 0 dry ... 1 wet road with puddles.
        rain: 0 none ... 1 heavy.
        pixel_angle: Width of a pixel at 1 m, m.
        lamplit: Whether this is a room with lamps.
    """

    sunny: bool
    sun: RGB
    sunlight: RGB
    towards_sun: RGB
    zenith: RGB
    horizon: RGB
    ambient_up: RGB
    ambient_down: RGB
    extinction: float
    fog: float
    cover: float
    cloud_u: float
    cloud_v: float
    exposure: float
    wetness: float
    rain: float
    pixel_angle: float
    lamplit: bool

    @classmethod
    def of(cls, atmosphere: Atmosphere, pixel_angle: float) -> Light:
        """Return the light of `atmosphere`."""
        fog, rain = float(atmosphere.fog), float(atmosphere.rain)
        dim = 1.0 - 0.3 * rain
        sun = np.array(atmosphere.sun, dtype=np.float64)
        direction = np.array(atmosphere.sun_direction, dtype=np.float64)
        direction /= max(math.sqrt(float(direction @ direction)), 1e-9)
        zenith = np.array(atmosphere.zenith, dtype=np.float64) * dim
        horizon = np.array(atmosphere.horizon, dtype=np.float64) * dim
        ground = np.array(atmosphere.ground, dtype=np.float64)
        blue = 0.55 * zenith + 0.45 * horizon
        cloud_u, cloud_v = np.random.default_rng([atmosphere.seed, 5]).random(2) * noise.SIZE
        return cls(
            sunny=bool(sun.max() > 0.0),
            sun=_rgb(sun),
            sunlight=_rgb(sun * _SUN_SCALE),
            towards_sun=_rgb(direction),
            zenith=_rgb(zenith),
            horizon=_rgb(horizon),
            # Clouds, walls and the bright horizon whiten what a blue sky sheds.
            ambient_up=_rgb(1.1 * (0.4 * blue + 0.6 * blue.mean())),
            ambient_down=_rgb(0.75 * ground * dim + 0.1 * horizon),
            # A thin haze is always there: it tells far from near.
            extinction=fog + 0.0006 + 0.010 * rain,
            fog=fog + 0.004 * rain,
            cover=min(max(float(atmosphere.clouds), 0.0), 1.0),
            cloud_u=float(cloud_u),
            cloud_v=float(cloud_v),
            exposure=float(atmosphere.exposure),
            wetness=float(atmosphere.wetness),
            rain=rain,
            pixel_angle=float(pixel_angle),
            lamplit=bool(atmosphere.lamps),
        )


def lamp_table(atmosphere: Atmosphere) -> npt.NDArray[np.float64]:
    """Return the lamps, `l x 7`: place (m), radiant intensity (RGB), radius (m)."""
    rows = [(lamp.x, lamp.y, lamp.z, *lamp.colour, lamp.radius) for lamp in atmosphere.lamps]
    return np.array(rows, dtype=np.float64).reshape(-1, 7)


def _rgb(values: np.ndarray) -> RGB:
    red, green, blue = (float(value) for value in values)
    return red, green, blue
