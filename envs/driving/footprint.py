"""Plan view of objects: boxes on the ground, their distance and their overlap.

Plan coordinates: x ahead of the ego's front bumper, y left of the ego lane's centre, m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

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


def extents(corners: Corners) -> tuple[float, float, float, float]:
    """Return (least x, greatest x, least y, greatest y)."""
    xs = [p[0] for p in corners]
    ys = [p[1] for p in corners]
    return min(xs), max(xs), min(ys), max(ys)


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


def apart(first: Corners, second: Corners, margin: float) -> bool:
    """Whether two boxes are at least `margin` m apart along a road's or one of their own axes."""
    a0, a1, b0, b1 = extents(first)
    c0, c1, d0, d1 = extents(second)
    if c0 - a1 >= margin or a0 - c1 >= margin or d0 - b1 >= margin or b0 - d1 >= margin:
        return True
    for box in (first, second):
        (ox, oy), (px, py), (_, _), (qx, qy) = box
        for ex, ey in ((px - ox, py - oy), (qx - ox, qy - oy)):
            length = math.hypot(ex, ey)
            ex, ey = ex / length, ey / length
            a = [p[0] * ex + p[1] * ey for p in first]
            b = [p[0] * ex + p[1] * ey for p in second]
            if min(b) - max(a) >= margin or min(a) - max(b) >= margin:
                return True
    return False
