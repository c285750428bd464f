"""Motor vehicles: police cars, ambulances, parked cars. Bodies are lofted from cross-sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....rendering.mesh import F32, Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.primitives import (
    Colour,
    box,
    cut,
    disc,
    ellipsoid,
    extrude,
    lathe,
    loft,
    paint_where,
    rounded_box,
)

_GLASS = (0.06, 0.08, 0.10)
_BLACK = (0.04, 0.04, 0.045)
_WHITE = (0.93, 0.94, 0.95)
_BLUE = (0.03, 0.16, 0.62)
_YELLOW = (0.98, 0.88, 0.05)
_RED = (0.85, 0.05, 0.06)


@dataclass(frozen=True, slots=True)
class Form:
    """The side view of a car, m; x from -length / 2 (tail) to length / 2 (nose).

    Attributes:
        length, width, height: Outer size.
        deck: Height of bonnet and boot line along x: pairs (share of length, height).
        cabin: Roof outline: shares of length at rear foot, rear roof, front roof, front foot.
        wheels: Axle positions as shares of length, rear and front.
        radius: Tyre radius.
    """

    length: float
    width: float
    height: float
    deck: tuple[tuple[float, float], ...]
    cabin: tuple[float, float, float, float]
    wheels: tuple[float, float] = (0.19, 0.80)
    radius: float = 0.32


HATCH = Form(
    4.1,
    1.76,
    1.47,
    (
        (0, 0.62),
        (0.01, 0.86),
        (0.05, 0.98),
        (0.40, 0.96),
        (0.68, 0.93),
        (0.90, 0.80),
        (0.985, 0.66),
        (1, 0.55),
    ),
    (0.015, 0.10, 0.56, 0.76),
)
ESTATE = Form(
    4.6,
    1.80,
    1.46,
    (
        (0, 0.60),
        (0.01, 0.86),
        (0.04, 0.96),
        (0.40, 0.95),
        (0.68, 0.92),
        (0.90, 0.79),
        (0.985, 0.64),
        (1, 0.52),
    ),
    (0.012, 0.075, 0.55, 0.745),
)
SALOON = Form(
    4.7,
    1.82,
    1.44,
    (
        (0, 0.62),
        (0.01, 0.90),
        (0.04, 0.97),
        (0.20, 0.96),
        (0.68, 0.92),
        (0.90, 0.79),
        (0.985, 0.64),
        (1, 0.52),
    ),
    (0.09, 0.27, 0.54, 0.73),
)
OFF_ROAD = Form(
    4.4,
    1.84,
    1.70,
    (
        (0, 0.70),
        (0.01, 1.02),
        (0.04, 1.10),
        (0.40, 1.08),
        (0.70, 1.06),
        (0.92, 0.96),
        (0.985, 0.80),
        (1, 0.66),
    ),
    (0.012, 0.07, 0.57, 0.74),
    radius=0.36,
)
VAN = Form(
    5.2,
    1.95,
    2.25,
    (
        (0, 0.9),
        (0.005, 1.10),
        (0.03, 1.15),
        (0.40, 1.15),
        (0.80, 1.12),
        (0.93, 0.98),
        (0.985, 0.80),
        (1, 0.60),
    ),
    (0.005, 0.015, 0.70, 0.875),
    (0.18, 0.82),
    0.35,
)


def _section(
    x: float, half: float, low: float, high: float, tuck: float
) -> list[tuple[float, float, float]]:
    """Return a cross-section of the lower body at x: bulged sides, rounded shoulder."""
    h = high - low
    right = [
        (half * 0.80, low),
        (half * 0.96, low + 0.04 * h + 0.02),
        (half, low + 0.35 * h),
        (half * 0.995, low + 0.62 * h),
        (half * 0.965, low + 0.85 * h),
        (half * tuck, low + 0.97 * h),
        (half * tuck * 0.55, high),
    ]
    ring = right + [(-y, z) for y, z in reversed(right)]
    return [(x, y, z) for y, z in ring]


def car_body(form: Form, colour: Colour) -> list[Mesh]:
    """Return lower body, cabin with windows, and wheels."""
    length, half = form.length, form.width / 2
    shares = np.unique(
        np.concatenate([np.linspace(0, 1, 15), [0.01, 0.03, 0.06, 0.94, 0.97, 0.99]])
    )
    deck_x, deck_z = zip(*form.deck, strict=True)
    rings = []
    for s in shares:
        nose = 1 - 0.16 * max(0.0, (s - 0.86) / 0.14) ** 2 - 0.10 * max(0.0, (0.08 - s) / 0.08) ** 2
        low = 0.22 + 0.10 * max(0.0, (s - 0.93) / 0.07) + 0.12 * max(0.0, (0.06 - s) / 0.06)
        high = float(np.interp(s, deck_x, deck_z))
        rings.append(_section((s - 0.5) * length, half * nose, low, high, 0.90))
    lower = loft(rings, colour, Material.GLOSSY, 38.0)
    lower = cut(lower, (0, 0, 1), 0.34)
    lower = paint_where(lower, lambda m: m[:, 2] < 0.34, _BLACK, Material.MATTE)
    parts = [lower, *_cabin(form, colour)]
    for share in form.wheels:
        for side in (1.0, -1.0):
            parts += _wheel((share - 0.5) * length, side, half, form.radius)
    return parts


def _cabin(form: Form, colour: Colour) -> list[Mesh]:
    """Return the glasshouse: a dark glass body, roof and pillars in the car's colour."""
    length, half = form.length, form.width / 2
    deck_x, deck_z = zip(*form.deck, strict=True)
    a, b, c, d = form.cabin
    foot = [float(np.interp(s, deck_x, deck_z)) - 0.04 for s in (a, d)]
    top = form.height

    def ring(low: float, high: float, z: float, y: float) -> list[tuple[float, float, float]]:
        x0, x1 = (low - 0.5) * length, (high - 0.5) * length
        r = 0.12 * (x1 - x0) * 0.5
        return [
            (x0 + r * 0.2, -y * 0.8, z),
            (x0 + r, -y, z),
            (x1 - r * 1.4, -y, z),
            (x1, -y * 0.72, z),
            (x1 + 0.03, 0.0, z),
            (x1, y * 0.72, z),
            (x1 - r * 1.4, y, z),
            (x0 + r, y, z),
            (x0 + r * 0.2, y * 0.8, z),
            (x0 - 0.02, 0.0, z),
        ]

    base = min(foot)
    y0, y1 = half * 0.90, half * 0.74
    if form.height > 2.0:
        y0, y1 = half * 0.96, half * 0.88
    levels = (0.0, 0.12, 0.78, 0.93, 1.0)
    rings = []
    for t in levels:
        low, high = a + (b - a) * min(t, 0.95), d + (c - d) * min(t, 0.95)
        rings.append(ring(low, high, base + (top - base) * t, y0 + (y1 - y0) * t))
    rings[-1] = [(x * 0.93 + np.sign(x) * 0.0, y * 0.86, z) for x, y, z in rings[-1]]
    cabin = loft(rings, colour, Material.GLOSSY, 30.0)
    sill, brow = base + 0.15 * (top - base), base + 0.80 * (top - base)
    for z in (sill, brow):
        cabin = cut(cabin, (0, 0, 1), z)
    x_mid = (0.5 * (b + c) - 0.5) * length
    pillars = [x_mid, x_mid + 0.10]
    if form.height < 2.0 and form.cabin[1] < 0.15:
        pillars += [(b + 0.12 - 0.5) * length, (b + 0.135 - 0.5) * length]
    for x in pillars:
        cabin = cut(cabin, (1, 0, 0), x)

    def glazed(m: F32) -> npt.NDArray[np.bool_]:
        band = (m[:, 2] > sill) & (m[:, 2] < brow)
        for low, high in zip(pillars[::2], pillars[1::2], strict=True):
            band &= ~((m[:, 0] > low) & (m[:, 0] < high) & (np.abs(m[:, 1]) > half * 0.6))
        if form.height > 2.0:  # a van has no side windows behind the driver
            band &= ~((m[:, 0] < x_mid + 0.12 * length) & (np.abs(m[:, 1]) > half * 0.6))
        return np.asarray(band)

    return [paint_where(cabin, glazed, _GLASS, Material.GLASS)]


