"""A microwave oven with its door wide open and a hot bowl in it."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.primitives import (
    Colour,
    box,
    cylinder,
    disc,
    ellipsoid,
    lathe,
    rounded_box,
    torus,
)
from .parts import BLACK, STEEL, WHITE, Anchors, Builders, Place, generator

OVENS: tuple[tuple[Colour, Colour, Colour, Colour, float], ...] = (
    ((0.70, 0.71, 0.73), (0.09, 0.09, 0.10), (0.93, 0.93, 0.92), (0.80, 0.26, 0.06), -1.0),
    ((0.085, 0.085, 0.09), (0.13, 0.13, 0.14), (0.20, 0.42, 0.75), (0.88, 0.62, 0.20), -1.0),
    ((0.92, 0.92, 0.91), (0.16, 0.16, 0.17), (0.85, 0.25, 0.18), (0.93, 0.80, 0.42), 1.0),
)
"""Colour of the body, of the control panel, of the bowl, of the food; side of the hinge (y).

Most ovens open to the left of who stands before them: that is -y.
"""

_DEPTH, _WIDTH, _HEIGHT = 0.36, 0.48, 0.28
_FRONT = 0.15  # m: x of the body's front, before which the door closes
_FOOT = 0.012
_DOOR = 0.03
_INNER, _OUTER = -0.115, 0.215  # m: the cavity's sides, y on the hinge's side counted positive
_FLOOR, _CEILING = 0.040, 0.256
_BACK = -0.130
_BOWL_AT = (0.015, 0.050)


def microwave_open(variant: int) -> Mesh:
    """Return the oven; it faces +x, the door stands open by 90 degrees at the hinge's side."""
    body, panel, bowl, food, side = OVENS[variant]
    s = side
    gloss = Material.GLOSSY

    def block(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float],
              colour: Colour, material: Material = gloss) -> Mesh:  # fmt: skip
        size = (x[1] - x[0], abs(y[1] - y[0]), z[1] - z[0])
        middle = (0.5 * (x[0] + x[1]), s * 0.5 * (y[0] + y[1]), 0.5 * (z[0] + z[1]))
        return box(size, middle, colour, material)

    half = _WIDTH / 2
    deep = (-_DEPTH / 2, _FRONT)
    parts = [
        block(deep, (-half, half), (_CEILING, _HEIGHT), body),
        block(deep, (-half, half), (_FOOT, _FLOOR), body),
        block(deep, (_OUTER, half), (_FLOOR, _CEILING), body),
        block(deep, (-half, _INNER), (_FLOOR, _CEILING), body),
        block((-_DEPTH / 2, _BACK), (_INNER, _OUTER), (_FLOOR, _CEILING), body),
        block((_FRONT, _DEPTH / 2), (-half, _INNER - 0.003), (_FOOT, _HEIGHT), panel),
    ]
    # Its lamp lights the cavity: the walls shine, each in the shade that its turn would have.
    shine = Material.EMISSIVE
    parts += [
        block(
            (_BACK, _BACK + 0.001), (_INNER, _OUTER), (_FLOOR, _CEILING), (0.90, 0.79, 0.55), shine
        ),
        block(
            (_BACK, _FRONT), (_INNER, _INNER + 0.001), (_FLOOR, _CEILING), (0.78, 0.66, 0.43), shine
        ),
        block(
            (_BACK, _FRONT), (_OUTER - 0.001, _OUTER), (_FLOOR, _CEILING), (0.80, 0.68, 0.45), shine
        ),
        block(
            (_BACK, _FRONT), (_INNER, _OUTER), (_FLOOR, _FLOOR + 0.001), (0.62, 0.52, 0.35), shine
        ),
        block(
            (_BACK, _FRONT),
            (_INNER, _OUTER),
            (_CEILING - 0.001, _CEILING),
            (0.70, 0.60, 0.42),
            shine,
        ),
        block((-0.02, 0.06), (_OUTER - 0.004, _OUTER), (0.19, 0.235), (1.0, 0.95, 0.78), shine),
    ]
    # The front frame against which the door closes.
    lip = (_FRONT, _FRONT + 0.003)
    grey: Colour = (0.56, 0.57, 0.59)
    parts += [
        block(lip, (_INNER, _OUTER), (_CEILING, _CEILING + 0.010), grey),
        block(lip, (_INNER, _OUTER), (_FLOOR - 0.010, _FLOOR), grey),
        block(lip, (_OUTER, _OUTER + 0.010), (_FLOOR - 0.010, _CEILING + 0.010), grey),
    ]
    parts += _controls(s)
    for x in (-0.13, 0.10):
        for y in (-0.19, 0.19):
            parts.append(cylinder((x, y, 0), (x, y, _FOOT), 0.014, BLACK, segments=8))
    door = _door(body, s)
    parts.append(door.transformed((_FRONT, s * (half - _DOOR), 0)))
    x, y = _BOWL_AT
    plate = disc(
        0.135, 0.004, (x - 0.005, s * y, _FLOOR + 0.012), (0.72, 0.74, 0.70), gloss, 28, (0, 0, 1)
    )
    parts.append(plate)
    parts.append(_bowl(bowl, food, variant).transformed((x, s * y, _FLOOR + 0.014)))
    return Mesh.merge(parts)


