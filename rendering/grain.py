"""Procedural surface grain, evaluated at hit points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import noise
from .columns import normalise
from .mesh import F32, Material
from .sky import smoothstep


class Surface:
    """Hit points of one material.

    Attributes:
        points: `3 x n`, m.
        normals: Unit normals `3 x n`; a grain may bend them.
        colours: Linear albedo `3 x n`; a grain changes it in place.
        footprint: Width of a pixel at the hit, m, `n`: detail below it is faded out.
    """

    def __init__(self, points: F32, normals: F32, colours: F32, footprint: F32) -> None:
        """Wrap the arrays."""
        self.points, self.normals, self.colours = points, normals, colours
        self.footprint = footprint

    def plane(self) -> tuple[F32, F32]:
        """Return coordinates (along, up) in the surface, m, for walls and slopes."""
        x, y, z = self.points
        nx, ny, nz = self.normals
        flat = np.sqrt(nx * nx + ny * ny)
        inverse = 1.0 / np.maximum(flat, 1e-3)
        along = (y * nx - x * ny) * inverse
        return along, z / np.maximum(flat, 0.2) + 0.0 * nz

    def spread(self) -> tuple[F32, F32]:
        """Return the two coordinates across the axis that the surface faces most, m."""
        x, y, z = self.points
        ax, ay, az = np.abs(self.normals)
        side = (ax > ay) & (ax > az)
        flat = (az >= ax) & (az >= ay)
        return np.where(side, y, x), np.where(flat, y, z)

    def fade(self, detail: float) -> F32:
        """Return the share left of a pattern with features of `detail` m, `n`."""
        ratio = self.footprint * np.float32(1.0 / detail)
        values: F32 = 1.0 / (1.0 + ratio * ratio * ratio)
        return values


def _mottle(s: Surface, metres: float, strength: float) -> None:
    """Large soft patches."""
    scale = np.float32(1.0 / metres)
    a, b = s.spread()
    value = noise.bilinear(noise.cloud_noise(), a * scale, b * scale)
    s.colours *= 1.0 + np.float32(strength) * (value - 0.5)


def _speckle(s: Surface, metres: float, strength: float) -> None:
    """Fine grain that fades out with distance."""
    scale = np.float32(1.0 / metres)
    a, b = s.spread()
    value = noise.nearest(noise.grain_noise(), a * scale, b * scale)
    s.colours *= 1.0 + np.float32(strength) * s.fade(metres) * (value - 0.5)


def _asphalt(s: Surface) -> None:
    x, y, _ = s.points
    worn = noise.bilinear(noise.cloud_noise(), x * 1.7, y * 7.0) - 0.5
    stone = noise.nearest(noise.grain_noise(), x * 90.0, y * 90.0) - 0.5
    stone *= 0.34 * s.fade(0.016)
    s.colours *= 1.0 + 0.14 * worn + stone


def _concrete(s: Surface) -> None:
    x, y, _ = s.points
    flat = s.normals[2] > 0.9
    _mottle(s, 0.05, 0.22)
    _speckle(s, 0.01, 0.25)
    part = np.where(flat, x * np.float32(1 / 1.5), 0.5)
    side = np.where(flat, y * np.float32(1 / 1.5), 0.5)
    edge = np.minimum(np.abs(part - np.round(part)), np.abs(side - np.round(side)))
    s.colours *= 1.0 - 0.38 * s.fade(0.02) * (edge < 0.009)


def _grass(s: Surface) -> None:
    x, y, _ = s.points
    patch = noise.bilinear(noise.cloud_noise(), x * 11.0, y * 11.0) - 0.5
    blade = noise.nearest(noise.grain_noise(), x * 45.0, y * 45.0) - 0.5
    blade *= s.fade(0.03)
    light = 1.0 + 0.35 * patch + 0.75 * blade
    s.colours[0] *= light * (1.0 + 0.35 * patch)
    s.colours[1] *= light
    s.colours[2] *= light * (1.0 - 0.25 * patch)


def _brick(s: Surface) -> None:
    along, up = s.plane()
    course = np.floor(up * np.float32(1 / 0.075))
    shift = along * np.float32(1 / 0.23) + 0.5 * np.mod(course, 2.0)
    stone = np.floor(shift)
    fade = s.fade(0.05)
    tint = noise.hashed(course.astype(np.int32), stone.astype(np.int32)) - 0.5
    within = up * np.float32(1 / 0.075) - course
    mortar = np.maximum(within > 0.84, (shift - stone) > 0.95) * fade
    s.colours *= 1.0 + (0.15 + 0.35 * fade) * tint
    grey = np.float32(0.42)
    s.colours += mortar * 0.75 * (grey - s.colours)
    _mottle(s, 0.03, 0.2)


def _foliage(s: Surface) -> None:
    a, b = s.spread()
    big = noise.bilinear(noise.cloud_noise(), a * 31.0, b * 31.0) - 0.5
    leaf = noise.bilinear(noise.grain_noise(), a * 40.0, b * 40.0) - 0.5
    leaf *= s.fade(0.07)
    light = 0.95 + 0.7 * big + 0.75 * leaf
    s.colours *= light
    s.colours[0] *= 1.0 + 0.5 * big
    s.normals[0] += 0.9 * leaf
    s.normals[1] += 0.8 * big
    s.normals[2] += 0.5 * (leaf + big)
    normalise(s.normals)


def _glass(s: Surface) -> None:
    a, b = s.spread()
    wave = noise.bilinear(noise.cloud_noise(), a * 13.0, b * 13.0) - 0.5
    s.normals[0] += 0.10 * wave
    s.normals[2] += 0.22 * wave
    normalise(s.normals)
    # Dark rooms are not equally dark.
    s.colours *= 1.0 + 0.8 * wave


def _plaster(s: Surface) -> None:
    _mottle(s, 0.02, 0.14)
    _speckle(s, 0.012, 0.12)
    # Splashed dirt at the foot of a wall.
    s.colours *= 1.0 - 0.16 * (1.0 - smoothstep(0.0, 0.7, s.points[2]))


def _roof(s: Surface) -> None:
    along, up = s.plane()
    row = up * np.float32(1 / 0.34)
    course = np.floor(row)
    column = np.floor(along * np.float32(1 / 0.3) + 0.5 * np.mod(course, 2.0))
    fade = s.fade(0.1)
    tint = noise.hashed(course.astype(np.int32), column.astype(np.int32)) - 0.5
    s.colours *= 1.0 + (0.1 + 0.3 * fade) * tint
    s.colours *= 1.0 - 0.45 * fade * smoothstep(0.25, 0.0, row - course)
    _mottle(s, 0.04, 0.25)


def _wood(s: Surface) -> None:
    x, y, z = s.points
    steep = np.abs(s.normals[2]) < 0.7
    across = np.where(steep, (x + y) * 160.0, y * 160.0)
    length = np.where(steep, z * 9.0, x * 9.0)
    value = noise.bilinear(noise.cloud_noise(), across.astype(np.float32), length)
    s.colours *= 1.0 + 0.5 * s.fade(0.02) * (value - 0.5)


def _cloth(s: Surface) -> None:
    x, y, z = s.points
    fold = noise.bilinear(noise.cloud_noise(), (x + y) * 70.0, z * 38.0) - 0.5
    s.colours *= 1.0 + 0.3 * fold
    s.normals[2] += 0.45 * fold
    s.normals[0] += 0.2 * fold
    normalise(s.normals)


GRAIN: dict[Material, Callable[[Surface], None]] = {
    Material.ASPHALT: _asphalt,
    Material.CONCRETE: _concrete,
    Material.GLASS: _glass,
    Material.GRASS: _grass,
    Material.BRICK: _brick,
    Material.FOLIAGE: _foliage,
    Material.PLASTER: _plaster,
    Material.ROOF: _roof,
    Material.WOOD: _wood,
    Material.CLOTH: _cloth,
}
"""Material → what it does to a `Surface`."""

BENDING = frozenset({Material.FOLIAGE, Material.GLASS, Material.CLOTH})
"""Materials whose grain bends the normals."""

MIRRORED = frozenset({Material.FOLIAGE, Material.BRICK, Material.ROOF})
"""Materials whose grain is strong enough to be missed in a puddle."""
