"""People: smooth blended bodies in layers of clothes, by age, build and pose.

Proportions follow artists' canons (adult 7.5 heads, child 6, toddler 4.5). Every garment is its
own smooth field, so that hems and collars are real edges. The maths is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..mesh import F32, Material, Mesh
from .fields import Field, blend, ellipsoid, half_space, limb, surface
from .primitives import F64, Colour, Point, bands, cut, paint_where
from .primitives import ellipsoid as ball


@dataclass(frozen=True, slots=True)
class Pose:
    """Where pelvis, hands and feet are, in units of the body height below the chin.

    Attributes:
        pelvis: Middle of the hips (x, z).
        lean: Forward lean of the trunk, radians.
        hands: Left and right wrist (x, y, z).
        feet: Left and right ankle (x, y, z).
        elbows: Direction the elbows point to (x, y outward, z).
        knees: Direction the knees point to (x, y outward, z).
        toes: Pitch of left and right foot, radians, positive toes down.
        gaze: Turn of the head to the left, radians.
    """

    pelvis: tuple[float, float] = (0.0, 0.6)
    lean: float = 0.0
    hands: tuple[Point, Point] = ((0.03, 0.185, 0.515), (0.03, -0.185, 0.515))
    feet: tuple[Point, Point] = ((0.0, 0.07, 0.05), (0.0, -0.07, 0.05))
    elbows: Point = (-1.0, 0.5, 0.0)
    knees: Point = (1.0, 0.15, 0.0)
    toes: tuple[float, float] = (0.0, 0.0)
    gaze: float = 0.0


STEPPING = Pose(
    pelvis=(0.0, 0.59),
    lean=0.03,
    hands=((-0.10, 0.18, 0.53), (0.15, -0.17, 0.55)),
    feet=((0.15, 0.06, 0.055), (-0.17, -0.06, 0.10)),
    toes=(-0.15, 0.55),
)


@dataclass(frozen=True, slots=True)
class Person:
    """What one looks like.

    Attributes:
        height: Standing height, m.
        heads: Standing height in heads: 7.5 adult, 6 child, 4.5 toddler.
        width: Breadth of the body, 1 = average.
        woman: Narrower shoulders, wider hips, a bust.
        skin, hair, top, bottom, shoes: sRGB colours.
        hair_style: "short", "long", "bun", "ponytail" or "none".
        sleeves: "long" or "short".
        legs: "trousers", "shorts", "skirt" or "nappy".
        hem: How far the top reaches below the hips, in body heights (0.02 shirt, 0.2 coat).
        detail: What is on the top: "plain", "zip" (a zip and an open collar), "open" (a wide
            collar over a shirt) or "stripes".
        inner: Colour of the shirt below, of the zip, of the stripes.
        pose: The pose.
    """

    height: float = 1.75
    heads: float = 7.5
    width: float = 1.0
    woman: bool = False
    skin: Colour = (0.80, 0.60, 0.48)
    hair: Colour = (0.16, 0.10, 0.06)
    top: Colour = (0.25, 0.35, 0.55)
    bottom: Colour = (0.15, 0.17, 0.22)
    shoes: Colour = (0.10, 0.09, 0.09)
    hair_style: str = "short"
    sleeves: str = "long"
    legs: str = "trousers"
    hem: float = 0.03
    detail: str = "plain"
    inner: Colour = (0.93, 0.93, 0.92)
    pose: Pose = field(default_factory=Pose)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Joints of a posed person, m; pairs are (left, right).

    Attributes:
        unit: Body height below the chin, m.
        head_height: Chin to crown, m.
        stretch: Length of the trunk, 1 = an adult's; the young have longer ones.
        trunk: `3 x 3` turn of the trunk (its own frame to the person's).
        pelvis: Middle of the hips.
        head: Middle of the head.
        head_turn: `3 x 3` turn of the head.
        hips, knees, ankles, shoulders, elbows, wrists: Joint positions.
    """

    unit: float
    head_height: float
    stretch: float
    trunk: F64
    pelvis: F64
    head: F64
    head_turn: F64
    hips: tuple[F64, F64]
    knees: tuple[F64, F64]
    ankles: tuple[F64, F64]
    shoulders: tuple[F64, F64]
    elbows: tuple[F64, F64]
    wrists: tuple[F64, F64]

    def on_trunk(self, x: float, y: float, z: float) -> F64:
        """Return a point given in trunk units from the pelvis, in the person's frame, m."""
        return self.pelvis + self.trunk @ (np.array([x, y, z * self.stretch]) * self.unit)


