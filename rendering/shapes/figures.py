"""Who a person is and how they stand: looks, poses, and the joints that follow from both.

Proportions follow artists' canons (adult 7.5 heads, schoolchild 6, small child 5, toddler 4.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .primitives import F64, Colour, Point


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
        grips: How far left and right hand are closed, 0 = flat, 1 = a fist.
        thumbs: Direction the left and right thumb lie to; None = as the arm hangs or is raised.
        fingers: Direction left and right fingers point to; None = on along the forearm.
        shrugs: How far the left and right shoulder are raised.
        twist: Turn of the trunk above the hips to the left, radians.
        nod: Pitch of the head besides the lean's, radians, positive looks down.
    """

    pelvis: tuple[float, float] = (0.0, 0.6)
    lean: float = 0.0
    hands: tuple[Point, Point] = ((0.03, 0.185, 0.515), (0.03, -0.185, 0.515))
    feet: tuple[Point, Point] = ((0.0, 0.07, 0.05), (0.0, -0.07, 0.05))
    elbows: Point = (-1.0, 0.5, 0.0)
    knees: Point = (1.0, 0.15, 0.0)
    toes: tuple[float, float] = (0.0, 0.0)
    gaze: float = 0.0
    grips: tuple[float, float] = (0.3, 0.3)
    thumbs: tuple[Point | None, Point | None] = (None, None)
    fingers: tuple[Point | None, Point | None] = (None, None)
    shrugs: tuple[float, float] = (0.0, 0.0)
    twist: float = 0.0
    nod: float = 0.0


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
        heads: Standing height in heads: 7.5 adult, 6 schoolchild, 5 small child, 4.5 toddler.
        width: Breadth of the body, 1 = average.
        woman: Narrower shoulders, wider hips, a bust.
        skin, hair, top, bottom, shoes: sRGB colours.
        hair_style: "short", "long", "bun", "ponytail", "bunches", "curly" or "none".
        hat: "none", "beanie", "bobble" (a beanie with one), "cap" (a baseball cap) or "scarf"
            (a headscarf).
        hat_colour: sRGB.
        beard, glasses: Whether they wear one.
        sleeves: "long" or "short".
        bare: Whether the trunk is bare.
        feet: "shoes" or "bare".
        legs: "trousers", "shorts", "skirt" or "nappy".
        hem: How far the top reaches below the hips, in body heights (0.02 shirt, 0.2 coat).
        detail: What is on the top: "plain", "zip" (a zip and an open collar), "open" (a wide
            collar over a shirt) or "stripes".
        inner: Colour of the shirt below, of the zip, of the stripes, of pattern and cuffs.
        pattern: What is printed on top and trousers: "none", "stars", "dots" or "stripes"; clothes
            with a pattern are pyjamas: cuffs at wrists and ankles, buttons.
        face: "calm" or "alarmed" (open mouth, raised brows, wide eyes).
        gloves: sRGB, or None for bare hands.
        close: Whether it is made for near views: eyes set into the face, finer hair, the rounder
            faces of children, fingers side by side.
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
    hat: str = "none"
    hat_colour: Colour = (0.70, 0.15, 0.15)
    beard: bool = False
    glasses: bool = False
    gloves: Colour | None = None
    sleeves: str = "long"
    legs: str = "trousers"
    hem: float = 0.03
    detail: str = "plain"
    inner: Colour = (0.93, 0.93, 0.92)
    bare: bool = False
    feet: str = "shoes"
    pattern: str = "none"
    face: str = "calm"
    close: bool = False
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


def youth(person: Person) -> float:
    """Return 0 for an adult ... 1 for a toddler."""
    return float(np.clip((7.5 - person.heads) / 3.0, 0.0, 1.0))


def infancy(person: Person) -> float:
    """Return 0 from a small child on ... 1 for a toddler: cheeks, belly, soft limbs."""
    return float(np.clip((4.8 - person.heads) / 0.3, 0.0, 1.0))


def round_faced(person: Person) -> bool:
    """Return whether one has the round face of a child, as those made for near views have."""
    return infancy(person) > 0 or (person.close and youth(person) > 0.6)


