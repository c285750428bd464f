"""The room itself: floor, walls, ceiling, splashback, and the window with its garden."""

from __future__ import annotations

import numpy as np

from ...rendering.mesh import Material
from ...rendering.shapes.builder import shade
from ...rendering.shapes.primitives import cylinder, ellipsoid, rounded_box
from .layout import (
    CEILING,
    COUNTER_TOP,
    ROOM_FRONT,
    TILE_FRONT,
    UPPER_BOTTOM,
    UPPER_TOP,
    Layout,
    Unit,
)
from .room_counter import UPSTAND
from .room_palettes import STEEL, WHITE, Palette
from .room_parts import FINE, Cell, Parts, Range, cells

WINDOW_Z: Range = (1.12, 2.06)
WINDOW_HALF = 0.35
"""Half the width of the opening over the sink, m."""

SILL_TOP = WINDOW_Z[0] + 0.004
REVEAL = 0.16
"""Depth of the opening up to the window's frame, m."""

_STEP = 0.25
_SKIRTING = 0.09


def window_hole(sink: Unit) -> Cell:
    """Return the window's opening as `(y0, y1, z0, z1)`."""
    return (sink.middle - WINDOW_HALF, sink.middle + WINDOW_HALF, *WINDOW_Z)


def lamp_places(plan: Layout) -> tuple[tuple[float, float, float], ...]:
    """Return the middles of the ceiling lamps, m.

    They lie in the ceiling: what is above a lamp's shade gets none of its light.
    """
    right, left = plan.side_walls
    return tuple((-1.6, right + share * (left - right), CEILING) for share in (0.3, 0.7))


def shell(b: Parts, look: Palette, plan: Layout) -> None:
    """Add floor, ceiling and the four walls."""
    right, left = plan.side_walls
    y, x, z = (right, left), (ROOM_FRONT, 0.0), (0.0, CEILING)
    _floor(b, look, x, y)
    flat = cells(x, y, _STEP)
    b.sheet((0, 0, CEILING), (0, 1, 0), (1, 0, 0), [(c, d, a, e) for a, e, c, d in flat],
            (0.93, 0.93, 0.91), Material.MATTE)  # fmt: skip
    hole = window_hole(plan.of("sink")[0])
    back = cells(y, z, _STEP, hole)
    wall, matte = look.wall, Material.MATTE
    b.sheet((0, 0, 0), (0, 0, 1), (0, 1, 0), [(c, d, a, e) for a, e, c, d in back], wall, matte)
    side = cells(x, z, _STEP)
    b.sheet((0, right, 0), (0, 0, 1), (1, 0, 0), [(c, d, a, e) for a, e, c, d in side], wall, matte)
    b.sheet((0, left, 0), (1, 0, 0), (0, 0, 1), side, wall, matte)
    b.sheet((ROOM_FRONT, 0, 0), (0, 1, 0), (0, 0, 1), cells(y, z, 0.6), wall, matte)
    _skirting(b, plan)
    _entrance(b)
    for at in lamp_places(plan):
        b.add(cylinder(at, (*at[:2], CEILING - 0.03), 0.205, STEEL, Material.METAL, 28))
        low = (*at[:2], CEILING - 0.02)
        b.add(ellipsoid((0.19, 0.19, 0.04), low, (0.98, 0.96, 0.92), Material.EMISSIVE, 24))


def _floor(b: Parts, look: Palette, x: Range, y: Range) -> None:
    finish = Material.PLANKS if look.planks else Material.TILE
    b.sheet((0, 0, 0), (1, 0, 0), (0, 1, 0), cells(x, y, _STEP), look.floor, finish)


def _skirting(b: Parts, plan: Layout) -> None:
    right, left = plan.side_walls
    t, h = 0.014, _SKIRTING
    finish = Material.MATTE
    for unit in plan.of("wall"):
        b.box((-t, unit.right, 0.0), (0.0, unit.left, h), WHITE, finish, skip="-z +x")
    front = -0.6
    for wall, inner in ((right, right + t), (left, left - t)):
        beside = plan.units[-1] if wall == right else plan.units[0]
        end = 0.0 if beside.kind == "wall" else front
        low, high = min(wall, inner), max(wall, inner)
        b.box((ROOM_FRONT, low, 0.0), (end, high, h), WHITE, finish)
    b.box((ROOM_FRONT, right, 0.0), (ROOM_FRONT + t, left, h), WHITE, finish, skip="-z -x")


def _entrance(b: Parts) -> None:
    """Add a door behind the camera; polished things mirror that wall."""
    x, y, top = ROOM_FRONT, (-0.45, 0.45), 2.05
    for low, high, z in (
        (y[0] - 0.08, y[0], (0.0, top + 0.08)),
        (y[1], y[1] + 0.08, (0.0, top + 0.08)),
        (*y, (top, top + 0.08)),
    ):
        b.box((x, low, z[0]), (x + 0.02, high, z[1]), WHITE, Material.MATTE, skip="-x -z")
    b.box((x, y[0], 0.0), (x + 0.016, y[1], top), shade(WHITE, 0.95), Material.MATTE, skip="-x -z")
    b.add(rounded_box((0.03, 0.12, 0.02), 0.008, (x + 0.05, 0.36, 1.0), STEEL, Material.METAL, 2))


