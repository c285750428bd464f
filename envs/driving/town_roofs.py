"""Roofs, chimneys and dormers of houses that face +x with the facade at x = 0."""

from __future__ import annotations

from typing import NamedTuple

from ...rendering.mesh import Material
from ...rendering.shapes.builder import RGB, Builder, shade
from .town_walls import PANE, WHITE, Facade


class Gable(NamedTuple):
    """A gabled roof.

    Attributes:
        width: Of the house along y, m.
        depth: Of the house along x, m.
        eaves: Height of the walls under it, m.
        rise: From the eaves to the ridge, m.
        over: Overhang, m.
        colour: Of the tiles.
        wall: Colour of the gable walls.
        material: Of the gable walls.
    """

    width: float
    depth: float
    eaves: float
    rise: float
    over: float
    colour: RGB
    wall: RGB
    material: Material


def gable_roof(b: Builder, gable: Gable) -> None:
    """Add a roof whose ridge runs along y, with its gable walls."""
    width, depth, eaves, rise, over, colour, wall, material = gable
    ridge, y = eaves + rise, width / 2
    drop = over * rise / (depth / 2)
    front, back, middle = over, -depth - over, -depth / 2
    low = eaves - drop + 0.10
    y0, y1 = -y - over * 0.7, y + over * 0.7
    top = ridge + 0.10
    b.slab(
        [(front, y0, low), (front, y1, low), (middle, y1, top), (middle, y0, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.slab(
        [(back, y1, low), (back, y0, low), (middle, y0, top), (middle, y1, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.triangles(
        [
            [(0, y, eaves), (-depth, y, eaves), (middle, y, ridge)],
            [(-depth, -y, eaves), (0, -y, eaves), (middle, -y, ridge)],
        ],
        wall,
        material,
    )
    b.box(
        (middle - 0.12, y0, top - 0.06),
        (middle + 0.12, y1, top + 0.05),
        shade(colour, 0.8),
        Material.ROOF,
    )
    for x in (front, back):
        b.box((x - 0.07, y0, low - 0.16), (x + 0.07, y1, low - 0.03), WHITE, Material.METAL, "")


def front_gable(b: Builder, gable: Gable) -> None:
    """Add a roof whose ridge runs along x, so that a gable faces the street."""
    width, depth, eaves, rise, over, colour, wall, material = gable
    y, ridge = width / 2, eaves + rise
    drop = over * rise / y
    low, top = eaves - drop + 0.10, ridge + 0.10
    front, back = over * 0.8, -depth - over * 0.8
    b.slab(
        [(back, -y - over, low), (front, -y - over, low), (front, 0.0, top), (back, 0.0, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.slab(
        [(front, y + over, low), (back, y + over, low), (back, 0.0, top), (front, 0.0, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.triangles(
        [
            [(0.0, -y, eaves), (0.0, y, eaves), (0.0, 0.0, ridge)],
            [(-depth, y, eaves), (-depth, -y, eaves), (-depth, 0.0, ridge)],
        ],
        wall,
        material,
    )
    for side in (-1, 1):
        at = side * (y + over)
        b.box(
            (back, at - 0.07, low - 0.16), (front, at + 0.07, low - 0.03), WHITE, Material.METAL, ""
        )
    # Barge boards close the open verge of the front gable.
    for side in (-1, 1):
        edge = [(front, side * (y + over), low), (front, 0.0, top)]
        lower = [(front + 0.04, p[1], p[2] - 0.26) for p in edge]
        upper = [(front + 0.04, p[1], p[2] + 0.02) for p in edge]
        quad = [lower[0], lower[1], upper[1], upper[0]]
        b.quads([quad if side < 0 else quad[::-1]], WHITE, Material.WOOD)


def chimney(b: Builder, x: float, y: float, foot: float, top: float, colour: RGB) -> None:
    """Add a chimney with two pots round (x, y), from `foot` to `top`."""
    b.box((x - 0.35, y - 0.45, foot), (x + 0.35, y + 0.45, top), colour, Material.BRICK)
    b.box(
        (x - 0.42, y - 0.52, top),
        (x + 0.42, y + 0.52, top + 0.12),
        (0.6, 0.58, 0.55),
        Material.CONCRETE,
        "",
    )
    for dy in (-0.2, 0.2):
        b.tube(
            (x, y + dy, top + 0.1),
            (x, y + dy, top + 0.5),
            0.11,
            (0.6, 0.33, 0.24),
            Material.BRICK,
            6,
        )


def dormer(
    b: Builder, y: float, depth: float, eaves: float, rise: float, roof: RGB, frame: RGB
) -> None:
    """Add a flat dormer at `y` to the front slope of a `gable_roof` with the same measures."""
    slope = rise / (depth / 2)
    x = -1.0
    foot = eaves + slope * 1.0 + 0.05
    top = foot + 1.25
    back = -(top - eaves) / slope
    b.box((back, y - 0.75, foot - 0.3), (x, y + 0.75, top), WHITE, Material.WOOD, "-z -x")
    face = Facade(b, (x, y - 0.55, foot + 0.1), (0, 1, 0), 1.1, 1.0, WHITE, Material.WOOD)
    face.rect((0.05, 1.05, 0.05, 0.95), 0.02, PANE, Material.GLASS)
    face.rect((0.52, 0.58, 0.05, 0.95), 0.03, frame, Material.GLOSSY)
    b.slab(
        [
            (x + 0.25, y - 0.95, top),
            (x + 0.25, y + 0.95, top),
            (back - 0.3, y + 0.95, top + 0.25),
            (back - 0.3, y - 0.95, top + 0.25),
        ],
        0.12,
        roof,
        Material.ROOF,
    )
