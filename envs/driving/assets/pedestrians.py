"""People on foot: adults, children, police officers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.people import (
    STEPPING,
    Person,
    Pose,
    Skeleton,
    collar,
    head_frame,
    person_mesh,
    skeleton,
    top_surface,
)
from ....rendering.shapes.primitives import bands, box, capsule, ellipsoid, lathe, rounded_box

_OTHER_STEP = replace(
    STEPPING,
    hands=((0.15, 0.17, 0.55), (-0.10, -0.18, 0.53)),
    feet=((-0.17, 0.06, 0.10), (0.15, -0.06, 0.055)),
    toes=(0.55, -0.15),
)
_RAISED = Pose(hands=((0.03, 0.185, 0.515), (0.20, -0.22, 1.13)), elbows=(0.1, 1.0, -0.4))
_STOP = Pose(hands=((0.03, 0.185, 0.515), (0.20, -0.20, 1.00)), elbows=(0.1, 0.7, -1.0))

ADULTS: tuple[Person, ...] = (
    Person(height=1.80, top=(0.20, 0.33, 0.62), bottom=(0.13, 0.14, 0.18), hem=0.06, detail="zip"),
    Person(
        height=1.66,
        woman=True,
        hair_style="long",
        hair=(0.30, 0.17, 0.08),
        top=(0.78, 0.16, 0.18),
        bottom=(0.16, 0.20, 0.34),
        hem=0.16,
        detail="open",
        pose=STEPPING,
    ),
    Person(
        height=1.75,
        skin=(0.45, 0.30, 0.22),
        hair=(0.05, 0.04, 0.04),
        detail="stripes",
        inner=(0.15, 0.25, 0.45),
        top=(0.90, 0.88, 0.82),
        sleeves="short",
        bottom=(0.30, 0.38, 0.55),
        shoes=(0.85, 0.85, 0.85),
        pose=_OTHER_STEP,
    ),
    Person(
        height=1.63,
        woman=True,
        hair_style="bun",
        hair=(0.62, 0.45, 0.22),
        top=(0.20, 0.52, 0.42),
        bottom=(0.55, 0.45, 0.33),
        legs="skirt",
        hem=0.04,
    ),
    Person(
        height=1.84,
        width=1.1,
        skin=(0.85, 0.66, 0.55),
        hair=(0.45, 0.43, 0.41),
        detail="open",
        inner=(0.75, 0.80, 0.88),
        top=(0.47, 0.37, 0.24),
        bottom=(0.22, 0.22, 0.23),
        hem=0.20,
        pose=STEPPING,
    ),
    Person(
        height=1.70,
        woman=True,
        hair_style="ponytail",
        skin=(0.62, 0.43, 0.32),
        hair=(0.08, 0.05, 0.04),
        top=(0.93, 0.70, 0.15),
        bottom=(0.12, 0.13, 0.16),
        shoes=(0.9, 0.3, 0.35),
        pose=_OTHER_STEP,
    ),
)

CHILDREN: tuple[Person, ...] = (
    Person(
        height=1.20,
        heads=6.0,
        top=(0.95, 0.76, 0.10),
        bottom=(0.13, 0.33, 0.72),
        shoes=(0.85, 0.15, 0.15),
    ),
    Person(
        height=1.12,
        heads=5.8,
        hair_style="ponytail",
        hair=(0.55, 0.36, 0.16),
        detail="stripes",
        inner=(0.98, 0.85, 0.90),
        top=(0.93, 0.30, 0.52),
        bottom=(0.45, 0.30, 0.65),
        legs="skirt",
        sleeves="short",
        shoes=(0.95, 0.95, 0.95),
        pose=STEPPING,
    ),
    Person(
        height=1.24,
        heads=6.1,
        skin=(0.45, 0.30, 0.22),
        hair=(0.05, 0.04, 0.04),
        top=(0.88, 0.18, 0.14),
        bottom=(0.25, 0.55, 0.35),
        legs="shorts",
        sleeves="short",
        shoes=(0.92, 0.92, 0.92),
        pose=_OTHER_STEP,
    ),
    Person(
        height=1.07,
        heads=5.7,
        hair_style="long",
        hair=(0.20, 0.12, 0.07),
        detail="zip",
        inner=(0.95, 0.95, 0.95),
        top=(0.25, 0.75, 0.80),
        bottom=(0.90, 0.45, 0.15),
        hem=0.06,
        shoes=(0.6, 0.2, 0.6),
    ),
)
_BAGS = ((0.85, 0.15, 0.15), (0.20, 0.65, 0.85), (0.98, 0.80, 0.10), (0.95, 0.35, 0.60))

OFFICERS: tuple[Person, ...] = (
    Person(height=1.82, width=1.06, pose=_STOP),
    Person(height=1.76, woman=True, hair_style="bun", skin=(0.62, 0.43, 0.32), pose=_RAISED),
    Person(height=1.80, width=1.04, skin=(0.85, 0.66, 0.55)),
)
_NAVY = (0.07, 0.09, 0.17)
_HI_VIS = (0.82, 0.98, 0.10)
_SILVER = (0.86, 0.88, 0.90)


def adult(variant: int) -> Mesh:
    """Return an adult; 1.62 to 1.85 m."""
    return person_mesh(ADULTS[variant])


def child(variant: int) -> Mesh:
    """Return a child with a school bag, and in two variants a ball; 1.05 to 1.25 m."""
    person = CHILDREN[variant]
    bones = skeleton(person)
    u = bones.unit
    bag = rounded_box(
        (0.13 * u, 0.22 * u, 0.27 * u), 0.035 * u, (0, 0, 0), _BAGS[variant], Material.CLOTH, 3
    )
    pocket = rounded_box(
        (0.05 * u, 0.16 * u, 0.11 * u),
        0.02 * u,
        (-0.07 * u, 0, -0.05 * u),
        tuple(c * 0.7 for c in _BAGS[variant]),
        Material.CLOTH,
    )
    carried = [
        part.transformed(tuple(bones.on_trunk(-0.135, 0, 0.20)), pitch=person.pose.lean)
        for part in (bag, pocket)
    ]
    for side in (1.0, -1.0):
        strap = [
            bones.on_trunk(x, side * y, z)
            for x, y, z in (
                (-0.06, 0.06, 0.34),
                (0.0, 0.068, 0.358),
                (0.062, 0.07, 0.315),
                (0.092, 0.075, 0.24),
                (0.088, 0.085, 0.17),
                (0.03, 0.105, 0.10),
            )
        ]
        carried += [
            capsule(
                tuple(a),
                tuple(b),
                0.014 * u,
                colour=_BAGS[variant],
                material=Material.CLOTH,
                segments=6,
            )
            for a, b in pairwise(strap)
        ]
    mesh = person_mesh(person, carried)
    if variant in (0, 3):
        colour = (0.95, 0.25, 0.15) if variant == 0 else (0.95, 0.95, 0.95)
        ball = ellipsoid(0.11, (0.24, 0.17, 0.11), colour, Material.GLOSSY, 14)
        ball = bands(ball, 2, [(0.085, 0.135)], (0.15, 0.35, 0.85))
        mesh = Mesh.merge([mesh, ball])
    return mesh


def officer(variant: int) -> Mesh:
    """Return a police officer: hi-vis vest with bands, navy uniform, peaked cap."""
    person = replace(OFFICERS[variant], top=_NAVY, bottom=_NAVY, shoes=(0.03, 0.03, 0.03), hem=0.05)
    bones = skeleton(person)
    return person_mesh(person, [*_vest(person, bones), *_cap(bones)])


def _vest(person: Person, bones: Skeleton) -> list[Mesh]:
    u, z0 = bones.unit, float(bones.pelvis[2])
    vest = top_surface(replace(person, top=_HI_VIS, hem=0.04), bones, 0.013 * u, sleeves=False)
    vest = vest.painted(_HI_VIS, Material.RETRO)
    silver = [(z0 + a * u, z0 + (a + 0.036) * u) for a in (0.015, 0.125)]
    vest = bands(vest, 2, silver, _SILVER, Material.RETRO)
    badge = box(
        (0.012 * u, 0.055 * u, 0.028 * u), tuple(bones.on_trunk(0.099, 0.045, 0.215)), _NAVY
    )
    back = box((0.02 * u, 0.15 * u, 0.05 * u), tuple(bones.on_trunk(-0.088, 0, 0.235)), _NAVY)
    word = lettering("POLICE", 0.034 * u, (0.95, 0.95, 0.95), width=0.13 * u)
    word = word.transformed(tuple(bones.on_trunk(-0.099, 0, 0.235)), yaw=np.pi)
    vest = collar(vest, bones, 0.20, 0.36, _NAVY)
    return [vest, badge, back, word]


def _cap(bones: Skeleton) -> list[Mesh]:
    crown = lathe(
        [(0, 0.0), (0.385, 0.0), (0.40, 0.13), (0.54, 0.25), (0.50, 0.31), (0, 0.36)],
        20,
        _NAVY,
        Material.CLOTH,
    ).transformed((-0.03, 0, 0.24), scale=(1.12, 1, 1), pitch=-0.06)
    band = lathe(
        [(0.0, 0.0), (0.395, 0.0), (0.405, 0.09), (0.0, 0.09)], 20, (0.9, 0.9, 0.92)
    ).transformed((-0.03, 0, 0.25), scale=(1.12, 1, 1), pitch=-0.06)
    peak = ellipsoid((0.30, 0.34, 0.035), (0.33, 0, 0.23), (0.02, 0.02, 0.02), Material.GLOSSY, 14)
    peak = peak.transformed(pitch=0.18)
    badge = ellipsoid((0.03, 0.07, 0.08), (0.46, 0, 0.41), (0.9, 0.75, 0.2), Material.METAL, 8)
    return [head_frame(bones, part) for part in (crown, band, peak, badge)]


__all__ = ["ADULTS", "CHILDREN", "OFFICERS", "adult", "child", "officer"]
