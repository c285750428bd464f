"""Procedural grain of what rooms are fitted with: wall tiles, stone worktops, plank floors."""

from __future__ import annotations

import math

from ..mesh import Material
from ..noise import Noise
from .compiled import kernel
from .noise import bilinear, hashed, nearest, normalised, smoothstep

_TILE, _STONE = int(Material.TILE), int(Material.STONE)

_TILE_LENGTH, _TILE_HEIGHT, _GROUT = 0.20, 0.10, 0.0045
_SLAB, _SLAB_JOINT = 0.45, 0.005
_PLANK_LENGTH, _PLANK_WIDTH, _GAP = 1.45, 0.12, 0.0035
_BLUR = 1.3  # pixels: what is a pixel wide and no wider comes and goes along a line


@kernel
def _joint(place: float, spacing: float, wide: float, footprint: float) -> tuple[float, float]:
    """Return the share of a pixel that lies on evenly spaced lines, and the way to the nearest.

    The share is exact for a pixel `footprint` m wide: thin joints neither flicker nor vanish.
    """
    part = place / spacing
    away = (part - round(part)) * spacing
    half = 0.5 * min(max(_BLUR * footprint, 1e-4), spacing)
    low = max(abs(away) - half, -0.5 * wide)
    high = min(abs(away) + half, 0.5 * wide)
    return max(high - low, 0.0) / (2.0 * half), away


@kernel
def fitting(
    material: int,
    point: tuple[float, float, float],
    normal: tuple[float, float, float],
    colour: tuple[float, float, float],
    towards: tuple[float, float, float],
    footprint: float,
    noise: Noise,
) -> tuple[float, float, float, float, float, float]:
    """Return normal and albedo of tiles, stone or planks.

    Args:
        material: Of the face.
        point: The hit, m.
        normal: Unit normal; the axis it is nearest to chooses the plane of the pattern.
        colour: Linear albedo.
        towards: Unit direction of the ray.
        footprint: Width of a pixel at the hit, m.
        noise: The textures.
    """
    x, y, z = point
    nx, ny, nz = normal
    red, green, blue = colour
    cloud, fine = noise.cloud, noise.fine
    ax, ay, az = abs(nx), abs(ny), abs(nz)
    a = y if ax > ay and ax > az else x
    b = y if az >= ax and az >= ay else z
    # A surface seen at a slant spreads a pixel along the way that it is seen.
    steep = max(abs(nx * towards[0] + ny * towards[1] + nz * towards[2]), 0.05)
    way_a = towards[1] if ax > ay and ax > az else towards[0]
    way_b = towards[1] if az >= ax and az >= ay else towards[2]
    across = footprint * math.sqrt(1.0 + (way_a / steep) ** 2)
    along = footprint * math.sqrt(1.0 + (way_b / steep) ** 2)
    if material == _TILE and az > ax and az > ay:  # slabs of a floor
        one, other = math.floor(a / _SLAB), math.floor(b / _SLAB)
        beside, _ = _joint(a, _SLAB, _SLAB_JOINT, across)
        ahead, _ = _joint(b, _SLAB, _SLAB_JOINT, along)
        gap = beside + ahead - beside * ahead
        light = 1.0 + 0.09 * (hashed(one, other) - 0.5)
        light *= 1.0 + 0.06 * (bilinear(cloud, a * 40.0, b * 40.0) - 0.5)
        light *= 1.0 - 0.42 * gap
        red, green, blue = red * light, green * light, blue * light
    elif material == _TILE:
        course = math.floor(b / _TILE_HEIGHT)
        shift = a + 0.5 * _TILE_LENGTH * (course % 2.0)
        column = math.floor(shift / _TILE_LENGTH)
        upright, beside = _joint(shift, _TILE_LENGTH, _GROUT, across)
        level, above = _joint(b, _TILE_HEIGHT, _GROUT, along)
        grout = upright + level - upright * level
        light = 1.0 + 0.09 * (hashed(course, column) - 0.5)
        light *= 1.0 + 0.05 * (bilinear(cloud, a * 90.0, b * 90.0) - 0.5)
        bright = 0.3 * (red + green + blue) < 0.18
        joint = 0.34 if bright else 0.22 + 0.42 * green
        red = red * light + grout * (joint - red * light)
        green = green * light + grout * (0.98 * joint - green * light)
        blue = blue * light + grout * (0.94 * joint - blue * light)
        # Hardly any tile is set quite even, and the glaze is rounded at its edge.
        tilt_a = 0.02 * (hashed(column, course) - 0.5)
        tilt_b = 0.02 * (hashed(column + 31.0, course) - 0.5)
        fade = 1.0 / (1.0 + (footprint / 0.008) ** 2)
        round_a = fade * smoothstep(0.008, 0.001, abs(beside))
        round_b = fade * smoothstep(0.008, 0.001, abs(above))
        tilt_a += 0.35 * round_a * (1.0 if beside < 0.0 else -1.0)
        tilt_b += 0.35 * round_b * (1.0 if above < 0.0 else -1.0)
        if ax > ay and ax > az:
            ny, nz = ny + tilt_a, nz + tilt_b
        elif ay > az:
            nx, nz = nx + tilt_a, nz + tilt_b
        else:
            nx, ny = nx + tilt_a, ny + tilt_b
        nx, ny, nz = normalised(nx, ny, nz)
    elif material == _STONE:
        light = 1.0 + 0.22 * (bilinear(cloud, a * 55.0, b * 55.0) - 0.5)
        fade = 1.0 / (1.0 + (footprint / 0.005) ** 2)
        speck = nearest(fine, a * 520.0, b * 520.0)
        coarse = nearest(fine, a * 610.0 + 77.0, b * 610.0 + 31.0)
        light *= 1.0 - 0.45 * fade * smoothstep(0.70, 0.90, speck)
        shiny = fade * smoothstep(0.90, 0.97, coarse)
        red, green, blue = red * light, green * light, blue * light
        red += shiny * 0.16 * (1.0 - red)
        green += shiny * 0.16 * (1.0 - green)
        blue += shiny * 0.16 * (1.0 - blue)
    else:  # planks
        row = math.floor(x / _PLANK_WIDTH)
        shift = y + _PLANK_LENGTH * hashed(row, 3.0)
        plank = math.floor(shift / _PLANK_LENGTH)
        beside, _ = _joint(x, _PLANK_WIDTH, _GAP, across)
        ahead, _ = _joint(shift, _PLANK_LENGTH, _GAP, along)
        gap = beside + ahead - beside * ahead
        own = hashed(row, plank)
        fade = 1.0 / (1.0 + (footprint / 0.02) ** 2)
        vein = bilinear(cloud, x * 300.0 + 500.0 * own, y * 11.0 + 300.0 * own) - 0.5
        light = (1.0 + 0.30 * (own - 0.5)) * (1.0 + 0.34 * fade * vein) * (1.0 - 0.5 * gap)
        red, green, blue = red * light, green * light, blue * light * (1.0 + 0.12 * (own - 0.5))
    return nx, ny, nz, red, green, blue
