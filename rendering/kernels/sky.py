"""The sky's radiance in one direction."""

from __future__ import annotations

import math

from ..mesh import F32
from ..sky import Light
from .compiled import kernel
from .noise import bilinear, smoothstep

_CLOUD_TEXELS = 62.0
_RGB = tuple[float, float, float]


@kernel
def gradient(light: Light, height: float) -> _RGB:
    """Return the sky without clouds and sun at a height (z of a unit vector)."""
    rest = 1.0 - min(max(height, 0.0), 1.0)
    rest *= rest
    share = 1.0 - rest * rest
    low, high = light.horizon, light.zenith
    return (
        low[0] + (high[0] - low[0]) * share,
        low[1] + (high[1] - low[1]) * share,
        low[2] + (high[2] - low[2]) * share,
    )


@kernel
def sky_radiance(light: Light, cloud: F32, x: float, y: float, z: float) -> _RGB:
    """Return the sky's radiance in a unit direction, clouds, sun and fog bank included."""
    red, green, blue = gradient(light, z)
    sun, towards_sun = light.sun, light.towards_sun
    if light.sunny:
        towards = max(x * towards_sun[0] + y * towards_sun[1] + z * towards_sun[2], 0.0)
        eighth = towards * towards
        eighth *= eighth
        eighth *= eighth
        square = eighth * eighth
        narrow = square * square
        narrow *= narrow * square  # to the 80th
        halo = 0.05 * eighth + 0.35 * narrow + 6.0 * smoothstep(0.9994, 0.9999, towards)
        red, green, blue = red + sun[0] * halo, green + sun[1] * halo, blue + sun[2] * halo
    horizon = light.horizon
    if light.cover > 0.0:
        inverse = _CLOUD_TEXELS / (max(z, 0.0) + 0.14)
        u, v = x * inverse + light.cloud_u, y * inverse + light.cloud_v
        density = bilinear(cloud, u, v)
        # The detail layer breaks up the large shapes.
        density = 0.8 * density + 0.2 * bilinear(cloud, u * 3.1, v * 3.1)
        share = min(max((density - (1.02 - light.cover)) * 3.2, 0.0), 1.0)
        if light.cover < 0.95:
            share *= smoothstep(-0.01, 0.12, z)
        if share > 0.0:
            towards = bilinear(cloud, u + 5.0 * towards_sun[0], v + 5.0 * towards_sun[1])
            relief = 1.0 + 0.55 * min(max(density - towards, -0.5), 0.5) - 0.22 * share * share
            glow = 0.10 if light.sunny else 0.0
            share *= 0.92 if light.sunny else 0.75
            red += share * ((1.05 * horizon[0] + glow * sun[0]) * relief - red)
            green += share * ((1.05 * horizon[1] + glow * sun[1]) * relief - green)
            blue += share * ((1.05 * horizon[2] + glow * sun[2]) * relief - blue)
    if light.fog > 0.0:
        # The fog bank is finite: a thin fog leaves the upper sky open.
        clear = math.exp(-60.0 * light.fog / (max(z, 0.0) + 0.02))
        red = horizon[0] + (red - horizon[0]) * clear
        green = horizon[1] + (green - horizon[1]) * clear
        blue = horizon[2] + (blue - horizon[2]) * clear
    return red, green, blue