def _wheel(x: float, side: float, half: float, radius: float) -> list[Mesh]:
    y = side * (half - 0.10)
    tyre = lathe(
        [
            (0, -0.10),
            (radius * 0.7, -0.105),
            (radius * 0.95, -0.095),
            (radius, -0.06),
            (radius, 0.06),
            (radius * 0.95, 0.095),
            (radius * 0.7, 0.105),
            (0, 0.10),
        ],
        22,
        _BLACK,
    ).transformed((x, y, radius), roll=np.pi / 2)
    hub_y = y + side * 0.107
    parts = [
        tyre,
        disc(
            radius * 0.66,
            0.012,
            (x, hub_y, radius),
            (0.62, 0.63, 0.65),
            Material.METAL,
            22,
            (0, 1, 0),
        ),
        disc(
            radius * 1.13,
            0.01,
            (x, side * (half - 0.002), radius * 1.13),
            _BLACK,
            Material.MATTE,
            26,
            (0, 1, 0),
        ),
    ]
    for k in range(5):
        a = 2 * np.pi * k / 5
        parts.append(
            box((radius * 0.16, 0.016, radius * 0.34), (0, 0, radius * 0.40), (0.18, 0.18, 0.19))
            .transformed(pitch=a)
            .transformed((x, hub_y, radius))
        )
    return parts


