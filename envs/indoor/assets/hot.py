"""Steam, smoke, the gas burner's flame and the frying pan."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    F64,
    Colour,
    capsule,
    cylinder,
    disc,
    ellipsoid,
    lathe,
    loft,
    sweep,
    torus,
)
from .parts import STEEL, Anchors, Builders, Place, generator, lumpy, puff, wisp

_PLUME: tuple[Colour, Colour] = ((0.64, 0.66, 0.69), (0.94, 0.94, 0.95))
"""Dark and lit puffs by turns: thick steam is seen on white tiles and on dark stone."""


def steam_small(variant: int) -> Mesh:
    """Return the steam of a mug, 0.25 m tall; its origin is where it leaves the liquid.

    Rounded wisps that bend and lap over each other low down; fewer and brighter ones, which are
    thinner, go on higher up.
    """
    random = generator("steam_small", variant)
    parts = []
    strands = ((-0.022, 0.190), (0.004, 0.255), (0.026, 0.165), (-0.006, 0.110))
    for k, (foot, length) in enumerate(strands):
        side = 1.0 if (k + variant) % 2 else -1.0
        bend = _curl(random, length, 0.50, 0.9, side)
        x = 0.012 * (k - 1.5) + 0.012 * np.sin(np.linspace(0, 4, len(bend)) + k)
        path = np.stack([x, foot + bend[:, 0], bend[:, 1]], 1)
        parts += _wisps(random, path, 0.019 + 0.030 * length, k)
    return _set(Mesh.merge(parts), 0.25)


def _wisps(random: np.random.Generator, path: F64, wide: float, shade: int) -> list[Mesh]:
    """Return a strand of steam that fades: long soft lumps along a path, `n x 3`."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    parts = []
    at, k = 0.0, shade
    while at <= along[-1]:
        share = at / along[-1]
        radius = wide * (0.62 + 0.50 * np.sin(np.pi * min(share + 0.10, 1.0) ** 0.8))
        radius *= random.uniform(0.92, 1.08)
        centre = [float(np.interp(at, along, path[:, c])) for c in range(3)]
        ahead = [float(np.interp(at + 0.01, along, path[:, c])) for c in range(3)]
        lean = float(np.clip((ahead[1] - centre[1]) / 0.01, -0.8, 0.8))
        # Bright vapour is thin vapour.
        dim = (0.56, 0.86)[k % 2]
        grey = dim + (0.97 - dim) * share**1.5
        lump = puff([radius, radius, 1.75 * radius], (0, 0, 0), (grey, grey, grey * 1.01), 8)
        parts.append(lump.transformed(centre, roll=-float(np.arcsin(lean))))
        at += (0.80 + 0.30 * share) * radius
        k += 1
    return parts


def _curl(
    random: np.random.Generator, length: float, sway: float, turn: float, side: float
) -> np.ndarray:
    """Return a path in (across, up) that rises in bends and curls over at its end, `25 x 2`."""
    t = np.linspace(0.0, 1.0, 25)
    phase = random.uniform(-0.5, 0.5)
    heading = side * (sway * np.sin(6.5 * t + phase) + turn * np.clip((t - 0.62) / 0.38, 0, 1) ** 2)
    step = np.stack([np.sin(heading), np.cos(heading)], 1) * (length / 24)
    path = np.cumsum(step, axis=0)
    return np.asarray(path - path[0])


def _plume(
    random: np.random.Generator, path: np.ndarray, thin: float, wide: float, shade: int
) -> list[Mesh]:
    """Return a rounded plume: soft puffs along a path, `n x 3`, each lapping over the last."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    parts = []
    at, k = 0.0, 0
    while at <= along[-1]:
        share = at / along[-1]
        # It billows out on its way and closes rounded.
        radius = (thin + (wide - thin) * np.sin(0.5 * np.pi * min(1.25 * share, 1.0))) * (
            1.0 - 0.35 * max(share - 0.75, 0.0) / 0.25
        )
        radius *= random.uniform(0.88, 1.12)
        centre = [float(np.interp(at, along, path[:, c])) for c in range(3)]
        grey = _PLUME[(k + shade) % 2]
        parts.append(puff([radius, radius, 1.18 * radius], centre, grey, 8))
        at += 0.80 * radius
        k += 1
    return parts


def steam_wide(variant: int) -> Mesh:
    """Return the steam of a bowl or pan, 0.35 m tall: rounded plumes that curl."""
    random = generator("steam_wide", variant)
    parts = []
    for k, (foot, length) in enumerate(((-0.055, 0.27), (0.008, 0.36), (0.060, 0.24))):
        side = 1.0 if (k + variant) % 2 else -1.0
        bend = _curl(random, length, 0.55, 2.0, side)
        x = 0.03 * (k % 2) + 0.015 * np.sin(np.linspace(0, 5, len(bend)))
        path = np.stack([x, foot + bend[:, 0], bend[:, 1]], 1)
        parts += _plume(random, path, 0.021, 0.042, k)
    return _set(Mesh.merge(parts), 0.35)


def _set(mesh: Mesh, height: float) -> Mesh:
    """Return a cloud stretched to a height and set onto z = 0."""
    low, high = mesh.bounds
    mesh = mesh.transformed((0, 0, -float(low[2])))
    return mesh.transformed(scale=(1.0, 1.0, height / float(high[2] - low[2])))


STEAM_OUT = 0.42
"""How high the steam rises that comes out of an oven, above the oven's inner floor, m."""


