"""The light of a room's lamps: shadow rays, their smoothing, and what surfaces send back."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..faces import FaceTable
from ..mesh import F32, Material
from ..sky import Light
from .compiled import kernel
from .noise import normalised, smoothstep

_GLOSSY, _METAL, _GLASS = int(Material.GLOSSY), int(Material.METAL), int(Material.GLASS)
_EMISSIVE, _RETRO = int(Material.EMISSIVE), int(Material.RETRO)
_TILE, _STONE, _PLANKS = int(Material.TILE), int(Material.STONE), int(Material.PLANKS)
_RGB = tuple[float, float, float]
Lamps = npt.NDArray[np.float64]

_SHORT = 1.5
"""Shadow rays end this many radii before a lamp's middle: its fitting does not hide it."""


@kernel
def lamp_rays(
    points: F32,
    normals: F32,
    flats: F32,
    distance: F32,
    face: npt.NDArray[np.int32],
    known: F32,
    lamp: Lamps,
    spots: npt.NDArray[np.float64],
    width: int,
) -> tuple[npt.NDArray[np.int64], F32, F32, F32]:
    """Return the hits that face a lamp, and rays to spots of it: `k` in a row a hit.

    Args:
        points: `n x 3`, m.
        normals: With grain, `n x 3`.
        flats: Without, `n x 3`.
        distance: Of the hits, `n`, m.
        face: `n`, -1 for a miss.
        known: In and out: share of the lamp that is seen, `n`. Numbers stay; where the lamp is
            behind the surface, 0 is written.
        lamp: One row of `lamp_table`.
        spots: Places on the unit disc, `16 x k x 2`: by the place of a pixel in a square of 4 x 4.
        width: Of the picture whose pixels the hits are, row by row: then every second of them is
            left out, like the fields of one colour of a chessboard; 1 where they are none.

    Returns:
        Indices `m`; origins and directions `m k x 3` and lengths `m k` of the rays.
    """
    k = spots.shape[1]
    index = np.empty(len(face), dtype=np.int64)
    found = 0
    for i in range(len(face)):
        if face[i] < 0 or not np.isnan(known[i]):
            continue
        x, y, z = lamp[0] - points[i, 0], lamp[1] - points[i, 1], lamp[2] - points[i, 2]
        if (
            normals[i, 0] * x + normals[i, 1] * y + normals[i, 2] * z <= 0.0
            or flats[i, 0] * x + flats[i, 1] * y + flats[i, 2] * z <= 0.0
        ):
            known[i] = 0.0
            continue
        if width > 1 and (i // width + i % width) & 1:
            continue
        index[found] = i
        found += 1
    starts = np.empty((found * k, 3), dtype=np.float32)
    rays = np.empty((found * k, 3), dtype=np.float32)
    lengths = np.empty(found * k, dtype=np.float32)
    radius = lamp[6]
    for j in range(found):
        i = index[j]
        lift = 0.003 + 0.0004 * distance[i]
        ox = points[i, 0] + flats[i, 0] * lift
        oy = points[i, 1] + flats[i, 1] * lift
        oz = points[i, 2] + flats[i, 2] * lift
        dx, dy, dz = normalised(lamp[0] - ox, lamp[1] - oy, lamp[2] - oz)
        # Two axes across the ray.
        if abs(dz) < 0.9:
            tx, ty, tz = normalised(dy, -dx, 0.0)
        else:
            tx, ty, tz = normalised(0.0, dz, -dy)
        bx, by, bz = dy * tz - dz * ty, dz * tx - dx * tz, dx * ty - dy * tx
        tile = ((i // width) & 3) << 2 | (i % width) & 3
        for a in range(k):
            p, q = radius * spots[tile, a, 0], radius * spots[tile, a, 1]
            x = lamp[0] + p * tx + q * bx - ox
            y = lamp[1] + p * ty + q * by - oy
            # Its lower half: of a lamp in a ceiling the upper one is hidden.
            z = lamp[2] - abs(p * tz + q * bz) - oz
            far = math.sqrt(x * x + y * y + z * z)
            row = j * k + a
            starts[row, 0], starts[row, 1], starts[row, 2] = ox, oy, oz
            inverse = 1.0 / max(far, 1e-6)
            rays[row, 0], rays[row, 1], rays[row, 2] = x * inverse, y * inverse, z * inverse
            lengths[row] = max(far - _SHORT * radius, 1e-3)
    return index[:found], starts, rays, lengths


@kernel
def take_closeness(
    index: npt.NDArray[np.int64],
    close: F32,
    flats: F32,
    face: npt.NDArray[np.int32],
    owner: npt.NDArray[np.int16],
    known: F32,
) -> None:
    """Write into `known` how much of a room's ambient light close objects leave the hits `index`.

    What objects stand on is darkened most; what is upright gets a breath of shade; on objects
    themselves few rays would draw bands.

    Args:
        index: Of the hits, `m`.
        close: Of rays, `k` in a row a hit, `m k`: 1 touching ... 0 at the end of their reach.
        flats: Normals without grain, `n x 3`.
        face: `n`.
        owner: By face, 0 for the backdrop.
        known: In and out, `n`.
    """
    if len(index) == 0:
        return
    k = len(close) // len(index)
    for j in range(len(index)):
        i = index[j]
        closed = 0.0
        for a in range(k):
            # Squared: an outline is wide and faint, what touches is dark.
            closed += close[j * k + a] * close[j * k + a]
        if owner[face[i]] > 0:
            strength = 0.75
        else:
            strength = 0.8 + 1.8 * smoothstep(0.4, 0.9, float(flats[i, 2]))
        closed *= strength / k
        # Never hard against its limit: an edge would show there.
        known[i] = 1.0 - 0.75 * (1.0 - math.exp(-1.3 * closed))


@kernel
def take_seen(index: npt.NDArray[np.int64], blocked: npt.NDArray[np.bool_], known: F32) -> None:
    """Write into `known` which share of a lamp the hits `index` see."""
    if len(index) == 0:
        return
    k = len(blocked) // len(index)
    for j in range(len(index)):
        seen = 0.0
        for a in range(k):
            if not blocked[j * k + a]:
                seen += 1.0
        known[index[j]] = seen / k


@kernel
def smoothed(
    values: F32,
    points: F32,
    flats: F32,
    distance: F32,
    face: npt.NDArray[np.int32],
    width: int,
    out: F32,
) -> None:
    """Average what 4 x 4 pixels of one surface found, each with rays of its own.

    Args:
        values: `c x n`, of the pixels row by row; NaN where nothing was found.
        points: `n x 3`, m.
        flats: Normals `n x 3`.
        distance: `n`, m.
        face: `n`, -1 for a miss.
        width: Of the picture.
        out: Out: `c x n`.
    """
    height = len(face) // width
    lows, highs = np.empty(len(face), dtype=np.float32), np.empty(len(face), dtype=np.float32)
    for c in range(len(values)):
        # Most of a picture is even: least and most of four in a row, then of four rows.
        for i in range(len(face)):
            column = i % width
            low, high = np.float32(np.inf), np.float32(-np.inf)
            for o in range(i - min(column, 2), i + min(width - column, 2)):
                value = values[c, o]
                if value < low:
                    low = value
                if value > high:
                    high = value
            lows[i], highs[i] = low, high
        for i in range(len(face)):
            out[c, i] = values[c, i]
            if face[i] < 0:
                continue
            row, column = i // width, i % width
            top, bottom = max(row - 2, 0), min(row + 2, height)
            low, high = np.float32(np.inf), np.float32(-np.inf)
            for y in range(top, bottom):
                low = min(low, lows[y * width + column])
                high = max(high, highs[y * width + column])
            if low > high:
                continue
            if low == high:
                out[c, i] = low
                continue
            slack = 0.004 + 0.004 * distance[i]
            total, found = 0.0, 0
            for y in range(top, bottom):
                for x in range(max(column - 2, 0), min(column + 2, width)):
                    o = y * width + x
                    value = values[c, o]
                    if face[o] < 0 or value != value:
                        continue
                    if face[o] == face[i]:
                        total += value
                        found += 1
                        continue
                    dot, off = 0.0, 0.0
                    for k in range(3):
                        dot += flats[i, k] * flats[o, k]
                        off += (points[o, k] - points[i, k]) * flats[i, k]
                    if dot > 0.9 and abs(off) < slack:
                        total += value
                        found += 1
            if found > 0:
                out[c, i] = total / found


@kernel
def glint(lamp: Lamps, x: float, y: float, z: float, mirrored: _RGB, hard: float) -> float:
    """Return the strength of a lamp's reflection at a point, seen in a mirrored direction.

    Args:
        lamp: One row of `lamp_table`.
        x: The point, m.
        y: Leftward.
        z: Upward.
        mirrored: Unit direction.
        hard: Exponent of the surface for a lamp that is a point.
    """
    lx, ly, lz = lamp[0] - x, lamp[1] - y, lamp[2] - z
    squared = lx * lx + ly * ly + lz * lz + 1e-6
    far = math.sqrt(squared)
    towards = (mirrored[0] * lx + mirrored[1] * ly + mirrored[2] * lz) / far
    if towards <= 0.8:
        return 0.0
    # A ball's reflection is as wide as the ball: the exponent gives way.
    ball = lamp[6] * lamp[6] / squared
    soft = hard / (1.0 + 0.5 * hard * ball)
    return float(towards**soft * math.sqrt(soft / hard))


@kernel
def lamplight(
    directions: F32,
    face: npt.NDArray[np.int32],
    table: FaceTable,
    points: F32,
    normals: F32,
    albedo: F32,
    lamps: Lamps,
    seen: F32,
    out: F32,
) -> None:
    """Add what surfaces send back of the lamps' light, `n x 3`.

    Args:
        directions: `n x 3`.
        face: Row in the table, `n`, -1 for a miss.
        table: The faces.
        points: `n x 3`, m.
        normals: With grain, `n x 3`.
        albedo: `n x 3`.
        lamps: `l x 7`, see `lamp_table`.
        seen: Share of each lamp that is seen, `l x n`.
        out: In and out, `n x 3`.
    """
    for i in range(len(face)):
        f = face[i]
        if f < 0:
            continue
        material = table.materials[f]
        if material == _EMISSIVE:
            continue
        nx, ny, nz = float(normals[i, 0]), float(normals[i, 1]), float(normals[i, 2])
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        turned = nx * dx + ny * dy + nz * dz
        mirrored = (dx - 2.0 * turned * nx, dy - 2.0 * turned * ny, dz - 2.0 * turned * nz)
        # Share of scattered light, exponent and strength of the glint.
        dull, hard, bright = 1.0, 0.0, 0.0
        if material == _GLOSSY:
            dull, hard, bright = 0.96, 120.0, 0.55
        elif material == _METAL:
            dull, hard, bright = 0.6, 70.0, 1.1
        elif material == _GLASS:
            dull, hard, bright = 0.86, 700.0, 5.0
        elif material == _TILE:
            dull, hard, bright = 0.96, 350.0, 0.3
        elif material == _STONE:
            dull, hard, bright = 0.96, 200.0, 0.5
        elif material == _PLANKS:
            dull, hard, bright = 0.97, 30.0, 0.14
        elif material == _RETRO:
            dull = 1.25
        for k in range(len(lamps)):
            share = float(seen[k, i])
            if share <= 0.0:
                continue
            lx, ly, lz = (
                lamps[k, 0] - points[i, 0],
                lamps[k, 1] - points[i, 1],
                lamps[k, 2] - points[i, 2],
            )
            squared = lx * lx + ly * ly + lz * lz
            cosine = (nx * lx + ny * ly + nz * lz) / math.sqrt(squared + 1e-9)
            if cosine <= 0.0:
                continue
            # A ball is nowhere brighter than at its own surface.
            arriving = share / (squared + lamps[k, 6] * lamps[k, 6])
            scattered = dull * cosine
            shine = 0.0
            if bright > 0.0:
                at = (float(points[i, 0]), float(points[i, 1]), float(points[i, 2]))
                shine = bright * glint(lamps[k], at[0], at[1], at[2], mirrored, hard)
            for c in range(3):
                tint = 0.2 + 0.8 * albedo[i, c] if material == _METAL else 1.0
                out[i, c] += lamps[k, 3 + c] * arriving * (albedo[i, c] * scattered + tint * shine)


@kernel
def around(light: Light, lamps: Lamps, x: float, y: float, z: float) -> _RGB:
    """Return the light that reaches a speck in the air from all sides: room and lamps."""
    up, down = light.ambient_up, light.ambient_down
    red, green, blue = (
        0.5 * (up[0] + down[0]),
        0.5 * (up[1] + down[1]),
        0.5 * (up[2] + down[2]),
    )
    for k in range(len(lamps)):
        lx, ly, lz = lamps[k, 0] - x, lamps[k, 1] - y, lamps[k, 2] - z
        arriving = 0.4 / (lx * lx + ly * ly + lz * lz + lamps[k, 6] * lamps[k, 6] + 0.04)
        red += lamps[k, 3] * arriving
        green += lamps[k, 4] * arriving
        blue += lamps[k, 5] * arriving
    return red, green, blue
