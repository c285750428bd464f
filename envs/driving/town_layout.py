"""Placing things along one side of a street, and what closes the crossing streets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder
from .street import (
    CROSSING_WIDTH,
    JUNCTION_SETBACK,
    LEFT_EDGE_Y,
    LEFT_SIDEWALK,
    RIGHT_EDGE_Y,
    RIGHT_SIDEWALK,
)
from .town_cars import PAINTS, plain_car
from .town_ground import LOT_HEIGHT

NEAR_END = 215.0
"""Beyond this x no ego position comes near: things are built more simply there, m."""

FIRST_SEEN = 4.0
"""No ego position looks at what lies before this x, m."""


class StreetSide:
    """One side of the main street: places meshes that face the carriageway.

    Distances called `back` are measured from the rear edge of the sidewalk, away from the street.
    """

    def __init__(self, b: Builder, side: int) -> None:
        """Take the builder and the side: 1 = left, -1 = right."""
        self.b, self.side = b, side
        self.front = RIGHT_SIDEWALK[0] if side < 0 else LEFT_SIDEWALK[1]

    def y(self, back: float) -> float:
        """Return the y that lies `back` behind the sidewalk, m."""
        return self.front + self.side * back

    def put(
        self, mesh: Mesh, x: float, back: float, turn: float = 0.0, z: float = LOT_HEIGHT
    ) -> None:
        """Stand `mesh` at `x`, facing the street and turned on by `turn` radians."""
        yaw = -self.side * np.pi / 2 + turn
        self.b.add(mesh.transformed((x, self.y(back), z), yaw=yaw))

    def strip(
        self,
        x: tuple[float, float],
        back: tuple[float, float],
        lift: float,
        colour: RGB,
        material: Material,
    ) -> None:
        """Pave the ranges `x` and `back`, `lift` m above the lots."""
        y = sorted(self.y(value) for value in back)
        self.b.rectangle(x, y, LOT_HEIGHT + lift, colour, material)


def car_choices(rng: np.random.Generator, count: int) -> list[Mesh]:
    """Return `count` parked cars of differing paint and form."""
    paints = rng.permutation(len(PAINTS))[:count]
    return [
        plain_car("saloon" if k % 3 == 1 else "hatch", PAINTS[p], 1.12 if k % 3 == 2 else 1.0)
        for k, p in enumerate(paints)
    ]


def park_in_crossings(
    b: Builder, junctions: Sequence[float], cars: Sequence[Mesh], rng: np.random.Generator
) -> None:
    """Park cars along the kerbs of the crossing streets, clear of the corners."""
    for x_j in junctions:
        near, far = x_j + JUNCTION_SETBACK, x_j + JUNCTION_SETBACK + CROSSING_WIDTH
        for side, edge in ((-1, RIGHT_EDGE_Y), (1, LEFT_EDGE_Y)):
            for x, yaw in ((near + 1.05, -np.pi / 2), (far - 1.05, np.pi / 2)):
                y = 12.0 + rng.uniform(0, 4)
                while y < 36.0:
                    if rng.random() < 0.35:
                        mesh = cars[int(rng.integers(len(cars)))]
                        b.add(mesh.transformed((x, edge + side * y, 0.0), yaw=yaw))
                    y += rng.uniform(5.4, 9.0)
