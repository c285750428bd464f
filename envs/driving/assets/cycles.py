"""People on wheels: wheelchair users and cyclists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.people import (
    Person,
    Pose,
    Skeleton,
    head_frame,
    person_mesh,
    skeleton,
)
from ....rendering.shapes.primitives import (
    Colour,
    box,
    capsule,
    cylinder,
    disc,
    ellipsoid,
    lathe,
    loft,
    rounded_box,
    sweep,
    torus,
)

_STEEL = (0.75, 0.76, 0.78)
_SPOKE = (0.86, 0.87, 0.88)
_HANDRIM = (0.94, 0.95, 0.96)
_RUBBER = (0.05, 0.05, 0.055)
_SEAT = (0.09, 0.09, 0.11)
_RED = (0.90, 0.08, 0.06)


def _sitting(unit: float) -> Pose:
    """Return the pose of a wheelchair user whose body height below the chin is `unit` metres."""

    def m(*metres: float) -> tuple[float, ...]:
        return tuple(value / unit for value in metres)

    return Pose(
        pelvis=(-0.10 / unit, 0.60 / unit),
        lean=-0.10,
        hands=(m(0.12, 0.30, 0.70), m(0.12, -0.30, 0.70)),
        feet=(m(0.42, 0.10, 0.21), m(0.42, -0.10, 0.21)),
        elbows=(-1.0, 0.4, 0.0),
        knees=(0.3, 0.1, 1.0),
        grips=(0.8, 0.8),
    )


def _seated(person: Person) -> Person:
    return replace(person, pose=_sitting(person.height * (1 - 1 / person.heads)))


SITTERS: tuple[Person, ...] = (
    Person(
        height=1.76,
        detail="zip",
        glasses=True,
        top=(0.72, 0.20, 0.18),
        bottom=(0.30, 0.34, 0.46),
        hair=(0.66, 0.65, 0.63),
    ),
    Person(
        height=1.66,
        woman=True,
        hair_style="long",
        hair=(0.50, 0.30, 0.14),
        top=(0.25, 0.50, 0.72),
        bottom=(0.42, 0.38, 0.34),
    ),
    Person(
        height=1.78,
        skin=(0.45, 0.30, 0.22),
        hair=(0.05, 0.04, 0.04),
        beard=True,
        top=(0.90, 0.86, 0.78),
        detail="stripes",
        inner=(0.20, 0.45, 0.35),
        sleeves="short",
        bottom=(0.28, 0.36, 0.54),
        shoes=(0.90, 0.90, 0.90),
    ),
    Person(
        height=1.62,
        woman=True,
        hair_style="bun",
        hair=(0.80, 0.79, 0.77),
        glasses=True,
        skin=(0.84, 0.66, 0.56),
        top=(0.56, 0.32, 0.56),
        detail="open",
        bottom=(0.36, 0.33, 0.32),
    ),
)
_FRAMES: tuple[Colour, ...] = (
    (0.78, 0.79, 0.81),
    (0.14, 0.36, 0.80),
    (0.85, 0.12, 0.12),
    (0.66, 0.67, 0.70),
)


def wheel(
    radius: float, tyre: float, spokes: int, rim: Colour = _STEEL, side: float = 0.03
) -> Mesh:
    """Return a spoked wheel about the y axis, centred on the origin."""
    inner = radius - 2 * tyre
    parts = [
        torus(radius - tyre, tyre, _RUBBER, Material.MATTE, segments=20, sides=5),
        torus(inner, tyre * 0.55, rim, Material.METAL, segments=20, sides=3),
        cylinder((0, -side, 0), (0, side, 0), 0.028, _STEEL, Material.METAL, 6),
    ]
    for k in range(spokes):
        a = 2 * np.pi * k / spokes
        y = side * (0.8 if k % 2 else -0.8)
        parts.append(
            sweep(
                [(0, y, 0), (inner * np.cos(a), 0, inner * np.sin(a))],
                0.004,
                _SPOKE,
                Material.METAL,
                sides=3,
            )
        )
    return Mesh.merge(parts)


def _pipe(points: Sequence[Sequence[float]], radius: float, colour: Colour) -> list[Mesh]:
    return [sweep(points, radius, colour, Material.GLOSSY, sides=5)]


def wheelchair(variant: int) -> Mesh:
    """Return a person in a wheelchair: spoked wheels with handrims, casters, footrests.

    The big wheels lean in at the top and wear pale handrims, so that they are wheels from ahead
    and from behind too.
    """
    frame = _FRAMES[variant]
    parts = [person_mesh(_seated(SITTERS[variant]), grounded=False)]
    for side in (1.0, -1.0):
        big = wheel(0.31, 0.021, 10)
        rim = torus(0.262, 0.013, _HANDRIM, Material.GLOSSY, segments=18, sides=4)
        big = Mesh.merge([big, rim.transformed((0, side * 0.05, 0))])
        parts.append(big.transformed((-0.10, side * 0.305, 0.31), roll=side * 0.085))
        caster = torus(0.072, 0.022, _RUBBER, segments=12, sides=5)
        hub = disc(0.058, 0.02, (0, 0, 0), (0.75, 0.75, 0.77), Material.METAL, 10, (0, 1, 0))
        parts += [m.transformed((0.30, side * 0.22, 0.094)) for m in (caster, hub)]
        parts += _pipe([(0.30, side * 0.22, 0.09), (0.28, side * 0.22, 0.24)], 0.015, frame)
        parts += _pipe(
            [
                (-0.44, side * 0.22, 0.97),
                (-0.33, side * 0.22, 0.95),
                (-0.30, side * 0.22, 0.50),
                (0.26, side * 0.22, 0.48),
                (0.34, side * 0.20, 0.40),
                (0.42, side * 0.14, 0.13),
            ],
            0.017,
            frame,
        )
        parts += _pipe(
            [(-0.30, side * 0.22, 0.50), (-0.12, side * 0.23, 0.31), (0.28, side * 0.22, 0.24)],
            0.014,
            frame,
        )
        parts += _pipe(
            [(-0.28, side * 0.235, 0.71), (0.06, side * 0.235, 0.71), (0.10, side * 0.235, 0.48)],
            0.014,
            frame,
        )
        parts.append(box((0.26, 0.055, 0.03), (-0.12, side * 0.24, 0.73), _RUBBER))
        parts.append(box((0.40, 0.012, 0.16), (-0.08, side * 0.225, 0.58), _SEAT))
        grip = capsule(
            (-0.44, side * 0.22, 0.97),
            (-0.53, side * 0.22, 0.97),
            0.022,
            colour=_RUBBER,
            segments=6,
        )
        plate = box((0.19, 0.15, 0.022), (0.47, side * 0.105, 0.115), (0.62, 0.63, 0.65))
        parts += [grip, plate]
    parts.append(box((0.46, 0.42, 0.05), (-0.03, 0, 0.485), _SEAT))
    back = rounded_box((0.04, 0.42, 0.46), 0.018, (0, 0, 0), _SEAT, Material.CLOTH, 1)
    parts.append(back.transformed((-0.31, 0, 0.73), pitch=-0.06))
    # Pale piping, a cross brace and reflectors, seen from behind.
    for z in (0.56, 0.91):
        strip = box(
            (0.008, 0.40, 0.03), (-0.336 + 0.06 * (0.73 - z), 0, z), _HANDRIM, Material.RETRO
        )
        parts.append(strip)
    for a, b in ((0.22, -0.22), (-0.22, 0.22)):
        parts += _pipe([(-0.20, a, 0.46), (-0.20, b, 0.24)], 0.012, frame)
    for side in (1.0, -1.0):
        parts.append(box((0.012, 0.06, 0.03), (-0.345, side * 0.16, 0.65), _RED, Material.RETRO))
    parts += _pipe([(-0.10, -0.28, 0.31), (-0.10, 0.28, 0.31)], 0.014, frame)
    mesh = Mesh.merge(parts)
    return mesh.transformed((0, 0, -float(mesh.bounds[0][2])))


_RIDING = Pose(
    pelvis=(-0.20 / 1.52, 0.985 / 1.52),
    lean=0.50,
    hands=((0.26 / 1.52, 0.275 / 1.52, 1.045 / 1.52), (0.26 / 1.52, -0.275 / 1.52, 1.045 / 1.52)),
    feet=((0.10 / 1.52, 0.12 / 1.52, 0.27 / 1.52), (-0.04 / 1.52, -0.12 / 1.52, 0.50 / 1.52)),
    elbows=(-0.4, 0.7, -0.8),
    knees=(1.0, 0.18, 0.4),
    toes=(0.15, 0.05),
    grips=(0.9, 0.9),
)
RIDERS: tuple[Person, ...] = (
    Person(
        height=1.75,
        detail="zip",
        inner=(0.1, 0.1, 0.1),
        top=(0.90, 0.25, 0.12),
        bottom=(0.08, 0.08, 0.10),
        legs="shorts",
        shoes=(0.9, 0.9, 0.9),
        pose=_RIDING,
    ),
    Person(
        height=1.70,
        woman=True,
        hair_style="ponytail",
        skin=(0.66, 0.47, 0.36),
        hair=(0.10, 0.06, 0.05),
        detail="stripes",
        top=(0.20, 0.62, 0.78),
        bottom=(0.15, 0.15, 0.22),
        shoes=(0.92, 0.92, 0.92),
        pose=_RIDING,
    ),
    Person(
        height=1.80,
        skin=(0.45, 0.30, 0.22),
        hair=(0.05, 0.04, 0.04),
        beard=True,
        top=(0.16, 0.52, 0.34),
        bottom=(0.34, 0.38, 0.46),
        shoes=(0.85, 0.30, 0.15),
        pose=_RIDING,
    ),
    Person(
        height=1.68,
        woman=True,
        hair_style="long",
        hair=(0.60, 0.42, 0.20),
        glasses=True,
        sleeves="short",
        top=(0.92, 0.90, 0.86),
        bottom=(0.24, 0.32, 0.52),
        shoes=(0.75, 0.20, 0.25),
        pose=_RIDING,
    ),
)


@dataclass(frozen=True, slots=True)
class _Bicycle:
    """Looks of a bicycle: frame, helmet, and what it carries ("", "panniers", "basket", "pack")."""

    frame: Colour
    helmet: Colour
    load: str
    cloth: Colour = (0.85, 0.12, 0.10)


_BICYCLES: tuple[_Bicycle, ...] = (
    _Bicycle((0.12, 0.36, 0.88), (0.95, 0.95, 0.95), ""),
    _Bicycle((0.88, 0.12, 0.16), (0.90, 0.15, 0.20), "basket", (0.62, 0.44, 0.24)),
    _Bicycle((0.95, 0.62, 0.08), (0.96, 0.86, 0.16), "panniers"),
    _Bicycle((0.20, 0.70, 0.72), (0.15, 0.45, 0.90), "pack", (0.86, 0.32, 0.12)),
)
_REAR, _FRONT, _CRANK = (-0.53, 0.0, 0.345), (0.53, 0.0, 0.345), (-0.08, 0.0, 0.29)
_SADDLE, _HEAD_LOW, _HEAD_HIGH = (-0.24, 0.0, 0.80), (0.34, 0.0, 0.70), (0.31, 0.0, 0.87)


def cyclist(variant: int) -> Mesh:
    """Return a rider with a helmet on a bicycle, 1.75 m long.

    Broad painted mudguards, a lamp and a reflector make a bicycle of it from ahead and behind.
    """
    rider, bicycle = RIDERS[variant], _BICYCLES[variant]
    bones = skeleton(rider)
    worn = _helmet(bones, bicycle.helmet)
    if bicycle.load == "pack":
        pack = rounded_box((0.15, 0.28, 0.40), 0.06, (0, 0, 0), bicycle.cloth, Material.CLOTH)
        worn.append(pack.transformed(tuple(bones.on_trunk(-0.125, 0, 0.20)), pitch=rider.pose.lean))
    parts = [person_mesh(rider, worn, grounded=False)]
    parts += [*_wheels(bicycle.frame), *_frame(bicycle.frame), *_cockpit(), *_load(bicycle)]
    mesh = Mesh.merge(parts)
    return mesh.transformed((0, 0, -float(mesh.bounds[0][2])))


def _helmet(bones: Skeleton, colour: Colour) -> list[Mesh]:
    shell = lathe(
        [(0, 0.54), (0.22, 0.49), (0.38, 0.34), (0.44, 0.12), (0.42, 0.05), (0, 0.10)],
        14,
        colour,
        Material.GLOSSY,
        60,
    ).transformed((-0.04, 0, 0.06), scale=(1.24, 0.98, 1.0), pitch=-0.08)
    vents = [
        ellipsoid((0.32, 0.035, 0.06), (-0.02, y, 0.50), (0.10, 0.10, 0.11), segments=6)
        for y in (-0.16, 0.0, 0.16)
    ]
    return [head_frame(bones, part) for part in (shell, *vents)]


def _wheels(colour: Colour) -> list[Mesh]:
    tyre = wheel(0.345, 0.030, 10)
    parts = [tyre.transformed(_REAR), tyre.transformed(_FRONT)]
    for middle, start, stop in ((_REAR, 0.25, 3.5), (_FRONT, 0.15, 2.7)):
        parts.append(_mudguard(0.372, 0.085, start, stop, colour).transformed(middle))
    return parts


def _mudguard(radius: float, width: float, start: float, stop: float, colour: Colour) -> Mesh:
    """Return a curved strip about the y axis, from one angle to another, 0 = ahead."""
    angle = np.linspace(start, stop, 12)
    rings = []
    for a in angle:
        out = np.array([np.cos(a), 0.0, np.sin(a)])
        across = np.array([0.0, width / 2, 0.0])
        low, high = out * radius, out * (radius + 0.010)
        rings.append(
            np.stack([low - across, low + across, high + across * 0.7, high - across * 0.7])
        )
    return loft(np.stack(rings), colour, Material.GLOSSY, 30.0)


def _frame(colour: Colour) -> list[Mesh]:
    parts = []
    for points in (
        [_CRANK, _SADDLE],
        [_SADDLE, _HEAD_HIGH],
        [_CRANK, _HEAD_LOW],
        [_HEAD_LOW, _HEAD_HIGH],
    ):
        parts += _pipe(points, 0.025, colour)
    parts += _pipe([_SADDLE, (-0.26, 0, 0.90)], 0.015, _STEEL)
    for side in (1.0, -1.0):
        y = side * 0.05
        parts += _pipe([(-0.53, y, 0.345), (-0.08, y * 0.6, 0.29)], 0.013, colour)
        parts += _pipe([(-0.53, y, 0.345), (-0.24, 0, 0.78)], 0.013, colour)
        parts += _pipe([(0.53, y, 0.345), (0.36, y * 0.8, 0.68)], 0.017, colour)
        y = side * 0.085
        x, z = (0.05, 0.18) if side > 0 else (-0.13, 0.42)
        parts += _pipe([(-0.08, y * 0.7, 0.29), (x, y, z)], 0.012, _STEEL)
        parts.append(box((0.09, 0.10, 0.025), (x, side * 0.13, z), _RUBBER))
    parts.append(disc(0.10, 0.008, (-0.08, -0.045, 0.29), _STEEL, Material.METAL, 14, (0, 1, 0)))
    return parts


def _cockpit() -> list[Mesh]:
    """Handlebar, saddle, lamps."""
    bar = [
        (0.24, 0.31, 1.0),
        (0.34, 0.27, 1.01),
        (0.37, 0.1, 1.02),
        (0.37, -0.1, 1.02),
        (0.34, -0.27, 1.01),
        (0.24, -0.31, 1.0),
    ]
    lamp = ellipsoid(
        (0.025, 0.042, 0.042), (0.42, 0, 0.90), (1.0, 0.98, 0.85), Material.EMISSIVE, 8
    )
    tail = ellipsoid(
        (0.02, 0.036, 0.036), (-0.33, 0, 0.80), (0.95, 0.05, 0.05), Material.EMISSIVE, 8
    )
    return [
        *_pipe([_HEAD_HIGH, (0.37, 0, 1.02)], 0.019, _STEEL),
        sweep(bar, 0.016, (0.15, 0.15, 0.16), Material.METAL, sides=5),
        ellipsoid((0.15, 0.085, 0.045), (-0.27, 0, 0.905), (0.06, 0.06, 0.06), segments=10),
        lamp,
        tail,
        box((0.012, 0.10, 0.05), (-0.905, 0, 0.42), _RED, Material.RETRO),
    ]


def _load(bicycle: _Bicycle) -> list[Mesh]:
    if bicycle.load == "panniers":
        rack = _pipe([(-0.28, 0, 0.76), (-0.80, 0, 0.76)], 0.012, _STEEL)
        bags = [
            rounded_box((0.32, 0.12, 0.32), 0.03, (-0.60, side * 0.13, 0.58), bicycle.cloth,
                        Material.CLOTH, 1)
            for side in (1.0, -1.0)
        ]  # fmt: skip
        strips = [
            box((0.006, 0.09, 0.05), (-0.763, side * 0.13, 0.60), (0.9, 0.9, 0.9), Material.RETRO)
            for side in (1.0, -1.0)
        ]
        return [*rack, *bags, *strips]
    if bicycle.load == "basket":
        floor = rounded_box((0.22, 0.34, 0.20), 0.03, (0.50, 0, 0.90), bicycle.cloth,
                            Material.WOOD, 1)  # fmt: skip
        greens = [
            ellipsoid((0.08, 0.09, 0.07), (0.50, y, 1.01), (0.30, 0.55, 0.20), segments=6)
            for y in (-0.08, 0.07)
        ]
        return [floor, *greens]
    return []


__all__ = ["RIDERS", "SITTERS", "cyclist", "wheel", "wheelchair"]
