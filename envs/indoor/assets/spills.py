"""Water and coffee that ran out, on the worktop and on the floor.

On the worktop the frame is that of its front edge: the liquid lies at x < 0, and runs hang down
over the edge at x = 0.
"""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import Colour, ellipsoid, sweep
from .parts import COFFEE, Builders, generator, lumpy, pool

WATER: Colour = (0.57, 0.75, 0.87)
_DEEP = 0.0045  # m
WATER_FALL, COFFEE_FALL = 0.30, 0.15
"""How far the longest run hangs, m: water leads to its puddle on the floor."""


def _counter(kind: str, variant: int, colour: Colour, fall: float) -> Mesh:
    random = generator(kind, variant)
    length = (0.21, 0.25)[variant]
    outline = lumpy(random, (length / 2 + 0.02, 0.10 + 0.02 * variant), 0.13, 48)
    outline[:, 0] -= length / 2 - 0.02
    # It narrows towards the vessel it came from.
    back = np.clip(-outline[:, 0] / length, 0.0, 1.0)
    outline[:, 1] *= 1.0 - 0.45 * back
    outline[:, 0] = np.minimum(outline[:, 0], 0.0)
    wide = outline[outline[:, 0] > -1e-6][:, 1]
    parts = [pool(outline, _DEEP, colour)]
    low, high = float(wide.min()) + 0.012, float(wide.max()) - 0.012
    shares = ((1.0, 0.57, 0.80, 0.37), (0.47, 0.73, 1.0, 0.60))[variant]
    for k, share in enumerate(shares):
        y = low + (high - low) * (k + 0.25 + 0.5 * random.random()) / len(shares)
        parts.append(_run(y, share * fall, colour, random.uniform(0.011, 0.015)))
    parts.append(_film(low - 0.01, high + 0.01, variant, random.uniform(0.7, 1.0), colour))
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
    """Return a run over the edge that ends in a drop."""
    z = np.array([_DEEP * 0.8, -0.004, -0.3 * fall, -0.6 * fall, -fall + 0.016, -fall + 0.008,
                  -fall + 0.002, -fall])  # fmt: skip
    wide = np.array([1.25, 1.2, 0.75, 0.6, 0.55, 0.8, 0.55, 0.1]) * radius
    path = np.stack([np.zeros(8), np.zeros(8), z], 1)
    run = sweep(path, wide.tolist(), colour, Material.LIQUID, sides=8)
    return run.transformed((0.004, y, 0.0), scale=(0.36, 1.0, 1.0))


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
    return _counter("water_counter", variant, WATER, WATER_FALL)


def coffee_counter(variant: int) -> Mesh:
    """Return coffee that runs over the worktop's edge."""
    return _counter("coffee_counter", variant, COFFEE, COFFEE_FALL)


def water_floor(variant: int) -> Mesh:
    """Return a puddle of water, 0.4 m by 0.55 m."""
    return _floor("water_floor", variant, (0.40, 0.55), WATER)


def coffee_floor(variant: int) -> Mesh:
    """Return a puddle of coffee, 0.4 m by 0.6 m."""
    return _floor("coffee_floor", variant, (0.40, 0.60), COFFEE, 0.006, 0.032)


BUILDERS: Builders = {
    "water_counter": (2, water_counter),
    "coffee_counter": (2, coffee_counter),
    "water_floor": (3, water_floor),
    "coffee_floor": (3, coffee_floor),
}
