"""Town01: a suburb. Detached houses, lawns, hedges, fences, driveways, big trees."""

from __future__ import annotations

import itertools

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder
from .street import LEFT_SIDEWALK, RIGHT_SIDEWALK, SIDEWALK_WIDTH
from .town_furniture import (
    board_fence,
    garden_wall,
    letter_box,
    mast_lamp,
    picket_fence,
    sign,
)
from .town_greens import bush, conifer, flowers, hedge, tree
from .town_ground import END, LOT_HEIGHT, START, GroundStyle, blocks, close_horizon, lay_ground
from .town_houses import detached, garage, plain_block
from .town_layout import FIRST_SEEN, NEAR_END, StreetSide, car_choices, park_in_crossings
from .town_walls import BRICKS

LAWN: RGB = (0.42, 0.52, 0.28)
LEAVES: tuple[RGB, ...] = (
    (0.36, 0.50, 0.22),
    (0.45, 0.55, 0.24),
    (0.31, 0.46, 0.24),
    (0.50, 0.54, 0.24),
)
BLOSSOM: RGB = (0.86, 0.66, 0.70)
FLOWERS: tuple[RGB, ...] = (
    (0.86, 0.24, 0.26),
    (0.93, 0.76, 0.22),
    (0.90, 0.55, 0.68),
    (0.93, 0.91, 0.88),
    (0.58, 0.40, 0.72),
)
HEDGE: RGB = (0.27, 0.42, 0.19)
FENCES: tuple[RGB, ...] = ((0.56, 0.43, 0.30), (0.46, 0.36, 0.27), (0.64, 0.53, 0.40))
DRIVE: RGB = (0.52, 0.50, 0.47)

STYLE = GroundStyle(
    asphalt=(0.38, 0.375, 0.365),
    paving=(0.62, 0.61, 0.58),
    kerb=(0.68, 0.67, 0.64),
    lot=LAWN,
    lot_material=Material.GRASS,
    far=(0.42, 0.50, 0.30),
    slab=1.8,
    zebra=False,
    edge_lines=True,
)


def build_suburb(b: Builder, junctions: tuple[float, ...], rng: np.random.Generator) -> None:
    """Add the whole town to `b`; `junctions` are the stop lines, m."""
    lay_ground(b, STYLE, junctions, rng)
    close_horizon(b, rng, (0.24, 0.33, 0.20), 7.0, 13.0, blocky=False)
    trees = [
        tree(rng, 9.0, 3.1, LEAVES[0]),
        tree(rng, 7.2, 2.6, LEAVES[1]),
        tree(rng, 10.5, 3.4, LEAVES[2]),
        tree(rng, 5.6, 2.2, BLOSSOM),
        conifer(rng, 9.5, (0.22, 0.36, 0.22)),
    ]
    far_trees = [
        tree(rng, 9.0, 3.2, LEAVES[0], leaves=30, detail=1),
        tree(rng, 10.5, 3.3, LEAVES[3], leaves=30, detail=1),
        conifer(rng, 10.5, (0.23, 0.36, 0.23)),
    ]
    cars = car_choices(rng, 6)
    park_in_crossings(b, junctions, cars, rng)
    for side in (-1, 1):
        street = StreetSide(b, side)
        for x0, x1 in blocks(junctions):
            low = x0 + (SIDEWALK_WIDTH + 0.8 if x0 > START else 0.0)
            high = x1 - (SIDEWALK_WIDTH + 0.8 if x1 < END else 0.0)
            count = max(1, round((high - low) / 18.5))
            edges = np.linspace(low, high, count + 1)
            for left, right in itertools.pairwise(edges):
                near = right > FIRST_SEEN and left < NEAR_END
                front_trees = trees if near else far_trees
                _plot(street, float(left), float(right), front_trees, far_trees, cars, rng, near)
        _far_rows(street, junctions, far_trees, rng)
    lamp = mast_lamp()
    for k, x in enumerate(np.arange(START + 10, END, 27.0)):
        side = -1 if k % 2 else 1
        if all(not x_j - 2 < x < x_j + 14 for x_j in junctions):
            StreetSide(b, side).put(lamp, float(x), 0.25)
    _signs(b, junctions)


