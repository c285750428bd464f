"""Plain things that kitchens have and no concept names: plants, jars, plates, a clock, notes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, shade
from ...rendering.shapes.primitives import cylinder, disc, lathe, torus
from .layout import UPPER_BOTTOM, UPPER_TOP, Layout, Unit
from .room_palettes import IRON, WHITE, Palette
from .room_parts import Parts, Range
from .room_shell import REVEAL, SILL_TOP
from .room_units import FRIDGE_FRONT

_WOODEN: RGB = (0.62, 0.46, 0.30)
_SPREAD = 0.10
"""How far a plant's leaves reach to a side, m."""


def decorate(
    b: Parts, look: Palette, plan: Layout, shelves: list[Range], rng: np.random.Generator
) -> None:
    """Add the layout's decorations; `shelves` are the open ones in wall cabinets, by y."""
    sink = plan.of("sink")[0]
    turn = -1.0 if plan.mirrored else 1.0
    x = 0.5 * REVEAL - 0.05
    if plan.number in (0, 3):
        plant(b, (x, sink.middle + 0.23 * turn, SILL_TOP), look.pots, rng, tall=plan.number == 3)
    if plan.number == 1:
        plant(b, (x, sink.middle - 0.23 * turn, SILL_TOP), look.pots, rng, tall=True)
        plant(b, (x, sink.middle + 0.23 * turn, SILL_TOP), look.pots, rng)
    if plan.number == 2:
        for offset in (0.24, 0.12):
            plant(b, (x, sink.middle + offset * turn, SILL_TOP), look.pots, rng)
    if plan.number in (0, 2):
        clock(b, (-0.008, sink.middle, 2.29))
    for shelf in shelves:
        _fill(b, look, shelf)
    for unit in plan.of("fridge"):
        _notes(b, unit, rng)
    if plan.number == 3:
        right, left = plan.side_walls
        _picture(b, right if plan.units[-1].kind == "wall" else left, plan)


def plant(
    b: Parts,
    at: tuple[float, float, float],
    pot: RGB,
    rng: np.random.Generator,
    *,
    tall: bool = False,
) -> None:
    """Add a potted plant with pointed leaves."""
    rim = [(0.0, 0.0), (0.036, 0.0), (0.048, 0.075), (0.052, 0.078), (0.052, 0.092), (0.046, 0.092),
           (0.045, 0.080), (0.0, 0.080)]  # fmt: skip
    b.add(lathe(rim, 14, pot, Material.MATTE).transformed(at))
    b.add(disc(0.0455, 0.002, (at[0], at[1], at[2] + 0.081), (0.20, 0.15, 0.11), Material.MATTE, 12,
               (0, 0, 1)))  # fmt: skip
    vertices: list[npt.NDArray[np.float64]] = []
    faces: list[tuple[int, int, int]] = []
    tints: list[RGB] = []
    for k in range(46 if tall else 38):
        turn = 2.399963 * k  # the golden angle spreads leaves evenly
        lean = float(rng.uniform(0.10, 1.0))
        length = float(rng.uniform(0.07, 0.115)) * (1.5 if tall else 1.0)
        way = np.array([np.cos(turn), np.sin(turn)])
        out = np.array([way[0] * np.sin(lean), way[1] * np.sin(lean), np.cos(lean)])
        foot = np.array([*(0.018 * way), 0.078])
        side = np.array([-way[1], way[0], 0.0]) * length * 0.15
        droop = np.array([way[0] * 0.25, way[1] * 0.25, -0.22]) * length * lean
        half, tip = foot + 0.55 * length * out, foot + length * out + droop
        keel = half - 0.04 * length * np.array([0, 0, 1.0])
        first = len(vertices)
        vertices += [foot, half - side, keel, half + side, tip]
        faces += [(first, first + 1, first + 2), (first, first + 2, first + 3),
                  (first + 1, first + 4, first + 2), (first + 2, first + 4, first + 3)]  # fmt: skip
        tint = shade((0.30, 0.44, 0.20), float(rng.uniform(0.75, 1.25)))
        tints += [tint] * 4
    points = np.array(vertices) + np.array(at)
    points[:, 0] = np.minimum(points[:, 0], REVEAL - 0.07)  # leaves keep off pane and reveal
    points[:, 1] = np.clip(points[:, 1], at[1] - _SPREAD, at[1] + _SPREAD)
    b.add(Mesh.build(points, faces, tints, Material.MATTE, 50.0))


def jar(b: Parts, at: tuple[float, float, float], height: float, colour: RGB) -> None:
    """Add a ceramic jar with a wooden lid."""
    r = 0.36 * height + 0.004
    body = [(0.0, 0.0), (r - 0.004, 0.0), (r, 0.006), (r, height - 0.012), (r - 0.006, height),
            (0.0, height)]  # fmt: skip
    lid = [(0.0, height), (r - 0.003, height), (r - 0.003, height + 0.010), (0.008, height + 0.012),
           (0.010, height + 0.024), (0.0, height + 0.027)]  # fmt: skip
    b.add(lathe(body, 16, colour, Material.GLOSSY).transformed(at))
    b.add(lathe(lid, 16, _WOODEN, Material.MATTE).transformed(at))


