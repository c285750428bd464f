"""Traffic light: a body of pole, mast arm and two heads; the lit lamps are meshes of their own.

The mesh faces +x and stands on the kerb; turned by pi towards the ego vehicle, its arm (towards
-y of the mesh) reaches over the ego lane from the right.
"""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    Colour,
    Point,
    box,
    capsule,
    cylinder,
    disc,
    ellipsoid,
    frustum,
    loft,
    rounded_box,
)

_POLE = (0.20, 0.22, 0.22)
_HOUSING = (0.035, 0.037, 0.04)
_WHITE = (0.94, 0.94, 0.94)
_DARK: tuple[Colour, ...] = ((0.20, 0.03, 0.03), (0.20, 0.13, 0.02), (0.02, 0.14, 0.06))
_PITCH = 0.42  # between lamp centres, m
_FRONT = 0.17  # front of the housing before the pole's middle, m
_LAMP = 0.17  # radius of a lamp, m: a large signal, for it has to be told at 25 m

ARM_LENGTH = 2.6
HEADS: tuple[tuple[float, float], ...] = ((-ARM_LENGTH, 4.0), (0.0, 2.86))
"""(y, z) of the middle lamp of each head, m."""


def lamp_places(colour: int) -> list[tuple[float, float, float]]:
    """Return the lamp centres of one colour (0 red, 1 amber, 2 green) in both heads, m."""
    return [(_FRONT, y, z + (1 - colour) * _PITCH) for y, z in HEADS]


def body(variant: int) -> Mesh:
    """Return the unlit light."""
    del variant
    parts = [
        cylinder((0, 0, 0), (0, 0, 0.12), 0.17, _POLE, Material.GLOSSY, 20),
        frustum((0, 0, 0.1), (0, 0, 4.9), 0.095, 0.07, _POLE, Material.GLOSSY, 16),
        ellipsoid((0.08, 0.08, 0.05), (0, 0, 4.9), _POLE, Material.GLOSSY, 12),
        capsule((0, 0, 4.68), (0, -ARM_LENGTH - 0.1, 4.78), 0.06, 0.045, _POLE, Material.GLOSSY),
        capsule((0, 0, 4.25), (0, -0.75, 4.70), 0.03, 0.03, _POLE, Material.GLOSSY),
        box((0.16, 0.13, 0.30), (0.12, 0, 1.15), (0.85, 0.70, 0.10), Material.GLOSSY),
        disc(0.04, 0.03, (0.21, 0, 1.18), (0.15, 0.15, 0.16)),
    ]
    for y, z in HEADS:
        parts += _head(y, z)
    y, z = HEADS[0]
    parts.append(cylinder((0, y, z + 0.65), (0, y, 4.8), 0.035, _POLE, Material.GLOSSY))
    y, z = HEADS[1]
    for dz in (-0.45, 0.45):
        parts.append(box((0.12, 0.06, 0.05), (0.03, y, z + dz), _POLE, Material.GLOSSY))
    return Mesh.merge(parts)


def _head(y: float, z: float) -> list[Mesh]:
    height = 3 * _PITCH + 0.06
    middle = _FRONT - 0.12
    parts = [
        rounded_box(
            (0.20, 0.42, height), 0.03, (_FRONT - 0.10, y, z), _HOUSING, Material.GLOSSY, 1
        ),
        # The backing board: black with a broad white border, to stand out from trees and houses.
        rounded_box((0.02, 0.86, height + 0.34), 0.009, (middle, y, z), _WHITE, Material.RETRO, 1),
        rounded_box((0.026, 0.70, height + 0.18), 0.009, (middle + 0.001, y, z), _HOUSING),
    ]
    for colour in range(3):
        centre = (_FRONT, y, z + (1 - colour) * _PITCH)
        parts.append(disc(_LAMP + 0.01, 0.02, centre, _HOUSING, Material.GLOSSY))
        parts.append(disc(_LAMP - 0.01, 0.03, centre, _DARK[colour], Material.GLOSSY))
        parts.append(_visor(centre))
    return parts


def _visor(centre: Point) -> Mesh:
    """Return a thin hood over the upper two thirds of a lamp."""
    angle = np.linspace(-0.45, np.pi + 0.45, 18)
    reach = 0.08 + 0.16 * np.clip(np.sin(angle) * 0.6 + 0.45, 0, 1)
    x, y, z = centre
    rings = []
    for a, depth in zip(angle, reach, strict=True):
        inner, outer = _LAMP + 0.008, _LAMP + 0.020
        rings.append(
            [
                (x + along, y + r * np.cos(a), z + r * np.sin(a))
                for r, along in ((inner, 0.0), (inner, depth), (outer, depth), (outer, 0.0))
            ]
        )
    return loft(rings, _HOUSING, Material.MATTE, 30.0)


def _lamps(colour: int, shade: Colour) -> Mesh:
    parts = []
    for x, y, z in lamp_places(colour):
        parts.append(
            ellipsoid((0.035, _LAMP, _LAMP), (x + 0.015, y, z), shade, Material.EMISSIVE, 20)
        )
    return Mesh.merge(parts)


def red(variant: int) -> Mesh:
    """Return the lit red lamps, at the body's lamp places."""
    del variant
    return _lamps(0, (1.0, 0.10, 0.06))


def green(variant: int) -> Mesh:
    """Return the lit green lamps, at the body's lamp places."""
    del variant
    return _lamps(2, (0.10, 1.0, 0.45))
