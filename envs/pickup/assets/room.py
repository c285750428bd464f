"""The backdrop: a wooden table in a plain lab room, all that stands still."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.builder import RGB, Builder, shade
from ....rendering.shapes.primitives import rounded_box
from ..scene import TABLE, TABLE_TOP

KEY = "pickup-lab"
"""Names the backdrop among those of a process."""

REACH = 0.6
"""Reach of the room's ambient occlusion, m."""

_WOOD: RGB = (0.66, 0.53, 0.39)
_WALL: RGB = (0.80, 0.82, 0.80)
_FLOOR: RGB = (0.45, 0.47, 0.49)
_SKIRTING: RGB = (0.30, 0.32, 0.34)
_METAL: RGB = (0.32, 0.33, 0.35)

_BACK, _FRONT = -1.70, 0.90  # x from the wall ahead of the robot, m
_RIGHT, _LEFT = -1.20, 1.90  # y up to the wall at the side, m
_TOP = 2.0
_THICKNESS, _BOARDS, _JOINT = 0.036, 7, 0.0022
_STREAKS = (0.007, 0.022)  # widths, m


@cache
def backdrop() -> Mesh:
    """Return table and room in the scene's frame, one mesh for the process."""
    b = Builder()
    _walls(b)
    _table(b)
    return b.mesh()


def _walls(b: Builder) -> None:
    """Add the corner of the room that is seen: floor, wall ahead, wall on the robot's right."""
    floor = (_BACK, _FRONT), (_RIGHT, _LEFT)
    b.rectangle(*floor, 0.0, _FLOOR, Material.CONCRETE)
    b.wall((_BACK, _RIGHT, 0.0), (0, 1, 0), _LEFT - _RIGHT, _TOP, _WALL, Material.MATTE)
    b.wall((_BACK, _LEFT, 0.0), (1, 0, 0), _FRONT - _BACK, _TOP, _WALL, Material.MATTE)
    wide, tall = 0.014, 0.10
    b.box((_BACK, _RIGHT, 0.0), (_BACK + wide, _LEFT, tall), _SKIRTING, Material.MATTE)
    b.box((_BACK, _LEFT - wide, 0.0), (_FRONT, _LEFT, tall), _SKIRTING, Material.MATTE)


def _table(b: Builder) -> None:
    """Add the table: boards along x on a steel frame."""
    x0, x1, y0, y1 = TABLE
    low = TABLE_TOP - _THICKNESS
    wide = (y1 - y0) / _BOARDS
    rng = np.random.default_rng(12)
    for k in range(_BOARDS):
        tone = shade(_WOOD, float(rng.uniform(0.90, 1.08)))
        start, end = y0 + k * wide, y0 + (k + 1) * wide
        b.box((x0, start, low), (x1, end, TABLE_TOP), tone, Material.WOOD, skip="-z +z")
        _grain(b, start, end, tone, rng, (k == 0, k == _BOARDS - 1))
    inset, wide = 0.05, 0.045
    b.box((x0 + inset, y0 + inset, low - 0.07), (x1 - inset, y1 - inset, low), _METAL,
          Material.MATTE, skip="+z")  # fmt: skip
    for x in (x0 + inset, x1 - inset - wide):
        for y in (y0 + inset, y1 - inset - wide):
            middle = (x + 0.5 * wide, y + 0.5 * wide, 0.5 * (low - 0.07))
            b.add(rounded_box((wide, wide, low - 0.07), 0.004, middle, _METAL, Material.MATTE, 2))


def _grain(
    b: Builder,
    start: float,
    end: float,
    tone: RGB,
    rng: np.random.Generator,
    ends: tuple[bool, bool],
) -> None:
    """Add the top of a board: streaks along it, darker where it meets the next one.

    A joint is wide and faint: what is thin and dark falls apart in a small picture.
    """
    first, last = ends
    places, factors = [start], []
    if not first:
        places.append(start + _JOINT)
        factors.append(0.80)
    inner = end if last else end - _JOINT
    while inner - places[-1] > _STREAKS[1]:
        places.append(places[-1] + float(rng.uniform(*_STREAKS)))
        factors.append(float(rng.uniform(0.955, 1.035)))
    places.append(inner)
    factors.append(1.0)
    if not last:
        places.append(end)
        factors.append(0.80)
    for side, factor in zip(itertools.pairwise(places), factors, strict=True):
        b.rectangle(TABLE[:2], side, TABLE_TOP, shade(tone, factor), Material.WOOD)
