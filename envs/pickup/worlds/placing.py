"""How an object is put down: its orientation, and how high its middle is when it touches.

Nothing here knows an engine, so that every backend puts the same things down in the same way.
"""

from __future__ import annotations

import math

import numpy as np

from ..objects import Part, PickUpObject
from ..scene import TABLE, TABLE_TOP, Pose
from .turns import F64, about, matrix, product

CLEARANCE = 0.001
"""Height above its resting height at which an object is let go, m."""

LEAN = math.radians(2.0)
"""Lean of a standing object over its narrow side when it is let go (ours). Nobody puts a thing down
perfectly upright: what stands on a tip falls over, what has a foot rights itself."""

MARGIN = 0.01
"""An object's middle must be this far inside the table's edge, m."""


def put_down_turn(pose: Pose) -> F64:
    """Return the orientation in which an object is let go, quaternion (w, x, y, z)."""
    about_vertical = about((0.0, 0.0, 1.0), pose.yaw)
    if pose.standing:
        return product(about_vertical, about((1.0, 0.0, 0.0), LEAN))
    # On its broad side: the long axis z along +x, the narrow axis y up, so x along +y.
    lying = np.array([0.5, 0.5, 0.5, 0.5])
    return product(about_vertical, lying)


def reach_below(thing: PickUpObject, turn: F64) -> float:
    """Return how far a turned object reaches below its middle, m (exact for its parts)."""
    down = matrix(turn).T @ np.array([0.0, 0.0, -1.0])
    return max(_support(part, down) for part in thing.parts)


def _support(part: Part, along: F64) -> float:
    """Return how far a part reaches along a unit vector of the object's frame."""
    x, y, z = (float(abs(number)) for number in along)
    middle = part.z * float(along[2])
    a, b, c = part.half_extents
    if part.shape == "box":
        return middle + a * x + b * y + c * z
    if part.shape == "ellipsoid":
        return middle + math.sqrt((a * x) ** 2 + (b * y) ** 2 + (c * z) ** 2)
    if part.shape == "capsule":
        return middle + part.half_length * z + part.radius
    return middle + part.half_length * z + part.radius * math.hypot(x, y)


def put_down(thing: PickUpObject, pose: Pose) -> tuple[F64, F64]:
    """Return the position of an object's middle and its orientation when it is let go."""
    turn = put_down_turn(pose)
    height = TABLE_TOP + reach_below(thing, turn) + CLEARANCE
    return np.array([pose.x, pose.y, height]), turn


def is_over_table(x: float, y: float) -> bool:
    """Return whether a point lies over the table, not on its very edge."""
    low_x, high_x, low_y, high_y = TABLE
    return low_x + MARGIN <= x <= high_x - MARGIN and low_y + MARGIN <= y <= high_y - MARGIN
