"""What shading looks up by face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .mesh import F32, Mesh
from .tonemap import srgb_to_linear


class FaceTable(NamedTuple):
    """What shading looks up by face, one row a face.

    Attributes:
        normals: Corner normals `f x 9` (corner after corner).
        curved: `f` bool: the corner normals differ.
        colours: Linear albedo `f x 3`.
        materials: `f` uint8.
        owner: `f` int16: 0 backdrop, k = the k-th object.
        openness: Share of ambient light at the corners, `f x 3`.
        looks: `f` int32, equal for faces of one material, colour and direction.
    """

    normals: F32
    curved: npt.NDArray[np.bool_]
    colours: F32
    materials: npt.NDArray[np.uint8]
    owner: npt.NDArray[np.int16]
    openness: F32
    looks: npt.NDArray[np.int32]

    @classmethod
    def of(cls, mesh: Mesh, openness: F32 | None = None) -> FaceTable:
        """Return the table of a mesh in its own frame, with owner 0."""
        count = len(mesh.faces)
        return cls(
            np.ascontiguousarray(mesh.normals.reshape(count, 9)),
            np.abs(mesh.normals - mesh.normals[:, :1]).reshape(count, 9).max(axis=1) > 1e-4,
            np.ascontiguousarray(srgb_to_linear(mesh.colours)),
            mesh.materials,
            np.zeros(count, dtype=np.int16),
            np.ones((count, 3), dtype=np.float32)
            if openness is None
            else np.ascontiguousarray(openness),
            _looks(mesh),
        )

    def placed(self, owner: int, cosine: float, sine: float) -> FaceTable:
        """Return the table of the mesh turned about z, belonging to `owner`."""
        turn = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]], np.float32)
        return self.turned(owner, turn)

    def turned(self, owner: int, turn: F32) -> FaceTable:
        """Return the table of the mesh turned by a transposed matrix, belonging to `owner`."""
        normals = (self.normals.reshape(-1, 3) @ turn).reshape(-1, 9)
        return self._replace(normals=normals, owner=np.full_like(self.owner, owner))

    @classmethod
    def joined(cls, tables: Sequence[FaceTable]) -> FaceTable:
        """Return the tables one after the other."""
        return cls(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))


def _looks(mesh: Mesh) -> npt.NDArray[np.int32]:
    directions = np.rint(mesh.normals[:, 0] * 3.5 + 3.5).astype(np.int32)
    colours = np.rint(np.clip(mesh.colours, 0.0, 1.0) * 15.0).astype(np.int32)
    looks = mesh.materials.astype(np.int32)
    for k in range(3):
        looks = (looks << 3 | directions[:, k]) << 4 | colours[:, k]
    return looks
