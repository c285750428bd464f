"""Detached houses, garages, and plain houses for the second row.

Every house faces +x with its facade at x = 0, its middle at y = 0, and stands on z = 0.
"""

from __future__ import annotations

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder, shade
from .town_roofs import Gable, chimney, dormer, front_gable, gable_roof
from .town_walls import BRICKS, DOORS, PANE, PLASTERS, TILES, WHITE, Facade


def detached(
    rng: np.random.Generator, width: float, depth: float, storeys: int, seen: int, near: bool = True
) -> Mesh:
    """Return a detached family house of about 700 triangles, fewer when not `near`.

    Only the gable wall towards `seen` (1 = +y, -1 = -y) has windows.
    """
    b = Builder()
    brick = rng.random() < 0.42
    wall = BRICKS[rng.integers(len(BRICKS))] if brick else PLASTERS[rng.integers(len(PLASTERS))]
    material = Material.BRICK if brick else Material.PLASTER
    roof = TILES[rng.integers(len(TILES))]
    frame = WHITE if rng.random() < 0.8 else (0.30, 0.22, 0.16)
    plinth, storey = 0.45, 2.75
    eaves = plinth + storeys * storey
    y = width / 2
    rise = float(rng.uniform(0.62, 0.85)) * min(width, depth) / 2
    across = bool(rng.random() < 0.45)

    front = Facade(b, (0, -y, 0), (0, 1, 0), width, eaves, wall, material, frame, near)
    right = Facade(b, (0, y, 0), (-1, 0, 0), depth, eaves, wall, material, frame, near)
    left = Facade(b, (-depth, -y, 0), (1, 0, 0), depth, eaves, wall, material, frame, near)
    back = Facade(b, (-depth, y, 0), (0, -1, 0), width, eaves, wall, material, frame, near)
    columns = 3 if width < 10.5 else 4
    pitch = width / columns
    door_at = int(rng.integers(columns))
    door_colour = DOORS[rng.integers(len(DOORS))]
    shutters = None if brick or rng.random() < 0.5 else DOORS[rng.integers(len(DOORS))]
    for level in range(storeys):
        z = plinth + level * storey
        for k in range(columns):
            c = (k + 0.5) * pitch
            if level == 0 and k == door_at:
                front.door((c - 0.5, c + 0.5, plinth, plinth + 2.25), door_colour)
                continue
            wide = 1.5 if level == 0 else 1.15
            op = (c - wide / 2, c + wide / 2, z + 0.85, z + 2.2)
            front.window(op, bars=1 if level else 2)
            if shutters:
                for u0 in (op[0] - 0.46, op[1] + 0.04):
                    front.bar((u0, u0 + 0.42, op[2], op[3]), (0.0, 0.05), shutters, Material.WOOD)
        for facade in (right if seen > 0 else left,):
            for c in (0.28 * depth, 0.72 * depth):
                if rng.random() < 0.75:
                    facade.window((c - 0.5, c + 0.5, z + 0.9, z + 2.2))
    for facade in (front, right, left, back):
        facade.finish()
    b.box(
        (-depth - 0.05, -y - 0.05, -0.2),
        (0.05, y + 0.05, plinth - 0.12),
        (0.50, 0.49, 0.47),
        Material.CONCRETE,
    )
    c = (door_at + 0.5) * pitch - y
    for k, reach in enumerate((1.0, 0.65)):
        b.box(
            (0, c - 0.8, -0.2),
            (reach + 0.3, c + 0.8, plinth * (k + 1) / 2 - 0.02),
            (0.62, 0.60, 0.57),
            Material.CONCRETE,
        )
    if rng.random() < 0.7:  # a porch roof on two posts
        b.slab(
            [(1.3, c - 1.1, 2.95), (1.3, c + 1.1, 2.95), (0, c + 1.1, 3.25), (0, c - 1.1, 3.25)],
            0.12,
            roof,
            Material.ROOF,
        )
        for dy in (-0.95, 0.95):
            b.box((1.08, c + dy - 0.06, 0), (1.2, c + dy + 0.06, 2.9), WHITE, Material.WOOD)
    roof_of = front_gable if across else gable_roof
    roof_of(b, Gable(width, depth, eaves, rise, 0.45, roof, wall, material))
    if across:  # a window in the gable
        gable = Facade(b, (0.02, -0.5, eaves + 0.25), (0, 1, 0), 1, 1, WHITE, Material.WOOD, frame)
        gable.bar((0, 1.0, 0, 1.1), (0.0, 0.06), frame, Material.GLOSSY)
        gable.rect((0.1, 0.9, 0.1, 1.0), 0.065, PANE, Material.GLASS)
    else:
        for dy in (-0.25, 0.25) if rng.random() < 0.5 else ():
            dormer(b, dy * width, depth, eaves, rise, roof, frame)
    ridge = eaves + rise
    at = -depth / 2 + (0.0 if across else 0.5)
    side = y * 0.62 * (1 if rng.random() < 0.5 else -1)
    foot = eaves if across else ridge - 1.2
    chimney(
        b,
        at - (1.5 if across else 0),
        side * (0.5 if across else 1),
        foot,
        ridge + 0.8,
        BRICKS[rng.integers(len(BRICKS))],
    )
    for dy in (-y + 0.12, y - 0.12):
        b.box((0, dy - 0.05, 0.2), (0.1, dy + 0.05, eaves - 0.1), (0.8, 0.8, 0.78), Material.METAL)
    return b.mesh()