def turn(yaw: float = 0.0, pitch: float = 0.0) -> F64:
    """Return the matrix that pitches forward about y, then turns about z."""
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    return np.asarray(about_z @ about_y)


def middle_joint(
    start: F64, end: F64, first: float, second: float, towards: Point
) -> tuple[F64, F64]:
    """Return (joint, reachable end) of a two-bone limb that bends `towards` a direction."""
    line = end - start
    distance = float(np.linalg.norm(line))
    along = line / max(distance, 1e-9)
    reach = min(distance, (first + second) * 0.999)
    end = start + along * reach
    a = (first**2 - second**2 + reach**2) / (2 * reach)
    off = np.sqrt(max(first**2 - a**2, 0.0))
    side = np.asarray(towards, dtype=np.float64)
    side = side - along * (side @ along)
    side /= max(float(np.linalg.norm(side)), 1e-9)
    return start + along * a + side * off, end


def _youth(person: Person) -> float:
    """Return 0 for an adult ... 1 for a toddler."""
    return float(np.clip((7.5 - person.heads) / 3.0, 0.0, 1.0))


def skeleton(person: Person) -> Skeleton:
    """Return the joints of a person in their pose; soles may be slightly off the ground."""
    pose = person.pose
    head = person.height / person.heads
    unit = person.height - head
    young = _youth(person)
    trunk = turn(pitch=pose.lean)
    stretch = 1 + 0.17 * young
    pelvis = np.array([pose.pelvis[0], 0.0, pose.pelvis[1] - 0.043 * young]) * unit
    shoulder = (0.112 if not person.woman else 0.097) * (1 + 0.04 * young) * person.width
    hip = (0.053 if not person.woman else 0.055) * person.width
    rise = 0.297 * stretch
    sides: list[tuple[F64, ...]] = []
    thigh, shin = 0.285 - 0.022 * young, 0.275 - 0.021 * young
    upper, fore = 0.195 - 0.015 * young, 0.172 - 0.015 * young
    for i, side in enumerate((1.0, -1.0)):
        h = pelvis + np.array([0, side * hip * unit, 0])
        mirror = np.array([1.0, side, 1.0])
        k, a = middle_joint(
            h,
            np.asarray(pose.feet[i]) * unit,
            thigh * unit,
            shin * unit,
            np.asarray(pose.knees) * mirror,
        )
        s = pelvis + trunk @ (np.array([-0.005, side * shoulder, rise]) * unit)
        e, w = middle_joint(
            s,
            np.asarray(pose.hands[i]) * unit,
            upper * unit,
            fore * unit,
            np.asarray(pose.elbows) * mirror,
        )
        sides.append((h, k, a, s, e, w))
    pairs = [(left, right) for left, right in zip(*sides, strict=True)]
    neck = pelvis + trunk @ (np.array([0.0, 0.0, 0.39 * (1 + 0.11 * young)]) * unit)
    head_turn = turn(pose.gaze, pose.lean * 0.3)
    middle = neck + turn(pitch=pose.lean * 0.7) @ np.array([0.10, 0.0, 0.50]) * head
    return Skeleton(unit, head, stretch, trunk, pelvis, middle, head_turn, *pairs)


def person_mesh(person: Person, carried: Sequence[Mesh] = (), *, grounded: bool = True) -> Mesh:
    """Return the person's mesh, about 5k triangles.

    Args:
        person: Looks and pose.
        carried: Meshes in the skeleton's frame that go with the person.
        grounded: Shift the whole so that its lowest point is at z = 0.
    """
    bones = skeleton(person)
    parts = [*_head(person, bones), *_clothes(person, bones), *_hands(person, bones)]
    parts += [*_feet(person, bones), *carried]
    mesh = Mesh.merge(parts)
    if not grounded:
        return mesh
    return mesh.transformed((0.0, 0.0, -float(mesh.bounds[0][2])))


