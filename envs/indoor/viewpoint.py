"""Where the camera stands: near enough that what decides is large, with everything in the frame.

Cameras are drawn and compared by how large and how free each thing would be seen, every thing
taken for a box. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...rendering.world import Camera
from .layout import ROOM_FRONT

F64 = npt.NDArray[np.float64]

PICTURE_SIZE = (512, 384)
DRAWN = 72
"""Cameras that are compared."""

HEIGHTS = (1.05, 1.60)
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

BLOCKING = 0.8
"""A box blocks with this share of its breadth: people and open doors fill theirs only in part."""

STEEPEST = math.radians(-31.0)
"""Least pitch: looking further down, a room leans and people are seen from above."""

SIDEWAYS, FRONTAL = 0.45, 0.8
"""Cosine of the angle off the good side of a thing: up to the first nothing of it is seen, from the
second on all.
"""

LEVEL, FROM_ABOVE = math.radians(6.0), math.radians(20.0)
"""Angle at which one looks down on a thing that lies flat: up to the first it is a line, from the
second on it is seen for what it is.
"""


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
        flat: Whether it lies flat and must be looked down on.
    """

    name: str
    box: F64
    decides: bool
    solid: bool = True
    front: tuple[float, float] | None = None
    flat: bool = False


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
    draws = rng.random((DRAWN, 4))
    eyes = np.empty((DRAWN, 3))
    # Squared: near positions are drawn more often.
    eyes[:, 0] = -1.55 - (abs(ROOM_FRONT) - 1.8) * draws[:, 0] ** 1.6
    eyes[:, 1] = focus + 2.4 * (draws[:, 1] - 0.5) * (0.4 + 0.6 * draws[:, 0])
    eyes[:, 1] = eyes[:, 1].clip(side_walls[0] + 0.35, side_walls[1] - 0.35)
    eyes[:, 2] = HEIGHTS[0] + (HEIGHTS[1] - HEIGHTS[0]) * draws[:, 2]
    boxes = np.stack([subject.box for subject in subjects])  # n, 2, 3
    corners = _corners(boxes)  # n, 8, 3
    towards = corners[None] - eyes[:, None, None]  # m, n, 8, 3
    flat = np.hypot(towards[..., 0], towards[..., 1])
    bearing = np.arctan2(towards[..., 1], towards[..., 0]).reshape(DRAWN, -1)
    rise = np.arctan2(towards[..., 2], flat).reshape(DRAWN, -1)
    yaw = 0.5 * (bearing.min(axis=1) + bearing.max(axis=1))
    pitch = 0.5 * (rise.min(axis=1) + rise.max(axis=1))
    half_width = 0.5 * (bearing.max(axis=1) - bearing.min(axis=1))
    half_height = 0.5 * (rise.max(axis=1) - rise.min(axis=1))
    aspect = PICTURE_SIZE[0] / PICTURE_SIZE[1]
    field = 2.0 * RIM * np.arctan(np.maximum(np.tan(half_width), aspect * np.tan(half_height)))
    field = np.maximum(field * (1.0 + 0.25 * draws[:, 3]), FIELDS[0])
    field = np.minimum(field, FIELDS[1])
    scores = _scores(subjects, boxes, eyes, bearing, rise, field)
    scores *= _inside(bearing - yaw[:, None], rise - pitch[:, None], field, len(subjects))
    scores[pitch < STEEPEST] -= 0.5
    scores[_distance(eyes, boxes).min(axis=1) < CLEARANCE] -= 2.0
    best = int(np.argmax(scores))
    camera = Camera(
        x=float(eyes[best, 0]),
        y=float(eyes[best, 1]),
        z=float(eyes[best, 2]),
        yaw=float(yaw[best]),
        pitch=float(pitch[best]),
        hfov=float(field[best]),
        width=PICTURE_SIZE[0],
        height=PICTURE_SIZE[1],
    )
    return camera, float(scores[best])


def _inside(bearing: F64, rise: F64, field: F64, count: int) -> F64:
    """Return how much of the worst framed thing is in the frame, `m`.

    Args:
        bearing: Of the corners, from the middle of the picture, `m x 8 n`, radians.
        rise: The same.
        field: Horizontal fields of view, `m`, radians.
        count: Number `n` of things.
    """
    half = np.tan(0.5 * field)[:, None]
    across = np.abs(np.tan(bearing)) < half
    upright = np.abs(np.tan(rise)) < half * PICTURE_SIZE[1] / PICTURE_SIZE[0]
    shares = (across & upright).reshape(len(field), count, 8).mean(axis=2)
    return np.asarray(shares.min(axis=1))


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
    field: F64,
) -> F64:
    count = len(subjects)
    focal = 0.5 * PICTURE_SIZE[0] / np.tan(0.5 * field)
    bearing, rise = bearing.reshape(len(eyes), count, 8), rise.reshape(len(eyes), count, 8)
    width = bearing.max(axis=2) - bearing.min(axis=2)
    height = rise.max(axis=2) - rise.min(axis=2)
    side = np.sqrt(width * height) * focal[:, None]
    free = _free(subjects, boxes, eyes)
    total, weights = np.zeros(len(eyes)), 0.0
    for k, subject in enumerate(subjects):
        worth = 3.0 if subject.decides else 1.0
        seen = np.minimum(side[:, k] * np.sqrt(free[:, k]) / LARGE[subject.decides], 1.0)
        # A thing that is mostly hidden is not made good by its size.
        seen *= np.minimum(free[:, k] / 0.6, 1.0)
        if subject.front is not None:
            middle = boxes[k].mean(axis=0)[:2]
            look = eyes[:, :2] - middle
            look /= np.hypot(look[:, 0], look[:, 1])[:, None]
            off = look @ np.array(subject.front)
            seen *= ((off - SIDEWAYS) / (FRONTAL - SIDEWAYS)).clip(0.05, 1.0)
        if subject.flat:
            down = -0.5 * (rise[:, k].min(axis=1) + rise[:, k].max(axis=1))
            seen *= ((down - LEVEL) / (FROM_ABOVE - LEVEL)).clip(0.15, 1.0)
        total += worth * seen
        weights += worth
    return total / weights


def _free(subjects: Sequence[Subject], boxes: F64, eyes: F64) -> F64:
    """Return which share of each thing no other one hides, `m x n`."""
    steps = (np.arange(3) + 0.5) / 3.0
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    points = boxes[:, None, 0] + grid * (boxes[:, None, 1] - boxes[:, None, 0])  # n, p, 3
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
