"""Water and coffee that ran out, on the worktop and on the floor.

On the worktop the frame is that of its front edge: the liquid lies at x < 0, and runs hang down
over the edge at x = 0.
"""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, ellipsoid, sweep
from .parts import COFFEE, Builders, generator, lumpy, pool

WATER: Colour = (0.57, 0.75, 0.87)
_DEEP = 0.0045  # m
FALL = 0.87
"""How far below the worktop the lowest drop is, m: liquid drips onto the floor."""

_CREMA: Colour = (0.62, 0.40, 0.20)
"""Colour of the froth on coffee, by which it is known on dark wood."""


def _counter(kind: str, variant: int, colour: Colour) -> Mesh:
    random = generator(kind, variant)
    length = (0.21, 0.25)[variant]
    wide = 0.10 + 0.02 * variant + (0.02 if kind == "coffee_counter" else 0.0)
    outline = lumpy(random, (length / 2 + 0.02, wide), 0.13, 48)
    outline[:, 0] -= length / 2 - 0.02
    # It narrows towards the vessel it came from.
    back = np.clip(-outline[:, 0] / length, 0.0, 1.0)
    outline[:, 1] *= 1.0 - 0.45 * back
    outline[:, 0] = np.minimum(outline[:, 0], 0.0)
    edge = outline[outline[:, 0] > -1e-6][:, 1]
    parts = [pool(outline, _DEEP, colour)]
    low, high = float(edge.min()) + 0.012, float(edge.max()) - 0.012
    ends = ((0.62, 0.13, 0.34, 0.07), (0.10, 0.38, 0.70, 0.20))[variant]
    for k, end in enumerate(ends):
        y = low + (high - low) * (k + 0.25 + 0.5 * random.random()) / len(ends)
        radius = random.uniform(0.0085, 0.0105) * (1.0 + 0.35 * (end > 0.5))
        parts.append(_run(y, end, colour, radius))
        if end > 0.3:
            parts += _drops(random, y, end, colour, 0.72 * radius)
    parts.append(_film(low - 0.01, high + 0.01, variant, random.uniform(0.7, 1.0), colour))
    if kind == "coffee_counter":
        parts += _froth(random, outline)
    return Mesh.merge(parts)


def _film(low: float, high: float, variant: int, strength: float, colour: Colour) -> Mesh:
    """Return what covers the edge between two y where the liquid goes over it."""
    n = 25
    y = np.linspace(low, high, n)
    depth = 0.016 + 0.010 * strength * np.sin(np.linspace(0, 11 + variant, n))
    depth[[0, -1]] = 0.003
    top = np.stack([np.full(n, 0.0035), y, np.full(n, _DEEP * 0.9)], 1)
    bottom = np.stack([np.full(n, 0.0035), y, -depth], 1)
    vertices = np.concatenate([top - (0.012, 0.0, 0.0), top, bottom])
    first = np.concatenate([np.arange(n - 1), np.arange(n - 1) + n])
    faces = [(first, first + n, first + n + 1), (first, first + n + 1, first + 1)]
    triangles = np.concatenate([np.stack(face, 1) for face in faces])
    return Mesh.build(vertices, triangles, colour, Material.LIQUID, 100.0)


def _run(y: float, fall: float, colour: Colour, radius: float) -> Mesh:
    """Return a run over the edge: a thread that thins as it falls and ends in a drop."""
    drop = min(2.6 * radius, 0.35 * fall)
    t = np.linspace(0.0, 1.0, 7)
    thread = -0.006 - (fall - drop - 0.006) * t
    z = np.concatenate([[_DEEP * 0.8], thread, -fall + drop * np.array([0.6, 0.32, 0.1, 0.0])])
    # Falling water is the thinner the faster it is.
    thin = 1.0 / np.sqrt(1.0 + 5.0 * np.sqrt(-thread / 0.5))
    thin *= 1.0 + 0.16 * np.sin(9.0 * t + 40.0 * y)
    wide = radius * np.concatenate([[1.4], 1.25 * thin, [0.72, 0.86, 0.62, 0.06]])
    path = np.stack([np.zeros(len(z)), np.zeros(len(z)), z], 1)
    run = sweep(path, wide.tolist(), colour, Material.LIQUID, sides=8)
    return run.transformed((0.004, y, 0.0), scale=(0.5, 1.0, 1.0))


