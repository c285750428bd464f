"""Broken glass on the floor."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, disc, extrude, sweep, torus
from .parts import GLASS_EDGE, GLASS_TINT, Builders, generator, lying, turned

_SIDE: Colour = (0.26, 0.42, 0.42)
_DARK: Colour = (0.16, 0.26, 0.28)
_SPREAD = (0.25, 0.35)  # m: half extent, x and y
_LARGE = 5


def broken_glass(variant: int) -> Mesh:
    """Return a shattered tumbler: what is left of it lies among pieces and splinters that flew
    over 0.5 m by 0.7 m, more of them to one side.
    """
    random = generator("broken_glass", variant)
    side = 1.0 if variant % 2 else -1.0
    stump = _tumbler(random)
    parts = [stump.transformed((-0.03, -0.07 * side, 0), yaw=(0.9, 2.5, -0.8)[variant])]
    for (x, y), k in zip(_places(random, 17, side), range(17), strict=True):
        large = k < _LARGE
        size = random.uniform(0.125, 0.150) if large else random.uniform(0.05, 0.09)
        lean = random.uniform(-0.24, 0.24, 2)
        shard = _shard(random, size, k % 2 == 0).transformed(roll=lean[0], pitch=lean[1])
        low = float(shard.vertices[:, 2].min())
        parts.append(shard.transformed((x, y, -low), yaw=random.uniform(0, 6.3)))
    for x, y in ((0.10, 0.03), (-0.13, 0.10 * side), (0.04, -0.19 * side), (0.15, 0.20 * side)):
        parts.append(_curved(random).transformed((x, y, 0.0), yaw=random.uniform(0, 6.3)))
    for _ in range(26):
        p = random.normal(0.0, 0.45, 2)
        p = (p / max(1.0, float(np.abs(p).max()))) * _SPREAD
        size = random.uniform(0.007, 0.016)
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


def _places(random: np.random.Generator, count: int, side: float) -> F64:
    """Return where the pieces lie, `count x 2`: apart from each other, in uneven clusters."""
    chosen: list[F64] = [np.array([-0.12, -0.20 * side])]  # where the tumbler lies
    gap = 0.42
    while len(chosen) <= count:
        for _ in range(30):
            p = np.array([random.uniform(-1, 1), random.uniform(-1, 1)])
            p[1] = side * (abs(p[1]) if random.random() < 0.30 else p[1])
            if p[0] * p[1] * side < -0.25:  # little flew into these two quarters
                continue
            if min(float(np.linalg.norm(p - q)) for q in chosen) > gap:
                chosen.append(p)
                break
        else:
            gap *= 0.9
    return np.asarray(chosen[1:]) * (_SPREAD[0] - 0.045, _SPREAD[1] - 0.045)


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
    # A rim on the upper face, bright and within it dark: the broken edge seen through the glass.
    level = thick / 2 + 2e-4
    return Mesh.merge(
        [
            plate,
            _band(outline, 1.0, 0.87, level, GLASS_EDGE),
            _band(outline, 0.87, 0.78, level, _DARK),
        ]
    )


def _band(outline: F64, outside: float, inside: float, z: float, colour: Colour) -> Mesh:
    """Return the band between two shares of an outline, facing up."""
    middle = outline.mean(axis=0)
    n = len(outline)
    rings = [np.c_[middle + (outline - middle) * s, np.full(n, z)] for s in (outside, inside)]
    k = np.arange(n)
    after = (k + 1) % n
    turn = np.roll(outline, -1, axis=0)
    if float(np.sum(outline[:, 0] * turn[:, 1] - turn[:, 0] * outline[:, 1])) < 0:
        k, after = after, k
    faces = np.concatenate([np.stack([k, after, after + n], 1), np.stack([k, after + n, k + n], 1)])
    return Mesh.build(np.concatenate(rings), faces, colour, Material.GLOSSY, 0.0)


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


def _tumbler(random: np.random.Generator) -> Mesh:
    """Return what is left of the tumbler, 8 cm long, on its side; its jagged mouth is at +x."""
    n = 22
    angle = np.arange(n) * (2 * np.pi / n)
    tops = 0.76 + 0.20 * np.cos(angle - 0.6) + random.uniform(-0.14, 0.04, n)
    tops[::4] -= 0.12
    profile = [(0.031, 0.0), (0.033, 0.022), (0.0345, 0.048), (0.0365, 0.084)]
    wall = turned(profile, n, tops=np.clip(tops, 0.35, 1.0))
    crown = wall.vertices.reshape(len(profile), n, 3)[-1]
    parts = [
        wall,
        sweep(crown, 0.0022, GLASS_EDGE, Material.GLOSSY, sides=4, closed=True),
        sweep(crown - (0, 0, 0.0046), 0.0014, _DARK, Material.GLOSSY, sides=4, closed=True),
        disc(0.031, 0.008, (0, 0, 0.005), (0.62, 0.80, 0.84), Material.GLASS, 20, (0, 0, 1)),
    ]
    for z, thick, colour in ((0.002, 0.003, GLASS_EDGE), (0.013, 0.002, _DARK)):
        ring = torus(0.0315, thick, colour, Material.GLOSSY, segments=20, sides=4)
        parts.append(ring.transformed((0, 0, z), roll=np.pi / 2))
    for turn in (0.4, 1.9, 3.5, 5.0):  # lit lines along the wall
        line = [(r * np.cos(turn), r * np.sin(turn), z)
                for r, z in ((0.0335, 0.018), (0.0350, 0.044))]  # fmt: skip
        parts.append(sweep(line, 0.0011, (0.97, 0.99, 1.0), Material.GLOSSY, sides=4))
    mesh = Mesh.merge(parts).transformed((0, 0, -0.042)).transformed(pitch=np.pi / 2 - 0.06)
    return mesh.transformed((0, 0, -float(mesh.vertices[:, 2].min())))


BUILDERS: Builders = {"broken_glass": (3, broken_glass)}
