"""Dish towels laid over the worktop's front edge, one of them on fire.

The frame is that of the edge: x = 0 is the worktop's front, z = 0 its top.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

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
"""Cells of the weave's pattern, along the cloth and across."""

_FINE = (28, 21)
"""Cells of a cloth whose outline the fire eats."""

_THICK = 0.003

# The cloth's course (x, z) over the edge.
_COURSE = np.array([(-_BACK, 0.005), (-0.012, 0.005), (-0.002, 0.004), (0.006, -0.001),
(0.010, -0.010),
                    (0.012, -0.030), (0.012, -_DROP)])  # fmt: skip


def _sheet(variant: int, rows: int = _ROWS, columns: int = _COLUMNS) -> F64:
    """Return the cloth's points, `rows + 1 x columns + 1 x 3`, m."""
    random = generator("towel", variant)
    steps = np.linalg.norm(np.diff(_COURSE, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    s = np.linspace(0.0, along[-1], rows + 1)
    x, z = (np.interp(s, along, _COURSE[:, k]) for k in (0, 1))
    y = np.linspace(-_WIDTH / 2, _WIDTH / 2, columns + 1)
    points = np.empty((rows + 1, columns + 1, 3))
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


def _pattern(
    kind: str, colour: Colour, ground: Colour, rows: int = _ROWS, columns: int = _COLUMNS
) -> F64:
    """Return the colours of the cells, `rows x columns x 3`."""
    row, column = np.indices((rows, columns))
    row, column = row * _ROWS // rows, column * _COLUMNS // columns
    if kind == "striped":
        share = np.where(column % 4 < 2, 1.0, 0.0)
        share = np.where((row > _ROWS - 4) & (row < _ROWS - 1), 1.0, share)
    else:
        share = 0.5 * ((row // 2 % 2) + (column // 2 % 2))
    return np.asarray(share[..., None] * np.asarray(colour) + (1 - share[..., None]) * ground)


def _triangles(points: F64, colours: F64) -> tuple[F64, F64]:
    """Return the upper side's triangles `n x 3 x 3` and their colours `n x 3`."""
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    halves = np.stack([np.stack([a, b, c], 2), np.stack([a, c, d], 2)])
    paint = np.broadcast_to(colours, (2, *colours.shape))
    return halves.reshape(-1, 3, 3), paint.reshape(-1, 3)


def _side(corners: F64, paint: F64, glow: npt.NDArray[np.bool_] | None = None) -> Mesh:
    """Return one side of a cloth from triangles `n x 3 x 3` and their colours `n x 3`."""
    faces = np.arange(3 * len(corners)).reshape(-1, 3)
    mesh = Mesh.build(corners.reshape(-1, 3), faces, paint, Material.CLOTH, 70.0)
    materials = mesh.materials.copy()
    if glow is not None:
        materials[glow] = int(Material.EMISSIVE)
    return Mesh(mesh.vertices, mesh.faces, mesh.colours, materials, mesh.normals)


def _under(points: F64) -> F64:
    """Return a sheet's points moved to its lower side."""
    along, across = np.gradient(points, axis=0), np.gradient(points, axis=1)
    normal = np.cross(along, across)
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    below = points - _THICK * normal
    below[..., 2] = np.where(below[..., 0] < 0, np.maximum(below[..., 2], 0.0005), below[..., 2])
    return np.asarray(below)


def towel_draped(variant: int) -> Mesh:
    """Return a checked or striped dish towel that hangs over the edge."""
    size = (_ROWS, _FINE[1])  # fine across the folds
    points, colours = _sheet(variant, *size), _pattern(*TOWELS[variant], *size)
    upper, paint = _triangles(points, colours)
    lower, _ = _triangles(_under(points), colours)
    return Mesh.merge([_side(upper, paint), _side(lower[:, ::-1], 0.8 * paint)])


_ORANGE: Colour = (0.80, 0.24, 0.02)
_YELLOW: Colour = (0.74, 0.42, 0.05)
_FIRE = np.array([-0.03, 0.0, 0.0])  # where it burns most


_SLIVER = 1e-6  # m²: twice what a triangle must cover to be kept

Field = Callable[[F64], F64]


def _divide(corners: F64, paint: F64, field: Field) -> tuple[tuple[F64, F64], tuple[F64, F64]]:
    """Cut triangles along the zero line of a field.

    Args:
        corners: `n x 3 x 3`, m.
        paint: Of the triangles, `n x 3`.
        field: Of places `... x 3`.

    Returns:
        Triangles and colours where the field is negative, and where it is not.
    """
    value = field(corners)
    value = np.where(np.abs(value) < 1e-5, 1e-5, value)
    inside = value < 0
    count = inside.sum(axis=1)
    sides = []
    for negative in (True, False):
        alone = 1 if negative else 2
        whole = count == (3 if negative else 0)
        found, colours = [corners[whole]], [paint[whole]]
        for lone in (1, 2):
            cut = np.flatnonzero(count == lone)
            # The corner that is by itself comes first.
            first = (inside[cut] if lone == 1 else ~inside[cut]).argmax(axis=1)
            order = (first[:, None] + np.arange(3)) % 3
            p, v = corners[cut[:, None], order], value[cut[:, None], order]
            on_b = p[:, 0] + (p[:, 1] - p[:, 0]) * (v[:, :1] / (v[:, :1] - v[:, 1:2]))
            on_c = p[:, 0] + (p[:, 2] - p[:, 0]) * (v[:, :1] / (v[:, :1] - v[:, 2:]))
            if lone == alone:
                pieces = [(p[:, 0], on_b, on_c)]
            else:
                pieces = [(on_b, p[:, 1], p[:, 2]), (on_b, p[:, 2], on_c)]
            for piece in pieces:
                found.append(np.stack(piece, 1))
                colours.append(paint[cut])
        corners_here, colours_here = np.concatenate(found), np.concatenate(colours)
        edges = corners_here[:, 1:] - corners_here[:, :1]
        large = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) > _SLIVER
        sides.append((corners_here[large], colours_here[large]))
    return sides[0], sides[1]


def _beyond(field: Field, reach: float, p: F64) -> F64:
    return field(p) - reach


def _fields(variant: int) -> tuple[Field, Field, Field]:
    """Return (gone, charred, width of the embers): where a burning towel is what, m."""
    random = generator("towel_burning", variant)
    phase = random.uniform(0, 6.3, 8)
    bites = ((random.uniform(-0.10, -0.05), 0.035), (random.uniform(0.03, 0.10), 0.050))

    def wave(p: F64, k: int, per_y: float, per_z: float) -> F64:
        return np.asarray(np.sin(per_y * p[..., 1] + per_z * (p[..., 2] - p[..., 0]) + phase[k]))

    def gone(p: F64) -> F64:
        eaten = np.full(p.shape[:-1], -0.03)
        for middle, deep in bites:
            eaten += (deep + 0.03) * np.exp(-(((p[..., 1] - middle) / 0.042) ** 2))
        eaten += 0.005 * wave(p, 0, 95.0, 0.0) + 0.003 * wave(p, 1, 190.0, 60.0)
        return np.asarray(p[..., 2] + _DROP - eaten)

    def charred(p: F64) -> F64:
        away = np.linalg.norm((p - _FIRE) * (1.0, 1.3, 0.8), axis=-1)
        away += 0.013 * wave(p, 2, 48.0, 36.0) + 0.008 * wave(p, 3, 105.0, -70.0)
        away += 0.004 * wave(p, 4, 170.0, 150.0)
        near = gone(p) - 0.020 - 0.006 * wave(p, 5, 80.0, 30.0)
        # The two chars flow into one.
        a, b = away - 0.160, near
        share = np.clip(0.5 + 0.5 * (b - a) / 0.03, 0.0, 1.0)
        return np.asarray(b + (a - b) * share - 0.03 * share * (1.0 - share))

    def ember(p: F64) -> F64:
        glow = wave(p, 6, 62.0, 47.0) + 0.6 * wave(p, 7, 130.0, -90.0)
        return np.asarray(0.0012 + 0.0042 * np.clip(glow + 0.1, 0.0, 1.0))

    return gone, charred, ember


def towel_burning(variant: int) -> Mesh:
    """Return the towel charred, with tall orange flames on it.

    Cloth, scorched cloth, embers and char are parted along smooth lines; the hem is eaten away.
    """
    random = generator("towel_burning", variant)
    gone, charred, ember = _fields(variant)
    points = _sheet(variant, *_FINE)
    rest = _triangles(points, _pattern(*TOWELS[variant], *_FINE))
    _, rest = _divide(*rest, gone)
    brown = np.array([0.20, 0.095, 0.035])
    sides: list[tuple[F64, F64]] = []
    # From the middle outwards: black char, embers, brown cloth, scorched cloth.
    black, rest = _divide(*rest, charred)
    ash = 0.070 + 0.020 * np.sin(70 * black[0].mean(axis=1) @ np.array([1.0, 0.7, 1.2]))
    sides.append((black[0], ash[:, None] * np.array([1.0, 0.90, 0.84])))
    glowing, rest = _divide(*rest, lambda p: charred(p) - ember(p))
    embers = len(glowing[0])
    sides.append((glowing[0], np.broadcast_to([0.86, 0.24, 0.02], (embers, 3))))
    for reach, share in ((0.014, 0.85), (0.028, 0.38)):
        tinted, rest = _divide(*rest, partial(_beyond, charred, reach))
        sides.append((tinted[0], (1 - share) * tinted[1] + share * brown))
    sides.append(rest)
    upper = np.concatenate([corners for corners, _ in sides])
    paint = np.concatenate([colours for _, colours in sides])
    glow = np.zeros(len(upper), bool)
    glow[len(sides[0][0]) : len(sides[0][0]) + embers] = True
    # The lower side is seen below the edge only.
    size = (_ROWS // 2, _FINE[1])
    lower, below = _triangles(_under(_sheet(variant, *size)), _pattern(*TOWELS[variant], *size))
    hanging = lower[..., 2].min(axis=1) < -0.01
    _, (lower, below) = _divide(lower[hanging], below[hanging], gone)
    black_there = charred(lower.mean(axis=1)) < 0
    below = np.where(black_there[:, None], 0.035, 0.8 * below)
    return Mesh.merge([_side(upper, paint, glow), _side(lower[:, ::-1], below), _flames(random)])


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
