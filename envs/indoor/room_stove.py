"""The gas cooktop, the oven below it and the hood above it."""

from __future__ import annotations

import numpy as np

from ...rendering.mesh import Material
from ...rendering.shapes.builder import shade
from ...rendering.shapes.primitives import cylinder, lathe, rounded_box
from .layout import (
    BURNERS,
    CABINET_FRONT,
    CEILING,
    COUNTER_THICKNESS,
    COUNTER_TOP,
    GRATE_TOP,
    PLINTH_HEIGHT,
    Unit,
)
from .room_fronts import front
from .room_palettes import IRON, STEEL, Palette
from .room_parts import Parts, Range

HOOD_BOTTOM = 1.56
BURNER_TOP = 0.926
"""Height of the burners' caps, round which the flames stand, m."""

_PLATE_X: Range = (-0.565, -0.075)
_PLATE_HALF = 0.285
_PLATE_TOP = COUNTER_TOP + 0.008
_GRATE_HALF = 0.118
_BAR = 0.009


def cooktop(b: Parts, look: Palette, middle: float) -> None:
    """Add the plate, four burners and their grates on the worktop."""
    x0, x1 = _PLATE_X
    size = (x1 - x0, 2 * _PLATE_HALF, 0.010)
    centre = (0.5 * (x0 + x1), middle, COUNTER_TOP + 0.003)
    finish = Material.METAL if look.hob == STEEL else Material.GLOSSY
    b.add(rounded_box(size, 0.004, centre, look.hob, finish, 2))
    for index, (x, y) in enumerate(BURNERS):
        _burner(b, x, middle + y, (0.045, 0.036, 0.040, 0.032)[index])
        _grate(b, x, middle + y)


def _burner(b: Parts, x: float, y: float, radius: float) -> None:
    z = _PLATE_TOP
    bowl = [(0.0, 0.0), (radius + 0.022, 0.0), (radius + 0.018, 0.003), (0.0, 0.003)]
    crown = [(0.0, 0.002), (radius, 0.002), (radius, 0.010), (radius - 0.004, 0.011), (0.0, 0.011)]
    cap_radius = radius - 0.003
    cap = [(0.0, 0.011), (cap_radius, 0.011), (cap_radius, 0.015), (cap_radius - 0.004, 0.018),
           (0.0, BURNER_TOP - z)]  # fmt: skip
    for profile, colour, finish in (
        (bowl, (0.13, 0.13, 0.13), Material.GLOSSY),
        (crown, (0.52, 0.51, 0.49), Material.METAL),
        (cap, (0.06, 0.06, 0.062), Material.MATTE),
    ):
        b.add(lathe(profile, 18, colour, finish, 30.0).transformed((x, y, z)))


def _grate(b: Parts, x: float, y: float) -> None:
    """Add the cast-iron grate over one burner: a square frame with four fingers."""
    h, w, top = _GRATE_HALF, _BAR, GRATE_TOP
    low = top - 0.010
    for s in (-1, 1):
        b.box((x - h, y + s * h - w / 2, low), (x + h, y + s * h + w / 2, top), IRON,
              Material.MATTE, skip="")  # fmt: skip
        b.box((x + s * h - w / 2, y - h, low), (x + s * h + w / 2, y + h, top), IRON,
              Material.MATTE, skip="")  # fmt: skip
        near, far = sorted((s * 0.026, s * h))
        b.box((x + near, y - w / 2, low), (x + far, y + w / 2, top), IRON, Material.MATTE, skip="")
        b.box((x - w / 2, y + near, low), (x + w / 2, y + far, top), IRON, Material.MATTE, skip="")
        for t in (-1, 1):
            foot = (x + s * (h - w / 2), y + t * (h - w / 2))
            b.box((foot[0] - w / 2, foot[1] - w / 2, _PLATE_TOP - 0.002),
                  (foot[0] + w / 2, foot[1] + w / 2, low), IRON, Material.MATTE)  # fmt: skip


