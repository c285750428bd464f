"""Building blocks that a toddler plays with."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.primitives import Colour, rounded_box
from .parts import WHITE, Builders

_SIDE = 0.055  # m
_PAINTS: tuple[Colour, ...] = (
    (0.86, 0.10, 0.10), (0.10, 0.34, 0.82), (0.98, 0.80, 0.08), (0.12, 0.60, 0.24),
    (0.95, 0.47, 0.06),
    (0.55, 0.22, 0.68),
)  # fmt: skip

STACKS: tuple[tuple[tuple[float, float, int, float], ...], ...] = (
    ((0.0, 0.0, 0, 0.1), (0.002, 0.003, 1, -0.2), (0.0, -0.002, 2, 0.3), (0.03, 0.11, 0, 0.7),
     (0.07, -0.09, 0, -0.4), (-0.05, -0.13, 0, 0.2), (0.10, 0.05, 0, 1.1)),
    ((0.0, -0.03, 0, 0.0), (0.0, 0.032, 0, 0.05), (0.002, 0.0, 1, 0.1), (0.05, 0.13, 0, 0.9),
    (0.09, -0.07, 0, 0.3),
     (-0.03, -0.14, 0, -0.5), (0.11, 0.03, 0, 0.6)),
)  # fmt: skip
"""(x, y, layer, yaw) of the blocks, m and radians."""


def _block(k: int, variant: int) -> Mesh:
    paint = _PAINTS[(k + 2 * variant) % len(_PAINTS)]
    ink: Colour = (0.12, 0.12, 0.14) if paint[0] + paint[1] > 1.5 else WHITE
    letter = lettering("ABCDEFGH"[(k + 3 * variant) % 8], 0.034, ink)
    parts = [
        rounded_box((_SIDE, _SIDE, _SIDE), 0.004, (0, 0, _SIDE / 2), paint, Material.GLOSSY, 1)
    ]
    for turn in range(4):
        face = letter.transformed((_SIDE / 2 + 0.0005, 0, _SIDE / 2))
        parts.append(face.transformed(yaw=turn * np.pi / 2))
    return Mesh.merge(parts)


def toy_blocks(variant: int) -> Mesh:
    """Return lettered blocks in bright colours, some stacked, some scattered."""
    parts = [
        _block(k, variant).transformed((x, y, layer * _SIDE), yaw=yaw)
        for k, (x, y, layer, yaw) in enumerate(STACKS[variant])
    ]
    mesh = Mesh.merge(parts)
    low, high = mesh.bounds
    return mesh.transformed((-0.5 * float(low[0] + high[0]), -0.5 * float(low[1] + high[1]), 0))


BUILDERS: Builders = {"toy_blocks": (len(STACKS), toy_blocks)}
