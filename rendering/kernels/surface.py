"""What rays hit: points, normals and colours; the sky where they hit nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..faces import FaceTable
from ..mesh import F32, Material
from ..noise import Noise
from ..sky import Light
from .compiled import kernel
from .fittings import fitting
from .grain import grain, has_grain
from .noise import normalised
from .sky import sky_radiance

_ASPHALT, _CONCRETE, _MATTE = int(Material.ASPHALT), int(Material.CONCRETE), int(Material.MATTE)
_FITTINGS = int(Material.TILE)


@kernel
def _soaking(material: int, height: float, up: float, wetness: float) -> float:
    """Return how wet a hit is: only level ground gets wet to see."""
    if up <= 0.95 or abs(height) >= 0.35:
        return 0.0
    if material == _ASPHALT:
        return wetness
    if material == _CONCRETE:
        return 0.5 * wetness
    if material == _MATTE:
        return 0.8 * wetness
    return 0.0


@kernel
def _bent(
    table: FaceTable, face: int, u: float, v: float, dx: float, dy: float, dz: float
) -> tuple[float, float, float]:
    """Return the unit normal at a hit, turned to the side that it is seen from."""
    normals = table.normals
    nx, ny, nz = float(normals[face, 0]), float(normals[face, 1]), float(normals[face, 2])
    if table.curved[face]:
        w = 1.0 - u - v
        nx = w * nx + u * normals[face, 3] + v * normals[face, 6]
        ny = w * ny + u * normals[face, 4] + v * normals[face, 7]
        nz = w * nz + u * normals[face, 5] + v * normals[face, 8]
    facing = nx * dx + ny * dy + nz * dz
    if facing > 0.35:  # seen from behind
        nx, ny, nz = -nx, -ny, -nz
    elif facing > 0.0:
        # Only just averted (an interpolated normal at a silhouette): seen edge on.
        nx, ny, nz = nx - facing * dx, ny - facing * dy, nz - facing * dz
    return normalised(nx, ny, nz)


@kernel
def surfaces(
    origins: F32,
    directions: F32,
    distance: F32,
    face: npt.NDArray[np.int32],
    u: F32,
    v: F32,
    table: FaceTable,
    light: Light,
    noise: Noise,
    primary: bool,
    points: F32,
    normals: F32,
    flats: F32,
    albedo: F32,
    openness: F32,
    soaked: F32,
    out: F32,
) -> None:
    """Fill in the surface at each hit and the sky's radiance at each miss.

    Args:
        origins: `n x 3`, or `1 x 3` for one that all rays share, m.
        directions: `n x 3`.
        distance: Of the hits, `n`, m.
        face: Row in the table, `n`, -1 for a miss.
        u: Barycentric weight of the second corner, `n`.
        v: Of the third, `n`.
        table: The faces.
        light: Light and weather.
        noise: The textures.
        primary: Whether this is the picture itself and not what is mirrored in it.
        points: Out: `n x 3`, m.
        normals: Out: unit normals with grain, `n x 3`.
        flats: Out: unit normals without, `n x 3`.
        albedo: Out: `n x 3`.
        openness: Out: share of ambient light that the backdrop leaves, `n`.
        soaked: Out: 0 dry ... 1 wet, `n`.
        out: Out: radiance of the misses, `n x 3`.
    """
    one_origin = len(origins) == 1
    for i in range(len(face)):
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        f = face[i]
        if f < 0:
            red, green, blue = sky_radiance(light, noise.cloud, dx, dy, dz)
            out[i, 0], out[i, 1], out[i, 2] = red, green, blue
            openness[i] = 1.0
            continue
        o = 0 if one_origin else i
        t = float(distance[i])
        x, y, z = origins[o, 0] + dx * t, origins[o, 1] + dy * t, origins[o, 2] + dz * t
        points[i, 0], points[i, 1], points[i, 2] = x, y, z
        b, c = float(u[i]), float(v[i])
        nx, ny, nz = _bent(table, f, b, c, dx, dy, dz)
        flats[i, 0], flats[i, 1], flats[i, 2] = nx, ny, nz
        material = int(table.materials[f])
        red = float(table.colours[f, 0])
        green = float(table.colours[f, 1])
        blue = float(table.colours[f, 2])
        wet = 0.0
        if light.wetness > 0.0 and primary:
            wet = _soaking(material, z, nz, light.wetness)
        if has_grain(material, not primary):
            nx, ny, nz, red, green, blue = grain(
                material,
                (x, y, z),
                (nx, ny, nz),
                (red, green, blue),
                t * light.pixel_angle,
                noise,
            )
        elif material >= _FITTINGS:
            nx, ny, nz, red, green, blue = fitting(
                material,
                (x, y, z),
                (nx, ny, nz),
                (red, green, blue),
                (dx, dy, dz),
                t * light.pixel_angle,
                noise,
            )
        dark = 1.0 - 0.5 * wet
        normals[i, 0], normals[i, 1], normals[i, 2] = nx, ny, nz
        albedo[i, 0] = min(max(red, 0.0), 1.0) * dark
        albedo[i, 1] = min(max(green, 0.0), 1.0) * dark
        albedo[i, 2] = min(max(blue, 0.0), 1.0) * dark
        soaked[i] = wet
        share = table.openness
        openness[i] = (1.0 - b - c) * share[f, 0] + b * share[f, 1] + c * share[f, 2]


@kernel
def sun_rays(
    points: F32,
    normals: F32,
    flats: F32,
    distance: F32,
    face: npt.NDArray[np.int32],
    light: Light,
) -> tuple[npt.NDArray[np.int64], F32]:
    """Return the hits that face the sun, and where rays towards it start, `m x 3`."""
    sx, sy, sz = light.towards_sun
    index = np.empty(len(face), dtype=np.int64)
    starts = np.empty((len(face), 3), dtype=np.float32)
    found = 0
    for i in range(len(face)):
        if face[i] < 0:
            continue
        if normals[i, 0] * sx + normals[i, 1] * sy + normals[i, 2] * sz <= 0.0:
            continue
        if flats[i, 0] * sx + flats[i, 1] * sy + flats[i, 2] * sz <= 0.0:
            continue
        lift = 0.003 + 0.0004 * distance[i]
        for k in range(3):
            starts[found, k] = points[i, k] + flats[i, k] * lift
        index[found] = i
        found += 1
    return index[:found], starts[:found]


@kernel
def contact_rays(
    points: F32,
    flats: F32,
    face: npt.NDArray[np.int32],
    known: F32,
    boxes: npt.NDArray[np.float64],
    reach: float,
    tilts: npt.NDArray[np.float64],
    width: int,
) -> tuple[npt.NDArray[np.int64], F32, F32]:
    """Return the hits near objects, and short rays from each: `k` in a row a hit.

    Args:
        points: `n x 3`, m.
        flats: Normals `n x 3`.
        face: `n`, -1 for a miss.
        known: `n`; a hit with a number here needs no rays.
        boxes: Of the objects, `b x 2 x 3`, m.
        reach: Length of the rays, m.
        tilts: Unit directions that the rays lean to, `1 x k x 3`, or `16 x k x 3`: by the place
            of a pixel in a square of 4 x 4.
        width: Of the picture whose pixels the hits are, row by row: then every second of them is
            left out, like the fields of one colour of a chessboard; 1 where they are none.

    Returns:
        Indices `m`, origins `m k x 3` and directions `m k x 3`.
    """
    k = tilts.shape[1]
    tiled = len(tilts) > 1
    index = np.empty(len(face), dtype=np.int64)
    found = 0
    for i in range(len(face)):
        if face[i] < 0 or not np.isnan(known[i]):
            continue
        if width > 1 and (i // width + i % width) & 1:
            continue
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for b in range(len(boxes)):
            if (
                x > boxes[b, 0, 0] - reach
                and x < boxes[b, 1, 0] + reach
                and y > boxes[b, 0, 1] - reach
                and y < boxes[b, 1, 1] + reach
                and z > boxes[b, 0, 2] - reach
                and z < boxes[b, 1, 2] + reach
            ):
                index[found] = i
                found += 1
                break
    starts = np.empty((found * k, 3), dtype=np.float32)
    rays = np.empty((found * k, 3), dtype=np.float32)
    for j in range(found):
        i = index[j]
        nx, ny, nz = float(flats[i, 0]), float(flats[i, 1]), float(flats[i, 2])
        tile = ((i // width) & 3) << 2 | (i % width) & 3 if tiled else 0
        for a in range(k):
            row = j * k + a
            starts[row, 0] = points[i, 0] + 0.006 * nx
            starts[row, 1] = points[i, 1] + 0.006 * ny
            starts[row, 2] = points[i, 2] + 0.006 * nz
            # Between the fixed direction and the normal: always above the surface.
            rx, ry, rz = normalised(
                nx + 0.95 * tilts[tile, a, 0],
                ny + 0.95 * tilts[tile, a, 1],
                nz + 0.95 * tilts[tile, a, 2],
            )
            rays[row, 0], rays[row, 1], rays[row, 2] = rx, ry, rz
    return index[:found], starts, rays


@kernel
def take_contact(
    index: npt.NDArray[np.int64],
    close: F32,
    face: npt.NDArray[np.int32],
    owner: npt.NDArray[np.int16],
    known: F32,
    strength: float,
) -> None:
    """Write into `known` how much of the ambient light is left at the hits `index`.

    `strength` is by how much more than their share of the sky close objects darken the backdrop.
    """
    if len(index) == 0:
        return
    k = len(close) // len(index)
    for j in range(len(index)):
        i = index[j]
        closed = 0.0
        for a in range(k):
            closed += close[j * k + a]
        # Few rays draw bands: on the objects themselves they must stay faint, on the ground they
        # are what makes an object stand on it.
        closed *= (0.75 if owner[face[i]] > 0 else strength) / k
        known[i] = 1.0 - 0.8 * min(closed, 1.0)
