"""Drinking glasses and mugs, standing and tipped over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import Colour, bands, disc, lathe, sweep, torus
from .parts import COFFEE, GLASS_EDGE, WHITE, Anchors, Builders, Place, turned

GLASSES: tuple[tuple[float, float, float], ...] = (
    (0.130, 0.031, 0.039),
    (0.150, 0.030, 0.034),
    (0.110, 0.032, 0.042),
)
"""Height, radius of the foot, radius of the rim, m."""

_FOOT = 0.016  # m: the thick bottom by which a glass is known
_FLUTES = 10
_DARK: Colour = (0.26, 0.35, 0.39)  # what a thick edge of glass bends into view
_DEEP: Colour = (0.30, 0.70, 0.80)


def _glass(variant: int, shine: Sequence[float]) -> Mesh:
    """Return a standing tumbler; light shines up its wall at some angles round the axis."""
    height, low, high = GLASSES[variant]
    wall = [(low, 0.0), (low + (high - low) * 0.5, height * 0.5), (high, height)]
    parts = [
        turned(wall, 24),
        disc(low - 0.002, 0.001, (0, 0, _FOOT), _DEEP, Material.CLEAR, 20, (0, 0, 1)),
        disc(low - 0.002, 0.001, (0, 0, 0.003), _DEEP, Material.CLEAR, 20, (0, 0, 1)),
        _ring(high, height, 0.0027, GLASS_EDGE),
        _ring(high - 0.0004, height - 0.0060, 0.0016, _DARK),
        _ring(low - 0.001, 0.0026, 0.0032, (0.66, 0.80, 0.85)),
        _ring(low - 0.0015, _FOOT, 0.0021, _DARK),
        _ring(low - 0.0005, _FOOT + 0.0036, 0.0013, GLASS_EDGE),
    ]
    # Lamps and windows show as bright strips along a glass.
    parts += [_strip(wall, angle, 0.0036 - 0.0014 * (k % 2)) for k, angle in enumerate(shine)]
    # Flutes about its lower part, each with a lit and a shaded side.
    for k in range(_FLUTES):
        angle = 2 * np.pi * k / _FLUTES + 0.1
        parts.append(_strip(wall, angle, 0.0013, (0.14, 0.40), _DARK))
        parts.append(_strip(wall, angle + 0.05, 0.0013, (0.14, 0.38), (0.93, 0.97, 0.98)))
    return Mesh.merge(parts)


def _strip(
    wall: list[tuple[float, float]],
    angle: float,
    width: float,
    span: tuple[float, float] = (0.42, 0.84),
    colour: Colour = (0.97, 0.99, 1.0),
) -> Mesh:
    """Return a strip up the outside of a wall, over a span of shares of its height."""
    (low, bottom), (high, top) = wall[0], wall[-1]
    out, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    corners = []
    for share in span:
        radius = low + (high - low) * share + 0.0006
        for s in (-0.5, 0.5):
            corners.append([*(out * radius + along * s * width), bottom + (top - bottom) * share])
    return Mesh.build(corners, [(0, 1, 3), (0, 3, 2)], colour, Material.GLOSSY, 0.0)


def _ring(radius: float, z: float, thickness: float, colour: Colour) -> Mesh:
    ring = torus(radius, thickness, colour, Material.GLOSSY, segments=20, sides=4)
    return ring.transformed((0, 0, z), roll=np.pi / 2)


def glass_upright(variant: int) -> Mesh:
    """Return an empty tumbler of clear glass."""
    return _glass(variant, (0.80, -0.95, 2.3, -2.45))


def _lean(variant: int) -> float:
    """Return by how much a tipped glass points downwards, for its wall to lie flat, radians."""
    height, low, high = GLASSES[variant]
    return float(np.arctan2(high - low, height))


def glass_tipped(variant: int) -> Mesh:
    """Return a tumbler on its side; it opens towards +x."""
    height = GLASSES[variant][0]
    pitch = np.pi / 2 - _lean(variant)
    mesh = (
        _glass(variant, (2.2, -2.7, 2.75, -2.2))
        .transformed((0, 0, -height / 2))
        .transformed(pitch=pitch)
    )
    return mesh.transformed((0, 0, -float(mesh.vertices[:, 2].min())))


def _mouth(variant: int) -> dict[str, Place]:
    lip = glass_tipped(variant).vertices
    lip = lip[lip[:, 2] < 0.004]
    return {"mouth": (float(lip[:, 0].max()), 0.0, 0.002)}


MUGS: tuple[tuple[Colour, Colour | None], ...] = (
    (WHITE, None),
    ((0.72, 0.09, 0.08), None),
    ((0.92, 0.90, 0.84), (0.10, 0.26, 0.55)),
)
"""Colour, colour of a band."""

_MUG_HEIGHT, _MUG_RADIUS, _COFFEE_LEVEL = 0.098, 0.042, 0.088


def _mug(colour: Colour, band: Colour | None, inside: Colour) -> Mesh:
    h, r = _MUG_HEIGHT, _MUG_RADIUS
    shell = lathe(
        [(0, 0), (r - 0.006, 0), (r, 0.008), (r, h - 0.002), (r - 0.002, h), (r - 0.005, h - 0.002),
         (r - 0.005, 0.008), (0, 0.008)],
        24, colour, Material.GLOSSY,
    )  # fmt: skip
    if band is not None:
        shell = bands(shell, 2, [(0.026, 0.060)], band)
    middle = shell.vertices[shell.faces].mean(axis=1)
    within = (np.hypot(middle[:, 0], middle[:, 1]) < r - 0.004) & (middle[:, 2] > 0.004)
    within &= middle[:, 2] < h - 0.004
    colours = shell.colours.copy()
    colours[within] = inside
    shell = Mesh(shell.vertices, shell.faces, colours, shell.materials, shell.normals)
    turn = np.linspace(np.radians(-100), np.radians(100), 11)
    loop = np.stack(
        [
            0 * turn,
            r - 0.002 + 0.030 * np.cos(turn),
            0.050 + 0.030 * np.sin(turn),
        ],
        1,
    )
    handle = sweep(loop, 0.0058, colour, Material.GLOSSY, sides=8)
    return Mesh.merge([shell, handle])


def mug(variant: int) -> Mesh:
    """Return a mug of coffee; its handle is at +y."""
    colour, band = MUGS[variant]
    coffee = disc(
        _MUG_RADIUS - 0.0055, 0.002, (0, 0, _COFFEE_LEVEL - 0.001), COFFEE, Material.GLOSSY, 24,
        (0, 0, 1),
    )  # fmt: skip
    return Mesh.merge([_mug(colour, band, colour), coffee])


def mug_tipped(variant: int) -> Mesh:
    """Return an emptied mug on its side; it opens towards +x, its handle is at +y."""
    colour, band = MUGS[variant]
    mesh = _mug(colour, band, (0.30, 0.16, 0.08))
    return mesh.transformed((-_MUG_HEIGHT / 2, 0, _MUG_RADIUS), pitch=np.pi / 2)


BUILDERS: Builders = {
    "glass_upright": (len(GLASSES), glass_upright),
    "glass_tipped": (len(GLASSES), glass_tipped),
    "mug": (len(MUGS), mug),
    "mug_tipped": (2, mug_tipped),
}
ANCHORS: Anchors = {
    "glass_tipped": _mouth,
    "mug": lambda _: {"top": (0.0, 0.0, _COFFEE_LEVEL)},
    "mug_tipped": lambda _: {"mouth": (_MUG_HEIGHT / 2, 0.0, 0.003)},
}
