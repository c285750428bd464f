"""Embree behind two questions: what does a ray hit first, and does it hit anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .mesh import F32, Mesh

FAR = 1.0e4
"""Length of a ray that hits nothing, m."""


class Accelerator:
    """One bounding-volume hierarchy."""

    def __init__(self, meshes: Iterable[Mesh]) -> None:
        """Build it over the triangles of `meshes` in order."""
        from embreex import rtcore_scene
        from embreex.mesh_construction import TriangleMesh

        corners = [mesh.vertices[mesh.faces] for mesh in meshes if len(mesh.faces)]
        self.faces = sum(len(part) for part in corners)
        self._scene: Any = None
        if self.faces:
            self._triangles = np.ascontiguousarray(np.concatenate(corners), dtype=np.float32)
            self._scene = rtcore_scene.EmbreeScene()
            self._mesh = TriangleMesh(self._scene, self._triangles)
            # The first query builds the hierarchy: have it built before threads share it.
            ray = np.zeros((1, 3), dtype=np.float32)
            self._scene.run(ray, ray + np.float32(1.0), query="OCCLUDED")

    def nearest(self, origins: F32, directions: F32, limit: F32 | float = FAR) -> Any:
        """Return embree's hit arrays for rays `n x 3`; None when there are no triangles."""
        if self._scene is None or len(origins) == 0:
            return None
        reach = np.empty(len(origins), dtype=np.float32)
        reach[:] = limit
        return self._scene.run(origins, directions, dists=reach, query="INTERSECT", output=1)

    def occluded(
        self, origins: F32, directions: F32, limit: F32 | float = FAR
    ) -> npt.NDArray[np.bool_]:
        """Return which of the rays `n x 3` hit something within `limit` m."""
        if self._scene is None or len(origins) == 0:
            return np.zeros(len(origins), dtype=np.bool_)
        reach = np.empty(len(origins), dtype=np.float32)
        reach[:] = limit
        found = self._scene.run(origins, directions, dists=reach, query="OCCLUDED")
        blocked: npt.NDArray[np.bool_] = found >= 0
        return blocked
