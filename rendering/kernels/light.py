"""From surfaces to radiance: ambient light, sun, polish, water, panes and fog."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..faces import FaceTable
from ..mesh import F32, Material
from ..noise import Noise
from ..sky import Light
from .compiled import kernel
from .noise import bilinear, nearest, normalised, smoothstep
from .sky import gradient

EMISSIVE_GAIN = 3.2
"""How much brighter than its colour an emissive face is."""

_LAMP_EXTINCTION = 0.3  # a lamp outshines fog: it fades at this share of the rate
_SPRAY, _SPRAY_HEIGHT = 0.014, 0.45  # of heavy rain at the ground, 1/m; where a third is left, m
_GLOSSY, _METAL, _GLASS = int(Material.GLOSSY), int(Material.METAL), int(Material.GLASS)
_EMISSIVE, _RETRO = int(Material.EMISSIVE), int(Material.RETRO)
_TILE, _STONE, _PLANKS = int(Material.TILE), int(Material.STONE), int(Material.PLANKS)
_RGB = tuple[float, float, float]


@kernel
def surroundings(light: Light, x: float, y: float, z: float) -> _RGB:
    """Return what polish mirrors in a direction: the sky over a dark and uneven skyline."""
    skyline = 0.10 + 0.07 * math.sin(9.0 * x) + 0.05 * math.sin(23.0 * y)
    above = smoothstep(-0.05, 0.05, z - skyline)
    red, green, blue = gradient(light, z)
    down, horizon = light.ambient_down, light.horizon
    low = 0.45 * down[0] + 0.1 * horizon[0]
    red = low + above * (red - low)
    low = 0.45 * down[1] + 0.1 * horizon[1]
    green = low + above * (green - low)
    low = 0.45 * down[2] + 0.1 * horizon[2]
    blue = low + above * (blue - low)
    return red, green, blue


@kernel
def _polished(
    light: Light,
    material: int,
    colour: _RGB,
    albedo: _RGB,
    normal: _RGB,
    d: _RGB,
    shine: float,
    open_share: float,
) -> _RGB:
    """Lay the mirrored surroundings, as far as they are open, and the sun's glint over a hit."""
    nx, ny, nz = normal
    cosine = nx * d[0] + ny * d[1] + nz * d[2]
    mx, my = d[0] - 2.0 * cosine * nx, d[1] - 2.0 * cosine * ny
    mz = d[2] - 2.0 * cosine * nz
    rest = 1.0 + min(cosine, 0.0)
    grazing = rest * rest
    grazing = grazing * grazing * rest
    red, green, blue = surroundings(light, mx, my, mz)
    red, green, blue = red * open_share, green * open_share, blue * open_share
    # Mirror share seen head-on, exponent and strength of the sun's glint.
    if material == _METAL:
        base, hard, bright = 0.45, 60.0, 1.6
        red *= 0.2 + 0.8 * albedo[0]
        green *= 0.2 + 0.8 * albedo[1]
        blue *= 0.2 + 0.8 * albedo[2]
    elif material == _GLASS:
        base, hard, bright = 0.14, 700.0, 6.0
    elif material == _PLANKS:  # varnish over grain: what it mirrors is dull
        base, hard, bright = 0.03, 40.0, 0.3
        grazing *= 0.35
    else:
        base, hard, bright = 0.04, 120.0, 1.2
    share = base + (1.0 - base) * grazing
    red = colour[0] + share * (red - colour[0])
    green = colour[1] + share * (green - colour[1])
    blue = colour[2] + share * (blue - colour[2])
    if shine > 0.0:
        sx, sy, sz = light.towards_sun
        towards = mx * sx + my * sy + mz * sz
        if towards > 0.8:  # the power is slow, and vanishes away from the mirrored sun
            glint = towards**hard * shine * bright
            red += light.sun[0] * glint
            green += light.sun[1] * glint
            blue += light.sun[2] * glint
    return red, green, blue


