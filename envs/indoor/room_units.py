"""Cabinets with their fronts, the fridge, and the doors under the sink."""

from __future__ import annotations

import itertools

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, shade
from ...rendering.shapes.primitives import cylinder, rounded_box
from .layout import (
    CABINET_FRONT,
    COUNTER_THICKNESS,
    COUNTER_TOP,
    PLINTH_FRONT,
    PLINTH_HEIGHT,
    UPPER_BOTTOM,
    UPPER_DEPTH,
    UPPER_TOP,
    WIDTHS,
    Unit,
)
from .room_fronts import THICKNESS, front
from .room_palettes import STEEL, Palette
from .room_parts import FINE, Parts, Range, cells

FRONTS_BOTTOM = PLINTH_HEIGHT + 0.005
FRONTS_TOP = COUNTER_TOP - COUNTER_THICKNESS - 0.004
FRIDGE_FRONT = -0.665
OVER_FRIDGE = 1.84
SINK_DEPTH = 0.5
"""From the doors' outer face to the back of the open cabinet, m."""

_BOARD = 0.018
_CARCASS = CABINET_FRONT + THICKNESS + 0.002


def base_unit(b: Parts, look: Palette, unit: Unit) -> None:
    """Add what is below the worktop, but for the doors of the sink and the oven."""
    y = (unit.right, unit.left)
    b.front(PLINTH_FRONT, y, (0.0, PLINTH_HEIGHT), shade(look.fronts, 0.78), look.finish)
    b.sheet((0, 0, PLINTH_HEIGHT), (0, 1, 0), (1, 0, 0), [(*y, _CARCASS, PLINTH_FRONT)],
            shade(look.inside, 0.7), Material.MATTE)  # fmt: skip
    if unit.kind == "sink":
        _open_cabinet(b, look, y)
        return
    b.front(
        _CARCASS, y, (PLINTH_HEIGHT, FRONTS_TOP + 0.004), shade(look.fronts, 0.5), Material.MATTE
    )
    if unit.kind == "drawers":
        heights = np.cumsum([FRONTS_BOTTOM, 0.30, 0.275])
        levels = [float(h) for h in heights] + [FRONTS_TOP]
        for low, high in itertools.pairwise(levels):
            front(b, look, CABINET_FRONT, y, (low, high), "top")
    elif unit.kind == "base":
        split = FRONTS_TOP - 0.155
        front(b, look, CABINET_FRONT, y, (split, FRONTS_TOP), "top")
        _pair(b, look, CABINET_FRONT, y, (FRONTS_BOTTOM, split), look.fronts, low=False)


def _pair(b: Parts, look: Palette, x: float, y: Range, z: Range, colour: RGB, *, low: bool) -> None:
    """Add two doors that meet in the middle."""
    middle = 0.5 * (y[0] + y[1])
    front(b, look, x, (middle, y[1]), z, "right", colour=colour, low=low)
    front(b, look, x, (y[0], middle), z, "left", colour=colour, low=low)


def _open_cabinet(b: Parts, look: Palette, y: Range) -> None:
    """Add the box under the sink, seen from inside through its open front."""
    top = COUNTER_TOP - COUNTER_THICKNESS
    floor = PLINTH_HEIGHT + _BOARD
    x0, x1 = _CARCASS, CABINET_FRONT + SINK_DEPTH
    inner = (y[0] + _BOARD, y[1] - _BOARD)
    tint = look.inside
    b.rim((x0, y, (PLINTH_HEIGHT, top)), (x0, inner, (floor, top - 0.03)), shade(tint, 1.25),
          Material.MATTE)  # fmt: skip
    b.sheet((0, 0, floor), (1, 0, 0), (0, 1, 0), cells((x0, x1), inner, 0.25), tint, Material.MATTE)
    b.sheet((x1, 0, 0), (0, 0, 1), (0, 1, 0), cells((floor, top), inner, 0.25), shade(tint, 0.8),
            Material.MATTE)  # fmt: skip
    walls = cells((x0, x1), (floor, top), 0.25)
    b.sheet((0, inner[0], 0), (0, 0, 1), (1, 0, 0), [(c, d, a, e) for a, e, c, d in walls],
            shade(tint, 0.9), Material.MATTE)  # fmt: skip
    b.sheet((0, inner[1], 0), (1, 0, 0), (0, 0, 1), walls, shade(tint, 0.9), Material.MATTE)


def end_panel(b: Parts, look: Palette, y: float, side: int) -> None:
    """Close the run of base units at `y`; `side` is +1 where the panel faces +y."""
    inner = y - side * _BOARD
    ends = (min(y, inner), max(y, inner))
    face = "+y" if side > 0 else "-y"
    for x, z in (
        (_CARCASS, (PLINTH_HEIGHT, COUNTER_TOP - COUNTER_THICKNESS)),
        (PLINTH_FRONT, (0.0, PLINTH_HEIGHT)),
    ):
        b.box((x, ends[0], z[0]), (0.0, ends[1], z[1]), look.fronts, look.finish,
              skip=f"+x {face}")  # fmt: skip
        pieces = cells((x, 0.0), z, FINE)
        if side > 0:
            turned = [(c, d, a, e) for a, e, c, d in pieces]
            b.sheet((0, y, 0), (0, 0, 1), (1, 0, 0), turned, look.fronts, look.finish)
        else:
            b.sheet((0, y, 0), (1, 0, 0), (0, 0, 1), pieces, look.fronts, look.finish)