def oven(b: Parts, look: Palette, unit: Unit) -> None:
    """Add the built-in oven: knobs, a glazed door with a handle, a drawer at the bottom."""
    y = (unit.right + 0.003, unit.left - 0.003)
    top = COUNTER_TOP - COUNTER_THICKNESS - 0.004
    panel = top - 0.115
    bottom = panel - 0.475
    x = CABINET_FRONT
    metal = Material.METAL
    dark = look.oven != STEEL
    finish = Material.GLOSSY if dark else metal
    b.add(
        rounded_box(
            (0.03, y[1] - y[0], top - panel - 0.003),
            0.003, (x + 0.015, unit.middle, 0.5 * (top + panel)), look.oven, finish, 1,
        )
    )  # fmt: skip
    height = 0.5 * (top + panel)
    knob = shade(STEEL, 0.95) if not dark else STEEL
    for offset in (-0.23, -0.165, 0.165, 0.23):
        _knob(b, x, unit.middle + offset, height, knob)
    b.front(x - 0.0015, (unit.middle - 0.07, unit.middle + 0.07), (height - 0.02, height + 0.02),
            (0.03, 0.03, 0.035), Material.GLASS)  # fmt: skip
    b.add(
        rounded_box(
            (0.03, y[1] - y[0], panel - bottom - 0.003), 0.003,
            (x + 0.015, unit.middle, 0.5 * (panel + bottom)), look.oven, finish, 1,
        )
    )  # fmt: skip
    pane_y, pane_z = (y[0] + 0.055, y[1] - 0.055), (bottom + 0.06, panel - 0.105)
    glass_y, glass_z = (y[0] + 0.012, y[1] - 0.012), (bottom + 0.012, panel - 0.07)
    b.front(x - 0.001, glass_y, glass_z, (0.035, 0.035, 0.038), Material.GLASS)
    b.rim((x - 0.0016, pane_y, pane_z), (x - 0.0016, (pane_y[0] + 0.004, pane_y[1] - 0.004),
          (pane_z[0] + 0.004, pane_z[1] - 0.004)), (0.10, 0.10, 0.105), Material.MATTE)  # fmt: skip
    grip = panel - 0.038
    reach = x - 0.042
    ends = (y[0] + 0.05, y[1] - 0.05)
    b.add(cylinder((reach, ends[0] - 0.02, grip), (reach, ends[1] + 0.02, grip), 0.010,
                   shade(STEEL, 1.08), metal, 10))  # fmt: skip
    for end in ends:
        b.tube((x, end, grip), (reach, end, grip), 0.008, STEEL, metal, 8)
    front(b, look, x, (unit.right, unit.left), (PLINTH_HEIGHT + 0.005, bottom), "none")


def _knob(b: Parts, x: float, y: float, z: float, colour: tuple[float, float, float]) -> None:
    b.add(
        cylinder(
            (x + 0.001, y, z), (x - 0.004, y, z), 0.023, shade(colour, 0.6), Material.METAL, 16
        )
    )
    b.add(cylinder((x, y, z), (x - 0.024, y, z), 0.018, colour, Material.METAL, 16))
    b.box(
        (x - 0.0265, y - 0.002, z - 0.002), (x - 0.023, y + 0.002, z + 0.017), IRON, Material.MATTE
    )


def hood(b: Parts, look: Palette, unit: Unit) -> None:
    """Add the extractor hood with its chimney up to the ceiling."""
    finish = Material.METAL if look.oven == STEEL else Material.GLOSSY
    half, depth = 0.5 * (unit.left - unit.right) - 0.002, 0.48
    lip, top = HOOD_BOTTOM + 0.055, HOOD_BOTTOM + 0.24
    half_top, depth_top = 0.14, 0.26
    y = unit.middle

    def ring(h: float, d: float, z: float) -> list[tuple[float, float, float]]:
        return [(0.0, y - h, z), (0.0, y + h, z), (-d, y + h, z), (-d, y - h, z)]

    steps = np.linspace(0.0, 1.0, 5)
    sweep_in = [
        ring(half + (half_top - half) * t, depth + (depth_top - depth) * t, lip + (top - lip) * t)
        for t in steps
    ]
    rings = [ring(half, depth, HOOD_BOTTOM), *sweep_in]
    b.skin(rings, look.oven, finish, 20.0)
    flue = [ring(half_top, depth_top, top), ring(half_top, depth_top, CEILING)]
    b.skin(flue, look.oven, finish, 20.0)
    # The filters lie a little above the lip; the lamps beside them are off.
    inner = (y - half + 0.02, y + half - 0.02)
    up = HOOD_BOTTOM + 0.012
    b.sheet((0, 0, HOOD_BOTTOM), (0, 1, 0), (1, 0, 0),
            [(y - half, y - half + 0.02, -depth, 0), (y + half - 0.02, y + half, -depth, 0),
             (*inner, -depth, -depth + 0.02), (*inner, -0.02, 0)], look.oven, finish)  # fmt: skip
    b.sheet((0, 0, up), (0, 1, 0), (1, 0, 0), [(*inner, -depth + 0.02, -0.02)],
            (0.32, 0.32, 0.32), Material.METAL)  # fmt: skip
    for s in (-1, 1):
        at = (-depth + 0.07, y + s * 0.19)
        b.add(cylinder((*at, up + 0.001), (*at, up - 0.004), 0.03,
                       (0.85, 0.84, 0.80), Material.GLOSSY, 14))  # fmt: skip
    b.front(-depth - 0.001, (y - 0.06, y + 0.06), (HOOD_BOTTOM + 0.017, HOOD_BOTTOM + 0.037),
            (0.10, 0.10, 0.11), Material.GLOSSY)  # fmt: skip
