"""Houses of a terrace, with homes or shops on the ground floor.

Every house faces +x with its facade at x = 0, its middle at y = 0, and stands on z = 0.
"""

from __future__ import annotations

import itertools

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder, shade
from .town_roofs import Gable, chimney, dormer, gable_roof
from .town_walls import BRICKS, DOORS, PLASTERS, TILES, WHITE, Facade

AWNINGS: tuple[tuple[RGB, RGB], ...] = (
    ((0.70, 0.13, 0.13), (0.92, 0.90, 0.85)),
    ((0.12, 0.36, 0.26), (0.92, 0.90, 0.85)),
    ((0.14, 0.26, 0.48), (0.92, 0.90, 0.85)),
    ((0.80, 0.50, 0.14), (0.93, 0.89, 0.80)),
    ((0.42, 0.16, 0.28), (0.42, 0.16, 0.28)),
)


def terrace(
    rng: np.random.Generator,
    width: float,
    depth: float,
    storeys: int,
    shop: bool,
    ends: bool,
    near: bool = True,
) -> Mesh:
    """Return one house of a terrace, about 700 triangles; `ends` glazes its side walls."""
    b = Builder()
    brick = rng.random() < 0.5
    wall = BRICKS[rng.integers(len(BRICKS))] if brick else PLASTERS[rng.integers(len(PLASTERS))]
    material = Material.BRICK if brick else Material.PLASTER
    frame = WHITE if rng.random() < 0.7 else shade(DOORS[rng.integers(len(DOORS))], 0.8)
    ground, storey = (3.7 if shop else 3.2), 3.0
    height = ground + (storeys - 1) * storey + 0.35
    y = width / 2
    front = Facade(b, (0, -y, 0), (0, 1, 0), width, height, wall, material, frame, near)
    columns = max(2, round(width / 2.6))
    pitch = width / columns
    trim = (0.80, 0.78, 0.73) if brick else shade(wall, 1.12)
    for level in range(1, storeys):
        z = ground + (level - 1) * storey
        for k in range(columns):
            c = (k + 0.5) * pitch
            op = (c - 0.55, c + 0.55, z + 0.75, z + 2.45)
            front.window(op, bars=1)
            head = (op[0] - 0.1, op[1] + 0.1, op[3], op[3] + 0.2)
            front.rect(head, 0.03, trim, Material.CONCRETE)
    if shop:
        _shop(front, rng, width)
    else:
        door_at = int(rng.integers(columns))
        for k in range(columns):
            c = (k + 0.5) * pitch
            if k == door_at:
                front.door((c - 0.55, c + 0.55, 0.15, 2.75), DOORS[rng.integers(len(DOORS))])
                front.bar((c - 0.85, c + 0.85, 2.85, 3.0), (0.0, 0.35), trim, Material.CONCRETE)
                front.bar((c - 0.7, c + 0.7, 0.0, 0.15), (0.0, 0.25), trim, Material.CONCRETE)
            else:
                front.window((c - 0.65, c + 0.65, 0.95, 2.6), bars=1)
        front.bar((0, width, 0.0, 0.55), (0.0, 0.04), shade(trim, 0.75), Material.CONCRETE)
    front.bar((0, width, ground - 0.02, ground + 0.18), (0.0, 0.08), trim, Material.CONCRETE)
    front.bar((0, width, height - 0.3, height), (0.0, 0.28), trim, Material.CONCRETE)
    front.finish()
    for facade in (
        Facade(b, (0, y, 0), (-1, 0, 0), depth, height, wall, material, frame, near),
        Facade(b, (-depth, -y, 0), (1, 0, 0), depth, height, wall, material, frame, near),
    ):
        for level in range(1, storeys) if ends else ():
            z = ground + (level - 1) * storey
            for c in (0.3 * depth, 0.7 * depth):
                facade.window((c - 0.5, c + 0.5, z + 0.75, z + 2.3))
        facade.finish()
    b.box((-depth, -y, 0), (-depth + 0.2, y, height), wall, material, "+x -z")
    roof = TILES[rng.integers(len(TILES))]
    if rng.random() < 0.65:
        gable_roof(b, Gable(width, depth, height, 0.36 * depth, 0.12, roof, wall, material))
        top = height + 0.36 * depth
        chimney(b, -depth / 2, y - 0.5, top - 1.4, top + 0.9, wall)
        for dy in (-0.22, 0.22) if storeys < 4 and rng.random() < 0.5 else ():
            dormer(b, dy * width, depth, height, 0.36 * depth, roof, frame)
    else:  # a parapet hides the flat roof
        b.box((-depth, -y, height), (0.04, y, height + 0.55), shade(wall, 0.96), material)
        b.box((-depth, -y, height + 0.55), (0.12, y, height + 0.68), trim, Material.CONCRETE, "")
        chimney(b, -depth * 0.6, -y + 0.8, height + 0.5, height + 1.9, wall)
    b.box((0, y - 0.16, 0.1), (0.1, y - 0.06, height - 0.3), (0.35, 0.35, 0.35), Material.METAL)
    return b.mesh()


def _shop(front: Facade, rng: np.random.Generator, width: float) -> None:
    """Fill the ground floor with shop windows, a fascia and an awning."""
    b = front.b
    colour = DOORS[rng.integers(len(DOORS))]
    margin, door = 0.45, 1.1
    at_left = bool(rng.random() < 0.5)
    door_u = margin if at_left else width - margin - door
    panes = (
        (margin + door + 0.25, width - margin)
        if at_left
        else (margin, width - margin - door - 0.25)
    )
    count = max(1, round((panes[1] - panes[0]) / 2.2))
    step = (panes[1] - panes[0]) / count
    for k in range(count):
        u0 = panes[0] + k * step
        front.window((u0 + 0.06, u0 + step - 0.06, 0.6, 2.75), bars=0, sill=False, cross=False)
    front.door((door_u, door_u + door, 0.12, 2.75), colour)
    front.bar((0.2, width - 0.2, 0.1, 0.58), (0.0, 0.06), colour, Material.WOOD)
    front.bar((0.2, width - 0.2, 2.85, 3.5), (0.0, 0.1), colour, Material.WOOD)
    letters = (0.92, 0.88, 0.74)
    u = width / 2 - 1.2
    while u < width / 2 + 1.2:  # a name, too far to read
        wide = rng.uniform(0.12, 0.26)
        front.rect((u, u + wide, 3.02, rng.choice([3.24, 3.34])), 0.105, letters, Material.GLOSSY)
        u += wide + 0.07
    first, second = AWNINGS[rng.integers(len(AWNINGS))]
    stripes = max(4, round((panes[1] - panes[0]) / 0.45))
    us = np.linspace(panes[0] - 0.1, panes[1] + 0.1, stripes + 1)
    for k, (u0, u1) in enumerate(itertools.pairwise(us)):
        tint = second if k % 2 else first
        high = [front.point(u, 3.0, 0.1) for u in (u0, u1)]
        low = [front.point(u, 2.55, 1.15) for u in (u0, u1)]
        hem = [front.point(u, 2.35, 1.16) for u in (u0, u1)]
        under = -0.02 * front.n - np.array([0, 0, 0.02])
        b.quads(
            [
                [low[0], low[1], high[1], high[0]],
                [hem[0], hem[1], low[1], low[0]],
                [low[1] + under, low[0] + under, high[0] + under, high[1] + under],
            ],
            tint,
            Material.CLOTH,
        )
