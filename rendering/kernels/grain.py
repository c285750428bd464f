"""Procedural surface grain at a hit point: how a material's colour and normal vary."""

from __future__ import annotations

import math

from ..mesh import F32, Material
from ..noise import Noise
from .compiled import kernel
from .noise import bilinear, hashed, nearest, normalised, smoothstep

_GLASS, _ASPHALT, _CONCRETE = int(Material.GLASS), int(Material.ASPHALT), int(Material.CONCRETE)
_GRASS, _BRICK, _FOLIAGE = int(Material.GRASS), int(Material.BRICK), int(Material.FOLIAGE)
_PLASTER, _CLOTH, _ROOF = int(Material.PLASTER), int(Material.CLOTH), int(Material.ROOF)
_WOOD = int(Material.WOOD)


@kernel
def has_grain(material: int, mirrored: bool) -> bool:
    """Return whether a material has a grain; in a mirror, whether one would miss it."""
    if material in (_FOLIAGE, _BRICK, _ROOF):
        return True
    if mirrored:
        return False
    return _ASPHALT <= material <= _PLASTER or material in (_GLASS, _CLOTH, _WOOD)


@kernel
def _fade(footprint: float, detail: float) -> float:
    """Return the share left of a pattern with features of `detail` m."""
    ratio = footprint / detail
    return 1.0 / (1.0 + ratio * ratio * ratio)


@kernel
def _spread(x: float, y: float, z: float, nx: float, ny: float, nz: float) -> tuple[float, float]:
    """Return the two coordinates across the axis that the surface faces most, m."""
    ax, ay, az = abs(nx), abs(ny), abs(nz)
    a = y if ax > ay and ax > az else x
    b = y if az >= ax and az >= ay else z
    return a, b


@kernel
def _mottle(cloud: F32, a: float, b: float, metres: float, strength: float) -> float:
    """Return the factor of large soft patches."""
    return 1.0 + strength * (bilinear(cloud, a / metres, b / metres) - 0.5)


@kernel
def _speckle(
    fine: F32, a: float, b: float, metres: float, strength: float, footprint: float
) -> float:
    """Return the factor of fine grain that fades out with distance."""
    value = nearest(fine, a / metres, b / metres)
    return 1.0 + strength * _fade(footprint, metres) * (value - 0.5)


@kernel
def grain(
    material: int,
    point: tuple[float, float, float],
    normal: tuple[float, float, float],
    colour: tuple[float, float, float],
    footprint: float,
    noise: Noise,
) -> tuple[float, float, float, float, float, float]:
    """Return normal and albedo of a grained surface.

    Args:
        material: Of the face.
        point: The hit, m.
        normal: Unit normal.
        colour: Linear albedo.
        footprint: Width of a pixel at the hit, m: detail below it is faded out.
        noise: The textures.
    """
    x, y, z = point
    nx, ny, nz = normal
    red, green, blue = colour
    cloud, fine = noise.cloud, noise.fine
    if material == _ASPHALT:
        worn = 0.7 * bilinear(cloud, x * 1.7, y * 7.0) + 0.3 * bilinear(cloud, x * 9.1, y * 23.0)
        stone = nearest(fine, x * 90.0, y * 90.0) - 0.5
        light = 1.0 + 0.14 * (worn - 0.5) + 0.34 * _fade(footprint, 0.016) * stone
    elif material == _CONCRETE:
        a, b = _spread(x, y, z, nx, ny, nz)
        light = _mottle(cloud, a, b, 0.05, 0.22) * _speckle(fine, a, b, 0.01, 0.25, footprint)
        if nz > 0.9:
            part, side = x / 1.5, y / 1.5
            edge = min(abs(part - round(part)), abs(side - round(side)))
            if edge < 0.009:
                light *= 1.0 - 0.38 * _fade(footprint, 0.02)
    elif material == _GRASS:
        patch = bilinear(cloud, x * 11.0, y * 11.0) - 0.5
        blade = (nearest(fine, x * 45.0, y * 45.0) - 0.5) * _fade(footprint, 0.03)
        light = 1.0 + 0.35 * patch + 0.75 * blade
        red *= 1.0 + 0.35 * patch
        blue *= 1.0 - 0.25 * patch
    elif material in (_BRICK, _ROOF):
        flat = math.sqrt(nx * nx + ny * ny)
        along = (y * nx - x * ny) / max(flat, 1e-3)
        up = z / max(flat, 0.2)
        a, b = _spread(x, y, z, nx, ny, nz)
        if material == _BRICK:
            row = up / 0.075
            course = math.floor(row)
            shift = along / 0.23 + 0.5 * (course % 2.0)
            stone = math.floor(shift)
            fade = _fade(footprint, 0.05)
            light = 1.0 + (0.15 + 0.35 * fade) * (hashed(course, stone) - 0.5)
            red, green, blue = red * light, green * light, blue * light
            if row - course > 0.84 or shift - stone > 0.95:
                mortar = 0.75 * fade
                red += mortar * (0.42 - red)
                green += mortar * (0.42 - green)
                blue += mortar * (0.42 - blue)
            light = _mottle(cloud, a, b, 0.03, 0.2)
        else:
            row = up / 0.34
            course = math.floor(row)
            column = math.floor(along / 0.3 + 0.5 * (course % 2.0))
            fade = _fade(footprint, 0.1)
            light = 1.0 + (0.1 + 0.3 * fade) * (hashed(course, column) - 0.5)
            light *= 1.0 - 0.45 * fade * smoothstep(0.25, 0.0, row - course)
            light *= _mottle(cloud, a, b, 0.04, 0.25)
    elif material == _FOLIAGE:
        a, b = _spread(x, y, z, nx, ny, nz)
        big = bilinear(cloud, a * 31.0, b * 31.0) - 0.5
        leaf = (bilinear(fine, a * 40.0, b * 40.0) - 0.5) * _fade(footprint, 0.07)
        light = 0.95 + 0.7 * big + 0.75 * leaf
        red *= 1.0 + 0.5 * big
        nx, ny, nz = normalised(nx + 0.9 * leaf, ny + 0.8 * big, nz + 0.5 * (leaf + big))
    elif material == _GLASS:
        a, b = _spread(x, y, z, nx, ny, nz)
        wave = bilinear(cloud, a * 13.0, b * 13.0) - 0.5
        nx, ny, nz = normalised(nx + 0.10 * wave, ny, nz + 0.22 * wave)
        light = 1.0 + 0.8 * wave  # dark rooms are not equally dark
    elif material == _PLASTER:
        a, b = _spread(x, y, z, nx, ny, nz)
        light = _mottle(cloud, a, b, 0.02, 0.14) * _speckle(fine, a, b, 0.012, 0.12, footprint)
        light *= 1.0 - 0.16 * (1.0 - smoothstep(0.0, 0.7, z))  # splashed dirt at its foot
    elif material == _WOOD:
        steep = abs(nz) < 0.7
        across = (x + y) * 160.0 if steep else y * 160.0
        length = z * 9.0 if steep else x * 9.0
        light = 1.0 + 0.5 * _fade(footprint, 0.02) * (bilinear(cloud, across, length) - 0.5)
    else:  # cloth
        fold = bilinear(cloud, (x + y) * 70.0, z * 38.0) - 0.5
        light = 1.0 + 0.3 * fold
        nx, ny, nz = normalised(nx + 0.2 * fold, ny, nz + 0.45 * fold)
    return nx, ny, nz, red * light, green * light, blue * light