def hand_length(person: Person, head_height: float) -> float:
    """Return the length of a stretched hand, wrist to fingertips, m."""
    gloved = 1.0 if person.gloves is None else 1.1
    young = youth(person)
    length = head_height * gloved * (0.76 + 0.06 * young) * (1 - 0.10 * person.woman)
    small = max(infancy(person), 0.6 * round_faced(person))
    return length * (1 - 0.24 * small)


def _arm_lengths(person: Person) -> tuple[float, float]:
    """Return (upper arm, forearm) in body heights."""
    young = youth(person)
    return 0.195 - 0.015 * young, 0.172 - 0.015 * young


def reaching(person: Person, side: int, point: Point) -> Person:
    """Return the person with one arm moved so that the middle fingertip is at a point.

    Unless the pose says where the fingers point, forearm and hand are one bone.

    Args:
        person: Looks and pose; the pose says where the elbow points to.
        side: 0 = left arm, 1 = right arm.
        point: (x, y, z) in the skeleton's frame, m.

    Raises:
        ValueError: The point is out of the arm's reach.
    """
    bones = skeleton(person)
    upper, fore = (length * bones.unit for length in _arm_lengths(person))
    closed = person.pose.grips[side]
    tip = hand_length(person, bones.head_height) * (1 - 0.52 * closed)
    towards = np.asarray(person.pose.elbows) * np.array([1.0, 1.0 - 2.0 * side, 1.0])
    target = np.asarray(point, dtype=np.float64)
    shoulder = bones.shoulders[side]
    fingers = person.pose.fingers[side]
    if fingers is not None:
        pointing = np.asarray(fingers, dtype=np.float64)
        target = target - pointing / np.linalg.norm(pointing) * tip
        tip = 0.0
    elbow, end = middle_joint(shoulder, target, upper, fore + tip, towards)
    if float(np.linalg.norm(end - target)) > 1e-6:
        away = float(np.linalg.norm(target - shoulder))
        raise ValueError(f"point: {away:.3f} m away, the arm reaches {upper + fore + tip:.3f} m")
    wrist = (elbow + (end - elbow) * (fore / (fore + tip))) / bones.unit
    hands = list(person.pose.hands)
    hands[side] = (float(wrist[0]), float(wrist[1]), float(wrist[2]))
    return replace(person, pose=replace(person.pose, hands=(hands[0], hands[1])))


def skeleton(person: Person) -> Skeleton:
    """Return the joints of a person in their pose; soles may be slightly off the ground."""
    pose = person.pose
    head = person.height / person.heads
    unit = person.height - head
    young, infant = youth(person), infancy(person)
    trunk = turn(pose.twist, pose.lean)
    stretch = 1 + 0.17 * young + 0.05 * infant
    pelvis = np.array([pose.pelvis[0], 0.0, pose.pelvis[1] - 0.043 * young - 0.035 * infant]) * unit
    shoulder = (0.112 if not person.woman else 0.097) * (1 + 0.04 * young) * person.width
    shoulder *= 1 - 0.13 * infant
    hip = (0.053 if not person.woman else 0.055) * person.width
    rise = 0.297 * stretch - 0.016 * infant
    sides: list[tuple[F64, ...]] = []
    thigh = 0.285 - 0.022 * young - 0.020 * infant
    shin = 0.275 - 0.021 * young - 0.022 * infant
    upper, fore = _arm_lengths(person)
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
        s = pelvis + trunk @ (np.array([-0.005, side * shoulder, rise + pose.shrugs[i]]) * unit)
        e, w = middle_joint(
            s,
            np.asarray(pose.hands[i]) * unit,
            upper * unit,
            fore * unit,
            np.asarray(pose.elbows) * mirror,
        )
        sides.append((h, k, a, s, e, w))
    pairs = [(left, right) for left, right in zip(*sides, strict=True)]
    neck = pelvis + trunk @ (np.array([0.0, 0.0, 0.39 * (1 + 0.11 * young + 0.09 * infant)]) * unit)
    head_turn = turn(pose.gaze, pose.lean * 0.3 + pose.nod)
    middle = neck + turn(pose.twist, pose.lean * 0.7) @ np.array([0.10, 0.0, 0.50]) * head
    return Skeleton(unit, head, stretch, trunk, pelvis, middle, head_turn, *pairs)
