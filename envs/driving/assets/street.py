"""Street furniture: cones, bins, bus stops."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.primitives import (
    Colour,
    bands,
    box,
    cylinder,
    disc,
    extrude,
    lathe,
    rounded_box,
    torus,
)

_ORANGE = (0.96, 0.33, 0.05)
_WHITE = (0.95, 0.95, 0.95)
_BLACK = (0.06, 0.06, 0.065)

CONES: tuple[float, ...] = (0.75, 0.90, 0.60)
"""Heights, m."""


def cone(variant: int) -> Mesh:
    """Return a traffic cone: orange, two white bands, black base."""
    h = CONES[variant]
    base = rounded_box((0.56 * h, 0.56 * h, 0.05 * h), 0.02 * h, (0, 0, 0.025 * h), _BLACK)
    body = lathe(
        [(0, 0.04 * h), (0.215 * h, 0.04 * h), (0.195 * h, 0.07 * h), (0.04 * h, 0.97 * h),
         (0.03 * h, h), (0, h)],
        24, _ORANGE, Material.GLOSSY,
    )  # fmt: skip
    stripes = [(0.34 * h, 0.52 * h), (0.66 * h, 0.82 * h)]
    return Mesh.merge([base, bands(body, 2, stripes, _WHITE, Material.RETRO)])


BINS: tuple[Colour, ...] = (
    (0.10, 0.36, 0.17), (0.10, 0.26, 0.58), (0.30, 0.31, 0.33), (0.13, 0.15, 0.14),
)  # fmt: skip


def garbage_bin(variant: int) -> Mesh:
    """Return a wheelie bin, 1.1 m; the last variant is a round street bin."""
    colour = BINS[variant]
    if variant == len(BINS) - 1:
        return _street_bin(colour)
    return _wheelie_bin(colour)


def _wheelie_bin(colour: Colour) -> Mesh:
    dark: Colour = (colour[0] * 0.6, colour[1] * 0.6, colour[2] * 0.6)
    light: Colour = (colour[0] * 1.15, colour[1] * 1.15, colour[2] * 1.15)
    side = [(-0.22, 0.06), (0.24, 0.03), (0.33, 0.93), (-0.30, 0.93)]
    body = extrude(side, 0.54, colour, Material.GLOSSY, inset=0.03)
    rim = rounded_box((0.68, 0.60, 0.06), 0.02, (0.015, 0, 0.93), dark, Material.GLOSSY)
    lid = extrude(
        [(-0.33, 0.96), (0.37, 0.96), (0.35, 1.01), (0.05, 1.075), (-0.25, 1.075), (-0.33, 1.03)],
        0.59, light, Material.GLOSSY, inset=0.025,
    )  # fmt: skip
    handle = cylinder((-0.37, -0.22, 0.99), (-0.37, 0.22, 0.99), 0.018, dark)
    parts = [body, rim, lid, handle]
    for s in (1.0, -1.0):
        parts.append(box((0.10, 0.03, 0.05), (-0.33, s * 0.22, 0.98), dark))
        parts.append(disc(0.10, 0.05, (-0.25, s * 0.285, 0.10), _BLACK, axis=(0, 1, 0)))
        parts.append(
            disc(0.05, 0.056, (-0.25, s * 0.285, 0.10), (0.45, 0.45, 0.46), axis=(0, 1, 0))
        )
        front = [(0.262, 0.25), (0.31, 0.82), (0.325, 0.82), (0.277, 0.25)]
        rib = extrude(front, 0.03, dark, Material.GLOSSY)
        parts.append(rib.transformed((0, s * 0.15, 0)))
    label = box((0.012, 0.17, 0.13), (0, 0, 0), _WHITE).transformed((0.299, 0, 0.66), pitch=-0.1)
    parts.append(label)
    return Mesh.merge(parts)


def _street_bin(colour: Colour) -> Mesh:
    body = lathe(
        [(0, 0.0), (0.25, 0.0), (0.26, 0.06), (0.24, 0.08), (0.25, 0.72), (0.27, 0.74),
         (0.27, 0.79), (0, 0.79)],
        28, colour, Material.GLOSSY,
    )  # fmt: skip
    opening = lathe([(0, 0.78), (0.20, 0.78), (0.20, 0.93), (0, 0.93)], 28, (0.02, 0.02, 0.02))
    hood = lathe(
        [(0, 0.93), (0.27, 0.93), (0.27, 0.97), (0.20, 1.06), (0.07, 1.10), (0, 1.10)], 28,
        colour, Material.GLOSSY,
    )  # fmt: skip
    gold = (0.80, 0.64, 0.22)
    rings = [
        torus(0.262, 0.014, gold, Material.METAL, segments=28, sides=5).transformed(
            (0, 0, z), roll=np.pi / 2
        )
        for z in (0.70, 0.95)
    ]
    posts = [
        cylinder(
            (0.24 * np.cos(a), 0.24 * np.sin(a), 0.78), (0.24 * np.cos(a), 0.24 * np.sin(a), 0.94),
            0.018, colour, Material.GLOSSY, 6,
        )
        for a in np.pi / 4 + np.arange(4) * np.pi / 2
    ]  # fmt: skip
    slats = [
        box((0.015, 0.035, 0.56), (0.255, 0, 0.39), (colour[0] * 1.8, colour[1] * 1.8,
            colour[2] * 1.8), Material.GLOSSY).transformed(yaw=a)
        for a in np.arange(14) * (2 * np.pi / 14)
    ]  # fmt: skip
    plate = box((0.012, 0.15, 0.11), (0.272, 0, 0.50), _WHITE)
    return Mesh.merge([body, opening, hood, plate, *rings, *posts, *slats])


STOPS: tuple[tuple[Colour, Colour], ...] = (
    ((0.20, 0.22, 0.25), (0.10, 0.30, 0.75)),
    ((0.12, 0.35, 0.25), (0.95, 0.78, 0.10)),
)
"""Frame colour and sign colour."""


def bus_stop(variant: int) -> Mesh:
    """Return a shelter that opens to +x: bench, glass walls, and a bus sign on a pole at +y."""
    frame, sign = STOPS[variant]
    glass = (0.55, 0.70, 0.75)
    parts = [
        rounded_box((1.45, 3.1, 0.10), 0.04, (0.0, 0, 2.48), frame, Material.GLOSSY),
        box((1.30, 2.95, 0.02), (0.0, 0, 2.42), (0.85, 0.86, 0.87)),
        box((0.05, 3.06, 0.22), (0.705, 0, 2.435), sign, Material.GLOSSY),
    ]
    for y in (-1.45, -0.48, 0.48, 1.45):
        parts.append(box((0.07, 0.07, 2.44), (-0.60, y, 1.22), frame, Material.GLOSSY))
    for y in (-1.45, 1.45):
        parts.append(box((0.07, 0.07, 2.44), (0.45, y, 1.22), frame, Material.GLOSSY))
        parts.append(box((0.98, 0.025, 1.85), (-0.08, y, 1.30), glass, Material.GLASS))
        parts.append(box((1.02, 0.05, 0.06), (-0.08, y, 0.35), frame, Material.GLOSSY))
        parts.append(box((0.98, 0.03, 0.06), (-0.08, y, 1.40), _WHITE))
    for y in (-0.965, 0.0, 0.965):
        parts.append(box((0.025, 0.90, 1.85), (-0.60, y, 1.30), glass, Material.GLASS))
        parts.append(box((0.05, 0.92, 0.06), (-0.60, y, 0.35), frame, Material.GLOSSY))
        parts.append(box((0.03, 0.90, 0.06), (-0.60, y, 1.55), _WHITE))
    for k in range(3):
        parts.append(
            box((0.10, 2.2, 0.035), (-0.45 + 0.125 * k, 0, 0.47), (0.62, 0.40, 0.20), Material.WOOD)
        )
    parts.append(box((0.03, 2.2, 0.11), (-0.53, 0, 0.80), (0.62, 0.40, 0.20), Material.WOOD))
    for y in (-0.85, 0.85):
        parts.append(box((0.34, 0.06, 0.44), (-0.33, y, 0.22), frame, Material.GLOSSY))
    # The timetable case on the back wall.
    parts.append(box((0.05, 0.62, 0.85), (-0.57, 0.965, 1.35), frame, Material.GLOSSY))
    parts.append(box((0.06, 0.54, 0.77), (-0.565, 0.965, 1.35), (0.93, 0.92, 0.86)))
    for k in range(5):
        parts.append(box((0.062, 0.44, 0.03), (-0.564, 0.965, 1.60 - 0.10 * k), (0.35, 0.38, 0.45)))
    ink: Colour = _WHITE if variant == 0 else (0.08, 0.35, 0.18)
    parts.append(lettering("BUS", 0.15, ink, width=0.55).transformed((0.733, 0, 2.43)))
    for side in (1.0, -1.0):  # the ends carry it too, for those who come along the road
        parts.append(box((1.2, 0.03, 0.22), (0.05, side * 1.545, 2.43), sign, Material.GLOSSY))
        word = lettering("BUS STOP", 0.15, ink, width=0.95)
        parts.append(word.transformed((0.05, side * 1.563, 2.43), yaw=side * np.pi / 2))
    flag = Mesh.merge(_bus_sign(sign, round_plate=variant == 1))
    post = cylinder((0.36, 1.28, 0), (0.36, 1.28, 3.45), 0.04, (0.70, 0.71, 0.72), Material.METAL)
    # It projects from its pole and faces both ways along the road.
    for side in (1.0, -1.0):
        parts.append(flag.transformed((0.36, 1.28 + side * 0.035, 3.08), yaw=side * np.pi / 2))
    return Mesh.merge([*parts, post])


def _bus_sign(colour: Colour, *, round_plate: bool) -> list[Mesh]:
    """Return a plate that faces +x, centred on the origin: a bus seen from the front."""
    green: Colour = (0.10, 0.45, 0.22)
    if round_plate:
        parts = [
            disc(0.36, 0.03, (0.0, 0, 0), green, Material.GLOSSY),
            disc(0.31, 0.03, (0.01, 0, 0), colour, Material.GLOSSY),
        ]
        ink = green
    else:
        parts = [
            rounded_box((0.03, 0.66, 0.74), 0.012, (0, 0, 0), _WHITE, Material.GLOSSY),
            rounded_box((0.03, 0.60, 0.68), 0.012, (0.008, 0, 0), colour, Material.GLOSSY),
        ]
        ink = _WHITE
    parts += [
        rounded_box((0.03, 0.32, 0.36), 0.012, (0.025, 0, 0.02), ink),
        box((0.02, 0.25, 0.14), (0.035, 0, 0.06), colour),
        box((0.02, 0.16, 0.03), (0.035, 0, 0.165), colour),
    ]
    for side in (1.0, -1.0):
        parts += [
            disc(0.028, 0.02, (0.037, side * 0.10, -0.09), colour, segments=12),
            box((0.02, 0.06, 0.07), (0.025, side * 0.11, -0.18), ink),
            box((0.02, 0.03, 0.10), (0.025, side * 0.185, 0.07), ink),
        ]
    return parts
