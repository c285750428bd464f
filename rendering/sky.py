"""The sky: gradient, sun, clouds; and the light that it sheds."""

from __future__ import annotations

import numpy as np

from . import noise
from .columns import outer
from .mesh import F32
from .world import Atmosphere

_CLOUD_TEXELS = np.float32(62.0)


def smoothstep(low: float, high: float, x: F32) -> F32:
    """Return the cubic step from 0 at `low` to 1 at `high`."""
    y = np.clip((x - np.float32(low)) * np.float32(1.0 / (high - low)), 0.0, 1.0)
    values: F32 = y * y * (3.0 - 2.0 * y)
    return values


class Sky:
    """The sky of an atmosphere.

    Attributes:
        horizon: Colour at the horizon, of fog and of haze, `3`.
        ambient_up: Light that reaches a surface facing up, `3`.
        ambient_down: Light that reaches a surface facing down, `3`.
        extinction: Of fog, haze and rain together, 1/m.
    """

    def __init__(self, atmosphere: Atmosphere) -> None:
        """Prepare the sky of `atmosphere`."""
        # Plain floats: a numpy double among them would turn whole pictures into doubles.
        fog, rain = float(atmosphere.fog), float(atmosphere.rain)
        dim = np.float32(1.0 - 0.3 * rain)
        self.cover = float(np.clip(atmosphere.clouds, 0.0, 1.0))
        self.sun = np.asarray(atmosphere.sun, dtype=np.float32)
        direction = np.asarray(atmosphere.sun_direction, dtype=np.float32)
        length = np.float32(max(float(np.linalg.norm(direction)), 1e-9))
        self.sun_direction: F32 = direction / length
        self.zenith = np.asarray(atmosphere.zenith, dtype=np.float32) * dim
        self.horizon = np.asarray(atmosphere.horizon, dtype=np.float32) * dim
        ground = np.asarray(atmosphere.ground, dtype=np.float32)
        # A thin haze is always there: it tells far from near.
        self.extinction = fog + 0.0006 + 0.010 * rain
        blue = 0.55 * self.zenith + 0.45 * self.horizon
        # Clouds and the bright horizon whiten what a blue sky sheds.
        self.ambient_up = 0.6 * blue + np.float32(0.4 * blue.mean())
        self.ambient_down = 0.75 * ground * dim + 0.1 * self.horizon
        self._fog = fog + 0.004 * rain
        offsets = np.random.default_rng([atmosphere.seed, 5]).random(2) * noise.SIZE
        self._offset = offsets.astype(np.float32)

    def gradient(self, height: F32) -> F32:
        """Return the sky without clouds and sun, `3 x n`, at heights (z of a unit vector) `n`."""
        rest: F32 = 1.0 - np.clip(height, 0.0, 1.0)
        rest *= rest
        colours = outer(self.zenith - self.horizon, 1.0 - rest * rest)
        colours += self.horizon[:, None]
        return colours

    def radiance(self, directions: F32) -> F32:
        """Return the sky's radiance, `3 x n`, in unit directions `3 x n`."""
        x, y, z = directions
        colours = self.gradient(z)
        sun = float(self.sun.max()) > 0.0
        if sun:
            s = self.sun_direction
            towards = np.maximum(x * s[0] + y * s[1] + z * s[2], 0.0)
            fourth = np.square(np.square(towards))
            eighth = fourth * fourth
            narrow = np.square(np.square(eighth)) * np.square(np.square(fourth * eighth))
            halo = 0.05 * eighth + 0.35 * narrow + 6.0 * smoothstep(0.9994, 0.9999, towards)
            colours += self.sun[:, None] * halo
        if self.cover > 0.0:
            self._add_clouds(colours, x, y, z, sun)
        if self._fog > 0.0:
            # The fog bank is finite: a thin fog leaves the upper sky open.
            depth = 60.0 * self._fog / (np.maximum(z, 0.0) + 0.02)
            clear = np.exp(-depth)
            colours -= self.horizon[:, None]
            colours *= clear
            colours += self.horizon[:, None]
        return colours

    def _add_clouds(self, colours: F32, x: F32, y: F32, z: F32, sun: bool) -> None:
        inverse = _CLOUD_TEXELS / (np.maximum(z, 0.0) + 0.14)
        u, v = x * inverse + self._offset[0], y * inverse + self._offset[1]
        texture = noise.cloud_noise()
        density = noise.bilinear(texture, u, v)
        # The detail layer breaks up the large shapes.
        density = 0.8 * density + 0.2 * noise.bilinear(texture, u * 3.1, v * 3.1)
        edge = 1.02 - self.cover
        cloud = np.clip((density - edge) * 3.2, 0.0, 1.0)
        cloud *= smoothstep(-0.01, 0.12, z) if self.cover < 0.95 else 1.0
        s = self.sun_direction
        towards_sun = noise.bilinear(texture, u + 5.0 * s[0], v + 5.0 * s[1])
        relief = 1.0 + 0.55 * np.clip(density - towards_sun, -0.5, 0.5)
        relief -= 0.22 * cloud * cloud
        bright = self.horizon * 1.05 + (0.10 * self.sun if sun else 0.0)
        lit = bright[:, None] * relief
        cloud *= 0.92 if sun else 0.75
        colours += cloud * (lit - colours)
