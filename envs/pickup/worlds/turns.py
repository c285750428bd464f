"""Rotations as unit quaternions (w, x, y, z) and as 3 x 3 matrices, float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

F64: TypeAlias = npt.NDArray[np.float64]


def about(axis: Sequence[float] | F64, angle: float) -> F64:
    """Return the quaternion of a turn by `angle` radians about a unit vector."""
    half = 0.5 * angle
    x, y, z = axis
    s = math.sin(half)
    return np.array([math.cos(half), s * x, s * y, s * z])


def from_vector(vector: F64) -> F64:
    """Return the quaternion of an axis-angle vector, radians."""
    angle = math.sqrt(float(vector @ vector))
    if angle < 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return about(vector / angle, angle)


def product(one: F64, other: F64) -> F64:
    """Return the quaternion that turns by `other` first, then by `one`."""
    a, b, c, d = one
    e, f, g, h = other
    return np.array(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def inverse(turn: F64) -> F64:
    """Return the opposite turn of a unit quaternion."""
    opposite: F64 = turn * np.array([1.0, -1.0, -1.0, -1.0])
    return opposite


def matrix(turn: Sequence[float] | F64) -> F64:
    """Return the matrix (3 x 3) of a unit quaternion; its columns are the turned axes."""
    w, x, y, z = (float(number) for number in turn)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def upright(turn: F64, near: Sequence[float] | F64 = (1.0, 0.0, 0.0, 0.0)) -> F64:
    """Return the same turn as a unit quaternion: of its two signs the one nearer to `near`."""
    unit: F64 = turn / math.sqrt(float(turn @ turn))
    return -unit if float(unit @ np.asarray(near)) < 0 else unit