def _drops(
    random: np.random.Generator, y: float, start: float, colour: Colour, radius: float
) -> list[Mesh]:
    """Return long drops that fall below a run, wider and wider apart."""
    parts = []
    step, z = 0.048, start + 0.042
    while z < FALL - 0.02:
        parts.append(_drop(y + random.uniform(-0.003, 0.003), z, colour, radius))
        z += step * random.uniform(0.85, 1.15)
        step *= 1.12
    parts.append(_drop(y, FALL - 2.1 * radius, colour, radius))
    return parts


def _drop(y: float, z: float, colour: Colour, radius: float) -> Mesh:
    height = radius * np.array([-2.1, -1.9, -1.2, -0.3, 0.9, 2.3])
    wide = radius * np.array([0.06, 0.55, 0.95, 1.0, 0.5, 0.05])
    path = np.stack([np.zeros(6), np.zeros(6), height], 1)
    drop = sweep(path, wide.tolist(), colour, Material.LIQUID, sides=6)
    return drop.transformed((0.004, y, -z), scale=(0.6, 1.0, 1.0))


def _froth(random: np.random.Generator, outline: F64) -> list[Mesh]:
    """Return froth along stretches of a pool's rim, and bubbles that drift in it."""
    middle = 0.5 * (outline.max(axis=0) + outline.min(axis=0))
    n = len(outline)
    parts = []
    free = np.flatnonzero(outline[:, 0] < -0.008)
    for start in random.permutation(free)[:5]:
        count = int(random.integers(5, 9))
        picked = [(int(start) + k) % n for k in range(count)]
        picked = [k for k in picked if outline[k, 0] < -0.008]
        if len(picked) < 3:
            continue
        rim = middle + (outline[picked] - middle) * 0.955
        path = np.c_[rim, np.full(len(rim), _DEEP * 0.75)]
        wide = 0.0042 * np.sin(np.linspace(0.12, np.pi - 0.12, len(path)))
        band = sweep(path, wide.tolist(), _CREMA, Material.GLOSSY, sides=4)
        parts.append(band)
    for _ in range(9):
        edge = outline[int(random.choice(free))]
        at = middle + (edge - middle) * random.uniform(0.5, 0.9)
        size = random.uniform(0.0025, 0.0055)
        bubble = ellipsoid((size, size, 0.0016), (0, 0, 0), _CREMA, Material.GLOSSY, 6)
        parts.append(bubble.transformed((float(at[0]), float(at[1]), _DEEP)))
    return parts


def _floor(
    kind: str,
    variant: int,
    size: tuple[float, float],
    colour: Colour,
    deep: float = _DEEP,
    rim: float = 0.022,
) -> Mesh:
    random = generator(kind, variant)
    outline = lumpy(random, (size[0] / 2 - 0.01, size[1] / 2 - 0.01), 0.15, 48)
    parts = [pool(outline, deep, colour, rim)]
    for _ in range(7):  # splashes round it
        angle = random.uniform(0, 2 * np.pi)
        away = random.uniform(1.0, 1.06)
        radius = random.uniform(0.007, 0.018)
        drop = ellipsoid((radius, radius, 0.003), (0, 0, 0.001), colour, Material.LIQUID, 10)
        edge = outline[round(angle / (2 * np.pi) * len(outline)) % len(outline)]
        at = edge * away + edge / np.linalg.norm(edge) * 0.018
        parts.append(drop.transformed((float(at[0]), float(at[1]), 0.0)))
    return Mesh.merge(parts)


def water_counter(variant: int) -> Mesh:
    """Return water that runs from a tipped glass over the worktop's edge."""
    return _counter("water_counter", variant, WATER)


def coffee_counter(variant: int) -> Mesh:
    """Return coffee that runs over the worktop's edge."""
    return _counter("coffee_counter", variant, COFFEE)


def water_floor(variant: int) -> Mesh:
    """Return a puddle of water, 0.4 m by 0.55 m."""
    return _floor("water_floor", variant, (0.40, 0.55), WATER)


def coffee_floor(variant: int) -> Mesh:
    """Return a puddle of coffee, 0.4 m by 0.6 m."""
    return _floor("coffee_floor", variant, (0.40, 0.60), COFFEE, 0.006, 0.032)


def coffee_puddle(variant: int) -> Mesh:
    """Return a small puddle of coffee, 0.1 m by 0.13 m, under what drips."""
    return _floor("coffee_puddle", variant, (0.10, 0.13), COFFEE, 0.004, 0.014)


BUILDERS: Builders = {
    "water_counter": (2, water_counter),
    "coffee_counter": (2, coffee_counter),
    "water_floor": (3, water_floor),
    "coffee_floor": (3, coffee_floor),
    "coffee_puddle": (3, coffee_puddle),
}
