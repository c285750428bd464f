"""What a room is seen through: drinking glasses, steam and smoke, flames, puddles."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..faces import FaceTable
from ..mesh import F32, Material
from ..noise import Noise
from ..sky import Light
from .compiled import kernel
from .lamps import Lamps, around, glint
from .light import surroundings
from .noise import bilinear, normalised, smoothstep

_CLEAR, _VAPOUR, _FLAME = int(Material.CLEAR), int(Material.VAPOUR), int(Material.FLAME)
_LIQUID = int(Material.LIQUID)
_RGB = tuple[float, float, float]

_RIPPLE = 0.05  # of a puddle's normal: what it mirrors is seen to be mirrored
# A window that is never seen but in every glass: towards it (plan), half its width and height.
_PANE_X, _PANE_Y, _PANE_WIDE, _PANE_LOW, _PANE_HIGH = -0.72, 0.69, 0.16, -0.30, 0.42
_PANE_BRIGHT = 0.35
_FLAME_GAIN, _CORE_GAIN = 5.0, 7.0
_WALL_DARK, _WALL_BRIGHT = 0.62, 0.13  # of a curved wall of glass: its outline, the line inside it


@kernel
def _upright(table: FaceTable, f: int, u: float, v: float) -> _RGB:
    """Return the unit normal at a hit, whichever side it is seen from."""
    n = table.normals
    nx, ny, nz = float(n[f, 0]), float(n[f, 1]), float(n[f, 2])
    if table.curved[f]:
        w = 1.0 - u - v
        nx = w * nx + u * n[f, 3] + v * n[f, 6]
        ny = w * ny + u * n[f, 4] + v * n[f, 7]
        nz = w * nz + u * n[f, 5] + v * n[f, 8]
    return normalised(nx, ny, nz)


@kernel
def _wavy(cloud: F32, normal: _RGB, x: float, y: float, z: float) -> _RGB:
    """Return a liquid's normal at a point."""
    a = bilinear(cloud, x * 60.0 + 13.0 * z, y * 60.0) - 0.5
    b = bilinear(cloud, x * 60.0 + 171.0, y * 60.0 + 57.0 + 13.0 * z) - 0.5
    return normalised(normal[0] + _RIPPLE * a, normal[1] + _RIPPLE * b, normal[2])


@kernel
def _rim(slope: float, nz: float, away: float, rest: float) -> tuple[float, float]:
    """Return how much a liquid shines where it is curved, and what it takes of the light below.

    The far rim of a puddle mirrors lamps and window, the near one bends away what lies below; a
    run down a front has a bright middle and dark sides.

    Args:
        slope: One less the upward part of its normal.
        nz: Upward part of its normal.
        away: Level part of its normal along the ray: positive where it slopes away.
        rest: One less the cosine between ray and normal.
    """
    rim = smoothstep(0.002, 0.06, slope)
    if nz < 0.5:
        return 0.10 + 0.50 * smoothstep(0.16, 0.04, rest), 0.15 + 0.5 * smoothstep(0.10, 0.5, rest)
    far = smoothstep(-0.15, 0.10, away)
    return rim * (0.28 + 0.36 * far), rim * (0.60 - 0.40 * far)


@kernel
def mirror_rays(
    origin: F32,
    directions: F32,
    at: npt.NDArray[np.int64],
    distance: F32,
    face: npt.NDArray[np.int32],
    u: F32,
    v: F32,
    table: FaceTable,
    noise: Noise,
) -> tuple[npt.NDArray[np.int64], F32, F32]:
    """Return which panes of a layer are worth a mirrored ray, and those rays.

    Args:
        origin: Of all rays, `1 x 3`, m.
        directions: `n x 3`.
        at: The rays `m` that meet a pane of this layer.
        distance: Of the panes, `m`, m.
        face: `m`.
        u: Barycentric weight of the second corner, `m`.
        v: Of the third, `m`.
        table: The faces.
        noise: The textures.

    Returns:
        Places `k` in the layer, origins and directions `k x 3`.
    """
    index = np.empty(len(at), dtype=np.int64)
    starts = np.empty((len(at), 3), dtype=np.float32)
    rays = np.empty((len(at), 3), dtype=np.float32)
    found = 0
    for j in range(len(at)):
        material = table.materials[face[j]]
        if material != _LIQUID and material != _CLEAR:
            continue
        i = at[j]
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        t = float(distance[j])
        x, y, z = origin[0, 0] + dx * t, origin[0, 1] + dy * t, origin[0, 2] + dz * t
        nx, ny, nz = _upright(table, face[j], float(u[j]), float(v[j]))
        if nx * dx + ny * dy + nz * dz > 0.0:
            continue
        if material == _LIQUID:
            nx, ny, nz = _wavy(noise.cloud, (nx, ny, nz), x, y, z)
        turned = nx * dx + ny * dy + nz * dz
        rx, ry, rz = normalised(
            dx - 2.0 * turned * nx, dy - 2.0 * turned * ny, dz - 2.0 * turned * nz
        )
        index[found] = j
        starts[found, 0], starts[found, 1] = x + 0.004 * nx, y + 0.004 * ny
        starts[found, 2] = z + 0.004 * nz
        rays[found, 0], rays[found, 1], rays[found, 2] = rx, ry, rz
        found += 1
    return index[:found], starts[:found], rays[:found]