def _lights(form: Form) -> list[Mesh]:
    """Return head and tail lights, number plates, grille, mirrors and bumpers."""
    half, front, back = form.width / 2, form.length / 2, -form.length / 2
    deck_x, deck_z = zip(*form.deck, strict=True)
    lamp = float(np.interp(0.97, deck_x, deck_z)) - 0.10
    tail = float(np.interp(0.02, deck_x, deck_z)) - 0.12
    parts = [
        box((0.03, 0.50, 0.12), (front - 0.005, 0, 0.46), (0.9, 0.9, 0.88)).transformed(
            scale=(1, 1, 1)
        ),
        rounded_box(
            (0.06, half * 0.95, 0.10),
            0.02,
            (front - 0.035, 0, lamp - 0.03),
            _BLACK,
            Material.GLOSSY,
        ),
        rounded_box((0.06, half * 1.3, 0.09), 0.02, (front - 0.03, 0, 0.345), _BLACK),
        box((0.04, 0.50, 0.11), (back - 0.005, 0, tail - 0.16), (0.92, 0.90, 0.75)),
        rounded_box((0.10, form.width * 0.86, 0.14), 0.04, (back + 0.03, 0, 0.42), _BLACK),
    ]
    for side in (1.0, -1.0):
        y = side * half * 0.70
        parts += [
            ellipsoid((0.13, 0.20, 0.085), (front - 0.13, y, lamp), _BLACK, Material.GLOSSY, 12),
            ellipsoid(
                (0.10, 0.11, 0.06), (front - 0.085, y, lamp), (0.97, 0.98, 1.0), Material.GLOSSY, 12
            ),
            ellipsoid(
                (0.06, 0.04, 0.035),
                (front - 0.10, y + side * 0.14, lamp),
                (0.95, 0.5, 0.1),
                Material.GLOSSY,
                8,
            ),
        ]
        parts.append(
            rounded_box(
                (0.10, 0.20, 0.24),
                0.03,
                (back + 0.06, side * half * 0.80, tail),
                (0.75, 0.03, 0.04),
                Material.GLOSSY,
            )
        )
        d = (form.cabin[3] - 0.07 - 0.5) * form.length
        z = float(np.interp(form.cabin[3], deck_x, deck_z)) + 0.08
        parts.append(
            rounded_box(
                (0.12, 0.18, 0.13), 0.04, (d, side * (half + 0.06), z), _BLACK, Material.GLOSSY
            )
        )
    return parts


PARKED: tuple[tuple[Form, Colour], ...] = (
    (HATCH, (0.62, 0.10, 0.10)),
    (ESTATE, (0.35, 0.37, 0.40)),
    (VAN, (0.86, 0.87, 0.88)),
    (SALOON, (0.12, 0.20, 0.38)),
    (OFF_ROAD, (0.16, 0.22, 0.18)),
    (HATCH, (0.80, 0.66, 0.15)),
    (SALOON, (0.75, 0.76, 0.77)),
)


def parked_car(variant: int) -> Mesh:
    """Return a civil car."""
    form, colour = PARKED[variant]
    return Mesh.merge([*car_body(form, colour), *_lights(form)])


def emergency_vehicle(variant: int) -> Mesh:
    """Return a police car (0, 1) or an ambulance (2, 3)."""
    return _police(variant) if variant < 2 else _ambulance(variant - 2)


def _light_bar(x: float, z: float, width: float, colours: Sequence[Colour]) -> list[Mesh]:
    n = len(colours)
    parts = [box((0.24, width, 0.05), (x, 0, z + 0.025), _BLACK)]
    for k, colour in enumerate(colours):
        y = (k - (n - 1) / 2) * width / n
        parts.append(
            rounded_box(
                (0.26, width / n * 0.94, 0.13),
                0.035,
                (x, y, z + 0.11),
                colour,
                Material.EMISSIVE,
                1,
            )
        )
    return parts