def clock(b: Parts, at: tuple[float, float, float]) -> None:
    """Add a wall clock that faces the room."""
    x, y, z = at
    b.add(disc(0.125, 0.02, (x - 0.01, y, z), (0.93, 0.93, 0.91), Material.MATTE, 28))
    ring = torus(0.125, 0.010, IRON, Material.GLOSSY, segments=28)
    b.add(ring.transformed((x - 0.018, y, z), yaw=np.pi / 2))
    for hour in range(12):
        a = hour * np.pi / 6
        b.add(disc(0.006 if hour % 3 else 0.009, 0.002, (x - 0.0205, y + 0.1 * np.sin(a),
              z + 0.1 * np.cos(a)), IRON, Material.MATTE, 6))  # fmt: skip
    for angle, length, width in ((-0.95, 0.06, 0.007), (1.05, 0.088, 0.005)):
        tip = (x - 0.023, y + length * np.sin(angle), z + length * np.cos(angle))
        b.add(cylinder((x - 0.023, y, z), tip, width / 2, IRON, Material.MATTE, 5))


def _fill(b: Parts, look: Palette, y: Range) -> None:
    """Add plates, bowls and jars to an open shelf."""
    middle = 0.5 * (y[0] + y[1])
    low = UPPER_BOTTOM + 0.018
    shelf = 0.5 * (UPPER_BOTTOM + UPPER_TOP) + 0.009
    x = -0.17
    width = y[1] - y[0]
    r = min(0.105, 0.45 * width)
    for k in range(6):
        plate = [(0.0, 0.0), (0.6 * r, 0.0), (r, 0.012), (r, 0.015), (0.6 * r, 0.005), (0.0, 0.005)]
        b.add(lathe(plate, 20, WHITE if k % 2 else shade(look.pots, 1.1), Material.GLOSSY)
              .transformed((x, middle, low + 0.010 * k)))  # fmt: skip
    for k in range(3):
        s = 0.62 * r
        bowl = [(0.0, 0.0), (0.5 * s, 0.0), (0.85 * s, 0.02), (s, 0.05), (0.97 * s, 0.05),
                (0.8 * s, 0.022), (0.0, 0.008)]  # fmt: skip
        b.add(lathe(bowl, 18, shade(look.pots, 1.0 - 0.06 * k), Material.GLOSSY)
              .transformed((x, middle, low + 0.075 + 0.018 * k)))  # fmt: skip
    jar(b, (x - 0.02, middle + 0.22 * width, shelf), 0.15, look.pots)
    jar(b, (x - 0.03, middle - 0.20 * width, shelf), 0.11, shade(look.pots, 0.9))


def _notes(b: Parts, unit: Unit, rng: np.random.Generator) -> None:
    """Add a few notes under magnets to a fridge's upper door."""
    papers: tuple[RGB, ...] = ((0.92, 0.91, 0.86), (0.90, 0.86, 0.62), (0.74, 0.84, 0.88))
    magnets: tuple[RGB, ...] = ((0.20, 0.35, 0.55), (0.35, 0.50, 0.32), (0.25, 0.25, 0.27))
    x = FRIDGE_FRONT - 0.0012
    for k, (paper, magnet) in enumerate(zip(papers, magnets, strict=True)):
        y = unit.middle + 0.19 - 0.14 * k + float(rng.uniform(-0.02, 0.02))
        z = 1.42 + float(rng.uniform(-0.06, 0.08))
        wide, high = float(rng.uniform(0.035, 0.05)), float(rng.uniform(0.04, 0.07))
        b.front(x, (y - wide, y + wide), (z - high, z + high), paper, Material.MATTE)
        for line in range(3):
            level = z + 0.45 * high - 0.38 * high * line
            b.front(x - 0.0006, (y - 0.75 * wide, y + (0.7 - 0.25 * line) * wide),
                    (level - 0.0025, level + 0.0025), (0.55,) * 3, Material.MATTE)  # fmt: skip
        b.add(disc(0.011, 0.008, (x - 0.003, y, z + high - 0.012), magnet, Material.GLOSSY, 12))


def _picture(b: Parts, wall: float, plan: Layout) -> None:
    """Add a framed picture to a side wall."""
    inward = 1.0 if wall < 0 else -1.0
    for size, out, colour in (
        ((0.50, 0.40), 0.018, _WOODEN),
        ((0.45, 0.35), 0.020, (0.92, 0.91, 0.88)),
        ((0.27, 0.18), 0.021, (0.62, 0.68, 0.66)),
    ):
        low, high = sorted((wall, wall + inward * out))
        half_x, half_z = size[0] / 2, size[1] / 2
        b.box((-1.5 - half_x, low, 1.65 - half_z), (-1.5 + half_x, high, 1.65 + half_z), colour,
               Material.MATTE, skip="")  # fmt: skip