@kernel
def shade(
    directions: F32,
    face: npt.NDArray[np.int32],
    table: FaceTable,
    light: Light,
    points: F32,
    normals: F32,
    flats: F32,
    albedo: F32,
    openness: F32,
    sunny: npt.NDArray[np.uint8],
    out: F32,
) -> None:
    """Write the radiance of each hit before fog and water, `n x 3`.

    Args:
        directions: `n x 3`.
        face: Row in the table, `n`, -1 for a miss, which stays as it is.
        table: The faces.
        light: Light and weather.
        points: `n x 3`, m.
        normals: With grain, `n x 3`.
        flats: Without grain, `n x 3`.
        albedo: `n x 3`.
        openness: Share of ambient light that arrives, `n`.
        sunny: 1 where the sun is not hidden, `n`.
        out: `n x 3`.
    """
    sx, sy, sz = light.towards_sun
    low, up, sun = light.ambient_down, light.ambient_up, light.sunlight
    for i in range(len(face)):
        f = face[i]
        if f < 0:
            continue
        material = table.materials[f]
        red, green, blue = float(albedo[i, 0]), float(albedo[i, 1]), float(albedo[i, 2])
        if material == _EMISSIVE:
            out[i, 0] = red * EMISSIVE_GAIN
            out[i, 1] = green * EMISSIVE_GAIN
            out[i, 2] = blue * EMISSIVE_GAIN
            continue
        nx, ny, nz = float(normals[i, 0]), float(normals[i, 1]), float(normals[i, 2])
        share = 0.5 + 0.5 * nz
        # Walls see less sky at their foot.
        foot = 0.72 + 0.28 * smoothstep(0.0, 1.6, points[i, 2])
        if light.lamplit:  # the ceiling is no sky: the floor's light makes up for most of it
            foot = 0.6 + 0.4 * foot
        ambient = (1.0 - (1.0 - abs(nz)) * (1.0 - foot)) * openness[i]
        direct = 0.0
        shine = 0.0
        if light.sunny:
            facing = flats[i, 0] * sx + flats[i, 1] * sy + flats[i, 2] * sz
            cosine = min(max(nx * sx + ny * sy + nz * sz, 0.0), 1.0)
            if facing > 0.0 and cosine > 0.0:
                shine = float(sunny[i])
                direct = cosine * shine
        light_red = ambient * (low[0] + (up[0] - low[0]) * share) + sun[0] * direct
        light_green = ambient * (low[1] + (up[1] - low[1]) * share) + sun[1] * direct
        light_blue = ambient * (low[2] + (up[2] - low[2]) * share) + sun[2] * direct
        colour = (red * light_red, green * light_green, blue * light_blue)
        if material == _RETRO:
            colour = (
                colour[0] * 1.25 + red * 0.1,
                colour[1] * 1.25 + green * 0.1,
                colour[2] * 1.25 + blue * 0.1,
            )
        elif material in (_GLOSSY, _METAL, _GLASS, _TILE, _STONE, _PLANKS):
            open_share = 1.0
            if light.lamplit:  # a room's corners mirror corners
                open_share = float(openness[i]) * float(openness[i])
            d = (float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2]))
            colour = _polished(
                light, int(material), colour, (red, green, blue), (nx, ny, nz), d, shine,
                open_share,
            )  # fmt: skip
        out[i, 0], out[i, 1], out[i, 2] = colour


@kernel
def water(
    directions: F32,
    distance: F32,
    face: npt.NDArray[np.int32],
    points: F32,
    soaked: F32,
    light: Light,
    noise: Noise,
) -> tuple[npt.NDArray[np.int64], F32, F32, F32]:
    """Return what wet ground mirrors.

    Args:
        directions: `n x 3`.
        distance: `n`, m.
        face: `n`, -1 for a miss.
        points: `n x 3`, m.
        soaked: 0 dry ... 1 wet, `n`.
        light: Light and weather.
        noise: The textures.

    Returns:
        Indices `m` of the hits that mirror, their mirror shares `m`, and origins and directions
        `m x 3` of the mirrored rays.
    """
    cloud = noise.cloud
    index = np.empty(len(face), dtype=np.int64)
    shares = np.empty(len(face), dtype=np.float32)
    starts = np.empty((len(face), 3), dtype=np.float32)
    rays = np.empty((len(face), 3), dtype=np.float32)
    found = 0
    for i in range(len(face)):
        if face[i] < 0 or soaked[i] <= 0.0:
            continue
        wet = float(soaked[i])
        x, y = float(points[i, 0]), float(points[i, 1])
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        pattern = bilinear(cloud, x * 7.0 + 91.0, y * 16.0 + 17.0)
        standing = smoothstep(0.62, 0.88, pattern + 0.1 * wet) * wet
        rest = min(max(1.0 + dz, 0.0), 1.0)
        squared = rest * rest
        fresnel = 0.02 + 0.98 * squared * squared * rest
        share = min(fresnel * (0.42 * wet + 0.36 * standing) + 0.05 * standing, 1.0)
        if share <= 0.015:
            continue
        strength = 0.16 - 0.14 * standing + 0.05 * standing * light.rain
        strength *= min(6.0 / (distance[i] + 2.0), 1.0)
        # Seen at a grazing angle, ripples draw what they mirror out upright.
        lean_x = (bilinear(cloud, x * 95.0, y * 95.0) - 0.5) * strength
        # Between puddles the stones stand out of the film and blur it.
        rough = 0.04 * (1.0 - standing) * min(8.0 / (distance[i] + 2.0), 1.0)
        lean_x += (nearest(noise.fine, x * 190.0, y * 190.0) - 0.5) * rough
        lean_y = (bilinear(cloud, x * 95.0 + 171.0, y * 95.0 + 57.0) - 0.5) * 0.35 * strength
        nx, ny, nz = normalised(lean_x, lean_y, 1.0)
        cosine = dx * nx + dy * ny + dz * nz
        mx, my, mz = normalised(
            dx - 2.0 * cosine * nx,
            dy - 2.0 * cosine * ny,
            max(dz - 2.0 * cosine * nz, 0.004),
        )
        index[found], shares[found] = i, share
        starts[found, 0], starts[found, 1] = x, y
        starts[found, 2] = points[i, 2] + 0.004
        rays[found, 0], rays[found, 1], rays[found, 2] = mx, my, mz
        found += 1
    return index[:found], shares[:found], starts[:found], rays[:found]


