"""Embree's bounding-volume hierarchy over the triangles of a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .mesh import F32

FAR = 1.0e4
"""Length of a ray that hits nothing, m."""


class Accelerator:
    """One bounding-volume hierarchy.

    Attributes:
        faces: How many triangles it has.
    """

    def __init__(self, triangles: F32) -> None:
        """Build it over `triangles`, `f x 3 x 3`, m."""
        from embreex import rtcore_scene
        from embreex.mesh_construction import TriangleMesh

        self.faces = len(triangles)
        self._scene: Any = None
        if self.faces:
            self._triangles = np.ascontiguousarray(triangles, dtype=np.float32)
            self._scene = rtcore_scene.EmbreeScene()
            self._mesh = TriangleMesh(self._scene, self._triangles)
            # The first query builds the hierarchy: have it built before threads share it.
            ray = np.zeros((1, 3), dtype=np.float32)
            self._scene.run(ray, ray + np.float32(1.0), query="OCCLUDED")

    def nearest(self, origins: F32, directions: F32, limit: F32 | float = FAR) -> Any:
        """Return embree's hit arrays for rays `n x 3`; None when there are no triangles."""
        if self._scene is None or len(directions) == 0:
            return None
        return self._scene.run(
            _each(origins, directions),
            directions,
            dists=_lengths(limit, directions),
            query="INTERSECT",
            output=1,
        )

    def occluded(
        self, origins: F32, directions: F32, limit: F32 | float = FAR
    ) -> npt.NDArray[np.bool_]:
        """Return which of the rays `n x 3` hit something within `limit` m."""
        if self._scene is None or len(directions) == 0:
            return np.zeros(len(directions), dtype=np.bool_)
        found = self._scene.run(
            _each(origins, directions),
            directions,
            dists=_lengths(limit, directions),
            query="OCCLUDED",
        )
        blocked: npt.NDArray[np.bool_] = found >= 0
        return blocked


def _each(origins: F32, directions: F32) -> F32:
    """Return one origin a ray, of origins `n x 3` or `1 x 3`."""
    if len(origins) == len(directions):
        return origins
    out = np.empty_like(directions)
    out[:] = origins
    return out


def _lengths(limit: F32 | float, directions: F32) -> F32:
    out = np.empty(len(directions), dtype=np.float32)
    out[:] = limit
    return out
