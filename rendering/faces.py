"""What shading looks up by face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .mesh import F32, Mesh
from .tonemap import srgb_to_linear


@dataclass(frozen=True, slots=True)
class FaceTable:
    """What shading looks up by face.

    Attributes:
        normals: Corner normals `9 x f` (corner-major).
        curved: `f` bool: the corner normals differ.
        colours: Linear albedo `3 x f`.
        materials: `f` uint8.
        owner: `f` int16: 0 backdrop, k = the k-th object.
        openness: Share of ambient light at the corners, `3 x f`.
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
    def of(cls, mesh: Mesh, owner: int, openness: F32 | None = None) -> FaceTable:
        """Return the table of a mesh whose faces all belong to `owner`."""
        count = len(mesh.faces)
        return cls(
            np.ascontiguousarray(mesh.normals.reshape(count, 9).T),
            np.abs(mesh.normals - mesh.normals[:, :1]).reshape(count, 9).max(axis=1) > 1e-4,
            np.ascontiguousarray(srgb_to_linear(mesh.colours).T),
            mesh.materials,
            np.full(count, owner, dtype=np.int16),
            np.ones((3, count), dtype=np.float32) if openness is None else openness,
            _looks(mesh),
        )

    @classmethod
    def joined(cls, tables: Sequence[FaceTable]) -> FaceTable:
        """Return the tables one after the other."""
        return cls(
            np.concatenate([table.normals for table in tables], axis=1),
            np.concatenate([table.curved for table in tables]),
            np.concatenate([table.colours for table in tables], axis=1),
            np.concatenate([table.materials for table in tables]),
            np.concatenate([table.owner for table in tables]),
            np.concatenate([table.openness for table in tables], axis=1),
            np.concatenate([table.looks for table in tables]),
        )


def _looks(mesh: Mesh) -> npt.NDArray[np.int32]:
    directions = np.rint(mesh.normals[:, 0] * 3.5 + 3.5).astype(np.int32)
    colours = np.rint(np.clip(mesh.colours, 0.0, 1.0) * 15.0).astype(np.int32)
    looks = mesh.materials.astype(np.int32)
    for k in range(3):
        looks = (looks << 3 | directions[:, k]) << 4 | colours[:, k]
    return looks