def garage(rng: np.random.Generator, wall: RGB = (0.84, 0.82, 0.77)) -> Mesh:
    """Return a single garage, 3.2 m wide and 6 m deep."""
    b = Builder()
    front = Facade(b, (0, -1.6, 0), (0, 1, 0), 3.2, 2.7, wall, Material.PLASTER)
    door = DOORS[rng.integers(len(DOORS))] if rng.random() < 0.5 else (0.80, 0.80, 0.78)
    op = (0.3, 2.9, 0.0, 2.2)
    front.recess(op, 0.15)
    for k in range(5):
        z = 0.44 * k
        front.rect((0.3, 2.9, z, z + 0.41), -0.13, door, Material.GLOSSY)
        front.rect((0.3, 2.9, z + 0.41, z + 0.44), -0.14, shade(door, 0.6), Material.GLOSSY)
    front.finish()
    b.box((-6, -1.6, -0.2), (0, 1.6, 2.7), wall, Material.PLASTER, "+x -z")
    b.box((-6.15, -1.75, 2.7), (0.2, 1.75, 2.86), (0.33, 0.32, 0.31), Material.ROOF, "")
    return b.mesh()


def plain_block(
    rng: np.random.Generator, width: float, depth: float, storeys: int, pitched: bool
) -> Mesh:
    """Return a house for the second row: walls, flat windows, a roof; about 100 triangles."""
    b = Builder()
    wall = (*BRICKS, *PLASTERS)[rng.integers(len(BRICKS) + len(PLASTERS))]
    height = 0.4 + 2.9 * storeys
    y = width / 2
    b.box((-depth, -y, -0.2), (0, y, height), wall, Material.PLASTER)
    columns = max(2, round(width / 3.2))
    windows = [
        (x, sign * (k + 0.5 - columns / 2) * width / columns, 1.2 + 2.9 * level)
        for level in range(storeys)
        for k in range(columns)
        for x, sign in ((0.03, 1),)
    ]
    for x, at, z in windows:
        b.quads(
            [[(x, at - 0.5, z), (x, at + 0.5, z), (x, at + 0.5, z + 1.3), (x, at - 0.5, z + 1.3)]],
            PANE,
            Material.GLASS,
        )
    if pitched:
        roof = TILES[rng.integers(len(TILES))]
        gable = Gable(width, depth, height, 0.35 * depth, 0.35, roof, wall, Material.PLASTER)
        gable_roof(b, gable)
    else:
        b.box(
            (-depth - 0.1, -y - 0.1, height),
            (0.1, y + 0.1, height + 0.3),
            shade(wall, 0.85),
            Material.CONCRETE,
        )
    return b.mesh()
