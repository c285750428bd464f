"""Town02: a compact quarter. Terraces and shops at the sidewalk, lanterns, few small trees."""

from __future__ import annotations

import itertools

import numpy as np

from ...rendering.mesh import Material
from .street import LEFT_SIDEWALK, RIGHT_SIDEWALK, SIDEWALK_WIDTH
from .town_furniture import bench, bollard, lantern_lamp, litter_bin, planter, sign, wall_lamp
from .town_greens import bush, tree
from .town_ground import END, LOT_HEIGHT, START, GroundStyle, blocks, close_horizon, lay_ground
from .town_houses import plain_block, terrace
from .town_parts import Builder
from .town_suburb import _Side

STYLE = GroundStyle(
    asphalt=(0.27, 0.27, 0.275),
    paving=(0.56, 0.53, 0.50),
    kerb=(0.62, 0.60, 0.57),
    lot=(0.53, 0.51, 0.48),
    lot_material=Material.CONCRETE,
    far=(0.42, 0.43, 0.36),
    slab=1.2,
    zebra=True,
    edge_lines=False,
)
PATH = 1.25
"""Width of the furnished strip between right sidewalk and facades, m."""


def build_terraces(b: Builder, junctions: tuple[float, ...], rng: np.random.Generator) -> None:
    """Add the whole town to `b`; `junctions` are the stop lines, m."""
    lay_ground(b, STYLE, junctions, rng)
    close_horizon(b, rng, (0.42, 0.40, 0.38), 9.0, 17.0, blocky=True)
    small = tree(rng, 5.6, 1.35, (0.30, 0.44, 0.20), 220)
    for side in (-1, 1):
        street = _Side(b, side)
        for x0, x1 in blocks(junctions):
            low = x0 + (SIDEWALK_WIDTH if x0 > START else 0.0)
            high = x1 - (SIDEWALK_WIDTH if x1 < END else 0.0)
            _row(street, low, high, rng)
        for x_j in junctions:
            street.put(plain_block(rng, 20.0, 9.0, 4, False), x_j + 6.0, 70.0)
            for edge, out in ((x_j + 1.5 - SIDEWALK_WIDTH, -1), (x_j + 10.5 + SIDEWALK_WIDTH, 1)):
                for back in (17.0, 29.0, 41.0, 53.0):
                    mesh = plain_block(rng, 12.0, 9.0, int(rng.integers(2, 5)), True)
                    street.put(mesh, edge + out * 0.1, back, out * side * np.pi / 2)
    right = _Side(b, -1)
    left = _Side(b, 1)
    lantern, post, tub = lantern_lamp(), bollard(), planter()
    wall = wall_lamp()
    for k, x in enumerate(np.arange(START + 8, END, 13.0)):
        if any(x_j - 2.5 < x < x_j + 14.5 for x_j in junctions):
            continue
        if k % 2:
            right.put(lantern, float(x), 0.35)
            left.put(wall, float(x), 0.18, z=LOT_HEIGHT + 0.3)
        else:
            kind = rng.integers(4)
            if kind == 0:
                right.put(tub, float(x), 0.62)
                right.put(small, float(x), 0.62, z=LOT_HEIGHT + 0.4)
            elif kind == 1:
                right.put(bench(), float(x), 0.85)
                right.put(litter_bin((0.17, 0.30, 0.22)), float(x) + 1.4, 0.5)
            elif kind == 2:
                right.put(tub, float(x), 0.62)
                right.put(bush(rng, 0.8, (0.28, 0.42, 0.2)), float(x), 0.62, z=LOT_HEIGHT + 0.5)
            for step in range(3):
                right.put(post, float(x) + 3.0 + 1.5 * step, 0.25)
    for x in junctions:
        b.add(sign("priority").transformed((x - 9, RIGHT_SIDEWALK[0] - 0.2, LOT_HEIGHT), yaw=np.pi))
        b.add(sign("name").transformed((x - 1.2, LEFT_SIDEWALK[1] - 0.2, LOT_HEIGHT), yaw=np.pi))
        b.add(sign("limit").transformed((x + 22, RIGHT_SIDEWALK[0] - 0.2, LOT_HEIGHT), yaw=np.pi))


def _row(street: _Side, low: float, high: float, rng: np.random.Generator) -> None:
    """Fill one side of a block with terraced houses."""
    count = max(1, round((high - low) / 8.6))
    weights = rng.uniform(0.75, 1.25, count)
    edges = low + (high - low) * np.concatenate([[0], np.cumsum(weights) / weights.sum()])
    for k, (x0, x1) in enumerate(itertools.pairwise(edges)):
        ends = k in (0, count - 1)
        storeys = int(rng.choice([2, 3, 4], p=[0.3, 0.5, 0.2]))
        mesh = terrace(rng, float(x1 - x0) - 0.01, 9.5, storeys, bool(rng.random() < 0.5), ends)
        street.put(mesh, float(x0 + x1) / 2, PATH if street.side < 0 else 0.12)