def wall_unit(b: Parts, look: Palette, y: Range, *, open_share: float = 0.0) -> Range | None:
    """Add a wall cabinet.

    Args:
        b: Gathers the faces.
        look: Looks of the kitchen.
        y: Its width, m.
        open_share: Share of the width that is an open shelf instead, on the right.

    Returns:
        The range of y inside the open shelf, if there is one.
    """
    z = (UPPER_BOTTOM, UPPER_TOP)
    x = -UPPER_DEPTH
    split = y[0] + open_share * (y[1] - y[0])
    closed = (split, y[1])
    b.box((x + THICKNESS + 0.002, closed[0], z[0]), (0.0, closed[1], z[1]), look.uppers,
          _lacquer(look), skip="-x +x")  # fmt: skip
    b.front(x + THICKNESS + 0.002, closed, z, shade(look.uppers, 0.5), Material.MATTE)
    if open_share <= 0.0:
        _pair(b, look, x, y, z, look.uppers, low=True)
        return None
    front(b, look, x, closed, z, "right", colour=look.uppers, low=True)
    inner = (y[0] + _BOARD, split - 0.0)
    x0 = x + 0.01
    lower, upper = z[0] + _BOARD, z[1] - _BOARD
    tint, finish = look.uppers, _lacquer(look)
    for low, high in ((y[0], inner[0]), (split - 0.001, split)):
        b.box((x0, low, z[0]), (0.0, high, z[1]), tint, finish, skip="+x")
    shelf = 0.5 * (z[0] + z[1])
    for low, high in ((z[0], lower), (upper, z[1]), (shelf - _BOARD / 2, shelf + _BOARD / 2)):
        b.box((x0, inner[0], low), (0.0, inner[1], high), tint, finish, skip="-y +y +x")
    b.sheet((-0.004, 0, 0), (0, 0, 1), (0, 1, 0), cells((lower, upper), inner, 0.2),
            shade(tint, 0.92), finish)  # fmt: skip
    return inner


def _lacquer(look: Palette) -> Material:
    return Material.MATTE if look.finish == Material.WOOD else look.finish


def fridge(b: Parts, look: Palette, unit: Unit) -> None:
    """Add a fridge-freezer between panels, with a cabinet over it."""
    tint = look.uppers
    finish = _lacquer(look)
    for low, high in ((unit.right, unit.right + _BOARD), (unit.left - _BOARD, unit.left)):
        b.box((CABINET_FRONT, low, 0.0), (0.0, high, UPPER_TOP), tint, finish, skip="-z +x")
    inner = (unit.right + _BOARD, unit.left - _BOARD)
    b.box((CABINET_FRONT + 0.02, inner[0], OVER_FRIDGE), (0.0, inner[1], UPPER_TOP),
          shade(tint, 0.8), finish, skip="+x -y +y")  # fmt: skip
    _pair(b, look, CABINET_FRONT, inner, (OVER_FRIDGE, UPPER_TOP), tint, low=True)
    # A dark gap round the body.
    b.front(-0.55, inner, (0.0, OVER_FRIDGE), (0.10, 0.10, 0.10), Material.MATTE)
    body = (inner[0] + 0.006, inner[1] - 0.006)
    middle, width = 0.5 * (body[0] + body[1]), body[1] - body[0]
    b.box((FRIDGE_FRONT + 0.06, body[0] + 0.004, 0.0), (-0.5, body[1] - 0.004, 0.05),
          (0.12, 0.12, 0.12), Material.MATTE)  # fmt: skip
    b.box((FRIDGE_FRONT + 0.055, body[0] + 0.003, 0.05), (-0.5, body[1] - 0.003,
          OVER_FRIDGE - 0.02), shade(look.fridge, 0.7), Material.MATTE)  # fmt: skip
    for low, high in ((0.055, 0.680), (0.688, OVER_FRIDGE - 0.012)):
        b.add(
            rounded_box(
                (0.05, width, high - low), 0.012,
                (FRIDGE_FRONT + 0.025, middle, 0.5 * (low + high)),
                look.fridge, look.fridge_finish, 3,
            )
        )  # fmt: skip
    side = body[0] + 0.045
    metal = shade(STEEL, 1.05)
    for low, high in ((0.42, 0.65), (0.72, 1.14)):
        b.add(cylinder((FRIDGE_FRONT - 0.032, side, low), (FRIDGE_FRONT - 0.032, side, high), 0.009,
                       metal, Material.METAL, 10))  # fmt: skip
        for z in (low + 0.03, high - 0.03):
            b.tube((FRIDGE_FRONT, side, z), (FRIDGE_FRONT - 0.032, side, z), 0.006, metal,
                   Material.METAL, 6)  # fmt: skip


def under_sink_doors(look: Palette, swing: tuple[float, float]) -> Mesh:
    """Return the two doors under the sink, opened by `swing` (left, right), radians.

    Room orientation; the origin lies on the floor under the doors' outer face, midway.
    """
    half = 0.5 * WIDTHS["sink"]
    doors = []
    for side, angle in zip((1, -1), swing, strict=True):
        b = Parts()
        opening = (-half, 0.0) if side > 0 else (0.0, half)  # from the hinge, at y = 0
        front(
            b, look, 0.0, opening, (FRONTS_BOTTOM, FRONTS_TOP),
            "right" if side > 0 else "left", back=shade(look.inside, 1.35),
            # The worktop's edge would hide a rail.
            handle="bar" if look.handle == "rail" else None,
        )  # fmt: skip
        doors.append(b.mesh().transformed((0.0, side * half, 0.0), yaw=-side * angle))
    return Mesh.merge(doors)