def head_frame(bones: Skeleton, mesh: Mesh) -> Mesh:
    """Place a mesh made in head units (chin to crown = 1, origin mid-head, facing +x)."""
    matrix = bones.head_turn * bones.head_height
    return Mesh(
        (mesh.vertices @ matrix.T + bones.head).astype(np.float32),
        mesh.faces,
        mesh.colours,
        mesh.materials,
        (mesh.normals @ bones.head_turn.T).astype(np.float32),
    )


def _skull(young: float, grow: float = 0.0) -> list[Field]:
    """The head in head units; the young have rounder cheeks and a smaller jaw."""
    return [
        ellipsoid((-0.04, 0.0, 0.12), (0.42 + grow, 0.335 + grow, 0.38 + grow)),
        ellipsoid(
            (0.10, 0.0, -0.16 + 0.04 * young),
            (0.27 + grow, 0.245 + 0.07 * young + grow, 0.33 - 0.02 * young + grow),
        ),
    ]


def _head(person: Person, bones: Skeleton) -> list[Mesh]:
    young = _youth(person)
    skin, dark = person.skin, tuple(c * 0.55 for c in person.skin)
    face = blend(
        [
            *_skull(young),
            limb((0.33, 0, 0.06), (0.42, 0, -0.08), 0.025, 0.045),
            ellipsoid((0.27, 0, -0.38), (0.10, 0.11, 0.09)),
        ],
        0.10,
    )
    parts = [surface(face, 0.115, skin, Material.SKIN)]
    for side in (1.0, -1.0):
        parts.append(ball((0.07, 0.03, 0.11), (-0.03, side * 0.335, -0.02), skin, Material.SKIN, 8))
        z, y = 0.0 - 0.04 * young, side * 0.135
        eye = 0.05 + 0.015 * young
        parts.append(
            ball(
                (0.035, eye * 1.15, eye * 0.75),
                (0.338, y, z),
                (0.92, 0.91, 0.9),
                Material.GLOSSY,
                8,
            )
        )
        parts.append(
            ball(
                (0.03, eye * 0.62, eye * 0.68),
                (0.355, y, z),
                (0.10, 0.07, 0.05),
                Material.GLOSSY,
                8,
            )
        )
        brow = tuple(c * 0.8 for c in person.hair)
        parts.append(ball((0.03, 0.075, 0.018), (0.352, y, z + 0.095), brow, Material.MATTE, 6))
    lips: Colour = (skin[0] * 0.82, skin[1] * 0.52, skin[2] * 0.52)
    parts.append(ball((0.03, 0.095, 0.022), (0.348, 0.0, -0.245), lips, Material.SKIN, 8))
    parts.append(ball((0.02, 0.03, 0.012), (0.405, 0.0, -0.125), dark, Material.SKIN, 6))
    parts += _hair(person)
    out = [head_frame(bones, part) for part in parts]
    neck = limb(
        bones.on_trunk(-0.005, 0, 0.345),
        bones.head + bones.head_turn @ np.array([-0.06, 0, -0.25]) * bones.head_height,
        0.255 * bones.head_height * (1 - 0.15 * person.woman),
        0.24 * bones.head_height,
    )
    out.append(surface(neck, 0.19 * bones.head_height, skin, Material.SKIN))
    return out


def _hair(person: Person) -> list[Mesh]:
    if person.hair_style == "none":
        return []
    shell = _skull(_youth(person), 0.045)
    cap = half_space(
        blend([shell[0], ellipsoid((-0.16, 0.0, -0.10), (0.30, 0.34, 0.34))], 0.08),
        (0.80, 0.0, -0.60),
        0.06 if person.hair_style == "short" else 0.09,
    )
    if person.hair_style == "long":
        fall = [
            limb((-0.18, 0, 0.0), (-0.26, 0, -0.85), 0.36, 0.30, (0.62, 1.0, 1.0)),
            limb((-0.02, 0.33, 0.05), (-0.02, 0.33, -0.62), 0.12, 0.10),
            limb((-0.02, -0.33, 0.05), (-0.02, -0.33, -0.62), 0.12, 0.10),
        ]
        cap = blend([cap, *fall], 0.06)
    elif person.hair_style == "bun":
        cap = blend([cap, ellipsoid((-0.42, 0, 0.33), (0.17, 0.17, 0.16))], 0.05)
    elif person.hair_style == "ponytail":
        cap = blend([cap, limb((-0.42, 0, 0.2), (-0.60, 0, -0.55), 0.13, 0.06)], 0.06)
    return [surface(cap, 0.12, person.hair, Material.MATTE)]