@kernel
def veil(
    distance: F32,
    face: npt.NDArray[np.int32],
    table: FaceTable,
    light: Light,
    points: F32,
    albedo: F32,
    wet: npt.NDArray[np.int64],
    shares: F32,
    mirrored: F32,
    out: F32,
) -> None:
    """Lay the mirrored radiance (`m x 3` at the hits `wet`) over `out`, then fade it into fog."""
    for j in range(len(wet)):
        i = wet[j]
        for k in range(3):
            out[i, k] += shares[j] * (mirrored[j, k] - out[i, k])
    fog = light.horizon
    for i in range(len(face)):
        f = face[i]
        if f < 0:
            continue
        if table.materials[f] == _EMISSIVE:
            own = math.exp(-light.extinction * _LAMP_EXTINCTION * distance[i])
            for k in range(3):
                bright = albedo[i, k] * EMISSIVE_GAIN * own
                out[i, k] = bright + fog[k] * (1.0 - own) * 0.6
        else:
            left = math.exp(-light.extinction * distance[i])
            for k in range(3):
                out[i, k] = fog[k] + (out[i, k] - fog[k]) * left
            if light.rain > 0.5:
                # Spray lies over the road: thick at the ground, gone at a person's head.
                low = math.exp(-max(float(points[i, 2]), 0.0) / _SPRAY_HEIGHT)
                thick = _SPRAY * (2.0 * light.rain - 1.0) * min(float(distance[i]), 40.0) * low
                left = math.exp(-thick)
                for k in range(3):
                    out[i, k] = 1.12 * fog[k] + (out[i, k] - 1.12 * fog[k]) * left


@kernel
def glaze(
    directions: F32,
    at: npt.NDArray[np.int64],
    distance: F32,
    face: npt.NDArray[np.int32],
    table: FaceTable,
    light: Light,
    left: F32,
    added: F32,
) -> None:
    """Send light through one layer of panes.

    Args:
        directions: `n x 3`.
        at: Indices `m` of the rays that meet a pane.
        distance: Of the panes, `m`, m.
        face: Of the panes, `m`.
        table: The faces.
        light: Light and weather.
        left: In and out: share of the light from behind that still arrives, `n x 3`.
        added: In and out: radiance of the panes so far, `n x 3`.
    """
    for j in range(len(at)):
        i, f = at[j], face[j]
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        nx, ny, nz = table.normals[f, 0], table.normals[f, 1], table.normals[f, 2]
        cosine = dx * nx + dy * ny + dz * nz
        rest = 1.0 - min(abs(cosine), 1.0)
        share = 0.07 + 0.93 * rest * rest * rest * rest * rest
        mirrored = surroundings(
            light,
            dx - 2.0 * cosine * nx,
            dy - 2.0 * cosine * ny,
            dz - 2.0 * cosine * nz,
        )
        clear = math.exp(-light.extinction * distance[j])
        for k in range(3):
            added[i, k] += left[i, k] * share * mirrored[k] * clear
            # Fully clear glass would not be seen: it keeps a little off.
            left[i, k] *= (1.0 - share) * (0.72 + 0.24 * table.colours[f, k])
