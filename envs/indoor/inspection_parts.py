"""Meshes of a scene in the room's coordinates, and what is measured on triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ...rendering.mesh import Material, Mesh
from . import assets
from .scene import IndoorScene

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Item:
    """A mesh in the room.

    Attributes:
        kind: Asset kind: what it is.
        variant: Asset variant: where its named points are.
        mesh: The mesh in room coordinates.
        x, y, z: Of its own frame, m.
        yaw: Of its own frame, radians.
    """

    kind: str
    variant: int
    mesh: Mesh
    x: float
    y: float
    z: float
    yaw: float

    @property
    def points(self) -> F64:
        """Its vertices that some face uses, `n x 3`, m."""
        return self.of()

    def of(self, *materials: Material) -> F64:
        """Return the vertices of the faces of given materials (all by default), `n x 3`, m."""
        faces = self.mesh.faces
        if materials:
            faces = faces[np.isin(self.mesh.materials, [int(m) for m in materials])]
        return self.mesh.vertices[np.unique(faces)].astype(np.float64)

    def corners(self, *materials: Material) -> F64:
        """Return the triangles of given materials (all by default), `f x 3 x 3`, m."""
        faces = self.mesh.faces
        if materials:
            faces = faces[np.isin(self.mesh.materials, [int(m) for m in materials])]
        return self.mesh.vertices[faces].astype(np.float64)

    @property
    def ahead(self) -> F64:
        """Unit vector to where it faces, of length 3."""
        return np.array([np.cos(self.yaw), np.sin(self.yaw), 0.0])

    def to_room(self, point: Sequence[float]) -> F64:
        """Return a point of its own frame in the room, m."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        x, y, z = point
        return np.array([self.x + c * x - s * y, self.y + s * x + c * y, self.z + z])

    def anchors(self, prefix: str = "") -> F64:
        """Return its named points whose names begin so in the room, `n x 3`, m."""
        found = assets.anchors(self.kind, self.variant)
        return np.array([self.to_room(found[name]) for name in found if name.startswith(prefix)])


def items(scene: IndoorScene) -> tuple[Item, ...]:
    """Return what the scene's world shows, in the room."""
    world = scene.world()
    return tuple(
        Item(
            thing.kind,
            thing.variant,
            instance.placed(),
            instance.x,
            instance.y,
            instance.z,
            instance.yaw,
        )
        for thing, instance in zip(scene.things, world.objects, strict=True)
    )


def first_hit(starts: F64, direction: F64, corners: F64) -> F64:
    """Return how far rays `n x 3` along one direction get before triangles `f x 3 x 3`, `n`, m.

    Infinite where they meet none (Möller and Trumbore).
    """
    a = corners[:, 0]
    first, second = corners[:, 1] - a, corners[:, 2] - a
    p = np.cross(direction, second)
    det = np.einsum("fk,fk->f", first, p)
    usable = np.abs(det) > 1e-12
    a, first, second, p, det = (v[usable] for v in (a, first, second, p, det))
    s = starts[:, None] - a[None]  # n, f, 3
    u = np.einsum("nfk,fk->nf", s, p) / det
    q = np.cross(s, first[None])
    v = q @ direction / det
    t = np.einsum("nfk,fk->nf", q, second) / det
    hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (t > 0)
    return np.asarray(np.where(hit, t, np.inf).min(axis=1, initial=np.inf))


def distance(first: F64, second: F64) -> float:
    """Return the least distance of two clouds of points, `n x 3` each, m."""
    return float(np.min(cKDTree(first).query(second)[0]))


def long_axis(corners: F64) -> F64:
    """Return the unit vector along which triangles `f x 3 x 3` extend furthest, of length 3."""
    # Each place once: a corner at which many triangles meet weighs no more than others.
    points = np.unique(corners.reshape(-1, 3), axis=0)
    axis: F64 = np.linalg.eigh(np.cov((points - points.mean(axis=0)).T))[1][:, -1]
    return axis


def pieces(corners: F64) -> list[F64]:
    """Return triangles `f x 3 x 3` parted into those that hang together (to 0.1 mm)."""
    _, place = np.unique(np.round(corners.reshape(-1, 3), 4), axis=0, return_inverse=True)
    place = place.reshape(-1, 3)
    rows = np.concatenate([place[:, 0], place[:, 1]])
    columns = np.concatenate([place[:, 1], place[:, 2]])
    count = int(place.max()) + 1
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    label = connected_components(graph, directed=False)[1][place[:, 0]]
    return [corners[label == k] for k in np.unique(label)]


def size(corners: F64) -> float:
    """Return the diagonal of the box of triangles `f x 3 x 3`, m."""
    points = corners.reshape(-1, 3)
    return float(np.linalg.norm(np.ptp(points, axis=0)))
