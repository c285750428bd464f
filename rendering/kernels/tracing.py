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
def cull_turned(
    origins: F32, directions: F32, reach: F32, frame: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], F32, F32]:
    """Return what `cull` does for a frame that is turned in any way.

    Args:
        origins: `n x 3`, m, or `1 x 3` for one that all rays share.
        directions: `n x 3`, unit length.
        reach: `n`, length of the rays, m, or `1`.
        frame: Place of the box's frame, its three axes in the world one after the other, then the
            box's lowest and highest corner there: 18 numbers.

    Returns:
        The indices `m`, origins `m x 3` and directions `m x 3`.
    """
    n = len(directions)
    index = np.empty(n, dtype=np.int64)
    starts = np.empty((n, 3), dtype=np.float32)
    rays = np.empty((n, 3), dtype=np.float32)
    tx, ty, tz = frame[0], frame[1], frame[2]
    ax, ay, az = frame[3], frame[4], frame[5]
    bx, by, bz = frame[6], frame[7], frame[8]
    cx, cy, cz = frame[9], frame[10], frame[11]
    low_x, low_y, low_z = frame[12], frame[13], frame[14]
    high_x, high_y, high_z = frame[15], frame[16], frame[17]
    one_origin, one_reach = len(origins) == 1, len(reach) == 1
    mx, my, mz = 0.5 * (low_x + high_x), 0.5 * (low_y + high_y), 0.5 * (low_z + high_z)
    middle_x = tx + mx * ax + my * bx + mz * cx
    middle_y = ty + mx * ay + my * by + mz * cy
    middle_z = tz + mx * az + my * bz + mz * cz
    wide, deep, tall = high_x - low_x, high_y - low_y, high_z - low_z
    ball = 0.2501 * (wide * wide + deep * deep + tall * tall)
    found = 0
    for i in range(n):
        o = 0 if one_origin else i
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        qx, qy, qz = middle_x - origins[o, 0], middle_y - origins[o, 1], middle_z - origins[o, 2]
        along = qx * dx + qy * dy + qz * dz
        beyond = qx * qx + qy * qy + qz * qz - ball
        if beyond > 0.0 and (along < 0.0 or beyond > along * along):
            continue
        px, py, pz = origins[o, 0] - tx, origins[o, 1] - ty, origins[o, 2] - tz
        ox, rx = ax * px + ay * py + az * pz, ax * dx + ay * dy + az * dz
        oy, ry = bx * px + by * py + bz * pz, bx * dx + by * dy + bz * dz
        oz, rz = cx * px + cy * py + cz * pz, cx * dx + cy * dy + cz * dz
        near, far = 0.0, float(reach[0 if one_reach else i])
        ix = 1.0 / (rx if rx != 0.0 else 1e-30)
        iy = 1.0 / (ry if ry != 0.0 else 1e-30)
        iz = 1.0 / (rz if rz != 0.0 else 1e-30)
        a, b = (low_x - ox) * ix, (high_x - ox) * ix
        near, far = max(near, min(a, b)), min(far, max(a, b))
        a, b = (low_y - oy) * iy, (high_y - oy) * iy
        near, far = max(near, min(a, b)), min(far, max(a, b))
        a, b = (low_z - oz) * iz, (high_z - oz) * iz
        near, far = max(near, min(a, b)), min(far, max(a, b))
        if near > far:
            continue
        index[found] = i
        starts[found, 0], starts[found, 1], starts[found, 2] = ox, oy, oz
        rays[found, 0], rays[found, 1], rays[found, 2] = rx, ry, rz
        found += 1
    return index[:found], starts[:found], rays[:found]


