"""Ambient occlusion baked into a backdrop: corners and crowns are darker than open walls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .mesh import F32, Mesh

_REACH = 1.3  # m
_STRENGTH = 0.8
# A large triangle would smear the darkness of one corner over metres: none is baked there.
_WHOLE_EDGE, _NO_EDGE = 1.6, 3.5
# Rays in the frame of the normal: (azimuth, elevation), evenly cosine-weighted.
_RAYS = ((0.5, 0.25), (1.76, 0.75), (3.02, 0.35), (4.27, 0.9), (5.53, 0.3))

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
    middle = corners[at].mean(axis=1, keepdims=True)
    # Start inside the face, off its surface: a corner itself touches its neighbours.
    points = corners[at] + np.float32(0.15) * (middle - corners[at])
    normals = mesh.normals[at]
    n = normals.reshape(-1, 3)
    start = points.reshape(-1, 3) + n * np.float32(0.012)
    side = np.where(
        np.abs(n[:, 2:3]) > 0.9, np.eye(3, dtype=np.float32)[0], np.eye(3, dtype=np.float32)[2]
    )
    tangent = np.cross(n, side).astype(np.float32)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-9)
    other = np.cross(n, tangent).astype(np.float32)
    closed = np.zeros(len(n), dtype=np.float32)
    for azimuth, elevation in _RAYS:
        a, b, c = (
            np.float32(value)
            for value in (
                np.cos(azimuth) * np.cos(elevation),
                np.sin(azimuth) * np.cos(elevation),
                np.sin(elevation),
            )
        )
        ray = a * tangent + b * other + c * n
        closed += occluded(start, ray, _REACH)
    share = _STRENGTH * closed.reshape(-1, 3) / len(_RAYS) * weight[at, None]
    openness[:, at] = (1.0 - share).T
    return openness
