"""Motor vehicles: police cars, ambulances, parked cars. Bodies are lofted from cross-sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....rendering.mesh import F32, Material, Mesh
from ....rendering.shapes.lettering import draped, lettering
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
_NIGHT = (0.045, 0.055, 0.085)
_SHINING = Material.EMISSIVE


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
    4.1, 1.76, 1.47,
    ((0, 0.62), (0.01, 0.86), (0.05, 0.98), (0.40, 0.96), (0.68, 0.93), (0.90, 0.80),
     (0.985, 0.66), (1, 0.55)),
    (0.015, 0.10, 0.56, 0.76),
)  # fmt: skip
ESTATE = Form(
    4.6, 1.80, 1.46,
    ((0, 0.60), (0.01, 0.86), (0.04, 0.96), (0.40, 0.95), (0.68, 0.92), (0.90, 0.79),
     (0.985, 0.64), (1, 0.52)),
    (0.012, 0.075, 0.55, 0.745),
)  # fmt: skip
SALOON = Form(
    4.7, 1.82, 1.44,
    ((0, 0.62), (0.01, 0.90), (0.04, 0.97), (0.20, 0.96), (0.68, 0.92), (0.90, 0.79),
     (0.985, 0.64), (1, 0.52)),
    (0.09, 0.27, 0.54, 0.73),
)  # fmt: skip
OFF_ROAD = Form(
    4.4, 1.84, 1.70,
    ((0, 0.70), (0.01, 1.02), (0.04, 1.10), (0.40, 1.08), (0.70, 1.06), (0.92, 0.96),
     (0.985, 0.80), (1, 0.66)),
    (0.012, 0.07, 0.57, 0.74),
    radius=0.36,
)  # fmt: skip
VAN = Form(
    5.2, 1.95, 2.25,
    ((0, 0.9), (0.005, 1.10), (0.03, 1.15), (0.40, 1.15), (0.80, 1.12), (0.93, 0.98),
     (0.985, 0.80), (1, 0.60)),
    (0.005, 0.015, 0.70, 0.875),
    (0.18, 0.82),
    0.35,
)  # fmt: skip


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
        [(0, -0.10), (radius * 0.72, -0.105), (radius * 0.96, -0.09), (radius, 0.0),
         (radius * 0.96, 0.09), (radius * 0.72, 0.105), (0, 0.10)],
        20, _BLACK,
    ).transformed((x, y, radius), roll=np.pi / 2)  # fmt: skip
    hub_y, rim = y + side * 0.107, (x, side * (half - 0.002), radius * 1.13)
    steel, across = (0.62, 0.63, 0.65), (0.0, 1.0, 0.0)
    parts = [
        tyre,
        disc(radius * 0.66, 0.012, (x, hub_y, radius), steel, Material.METAL, 14, across),
        disc(radius * 1.13, 0.01, rim, _BLACK, Material.MATTE, 16, across),
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
            1,
        ),
        rounded_box((0.06, half * 1.3, 0.09), 0.02, (front - 0.03, 0, 0.345), _BLACK, segments=1),
        box((0.04, 0.50, 0.11), (back - 0.005, 0, tail - 0.16), (0.92, 0.90, 0.75)),
        rounded_box(
            (0.10, form.width * 0.86, 0.14), 0.04, (back + 0.03, 0, 0.42), _BLACK, segments=1
        ),
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
                1,
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
                (0.26, width / n * 0.94, 0.15),
                0.035,
                (x, y, z + 0.12),
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

    def flank(m: F32) -> npt.NDArray[np.bool_]:
        reach = (end - start) / count
        along = (m[:, 0] > start - reach) & (m[:, 0] < end + reach)
        return np.asarray(along & (np.abs(m[:, 1]) > half * 0.7))

    for z in (low, middle, high):
        body = cut(body, (0, 0, 1), z, flank)
    for x in np.linspace(start, end, count + 1):
        body = cut(body, (1, 0, 0), float(x), flank)
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
    """Return an estate with blue and yellow blocks (0) or a black and white saloon (1)."""
    form = (ESTATE, SALOON)[variant]
    skin, *rest = car_body(form, _WHITE)
    half, back, front = form.width / 2, -form.length / 2, form.length / 2
    door = 0.86 if variant == 0 else 0.98  # half the length of the white panel on the doors, m
    if variant == 0:
        for start, end, count in ((back + 0.2, -door, 4), (door, front - 0.78, 2)):
            skin = _battenburg(skin, half, 0.48, 0.84, start, end, count, (_BLUE, _YELLOW))
    else:
        skin = cut(cut(skin, (1, 0, 0), -door), (1, 0, 0), door)
        skin = paint_where(
            skin, lambda m: (np.abs(m[:, 0]) > door) & (m[:, 2] > 0.34), _NIGHT, Material.GLOSSY
        )
    ink = _BLUE if variant == 0 else _NIGHT
    light = _BLUE if variant == 0 else _WHITE  # what stands out on bonnet and boot
    roof = ((form.cabin[1] + form.cabin[2]) / 2 - 0.5) * form.length
    red, blue = (1.0, 0.05, 0.05), (0.05, 0.2, 1.0)
    parts = [skin, *rest, *_lights(form)]
    parts += _light_bar(roof, form.height - 0.01, 1.3, (red, red, (0.9, 0.9, 1.0), blue, blue))
    for k in range(8):  # chevrons across the tail, blocks under the grille
        y, size = (k - 3.5) * form.width * 0.10, (0.04, form.width * 0.10, 0.17)
        shade = (_RED, _YELLOW)[k % 2]
        parts.append(box(size, (back + 0.005, y, 0.53), shade, Material.RETRO))
        shade = ((_BLUE, _YELLOW), (_NIGHT, _WHITE))[variant][k % 2]
        parts.append(
            box((0.02, 0.15, 0.11), (front + 0.004, y * 0.85, 0.50), shade, Material.RETRO)
        )
    for side, lamp in ((1.0, red), (-1.0, blue)):  # flashers in the grille and at the rear window
        parts.append(box((0.03, 0.16, 0.06), (front + 0.0, side * 0.34, 0.605), lamp, _SHINING))
        parts.append(_pressed("POLICE", 0.27, ink, 1.36, skin, (0.0, side * half, 0.645)))
    deck_x, deck_z = zip(*form.deck, strict=True)
    high = float(np.interp(0.02, deck_x, deck_z)) - 0.12
    word = lettering("POLICE", 0.125, light, Material.RETRO, width=0.95)
    word = word.transformed((back, 0, high), yaw=np.pi)
    parts.append(draped(word, skin, (1, 0, 0)))
    x = ((form.cabin[3] + 0.97) / 2 - 0.495) * form.length
    word = lettering("POLICE", 0.50, light, Material.RETRO, width=1.2)
    parts.append(draped(word.transformed((x, 0, 1.0), pitch=-np.pi / 2), skin, (0, 0, -1)))
    return Mesh.merge(parts)


def _pressed(
    word: str, height: float, ink: Colour, width: float, skin: Mesh, at: tuple[float, float, float]
) -> Mesh:
    """Return a word on the flank of a body near the point `at`, m."""
    flat = lettering(word, height, ink, Material.RETRO, width=width)
    side = float(np.sign(at[1]))
    return draped(flat.transformed(at, yaw=side * np.pi / 2), skin, (0, -side, 0))


def _ambulance(variant: int) -> Mesh:
    """Return a box-bodied ambulance: white and red (0), or yellow and green (1)."""
    base: Colour = (_WHITE, (0.97, 0.86, 0.10))[variant]
    stripe: Colour = (_RED, (0.04, 0.44, 0.16))[variant]
    ink: Colour = (_RED, (0.02, 0.28, 0.13))[variant]
    length, width, height = 5.6, 2.1, 2.6
    half, back = width / 2, -length / 2
    middle = (back + 1.85, 0, 0.5 + (height - 0.5) / 2 - 0.02)
    coach = rounded_box((3.7, width, height - 0.55), 0.07, middle, base, Material.GLOSSY)
    cab = extrude(
        [(0.8, 0.42), (2.72, 0.42), (2.80, 0.62), (2.74, 1.02), (2.05, 1.22), (1.45, 2.02),
         (0.8, 2.10)],
        width * 0.92, base, Material.GLOSSY, inset=0.08,
    )  # fmt: skip
    blocks = (stripe, base if variant == 0 else _YELLOW)
    coach = _battenburg(coach, half, 0.78, 1.22, back + 0.1, 0.86, 7, blocks)
    cab = _battenburg(cab, half, 0.78, 1.22, 0.86, 2.40, 3, blocks[::-1])
    chassis = box((length - 0.2, width - 0.3, 0.20), (0, 0, 0.42), _BLACK)
    screen = [(1.50, 1.98), (2.06, 1.24), (2.09, 1.25), (1.53, 1.99)]
    parts = [coach, cab, chassis, extrude(screen, width * 0.80, _GLASS, Material.GLASS)]
    for side in (1.0, -1.0):
        window = [(0.95, 1.30), (1.85, 1.30), (1.45, 1.88), (0.95, 1.92)]
        pane = extrude(window, 0.02, _GLASS, Material.GLASS)
        parts.append(pane.transformed((0, side * (half * 0.92 + 0.005), 0)))
        y = side * half
        # A six-armed star on the box, blue with white ground.
        star = (-2.05, y + side * 0.003, 1.98)
        parts.append(disc(0.36, 0.012, star, _WHITE, segments=20, axis=(0, 1, 0)))
        parts += [
            box((0.60, 0.020, 0.15), (0, 0, 0), _BLUE)
            .transformed(pitch=k * np.pi / 3 + np.pi / 2)
            .transformed(star)
            for k in range(3)
        ]
        parts += [
            box((1.5, 0.012, 0.36), (-0.7, y, 2.02), _GLASS, Material.GLASS),
            box((3.5, 0.008, 0.08), (-0.95, y, 2.36), stripe, Material.RETRO),
            _pressed("AMBULANCE", 0.34, ink, 3.2, coach, (-0.95, y, 1.47)),
            ellipsoid((0.06, 0.17, 0.11), (2.74, y * 0.66, 0.86), _WHITE, Material.GLOSSY, 10),
            box((0.04, 0.14, 0.40), (back - 0.005, y * 0.86, 0.95), _RED, Material.GLOSSY),
            rounded_box((0.16, 0.2, 0.30), 0.04, (1.9, y + side * 0.1, 1.45), _BLACK, segments=1),
            box((0.02, 0.62, 0.46), (back - 0.006, side * 0.42, 1.82), _GLASS, Material.GLASS),
        ]
        for x in (-1.75, 1.75):
            parts += _wheel(x, side, half, 0.37)
    # Rear doors with a chevron band and a cross, front grille and plate.
    parts.append(box((0.02, 0.025, 1.6), (back - 0.005, 0, 1.35), (0.3, 0.3, 0.3)))
    for k in range(8):
        place, shade = (back - 0.004, (k - 3.5) * width * 0.098, 0.95), (_RED, _YELLOW)[k % 2]
        parts.append(box((0.02, width * 0.098, 0.35), place, shade, Material.RETRO))
    for size in ((0.02, 0.12, 0.40), (0.02, 0.40, 0.12)):
        parts.append(box(size, (back - 0.014, 0, 1.36), _RED))
    parts.append(box((0.04, width * 0.55, 0.20), (2.78, 0, 0.72), _BLACK, Material.GLOSSY))
    parts.append(box((0.03, 0.50, 0.12), (2.81, 0, 0.50), (0.92, 0.92, 0.90)))
    bonnet = lettering("AMBULANCE", 0.50, ink, Material.RETRO, width=1.6)
    brow = lettering("AMBULANCE", 0.20, ink, Material.RETRO, width=1.85)
    parts += [
        draped(bonnet.transformed((2.40, 0, 1.145), pitch=-1.29), cab, (-0.27, 0, -0.96)),
        draped(brow.transformed((0.908, 0, 2.43)), coach, (-1, 0, 0)),
        draped(brow.transformed((back, 0, 2.28), yaw=np.pi), coach, (1, 0, 0)),
    ]
    red, blue = (1.0, 0.05, 0.05), (0.05, 0.2, 1.0)
    parts += _light_bar(1.12, 2.03, 1.6, (blue, blue, red, red))
    parts += _light_bar(back + 0.25, height - 0.06, 1.6, (blue, red, red, blue))
    for side, lamp in ((1.0, red), (-1.0, blue)):
        parts.append(box((0.03, 0.20, 0.07), (2.80, side * 0.42, 0.86), lamp, _SHINING))
    return Mesh.merge(parts)
