"""People on foot: adults and children in plain clothes; police officers come from `police`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.people import (
    STEPPING,
    Person,
    Pose,
    Skeleton,
    person_mesh,
    skeleton,
)
from ....rendering.shapes.primitives import (
    Colour,
    bands,
    capsule,
    ellipsoid,
    rounded_box,
    sweep,
)
from .police import OFFICERS, officer

_OTHER_STEP = replace(
    STEPPING,
    hands=((0.15, 0.17, 0.55), (-0.10, -0.18, 0.53)),
    feet=((-0.17, 0.06, 0.10), (0.15, -0.06, 0.055)),
    toes=(0.55, -0.15),
)
_STANDING = Pose(hands=((0.04, 0.175, 0.515), (0.04, -0.175, 0.515)))
_ON_PHONE = replace(
    STEPPING, hands=((-0.10, 0.18, 0.53), (0.12, -0.11, 0.98)), elbows=(0.1, 1.0, -1.0)
)
_ON_A_STICK = replace(
    STEPPING,
    lean=0.12,
    hands=((0.02, 0.175, 0.53), (0.22, -0.20, 0.57)),
    feet=((0.11, 0.06, 0.055), (-0.12, -0.06, 0.075)),
    grips=(0.3, 0.8),
)
_RUNNING = Pose(
    pelvis=(0.0, 0.58),
    lean=0.14,
    hands=((0.17, 0.15, 0.74), (-0.14, -0.17, 0.68)),
    feet=((-0.25, 0.06, 0.19), (0.19, -0.06, 0.055)),
    elbows=(-1.0, 0.5, -0.2),
    toes=(0.9, -0.2),
    grips=(0.6, 0.6),
)
_OTHER_RUN = replace(
    _RUNNING,
    hands=((-0.14, 0.17, 0.68), (0.17, -0.15, 0.74)),
    feet=((0.19, 0.06, 0.055), (-0.25, -0.06, 0.19)),
    toes=(-0.2, 0.9),
)
_WAVING = Pose(
    hands=((0.03, 0.175, 0.55), (0.06, -0.24, 1.16)), elbows=(-0.3, 1.0, -0.2), grips=(0.3, 0.0)
)
_ARMS_OUT = Pose(hands=((0.14, 0.21, 0.74), (0.14, -0.21, 0.74)), elbows=(-0.6, 1.0, -0.4))

ADULTS: tuple[Person, ...] = (
    Person(
        height=1.80,
        top=(0.20, 0.33, 0.62),
        bottom=(0.13, 0.14, 0.18),
        hem=0.06,
        detail="zip",
        pose=STEPPING,
    ),
    Person(
        height=1.66,
        woman=True,
        hair_style="long",
        hair=(0.30, 0.17, 0.08),
        top=(0.70, 0.13, 0.16),
        bottom=(0.16, 0.20, 0.34),
        hem=0.16,
        detail="open",
        pose=STEPPING,
    ),
    Person(
        height=1.75,
        skin=(0.45, 0.30, 0.22),
        hair=(0.05, 0.04, 0.04),
        beard=True,
        detail="stripes",
        inner=(0.15, 0.25, 0.45),
        top=(0.90, 0.88, 0.82),
        sleeves="short",
        bottom=(0.30, 0.38, 0.55),
        shoes=(0.85, 0.85, 0.85),
        pose=_OTHER_STEP,
    ),
    Person(
        height=1.64,
        woman=True,
        hair_style="bun",
        hair=(0.62, 0.45, 0.22),
        glasses=True,
        top=(0.20, 0.45, 0.38),
        bottom=(0.50, 0.40, 0.30),
        legs="skirt",
        hem=0.04,
        pose=_OTHER_STEP,
    ),
    Person(
        height=1.83,
        width=1.1,
        skin=(0.85, 0.66, 0.55),
        hair=(0.62, 0.61, 0.60),
        glasses=True,
        detail="open",
        inner=(0.75, 0.80, 0.88),
        top=(0.47, 0.37, 0.24),
        bottom=(0.22, 0.22, 0.23),
        hem=0.20,
        pose=_ON_A_STICK,
    ),
    Person(
        height=1.70,
        woman=True,
        hair_style="ponytail",
        skin=(0.62, 0.43, 0.32),
        hair=(0.08, 0.05, 0.04),
        top=(0.48, 0.22, 0.48),
        bottom=(0.12, 0.13, 0.16),
        shoes=(0.9, 0.3, 0.35),
        pose=_ON_PHONE,
    ),
    Person(
        height=1.67,
        woman=True,
        hat="scarf",
        hat_colour=(0.92, 0.88, 0.78),
        skin=(0.70, 0.50, 0.38),
        hair=(0.08, 0.05, 0.04),
        top=(0.62, 0.18, 0.30),
        bottom=(0.20, 0.18, 0.20),
        hem=0.22,
        pose=STEPPING,
    ),
    Person(
        height=1.78,
        width=1.14,
        skin=(0.84, 0.62, 0.52),
        hair=(0.48, 0.24, 0.10),
        beard=True,
        top=(0.16, 0.50, 0.56),
        detail="zip",
        inner=(0.85, 0.82, 0.76),
        bottom=(0.52, 0.46, 0.36),
        pose=_STANDING,
    ),
)
_LEATHER = (0.34, 0.20, 0.11)
_CARRIED: Mapping[int, tuple[str, Colour]] = {
    0: ("case", _LEATHER),
    1: ("handbag", (0.12, 0.10, 0.10)),
    3: ("handbag", _LEATHER),
    4: ("stick", (0.30, 0.18, 0.09)),
    5: ("phone", (0.05, 0.05, 0.06)),
    6: ("handbag", (0.80, 0.76, 0.70)),
    7: ("shopping", (0.88, 0.86, 0.80)),
}

CHILDREN: tuple[Person, ...] = (
    Person(
        height=1.13,
        heads=5.1,
        detail="stripes",
        top=(0.92, 0.16, 0.12),
        bottom=(0.13, 0.33, 0.78),
        legs="shorts",
        sleeves="short",
        shoes=(0.95, 0.95, 0.95),
        hair=(0.42, 0.24, 0.10),
        pose=_RUNNING,
    ),
    Person(
        height=1.07,
        heads=5.0,
        woman=True,
        hair_style="bunches",
        hair=(0.74, 0.52, 0.22),
        top=(0.98, 0.40, 0.62),
        bottom=(0.98, 0.40, 0.62),
        legs="skirt",
        sleeves="short",
        shoes=(0.95, 0.95, 0.95),
        pose=_OTHER_RUN,
    ),
    Person(
        height=1.16,
        heads=5.1,
        skin=(0.45, 0.30, 0.22),
        hair=(0.06, 0.045, 0.04),
        hair_style="curly",
        top=(0.98, 0.62, 0.10),
        bottom=(0.16, 0.46, 0.80),
        legs="shorts",
        sleeves="short",
        shoes=(0.92, 0.92, 0.92),
        pose=_OTHER_STEP,
    ),
    Person(
        height=1.03,
        heads=4.9,
        woman=True,
        hair_style="long",
        hair=(0.26, 0.15, 0.08),
        hat="bobble",
        hat_colour=(0.90, 0.15, 0.22),
        top=(0.15, 0.68, 0.80),
        bottom=(0.95, 0.78, 0.15),
        hem=0.10,
        detail="zip",
        shoes=(0.88, 0.20, 0.30),
        pose=_ARMS_OUT,
    ),
    Person(
        height=1.12,
        heads=5.0,
        skin=(0.86, 0.66, 0.54),
        hair=(0.62, 0.32, 0.12),
        hat="cap",
        hat_colour=(0.92, 0.14, 0.14),
        top=(0.24, 0.62, 0.98),
        bottom=(0.86, 0.74, 0.50),
        legs="shorts",
        sleeves="short",
        shoes=(0.85, 0.15, 0.15),
        pose=_WAVING,
    ),
    Person(
        height=1.09,
        heads=5.0,
        woman=True,
        skin=(0.68, 0.48, 0.36),
        hair=(0.07, 0.05, 0.04),
        hair_style="bunches",
        detail="stripes",
        inner=(0.95, 0.35, 0.20),
        top=(0.96, 0.94, 0.90),
        bottom=(0.55, 0.25, 0.75),
        legs="skirt",
        shoes=(0.95, 0.80, 0.20),
        pose=STEPPING,
    ),
)
_BAGS: Mapping[int, Colour] = {
    0: (0.98, 0.80, 0.10),
    1: (0.20, 0.62, 0.90),
    2: (0.86, 0.14, 0.14),
    4: (0.98, 0.50, 0.10),
    5: (0.10, 0.70, 0.68),
}
_BALLS: Mapping[int, tuple[Colour, Colour]] = {
    0: ((0.96, 0.96, 0.96), (0.15, 0.35, 0.88)),
    2: ((0.98, 0.30, 0.14), (0.98, 0.92, 0.30)),
    4: ((0.96, 0.96, 0.96), (0.90, 0.15, 0.15)),
    5: ((0.98, 0.85, 0.15), (0.20, 0.55, 0.85)),
}


def adult(variant: int) -> Mesh:
    """Return an adult, most of them walking and with a bag; 1.62 to 1.85 m."""
    person = ADULTS[variant]
    bones = skeleton(person)
    kind, colour = _CARRIED.get(variant, ("", (0.0, 0.0, 0.0)))
    return person_mesh(person, _THINGS[kind](bones, colour) if kind else ())


def child(variant: int) -> Mesh:
    """Return a small child with a school bag, a ball or a toy bear; 1.03 to 1.25 m.

    Big heads, short limbs and bright clothes, so that a far one is no small adult.
    """
    person = CHILDREN[variant]
    bones = skeleton(person)
    carried = _school_bag(bones, _BAGS[variant], person.pose.lean) if variant in _BAGS else []
    if variant == 3:
        carried += _bear(bones)
    mesh = person_mesh(person, carried)
    if variant in _BALLS:
        colour, stripe = _BALLS[variant]
        ball = ellipsoid(0.125, (0.25, 0.185, 0.125), colour, Material.GLOSSY, 12)
        mesh = Mesh.merge([mesh, bands(ball, 2, [(0.085, 0.165)], stripe)])
    return mesh


def _fist(bones: Skeleton, side: int) -> np.ndarray:
    """Return the middle of a closed hand, 0 = left, 1 = right."""
    along = bones.wrists[side] - bones.elbows[side]
    along = along / np.linalg.norm(along)
    return np.asarray(bones.wrists[side] + along * 0.38 * bones.head_height)


def _hanging(
    bones: Skeleton, colour: Colour, size: tuple[float, float, float], handle: float
) -> list[Mesh]:
    """Return a bag that hangs from the left hand, `handle` metres below it."""
    x, y, z = _fist(bones, 0)
    y += 0.01
    bag = rounded_box(
        size, 0.3 * min(size), (x, y, z - handle - size[2] / 2), colour, Material.CLOTH
    )
    half = size[0] * 0.28
    loop = [(x - half, y, z - handle), (x - half * 0.7, y, z), (x + half * 0.7, y, z),
            (x + half, y, z - handle)]  # fmt: skip
    dark = tuple(c * 0.6 for c in colour)
    return [bag, sweep(loop, 0.008, dark, Material.CLOTH, sides=4)]


def _stick(bones: Skeleton, colour: Colour) -> list[Mesh]:
    x, y, z = _fist(bones, 1)
    foot = float(min(a[2] for a in bones.ankles)) - 0.052 * bones.unit
    path = [
        (x - 0.06, y, z),
        (x + 0.03, y, z + 0.012),
        (x + 0.05, y, z - 0.03),
        (x + 0.06, y, foot),
    ]
    return [sweep(path, 0.012, colour, Material.WOOD)]


def _phone(bones: Skeleton, colour: Colour) -> list[Mesh]:
    x, y, z = _fist(bones, 1)
    return [rounded_box((0.07, 0.012, 0.14), 0.005, (x, y + 0.03, z), colour, Material.GLOSSY)]


_THINGS: Mapping[str, Callable[[Skeleton, Colour], list[Mesh]]] = {
    "case": lambda bones, colour: _hanging(bones, colour, (0.38, 0.09, 0.27), 0.03),
    "handbag": lambda bones, colour: _hanging(bones, colour, (0.28, 0.10, 0.20), 0.14),
    "shopping": lambda bones, colour: _hanging(bones, colour, (0.30, 0.14, 0.34), 0.10),
    "stick": _stick,
    "phone": _phone,
}


def _school_bag(bones: Skeleton, colour: Colour, lean: float) -> list[Mesh]:
    u = bones.unit
    bag = rounded_box(
        (0.15 * u, 0.27 * u, 0.32 * u), 0.045 * u, (0, 0, 0), colour, Material.CLOTH, 2
    )
    pocket = rounded_box(
        (0.05 * u, 0.19 * u, 0.13 * u),
        0.02 * u,
        (-0.085 * u, 0, -0.06 * u),
        tuple(c * 0.65 for c in colour),
        Material.CLOTH,
        1,
    )
    carried = [
        part.transformed(tuple(bones.on_trunk(-0.15, 0, 0.19)), pitch=lean)
        for part in (bag, pocket)
    ]
    for side in (1.0, -1.0):
        strap = [
            bones.on_trunk(x, side * y, z)
            for x, y, z in (
                (-0.06, 0.06, 0.34),
                (0.0, 0.068, 0.362),
                (0.066, 0.07, 0.315),
                (0.096, 0.075, 0.24),
                (0.092, 0.085, 0.17),
                (0.03, 0.105, 0.10),
            )
        ]
        carried.append(sweep(strap, 0.019 * u, colour, Material.CLOTH, sides=5))
    return carried


def _bear(bones: Skeleton) -> list[Mesh]:
    """Return a toy bear held by the left hand."""
    x, y, z = _fist(bones, 0)
    fur, pale = (0.52, 0.32, 0.14), (0.80, 0.64, 0.42)
    parts = [
        ellipsoid((0.060, 0.070, 0.085), (0, 0, 0), fur, Material.CLOTH, 10),
        ellipsoid((0.058, 0.062, 0.056), (0.005, 0, 0.115), fur, Material.CLOTH, 10),
        ellipsoid((0.030, 0.032, 0.026), (0.048, 0, 0.105), pale, Material.CLOTH, 6),
    ]
    for side in (1.0, -1.0):
        parts.append(ellipsoid(0.024, (0, side * 0.05, 0.165), fur, Material.CLOTH, 6))
        limb = capsule((0.0, side * 0.05, 0.05), (0.05, side * 0.10, 0.03), 0.026, 0.022, fur,
                       Material.CLOTH, 6)  # fmt: skip
        leg = capsule((0.01, side * 0.04, -0.06), (0.07, side * 0.06, -0.10), 0.030, 0.028, fur,
                      Material.CLOTH, 6)  # fmt: skip
        parts += [limb, leg]
    return [part.transformed((x + 0.02, y, z - 0.03)) for part in parts]


__all__ = ["ADULTS", "CHILDREN", "OFFICERS", "adult", "child", "officer"]
