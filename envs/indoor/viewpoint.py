"""Where the camera stands: near enough that what decides is large, with the rest in the frame.

Cameras are drawn and compared by how large and how free each thing would be seen, every thing
taken for a box; some hold everything, others close in on what decides and cut the rest. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...rendering.world import Camera
from .layout import ROOM_FRONT

F64 = npt.NDArray[np.float64]

PICTURE_SIZE = (512, 384)
DRAWN = 96
"""Cameras that are compared."""

HEIGHTS = (1.05, 1.70)
"""From a bending to a standing adult's eyes, m."""

FIELDS = (math.radians(34.0), math.radians(64.0))
"""Narrowest and widest horizontal field of view."""

RIM = 1.10
"""How much wider the field is than what it must hold."""

CLEARANCE = 0.45
"""Least distance of the camera from any thing, m."""

LARGE = {True: 130.0, False: 80.0}
"""Side of a square in the picture from which on a deciding (an other) thing is large enough,
pixels.
"""

ENOUGH = 450.0
"""Pixels that a thing is to show by its triangles; short of them it counts in proportion."""

WHOLE = 0.35
"""Share of the cameras that hold everything; the others close in on what decides, more or less."""

CUT = 0.7
"""Share in the frame of a thing that decides nothing below which it is taken for lost, the more the
less of it is left.
"""

LOST = 0.4
"""What a thing costs that is out of the frame."""

UNTOLD = 0.3
"""What share of the score a thing costs that decides nothing and shows no pixels."""

BLOCKING = 0.8
"""A box blocks with this share of its breadth: people and open doors fill theirs only in part."""

STEEPEST = math.radians(-31.0)
"""Least pitch: looking further down, a room leans and people are seen from above."""

SIDEWAYS, FRONTAL = 0.45, 0.8
"""Cosine of the angle off the good side of a thing: up to the first nothing of it is seen, from the
second on all.
"""

FROM_ABOVE = math.radians(20.0)
"""Angle of looking down from which on a thing that lies flat is seen for what it is."""

LEVEL = 0.3
"""Share of that angle up to which it is a line."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at.

    Attributes:
        name: Concept.
        box: Axis-parallel box, `2 x 3`, m.
        decides: Whether the answer hangs on it.
        solid: Whether it hides what is behind it.
        front: Unit (x, y) of its only good side, of a thing that is open to one side; None when it
            may be seen from anywhere.
        above: Angle of looking down from which on it is seen for what it is, radians; 0 when it
            may be seen from any height.
        faces: Half of the normals of its triangles, as long as their areas, `n x 3`, m²; None when
            its size alone counts.
    """

    name: str
    box: F64
    decides: bool
    solid: bool = True
    front: tuple[float, float] | None = None
    above: float = 0.0
    faces: F64 | None = field(default=None, compare=False)