def _battenburg(
    body: Mesh,
    half: float,
    low: float,
    high: float,
    start: float,
    end: float,
    count: int,
    colours: tuple[Colour, Colour],
) -> Mesh:
    """Paint two rows of alternating blocks on both sides of a body."""
    middle = (low + high) / 2
    for z in (low, middle, high):
        body = cut(body, (0, 0, 1), z)
    edges = np.linspace(start, end, count + 1)
    for x in edges:
        body = cut(body, (1, 0, 0), float(x))
    width = (end - start) / count
    for parity in (0, 1):

        def chosen(m: F32, parity: int = parity) -> npt.NDArray[np.bool_]:
            column = np.floor((m[:, 0] - start) / width).astype(int)
            row = (m[:, 2] > middle).astype(int)
            inside = (m[:, 2] > low) & (m[:, 2] < high) & (m[:, 0] > start) & (m[:, 0] < end)
            inside &= np.abs(m[:, 1]) > half * 0.75
            return np.asarray(inside & ((column + row) % 2 == parity))

        body = paint_where(body, chosen, colours[parity], Material.RETRO)
    return body


def _police(variant: int) -> Mesh:
    form = ESTATE if variant == 0 else SALOON
    body, *rest = car_body(form, _WHITE)
    half = form.width / 2
    body = _battenburg(
        body, half, 0.50, 0.84, -form.length / 2 + 0.25, form.length / 2 - 0.80, 8, (_BLUE, _YELLOW)
    )
    roof = form.height
    x = ((form.cabin[1] + form.cabin[2]) / 2 - 0.5) * form.length
    lights = (
        (1.0, 0.05, 0.05),
        (1.0, 0.05, 0.05),
        (0.9, 0.9, 1.0),
        (0.05, 0.2, 1.0),
        (0.05, 0.2, 1.0),
    )
    parts = [body, *rest, *_lights(form), *_light_bar(x, roof - 0.01, 1.25, lights)]
    back, front = -form.length / 2, form.length / 2
    for k in range(8):  # chevrons across the tail
        y = (k - 3.5) * form.width * 0.10
        colour = (_RED, _YELLOW)[k % 2]
        parts.append(
            box((0.04, form.width * 0.10, 0.17), (back + 0.005, y, 0.53), colour, Material.RETRO)
        )
    word = lettering("POLICE", 0.13, _BLUE, Material.RETRO)
    parts.append(word.transformed((back + 0.018, 0, 0.80), yaw=np.pi, pitch=0.06))
    long_word = lettering("POLICE", 0.42, _BLUE, Material.RETRO, width=1.0)
    x, z = _bonnet(form)
    parts.append(long_word.transformed((x, 0, z), pitch=-1.38))
    for side in (1.0, -1.0):
        parts.append(
            lettering("POLICE", 0.12, _BLUE, Material.RETRO).transformed(
                (-0.05, side * (half + 0.004), 0.425), yaw=side * np.pi / 2
            )
        )
    parts.append(box((0.02, 1.0, 0.09), (front + 0.005, 0, 0.50), _BLUE, Material.RETRO))
    return Mesh.merge(parts)


def _bonnet(form: Form) -> tuple[float, float]:
    """Return (x, z) just above the middle of the bonnet, m."""
    share = (form.cabin[3] + 0.97) / 2 + 0.005
    deck_x, deck_z = zip(*form.deck, strict=True)
    return (share - 0.5) * form.length, float(np.interp(share, deck_x, deck_z)) + 0.014


