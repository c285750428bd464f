"""Plan view of objects: boxes on the ground, their distance and their overlap.

Plan coordinates: x ahead of the ego's front bumper, y left of the ego lane's centre, m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...rendering.mesh import Mesh
from . import assets

Point = tuple[float, float]
Corners = tuple[Point, Point, Point, Point]

CLEARANCE = 2.0
"""Parts of a mesh above this height cannot be hit and take no room on the ground, m. (Ours: the
roof of a passenger car is lower; it frees what stands under a signal's arm or a shelter's roof.)
"""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Box of a mesh in its own frame, from its parts below `CLEARANCE`.

    Attributes:
        x0, x1, y0, y1: Extents, m.
        height: Height of the whole mesh, m.
    """

    x0: float
    x1: float
    y0: float
    y1: float
    height: float

    @property
    def area(self) -> float:
        """On the ground, m²."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    def corners(self, yaw: float, x: float = 0.0, y: float = 0.0) -> Corners:
        """Return the box's corners, turned by `yaw` radians and moved to (x, y)."""
        c, s = math.cos(yaw), math.sin(yaw)
        ax, bx, ay, by = self.x0, self.x1, self.y0, self.y1
        return (
            (x + c * ax - s * ay, y + s * ax + c * ay),
            (x + c * bx - s * ay, y + s * bx + c * ay),
            (x + c * bx - s * by, y + s * bx + c * by),
            (x + c * ax - s * by, y + s * ax + c * by),
        )


@lru_cache(maxsize=256)
def footprint(kind: str, variant: int) -> Footprint:
    """Return the footprint of an asset."""
    return measure(assets.build(kind, variant))


def measure(mesh: Mesh) -> Footprint:
    """Return the footprint of a mesh in its own frame."""
    corners = mesh.vertices[mesh.faces]
    low = corners[corners[:, :, 2].min(axis=1) < CLEARANCE].reshape(-1, 3)
    if not len(low):
        low = mesh.vertices
    (x0, y0), (x1, y1) = low[:, :2].min(axis=0), low[:, :2].max(axis=0)
    height = float(np.max(mesh.vertices[:, 2]))
    return Footprint(float(x0), float(x1), float(y0), float(y1), height)


def corners_of(
    shape: Footprint, yaw: npt.NDArray[np.float64], xy: npt.NDArray[np.float64] | float = 0.0
) -> npt.NDArray[np.float64]:
    """Return the corners of a box turned by each of `n` angles and moved by `xy`, `n x 4 x 2`."""
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x = np.array([shape.x0, shape.x1, shape.x1, shape.x0])
    y = np.array([shape.y0, shape.y0, shape.y1, shape.y1])
    turned = np.stack([c * x - s * y, s * x + c * y], axis=-1)
    return turned if isinstance(xy, float) else turned + xy[:, None, :]


def nearest_in_strip(corners: Corners, low: float, high: float) -> float | None:
    """Return the least x of the box within low < y < high, or None when it stays outside, m."""
    least_y = min(p[1] for p in corners)
    greatest_y = max(p[1] for p in corners)
    if greatest_y <= low or least_y >= high:
        return None
    best = math.inf
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if low <= ay <= high:
            best = min(best, ax)
        for edge in (low, high):
            if (ay - edge) * (by - edge) < 0.0:
                best = min(best, ax + (bx - ax) * (edge - ay) / (by - ay))
    return best


def nearest_each(
    boxes: npt.NDArray[np.float64], low: float, high: float
) -> npt.NDArray[np.float64]:
    """Return `nearest_in_strip` of each of many boxes (`... x 4 x 2`), inf for those outside."""
    x, y = boxes[..., 0], boxes[..., 1]
    then_x, then_y = np.roll(x, -1, axis=-1), np.roll(y, -1, axis=-1)
    best = np.where((y >= low) & (y <= high), x, math.inf).min(axis=-1)
    step = np.where(then_y == y, 1.0, then_y - y)
    for edge in (low, high):
        crossing = x + (then_x - x) * (edge - y) / step
        crossed = (y - edge) * (then_y - edge) < 0.0
        best = np.minimum(best, np.where(crossed, crossing, math.inf).min(axis=-1))
    return np.asarray(np.where((y.max(axis=-1) <= low) | (y.min(axis=-1) >= high), math.inf, best))


def apart(boxes: npt.ArrayLike, other: Corners, margin: float) -> npt.NDArray[np.bool_]:
    """Return which of `n` boxes (`n x 4 x 2`, or one) are at least `margin` m from another.

    Distances are taken along the road's and both boxes' own axes.
    """
    each, fixed = np.asarray(boxes, dtype=np.float64).reshape(-1, 4, 2), np.array(other)
    own = np.stack([each[:, 1] - each[:, 0], each[:, 3] - each[:, 0]], axis=1)
    shared = np.array([fixed[1] - fixed[0], fixed[3] - fixed[0], (1.0, 0.0), (0.0, 1.0)])
    axes = np.concatenate([own, np.broadcast_to(shared, (len(each), 4, 2))], axis=1)
    axes = axes / np.hypot(axes[..., 0], axes[..., 1])[..., None]
    mine = np.einsum("nci,nai->nac", each, axes)
    theirs = np.einsum("ci,nai->nac", fixed, axes)
    gap = np.maximum(mine.min(axis=2) - theirs.max(axis=2), theirs.min(axis=2) - mine.max(axis=2))
    return np.asarray((gap >= margin).any(axis=1))