def _controls(s: float) -> list[Mesh]:
    """Return the control panel's display and keys."""
    x, y = _DEPTH / 2, -s * 0.5 * (_WIDTH / 2 - _INNER)
    parts = [
        box((0.002, 0.088, 0.034), (x, y, 0.238), (0.02, 0.05, 0.03), Material.GLOSSY),
        lettering("0 00", 0.020, (0.30, 1.0, 0.55), Material.EMISSIVE).transformed(
            (x + 0.0015, y, 0.238)
        ),
    ]
    for row in range(4):
        for column in (-1, 0, 1):
            key = (x, y + 0.027 * column, 0.192 - 0.025 * row)
            parts.append(
                rounded_box((0.004, 0.021, 0.016), 0.0018, key, (0.60, 0.61, 0.63), segments=1)
            )
    parts.append(
        rounded_box((0.006, 0.080, 0.034), 0.0025, (x, y, 0.058), (0.40, 0.41, 0.43), segments=1)
    )
    return parts


def _door(colour: Colour, s: float) -> Mesh:
    """Return the open door along +x; y runs over its thickness, its inner face is at y = 0."""
    length = _OUTER - _INNER + 0.025 + 0.003
    low, high = _FOOT + 0.004, _HEIGHT
    middle = 0.5 * (low + high)
    tall = high - low
    t = s * _DOOR / 2
    frame = 0.045
    pale: Colour = (0.80, 0.80, 0.80) if sum(colour) > 1 else (0.30, 0.30, 0.31)
    dark: Colour = (0.05, 0.05, 0.055)
    parts = [
        rounded_box(
            (length, _DOOR, tall), 0.004, (length / 2, t, middle), colour, Material.GLOSSY, 1
        ),
        box(
            (length - 0.012, 0.004, tall - 0.012),
            (length / 2, -s * 0.001, middle),
            pale,
            Material.GLOSSY,
        ),
    ]
    window = (length - 2 * frame, 0.004, tall - 2 * frame * 0.85)
    for y in (-s * 0.003, s * (_DOOR + 0.001)):
        parts.append(box(window, (length / 2, y, middle), dark, Material.GLASS))
    for k in range(1, 10):  # the screen behind the pane
        x = frame + (length - 2 * frame) * k / 10
        parts.append(box((0.0022, 0.005, window[2]), (x, -s * 0.0035, middle), (0.22, 0.22, 0.23)))
    handle = cylinder(
        (length - 0.022, s * (_DOOR + 0.028), middle - 0.085),
        (length - 0.022, s * (_DOOR + 0.028), middle + 0.085), 0.0085, STEEL, Material.METAL, 10,
    )  # fmt: skip
    parts.append(handle)
    for z in (-0.07, 0.07):
        parts.append(
            cylinder((length - 0.022, s * _DOOR, middle + z), (length - 0.022, s * (_DOOR + 0.03),
                     middle + z), 0.006, STEEL, Material.METAL, 8)
        )  # fmt: skip
    return Mesh.merge(parts)


_BOWL_HEIGHT = 0.068


def _bowl(colour: Colour, food: Colour, variant: int) -> Mesh:
    random = generator("bowl", variant)
    h = _BOWL_HEIGHT
    shell = lathe(
        [(0, 0), (0.040, 0), (0.043, 0.006), (0.066, 0.028), (0.082, h), (0.078, h), (0.062, 0.030),
         (0, 0.010)],
        24, colour, Material.GLOSSY,
    )  # fmt: skip
    edge = torus(
        0.080, 0.0025, WHITE if colour != WHITE else STEEL, Material.GLOSSY, segments=24, sides=5
    )
    parts = [
        shell,
        edge.transformed((0, 0, h), roll=np.pi / 2),
        ellipsoid((0.072, 0.072, 0.022), (0, 0, h - 0.012), food, Material.GLOSSY, 16),
    ]
    for k in range(9):
        angle, away = 2.4 * k, 0.052 * np.sqrt((k + 0.5) / 9)
        shade = ((0.90, 0.12, 0.07), (0.25, 0.55, 0.15), (0.97, 0.86, 0.50))[k % 3]
        size = random.uniform(0.010, 0.015)
        at = (away * np.cos(angle), away * np.sin(angle), h + 0.006 - 3.2 * away**2)
        parts.append(ellipsoid((size, size, 0.008), at, shade, Material.GLOSSY, 7))
    return Mesh.merge(parts)


def _points(variant: int) -> dict[str, Place]:
    s = OVENS[variant][4]
    x, y = _BOWL_AT
    hinge = s * (_WIDTH / 2 - _DOOR)
    return {
        "bowl": (x, s * y, _FLOOR + 0.014 + _BOWL_HEIGHT + 0.010),
        "mouth": (_FRONT + 0.003, s * 0.5 * (_INNER + _OUTER), _FLOOR),
        "hinge": (_FRONT, hinge, 0.5 * _HEIGHT),
        "door_end": (_FRONT + _OUTER - _INNER + 0.028, hinge, 0.5 * _HEIGHT),
    }


BUILDERS: Builders = {"microwave_open": (len(OVENS), microwave_open)}
ANCHORS: Anchors = {"microwave_open": _points}
