"""Line of sight in plan and height: what a scene's boxes hide of one another, before any rendering.

Every thing is taken for a box; rays across it are cut with all other boxes. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .footprint import Corners

RAYS = 12
"""Rays across each thing."""

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Eye:
    """The camera.

    Attributes:
        x: Ahead of the front bumper, m.
        y: Left of the lane's centre, m.
        z: Height, m.
        yaw: Radians, counter-clockwise from above.
        half_width: Half of the horizontal field of view, radians.
    """

    x: float
    y: float
    z: float
    yaw: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Thing:
    """A box that is looked at.

    Attributes:
        corners: On the ground, m.
        base: Height of its lower end, m.
        top: Height of its upper end, m.
        solid: Whether it hides what is behind it.
    """

    corners: Corners
    base: float
    top: float
    solid: bool = True


def hidden_shares(corners: F64, things: Sequence[Thing], eye: Eye) -> tuple[F64, F64]:
    """Return which share of each thing's face is out of the frame or behind others.

    Args:
        corners: Of the things in each of `m` arrangements, `m x n x 4 x 2`, m.
        things: The `n` things; their own corners are not looked at.
        eye: The camera.

    Returns:
        Shares in [0, 1] and widths of the faces in radians, `m x n` each.
    """
    placed = corners - np.array((eye.x, eye.y))
    base = np.array([thing.base for thing in things]) - eye.z
    top = np.array([thing.top for thing in things]) - eye.z
    solid = np.array([thing.solid for thing in things])
    bearings = np.arctan2(placed[..., 1], placed[..., 0])
    low, high = bearings.min(axis=2), bearings.max(axis=2)
    middle = (np.arange(RAYS) + 0.5) / RAYS
    rays = low[..., None] + (high - low)[..., None] * middle  # m, n, rays
    reach = _reach(placed, rays)  # m, n, rays, n
    own = np.arange(len(things))
    distance = reach[:, own, :, own].swapaxes(0, 1)  # m, n, rays
    hides = (reach < distance[..., None]) & solid
    hides[:, own, :, own] = False
    # Slopes of the sight lines over each other box's upper edge, and to the thing's two ends.
    over = top / reach
    lower, upper = base[:, None] / distance, top[:, None] / distance
    covered = (over - lower[..., None]) / (upper - lower)[..., None]
    share = np.where(hides, covered, 0.0).max(axis=3).clip(0.0, 1.0)
    share[np.abs(rays - eye.yaw) > eye.half_width] = 1.0
    return share.mean(axis=2), high - low


def _reach(corners: F64, rays: F64) -> F64:
    """Return how far off each ray enters each box, `m x n x rays x n`; inf where it misses."""
    origin = corners[:, :, 0]
    sides = corners[:, :, 1::2] - origin[:, :, None]  # m, n, 2, 2
    lengths = np.hypot(sides[..., 0], sides[..., 1])
    axes = sides / lengths[..., None]
    start = -(axes * origin[:, :, None]).sum(axis=3)  # the eye in each box's frame: m, n, 2
    cosine, sine = np.cos(rays)[..., None], np.sin(rays)[..., None]
    enter, leave = np.full(1, -math.inf), np.full(1, math.inf)
    for k in range(2):
        along = axes[:, None, None, :, k]
        speed = cosine * along[..., 0] + sine * along[..., 1]
        speed[np.abs(speed) < 1e-12] = 1e-12
        first = -start[:, None, None, :, k] / speed
        second = first + lengths[:, None, None, :, k] / speed
        enter = np.maximum(enter, np.minimum(first, second))
        leave = np.minimum(leave, np.maximum(first, second))
    enter[(enter > leave) | (enter <= 0.0)] = math.inf
    return enter
