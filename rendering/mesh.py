"""Triangle meshes with per-face colour and material.

Conventions of every mesh and scene in this project: metres; right-handed; x forward (an object
faces +x), y left, z up; an object's origin lies on the ground under its middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


class Material(IntEnum):
    """How a face answers light. Procedural grain is evaluated at the hit point, in metres."""

    MATTE = 0
    GLOSSY = 1  # paint, plastic: a highlight and a weak Fresnel mirror
    METAL = 2
    GLASS = 3  # dark, mirrors the sky
    EMISSIVE = 4  # shines in its own colour, ignores light and is bright through fog
    RETRO = 5  # retro-reflective sheet: brighter than the light on it
    ASPHALT = 6  # fine grain; the one that gets wet
    CONCRETE = 7
    GRASS = 8
    BRICK = 9
    FOLIAGE = 10
    PLASTER = 11
    SKIN = 12
    CLOTH = 13
    ROOF = 14
    WOOD = 15
    CLEAR = 16  # a pane that is looked through: tints and mirrors a little, casts no shadow
    VAPOUR = 17  # steam, smoke: translucent, soft at the silhouette of its smooth normals
    FLAME = 18  # translucent as vapour, and shines in its own colour
    LIQUID = 19  # a puddle: mirrors what stands round it over its own colour
    TILE = 20  # glazed wall tiles with grout
    STONE = 21  # polished worktop with speckles
    PLANKS = 22  # satin wooden floor, planks along y


SEEN_THROUGH = (Material.CLEAR, Material.VAPOUR, Material.FLAME, Material.LIQUID)
"""Materials that are laid over what is behind them; none stops light."""

SOFT = (Material.VAPOUR, Material.FLAME, Material.LIQUID)
"""Those of them that are no glass."""


@dataclass(frozen=True, eq=False, slots=True)
class Mesh:
    """A triangle mesh.

    Attributes:
        vertices: `v x 3` float32, m.
        faces: `f x 3` int32, counter-clockwise seen from outside.
        colours: `f x 3` float32, sRGB in [0, 1].
        materials: `f` uint8, values of `Material`.
        normals: `f x 3 x 3` float32, unit normal at each corner (smooth where built so).
    """

    vertices: F32
    faces: npt.NDArray[np.int32]
    colours: F32
    materials: npt.NDArray[np.uint8]
    normals: F32

    @classmethod
    def build(
        cls,
        vertices: npt.ArrayLike,
        faces: npt.ArrayLike,
        colour: npt.ArrayLike = (0.5, 0.5, 0.5),
        material: Material = Material.MATTE,
        crease_degrees: float = 40.0,
    ) -> Mesh:
        """Build a mesh; corner normals are smoothed over edges below `crease_degrees`.

        Args:
            vertices: `v x 3`, m.
            faces: `f x 3` vertex indices.
            colour: One sRGB triple or `f x 3`.
            material: Material of all faces.
            crease_degrees: Faces that meet at a larger angle keep a sharp edge; 0 = flat.
        """
        v = np.asarray(vertices, dtype=np.float32).reshape(-1, 3)
        f = np.asarray(faces, dtype=np.int32).reshape(-1, 3)
        c = np.array(np.broadcast_to(np.asarray(colour, dtype=np.float32), (len(f), 3)))
        m = np.full(len(f), int(material), dtype=np.uint8)
        return cls(v, f, c, m, corner_normals(v, f, crease_degrees))

    @staticmethod
    def merge(meshes: Sequence[Mesh]) -> Mesh:
        """Join meshes into one."""
        if not meshes:
            return Mesh.build(np.zeros((0, 3)), np.zeros((0, 3)))
        offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
        return Mesh(
            np.concatenate([mesh.vertices for mesh in meshes]),
            np.concatenate(
                [mesh.faces + np.int32(o) for mesh, o in zip(meshes, offsets, strict=False)]
            ),
            np.concatenate([mesh.colours for mesh in meshes]),
            np.concatenate([mesh.materials for mesh in meshes]),
            np.concatenate([mesh.normals for mesh in meshes]),
        )

    def transformed(
        self,
        translate: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        yaw: float = 0.0,
        pitch: float = 0.0,
        roll: float = 0.0,
        scale: float | Sequence[float] = 1.0,
    ) -> Mesh:
        """Return the mesh scaled, then rotated (roll about x, pitch about y, yaw about z, in
        radians, right-handed), then moved by `translate`.
        """
        s = np.broadcast_to(np.asarray(scale, dtype=np.float64), 3)
        cr, sr, cp, sp, cy, sy = (
            fn(angle) for angle in (roll, pitch, yaw) for fn in (np.cos, np.sin)
        )
        rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        rotation = rz @ ry @ rx
        matrix = rotation * s
        vertices = self.vertices @ matrix.T + np.asarray(translate, dtype=np.float64)
        normals = self.normals @ (rotation / s).T
        normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-12)
        faces = self.faces
        if np.prod(s) < 0:  # a mirror turns the winding round
            faces = faces[:, ::-1]
            normals = normals[:, ::-1]
        return Mesh(
            vertices.astype(np.float32),
            np.ascontiguousarray(faces),
            self.colours,
            self.materials,
            np.ascontiguousarray(normals, dtype=np.float32),
        )

    def painted(
        self, colour: npt.ArrayLike | None = None, material: Material | None = None
    ) -> Mesh:
        """Return the mesh in another colour or material."""
        colours = self.colours
        if colour is not None:
            colours = np.array(
                np.broadcast_to(np.asarray(colour, dtype=np.float32), self.colours.shape)
            )
        materials = self.materials
        if material is not None:
            materials = np.full(len(self.faces), int(material), dtype=np.uint8)
        return Mesh(self.vertices, self.faces, colours, materials, self.normals)

    @property
    def bounds(self) -> tuple[F32, F32]:
        """(lowest, highest) corner of the axis-aligned bounding box, each of length 3, m."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)


