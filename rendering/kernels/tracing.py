"""Which rays can meet an object, in the object's own frame; and the edges of a picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..mesh import F32
from .compiled import kernel


@kernel
def cull(
    origins: F32, directions: F32, reach: F32, frame: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], F32, F32]:
    """Return the rays that pass through a box, as seen from the box's own frame.

    Args:
        origins: `n x 3`, m, or `1 x 3` for one that all rays share.
        directions: `n x 3`, unit length.
        reach: `n`, length of the rays, m, or `1`.
        frame: `x, y, z, cos yaw, sin yaw` of the box's frame, then its lowest and highest corner
            there: 11 numbers.

    Returns:
        The indices `m`, origins `m x 3` and directions `m x 3`.
    """
    n = len(directions)
    index = np.empty(n, dtype=np.int64)
    starts = np.empty((n, 3), dtype=np.float32)
    rays = np.empty((n, 3), dtype=np.float32)
    tx, ty, tz, c, s = frame[0], frame[1], frame[2], frame[3], frame[4]
    one_origin, one_reach = len(origins) == 1, len(reach) == 1
    # Most rays miss the ball round the box, which is quicker told.
    mx, my = 0.5 * (frame[5] + frame[8]), 0.5 * (frame[6] + frame[9])
    bx, by = tx + c * mx - s * my, ty + s * mx + c * my
    bz = tz + 0.5 * (frame[7] + frame[10])
    wide, deep, tall = frame[8] - frame[5], frame[9] - frame[6], frame[10] - frame[7]
    ball = 0.2501 * (wide * wide + deep * deep + tall * tall)
    found = 0
    for i in range(n):
        o = 0 if one_origin else i
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        qx, qy, qz = bx - origins[o, 0], by - origins[o, 1], bz - origins[o, 2]
        along = qx * dx + qy * dy + qz * dz
        beyond = qx * qx + qy * qy + qz * qz - ball
        if beyond > 0.0 and (along < 0.0 or beyond > along * along):
            continue
        px, py, pz = origins[o, 0] - tx, origins[o, 1] - ty, origins[o, 2] - tz
        ox, oy = c * px + s * py, c * py - s * px
        rx, ry = c * dx + s * dy, c * dy - s * dx
        near, far = 0.0, float(reach[0 if one_reach else i])
        ix = 1.0 / (rx if rx != 0.0 else 1e-30)
        iy = 1.0 / (ry if ry != 0.0 else 1e-30)
        iz = 1.0 / (dz if dz != 0.0 else 1e-30)
        a, b = (frame[5] - ox) * ix, (frame[8] - ox) * ix
        near, far = max(near, min(a, b)), min(far, max(a, b))
        a, b = (frame[6] - oy) * iy, (frame[9] - oy) * iy
        near, far = max(near, min(a, b)), min(far, max(a, b))
        a, b = (frame[7] - pz) * iz, (frame[10] - pz) * iz
        near, far = max(near, min(a, b)), min(far, max(a, b))
        if near > far:
            continue
        index[found] = i
        starts[found, 0], starts[found, 1], starts[found, 2] = ox, oy, pz
        rays[found, 0], rays[found, 1], rays[found, 2] = rx, ry, dz
        found += 1
    return index[:found], starts[:found], rays[:found]


@kernel
def take_nearer(
    index: npt.NDArray[np.int64],
    found: npt.NDArray[np.int32],
    found_distance: F32,
    found_u: F32,
    found_v: F32,
    first: int,
    distance: F32,
    face: npt.NDArray[np.int32],
    u: F32,
    v: F32,
) -> None:
    """Write the hits `found` (faces counted from `first`) of the rays `index` over farther ones.

    An object that lies on the ground is seen, hence before what is as far.
    """
    for k in range(len(index)):
        i = index[k]
        if found[k] >= 0 and found_distance[k] <= distance[i]:
            distance[i], face[i] = found_distance[k], found[k] + first
            u[i], v[i] = found_u[k], found_v[k]


@kernel
def edges(
    picture: F32,
    owner: npt.NDArray[np.int16],
    looks: npt.NDArray[np.int32],
    limits: tuple[float, float, float],
) -> npt.NDArray[np.int64]:
    """Return the pixels (row by row) that lie on an edge.

    Args:
        picture: `height x width x 3`, display values.
        owner: `height x width`.
        looks: `height x width`.
        limits: Least step that counts between two objects, two looks, and within one.
    """
    height, width = owner.shape
    edge = np.zeros((height, width), dtype=np.bool_)
    for row in range(height):
        for column in range(width):
            for down in range(2):
                other_row, other_column = row + down, column + 1 - down
                if other_row >= height or other_column >= width:
                    continue
                step = 0.0
                for k in range(3):
                    step = max(
                        step,
                        abs(picture[row, column, k] - picture[other_row, other_column, k]),
                    )
                if owner[row, column] != owner[other_row, other_column]:
                    least = limits[0]
                elif looks[row, column] != looks[other_row, other_column]:
                    least = limits[1]
                else:
                    least = limits[2]
                if step > least:
                    edge[row, column] = True
                    edge[other_row, other_column] = True
    return np.flatnonzero(edge)


@kernel
def differing(one: F32, other: F32, veil: F32, least: float) -> int:
    """Count the rows of `n x 3` whose largest difference, seen through a veil `n`, is noticed."""
    count = 0
    for i in range(len(one)):
        step = 0.0
        for k in range(3):
            step = max(step, abs(one[i, k] - other[i, k]))
        if step * (1.0 - veil[i]) >= least:
            count += 1
    return count
