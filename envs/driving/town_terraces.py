"""Town02: a compact quarter. Terraces and shops at the sidewalk, lanterns, few small trees."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import Builder
from .street import LEFT_SIDEWALK, RIGHT_SIDEWALK, SIDEWALK_WIDTH
from .town_furniture import (
    bench,
    garden_wall,
    lantern_lamp,
    planter,
    sign,
    wall_lamp,
)
from .town_greens import bush, flowers, tree
from .town_ground import END, LOT_HEIGHT, START, GroundStyle, blocks, close_horizon, lay_ground
from .town_houses import plain_block
from .town_layout import NEAR_END, StreetSide, car_choices, park_in_crossings
from .town_rows import terrace
from .town_walls import BRICKS

STYLE = GroundStyle(
    asphalt=(0.39, 0.383, 0.37),
    paving=(0.56, 0.53, 0.50),
    kerb=(0.62, 0.60, 0.57),
    lot=(0.53, 0.51, 0.48),
    lot_material=Material.CONCRETE,
    far=(0.42, 0.43, 0.36),
    slab=1.2,
    zebra=True,
    edge_lines=False,
)
FLOWERS = ((0.86, 0.22, 0.24), (0.90, 0.50, 0.64), (0.93, 0.78, 0.26))
PATH = 1.25
"""Width of the furnished strip between right sidewalk and facades, m."""


SIGN_BEFORE = 9.0
"""From the priority sign to the stop line, m."""


class _House(NamedTuple):
    """A stretch of a row: "home", "shop" or "yard" between x0 and x1, m."""

    x0: float
    x1: float
    kind: str


def build_terraces(b: Builder, junctions: tuple[float, ...], rng: np.random.Generator) -> None:
    """Add the whole town to `b`; `junctions` are the stop lines, m."""
    lay_ground(b, STYLE, junctions, rng)
    close_horizon(b, rng, (0.42, 0.40, 0.38), 9.0, 17.0, blocky=True)
    cars = car_choices(rng, 6)
    park_in_crossings(b, junctions, cars, rng)
    sides = {side: StreetSide(b, side) for side in (-1, 1)}
    rows: dict[int, list[_House]] = {-1: [], 1: []}
    for side, street in sides.items():
        for x0, x1 in blocks(junctions):
            low = x0 + (SIDEWALK_WIDTH if x0 > START else 0.0)
            high = x1 - (SIDEWALK_WIDTH if x1 < END else 0.0)
            rows[side] += _row(street, low, high, cars, rng)
        for x_j in junctions:
            street.put(plain_block(rng, 20.0, 9.0, 4, False), x_j + 6.0, 70.0)
            for edge, out in ((x_j + 1.5 - SIDEWALK_WIDTH, -1), (x_j + 10.5 + SIDEWALK_WIDTH, 1)):
                for back in (17.0, 29.0, 41.0, 53.0):
                    mesh = plain_block(rng, 12.0, 9.0, int(rng.integers(2, 5)), True)
                    street.put(mesh, edge + out * 0.1, back, -out * side * np.pi / 2)
    _furnish_right(sides[-1], rows[-1], [x - SIGN_BEFORE for x in junctions], rng)
    lamp = wall_lamp()
    for house in rows[1][1::3]:
        if house.kind != "yard":  # beside the downpipe between two houses
            sides[1].put(lamp, house.x1 - 0.45, 0.12, z=LOT_HEIGHT + 0.1)
    for x in junctions:
        b.add(
            sign("priority").transformed(
                (x - SIGN_BEFORE, RIGHT_SIDEWALK[0] - 0.2, LOT_HEIGHT), yaw=np.pi
            )
        )
        b.add(sign("name").transformed((x - 1.2, LEFT_SIDEWALK[1] - 0.2, LOT_HEIGHT), yaw=np.pi))
        b.add(sign("limit").transformed((x + 22, RIGHT_SIDEWALK[0] - 0.2, LOT_HEIGHT), yaw=np.pi))


def _furnish_right(
    street: StreetSide, row: list[_House], signs: list[float], rng: np.random.Generator
) -> None:
    """Stand lanterns, trees, tubs and benches before the facades, clear of the `signs`."""
    small = tree(rng, 5.2, 1.1, (0.36, 0.48, 0.25), leaves=40)
    lantern, tub = lantern_lamp(), planter()
    for k, house in enumerate(row):
        wide = house.x1 - house.x0
        if k % 2:
            clear = all(abs(house.x1 - x) > 2.5 for x in signs)
            street.put(lantern, house.x1 if clear else house.x1 - 3.0, 0.35)
            continue
        if house.kind == "shop":
            for step in (-1, 1):
                x = house.x0 + (0.5 + 0.32 * step) * wide
                street.put(tub, x, 0.62)
                bed = flowers(rng, 0.8, 0.8, FLOWERS[rng.integers(len(FLOWERS))])
                street.put(bed, x, 0.62, z=LOT_HEIGHT + 0.5)
            continue
        kind = rng.integers(4)
        if kind < 2:
            street.put(tub, house.x0 + 0.3, 0.6)
            street.put(small, house.x0 + 0.3, 0.6, z=LOT_HEIGHT + 0.4)
        elif kind == 2:
            street.put(bench(), house.x0 + 0.5 * wide, 0.9)
        else:
            street.put(tub, house.x0 + 0.3, 0.6)
            street.put(bush(rng, 0.8, (0.28, 0.42, 0.2)), house.x0 + 0.3, 0.6, z=LOT_HEIGHT + 0.5)


def _row(
    street: StreetSide, low: float, high: float, cars: list[Mesh], rng: np.random.Generator
) -> list[_House]:
    """Fill one side of a block with terraced houses; return what stands where."""
    count = max(1, round((high - low) / 8.6))
    weights = rng.uniform(0.75, 1.25, count)
    edges = low + (high - low) * np.concatenate([[0], np.cumsum(weights) / weights.sum()])
    yard = int(rng.integers(2, count - 2)) if street.side > 0 and count > 6 else -1
    row = []
    for k, (x0, x1) in enumerate(itertools.pairwise(edges.tolist())):
        if k == yard:
            _yard(street, x0, x1, cars, rng)
            row.append(_House(x0, x1, "yard"))
            continue
        ends = k in (0, count - 1)
        storeys = int(rng.choice([2, 3, 4], p=[0.3, 0.5, 0.2]))
        shop = bool(rng.random() < 0.5)
        mesh = terrace(rng, x1 - x0 - 0.01, 9.5, storeys, shop, ends, x0 < NEAR_END)
        street.put(mesh, (x0 + x1) / 2, PATH if street.side < 0 else 0.12)
        row.append(_House(x0, x1, "shop" if shop else "home"))
    return row


def _yard(
    street: StreetSide, x0: float, x1: float, cars: list[Mesh], rng: np.random.Generator
) -> None:
    """Leave a gap in the row: a small car park in front of a wall and trees."""
    street.strip((x0, x1), (0.0, 10.0), 0.005, (0.33, 0.33, 0.34), Material.ASPHALT)
    street.put(garden_wall(x1 - x0, 2.1, BRICKS[rng.integers(len(BRICKS))]), (x0 + x1) / 2, 9.0)
    street.put(plain_block(rng, x1 - x0 + 6.0, 9.0, 3, True), (x0 + x1) / 2, 16.0)
    slots = max(2, int((x1 - x0) / 2.7))
    for k in range(slots + 1):
        x = x0 + (x1 - x0) * k / slots
        if 0 < k < slots:
            street.strip(
                (x - 0.05, x + 0.05), (0.8, 6.0), 0.010, (0.85, 0.85, 0.83), Material.CONCRETE
            )
        if k < slots and rng.random() < 0.85:
            turn = 0.0 if rng.random() < 0.4 else np.pi
            street.put(cars[rng.integers(len(cars))], x + (x1 - x0) / slots / 2, 3.3, turn)