def corner_normals(vertices: F32, faces: npt.NDArray[np.int32], crease_degrees: float) -> F32:
    """Return unit corner normals `f x 3 x 3`, area-weighted over faces within the crease angle.

    Vertices at the same place (to 0.1 mm) are welded for this, so that parts which meet without
    sharing indices are smooth too.
    """
    if len(faces) == 0:
        return np.zeros((0, 3, 3), dtype=np.float32)
    corners = vertices[faces].astype(np.float64)
    area_normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(area_normals, axis=1, keepdims=True)
    flat = area_normals / np.maximum(lengths, 1e-20)
    out = np.repeat(flat[:, None, :], 3, axis=1)
    if crease_degrees <= 0:
        return out.astype(np.float32)
    _, welded = np.unique(np.round(vertices.astype(np.float64), 4), axis=0, return_inverse=True)
    ids = welded.reshape(-1)[faces].reshape(-1)
    face_of = np.repeat(np.arange(len(faces)), 3)
    order = np.argsort(ids, kind="stable")
    ids_sorted, faces_sorted = ids[order], face_of[order]
    starts = np.flatnonzero(np.r_[True, ids_sorted[1:] != ids_sorted[:-1]])
    counts = np.diff(np.r_[starts, len(ids_sorted)])
    # All (corner, neighbouring face) pairs around each welded vertex.
    repeat = np.repeat(counts, counts)
    corner = np.repeat(np.arange(len(order)), repeat)
    first = np.repeat(np.repeat(starts, counts), repeat)
    within = np.arange(len(corner)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    neighbour = faces_sorted[first + within]
    own = faces_sorted[corner]
    smooth = np.einsum("ij,ij->i", flat[own], flat[neighbour]) >= np.cos(np.radians(crease_degrees))
    summed = np.zeros((len(order), 3))
    np.add.at(summed, corner[smooth], area_normals[neighbour[smooth]])
    norm = np.linalg.norm(summed, axis=1, keepdims=True)
    flat_sorted = flat[faces_sorted]
    result = np.where(norm > 1e-20, summed / np.maximum(norm, 1e-20), flat_sorted)
    unsorted = np.empty_like(result)
    unsorted[order] = result
    return np.asarray(unsorted.reshape(-1, 3, 3), dtype=np.float32)