def torso_fields(person: Person, bones: Skeleton, grow: float = 0.0) -> list[Field]:
    """Return the trunk without limbs as fields in the person's frame, grown by `grow` metres."""
    u, w = bones.unit, person.width
    young = _youth(person)
    chest_y = (0.106 if not person.woman else 0.093) * w
    waist_y = (0.094 if not person.woman else 0.076) * w + 0.012 * young
    hip_y = (0.100 if not person.woman else 0.112) * w
    depth = 0.070 * (0.5 + 0.5 * w)
    shapes = [
        ellipsoid((0.004, 0, 0.225), (depth + 0.006, chest_y, 0.135)),
        ellipsoid((0.006 + 0.012 * young, 0, 0.10), (depth - 0.004 + 0.012 * young, waist_y, 0.14)),
        ellipsoid((-0.006, 0, 0.0), (depth + 0.002, hip_y, 0.085)),
        *(
            limb((-0.010, 0, 0.325), (-0.008, s * 0.095 * w, 0.293), 0.040, 0.033)
            for s in (1.0, -1.0)
        ),
        limb((-0.01, 0, 0.30), (-0.006, 0, 0.358), 0.060, 0.042),
    ]
    if person.woman:
        shapes += [ellipsoid((0.055, s * 0.044, 0.215), (0.040, 0.042, 0.042)) for s in (1.0, -1.0)]
    tall = np.array([1.0, 1.0, bones.stretch])
    return [_scaled(f, u * tall, grow).moved(bones.trunk, bones.pelvis) for f in shapes]


def _scaled(shape: Field, unit: float | F64, grow: float) -> Field:
    """Return a field in metres from one in body heights, its surface `grow` metres outside."""
    least = float(np.min(unit))
    return Field(
        lambda p: shape.value(p / unit) * least - grow,
        shape.low * unit - grow,
        shape.high * unit + grow,
    )


def sleeve_fields(
    person: Person, bones: Skeleton, grow: float = 0.0, *, short: bool = False
) -> list[Field]:
    """Return the arms (without hands) as fields, grown by `grow` metres."""
    u = bones.unit
    thick = u * (0.92 if person.woman else 1.0) * (0.6 + 0.4 * person.width)
    thick *= 1 + 0.25 * _youth(person)
    out = []
    for i in (0, 1):
        s, e, w = bones.shoulders[i], bones.elbows[i], bones.wrists[i]
        if short:
            out.append(limb(s, s + (e - s) * 0.72, 0.041 * thick + grow, 0.038 * thick + grow))
        else:
            out.append(limb(s, e, 0.039 * thick + grow, 0.030 * thick + grow))
            out.append(limb(e, w, 0.030 * thick + grow, 0.023 * thick + grow))
    return out


def top_surface(
    person: Person, bones: Skeleton, grow: float = 0.0, *, sleeves: bool = True
) -> Mesh:
    """Return the upper garment, trunk to the hem and its sleeves, grown by `grow` metres."""
    u = bones.unit
    cloth = 0.006 * u + grow
    parts = torso_fields(person, bones, cloth)
    # The hem hangs clear of the hips and thighs.
    flare = (0.010 if person.hem > 0.1 else 0.0) * u
    low = bones.on_trunk(0, 0, -person.hem - 0.03)
    y = (0.105 + 0.010 * person.woman) * person.width * u + cloth
    parts.append(limb(bones.on_trunk(0, 0, 0.04), low, y, y + 0.004 * u + flare, (0.72, 1.0, 1.0)))
    if person.hem > 0.06:  # long tops lie over the thighs
        thigh = 0.056 * person.width * u + cloth + 0.004 * u
        for h, k in zip(bones.hips, bones.knees, strict=True):
            share = person.hem + 0.03
            parts.append(limb(h, h + (k - h) * min(share / 0.28, 1.0), thigh, thigh))
    trunk = blend(parts, 0.05 * u)
    down = -bones.trunk[:, 2]
    trunk = half_space(trunk, down, float(down @ bones.on_trunk(0, 0, -person.hem)))
    trunk = half_space(trunk, -down, float(-down @ bones.on_trunk(0, 0, 0.372)))
    if sleeves:
        arms = sleeve_fields(person, bones, cloth, short=person.sleeves == "short")
        trunk = blend([trunk, *arms], 0.034 * u)
    mesh = surface(trunk, np.array([0.041, 0.039, 0.046]) * u / 1.5, person.top, Material.CLOTH)
    return _detailed(mesh, person, bones)


