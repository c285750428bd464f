"""Broken glass on the floor."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, disc, extrude
from .parts import GLASS_EDGE, GLASS_TINT, Builders, generator, lying, turned

_SIDE: Colour = (0.26, 0.42, 0.42)
_SPREAD = (0.225, 0.30)  # m: half extent, x and y


def broken_glass(variant: int) -> Mesh:
    """Return a shattered tumbler: its bottom, large pieces and splinters over 0.45 m by 0.6 m."""
    random = generator("broken_glass", variant)
    parts = [_bottom(random).transformed((0.02, 0.03 * (variant - 1), 0), yaw=variant)]
    count = 13
    for k in range(count):
        angle = 2.4 * k + random.uniform(-0.3, 0.3)
        away = 0.30 + 0.62 * np.sqrt((k + 0.5) / count)
        size = random.uniform(0.075, 0.112) * (1.1 - 0.25 * k / count)
        lean = random.uniform(-0.24, 0.24, 2)
        shard = _shard(random, size, k % 2 == 0).transformed(roll=lean[0], pitch=lean[1])
        low = float(shard.vertices[:, 2].min())
        at = (_SPREAD[0] * 0.86 * away * np.cos(angle), _SPREAD[1] * 0.90 * away * np.sin(angle))
        parts.append(shard.transformed((*at, -low), yaw=random.uniform(0, 6.3)))
    for k in range(4):  # pieces of the wall that rock on their backs
        piece = _curved(random)
        angle = 1.1 + 1.57 * k
        at = (0.11 * np.cos(angle), 0.15 * np.sin(angle))
        parts.append(piece.transformed((*at, 0.0), yaw=random.uniform(0, 6.3)))
    for _ in range(26):
        p = random.uniform(-1, 1, 2) * _SPREAD
        size = random.uniform(0.006, 0.014)
        points = np.array(
            [
                [0, 0, 0],
                [size, 0.2 * size, 0],
                [0.3 * size, size, 0],
                [0.4 * size, 0.4 * size, 0.5 * size],
            ]
        )
        chip = Mesh.build(
            points, [(0, 1, 3), (1, 2, 3), (2, 0, 3)], GLASS_EDGE, Material.GLOSSY, 0.0
        )
        parts.append(chip.transformed((*p, 0.0), yaw=random.uniform(0, 6.3)))
    return Mesh.merge(parts)


def _shard(random: np.random.Generator, size: float, mirrors: bool) -> Mesh:
    """Return a flat piece, pointed, with bright broken edges."""
    corners = int(random.integers(3, 5))
    angle = np.sort(
        random.uniform(0, 2 * np.pi, corners) * 0.35 + np.arange(corners) * 2 * np.pi / corners
    )
    outline = np.stack([np.cos(angle), 0.58 * np.sin(angle)], 1) * random.uniform(
        0.7, 1.0, (corners, 1)
    )
    return _edged(outline * size / 2 * 1.15, mirrors)


def _edged(outline: F64, mirrors: bool) -> Mesh:
    thick = 0.0042
    plate = lying(extrude(outline, thick, GLASS_TINT, Material.CLEAR, 0.0))
    flat = np.abs(plate.normals[:, 0, 2]) > 0.7
    colours, materials = plate.colours.copy(), plate.materials.copy()
    if mirrors:  # this one lies so that it shows the bright window
        colours[flat], materials[flat] = (0.66, 0.80, 0.84), int(Material.GLASS)
    # Bright above and dark at its sides, it shows on any floor.
    colours[~flat], materials[~flat] = _SIDE, int(Material.GLOSSY)
    plate = Mesh(plate.vertices, plate.faces, colours, materials, plate.normals)
    # A rim on the upper face: the broken edge is seen through the glass.
    middle = outline.mean(axis=0)
    inner = middle + (outline - middle) * 0.90
    n = len(outline)
    k = np.arange(n)
    after = (k + 1) % n
    vertices = np.concatenate(
        [np.c_[outline, np.full(n, thick / 2 + 2e-4)], np.c_[inner, np.full(n, thick / 2 + 2e-4)]]
    )
    turn = np.roll(outline, -1, axis=0)
    if float(np.sum(outline[:, 0] * turn[:, 1] - turn[:, 0] * outline[:, 1])) < 0:
        k, after = after, k
    faces = np.concatenate([np.stack([k, after, after + n], 1), np.stack([k, after + n, k + n], 1)])
    rim = Mesh.build(vertices, faces, GLASS_EDGE, Material.GLOSSY, 0.0)
    return Mesh.merge([plate, rim])


def _curved(random: np.random.Generator) -> Mesh:
    """Return a piece of the tumbler's wall on its back."""
    radius, half = 0.037, random.uniform(0.55, 0.8)
    angle = np.linspace(-half, half, 6) - np.pi / 2
    ends = random.uniform(0.55, 1.0, (2, 6)) * np.array([[-0.035], [0.04]])
    rows = [
        np.stack([x, radius * np.cos(angle), radius * (1 + np.sin(angle)) + 0.0005], 1)
        for x in ends
    ]
    vertices = np.concatenate(rows)
    k = np.arange(5)
    faces = np.concatenate([np.stack([k, k + 6, k + 7], 1), np.stack([k, k + 7, k + 1], 1)])
    pane = Mesh.build(vertices, faces, GLASS_TINT, Material.CLEAR, 50.0)
    inward = np.array([0.0, 0.0, radius]) - vertices
    inward[:, 0] = -vertices[:, 0]
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    loop = [*range(6), *range(11, 5, -1)]
    outer = vertices[loop]
    inner = (vertices + 0.0045 * inward)[loop]
    n = len(loop)
    k, after = np.arange(n), (np.arange(n) + 1) % n
    ring = np.concatenate([np.stack([k, after, after + n], 1), np.stack([k, after + n, k + n], 1)])
    both = np.concatenate([ring, ring[:, ::-1]])
    edge = Mesh.build(np.concatenate([outer, inner]), both, GLASS_EDGE, Material.GLOSSY, 0.0)
    return Mesh.merge([pane, edge])


def _bottom(random: np.random.Generator) -> Mesh:
    """Return the tumbler's bottom with what is left of the wall, jagged."""
    n = 22
    tops = random.uniform(0.35, 1.0, n)
    tops[::4] *= 0.45
    wall = turned([(0.033, 0.0), (0.034, 0.022), (0.0365, 0.062)], n, tops=tops)
    crown = wall.vertices.reshape(3, n, 3)[2]
    inner = crown * (0.90, 0.90, 1.0) - (0, 0, 0.003)
    k, after = np.arange(n), (np.arange(n) + 1) % n
    ring = np.concatenate([np.stack([k, after, after + n], 1), np.stack([k, after + n, k + n], 1)])
    edge = Mesh.build(
        np.concatenate([crown, inner]),
        np.concatenate([ring, ring[:, ::-1]]),
        GLASS_EDGE,
        Material.GLOSSY,
        0.0,
    )
    foot = disc(0.033, 0.010, (0, 0, 0.005), (0.74, 0.86, 0.88), Material.GLASS, 20, (0, 0, 1))
    return Mesh.merge([wall, edge, foot])


BUILDERS: Builders = {"broken_glass": (3, broken_glass)}