@kernel
def overlay(
    origin: F32,
    directions: F32,
    at: npt.NDArray[np.int64],
    distance: F32,
    face: npt.NDArray[np.int32],
    u: F32,
    v: F32,
    behind: F32,
    table: FaceTable,
    light: Light,
    lamps: Lamps,
    noise: Noise,
    mirrored: F32,
    left: F32,
    added: F32,
    burning: F32,
) -> None:
    """Send light through one layer of panes.

    Args:
        origin: Of all rays, `1 x 3`, m.
        directions: `n x 3`.
        at: The rays `m` that meet a pane of this layer.
        distance: Of the panes, `m`, m.
        face: `m`.
        u: Barycentric weight of the second corner, `m`.
        v: Of the third, `m`.
        behind: Where the rays end, `n`, m.
        table: The faces.
        light: Light and weather.
        lamps: `l x 7`, see `lamp_table`.
        noise: The textures.
        mirrored: What the panes mirror, `m x 3`; NaN where that is left to the surroundings.
        left: In and out: share of the light from behind that still arrives, `n x 3`.
        added: In and out: radiance of the panes so far, `n x 3`.
        burning: In and out: how much flame is seen, `n`.
    """
    cloud = noise.cloud
    for j in range(len(at)):
        i, f = at[j], face[j]
        material = int(table.materials[f])
        dx, dy, dz = float(directions[i, 0]), float(directions[i, 1]), float(directions[i, 2])
        t = float(distance[j])
        x, y, z = origin[0, 0] + dx * t, origin[0, 1] + dy * t, origin[0, 2] + dz * t
        nx, ny, nz = _upright(table, f, float(u[j]), float(v[j]))
        turned = nx * dx + ny * dy + nz * dz
        colour = table.colours[f]
        if material in (_VAPOUR, _FLAME):
            if turned >= 0.0:  # one surface of a blob stands for all of it
                continue
            facing = -turned
            # What a blob stands in would cut it off in a line.
            soft = facing * smoothstep(0.0, 0.05, float(behind[i]) - t)
            if material == _VAPOUR:
                wisps = bilinear(cloud, (x + 0.7 * y) * 90.0 + 31.0, z * 42.0 + y * 23.0)
                wisps += 0.5 * bilinear(cloud, (y - 0.6 * x) * 210.0, z * 110.0 + 9.0)
                grey = (colour[0] + colour[1] + colour[2]) / 3.0
                # Smoke is dense all through, steam in wisps.
                least = max(0.85 - 0.9 * grey, 0.35)
                thick = 0.95 - 0.53 * grey
                thick *= least + (1.0 - least) * smoothstep(0.25, 1.15, wisps)
                opaque = thick * soft * math.sqrt(facing)
                lit = around(light, lamps, x, y, z)
                for k in range(3):
                    added[i, k] += left[i, k] * opaque * colour[k] * lit[k]
                    left[i, k] *= 1.0 - opaque
            else:
                tongue = bilinear(cloud, (x + 0.8 * y) * 240.0, z * 75.0 - 40.0 * (x - y))
                opaque = soft * smoothstep(0.05, 0.6, 0.55 * tongue + 0.65 * facing - 0.1)
                core = soft * facing * facing * facing
                white = 0.3 * (colour[0] + colour[1] + colour[2])
                for k in range(3):
                    own = _FLAME_GAIN * colour[k] * opaque
                    own += (
                        _CORE_GAIN * (0.6 * colour[k] + 0.4 * white) * core * (0.4 + 0.6 * tongue)
                    )
                    added[i, k] += left[i, k] * own
                    left[i, k] *= 1.0 - 0.3 * opaque
                burning[i] += opaque
            continue
        if turned > 0.0:
            if material == _LIQUID:  # its surface stands for all of it, too
                continue
            nx, ny, nz = -nx, -ny, -nz
        shine, taken = 0.0, 0.0
        if material == _LIQUID:
            shine, taken = _rim(1.0 - abs(nz), nz, nx * dx + ny * dy, 1.0 - abs(turned))
            nx, ny, nz = _wavy(cloud, (nx, ny, nz), x, y, z)
        turned = nx * dx + ny * dy + nz * dz
        rest = 1.0 - min(abs(turned), 1.0)
        square = rest * rest
        image = (dx - 2.0 * turned * nx, dy - 2.0 * turned * ny, dz - 2.0 * turned * nz)
        red, green, blue = float(mirrored[j, 0]), float(mirrored[j, 1]), float(mirrored[j, 2])
        if np.isnan(red):
            red, green, blue = surroundings(light, image[0], image[1], image[2])
            red, green, blue = 0.5 * red, 0.5 * green, 0.5 * blue
        if material == _LIQUID:
            # Waves show more sky in water than a level mirror would; coffee must stay dark.
            clear = smoothstep(0.05, 0.30, colour[0])
            share = (
                0.03
                + 0.04 * clear
                + 0.90 * square * rest * (0.6 * rest + (1.0 - 0.6 * rest) * clear)
            )
        else:
            share = 0.045 + 0.955 * square * square * rest
        for k in range(len(lamps)):
            lx, ly, lz = lamps[k, 0] - x, lamps[k, 1] - y, lamps[k, 2] - z
            arriving = 1.0 / (lx * lx + ly * ly + lz * lz + 0.05)
            arriving *= 4.0 * glint(lamps[k], x, y, z, image, 500.0)
            for c in range(3):
                added[i, c] += left[i, c] * lamps[k, 3 + c] * arriving
        lit = around(light, lamps, x, y, z)
        window = 0.0
        if material == _CLEAR:
            plan = math.sqrt(image[0] * image[0] + image[1] * image[1]) + 1e-6
            beside = (image[0] * _PANE_Y - image[1] * _PANE_X) / plan
            if image[0] * _PANE_X + image[1] * _PANE_Y > 0.0:
                window = _PANE_BRIGHT * smoothstep(_PANE_WIDE + 0.05, _PANE_WIDE, abs(beside))
                window *= smoothstep(0.02, 0.04, abs(beside))  # its bar
                window *= smoothstep(_PANE_LOW - 0.06, _PANE_LOW, image[2])
                window *= smoothstep(_PANE_HIGH + 0.06, _PANE_HIGH, image[2])
        outline, line = 0.0, 0.0
        if table.curved[f]:
            outline = _WALL_DARK * smoothstep(0.42, 0.80, rest)
            line = _WALL_BRIGHT * smoothstep(0.14, 0.26, rest) * smoothstep(0.46, 0.34, rest)
        for k in range(3):
            image_k = red if k == 0 else green if k == 1 else blue
            added[i, k] += left[i, k] * share * image_k
            if material == _LIQUID:
                # As dark as its colour looks: water wets the ground, coffee covers it.
                through = math.sqrt(max(float(colour[k]), 0.0))
                own = 0.35 * (1.0 - through) * colour[k]
                # A dark liquid is thin at its rim: there it shows its hue.
                thin = 1.0 - through
                own += shine * through * (0.8 + 2.6 * thin * thin * thin)
                added[i, k] += left[i, k] * (1.0 - share) * own * lit[k]
                left[i, k] *= (1.0 - share) * through * (1.0 - taken)
            else:
                # Seen along a wall of glass, light passes through much of it.
                added[i, k] += left[i, k] * (window + line) * lit[k]
                through = (0.76 + 0.21 * colour[k]) * (1.0 - 0.55 * square * rest)
                left[i, k] *= (1.0 - share) * through * (1.0 - outline)
