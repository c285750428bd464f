"""An extension cord in a tangle on the floor."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    F64,
    Colour,
    box,
    cylinder,
    disc,
    frustum,
    rounded_box,
    sweep,
)
from .parts import BLACK, STEEL, WHITE, Builders, generator

CORDS: tuple[tuple[Colour, Colour], ...] = (
    ((0.96, 0.36, 0.03), (0.06, 0.06, 0.065)),
    (WHITE, (0.90, 0.90, 0.89)),
    ((0.05, 0.05, 0.055), (0.10, 0.10, 0.11)),
)
"""Colour of the cord, of its plug and socket block."""

_RADIUS = 0.0058
_HALF = (0.30, 0.45)  # m: half extent, x and y


def _course(random: np.random.Generator) -> F64:
    """Return the cord's path, `n x 3`: loops that wander, raised where they cross."""
    n = 196
    t = np.linspace(0, 1, n)
    shift = random.uniform(0, 2 * np.pi, 4)
    turns = 2 * np.pi * (5.3 * t + 0.30 * np.sin(2 * np.pi * 2.1 * t + shift[0]))
    radius = 0.125 + 0.045 * np.sin(2 * np.pi * 3.3 * t + shift[1])
    # The loops do not lie on one another: their middle wanders across and back.
    x = radius * np.cos(turns) + 0.11 * np.sin(2 * np.pi * 1.7 * t + shift[2])
    y = radius * 1.15 * np.sin(turns) + 0.19 * np.sin(2 * np.pi * 1.2 * t + shift[3])
    x += 0.022 * np.sin(2 * np.pi * 17.0 * t)
    # The two ends lead out of the tangle, to the plug and to the block.
    out = np.clip((np.abs(2 * t - 1) - 0.88) / 0.12, 0, 1) ** 1.3
    end_y = np.where(t < 0.5, -0.36, 0.26)
    end_x = np.where(t < 0.5, 0.21, 0.20)
    x, y = x * (1 - out) + end_x * out, y * (1 - out) + end_y * out
    path = np.stack([x, y, np.full(n, _RADIUS)], 1)
    apart = np.linalg.norm(path[:, None, :2] - path[None, :, :2], axis=2)
    index = np.arange(n)
    later = (index[:, None] - index[None, :]) > 8
    crossing = ((apart < 2.4 * _RADIUS) & later).any(axis=1).astype(float)
    lift = np.zeros(n)
    for k in np.flatnonzero(crossing):
        lift = np.maximum(lift, np.maximum(0.0, 1 - np.abs(index - k) / 5.0))
    path[:, 2] += 2.0 * _RADIUS * lift * lift * (3 - 2 * lift)
    return path


def loose_cord(variant: int) -> Mesh:
    """Return a tangled extension cord, 0.6 m by 0.9 m, with its plug and its socket block."""
    random = generator("loose_cord", variant)
    colour, block = CORDS[variant]
    path = _course(random)
    parts = [sweep(path, _RADIUS, colour, Material.GLOSSY, sides=4)]
    for end, before, piece in ((0, 3, _plug(block)), (-1, -4, _block(block))):
        ahead = path[end] - path[before]
        yaw = float(np.arctan2(ahead[1], ahead[0]))
        parts.append(piece.transformed((float(path[end, 0]), float(path[end, 1]), 0), yaw=yaw))
    mesh = Mesh.merge(parts)
    low, high = mesh.bounds
    return mesh.transformed((-0.5 * float(low[0] + high[0]), -0.5 * float(low[1] + high[1]), 0))


def _plug(colour: Colour) -> Mesh:
    """Return a plug along +x that begins at the origin."""
    z = 0.017
    parts = [
        frustum(
            (-0.01, 0, _RADIUS + 0.002), (0.025, 0, z), 0.008, 0.013, colour, Material.GLOSSY, 10
        ),
        rounded_box((0.045, 0.042, 0.032), 0.008, (0.045, 0, z), colour, Material.GLOSSY),
    ]
    for y in (-0.010, 0.010):
        parts.append(box((0.026, 0.003, 0.009), (0.079, y, z), STEEL, Material.METAL))
    return Mesh.merge(parts)


def _block(colour: Colour) -> Mesh:
    """Return a block of three sockets along +x that begins at the origin."""
    top = 0.040
    parts = [
        frustum(
            (-0.015, 0, _RADIUS + 0.002),
            (0.012, 0, 0.018),
            0.008,
            0.013,
            colour,
            Material.GLOSSY,
            10,
        ),
        rounded_box((0.22, 0.062, top), 0.008, (0.117, 0, top / 2), colour, Material.GLOSSY),
    ]
    pale = sum(colour) > 1.5
    face: Colour = (0.72, 0.72, 0.72) if pale else (0.55, 0.55, 0.56)
    for x in (0.055, 0.117, 0.179):
        parts.append(disc(0.024, 0.003, (x, 0, top), face, Material.GLOSSY, 18, (0, 0, 1)))
        parts.append(
            disc(
                0.020,
                0.004,
                (x, 0, top),
                (0.30, 0.30, 0.31) if pale else (0.16, 0.16, 0.17),
                Material.MATTE,
                16,
                (0, 0, 1),
            )
        )
        for y in (-0.009, 0.009):
            parts.append(cylinder((x, y, top), (x, y, top + 0.0028), 0.0042, BLACK, segments=8))
    return Mesh.merge(parts)


BUILDERS: Builders = {"loose_cord": (len(CORDS), loose_cord)}
