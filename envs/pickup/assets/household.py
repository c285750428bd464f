"""The spoon and the sponge."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, loft, rounded_box
from .parts import STEEL, speckled, spots

_YELLOW: Colour = (0.97, 0.80, 0.20)
_PORE: Colour = (0.74, 0.54, 0.08)
_SCOUR: Colour = (0.07, 0.36, 0.16)
_HALF = np.array([0.035, 0.0175, 0.0525])
_SEAM = 0.0080  # y at which foam and scouring pad meet, m

_MIDDLE, _FOAM = 0.5 * (_SEAM - 0.0175), 0.5 * (_SEAM + 0.0175)  # of the foam along y: middle, half
_LIFT = 0.0003  # of pores over the skin, m

_RIM, _DEEP = 0.0024, -0.0058  # y of the bowl's rim and of its lowest point outside, m


# Of the handle, from its end: height, half width, y of its middle, half thickness; mm.
_SECTIONS = (
    (-83.8, 2.0, 0.2, 0.8), (-82.8, 4.2, 0.2, 1.4), (-80.0, 6.0, 0.3, 1.6), (-74.0, 6.8, 0.5, 1.5),
    (-60.0, 6.4, 1.2, 1.3), (-40.0, 5.4, 2.4, 1.3), (-15.0, 4.6, 3.6, 1.6), (5.0, 4.2, 4.2, 1.7),
    (18.0, 4.2, 4.0, 1.6), (28.0, 5.0, 2.6, 1.2), (36.0, 3.0, 1.0, 0.4),
)  # fmt: skip


def spoon() -> Mesh:
    """Return a steel spoon; its bowl is open to +y."""
    return Mesh.merge([_bowl(), _handle()])


def _outline(points: int = 40) -> F64:
    """Return the bowl's outline `points x 2` (x, z) about its middle: an egg, broad ahead."""
    angle = np.arange(points) * (2 * np.pi / points)
    x, z = 0.0190 * np.cos(angle), 0.0290 * np.sin(angle)
    return np.stack([x * (1.0 + 0.10 * np.sin(angle)), z], axis=1)


def _bowl() -> Mesh:
    edge = _outline()
    rings = []
    for share in (0.05, 0.2, 0.4, 0.6, 0.75, 0.88, 0.96, 1.0):
        rings.append(_ring(edge * share, _RIM + (_DEEP - _RIM) * (1.0 - share**2.6)))
    for share in (0.97, 0.93, 0.86, 0.74, 0.58, 0.4, 0.2, 0.05):
        inner = _DEEP + 0.0011
        rings.append(
            _ring(edge * share, _RIM + 0.0003 + (inner - _RIM) * (1.0 - (share / 0.97) ** 2.6))
        )
    return loft(rings, STEEL, Material.METAL, 50.0)


def _ring(flat: F64, y: float) -> F64:
    return np.stack([flat[:, 0], np.full(len(flat), y), flat[:, 1] + 0.054], axis=1)


def _handle() -> Mesh:
    """Return the handle: flat and broad at its end, narrow and arched at the bowl."""
    z, half, y, thick = 1e-3 * np.array(_SECTIONS).T
    angle = np.arange(14) * (2 * np.pi / 14)
    # Between an ellipse and a box: edges that catch the light.
    c, s = np.cos(angle), np.sin(angle)
    x_unit, y_unit = np.sign(c) * np.abs(c) ** 0.7, np.sign(s) * np.abs(s) ** 0.7
    rings = [
        np.stack([w * x_unit, at + t * y_unit, np.full(14, h)], axis=1)
        for w, at, t, h in zip(half, y, thick, z, strict=True)
    ]
    return loft(np.array(rings), STEEL, Material.METAL, 50.0)


def sponge() -> Mesh:
    """Return a kitchen sponge: yellow foam with pores, a green scouring pad on its +y side."""
    hx, hy, hz = _HALF
    foam = rounded_box(
        (2 * hx, _SEAM + hy, 2 * hz), 0.0030, (0, 0.5 * (_SEAM - hy), 0), _YELLOW, segments=3
    )
    pad = _pad()
    rng = np.random.default_rng(8)
    parts = [foam, pad]
    # Normal and the two axes of each side of foam, its half sizes, and how many pores it has.
    across = (0.0, 1.0, 0.0)
    for out, right, up, wide, tall, count in (
        ((0, -1, 0), (1, 0, 0), (0, 0, 1), hx, hz, 90),
        ((1, 0, 0), across, (0, 0, 1), _FOAM, hz, 36),
        ((-1, 0, 0), (0, -1, 0), (0, 0, 1), _FOAM, hz, 36),
        ((0, 0, -1), across, (1, 0, 0), _FOAM, hx, 26),
        ((0, 0, 1), (0, -1, 0), (1, 0, 0), _FOAM, hx, 26),
    ):
        sizes = rng.uniform(0.0007, 0.0026, count)
        middles = rng.uniform(-1.0, 1.0, (count, 2)) * (np.array([wide, tall]) - 0.0040)
        skin = np.array(out) * (_HALF + _LIFT) * np.abs(out)
        skin[1] += 0.0 if out[1] else _MIDDLE
        parts.append(spots(middles, sizes, skin, np.array([right, up]), _PORE))
    return Mesh.merge(parts)


def _pad() -> Mesh:
    """Return the scouring pad: rough, hence of many faces that differ."""
    hx, hy, hz = _HALF
    rough = rounded_box((2 * hx, hy - _SEAM, 2 * hz), 0.0020, (0, 0.5 * (hy + _SEAM), 0), _SCOUR)
    columns, rows = 26, 38
    u = np.linspace(-hx + 0.002, hx - 0.002, columns)
    w = np.linspace(-hz + 0.002, hz - 0.002, rows)
    x, z = (a.ravel() for a in np.meshgrid(u, w, indexing="ij"))
    bump = np.random.default_rng(3).uniform(-0.0001, 0.0006, len(x))
    v = np.stack([x, hy + bump, z], axis=1)
    i, j = (
        a.ravel() for a in np.meshgrid(np.arange(columns - 1), np.arange(rows - 1), indexing="ij")
    )
    a = i * rows + j
    faces = np.concatenate(
        [np.stack([a, a + 1, a + rows + 1], 1), np.stack([a, a + rows + 1, a + rows], 1)]
    )
    return Mesh.merge(
        [rough, speckled(Mesh.build(v, faces, _SCOUR, Material.MATTE, 60.0), 0.35, 5)]
    )
