"""Kitchen knives, their block, and scissors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    Colour,
    bands,
    cylinder,
    disc,
    extrude,
    rounded_box,
    signed_volume,
    sweep,
)
from .parts import BLACK, STEEL, Anchors, Builders, Place, lying

STEEL_DENSITY, HANDLE_DENSITY = 7800.0, 1400.0  # kg/m^3; riveted plastic scales

KNIVES: tuple[tuple[float, float, Colour], ...] = (
    (0.22, 0.054, (0.07, 0.065, 0.065)),
    (0.205, 0.052, (0.15, 0.07, 0.035)),
)
"""Length and depth of the blade, m; colour of the handle."""

_HANDLE = 0.145
_POINT = 0.036  # m: how far the point lies below the back
_FLANK: Colour = (0.30, 0.31, 0.33)  # the narrow sides of a blade, seen against the light
_DARK_STEEL: Colour = (0.24, 0.25, 0.27)
_SCALE, _TANG, _PLATE = 0.0075, 0.003, 0.0022  # m: thickness of a scale, the tang, the blade
_LEVEL = _SCALE + _TANG / 2  # height of the blade's middle plane


@cache
def _knife_parts(variant: int) -> tuple[tuple[Mesh, float], ...]:
    """Return the knife's parts and their densities; its heel is at x = 0."""
    length, depth, colour = KNIVES[variant]
    back = depth * 0.42
    edge = back - depth
    outline = [
        (-0.014, back - 0.012),
        (-0.010, back),
        (0.55 * length, back),
        (0.72 * length, back - 0.006),
        (0.86 * length, back - 0.016),
        (length, back - _POINT),
        (0.93 * length, edge + 0.0105),
        (0.80 * length, edge + 0.005),
        (0.62 * length, edge + 0.001),
        (0.50 * length, edge),
        (0.0, edge),
        (0.0, back - 0.024),
        (-0.014, back - 0.024),
    ]
    grip = [(-0.012, back - 0.001), (-0.06, back + 0.000), (-_HANDLE + 0.012, back + 0.001),
            (-_HANDLE, back - 0.006), (-_HANDLE, back - 0.026), (-_HANDLE + 0.010, back - 0.031),
            (-0.095, back - 0.025), (-0.045, back - 0.029), (-0.016, back - 0.026)]  # fmt: skip
    parts = [
        (lying(extrude(outline, _PLATE, STEEL, Material.METAL)).transformed((0, 0, _LEVEL)),
         STEEL_DENSITY),
        (lying(extrude(grip, _TANG, STEEL, Material.METAL)).transformed((0, 0, _LEVEL)),
         STEEL_DENSITY),
    ]  # fmt: skip
    for z in (_SCALE / 2, 1.5 * _SCALE + _TANG):
        scale = lying(extrude(grip, _SCALE, colour, Material.GLOSSY, inset=0.0015))
        parts.append((scale.transformed((0, 0, z)), HANDLE_DENSITY))
    top = 2 * _SCALE + _TANG
    for x in (-0.032, -0.073, -0.114):
        rivet = disc(0.0042, 0.001, (x, back - 0.0135, top), STEEL, Material.METAL, 10, (0, 0, 1))
        parts.append((rivet, STEEL_DENSITY))
    return tuple(parts)


def centre_of_mass(parts: Sequence[tuple[Mesh, float]]) -> Place:
    """Return the centre of mass of closed meshes with their densities (kg/m^3), m."""
    total, moment = 0.0, np.zeros(3)
    for mesh, density in parts:
        corners = mesh.vertices.astype(np.float64)[mesh.faces]
        volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
        moment += density * (volumes[:, None] * corners.sum(axis=1) / 4).sum(axis=0)
        total += density * signed_volume(mesh.vertices, mesh.faces)
    x, y, z = moment / total
    return float(x), float(y), float(z)


def chef_knife(variant: int) -> Mesh:
    """Return a chef's knife lying flat along +x, its origin under its centre of mass."""
    parts = _knife_parts(variant)
    x, y, _ = centre_of_mass(parts)
    _, depth, _ = KNIVES[variant]
    back = depth * 0.42
    blade = bands(parts[0][0], 1, [(back - 0.0065, back + 0.001)], _FLANK)
    blade = bands(blade, 1, [(back - depth - 0.001, back - depth + 0.009)], (0.95, 0.96, 0.97))
    meshes = [_flanked(blade), *(mesh for mesh, _ in parts[1:])]
    return Mesh.merge(meshes).transformed((-x, -y, 0))


def _flanked(mesh: Mesh, colour: Colour = _FLANK) -> Mesh:
    """Return a flat thing whose narrow sides are dark: its outline shows on pale stone."""
    colours = mesh.colours.copy()
    colours[np.abs(mesh.normals[:, :, 2]).mean(axis=1) < 0.5] = colour
    return Mesh(mesh.vertices, mesh.faces, colours, mesh.materials, mesh.normals)


def _knife_points(variant: int) -> dict[str, Place]:
    length, depth, _ = KNIVES[variant]
    x, y, _ = centre_of_mass(_knife_parts(variant))
    back = depth * 0.42 - y
    return {
        "tip": (length - x, back - _POINT, _LEVEL),
        "heel": (-x, back - depth, _LEVEL),
        "handle_end": (-_HANDLE - x, back - 0.016, _LEVEL),
    }


BLOCKS: tuple[tuple[Colour, Colour], ...] = (
    ((0.72, 0.50, 0.28), (0.06, 0.06, 0.065)),
    ((0.36, 0.20, 0.11), (0.10, 0.10, 0.11)),
    ((0.82, 0.66, 0.44), (0.52, 0.08, 0.07)),
)
"""Colour of the wood, of the handles."""