def splashback(b: Parts, look: Palette, plan: Layout, run: Range) -> None:
    """Add the wall tiles between worktop and wall cabinets, higher at window and stove."""
    low = COUNTER_TOP + UPSTAND
    hole = window_hole(plan.of("sink")[0])
    for unit in plan.units:
        if not run[0] - 1e-9 <= unit.right < unit.left <= run[1] + 1e-9:
            continue
        high = UPPER_BOTTOM if unit.has_top else UPPER_TOP
        y = (unit.right, unit.left)
        pieces = cells(y, (low, high), 0.6 * FINE, hole if unit.kind == "sink" else None)
        b.sheet((TILE_FRONT, 0, 0), (0, 0, 1), (0, 1, 0), [(c, d, a, e) for a, e, c, d in pieces],
                look.tiles, Material.TILE)  # fmt: skip
        for edge, face in ((unit.right, "-y"), (unit.left, "+y")):
            other = "+y" if face == "-y" else "-y"
            end = (TILE_FRONT, edge - 0.0005, low), (0.0, edge + 0.0005, high)
            b.box(*end, WHITE, Material.MATTE, skip=f"-x +x -z {other}")
        if high > UPPER_BOTTOM:
            b.sheet(
                (0, 0, high), (1, 0, 0), (0, 1, 0), [(TILE_FRONT, 0.0, *y)], WHITE, Material.MATTE
            )


def window(b: Parts, look: Palette, sink: Unit) -> None:
    """Add the window over the sink: reveals, sill, frame with two lights, the garden outside."""
    y0, y1, z0, z1 = window_hole(sink)
    reveal = shade(look.wall, 1.03)
    front = (TILE_FRONT - 0.001, (y0, y1), (z0, z1))
    b.rim(front, (REVEAL, (y0, y1), (z0, z1)), reveal, Material.MATTE)
    size = (REVEAL + 0.045, y1 - y0 + 0.05, 0.022)
    centre = (0.5 * (REVEAL - 0.045), sink.middle, SILL_TOP - 0.011)
    b.add(rounded_box(size, 0.005, centre, WHITE, Material.GLOSSY, 2))
    frame, bar = 0.045, 0.05
    outer = (y0, y1), (SILL_TOP, z1)
    inner = (y0 + frame, y1 - frame), (SILL_TOP + frame, z1 - frame)
    x = REVEAL - 0.06
    b.rim((x, *outer), (x, *inner), WHITE, Material.GLOSSY)
    b.rim((x, *inner), (REVEAL, *inner), shade(WHITE, 0.95), Material.GLOSSY)
    half = sink.middle
    b.box((x - 0.006, half - bar / 2, inner[1][0]), (REVEAL, half + bar / 2, inner[1][1]), WHITE,
          Material.GLOSSY, skip="-z +z +x")  # fmt: skip
    for low, high in ((inner[0][0], half - bar / 2), (half + bar / 2, inner[0][1])):
        rail = 0.028
        light = (low, high), inner[1]
        small = (low + rail, high - rail), (inner[1][0] + rail, inner[1][1] - rail)
        b.rim((x + 0.012, *light), (x + 0.012, *small), WHITE, Material.GLOSSY)
        b.rim((x + 0.012, *small), (REVEAL, *small), shade(WHITE, 0.92), Material.GLOSSY)
    b.box((x - 0.03, half - 0.008, 1.50), (x - 0.004, half + 0.008, 1.62), STEEL, Material.METAL,
          skip="")  # fmt: skip
    _garden(b, sink.middle, look)


def _garden(b: Parts, middle: float, look: Palette) -> None:
    """Add what is seen through the window: a strip of lawn, a hedge, shrubs and a pale sky.

    All of it is near, so that it is small: rooms are cut fine for their shade.
    """
    rng = np.random.default_rng([len(look.handle), int(1000 * look.wall[2]), 31])
    wide = (middle - 4.2, middle + 4.2)
    b.plain(2.7, wide, (1.2, 3.9), (0.60, 0.66, 0.72), Material.EMISSIVE)
    b.sheet((0, 0, 0.85), (1, 0, 0), (0, 1, 0), [(0.3, 1.6, middle - 2.4, middle + 2.4)],
            (0.66, 0.74, 0.48), Material.GRASS)  # fmt: skip
    b.plain(1.6, wide, (0.8, 1.5), (0.62, 0.69, 0.47), Material.FOLIAGE)
    b.sheet((0, 0, 1.5), (1, 0, 0), (0, 1, 0), [(1.6, 2.0, *wide)], (0.66, 0.74, 0.50),
            Material.FOLIAGE)  # fmt: skip
    for place in np.linspace(-3.6, 3.6, 9):
        y = middle + float(place + rng.uniform(-0.25, 0.25))
        tint = shade((0.64, 0.71, 0.50), float(rng.uniform(0.85, 1.12)))
        top = float(rng.uniform(1.62, 2.15))
        for _ in range(9):
            spot = rng.uniform(-1.0, 1.0, 3)
            r = float(rng.uniform(0.13, 0.22))
            centre = (
                2.3 + 0.1 * spot[0],
                y + 0.28 * spot[1],
                max(1.45, top - 0.25 * (1.0 + spot[2])),
            )
            b.add(ellipsoid((r, r, 0.9 * r), centre, tint, Material.FOLIAGE, 8))
