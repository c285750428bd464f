"""Meshes in any orientation: what a hand holds or what fell over is not just turned about z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .mesh import Mesh

Quaternion = tuple[float, float, float, float]


def rotation(turn: Quaternion) -> npt.NDArray[np.float64]:
    """Return the matrix `3 x 3` of a unit quaternion (w, x, y, z); columns are the turned axes."""
    w, x, y, z = turn
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def turned(mesh: Mesh, turn: Quaternion, translate: Sequence[float] = (0.0, 0.0, 0.0)) -> Mesh:
    """Return the mesh turned by a unit quaternion (w, x, y, z), then moved by `translate`, m."""
    matrix = rotation(turn)
    vertices = mesh.vertices @ matrix.T + np.asarray(translate, dtype=np.float64)
    return Mesh(
        vertices.astype(np.float32),
        mesh.faces,
        mesh.colours,
        mesh.materials,
        np.ascontiguousarray(mesh.normals @ matrix.T, dtype=np.float32),
    )
