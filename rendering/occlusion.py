"""Ambient occlusion baked into a backdrop: corners and crowns are darker than open walls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .mesh import F32, Material, Mesh

_REACH = 1.3  # m
_STRENGTH = 0.8
# A large triangle would smear the darkness of one corner over metres: none is baked there.
_WHOLE_EDGE, _NO_EDGE = 1.6, 3.5
# Rays in the frame of the normal: (azimuth, elevation), evenly cosine-weighted.
_RAYS = ((0.5, 0.25), (1.76, 0.75), (3.02, 0.35), (4.27, 0.9), (5.53, 0.3))

# In a room: more and softer rays, and faces cut to this share of their length.
_ROOM_COUNT = 24
_ROOM_RAYS = tuple(
    (2.399963 * k + 0.4, float(np.arcsin(((k + 0.5) / _ROOM_COUNT) ** 0.5)))
    for k in range(_ROOM_COUNT)
)
_ROOM_STRENGTH = 0.85
_CUT, _SMALLEST_CUT, _MOST_FACES = 0.40, 0.12, 60_000
_LIFT, _INWARD = 0.012, 0.012  # of where rays start: off the surface, and inside at its rim, m
_BURIED = 0.3  # share of a corner's rays that meet the backs of faces: it lies inside of something
_ROUNDS = 12

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
    corners that touch on a smooth surface have one value. A corner that another part covers (a
    wall's foot behind its skirting) is seen by nobody, but the face is that it belongs to: it has
    the value of its neighbours.

    Args:
        mesh: The mesh, cut fine.
        nearest: Embree's hits of rays (origins `n x 3`, directions `n x 3`, length m).
        reach: Length of the rays, m.
    """
    corners = mesh.vertices[mesh.faces]
    n = mesh.normals.reshape(-1, 3)
    places = np.concatenate([np.rint(corners.reshape(-1, 3) * 2e3), np.rint(n * 4.0)], axis=1)
    _, one, group = np.unique(
        places.astype(np.int32), axis=0, return_index=True, return_inverse=True
    )
    group = group.reshape(-1)
    n = np.ascontiguousarray(n[one])
    starts = corners.reshape(-1, 3)[one] + np.float32(_LIFT) * n
    starts += _inward(corners, group, len(one))
    tangent, other = _across(n)
    ahead = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    closed, behind = np.zeros((2, len(one)), dtype=np.float32)
    for ray in _rays(_ROOM_RAYS, n, tangent, other):
        found = nearest(starts, ray, reach)
        if found is not None:
            close = np.clip(1.0 - found["tfar"] / np.float32(reach), 0.0, 1.0)
            met = found["primID"] >= 0
            face = np.where(met, found["primID"], 0)
            back = met & (np.einsum("ij,ij->i", ahead[face], ray) > 0.0)
            behind += back
            # A narrow gap is as dark at its mouth as it is deep.
            closed += np.where(met & ~back, np.sqrt(close), np.float32(0.0))
    share = 1.0 - _ROOM_STRENGTH * closed / np.maximum(len(_ROOM_RAYS) - behind, 1.0)
    buried = behind > _BURIED * len(_ROOM_RAYS)
    share = _uncovered(share, buried, group.reshape(-1, 3))
    openness: F32 = share[group].reshape(-1, 3).T.astype(np.float32)
    return openness


def _inward(corners: F32, group: npt.NDArray[np.integer[Any]], count: int) -> F32:
    """Return the way from each place to the inside of its surface, m; none where it is inside.

    The unit vectors into the fan of faces at a place, over its whole angle, come to the same
    however the surface is cut into faces: to nothing all round, and straight in at a rim.
    """
    ahead = np.roll(corners, -1, axis=1) - corners
    lengths = np.maximum(np.linalg.norm(ahead, axis=2, keepdims=True), 1e-9)
    one, two = ahead / lengths, np.roll(-ahead / lengths, 1, axis=1)
    half = 0.5 * np.arccos(np.clip((one * two).sum(axis=2), -1.0, 1.0))
    middle = one + two
    middle /= np.maximum(np.linalg.norm(middle, axis=2, keepdims=True), 1e-9)
    ways = (middle * (2.0 * np.sin(half))[..., None]).reshape(-1, 3)
    total = np.stack(
        [np.bincount(group, weights=ways[:, k], minlength=count) for k in range(3)], axis=1
    )
    # A narrow face is not to be left.
    area = np.linalg.norm(np.cross(ahead[:, 0], ahead[:, 1]), axis=1)
    room = np.full(count, _INWARD)
    np.minimum.at(room, group, np.repeat(0.15 * area / lengths[..., 0].max(axis=1), 3))
    inward: F32 = (total * room[:, None]).astype(np.float32)
    return inward


def _uncovered(
    share: npt.NDArray[np.floating[Any]],
    buried: npt.NDArray[np.bool_],
    triangles: npt.NDArray[np.integer[Any]],
) -> npt.NDArray[np.float64]:
    """Return the values of places, those of `buried` ones grown from beside them."""
    pairs = np.concatenate([triangles[:, (0, 1)], triangles[:, (1, 2)], triangles[:, (2, 0)]])
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[buried[pairs[:, 0]]]
    value, known = share.astype(np.float64), ~buried
    for _ in range(_ROUNDS):
        usable = pairs[known[pairs[:, 1]] & ~known[pairs[:, 0]]]
        if len(usable) == 0:
            break
        total = np.bincount(usable[:, 0], weights=value[usable[:, 1]], minlength=len(value))
        count = np.bincount(usable[:, 0], minlength=len(value))
        grown = count > 0
        value[grown] = total[grown] / count[grown]
        known = known | grown
    return value


def cut_fine(mesh: Mesh, reach: float) -> Mesh:
    """Return the mesh with its long edges halved until shade that reaches `reach` m can show.

    An edge is halved for both faces beside it or for neither: no cracks open.
    """
    limit = max(_CUT * reach, _SMALLEST_CUT)
    corners, normals = mesh.vertices[mesh.faces], mesh.normals
    source = np.arange(len(mesh.faces))
    while True:
        lengths = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        long = lengths.max(axis=1, initial=0.0) > limit
        # What shines has no shade to show.
        at = np.flatnonzero(long & (mesh.materials[source] != Material.EMISSIVE))
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
