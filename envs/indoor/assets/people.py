"""People of the kitchen: toddlers, children and an alarmed woman, each in the pose of its concept.

A child's frame is the project's: it faces +x, its origin lies on the floor under its hips. Hands
that matter end exactly at their anchor, so that a scene can put the thing reached for there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.people import Person, Pose, person_reaching
from ....rendering.shapes.primitives import Colour, rounded_box

Place = tuple[float, float, float]

_FAIR: Colour = (0.88, 0.68, 0.57)
_TAN: Colour = (0.74, 0.54, 0.41)
_BROWN: Colour = (0.50, 0.34, 0.25)
_BLOND: Colour = (0.76, 0.58, 0.30)
_DARK: Colour = (0.09, 0.06, 0.05)
_CHESTNUT: Colour = (0.36, 0.21, 0.11)
_WHITE: Colour = (0.95, 0.95, 0.93)


@dataclass(frozen=True, slots=True)
class Figure:
    """A person in a kitchen.

    Attributes:
        person: Looks and pose.
        reaches: (0 = left, 1 = right hand; where its fingertips are, m).
        anchors: Named points of the figure, m.
        blocks: Whether toy blocks lie before it and one is in its right hand.
    """

    person: Person
    reaches: tuple[tuple[int, Place], ...] = ()
    anchors: Mapping[str, Place] | None = None
    blocks: bool = False

    def mesh(self) -> Mesh:
        """Return the mesh, on the floor."""
        return person_reaching(self.person, self.reaches, _blocks() if self.blocks else ())

    def points(self) -> dict[str, Place]:
        """Return the anchors; the first hand that reaches is called `hand`."""
        points = dict(self.anchors or {})
        if self.reaches:
            points.setdefault("hand", self.reaches[0][1])
        return points


_STANDING = Pose(
    hands=((0.05, 0.200, 0.545), (0.03, -0.200, 0.54)),
    feet=((0.015, 0.085, 0.05), (-0.01, -0.085, 0.05)),
    elbows=(-0.8, 0.9, 0.0),
    grips=(0.35, 0.35),
)
_AT_EASE = replace(_STANDING, hands=((0.09, 0.205, 0.575), (0.02, -0.205, 0.55)), gaze=0.15)
_LOOKING_UP = replace(
    _STANDING, hands=((0.10, 0.185, 0.60), (0.04, -0.200, 0.54)), gaze=-0.2, nod=-0.12
)
_TODDLING = Pose(
    pelvis=(0.0, 0.59),
    lean=0.06,
    hands=((-0.03, 0.25, 0.63), (0.13, -0.24, 0.66)),
    feet=((0.12, 0.075, 0.055), (-0.13, -0.075, 0.085)),
    elbows=(-0.8, 0.9, -0.2),
    toes=(-0.18, 0.55),
    grips=(0.3, 0.3),
    nod=0.1,
)
_OTHER_TODDLING = replace(
    _TODDLING,
    hands=((0.12, 0.25, 0.68), (-0.02, -0.25, 0.62)),
    feet=((-0.13, 0.075, 0.085), (0.12, -0.075, 0.055)),
    toes=(0.55, -0.18),
)
_RUNNING = Pose(
    pelvis=(0.0, 0.575),
    lean=0.17,
    hands=((0.19, 0.15, 0.74), (-0.15, -0.18, 0.68)),
    feet=((-0.28, 0.06, 0.25), (0.20, -0.06, 0.055)),
    elbows=(-1.0, 0.5, -0.2),
    toes=(0.95, -0.2),
    grips=(0.6, 0.6),
)
_OTHER_RUN = replace(
    _RUNNING,
    hands=((-0.15, 0.18, 0.68), (0.19, -0.15, 0.74)),
    feet=((0.20, 0.06, 0.055), (-0.28, -0.06, 0.25)),
    toes=(-0.2, 0.95),
)
_SITTING = Pose(
    pelvis=(0.0, 0.185),
    lean=0.16,
    hands=((0.24, 0.14, 0.16), (0.24, -0.14, 0.16)),
    feet=((0.43, 0.19, 0.07), (0.43, -0.19, 0.07)),
    elbows=(-0.7, 1.0, -0.1),
    knees=(0.0, 0.55, 1.0),
    toes=(-1.15, -1.15),
    grips=(0.35, 0.35),
    thumbs=((0.2, -1.0, 0.3), (0.2, 1.0, 0.3)),
    nod=0.30,
)
_PALM_DOWN = ((0.0, -1.0, 0.0), (0.0, 1.0, 0.0))
_KNEELING = Pose(
    pelvis=(-0.02, 0.300),
    lean=0.50,
    hands=((0.22, 0.20, 0.16), (0.30, -0.10, 0.40)),
    feet=((-0.13, 0.085, 0.045), (-0.13, -0.085, 0.045)),
    elbows=(-0.5, 1.0, -0.3),
    knees=(1.0, 0.22, -0.3),
    toes=(2.75, 2.75),
    grips=(0.2, 0.12),
    thumbs=_PALM_DOWN,
    twist=0.22,
    nod=-0.22,
)
_SQUATTING = Pose(
    pelvis=(-0.09, 0.275),
    lean=0.55,
    hands=((0.13, 0.22, 0.27), (0.30, -0.10, 0.40)),
    feet=((0.0, 0.115, 0.05), (0.0, -0.115, 0.05)),
    elbows=(-0.4, 1.0, -0.2),
    knees=(1.0, 0.55, 0.6),
    grips=(0.3, 0.12),
    thumbs=_PALM_DOWN,
    twist=0.16,
    nod=-0.26,
)
_TIPTOE = Pose(
    pelvis=(0.0, 0.665),
    lean=0.20,
    hands=((0.16, 0.17, 0.64), (0.2, -0.15, 0.9)),
    feet=((0.0, 0.075, 0.125), (-0.02, -0.075, 0.125)),
    elbows=(-0.25, 1.0, 0.10),
    toes=(0.75, 0.75),
    grips=(0.35, 0.25),
    thumbs=_PALM_DOWN,
    fingers=(None, (1.0, 0.15, -0.08)),
    shrugs=(0.0, 0.03),
    twist=0.30,
    nod=-0.05,
)
_ON_STOOL = Pose(
    pelvis=(0.03, 0.640),
    lean=0.30,
    hands=((0.2, 0.15, 0.6), (0.2, -0.15, 0.9)),
    feet=((0.0, 0.065, 0.085), (-0.02, -0.065, 0.085)),
    elbows=(-0.5, 0.9, -0.3),
    toes=(0.4, 0.4),
    grips=(0.1, 0.15),
    thumbs=_PALM_DOWN,
    fingers=((1.0, 0.0, -0.25), (1.0, 0.1, 0.1)),
    shrugs=(-0.02, 0.035),
    twist=0.12,
    nod=-0.25,
)
_ALARMED = Pose(
    pelvis=(0.02, 0.585),
    lean=0.08,
    hands=((0.14, 0.165, 0.90), (0.3, -0.1, 0.8)),
    feet=((-0.16, 0.06, 0.108), (0.16, -0.06, 0.055)),
    elbows=(-0.2, 0.8, -0.9),
    toes=(0.5, 0.0),
    grips=(0.15, 0.25),
    thumbs=((-0.5, -0.8, 0.2), (0.0, 0.4, 1.0)),
    fingers=((0.12, -0.35, 1.0), None),
    gaze=0.75,
    twist=0.12,
)


def _mirrored(pose: Pose) -> Pose:
    """Return the pose with left and right exchanged."""

    def swapped(pair: tuple[Place, Place]) -> tuple[Place, Place]:
        (lx, ly, lz), (rx, ry, rz) = pair
        return (rx, -ry, rz), (lx, -ly, lz)

    left, right = pose.thumbs
    other, points = pose.fingers
    return replace(
        pose,
        hands=swapped(pose.hands),  # type: ignore[arg-type]
        feet=swapped(pose.feet),  # type: ignore[arg-type]
        toes=pose.toes[::-1],
        grips=pose.grips[::-1],
        thumbs=(
            None if right is None else (right[0], -right[1], right[2]),
            None if left is None else (left[0], -left[1], left[2]),
        ),
        gaze=-pose.gaze,
        fingers=(
            None if points is None else (points[0], -points[1], points[2]),
            None if other is None else (other[0], -other[1], other[2]),
        ),
        shrugs=pose.shrugs[::-1],
        twist=-pose.twist,
    )


def _toddler(height: float, pose: Pose, **looks: object) -> Person:
    defaults: dict[str, object] = {
        "heads": 4.35,
        "feet": "bare",
        "hem": 0.03,
        "skin": _FAIR,
        "width": 1.15,
        "close": True,
    }
    return Person(height=height, pose=pose, **{**defaults, **looks})  # type: ignore[arg-type]


def _child(height: float, heads: float, **looks: object) -> Person:
    return Person(height=height, heads=heads, width=0.92, close=True, **looks)  # type: ignore[arg-type]


def _pyjamas(
    height: float, pose: Pose, cloth: Colour, inner: Colour, pattern: str, **looks: object
) -> Person:
    worn = {"top": cloth, "bottom": cloth, "inner": inner, "pattern": pattern, "hem": 0.05}
    return _toddler(height, pose, **{**worn, **looks})


_GIRL = {"hair_style": "bunches"}

FIGURES: Mapping[str, tuple[Figure, ...]] = {
    "toddler_standing": (
        Figure(_pyjamas(0.90, _STANDING, (0.16, 0.36, 0.78), _WHITE, "stars", hair=_BLOND)),
        Figure(_pyjamas(0.88, _AT_EASE, (0.30, 0.55, 0.90), (0.98, 0.88, 0.30), "dots",
                        skin=_BROWN, hair=_DARK, hair_style="curly")),
        Figure(_pyjamas(0.93, _LOOKING_UP, (0.20, 0.42, 0.82), (0.80, 0.90, 0.98), "stripes",
                        skin=_TAN, hair=_CHESTNUT, **_GIRL)),
    ),
    "child_running": (
        Figure(_child(1.16, 4.95, top=(0.90, 0.22, 0.16), bottom=(0.20, 0.27, 0.45),
                      sleeves="short", detail="stripes", shoes=(0.92, 0.92, 0.90),
                      skin=_FAIR, hair=_CHESTNUT, pose=_RUNNING)),
        Figure(_child(1.12, 4.85, hair_style="ponytail", hair=_BLOND,
                      skin=_FAIR, top=(0.98, 0.78, 0.22), bottom=(0.55, 0.30, 0.62),
                      sleeves="short", hem=0.05, shoes=(0.90, 0.40, 0.50), pose=_OTHER_RUN)),
        Figure(_child(1.22, 5.05, skin=_BROWN, hair=_DARK, hair_style="curly",
                      top=(0.20, 0.60, 0.42), bottom=(0.58, 0.48, 0.34), legs="shorts",
                      sleeves="short", shoes=(0.20, 0.30, 0.60), pose=_OTHER_RUN)),
        Figure(_child(1.14, 4.9, hair_style="bunches", hair=_DARK,
                      skin=_TAN, top=(0.25, 0.62, 0.80), bottom=(0.92, 0.45, 0.55), legs="shorts",
                      shoes=(0.95, 0.95, 0.92), pose=_RUNNING)),
    ),
    "toddler_playing": tuple(
        Figure(_toddler(height, replace(_SITTING, gaze=gaze), **looks), (
            (1, (0.262, -0.035, 0.118)), (0, (0.245, 0.085, 0.085))),
            {"toys": (0.50, 0.0, 0.0)}, blocks=True)
        for height, gaze, looks in (
            (0.88, 0.0, {"top": (0.94, 0.42, 0.16), "bottom": (0.24, 0.32, 0.52),
                         "hair": _CHESTNUT}),
            (0.85, 0.15, {"top": (0.62, 0.40, 0.75), "bottom": (0.92, 0.90, 0.86), "hair": _BLOND,
                          **_GIRL}),
            (0.90, -0.15, {"top": (0.20, 0.58, 0.50), "bottom": (0.40, 0.40, 0.44), "skin": _BROWN,
                           "hair": _DARK, "hair_style": "curly", "sleeves": "short"}),
        )
    ),
    "child_on_stool": (
        Figure(_child(1.04, 5.1, feet="bare", top=(0.25, 0.55, 0.85),
                      bottom=(0.30, 0.30, 0.36), sleeves="short", skin=_FAIR, hair=_CHESTNUT,
                      pose=_ON_STOOL),
               ((1, (0.41, -0.12, 1.02)), (0, (0.30, 0.13, 0.474)))),
        Figure(_child(1.05, 5.1, hair_style="ponytail", hair=_DARK,
                      skin=_TAN, feet="bare", top=(0.95, 0.45, 0.55), bottom=(0.30, 0.40, 0.60),
                      pose=_mirrored(_ON_STOOL)),
               ((0, (0.41, 0.12, 1.02)), (1, (0.30, -0.13, 0.474)))),
        Figure(_child(1.03, 5.0, skin=_BROWN, hair=_DARK, hair_style="curly",
                      feet="bare", top=(0.95, 0.80, 0.25), bottom=(0.25, 0.45, 0.35), legs="shorts",
                      sleeves="short", pose=_ON_STOOL),
               ((1, (0.40, -0.12, 1.00)), (0, (0.30, 0.13, 0.474)))),
    ),
    "adult_reacting": (
        Figure(Person(height=1.67, woman=True, face="alarmed", close=True, hair_style="long",
                      hair=_CHESTNUT, skin=_FAIR, top=(0.55, 0.72, 0.62), bottom=(0.20, 0.26, 0.42),
                      hem=0.035, shoes=(0.55, 0.40, 0.34), pose=_ALARMED),
               ((1, (0.70, -0.12, 1.20)),)),
        Figure(Person(height=1.70, woman=True, face="alarmed", close=True, hair_style="long",
                      hair=_DARK, skin=_TAN, top=(0.78, 0.30, 0.28), bottom=(0.24, 0.24, 0.27),
                      hem=0.035, shoes=(0.85, 0.84, 0.80), pose=_mirrored(_ALARMED)),
               ((0, (0.70, 0.12, 1.20)),)),
    ),
    "child_reaching": (
        Figure(_toddler(0.86, _KNEELING, bare=True, legs="nappy", bottom=_WHITE,
                        inner=(0.35, 0.62, 0.90), hair=_BLOND), ((1, (0.43, -0.04, 0.35)),)),
        Figure(_toddler(0.88, _mirrored(_SQUATTING), bare=True, legs="nappy", bottom=_WHITE,
                        inner=(0.45, 0.75, 0.45), skin=_BROWN, hair=_DARK, hair_style="curly"),
               ((0, (0.40, 0.04, 0.36)),)),
        Figure(_toddler(0.84, _SQUATTING, bare=True, legs="nappy", bottom=_WHITE,
                        inner=(0.95, 0.55, 0.65), skin=_TAN, hair=_CHESTNUT),
               ((1, (0.39, -0.04, 0.34)),)),
    ),
    "child_near_microwave": (
        Figure(_toddler(1.13, _TIPTOE, heads=4.6, top=(0.95, 0.30, 0.22), bottom=(0.24, 0.33, 0.55),
                        hair=_CHESTNUT), ((1, (0.42, -0.15, 1.00)),)),
        Figure(_toddler(1.11, _mirrored(_TIPTOE), heads=4.6, top=(0.98, 0.82, 0.30),
                        bottom=(0.35, 0.52, 0.36), hair=_BLOND, **_GIRL),
               ((0, (0.42, 0.15, 1.00)),)),
        Figure(_toddler(1.15, _TIPTOE, heads=4.6, top=(0.25, 0.62, 0.78), bottom=(0.50, 0.42, 0.34),
                        skin=_BROWN, hair=_DARK, hair_style="curly", sleeves="short"),
               ((1, (0.42, -0.15, 1.00)),)),
    ),
    "child_near_pan": tuple(
        Figure(_toddler(height, pose, heads=4.6, **looks), ((side, (0.42, y, 0.99)),))
        for height, side, y, pose, looks in (
            (1.13, 0, 0.15, replace(_mirrored(_TIPTOE), gaze=0.1),
             {"top": (0.45, 0.70, 0.35), "bottom": (0.50, 0.36, 0.26), "hair": _BLOND}),
            (1.11, 1, -0.15, replace(_TIPTOE, hands=((0.10, 0.20, 0.58), (0.2, -0.15, 0.9))),
             {"top": (0.80, 0.45, 0.72), "bottom": (0.28, 0.26, 0.40), "hair": _DARK, "skin": _TAN,
              **_GIRL}),
            (1.15, 1, -0.15, replace(_TIPTOE, hands=((0.03, 0.21, 0.56), (0.2, -0.15, 0.9))),
             {"top": (0.92, 0.90, 0.84), "bottom": (0.20, 0.42, 0.62), "hair": _DARK,
              "skin": _BROWN, "legs": "shorts", "sleeves": "short", "detail": "stripes",
              "inner": (0.85, 0.25, 0.20)}),
        )
    ),
    "barefoot_walking": (
        Figure(_toddler(0.88, _TODDLING, top=(0.98, 0.72, 0.18), bottom=(0.25, 0.40, 0.62),
                        legs="shorts", sleeves="short", hair=_CHESTNUT)),
        Figure(_toddler(0.86, _OTHER_TODDLING, top=(0.96, 0.52, 0.60), bottom=(0.38, 0.36, 0.58),
                        legs="shorts", sleeves="short", hair=_BLOND, **_GIRL)),
        Figure(_toddler(0.91, _TODDLING, top=(0.36, 0.68, 0.48), bottom=(0.70, 0.55, 0.36),
                        legs="shorts", sleeves="short", skin=_BROWN, hair=_DARK,
                        hair_style="curly")),
    ),
    "barefoot_standing": (
        Figure(_pyjamas(0.90, _AT_EASE, (0.98, 0.82, 0.30), (0.98, 0.98, 0.96), "dots",
                        hair=_CHESTNUT)),
        Figure(_pyjamas(0.87, _STANDING, (0.96, 0.60, 0.70), (0.99, 0.96, 0.97), "stars",
                        hair=_BLOND, **_GIRL)),
        Figure(_pyjamas(0.92, _LOOKING_UP, (0.42, 0.70, 0.45), (0.95, 0.97, 0.88), "stripes",
                        skin=_BROWN, hair=_DARK, hair_style="curly")),
    ),
}  # fmt: skip
"""The figures by kind; the index is the variant."""

_BLOCKS: tuple[tuple[Place, float, Colour], ...] = (
    ((0.265, -0.030, 0.085), 0.050, (0.90, 0.16, 0.14)),
    ((0.275, 0.020, 0.025), 0.050, (0.16, 0.40, 0.85)),
    ((0.345, -0.055, 0.025), 0.050, (0.98, 0.80, 0.14)),
)


def _blocks() -> list[Mesh]:
    """Return three toy blocks between the legs of one who sits."""
    return [
        rounded_box((size, size, size), 0.005, place, colour, Material.GLOSSY, 1)
        for place, size, colour in _BLOCKS
    ]


def _builder(kind: str) -> Callable[[int], Mesh]:
    return lambda variant: FIGURES[kind][variant].mesh()


def _points(kind: str) -> Callable[[int], dict[str, Place]]:
    return lambda variant: FIGURES[kind][variant].points()


BUILDERS: dict[str, tuple[int, Callable[[int], Mesh]]] = {
    kind: (len(figures), _builder(kind)) for kind, figures in FIGURES.items()
}
"""Number of variants and builder of each kind."""

ANCHORS: dict[str, Callable[[int], dict[str, Place]]] = {
    kind: _points(kind) for kind, figures in FIGURES.items() if figures[0].points()
}
"""Named points of the kinds that have some, in the figure's frame, m."""

__all__ = ["ANCHORS", "BUILDERS", "FIGURES", "Figure"]
