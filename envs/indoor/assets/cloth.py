"""Dish towels laid over the worktop's front edge, one of them on fire.

The frame is that of the edge: x = 0 is the worktop's front, z = 0 its top.
"""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour
from .parts import WHITE, Anchors, Builders, generator, wisp

TOWELS: tuple[tuple[str, Colour, Colour], ...] = (
    ("checked", (0.80, 0.07, 0.08), WHITE),
    ("striped", (0.10, 0.26, 0.62), WHITE),
    ("checked", (0.08, 0.42, 0.24), (0.96, 0.94, 0.86)),
)
"""Pattern, its colour, the ground's colour."""

_WIDTH, _BACK, _DROP = 0.28, 0.30, 0.25  # m
_ROWS, _COLUMNS = 28, 14
_THICK = 0.003

# The cloth's course (x, z) over the edge.
_COURSE = np.array([(-_BACK, 0.005), (-0.012, 0.005), (-0.002, 0.004), (0.006, -0.001),
(0.010, -0.010),
                    (0.012, -0.030), (0.012, -_DROP)])  # fmt: skip


def _sheet(variant: int) -> F64:
    """Return the cloth's points, `rows + 1 x columns + 1 x 3`, m."""
    random = generator("towel", variant)
    steps = np.linalg.norm(np.diff(_COURSE, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    s = np.linspace(0.0, along[-1], _ROWS + 1)
    x, z = (np.interp(s, along, _COURSE[:, k]) for k in (0, 1))
    y = np.linspace(-_WIDTH / 2, _WIDTH / 2, _COLUMNS + 1)
    points = np.empty((_ROWS + 1, _COLUMNS + 1, 3))
    points[..., 0], points[..., 1], points[..., 2] = x[:, None], y[None, :], z[:, None]
    hanging = np.clip(-z / _DROP, 0.0, 1.0)[:, None]
    fold = 0.5 + 0.5 * np.sin(2 * np.pi * y / 0.105 + random.uniform(0, 6.3))[None, :]
    points[..., 0] += 0.030 * hanging**0.8 * fold
    points[..., 2] += 0.012 * hanging * np.sin(9 * y + random.uniform(0, 6.3))[None, :]
    lying = np.clip(-x / _BACK, 0.0, 1.0)[:, None]
    ripple = np.sin(31 * y[None, :] + 14 * x[:, None] + random.uniform(0, 6.3))
    points[..., 2] += 0.006 * np.sqrt(lying * (1 - lying) * 4) * np.maximum(ripple, 0.0)
    points[..., 1] += random.uniform(-0.08, 0.08) * (x[:, None] + 0.1) * lying
    points[..., 1] *= 1.0 - 0.05 * hanging
    return points


def _pattern(kind: str, colour: Colour, ground: Colour) -> F64:
    """Return the colours of the cells' halves, `2 x rows x columns x 3`."""
    row, column = np.indices((_ROWS, _COLUMNS))
    if kind == "striped":
        share = np.where(column % 4 < 2, 1.0, 0.0)
        share = np.where((row > _ROWS - 4) & (row < _ROWS - 1), 1.0, share)
    else:
        share = 0.5 * ((row // 2 % 2) + (column // 2 % 2))
    mixed = share[..., None] * np.asarray(colour) + (1 - share[..., None]) * np.asarray(ground)
    return np.asarray(np.stack([mixed, mixed]))


def _cloth(points: F64, colours: F64, keep: F64 | None = None, glow: F64 | None = None) -> Mesh:
    """Return the sheet's two sides.

    Args:
        points: `rows + 1 x columns + 1 x 3`, m.
        colours: Of the lower and the upper half of each cell, `2 x rows x columns x 3`.
        keep: `rows x columns`: cells that are there.
        glow: `2 x rows x columns`: halves that shine.
    """
    columns = points.shape[1]
    corner = np.arange(_ROWS)[:, None] * columns + np.arange(_COLUMNS)[None, :]
    kept = np.ones((_ROWS, _COLUMNS), bool) if keep is None else keep.astype(bool)
    a = corner[kept]
    halves = np.concatenate(
        [np.stack([a, a + columns, a + columns + 1], 1), np.stack([a, a + columns + 1, a + 1], 1)]
    )
    paint = colours[:, kept].reshape(-1, 3)
    sides = []
    upper = Mesh.build(points.reshape(-1, 3), halves, paint, Material.CLOTH, 70.0)
    normal = np.zeros((len(upper.vertices), 3))
    np.add.at(normal, upper.faces.ravel(), upper.normals.reshape(-1, 3))
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
    below = points.reshape(-1, 3) - _THICK * normal
    below[:, 2] = np.where(below[:, 0] < 0, np.maximum(below[:, 2], 0.0005), below[:, 2])
    lower = Mesh.build(below, halves[:, ::-1], paint * 0.8, Material.CLOTH, 70.0)
    for side in (upper, lower):
        materials = side.materials.copy()
        if glow is not None:
            materials[glow[:, kept].ravel().astype(bool)] = int(Material.EMISSIVE)
        sides.append(Mesh(side.vertices, side.faces, side.colours, materials, side.normals))
    return Mesh.merge(sides)


def towel_draped(variant: int) -> Mesh:
    """Return a checked or striped dish towel that hangs over the edge."""
    return _cloth(_sheet(variant), _pattern(*TOWELS[variant]))


_ORANGE: Colour = (0.80, 0.24, 0.02)
_YELLOW: Colour = (0.74, 0.42, 0.05)
_FIRE = np.array([-0.03, 0.0, 0.0])  # where it burns most


def towel_burning(variant: int) -> Mesh:
    """Return the towel charred, with tall orange flames on it."""
    random = generator("towel_burning", variant)
    points = _sheet(variant)
    here, beside = points[:-1, :-1], points[:-1, 1:]
    below, across = points[1:, :-1], points[1:, 1:]
    middle = np.stack([here + below + across, here + across + beside]) / 3
    # The char's border is ragged: waves, and a little for each half cell.
    ragged = 0.014 * np.sin(60 * middle[..., 1] + 40 * middle[..., 2] + variant)
    ragged += random.normal(0, 0.004, middle.shape[:-1])
    away = np.linalg.norm((middle - _FIRE) * (1.0, 1.3, 0.8), axis=-1) + ragged
    colours = _pattern(*TOWELS[variant])
    black = np.array([0.035, 0.03, 0.028]) + 0.02 * random.random((*away.shape, 1))
    brown = np.array([0.27, 0.13, 0.05])
    colours = np.where((away < 0.195)[..., None], 0.4 * colours + 0.6 * brown, colours)
    colours = np.where((away < 0.180)[..., None], 0.1 * colours + 0.6 * brown, colours)
    colours = np.where((away < 0.165)[..., None], black, colours)
    embers = (away >= 0.155) & (away < 0.168) & (random.random(away.shape) < 0.5)
    colours = np.where(embers[..., None], np.array([0.86, 0.22, 0.02]), colours)
    keep = np.ones(away.shape[1:], bool)
    keep[-1] = random.random(_COLUMNS) < 0.5
    return Mesh.merge([_cloth(points, colours, keep, embers), _flames(random)])


def _flames(random: np.random.Generator) -> Mesh:
    parts = []
    count = 7
    t = np.linspace(0, 1, 8)
    for k in range(count):
        y = 0.105 * (2 * k / (count - 1) - 1)
        x = random.uniform(-0.07, 0.0) if k % 2 == 0 else random.uniform(-0.02, 0.015)
        tall = (0.20, 0.27, 0.30, 0.35, 0.31, 0.26, 0.19)[k] * random.uniform(0.9, 1.0)
        sway, phase = random.uniform(0.012, 0.024), random.uniform(0, 6.3)
        lean = -0.25 * y
        base = -0.03 if x > -0.005 else 0.0
        path = np.stack(
            [x + 0.4 * sway * np.sin(5 * t + phase),
            y + lean * t + sway * (np.sin(5.5 * t + phase) - np.sin(phase)) * t,
             base + (tall - base) * t], 1,
        )  # fmt: skip
        wide = random.uniform(0.034, 0.043)
        parts.append(wisp(path, wide, _ORANGE, Material.FLAME, belly=0.27, sides=6))
        inner = path.copy()
        inner[:, 2] = base + (0.62 * tall - base) * t
        parts.append(wisp(inner, 0.55 * wide, _YELLOW, Material.FLAME, belly=0.30, sides=5))
    for k in range(4):  # tongues along the hanging part
        y = random.uniform(-0.10, 0.10)
        foot = -0.06 - 0.04 * k
        path = np.stack([0.035 + 0.012 * t, y + 0.012 * np.sin(5 * t + k), foot + 0.12 * t], 1)
        parts.append(wisp(path, 0.020, _ORANGE, Material.FLAME, belly=0.28, sides=5))
    return Mesh.merge(parts)


BUILDERS: Builders = {
    "towel_draped": (len(TOWELS), towel_draped),
    "towel_burning": (len(TOWELS), towel_burning),
}
ANCHORS: Anchors = {"towel_burning": lambda _: {"flame": (-0.03, 0.0, 0.16)}}
