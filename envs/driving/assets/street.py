"""Street furniture: cones, bins, bus stops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import draped, lettering
from ....rendering.shapes.primitives import (
    Colour,
    bands,
    box,
    cylinder,
    disc,
    ellipsoid,
    extrude,
    frustum,
    lathe,
    rounded_box,
    torus,
)

_ORANGE = (0.96, 0.33, 0.05)
_WHITE = (0.95, 0.95, 0.95)
_BLACK = (0.06, 0.06, 0.065)

CONES: tuple[float, ...] = (0.75, 0.90, 0.68)
"""Heights, m."""


def cone(variant: int) -> Mesh:
    """Return a traffic cone: orange, two white bands, black base."""
    h = CONES[variant]
    base = rounded_box((0.58 * h, 0.58 * h, 0.05 * h), 0.02 * h, (0, 0, 0.025 * h), _BLACK)
    body = lathe(
        [(0, 0.04 * h), (0.235 * h, 0.04 * h), (0.215 * h, 0.07 * h), (0.04 * h, 0.97 * h),
         (0.03 * h, h), (0, h)],
        24, _ORANGE, Material.GLOSSY,
    )  # fmt: skip
    stripes = [(0.34 * h, 0.52 * h), (0.66 * h, 0.82 * h)]
    return Mesh.merge([base, bands(body, 2, stripes, _WHITE, Material.RETRO)])


BINS: tuple[tuple[str, Colour, Colour], ...] = (
    ("closed", (0.10, 0.46, 0.19), (0.08, 0.36, 0.15)),
    ("closed", (0.10, 0.34, 0.78), (0.08, 0.27, 0.64)),
    ("overfull", (0.46, 0.48, 0.50), (0.96, 0.80, 0.08)),
    ("closed", (0.50, 0.30, 0.16), (0.42, 0.24, 0.12)),
    ("street", (0.10, 0.42, 0.22), (0.84, 0.68, 0.22)),
)
"""Form, colour of the body, colour of the lid (of a street bin: its rings)."""


def garbage_bin(variant: int) -> Mesh:
    """Return a wheelie bin, 1.1 m, or a round street bin."""
    form, colour, lid = BINS[variant]
    if form == "street":
        return _street_bin(colour, lid)
    return _wheelie_bin(colour, lid, overfull=form == "overfull")


def _wheelie_bin(colour: Colour, lid_colour: Colour, *, overfull: bool) -> Mesh:
    dark: Colour = (colour[0] * 0.7, colour[1] * 0.7, colour[2] * 0.7)
    body = extrude(
        [(-0.20, 0.07), (0.22, 0.03), (0.32, 0.90), (-0.29, 0.90)], 0.54, colour, Material.GLOSSY,
        inset=0.03,
    )  # fmt: skip
    rim = rounded_box((0.67, 0.60, 0.07), 0.02, (0.015, 0, 0.91), dark, Material.GLOSSY)
    lid = extrude(
        [(-0.01, -0.01), (0.70, -0.02), (0.69, 0.04), (0.45, 0.10), (0.08, 0.12), (-0.01, 0.06)],
        0.61, lid_colour, Material.GLOSSY, inset=0.03,
    )  # fmt: skip
    grip = rounded_box((0.05, 0.26, 0.04), 0.015, (0.70, 0, 0.0), lid_colour, segments=1)
    cover = Mesh.merge([lid, grip])
    handle = cylinder((-0.37, -0.24, 0.98), (-0.37, 0.24, 0.98), 0.022, dark, segments=8)
    parts = [
        body,
        rim,
        handle,
        cover.transformed((-0.335, 0, 0.955), pitch=-0.38 if overfull else 0.0),
        cylinder((-0.25, -0.28, 0.13), (-0.25, 0.28, 0.13), 0.02, _BLACK, segments=6),
    ]
    if overfull:  # tied bags that hold the lid up
        for x, y, radius, shade in (
            (0.12, 0.13, 0.17, (0.93, 0.93, 0.95)),
            (0.16, -0.13, 0.16, (0.10, 0.10, 0.12)),
            (-0.10, 0.0, 0.17, (0.20, 0.20, 0.23)),
        ):
            parts.append(ellipsoid(radius, (x, y, 0.97), shade, Material.GLOSSY, 10))
            knot = frustum((x, y, 1.0 + radius * 0.8), (x, y, 1.04 + radius), 0.02, 0.05, shade)
            parts.append(knot.transformed((0, 0, -0.04)))
    pale: Colour = (0.97, 0.97, 0.97)
    for s in (1.0, -1.0):
        wheel_at = (-0.25, s * 0.285, 0.13)
        parts += [
            box((0.12, 0.035, 0.05), (-0.33, s * 0.22, 0.96), dark),
            disc(0.13, 0.06, wheel_at, _BLACK, axis=(0, 1, 0), segments=16),
            disc(0.07, 0.066, wheel_at, (0.62, 0.62, 0.64), axis=(0, 1, 0), segments=12),
        ]
        mark = _recycling_mark(0.17, pale).transformed((0.03, s * 0.30, 0.55), yaw=s * np.pi / 2)
        stripe = box((0.52, 0.002, 0.06), (0.01, s * 0.30, 0.80), pale, Material.RETRO)
        parts += [
            draped(mark, body, (0, -s, 0)),
            stripe.transformed((0, -s * (0.30 - 0.271), 0)),
        ]
        front = [(0.235, 0.20), (0.315, 0.86), (0.330, 0.86), (0.25, 0.20)]
        rib = extrude(front, 0.03, dark, Material.GLOSSY)
        parts.append(rib.transformed((0, s * 0.23, 0)))
    for way, x in ((1.0, 0.33), (-1.0, -0.30)):
        mark = _recycling_mark(0.19, pale).transformed((x, 0, 0.50), yaw=0.0 if way > 0 else np.pi)
        band = _plate(0.48, 0.07, pale).transformed((x, 0, 0.79), yaw=0.0 if way > 0 else np.pi)
        parts += [draped(m, body, (-way, 0, 0)) for m in (mark, band)]
    return Mesh.merge(parts)


def _plate(width: float, height: float, colour: Colour) -> Mesh:
    """Return a flat rectangle that faces +x, centred on the origin."""
    y, z = width / 2, height / 2
    corners = [(0, -y, -z), (0, y, -z), (0, y, z), (0, -y, z)]
    return Mesh.build(corners, [(0, 1, 2), (0, 2, 3)], colour, Material.RETRO, 0.0)


def _recycling_mark(radius: float, colour: Colour) -> Mesh:
    """Return three flat arrows that chase one another round a triangle; it faces +x."""
    turns = np.pi / 2 - np.arange(4) * (2 * np.pi / 3)
    tips = np.stack([np.cos(turns), np.sin(turns)], 1) * radius
    half = 0.16 * radius
    points: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for a, b in pairwise(tips):
        along = (b - a) / np.linalg.norm(b - a)
        aside = np.array([-along[1], along[0]])
        start, neck, tip = a + 0.22 * (b - a), a + 0.62 * (b - a), a + 0.94 * (b - a)
        first = len(points)
        for p in (
            start - aside * half, neck - aside * half, neck + aside * half, start + aside * half,
            neck - aside * half * 2.1, tip, neck + aside * half * 2.1,
        ):  # fmt: skip
            points.append((0.0, float(p[0]), float(p[1])))
        faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
        faces.append((first + 4, first + 5, first + 6))
    return Mesh.build(points, faces, colour, Material.RETRO, 0.0)


def _street_bin(colour: Colour, gold: Colour) -> Mesh:
    body = lathe(
        [(0, 0.0), (0.25, 0.0), (0.26, 0.06), (0.24, 0.08), (0.25, 0.72), (0.27, 0.74),
         (0.27, 0.79), (0, 0.79)],
        24, colour, Material.GLOSSY,
    )  # fmt: skip
    opening = lathe([(0, 0.78), (0.20, 0.78), (0.20, 0.93), (0, 0.93)], 20, (0.02, 0.02, 0.02))
    hood = lathe(
        [(0, 0.93), (0.27, 0.93), (0.27, 0.97), (0.20, 1.06), (0.07, 1.10), (0, 1.10)], 24,
        colour, Material.GLOSSY,
    )  # fmt: skip
    parts = [body, opening, hood]
    for z in (0.12, 0.70, 0.95):
        ring = torus(0.262, 0.018, gold, Material.GLOSSY, segments=24, sides=4)
        parts.append(ring.transformed((0, 0, z), roll=np.pi / 2))
    for a in np.pi / 4 + np.arange(4) * np.pi / 2:
        x, y = 0.24 * np.cos(a), 0.24 * np.sin(a)
        parts.append(cylinder((x, y, 0.78), (x, y, 0.94), 0.018, colour, Material.GLOSSY, 6))
    slat: Colour = (colour[0] * 1.5, colour[1] * 1.35, colour[2] * 1.5)
    for a in (np.arange(16) + 0.5) * (2 * np.pi / 16):
        strip = box((0.012, 0.035, 0.54), (0.25, 0, 0.41), slat, Material.GLOSSY)
        parts.append(strip.transformed(yaw=a))
    litter = lettering("LITTER", 0.10, _WHITE, Material.RETRO, width=0.34)
    for yaw in (0.0, np.pi / 2, np.pi, -np.pi / 2):  # one plate to each side, bent round the body
        plate = rounded_box((0.02, 0.30, 0.30), 0.009, (0.262, 0, 0.42), colour, Material.GLOSSY, 1)
        mark = _recycling_mark(0.12, _WHITE).transformed((0.274, 0, 0.41))
        crown = litter.transformed((0.29, 0, 0.845))
        sign = box((0.02, 0.38, 0.13), (0.275, 0, 0.845), colour, Material.GLOSSY)
        sign = Mesh.merge([plate, mark, sign, crown])
        parts.append(sign.transformed(yaw=yaw))
    return Mesh.merge(parts)


STOPS: tuple[tuple[Colour, Colour, str], ...] = (
    ((0.20, 0.22, 0.25), (0.05, 0.25, 0.72), "plate"),
    ((0.12, 0.35, 0.25), (0.98, 0.80, 0.08), "disc"),
    ((0.62, 0.64, 0.66), (0.80, 0.09, 0.09), "plate"),
)
"""Frame colour, sign colour, form of the sign."""


def bus_stop(variant: int) -> Mesh:
    """Return a shelter that opens to +x: bench, glass walls, and a bus sign on a pole at +y."""
    frame, sign, form = STOPS[variant]
    ink: Colour = (0.06, 0.30, 0.16) if form == "disc" else _WHITE
    post = (0.06, 0.06, 2.44)
    parts = [
        rounded_box((1.45, 3.1, 0.10), 0.04, (0.0, 0, 2.48), frame, Material.GLOSSY),
        box((1.30, 2.95, 0.02), (0.0, 0, 2.42), (0.85, 0.86, 0.87)),
        box((0.05, 3.06, 0.30), (0.705, 0, 2.38), sign, Material.GLOSSY),
    ]
    for y in (-1.45, -0.48, 0.48, 1.45):
        parts.append(box(post, (-0.60, y, 1.22), frame, Material.GLOSSY))
    for y in (-1.45, 1.45):
        parts += [
            box(post, (0.45, y, 1.22), frame, Material.GLOSSY),
            *_pane(True, 0.98, (-0.08, y, 1.30)),
            box((1.02, 0.05, 0.06), (-0.08, y, 0.35), frame, Material.GLOSSY),
        ]
    for y in (-0.965, 0.0, 0.965):
        parts += _pane(False, 0.90, (-0.60, y, 1.30))
        parts.append(box((0.05, 0.92, 0.06), (-0.60, y, 0.35), frame, Material.GLOSSY))
    wood = (0.66, 0.42, 0.20)
    for k in range(3):
        parts.append(box((0.10, 2.2, 0.04), (-0.45 + 0.125 * k, 0, 0.47), wood, Material.WOOD))
    parts.append(box((0.03, 2.2, 0.13), (-0.53, 0, 0.80), wood, Material.WOOD))
    for y in (-0.85, 0.85):
        parts.append(box((0.34, 0.06, 0.44), (-0.33, y, 0.22), frame, Material.GLOSSY))
    # The timetable in its case on the back wall, printed on both sides.
    for x, way in ((-0.57, 1.0), (-0.62, -1.0)):
        parts.append(box((0.05, 0.64, 0.87), (x, 0.965, 1.35), frame, Material.GLOSSY))
        parts.append(box((0.01, 0.56, 0.79), (x + way * 0.026, 0.965, 1.35), (0.95, 0.94, 0.88)))
        parts.append(box((0.01, 0.50, 0.12), (x + way * 0.029, 0.965, 1.65), sign))
        for k in range(5):
            line = (x + way * 0.029, 0.965, 1.51 - 0.10 * k)
            parts.append(box((0.01, 0.46, 0.035), line, (0.30, 0.33, 0.40)))
    word = lettering("BUS STOP", 0.23, ink, Material.RETRO)
    parts.append(word.transformed((0.733, 0, 2.38)))
    ends = lettering("BUS STOP", 0.22, ink, Material.RETRO, width=1.12)
    for side in (1.0, -1.0):  # the ends carry it too, for those who come along the road
        parts.append(box((1.3, 0.03, 0.30), (0.03, side * 1.545, 2.38), sign, Material.GLOSSY))
        parts.append(ends.transformed((0.03, side * 1.563, 2.38), yaw=side * np.pi / 2))
    back = lettering("BUS", 0.22, ink, Material.RETRO)
    parts.append(box((0.03, 3.06, 0.30), (-0.69, 0, 2.38), sign, Material.GLOSSY))
    parts.append(back.transformed((-0.708, 0, 2.38), yaw=np.pi))
    flag = Mesh.merge(_bus_sign(sign, ink, form))
    parts.append(
        cylinder((0.42, 1.34, 0), (0.42, 1.34, 3.62), 0.04, (0.70, 0.71, 0.72), Material.METAL, 10)
    )
    # It stands over its pole and faces both ways along the road.
    for side in (1.0, -1.0):
        parts.append(flag.transformed((0.30, 1.34 + side * 0.06, 3.12), yaw=side * np.pi / 2))
    return Mesh.merge(parts)


def _pane(along_x: bool, width: float, at: tuple[float, float, float]) -> list[Mesh]:
    """Return a clear pane, 1.85 m high, with white marks that keep people from walking into it."""
    yaw = np.pi / 2 if along_x else 0.0
    marks = [box((0.016, 0.07, 0.07), (0, (k - 2.5) / 6 * width, 0.22), _WHITE) for k in range(6)]
    # One sheet without thickness: a ray passes it once.
    sheet = _plate(width, 1.85, (0.80, 0.92, 0.94)).painted(material=Material.CLEAR)
    return [part.transformed(at, yaw=yaw) for part in (sheet, *marks)]


def _bus_sign(colour: Colour, ink: Colour, form: str) -> list[Mesh]:
    """Return a sign that faces +x, centred on the origin: a bus from its side over the word."""
    if form == "disc":
        parts = [
            disc(0.50, 0.04, (0.0, 0, 0), ink, Material.RETRO, 28),
            disc(0.44, 0.04, (0.008, 0, 0), colour, Material.RETRO, 28),
        ]
    else:
        parts = [
            rounded_box((0.04, 0.96, 1.00), 0.015, (0, 0, 0), _WHITE, Material.RETRO, 1),
            rounded_box((0.04, 0.88, 0.92), 0.015, (0.008, 0, 0), colour, Material.RETRO, 1),
        ]
    parts += [
        rounded_box((0.02, 0.66, 0.34), 0.009, (0.032, 0, 0.14), ink, Material.RETRO, 1),
        *(box((0.02, 0.12, 0.11), (0.036, -0.23 + 0.155 * k, 0.20), colour) for k in range(4)),
        *(disc(0.07, 0.03, (0.036, y, -0.03), ink, segments=14) for y in (-0.19, 0.19)),
        *(disc(0.03, 0.034, (0.038, y, -0.03), colour, segments=10) for y in (-0.19, 0.19)),
        lettering("BUS", 0.22, ink, Material.RETRO, width=0.50).transformed((0.032, 0, -0.26)),
    ]
    return parts
