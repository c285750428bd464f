"""Prints on cloth: stars and dots that lie on a garment as thin patches. The maths is ours."""

from __future__ import annotations

import numpy as np

from ..mesh import Material, Mesh
from .fields import Field
from .primitives import F64, Colour, Point

_LIFT = 0.0012
_DRAWN = 900
_BENT = 0.75
"""A patch that would have to bend by more than this, in its radii, spans a fold."""


def star(size: float) -> tuple[F64, F64]:
    """Return (points `n x 2`, triangles) of a five-pointed star of radius `size`, m."""
    angle = np.pi / 2 + np.arange(10) * (np.pi / 5)
    radius = np.where(np.arange(10) % 2 == 0, size, 0.46 * size)
    return _fan_of(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))


def dot(size: float, sides: int = 7) -> tuple[F64, F64]:
    """Return (points `n x 2`, triangles) of a disc of radius `size`, m."""
    angle = np.arange(sides) * (2 * np.pi / sides)
    return _fan_of(size * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def _fan_of(ring: F64) -> tuple[F64, F64]:
    n = len(ring)
    around = np.arange(n)
    faces = np.stack([np.full(n, n), around, (around + 1) % n], axis=1)
    return np.concatenate([ring, np.zeros((1, 2))]), faces


def printed(
    mesh: Mesh,
    shape: tuple[F64, F64],
    spacing: float,
    colour: Colour,
    hidden: Field | None = None,
    seed: int = 0,
) -> Mesh:
    """Return patches strewn evenly over a garment, bent to its surface.

    Args:
        mesh: The garment.
        shape: Points and triangles of one patch, as of `star`.
        spacing: Least distance between the middles of two patches, m.
        colour: sRGB.
        hidden: A body; no patch lies inside it.
        seed: Where they fall.
    """
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    rng = np.random.default_rng(seed)
    face = np.searchsorted(np.cumsum(area) / area.sum(), rng.random(_DRAWN), side="right")
    face = np.minimum(face, len(area) - 1)
    share = rng.dirichlet((1.0, 1.0, 1.0), _DRAWN)
    points = np.einsum("nc,ncd->nd", share, corners[face])
    normals = np.einsum("nc,ncd->nd", share, mesh.normals[face].astype(np.float64))
    if hidden is not None:
        seen = hidden.value(points) > 0.004
        points, normals = points[seen], normals[seen]
    chosen: list[int] = []
    for i, point in enumerate(points):
        if all(np.linalg.norm(point - points[k]) >= spacing for k in chosen):
            chosen.append(i)
    patches = [patch(mesh, points[i], normals[i], shape, colour) for i in chosen]
    return Mesh.merge([one for one in patches if one is not None])


def patch(
    mesh: Mesh, point: Point, normal: Point, shape: tuple[F64, F64], colour: Colour
) -> Mesh | None:
    """Return one patch on a mesh around a point, or None where it would hang over an edge.

    Args:
        mesh: What it lies on.
        point: Where, m.
        normal: The direction it looks to.
        shape: Points and triangles, as of `star`; the second coordinate points up.
        colour: sRGB.
    """
    flat, faces = shape
    n = np.asarray(normal, dtype=np.float64)
    n = n / max(float(np.linalg.norm(n)), 1e-9)
    up = np.array([0.0, 0.0, 1.0]) if abs(n[2]) < 0.95 else np.array([1.0, 0.0, 0.0])
    side = np.cross(up, n)
    side /= np.linalg.norm(side)
    start = np.asarray(point) + flat[:, :1] * side + flat[:, 1:] * np.cross(n, side)
    reach = float(np.abs(flat).max())
    heights = _heights(mesh, start, n, reach)
    if heights is None or np.ptp(heights) > _BENT * reach:
        return None
    return Mesh.build(start + (heights + _LIFT)[:, None] * n, faces, colour, Material.CLOTH, 70.0)


def _heights(mesh: Mesh, points: F64, n: F64, reach: float) -> F64 | None:
    """Return how far along `n` the surface lies from each point; None if one misses it."""
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    middle = corners.mean(axis=1)
    size = np.linalg.norm(corners - middle[:, None], axis=2).max(axis=1)
    near = np.linalg.norm(middle - points[-1], axis=1) < 2 * reach + size
    a = corners[near][:, 0]
    one, two = corners[near][:, 1] - a, corners[near][:, 2] - a
    across = np.cross(one, two)
    slope = across @ n
    facing = slope > 1e-12
    a, one, two, across, slope = (v[facing] for v in (a, one, two, across, slope))
    away = points[:, None] - a[None]
    t = -np.einsum("pfd,fd->pf", away, across) / slope
    at = away + t[..., None] * n
    u = np.einsum("pfd,fd->pf", np.cross(at, two[None]), across) / np.einsum(
        "fd,fd->f", across, across
    )
    v = np.einsum("pfd,fd->pf", np.cross(one[None], at), across) / np.einsum(
        "fd,fd->f", across, across
    )
    inside = (u > -1e-6) & (v > -1e-6) & (u + v < 1 + 1e-6) & (np.abs(t) < 0.8 * reach)
    if not inside.any(axis=1).all():
        return None
    return np.asarray(np.where(inside, t, -np.inf).max(axis=1))
