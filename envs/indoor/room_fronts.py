"""Doors and drawer fronts with their handles."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ...rendering.mesh import Material
from ...rendering.shapes.builder import RGB, shade
from ...rendering.shapes.primitives import cylinder, ellipsoid, rounded_box
from .room_palettes import IRON, Handle, Palette
from .room_parts import Parts, Range

Grip = Literal["left", "right", "top", "none"]
"""Where a front is gripped, seen from the room: doors at a side, drawers at the top."""

THICKNESS = 0.018
GAP = 0.003
"""Of the joint on each side of a front, m."""

_JOINT, _JOINT_DEPTH = 0.60, 0.003
"""Lightness of joints, of their front's, and how deep they are, m: dark slits, thinner than a
pixel, would be drawn as dashes."""

_EDGE = 0.0025
_RAIL = 0.065


def front(
    b: Parts,
    look: Palette,
    x: float,
    y: Range,
    z: Range,
    grip: Grip,
    *,
    colour: RGB | None = None,
    low: bool = False,
    back: RGB | None = None,
    handle: Handle | None = None,
) -> None:
    """Add a door or drawer front whose outer face is at `x`, in the middle of its opening.

    Args:
        b: Gathers the faces.
        look: Looks of the kitchen.
        x: Of the outer face, m.
        y: The opening, m.
        z: The opening, m.
        grip: Where the handle is.
        colour: Of the front; by default that of the lower ones.
        low: Whether a door is gripped at its lower end, as those of wall cabinets are.
        back: Colour of the inner face, which is left out otherwise.
        handle: Its handle; by default that of the kitchen.
    """
    tint = look.fronts if colour is None else colour
    finish = look.finish
    if finish == Material.WOOD and colour is not None and colour != look.fronts:
        finish = Material.MATTE  # lacquered ones beside wooden ones
    y0, y1 = y[0] + GAP, y[1] - GAP
    z0, z1 = z[0] + GAP, z[1] - GAP
    e = _EDGE
    sunk = x + _JOINT_DEPTH
    b.rim((sunk, y, z), (sunk, (y0, y1), (z0, z1)), shade(tint, _JOINT), Material.MATTE)
    behind = (x + THICKNESS, (y0, y1), (z0, z1))
    b.rim(behind, (x + e, (y0, y1), (z0, z1)), tint, finish)
    outer = (x, (y0 + e, y1 - e), (z0 + e, z1 - e))
    b.rim((x + e, (y0, y1), (z0, z1)), outer, shade(tint, 1.06), finish)
    w = min(_RAIL, 0.3 * (y1 - y0), 0.28 * (z1 - z0))
    if look.shaker and z1 - z0 > 0.16:
        inner_y, inner_z = (y0 + w, y1 - w), (z0 + w, z1 - w)
        _frame(b, outer, (inner_y, inner_z), tint, finish)
        s = 0.016
        panel = (x + 0.007, (inner_y[0] + s, inner_y[1] - s), (inner_z[0] + s, inner_z[1] - s))
        b.rim((x, inner_y, inner_z), panel, shade(tint, 0.93), finish)
        b.front(*panel, tint, finish)
    else:
        b.front(*outer, tint, finish)
    if back is not None:
        xb = x + THICKNESS
        b.quads([[(xb, y0, z0), (xb, y1, z0), (xb, y1, z1), (xb, y0, z1)]], back, Material.MATTE)
    if grip != "none":
        look = look if handle is None else replace(look, handle=handle)
        _handle(b, look, x, (y0, y1), (z0, z1), grip, low=low, inset=0.5 * w)


def _frame(
    b: Parts,
    outer: tuple[float, Range, Range],
    inner: tuple[Range, Range],
    tint: RGB,
    finish: Material,
) -> None:
    """Add a door's frame: upright stiles with the rails between them, a hair's joint apart."""
    x, (y0, y1), (z0, z1) = outer
    (a0, a1), (c0, c1) = inner
    for stile in ((y0, a0), (a1, y1)):
        b.front(x, stile, (z0, z1), tint, finish)
    for rail in ((z0, c0), (c1, z1)):
        b.front(x, (a0, a1), rail, shade(tint, 0.985), finish)


def _handle(
    b: Parts, look: Palette, x: float, y: Range, z: Range, grip: Grip, *, low: bool, inset: float
) -> None:
    (y0, y1), (z0, z1) = y, z
    across = grip == "top"
    middle = 0.5 * (y0 + y1)
    if look.handle == "rail":
        reach = (y0 + 0.012, y1 - 0.012)
        height = z0 if low else z1
        centre = (x - 0.008, 0.5 * (reach[0] + reach[1]), height)
        size = (0.024, reach[1] - reach[0], 0.006)
        b.add(rounded_box(size, 0.002, centre, look.handle_colour, Material.GLOSSY, 1))
        return
    side = middle if across else (y1 - 0.032 if grip == "left" else y0 + 0.032)
    if look.shaker and not across:
        side = y1 - inset if grip == "left" else y0 + inset
    if look.handle == "bar":
        half = min(0.34 * (y1 - y0), 0.16) if across else 0.08
        if across:
            height = z1 - min(0.05, 0.5 * (z1 - z0))
            ends = [(x - 0.03, side + s * half, height) for s in (-1, 1)]
            posts = [(x, side + s * (half - 0.02), height) for s in (-1, 1)]
        else:
            height = z0 + 0.06 + half if low else z1 - 0.06 - half
            ends = [(x - 0.03, side, height + s * half) for s in (-1, 1)]
            posts = [(x, side, height + s * (half - 0.02)) for s in (-1, 1)]
        metal = Material.MATTE if look.handle_colour == IRON else Material.METAL
        b.add(cylinder(ends[0], ends[1], 0.006, look.handle_colour, metal, 8))
        for post in posts:
            b.tube(post, (x - 0.03, *post[1:]), 0.0045, look.handle_colour, metal, 6)
        return
    height = 0.5 * (z0 + z1) if across else (z0 + 0.07 if low else z1 - 0.07)
    if across and z1 - z0 > 0.2:
        height = z1 - 0.5 * (z1 - z0) if look.handle == "knob" else z1 - 0.09
    if look.handle == "cup" and across:
        _cup(b, look, x, side, height)
        return
    pair = across and y1 - y0 > 0.5
    for place in (side - 0.14, side + 0.14) if pair else (side,):
        b.tube((x, place, height), (x - 0.016, place, height), (0.006, 0.005),
               look.handle_colour, Material.METAL, 8)  # fmt: skip
        b.add(
            ellipsoid(
                (0.010, 0.015, 0.015), (x - 0.022, place, height), look.handle_colour,
                Material.METAL, 10,
            )
        )  # fmt: skip


def _cup(b: Parts, look: Palette, x: float, y: float, z: float) -> None:
    """Add a cup handle: a quarter of a shell, open below."""
    half, reach, drop = 0.045, 0.024, 0.028
    turn = np.linspace(0.0, np.pi / 2, 5)
    along = np.linspace(-1.0, 1.0, 9)
    rings = [
        [
            (x - reach * np.sin(t) * np.sqrt(1 - 0.96 * s * s), y - half * s,
             z + drop * (np.cos(t) * np.sqrt(1 - 0.96 * s * s) - 0.5))
            for s in along
        ]
        for t in turn
    ]  # fmt: skip
    b.skin(rings[::-1], look.handle_colour, Material.METAL, 60.0, closed=False)