def _detailed(mesh: Mesh, person: Person, bones: Skeleton) -> Mesh:
    """Paint zip, collar or stripes onto a top."""
    u = bones.unit
    if person.detail in ("zip", "open"):
        wide = person.detail == "open"
        mesh = collar(mesh, bones, 0.20 if wide else 0.31, 0.33 if wide else 0.5, person.inner)
        half = (0.004 if wide else 0.006) * u
        front = bones.trunk[:, 0]
        start = float(front @ bones.pelvis) + 0.02 * u
        high = float(bones.on_trunk(0, 0, 0.20 if wide else 0.31)[2])

        def ahead(m: F32) -> npt.NDArray[np.bool_]:
            return np.asarray((m @ front > start) & (m[:, 2] < high + 0.02 * u))

        for y in (-half, half):
            mesh = cut(mesh, (0, 1, 0), y, ahead)
        dark = tuple(c * 0.45 for c in person.top) if wide else person.inner
        mesh = paint_where(
            mesh,
            lambda m: (np.abs(m[:, 1]) < half) & (m @ front > start) & (m[:, 2] < high),
            dark,
        )
    elif person.detail == "stripes":
        z = bones.pelvis[2]
        limits = [(z + a * u, z + (a + 0.028) * u) for a in (0.10, 0.17, 0.24)]
        mesh = bands(mesh, 2, limits, person.inner)
    return mesh


def collar(mesh: Mesh, bones: Skeleton, depth: float, slope: float, colour: npt.ArrayLike) -> Mesh:
    """Paint the V of an open collar.

    Args:
        mesh: A top.
        bones: The wearer.
        depth: Height of the V's tip over the hips, in body heights.
        slope: Half width over height of the V.
        colour: What shows in it.
    """
    tip = bones.on_trunk(0, 0, depth)
    sides = [bones.trunk @ np.array([0.0, s, -slope]) for s in (1.0, -1.0)]
    front = bones.trunk[:, 0]
    middle = float(front @ bones.on_trunk(0.02, 0, depth))
    up = bones.trunk[:, 2]
    low = float(up @ tip) - 0.02 * bones.unit
    for side in sides:
        mesh = cut(
            mesh, tuple(side), float(side @ tip), lambda m: (m @ front > middle) & (m @ up > low)
        )
    return paint_where(
        mesh,
        lambda m: np.logical_and.reduce(
            [m @ side < side @ tip for side in sides] + [m @ front > middle]
        ),
        colour,
    )


