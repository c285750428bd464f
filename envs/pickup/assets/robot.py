"""The arm: rounded shells over the solids of `arm.py`, dark joints, fingers with soft pads.

A link's mesh is in the link's frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, bands, capsule, lathe, rounded_box
from ..arm import Solid, arm

_FINISH: dict[str, tuple[Colour, Material]] = {
    "shell": ((0.86, 0.87, 0.88), Material.GLOSSY),
    "dark": ((0.13, 0.14, 0.155), Material.GLOSSY),
    "pad": ((0.03, 0.50, 0.52), Material.MATTE),
}
_SEAM: Colour = (0.30, 0.31, 0.33)
_ACCENT: Colour = (0.03, 0.50, 0.52)
_SEGMENTS = 26

# Swings local z to the axis of a solid.
_SWINGS = {"z": {}, "y": {"roll": -np.pi / 2}, "x": {"pitch": np.pi / 2}}


@cache
def link_mesh(name: str) -> Mesh:
    """Return the mesh of a link by its name in `arm`, one for the process."""
    return Mesh.merge([part for solid in arm().link(name).solids for part in _dressed(solid)])


def _dressed(solid: Solid) -> list[Mesh]:
    """Return a solid's parts in the link's frame."""
    colour, material = _FINISH[solid.finish]
    if solid.half_size is not None:
        size = 2.0 * np.asarray(solid.half_size)
        rounding = min(0.3 * float(size.min()), 0.012)
        return [rounded_box(size, rounding, solid.at, colour, material, 2)]
    parts = _capsule(solid) if solid.shape == "capsule" else _cylinder(solid)
    return [part.transformed(solid.at, **_SWINGS[solid.axis]) for part in parts]


def _capsule(solid: Solid) -> list[Mesh]:
    colour, material = _FINISH[solid.finish]
    r, h = solid.radius, solid.half_length
    body = capsule((0, 0, -h), (0, 0, h), r, None, colour, material, _SEGMENTS)
    seams = ((-0.60 * h, 0.0030), (0.78 * h, 0.0030))
    return [_banded(_banded(body, seams, _SEAM), ((0.68 * h, 0.0035),), _ACCENT)]


def _cylinder(solid: Solid) -> list[Mesh]:
    colour, material = _FINISH[solid.finish]
    r, h = solid.radius, solid.half_length
    body = lathe(_rounded(r, h), _SEGMENTS, colour, material, 50.0)
    if solid.finish == "dark":
        if h < 0.02:
            return [body]
        # The covers of a joint, screwed on.
        ends = [(0.0, -h - 0.002), (0.72 * r, -h - 0.002), (0.72 * r, h + 0.002), (0.0, h + 0.002)]
        return [body, lathe(ends, _SEGMENTS, _FINISH["shell"][0], material, 50.0)]
    if h < 0.04:
        return [body]
    return [_banded(_banded(body, ((0.84 * h, 0.0025),), _SEAM), ((0.74 * h, 0.003),), _ACCENT)]


def _banded(body: Mesh, places: Sequence[tuple[float, float]], colour: Colour) -> Mesh:
    """Return a round body with stripes round it, each of a height and half of a width, m."""
    return bands(body, 2, [(z - half, z + half) for z, half in places], colour)


def _rounded(radius: float, half: float) -> F64:
    """Return the profile of a cylinder with rounded edges."""
    edge = min(0.18 * radius, 0.8 * half, 0.012)
    arc = np.linspace(0.0, np.pi / 2, 4)
    top = np.stack([radius - edge + edge * np.cos(arc), half - edge + edge * np.sin(arc)], 1)
    return np.concatenate([[(0.0, -half)], (top * (1.0, -1.0))[::-1], top, [(0.0, half)]])
