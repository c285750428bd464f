"""Ambient occlusion baked into a backdrop: corners and crowns are darker than open walls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .mesh import F32, Mesh

_REACH = 1.3  # m
_STRENGTH = 0.8
# A large triangle would smear the darkness of one corner over metres: none is baked there.
_WHOLE_EDGE, _NO_EDGE = 1.6, 3.5
# Rays in the frame of the normal: (azimuth, elevation), evenly cosine-weighted.
_RAYS = ((0.5, 0.25), (1.76, 0.75), (3.02, 0.35), (4.27, 0.9), (5.53, 0.3))

# In a room: more and softer rays, and faces cut to this share of their length.
_ROOM_RAYS = tuple((2.399963 * k + 0.4, float(np.arcsin(((k + 0.5) / 9) ** 0.5))) for k in range(9))
_ROOM_STRENGTH = 0.85
_CUT, _SMALLEST_CUT, _MOST_FACES = 0.45, 0.12, 60_000

Occluded = Callable[[F32, F32, float], npt.NDArray[np.bool_]]


def baked_openness(mesh: Mesh, occluded: Occluded) -> F32:
    """Return the share of ambient light that reaches each corner, `3 x f`.

    Args:
        mesh: The mesh.
        occluded: Says which rays (origins `n x 3`, directions `n x 3`, length m) are blocked.
    """
    count = len(mesh.faces)
    openness = np.ones((3, count), dtype=np.float32)
    corners = mesh.vertices[mesh.faces]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    weight = np.clip((_NO_EDGE - edges) / (_NO_EDGE - _WHOLE_EDGE), 0.0, 1.0)
    at = np.flatnonzero(weight > 0.0)
    if len(at) == 0:
        return openness
    start, n, tangent, other = _frames(corners[at], mesh.normals[at])
    closed = np.zeros(len(n), dtype=np.float32)
    for ray in _rays(_RAYS, n, tangent, other):
        closed += occluded(start, ray, _REACH)
    share = _STRENGTH * closed.reshape(-1, 3) / len(_RAYS) * weight[at, None]
    openness[:, at] = (1.0 - share).T
    return openness


def room_openness(mesh: Mesh, nearest: Callable[[F32, F32, float], Any], reach: float) -> F32:
    """Return the share of ambient light that reaches each corner of a room, `3 x f`.

    What is far counts less than what is close, so that a room with a ceiling is not dark, and
    corners that touch on a smooth surface have one value.

    Args:
        mesh: The mesh, cut fine.
        nearest: Embree's hits of rays (origins `n x 3`, directions `n x 3`, length m).
        reach: Length of the rays, m.
    """
    corners = mesh.vertices[mesh.faces]
    start, n, _, _ = _frames(corners, mesh.normals)
    places = np.concatenate([np.rint(corners.reshape(-1, 3) * 2e3), np.rint(n * 4.0)], axis=1)
    _, one, group = np.unique(
        places.astype(np.int32), axis=0, return_index=True, return_inverse=True
    )
    group = group.reshape(-1)
    count = np.bincount(group, minlength=len(one))
    # Within a surface the starts of all its faces cancel out; at its rim they stay inside.
    starts = np.stack(
        [np.bincount(group, weights=start[:, k], minlength=len(one)) / count for k in range(3)],
        axis=1,
    ).astype(np.float32)
    n = np.ascontiguousarray(n[one])
    tangent, other = _across(n)
    closed = np.zeros(len(one), dtype=np.float32)
    for ray in _rays(_ROOM_RAYS, n, tangent, other):
        found = nearest(starts, ray, reach)
        if found is not None:
            close = np.clip(1.0 - found["tfar"] / np.float32(reach), 0.0, 1.0)
            # A narrow gap is as dark at its mouth as it is deep.
            closed += np.where(found["primID"] >= 0, np.sqrt(close), np.float32(0.0))
    share = 1.0 - _ROOM_STRENGTH * closed / len(_ROOM_RAYS)
    openness: F32 = share[group].reshape(-1, 3).T.astype(np.float32)
    return openness


def cut_fine(mesh: Mesh, reach: float) -> Mesh:
    """Return the mesh with its long edges halved until shade that reaches `reach` m can show.

    An edge is halved for both faces beside it or for neither: no cracks open.
    """
    limit = max(_CUT * reach, _SMALLEST_CUT)
    corners, normals = mesh.vertices[mesh.faces], mesh.normals
    source = np.arange(len(mesh.faces))
    while True:
        lengths = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        at = np.flatnonzero(lengths.max(axis=1) > limit) if len(corners) else np.zeros(0, np.intp)
        if len(at) == 0 or len(corners) + len(at) > _MOST_FACES:
            break
        # Turned so that the longest edge is the first.
        order = (np.argmax(lengths[at], axis=1)[:, None] + np.arange(3)) % 3
        c = np.take_along_axis(corners[at], order[:, :, None], axis=1)
        n = np.take_along_axis(normals[at], order[:, :, None], axis=1)
        middle, upright = 0.5 * (c[:, 0] + c[:, 1]), n[:, 0] + n[:, 1]
        upright /= np.maximum(np.linalg.norm(upright, axis=1, keepdims=True), 1e-9)
        halves = [
            np.concatenate([np.stack([a[:, 0], m, a[:, 2]], 1), np.stack([m, a[:, 1], a[:, 2]], 1)])
            for a, m in ((c, middle), (n, upright))
        ]
        keep = np.ones(len(corners), dtype=np.bool_)
        keep[at] = False
        corners = np.concatenate([corners[keep], halves[0]])
        normals = np.concatenate([normals[keep], halves[1]])
        source = np.concatenate([source[keep], source[at], source[at]])
    count = len(corners)
    return Mesh(
        np.ascontiguousarray(corners.reshape(-1, 3), dtype=np.float32),
        np.arange(3 * count, dtype=np.int32).reshape(-1, 3),
        mesh.colours[source],
        mesh.materials[source],
        np.ascontiguousarray(normals, dtype=np.float32),
    )


def _frames(corners: F32, normals: F32) -> tuple[F32, F32, F32, F32]:
    """Return where rays of corners `f x 3 x 3` start, and the axes there: normal and two across."""
    middle = corners.mean(axis=1, keepdims=True)
    # Start inside the face, off its surface: a corner itself touches its neighbours.
    points = corners + np.float32(0.15) * (middle - corners)
    n = normals.reshape(-1, 3)
    start = points.reshape(-1, 3) + n * np.float32(0.012)
    tangent, other = _across(n)
    return start, n, tangent, other


def _across(n: F32) -> tuple[F32, F32]:
    """Return two unit vectors across each of the normals `n x 3`."""
    side = np.where(
        np.abs(n[:, 2:3]) > 0.9, np.eye(3, dtype=np.float32)[0], np.eye(3, dtype=np.float32)[2]
    )
    tangent = np.cross(n, side).astype(np.float32)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-9)
    other = np.cross(n, tangent).astype(np.float32)
    return tangent, other


def _rays(angles: Sequence[tuple[float, float]], n: F32, tangent: F32, other: F32) -> Iterator[F32]:
    for azimuth, elevation in angles:
        a, b, c = (
            np.float32(value)
            for value in (
                np.cos(azimuth) * np.cos(elevation),
                np.sin(azimuth) * np.cos(elevation),
                np.sin(elevation),
            )
        )
        ray: F32 = a * tangent + b * other + c * n
        yield ray