def _clothes(person: Person, bones: Skeleton) -> list[Mesh]:
    u = bones.unit
    plump = 1 + 0.25 * _youth(person)
    step = np.array([0.034, 0.034, 0.050]) * u / 1.5
    parts = [top_surface(person, bones)]
    if person.sleeves == "short":
        for i in (0, 1):
            s, e, w = bones.shoulders[i], bones.elbows[i], bones.wrists[i]
            upper = limb(s + (e - s) * 0.5, e, 0.034 * u * plump, 0.030 * u * plump)
            arm = blend([upper, limb(e, w, 0.030 * u * plump, 0.022 * u * plump)], 0.02 * u)
            parts.append(surface(arm, step, person.skin, Material.SKIN))
    wide = person.width * (1.04 if person.woman else 1.0)
    hip = ellipsoid(np.zeros(3), np.array([0.072, 0.104 * wide, 0.085]) * u).moved(
        bones.trunk, bones.pelvis
    )
    bare = person.legs != "trousers"
    cloth = 0.0 if bare else 0.007 * u
    legs, thick = [], u * plump
    for i in (0, 1):
        h, k, a = bones.hips[i], bones.knees[i], bones.ankles[i]
        above = h + (k - h) * 0.4 if person.legs in ("shorts", "skirt") else h  # the rest is hidden
        legs.append(
            limb(above, k, (0.048 if bare else 0.054 * wide) * thick + cloth, 0.038 * thick + cloth)
        )
        legs.append(limb(k, a, 0.039 * thick + cloth, 0.026 * thick + cloth * 1.6))
        if bare:
            calf = k + (a - k) * 0.3
            legs.append(limb(calf, calf + (a - k) * 0.1, 0.040 * thick, 0.038 * thick))
    leg_step = np.array([0.038, 0.038, 0.058]) * u / 1.5
    if not bare:
        parts.append(surface(blend([hip, *legs], 0.03 * u), leg_step, person.bottom))
        return parts
    parts.append(surface(blend(legs, 0.02 * u), leg_step, person.skin, Material.SKIN))
    if person.legs == "skirt":
        low = bones.pelvis * np.array([1, 1, 0]) + np.array([0, 0, bones.pelvis[2] - 0.22 * u])
        skirt = limb(
            bones.pelvis + np.array([0, 0, 0.06 * u]), low, 0.09 * u, 0.15 * u, (0.85, 1, 1)
        )
        folds = [
            limb(h + (k - h) * 0.3, h + (k - h) * 0.95, 0.056 * thick, 0.054 * thick)
            for h, k in zip(bones.hips, bones.knees, strict=True)
        ]  # so that a stepping thigh lifts the cloth
        skirt = half_space(blend([skirt, *folds], 0.05 * u), (0, 0, -1), -float(low[2]))
        parts.append(surface(skirt, leg_step, person.bottom))
        return parts
    share = 0.85 if person.legs == "shorts" else 0.22
    short = [
        limb(h, h + (k - h) * share, 0.060 * thick * wide, 0.058 * thick)
        for h, k in zip(bones.hips, bones.knees, strict=True)
    ]
    parts.append(surface(blend([hip, *short], 0.03 * u), leg_step, person.bottom))
    return parts


def _hands(person: Person, bones: Skeleton) -> list[Mesh]:
    size = bones.head_height * 0.74 * (1 - 0.12 * person.woman)
    parts = []
    for i, side in enumerate((1.0, -1.0)):
        w, e = bones.wrists[i], bones.elbows[i]
        # The hand's own frame: x along the fingers, y out of its back, z towards the thumb.
        along = (w - e) / max(float(np.linalg.norm(w - e)), 1e-9)
        # A hanging hand has its thumb ahead, a raised one shows its palm.
        ahead = np.array([0.15, -side, 0.0] if along[2] > 0.5 else [1.0, 0.0, 0.25])
        thumb_side = ahead - along * (ahead @ along)
        thumb_side /= max(float(np.linalg.norm(thumb_side)), 1e-9)
        frame = np.stack([along, np.cross(thumb_side, along), thumb_side], axis=1)
        curl = -0.10 * side
        shapes = [
            limb((-0.08, 0, 0), (0.10, 0, 0), 0.13, 0.15),
            ellipsoid((0.26, 0, 0), (0.28, 0.12, 0.205)),
            ellipsoid((0.60, curl * 0.6, -0.01), (0.27, 0.105, 0.185)),
            limb((0.14, 0, 0.12), (0.40, curl * 1.2, 0.27), 0.085, 0.062),
        ]
        hand = blend([_scaled(shape, size, 0.0) for shape in shapes], 0.05 * size)
        parts.append(surface(hand.moved(frame, w), 0.115 * size, person.skin, Material.SKIN))
    return parts


def _feet(person: Person, bones: Skeleton) -> list[Mesh]:
    u = bones.unit
    length = 0.165 * u
    parts = []
    for i, side in enumerate((1.0, -1.0)):
        ankle = bones.ankles[i]
        rotation = turn(side * 0.12, person.pose.toes[i])
        drop = -0.052 * u
        sole = drop + 0.0
        heel = (-0.26 * length, 0.0, drop + 0.17 * length)
        toe = (0.60 * length, 0.0, drop + 0.12 * length)
        shape = blend(
            [
                limb(heel, toe, 0.20 * length, 0.17 * length, (1.0, 1.12, 1.0)),
                limb(
                    (-0.10 * length, 0, drop + 0.1 * length),
                    (0, 0, 0.05 * length),
                    0.21 * length,
                    0.17 * length,
                ),
            ],
            0.08 * length,
        )
        shoe = half_space(shape, (0, 0, -1), -sole).moved(rotation, ankle)
        parts.append(surface(shoe, 0.036 * u / 1.5, person.shoes, Material.GLOSSY))
    return parts