def steam_front(variant: int) -> Mesh:
    """Return steam that curls out of an oven's open front, at x >= 0, and rises before it.

    Its origin is in the opening's plane, at the height of the oven's inner floor.
    """
    random = generator("steam_front", variant)
    parts = []
    starts = ((-0.065, 0.110, 0.33), (0.005, 0.125, 0.39), (0.065, 0.100, 0.29))
    for k, (foot, level, length) in enumerate(starts):
        side = 1.0 if (k + variant) % 2 else -1.0
        bend = _curl(random, length, 0.50, 1.9, side)
        t = np.linspace(0.0, 1.0, len(bend))
        # Out under the oven's roof first, then up.
        x = 0.02 + 0.115 * (1.0 - np.exp(-6.0 * t))
        z = level + bend[:, 1] * t**0.45
        path = np.stack([x, foot + bend[:, 0], z], 1)
        parts += _plume(random, path, 0.023, 0.048, k)
    mesh = Mesh.merge(parts)
    low, high = mesh.bounds
    vertices = mesh.vertices.copy()
    vertices[:, 0] -= min(float(low[0]), 0.0)
    bottom, top = float(low[2]), float(high[2])
    vertices[:, 2] = bottom + (vertices[:, 2] - bottom) * (STEAM_OUT - bottom) / (top - bottom)
    return Mesh(vertices, mesh.faces, mesh.colours, mesh.materials, mesh.normals)


def smoke(variant: int) -> Mesh:
    """Return a column of grey smoke, 1.5 m tall, that widens."""
    random = generator("smoke", variant)
    parts = []
    z = 0.06
    while z < 1.42:
        share = z / 1.5
        radius = 0.055 + 0.15 * share
        away = 0.02 + 0.11 * share
        angle = random.uniform(0, 2 * np.pi)
        grey = random.uniform(0.28, 0.42) + 0.10 * share
        centre = (
            away * np.cos(angle),
            0.06 * np.sin(4 * share + variant) + away * np.sin(angle),
            z,
        )
        radii = radius * random.uniform(0.85, 1.15, 3) * (1.0, 1.0, 1.25)
        centre = (centre[0], centre[1], min(max(z, float(radii[2])), 1.5 - float(radii[2])))
        parts.append(puff(list(radii), centre, (grey, grey, grey * 1.01)))
        z += 0.62 * radius
    return Mesh.merge(parts)


FLAME_RADIUS = 0.06
"""Radius of the burner's ring of flames, m."""


_BLUE: Colour = (0.02, 0.12, 0.60)
_CYAN: Colour = (0.05, 0.36, 0.62)


def gas_flame(_variant: int) -> Mesh:
    """Return a burner's ring of blue flames."""
    parts = []
    count = 16
    for k in range(count):
        angle = 2 * np.pi * k / count
        tall = 0.050 + 0.007 * ((k * 7) % 5 - 2) / 2
        t = np.linspace(0, 1, 6)
        out = FLAME_RADIUS + 0.016 * t * (1.5 - t)
        path = np.stack([out * np.cos(angle), out * np.sin(angle), 0.001 + tall * t], 1)
        parts.append(wisp(path, 0.0120, _BLUE, Material.FLAME, belly=0.36, sides=6))
        core = path.copy()
        core[:, 2] = 0.001 + 0.5 * tall * t
        parts.append(wisp(core, 0.0055, _CYAN, Material.FLAME, belly=0.4, sides=5))
    return Mesh.merge(parts)


PANS: tuple[tuple[Colour, str, Colour], ...] = (
    ((0.075, 0.075, 0.08), "eggs", (0.52, 0.29, 0.12)),
    ((0.10, 0.095, 0.095), "stew", (0.62, 0.06, 0.05)),
    ((0.06, 0.06, 0.065), "sausages", (0.70, 0.46, 0.22)),
)
"""Colour, what is fried in it, colour of the handle: one that shows before a black hob."""

PAN_RADIUS = 0.13
"""Radius of the rim, m."""

_DEPTH, _BOTTOM = 0.048, 0.006
_HANDLE_END = (PAN_RADIUS + 0.22, 0.0, 0.084)