@kernel
def cull_each(
    origins: F32, directions: F32, reach: F32, frames: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], F32, F32]:
    """Return what `cull_turned` does for each of many frames, at once.

    Args:
        origins: `n x 3`, m, or `1 x 3` for one that all rays share.
        directions: `n x 3`, unit length.
        reach: `n`, length of the rays, m, or `1`.
        frames: `k x 18`.

    Returns:
        How many rays `k` pass through each box; of these, in the first places of a row, the
        indices `k x n`, origins `k x n x 3` and directions `k x n x 3`.
    """
    n, k = len(directions), len(frames)
    count = np.zeros(k, dtype=np.int64)
    index = np.empty((k, n), dtype=np.int64)
    starts = np.empty((k, n, 3), dtype=np.float32)
    rays = np.empty((k, n, 3), dtype=np.float32)
    one_origin, one_reach = len(origins) == 1, len(reach) == 1
    # The ball round each box: its middle and its radius squared.
    balls = np.empty((k, 4))
    for b in range(k):
        f = frames[b]
        mx, my, mz = 0.5 * (f[12] + f[15]), 0.5 * (f[13] + f[16]), 0.5 * (f[14] + f[17])
        for c in range(3):
            balls[b, c] = f[c] + mx * f[3 + c] + my * f[6 + c] + mz * f[9 + c]
        wide, deep, tall = f[15] - f[12], f[16] - f[13], f[17] - f[14]
        balls[b, 3] = 0.2501 * (wide * wide + deep * deep + tall * tall)
    for i in range(n):
        o = 0 if one_origin else i
        px, py, pz = float(origins[o, 0]), float(origins[o, 1]), float(origins[o, 2])
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        length = float(reach[0 if one_reach else i])
        for b in range(k):
            qx, qy, qz = balls[b, 0] - px, balls[b, 1] - py, balls[b, 2] - pz
            along = qx * dx + qy * dy + qz * dz
            beyond = qx * qx + qy * qy + qz * qz - balls[b, 3]
            if beyond > 0.0 and (along < 0.0 or beyond > along * along):
                continue
            f = frames[b]
            tx, ty, tz = px - f[0], py - f[1], pz - f[2]
            near, far = 0.0, length
            at = count[b]
            for c in range(3):
                ax, ay, az = f[3 + 3 * c], f[4 + 3 * c], f[5 + 3 * c]
                start = ax * tx + ay * ty + az * tz
                ray = ax * dx + ay * dy + az * dz
                inverse = 1.0 / (ray if ray != 0.0 else 1e-30)
                one, two = (f[12 + c] - start) * inverse, (f[15 + c] - start) * inverse
                near, far = max(near, min(one, two)), min(far, max(one, two))
                starts[b, at, c], rays[b, at, c] = start, ray
            if near <= far:
                index[b, at] = i
                count[b] = at + 1
    return count, index, starts, rays


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
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the pixels (row by row) that lie on an edge, and which of them on one within a look.

    Args:
        picture: `height x width x 3`, display values.
        owner: `height x width`.
        looks: `height x width`.
        limits: Least step that counts between two objects, two looks, and within one.
    """
    height, width = owner.shape
    edge = np.zeros(height * width, dtype=np.uint8)
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
                kind = 1
                if owner[row, column] != owner[other_row, other_column]:
                    least = limits[0]
                elif looks[row, column] != looks[other_row, other_column]:
                    least = limits[1]
                else:
                    least = limits[2]
                    kind = 2
                if step > least:
                    edge[row * width + column] |= kind
                    edge[other_row * width + other_column] |= kind
    at = np.flatnonzero(edge)
    return at, edge[at] >= 2


@kernel
def borrow(
    at: npt.NDArray[np.int64],
    within: npt.NDArray[np.bool_],
    owner: npt.NDArray[np.int16],
    looks: npt.NDArray[np.int32],
    picture: F32,
    sample_owner: npt.NDArray[np.int16],
    sample_looks: npt.NDArray[np.int32],
    grid: npt.NDArray[np.float64],
    out: F32,
) -> npt.NDArray[np.int64]:
    """Give samples on an edge between two looks the colour of a pixel beside it with their look.

    Args:
        at: Pixels `m`, row by row.
        within: `m`: an edge within a look, a shadow's: nothing to borrow there.
        owner: Of the pixels, `height x width`.
        looks: Of the pixels, `height x width`.
        picture: `height x width x 3`, display values.
        sample_owner: Of the samples, `m k`, those of a pixel in a row.
        sample_looks: Of the samples, `m k`.
        grid: Places of the samples from the pixel's middle (across, down), `k x 2`, pixels.
        out: In and out: display values of the samples, `m k x 3`.

    Returns:
        The samples for which there was nothing to borrow.
    """
    height, width = owner.shape
    k = len(grid)
    left = np.empty(len(at) * k, dtype=np.int64)
    count = 0
    for j in range(len(at)):
        row, column = at[j] // width, at[j] % width
        for a in range(k):
            s = j * k + a
            found = False
            if not within[j]:
                across = 1 if grid[a, 0] > 0.0 else -1
                down = 1 if grid[a, 1] > 0.0 else -1
                # The pixel itself, then its neighbours, those on the sample's side first.
                for n in range(7):
                    y, x = row, column
                    if n == 1 or n == 3 or n == 6:
                        x += across
                    if n == 2 or n == 3 or n == 5:
                        y += down
                    if n == 4 or n == 5:
                        x -= across
                    if n == 6:
                        y -= down
                    if y < 0 or x < 0 or y >= height or x >= width:
                        continue
                    if owner[y, x] == sample_owner[s] and looks[y, x] == sample_looks[s]:
                        for c in range(3):
                            out[s, c] = picture[y, x, c]
                        found = True
                        break
            if not found:
                left[count] = s
                count += 1
    return left[:count]


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