def _ambulance(variant: int) -> Mesh:
    base = _WHITE if variant == 0 else (0.97, 0.86, 0.10)
    stripe = _RED if variant == 0 else (0.10, 0.50, 0.20)
    length, width, height = 5.6, 2.1, 2.6
    half = width / 2
    chassis = box((length - 0.2, width - 0.3, 0.20), (0, 0, 0.42), _BLACK)
    box_body = rounded_box(
        (3.7, width, height - 0.55),
        0.07,
        (-length / 2 + 1.85, 0, 0.5 + (height - 0.5) / 2 - 0.02),
        base,
        Material.GLOSSY,
    )
    cab = extrude(
        [
            (0.8, 0.42),
            (2.72, 0.42),
            (2.80, 0.62),
            (2.74, 1.02),
            (2.05, 1.22),
            (1.45, 2.02),
            (0.8, 2.10),
        ],
        width * 0.92,
        base,
        Material.GLOSSY,
        inset=0.08,
    )
    parts = [chassis]
    for z in (0.95, 1.22):
        box_body, cab = cut(box_body, (0, 0, 1), z), cut(cab, (0, 0, 1), z)
    for x in (-2.3, -1.6):
        box_body = cut(box_body, (1, 0, 0), x)
    body = Mesh.merge([box_body, cab])
    blocks = _battenburg(
        body,
        half,
        0.80,
        1.24,
        -length / 2 + 0.1,
        length / 2 - 0.35,
        9,
        (stripe, base if variant == 0 else _YELLOW),
    )
    parts.append(blocks)
    glass = extrude(
        [(1.50, 1.98), (2.06, 1.24), (2.09, 1.25), (1.53, 1.99)],
        width * 0.80,
        _GLASS,
        Material.GLASS,
    )
    parts.append(glass)
    for side in (1.0, -1.0):
        window = extrude(
            [(0.95, 1.30), (1.85, 1.30), (1.45, 1.88), (0.95, 1.92)], 0.02, _GLASS, Material.GLASS
        )
        parts.append(window.transformed((0, side * (half * 0.92 + 0.005), 0)))
        y = side * (half + 0.006)
        # A six-armed star on the box, blue with white ground.
        parts.append(disc(0.36, 0.012, (-1.9, y, 1.85), _WHITE, axis=(0, 1, 0)))
        for k in range(3):
            parts.append(
                box((0.60, 0.024, 0.15), (0, 0, 0), _BLUE)
                .transformed(pitch=k * np.pi / 3 + np.pi / 2)
                .transformed((-1.9, y, 1.85))
            )
        parts.append(box((1.2, 0.012, 0.42), (-0.6, y, 1.85), _GLASS, Material.GLASS))
        parts.append(box((3.5, 0.02, 0.08), (-0.95, y, 2.30), stripe, Material.RETRO))
        parts.append(
            ellipsoid(
                (0.06, 0.17, 0.11),
                (2.74, side * half * 0.66, 0.86),
                (0.95, 0.96, 1.0),
                Material.GLOSSY,
                12,
            )
        )
        parts.append(
            box(
                (0.04, 0.14, 0.40),
                (-length / 2 - 0.005, side * half * 0.86, 0.95),
                (0.75, 0.03, 0.04),
                Material.GLOSSY,
            )
        )
        parts.append(rounded_box((0.16, 0.2, 0.30), 0.04, (1.9, side * (half + 0.1), 1.45), _BLACK))
        for x in (-1.75, 1.75):
            parts += _wheel(x, side, half - 0.0, 0.37)
    # Rear doors with windows and a chevron band, front grille and cross.
    back = -length / 2
    parts.append(box((0.02, 0.025, 1.8), (back - 0.005, 0, 1.45), (0.3, 0.3, 0.3)))
    for side in (1.0, -1.0):
        parts.append(
            box((0.02, 0.62, 0.55), (back - 0.006, side * 0.42, 1.95), _GLASS, Material.GLASS)
        )
    for k in range(8):
        parts.append(
            box(
                (0.02, width * 0.098, 0.35),
                (back - 0.004, (k - 3.5) * width * 0.098, 0.95),
                (_RED, _YELLOW)[k % 2],
                Material.RETRO,
            )
        )
    for size in ((0.02, 0.12, 0.40), (0.02, 0.40, 0.12)):
        parts.append(box(size, (back - 0.014, 0, 1.42), _RED))
    parts.append(box((0.04, width * 0.55, 0.20), (2.78, 0, 0.72), _BLACK, Material.GLOSSY))
    parts.append(box((0.03, 0.50, 0.12), (2.81, 0, 0.50), (0.92, 0.92, 0.90)))
    ink = _RED if variant == 0 else (0.05, 0.30, 0.15)
    parts += [
        lettering("AMBULANCE", 0.45, ink, Material.RETRO, width=1.35).transformed(
            (2.40, 0, 1.145), pitch=-1.29
        ),
        lettering("AMBULANCE", 0.17, ink, Material.RETRO, width=1.5).transformed((0.908, 0, 2.42)),
        lettering("AMBULANCE", 0.15, ink, Material.RETRO, width=1.4).transformed(
            (back - 0.006, 0, 2.37), yaw=np.pi
        ),
    ]
    parts += [
        lettering("AMBULANCE", 0.20, ink, Material.RETRO, width=1.9).transformed(
            (-0.75, side * (half + 0.004), 1.44), yaw=side * np.pi / 2
        )
        for side in (1.0, -1.0)
    ]
    red, blue = (1.0, 0.05, 0.05), (0.05, 0.2, 1.0)
    parts += _light_bar(1.05, 2.10, 1.5, (blue, blue, red, red))
    parts += _light_bar(back + 0.25, height - 0.06, 1.6, (blue, red, red, blue))
    return Mesh.merge(parts)