def pan(variant: int) -> Mesh:
    """Return a frying pan with its food, without its handle, which points along +x."""
    colour, food, _ = PANS[variant]
    r = PAN_RADIUS
    shell = lathe(
        [(0, 0), (0.094, 0), (0.102, 0.004), (r, _DEPTH - 0.002), (r, _DEPTH), (r - 0.003, _DEPTH),
         (0.100, _BOTTOM + 0.004), (0.094, _BOTTOM), (0, _BOTTOM)],
        28, colour, Material.GLOSSY,
    )  # fmt: skip
    rim = torus(r - 0.001, 0.0022, STEEL, Material.METAL, segments=32, sides=5)
    parts = [
        shell,
        rim.transformed((0, 0, _DEPTH), roll=np.pi / 2),
        *(disc(0.005, 0.003, (r - 0.011, s * 0.012, 0.036), STEEL, Material.METAL, 8)
          for s in (1.0, -1.0)),
        *_food(food, variant),
    ]  # fmt: skip
    return Mesh.merge(parts)


def pan_handle(variant: int) -> Mesh:
    """Return the pan's handle in the pan's frame: a thing of its own, since answers hang on it."""
    r = PAN_RADIUS
    x, _, z = _HANDLE_END
    grip = [(r + 0.035, 0, 0.054), (r + 0.09, 0, 0.064), (r + 0.17, 0, 0.077),
            (x - 0.006, 0, z - 0.002), (x, 0, z)]  # fmt: skip
    return Mesh.merge(
        [
            cylinder((r - 0.006, 0, 0.040), (r + 0.045, 0, 0.057), 0.009, STEEL, Material.METAL, 8),
            sweep(grip, [0.011, 0.0135, 0.0135, 0.013, 0.007], PANS[variant][2], Material.GLOSSY,
                  sides=10).transformed(scale=(1.0, 1.2, 1.0)),
        ]
    )  # fmt: skip


def _food(kind: str, variant: int) -> list[Mesh]:
    random = generator("pan", variant)
    oil = disc(
        0.099, 0.002, (0, 0, _BOTTOM + 0.004), (0.30, 0.16, 0.04), Material.GLOSSY, 24, (0, 0, 1)
    )
    parts = [oil]
    z = _BOTTOM + 0.005
    if kind == "eggs":
        for x, y in ((0.038, 0.036), (-0.036, -0.030)):
            rim = lumpy(random, (0.048, 0.046), 0.10, 20)
            rings = [
                np.c_[rim * s, np.full(20, h)] for s, h in ((1.0, 0.0), (0.93, 0.005), (0.5, 0.007))
            ]
            white = loft(np.stack(rings), (0.96, 0.95, 0.90), Material.GLOSSY, 60.0)
            yolk = ellipsoid((0.019, 0.019, 0.013), (0.004, 0, 0.007), (0.98, 0.66, 0.04),
                             Material.GLOSSY, 14)  # fmt: skip
            parts.append(Mesh.merge([white, yolk]).transformed((x, y, z)))
    elif kind == "stew":
        paints = ((0.42, 0.22, 0.09), (0.50, 0.28, 0.12), (0.80, 0.14, 0.08), (0.20, 0.46, 0.12),
                  (0.90, 0.52, 0.10))  # fmt: skip
        for k in range(30):
            angle, away = 2.4 * k, 0.084 * np.sqrt((k + 0.5) / 30)
            size = random.uniform(0.8, 1.2, 3) * (0.017, 0.013, 0.010)
            lump = ellipsoid(list(size), (0, 0, 0), paints[k % 5], Material.GLOSSY, 7)
            parts.append(
                lump.transformed(
                    (away * np.cos(angle), away * np.sin(angle), z + 0.006),
                    yaw=random.uniform(0, 3.0),
                )
            )
    else:
        for k, y in enumerate((-0.052, -0.017, 0.018, 0.053)):
            half = 0.046 + 0.006 * (k % 2)
            parts.append(
                capsule((-half, y, z + 0.013), (half, y + random.uniform(-0.008, 0.008), z + 0.013),
                        0.0135, 0.0135, (0.55, 0.23, 0.09), Material.GLOSSY, 10)
            )  # fmt: skip
            for share in (-0.5, 0.0, 0.5):
                parts.append(
                    cylinder((share * half, y - 0.009, z + 0.024), (share * half + 0.006, y + 0.009,
                             z + 0.024), 0.0032, (0.20, 0.08, 0.03), Material.MATTE, 5)
                )  # fmt: skip
    return parts


def _pan_points(_: int) -> dict[str, Place]:
    return {"middle": (0.0, 0.0, _BOTTOM + 0.010)}


def _handle_points(_: int) -> dict[str, Place]:
    return {"handle_end": _HANDLE_END}


BUILDERS: Builders = {
    "steam_small": (2, steam_small),
    "steam_wide": (2, steam_wide),
    "steam_front": (2, steam_front),
    "smoke": (3, smoke),
    "gas_flame": (1, gas_flame),
    "pan": (len(PANS), pan),
    "pan_handle": (len(PANS), pan_handle),
}
ANCHORS: Anchors = {"pan": _pan_points, "pan_handle": _handle_points}
