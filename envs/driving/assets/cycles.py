"""People on wheels: wheelchair users and cyclists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.people import Person, Pose, head_frame, person_mesh, skeleton
from ....rendering.shapes.primitives import (
    Colour,
    box,
    capsule,
    cylinder,
    disc,
    ellipsoid,
    lathe,
    rounded_box,
    sweep,
    torus,
)

_STEEL = (0.75, 0.76, 0.78)
_RUBBER = (0.05, 0.05, 0.055)


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
    )


def _seated(person: Person) -> Person:
    return replace(person, pose=_sitting(person.height * (1 - 1 / person.heads)))


SITTERS: tuple[Person, ...] = (
    Person(
        height=1.76,
        detail="zip",
        top=(0.72, 0.20, 0.18),
        bottom=(0.17, 0.22, 0.36),
        hair=(0.42, 0.40, 0.38),
    ),
    Person(
        height=1.66,
        woman=True,
        hair_style="long",
        hair=(0.50, 0.30, 0.14),
        top=(0.25, 0.50, 0.72),
        bottom=(0.25, 0.24, 0.25),
    ),
)
_FRAMES: tuple[Colour, ...] = ((0.10, 0.11, 0.13), (0.12, 0.25, 0.55))


def wheel(
    radius: float, tyre: float, spokes: int, rim: Colour = _STEEL, side: float = 0.03
) -> Mesh:
    """Return a spoked wheel about the y axis, centred on the origin."""
    inner = radius - 2 * tyre
    parts = [
        torus(radius - tyre, tyre, _RUBBER, Material.MATTE, segments=30, sides=5),
        torus(inner, tyre * 0.7, rim, Material.METAL, segments=30, sides=3),
        cylinder((0, -side, 0), (0, side, 0), 0.024, _STEEL, Material.METAL, 8),
    ]
    for k in range(spokes):
        a = 2 * np.pi * k / spokes
        y = side * (0.8 if k % 2 else -0.8)
        parts.append(
            cylinder(
                (0, y, 0),
                (inner * np.cos(a), 0, inner * np.sin(a)),
                0.0035,
                _STEEL,
                Material.METAL,
                3,
            )
        )
    return Mesh.merge(parts)


def _pipe(points: Sequence[Sequence[float]], radius: float, colour: Colour) -> list[Mesh]:
    return [sweep(points, radius, colour, Material.GLOSSY)]


def wheelchair(variant: int) -> Mesh:
    """Return a person in a wheelchair: spoked wheels with handrims, casters, footrests."""
    frame = _FRAMES[variant]
    parts = [person_mesh(_seated(SITTERS[variant]), grounded=False)]
    for side in (1.0, -1.0):
        y = side * 0.30
        big = wheel(0.31, 0.017, 16)
        parts.append(big.transformed((-0.10, y, 0.31), roll=side * 0.04))
        rim = torus(0.265, 0.010, (0.85, 0.86, 0.88), Material.METAL, segments=26, sides=4)
        parts.append(rim.transformed((-0.10, y + side * 0.045, 0.31)))
        caster = torus(0.072, 0.018, _RUBBER, segments=12, sides=5)
        hub = disc(0.06, 0.02, (0, 0, 0), (0.6, 0.6, 0.62), Material.METAL, 12, (0, 1, 0))
        parts += [m.transformed((0.30, side * 0.23, 0.09)) for m in (caster, hub)]
        parts += _pipe([(0.30, side * 0.23, 0.09), (0.28, side * 0.23, 0.24)], 0.013, frame)
        parts += _pipe(
            [
                (-0.44, side * 0.22, 0.97),
                (-0.33, side * 0.22, 0.95),
                (-0.30, side * 0.22, 0.50),
                (0.26, side * 0.22, 0.48),
                (0.34, side * 0.20, 0.40),
                (0.42, side * 0.13, 0.13),
            ],
            0.014,
            frame,
        )
        parts += _pipe(
            [
                (-0.30, side * 0.22, 0.50),
                (-0.12, side * 0.24, 0.31),
                (0.28, side * 0.23, 0.24),
                (0.26, side * 0.22, 0.48),
            ],
            0.012,
            frame,
        )
        parts += _pipe(
            [(-0.28, side * 0.24, 0.71), (0.06, side * 0.24, 0.71), (0.10, side * 0.24, 0.48)],
            0.013,
            frame,
        )
        parts.append(rounded_box((0.24, 0.055, 0.03), 0.012, (-0.12, side * 0.245, 0.73), _RUBBER))
        parts.append(box((0.50, 0.012, 0.20), (-0.05, side * 0.235, 0.58), frame))
        grip = capsule(
            (-0.44, side * 0.22, 0.97),
            (-0.52, side * 0.22, 0.97),
            0.020,
            colour=_RUBBER,
            segments=8,
        )
        plate = rounded_box((0.17, 0.13, 0.02), 0.008, (0.46, side * 0.10, 0.115), (0.3, 0.3, 0.32))
        parts += [grip, plate.transformed(pitch=0.0)]
    parts.append(rounded_box((0.46, 0.42, 0.05), 0.02, (-0.03, 0, 0.485), (0.08, 0.08, 0.09)))
    back = rounded_box((0.04, 0.42, 0.44), 0.018, (0, 0, 0), (0.08, 0.08, 0.09), Material.CLOTH)
    parts.append(back.transformed((-0.31, 0, 0.73), pitch=-0.06))
    parts += _pipe([(-0.12, -0.28, 0.31), (-0.12, 0.28, 0.31)], 0.014, frame)
    mesh = Mesh.merge(parts)
    return mesh.transformed((0, 0, -float(mesh.bounds[0][2])))


_RIDING = Pose(
    pelvis=(-0.20 / 1.52, 0.985 / 1.52),
    lean=0.50,
    hands=((0.26 / 1.52, 0.275 / 1.52, 1.045 / 1.52), (0.26 / 1.52, -0.275 / 1.52, 1.045 / 1.52)),
    feet=((0.10 / 1.52, 0.12 / 1.52, 0.27 / 1.52), (-0.04 / 1.52, -0.12 / 1.52, 0.50 / 1.52)),
    elbows=(-0.4, 0.7, -0.8),
    knees=(1.0, 0.05, 0.4),
    toes=(0.15, 0.05),
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
        detail="stripes",
        top=(0.20, 0.62, 0.78),
        bottom=(0.15, 0.15, 0.22),
        pose=_RIDING,
    ),
    Person(
        height=1.80,
        skin=(0.45, 0.30, 0.22),
        top=(0.90, 0.80, 0.15),
        bottom=(0.30, 0.33, 0.40),
        pose=_RIDING,
    ),
)
_BICYCLES: tuple[Colour, ...] = ((0.10, 0.25, 0.70), (0.75, 0.10, 0.15), (0.15, 0.45, 0.25))
_HELMETS: tuple[Colour, ...] = ((0.95, 0.95, 0.95), (0.85, 0.15, 0.20), (0.10, 0.10, 0.12))


def cyclist(variant: int) -> Mesh:
    """Return a rider with a helmet on a bicycle, 1.7 m long."""
    rider = RIDERS[variant]
    bones = skeleton(rider)
    frame = _BICYCLES[variant]
    helmet = lathe(
        [(0, 0.50), (0.20, 0.46), (0.36, 0.32), (0.42, 0.12), (0.40, 0.06), (0, 0.10)],
        16,
        _HELMETS[variant],
        Material.GLOSSY,
        60,
    ).transformed((-0.04, 0, 0.06), scale=(1.22, 0.98, 1.0), pitch=-0.08)
    vents = [
        ellipsoid((0.30, 0.03, 0.05), (-0.02, y, 0.47), (0.12, 0.12, 0.13), segments=8)
        for y in (-0.15, 0.0, 0.15)
    ]
    parts = [person_mesh(rider, [head_frame(bones, m) for m in (helmet, *vents)], grounded=False)]
    rear, front, crank = (-0.53, 0, 0.345), (0.53, 0, 0.345), (-0.08, 0, 0.29)
    seat, head_low, head_high = (-0.24, 0, 0.80), (0.34, 0, 0.70), (0.31, 0, 0.87)
    tyre = wheel(0.345, 0.026, 18)
    parts += [tyre.transformed(rear), tyre.transformed(front)]
    for points in (
        [crank, seat],
        [seat, head_high],
        [crank, head_low],
        [head_low, head_high],
    ):
        parts += _pipe(points, 0.021, frame)
    parts += _pipe([seat, (-0.26, 0, 0.90)], 0.014, _STEEL)
    for side in (1.0, -1.0):
        y = side * 0.05
        parts += _pipe([(-0.53, y, 0.345), (-0.08, y * 0.6, 0.29)], 0.011, frame)
        parts += _pipe([(-0.53, y, 0.345), (-0.24, 0, 0.78)], 0.011, frame)
        parts += _pipe([(0.53, y, 0.345), (0.36, y * 0.8, 0.68)], 0.014, frame)
    bar = [
        (0.24, 0.31, 1.0),
        (0.34, 0.27, 1.01),
        (0.37, 0.1, 1.02),
        (0.37, -0.1, 1.02),
        (0.34, -0.27, 1.01),
        (0.24, -0.31, 1.0),
    ]
    parts += _pipe([head_high, (0.37, 0, 1.02)], 0.017, _STEEL)
    parts.append(sweep(bar, 0.014, (0.15, 0.15, 0.16), Material.METAL))
    parts.append(
        ellipsoid((0.15, 0.085, 0.045), (-0.27, 0, 0.905), (0.06, 0.06, 0.06), segments=12)
    )
    parts.append(disc(0.10, 0.008, (-0.08, -0.045, 0.29), _STEEL, Material.METAL, 16, (0, 1, 0)))
    for side in (1.0, -1.0):
        y = side * 0.085
        x, z = (0.05, 0.18) if side > 0 else (-0.13, 0.42)
        parts += _pipe([(-0.08, y * 0.7, 0.29), (x, y, z)], 0.011, _STEEL)
        parts.append(box((0.09, 0.10, 0.025), (x, side * 0.13, z), _RUBBER))
    parts += [
        torus(0.375, 0.022, frame, Material.GLOSSY, arc=2.2, segments=14, sides=4).transformed(
            rear, pitch=-1.3
        ),
        ellipsoid((0.02, 0.03, 0.03), (0.41, 0, 0.93), (1.0, 0.98, 0.85), Material.EMISSIVE, 10),
        ellipsoid((0.02, 0.03, 0.03), (-0.31, 0, 0.78), (0.95, 0.05, 0.05), Material.EMISSIVE, 10),
    ]
    mesh = Mesh.merge(parts)
    return mesh.transformed((0, 0, -float(mesh.bounds[0][2])))