def _plot(
    street: StreetSide,
    x0: float,
    x1: float,
    trees: list[Mesh],
    back_trees: list[Mesh],
    cars: list[Mesh],
    rng: np.random.Generator,
    near: bool,
) -> None:
    """Add one house with its garden between x0 and x1."""
    width, depth = rng.uniform(9.0, 11.5), rng.uniform(8.0, 9.5)
    storeys = 2 if rng.random() < 0.6 else 1
    set_back = rng.uniform(4.2, 7.0)
    drive_right = rng.random() < 0.5
    drive = 3.2
    free = (x1 - x0) - width - drive - 0.8
    house_x = x0 + width / 2 + 0.4 + max(0.0, free) / 2
    drive_x = x1 - drive / 2 - 0.4
    if not drive_right:
        house_x, drive_x = x0 + x1 - house_x, x0 + drive / 2 + 0.4
    street.put(detached(rng, width, depth, storeys, -street.side, near), house_x, set_back)
    street.strip(
        (drive_x - 1.5, drive_x + 1.5), (0.0, set_back + 2.2), 0.006, DRIVE, Material.CONCRETE
    )
    if near and rng.random() < 0.45:
        car, nose_in = cars[rng.integers(len(cars))], rng.random() < 0.6
        street.put(car, drive_x, set_back - 0.5, np.pi if nose_in else 0.0)
    if rng.random() < 0.75:
        street.put(garage(rng), drive_x, set_back + 2.0)
    path_x = house_x
    street.strip(
        (path_x - 0.5, path_x + 0.5), (0.0, set_back), 0.006, (0.60, 0.56, 0.50), Material.CONCRETE
    )
    low, high = (x0 + 0.2, drive_x - 1.7) if drive_right else (drive_x + 1.7, x1 - 0.2)
    style = rng.choice(["hedge", "picket", "board", "wall", "open"], p=[0.34, 0.2, 0.2, 0.14, 0.12])
    for a, c in ((low, path_x - 0.6), (path_x + 0.6, high)):
        length = c - a
        if length < 0.8:
            continue
        middle = (a + c) / 2
        if style == "hedge":
            tall = rng.uniform(0.8, 1.35)
            street.put(hedge(rng, length, tall, 0.7, HEDGE), middle, 0.55)
        elif style == "picket":
            pitch = 0.19 if near else 0.38
            street.put(picket_fence(length, 0.95, (0.88, 0.88, 0.85), pitch), middle, 0.25)
        elif style == "board":
            street.put(board_fence(length, 1.05, FENCES[rng.integers(3)]), middle, 0.25)
        elif style == "wall":
            street.put(garden_wall(length, 0.7, BRICKS[rng.integers(5)]), middle, 0.25)
    # The fence between neighbours, from behind the front garden backwards.
    fence = board_fence(9.0, 1.7, FENCES[rng.integers(3)], 0.42)
    street.put(fence, x1 if drive_right else x0, set_back + 5.0, np.pi / 2)
    for _ in range(2 if near else 0):
        x, back = house_x + rng.uniform(-0.45, 0.45) * width, set_back - rng.uniform(0.7, 1.1)
        if abs(x - path_x) > 1.3:
            flower = [(0.42, 0.42, 0.18), (0.24, 0.38, 0.17), (0.55, 0.30, 0.32)][rng.integers(3)]
            street.put(bush(rng, rng.uniform(0.7, 1.2), flower), x, back)
    for side in (-1, 1) if near and rng.random() < 0.6 else ():
        bed = flowers(rng, rng.uniform(1.4, 2.4), 0.6, FLOWERS[rng.integers(len(FLOWERS))])
        street.put(bed, path_x + side * 2.0, rng.uniform(1.0, 1.5))
    if rng.random() < 0.75:
        mesh = trees[rng.integers(len(trees))]
        x = low + 1.2 if drive_right else high - 1.2
        scale = rng.uniform(0.75, 1.05)
        back = rng.uniform(2.3, 3.2)
        if mesh is trees[-1]:  # a conifer is widest at its foot
            back += 1.0
        street.put(_sized(mesh, scale), x, back, rng.uniform(0, 6))
    if rng.random() < 0.55:
        street.put(
            _sized(back_trees[rng.integers(len(back_trees))], rng.uniform(0.9, 1.2)),
            house_x + rng.uniform(-4, 4),
            set_back + depth + rng.uniform(4, 6),
            rng.uniform(0, 6),
        )
    if rng.random() < 0.5:
        street.put(letter_box((0.20, 0.24, 0.30)), path_x + 0.8, 0.3)


def _sized(mesh: Mesh, scale: float) -> Mesh:
    return mesh.transformed(scale=scale)


def _far_rows(
    street: StreetSide, junctions: tuple[float, ...], trees: list[Mesh], rng: np.random.Generator
) -> None:
    """Add the next street's houses behind the gardens, and what closes the crossing streets."""
    for x in np.arange(START + 5, END, 25.0):
        if all(not x_j - 9 < x < x_j + 21 for x_j in junctions):
            mesh = plain_block(rng, rng.uniform(9, 12), 8.0, 2, True)
            street.put(mesh, float(x), rng.uniform(32, 36))
    for x_j in junctions:
        middle = x_j + 6.0
        street.put(plain_block(rng, 14.0, 9.0, 2, True), middle, 76.0)
        for dx in (-6.0, 7.0):
            street.put(_sized(trees[rng.integers(len(trees))], 1.1), middle + dx, 73.0)
        for edge, out in ((x_j + 1.5 - SIDEWALK_WIDTH, -1), (x_j + 10.5 + SIDEWALK_WIDTH, 1)):
            for back in (26.0, 45.0):
                mesh = plain_block(rng, 11.0, 8.0, 2, True)
                street.put(mesh, edge + out * 4.0, back, -out * street.side * np.pi / 2)


def _signs(b: Builder, junctions: tuple[float, ...]) -> None:
    right, left = RIGHT_SIDEWALK[0] - 0.2, LEFT_SIDEWALK[1] + 0.2
    for x in junctions:
        b.add(sign("priority").transformed((x - 9.0, right, LOT_HEIGHT), yaw=np.pi))
        b.add(sign("name").transformed((x - 1.2, left, LOT_HEIGHT), yaw=np.pi))
        b.add(sign("limit").transformed((x + 20.0, right, LOT_HEIGHT), yaw=np.pi))