def choose(
    subjects: Sequence[Subject],
    focus: float,
    side_walls: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[Camera, float]:
    """Return the best of the cameras that were drawn, and its score.

    Args:
        subjects: What is looked at, at least one.
        focus: Where along the run most of it is, y in m.
        side_walls: (right, left), y in m.
        rng: The only source of chance.

    Returns:
        The camera and its score in [0, 1]: 1 means that every thing is large and free.
    """
    draws = rng.random((DRAWN, 5))
    eyes = np.empty((DRAWN, 3))
    # Squared: near positions are drawn more often.
    eyes[:, 0] = -1.55 - (abs(ROOM_FRONT) - 1.8) * draws[:, 0] ** 1.6
    eyes[:, 1] = focus + 2.4 * (draws[:, 1] - 0.5) * (0.4 + 0.6 * draws[:, 0])
    eyes[:, 1] = eyes[:, 1].clip(side_walls[0] + 0.35, side_walls[1] - 0.35)
    eyes[:, 2] = HEIGHTS[0] + (HEIGHTS[1] - HEIGHTS[0]) * draws[:, 2]
    boxes = np.stack([subject.box for subject in subjects])  # n, 2, 3
    towards = _corners(boxes)[None] - eyes[:, None, None]  # m, n, 8, 3
    bearing = np.arctan2(towards[..., 1], towards[..., 0])
    rise = np.arctan2(towards[..., 2], np.hypot(towards[..., 0], towards[..., 1]))
    closing = ((draws[:, 4] - WHOLE) / (1.0 - WHOLE)).clip(0.0, 1.0)
    decides = np.array([subject.decides for subject in subjects])
    right, left = _held(bearing, decides, closing)
    low, high = _held(rise, decides, closing)
    yaw, pitch = 0.5 * (right + left), 0.5 * (low + high)
    aspect = PICTURE_SIZE[0] / PICTURE_SIZE[1]
    half = np.maximum(np.tan(0.5 * (left - right)), aspect * np.tan(0.5 * (high - low)))
    fields = 2.0 * RIM * np.arctan(half)
    fields = np.maximum(fields * (1.0 + 0.25 * draws[:, 3]), FIELDS[0])
    fields = np.minimum(fields, FIELDS[1])
    inside = _inside(boxes, eyes, yaw, pitch, fields)
    scores = _scores(subjects, boxes, eyes, bearing, rise, fields, inside)
    scores[pitch < STEEPEST] -= 0.5
    scores[_distance(eyes, boxes).min(axis=1) < CLEARANCE] -= 2.0
    best = int(np.argmax(scores))
    camera = Camera(
        x=float(eyes[best, 0]),
        y=float(eyes[best, 1]),
        z=float(eyes[best, 2]),
        yaw=float(yaw[best]),
        pitch=float(pitch[best]),
        hfov=float(fields[best]),
        width=PICTURE_SIZE[0],
        height=PICTURE_SIZE[1],
    )
    return camera, float(scores[best])


def _held(angles: F64, decides: npt.NDArray[np.bool_], closing: F64) -> tuple[F64, F64]:
    """Return (least, largest) angle that each camera is to hold, `m`, radians.

    Args:
        angles: Of each thing's corners, `m x n x 8`, radians.
        decides: Which things decide, `n`.
        closing: 0 to hold everything, 1 what decides alone, `m`.
    """
    least, largest = angles.min(axis=(1, 2)), angles.max(axis=(1, 2))
    if decides.any():
        deciding = angles[:, decides]
        least = least + closing * (deciding.min(axis=(1, 2)) - least)
        largest = largest + closing * (deciding.max(axis=(1, 2)) - largest)
    return least, largest


def _inside(boxes: F64, eyes: F64, yaw: F64, pitch: F64, fields: F64) -> F64:
    """Return which share of each thing is in the frame, `m x n`."""
    away = _grid(boxes)[None] - eyes[:, None, None]  # m, n, p, 3
    c, s = np.cos(yaw)[:, None, None], np.sin(yaw)[:, None, None]
    ahead, left = c * away[..., 0] + s * away[..., 1], c * away[..., 1] - s * away[..., 0]
    c, s = np.cos(pitch)[:, None, None], np.sin(pitch)[:, None, None]
    depth, up = c * ahead + s * away[..., 2], c * away[..., 2] - s * ahead
    half = np.tan(0.5 * fields)[:, None, None] * depth
    within = (np.abs(left) < half) & (np.abs(up) < half * PICTURE_SIZE[1] / PICTURE_SIZE[0])
    return np.asarray((within & (depth > 0.0)).mean(axis=2))


def _grid(boxes: F64) -> F64:
    """Return 27 points in each box, `n x 27 x 3`."""
    steps = (np.arange(3) + 0.5) / 3.0
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.asarray(boxes[:, None, 0] + grid * (boxes[:, None, 1] - boxes[:, None, 0]))


def _corners(boxes: F64) -> F64:
    """Return the corners `n x 8 x 3` of boxes `n x 2 x 3`."""
    pick = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(8, 3)
    return np.stack([boxes[:, pick[:, k], k] for k in range(3)], axis=-1)


def _distance(eyes: F64, boxes: F64) -> F64:
    """Return the distance of each eye from each box, `m x n`, m."""
    low, high = boxes[None, :, 0], boxes[None, :, 1]
    away = np.maximum(np.maximum(low - eyes[:, None], eyes[:, None] - high), 0.0)
    return np.asarray(np.sqrt((away**2).sum(axis=2)))


def _scores(
    subjects: Sequence[Subject],
    boxes: F64,
    eyes: F64,
    bearing: F64,
    rise: F64,
    fields: F64,
    inside: F64,
) -> F64:
    focal = 0.5 * PICTURE_SIZE[0] / np.tan(0.5 * fields)
    width = bearing.max(axis=2) - bearing.min(axis=2)
    height = rise.max(axis=2) - rise.min(axis=2)
    side = np.sqrt(width * height) * focal[:, None]
    free = _free(subjects, boxes, eyes)
    total, weights, lost = np.zeros(len(eyes)), 0.0, np.zeros(len(eyes))
    shown: dict[str, F64] = {}
    for k, subject in enumerate(subjects):
        worth = 3.0 if subject.decides else 1.0
        seen = np.minimum(side[:, k] * np.sqrt(free[:, k]) / LARGE[subject.decides], 1.0)
        # A thing that is mostly hidden is not made good by its size.
        seen *= np.minimum(free[:, k] / 0.6, 1.0)
        look = eyes - boxes[k].mean(axis=0)
        if subject.front is not None:
            off = look[:, :2] @ np.array(subject.front) / np.hypot(look[:, 0], look[:, 1])
            seen *= ((off - SIDEWAYS) / (FRONTAL - SIDEWAYS)).clip(0.05, 1.0)
        if subject.above:
            down = -0.5 * (rise[:, k].min(axis=1) + rise[:, k].max(axis=1))
            seen *= ((down / subject.above - LEVEL) / (1.0 - LEVEL)).clip(0.15, 1.0)
        if subject.faces is not None:
            away = np.linalg.norm(look, axis=1)
            area = np.abs(look @ subject.faces.T).sum(axis=1) / away
            pixels = area * (focal / away) ** 2 * free[:, k] * inside[:, k]
            shown[subject.name] = shown.get(subject.name, 0.0) + pixels
        if not subject.decides:
            seen *= inside[:, k]
            lost += (1.0 - inside[:, k] / CUT).clip(0.0, 1.0)
        total += worth * seen
        weights += worth
    scores = total / weights - LOST * lost
    decides = np.array([subject.decides for subject in subjects])
    if decides.any():
        scores *= inside[:, decides].min(axis=1)
    names = {subject.name for subject in subjects if subject.decides}
    for name in sorted(shown):
        short = (shown[name] / ENOUGH).clip(0.0, 1.0)
        scores *= short if name in names else 1.0 - UNTOLD * (1.0 - short)
    return np.asarray(scores)


def _free(subjects: Sequence[Subject], boxes: F64, eyes: F64) -> F64:
    """Return which share of each thing no other one hides, `m x n`."""
    points = _grid(boxes)  # n, p, 3
    middle = boxes.mean(axis=1, keepdims=True)
    blocks = boxes.copy()
    blocks[:, :, :2] = (middle + BLOCKING * (boxes - middle))[:, :, :2]
    start = eyes[:, None, None, None]  # m, 1, 1, 1, 3
    ray = points[None, :, :, None] - start  # m, n, p, 1, 3
    ray = np.where(np.abs(ray) < 1e-9, 1e-9, ray)
    first = (blocks[:, 0] - start) / ray  # m, n, p, b, 3
    second = (blocks[:, 1] - start) / ray
    enter = np.minimum(first, second).max(axis=-1)
    leave = np.maximum(first, second).min(axis=-1)
    hit = (enter < np.minimum(leave, 0.98)) & (leave > 0.0)
    same = np.array([[a.name == b.name for b in subjects] for a in subjects])
    solid = np.array([subject.solid for subject in subjects])
    hit &= (solid & ~same)[None, :, None]
    return np.asarray(1.0 - hit.any(axis=3).mean(axis=2))