_TILT = np.radians(32)  # of the block's slots from the vertical, towards +x


def knife_block(variant: int) -> Mesh:
    """Return a slanted block of wood with five knives in it; their handles lean to +x."""
    wood, grip = BLOCKS[variant]
    along = np.array([np.sin(_TILT), np.cos(_TILT)])
    across = np.array([-along[1], along[0]])
    foot = np.array([0.030, 0.0])
    front = foot + 0.115 * along
    top = front + 0.115 * across
    # The back goes down beside the slots and then stands upright on the counter.
    outline = [(-0.085, 0.0), tuple(foot), tuple(front), tuple(top), (-0.085, 0.055)]
    parts = [extrude(outline, 0.125, wood, Material.WOOD, inset=0.003)]
    places = (
        (0.092, 0.030, 1.18), (0.092, -0.030, 1.05), (0.058, 0.030, 0.95), (0.058, -0.030, 0.95),
        (0.024, 0.0, 0.82),
    )  # fmt: skip
    for share, y, size in places:
        at = front + share * across
        parts.append(_stored(grip, size).transformed((float(at[0]), y, float(at[1])), pitch=_TILT))
    return Mesh.merge(parts)


def _stored(colour: Colour, size: float) -> Mesh:
    """Return the part of a knife that shows above its slot; z is along it."""
    length = 0.105 * size
    slot = rounded_box((0.034 * size, 0.006, 0.002), 0.0009, (0, 0, 0.0005), BLACK, segments=1)
    bolster = rounded_box(
        (0.022 * size, 0.015, 0.020), 0.003, (0, 0, 0.008), STEEL, Material.METAL, 1
    )
    profile = [(-0.010, 0.0), (-0.012, 0.35), (-0.010, 0.6), (-0.015, 0.97), (-0.008, 1.0),
               (0.009, 1.0), (0.011, 0.9), (0.011, 0.0)]  # fmt: skip
    outline = [(x * size, 0.016 + z * length) for x, z in profile]
    handle = extrude(outline, 0.018, colour, Material.GLOSSY, inset=0.003)
    parts = [slot, bolster, handle]
    for share in (0.22, 0.5, 0.78):
        z = 0.016 + share * length
        parts.append(cylinder((0, -0.0097, z), (0, 0.0097, z), 0.0032, STEEL, Material.METAL, 8))
    return Mesh.merge(parts)


SCISSORS: tuple[tuple[Colour, float], ...] = (
    ((0.86, 0.10, 0.07), 60.0),
    ((0.98, 0.45, 0.04), 64.0),
)
"""Colour of the handles, angle between the blades, degrees."""


def scissors_open(variant: int) -> Mesh:
    """Return scissors that lie open, blades towards +x."""
    colour, degrees = SCISSORS[variant]
    half = np.radians(degrees) / 2
    parts = []
    for side, z in ((1.0, 0.0075), (-1.0, 0.0105)):
        parts.append(_half(colour, side).transformed((0, 0, z), yaw=side * half))
    parts.append(
        disc(0.0065, 0.004, (0, 0, 0.0135), (0.60, 0.61, 0.63), Material.METAL, 14, (0, 0, 1))
    )
    mesh = Mesh.merge(parts)
    low, high = mesh.bounds
    return mesh.transformed((-0.5 * float(low[0] + high[0]), 0, -float(low[2])))


def _half(colour: Colour, side: float) -> Mesh:
    """Return one blade, along +x, and its ring, which bows out to `-side`."""
    s = side
    blade = [
        (-0.030, -0.004 * s),
        (-0.030, 0.007 * s),
        (0.0, 0.013 * s),
        (0.02, 0.015 * s),
        (0.100, 0.008 * s),
        (0.158, 0.000 * s),
        (0.162, -0.003 * s),
        (0.02, -0.009 * s),
        (0.0, -0.009 * s),
    ]
    steel = lying(extrude(blade, 0.0030, STEEL, Material.METAL))
    # The ground edge is bright, the back dark: so it shows on pale and on dark stone.
    low, high = sorted((0.0075 * s, 0.0170 * s))
    steel = _flanked(bands(steel, 1, [(low, high)], _DARK_STEEL), _DARK_STEEL)
    spine = sweep([(0.018, 0.0125 * s, 0.0018), (0.10, 0.0062 * s, 0.0018), (0.156, 0.0, 0.0016)],
                  [0.0022, 0.0020, 0.0010], _DARK_STEEL, Material.METAL, sides=5)  # fmt: skip
    turn = np.linspace(0, 2 * np.pi, 22, endpoint=False)
    middle = np.array([-0.098, -0.012 * s])
    ring = np.stack(
        [middle[0] + 0.034 * np.cos(turn), middle[1] + 0.023 * np.sin(turn), 0 * turn], 1
    )
    loop = sweep(ring, 0.0062, colour, Material.GLOSSY, sides=8, closed=True)
    arm = [
        (-0.012, 0.0, 0.0),
        (-0.035, 0.0, 0.0),
        (-0.056, -0.004 * s, 0.0),
        (-0.070, -0.010 * s, 0),
    ]
    shank = sweep(arm, [0.006, 0.0075, 0.0078, 0.007], colour, Material.GLOSSY, sides=8)
    return Mesh.merge([steel, spine, loop, shank.transformed(scale=(1, 1, 0.8))])


BUILDERS: Builders = {
    "chef_knife": (len(KNIVES), chef_knife),
    "knife_block": (len(BLOCKS), knife_block),
    "scissors_open": (len(SCISSORS), scissors_open),
}
ANCHORS: Anchors = {"chef_knife": _knife_points}
