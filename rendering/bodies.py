"""Meshes ready for ray tracing, built once and kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import numpy as np

from .accelerator import Accelerator
from .faces import FaceTable
from .mesh import F32, Material, Mesh
from .occlusion import baked_openness

_KEPT_BACKDROPS = 12
_KEPT_OBJECTS = 256


class Body:
    """A mesh in its own frame with its hierarchies.

    Attributes:
        solid: Over the faces that stop light.
        clear: Over the panes that are looked through.
        table: The solid faces, then the clear ones.
        low, high: Bounding box, each `3`, m.
    """

    def __init__(self, mesh: Mesh, *, still: bool = False) -> None:
        """Index `mesh`; ambient light is baked into what stands still."""
        panes = mesh.materials == Material.CLEAR
        order = np.argsort(panes, kind="stable")
        mesh = Mesh(
            mesh.vertices,
            mesh.faces[order],
            mesh.colours[order],
            mesh.materials[order],
            mesh.normals[order],
        )
        count = len(panes) - int(np.count_nonzero(panes))
        self.solid = Accelerator(mesh.vertices[mesh.faces[:count]])
        self.clear = Accelerator(mesh.vertices[mesh.faces[count:]])
        openness = baked_openness(mesh, self.solid.occluded).T if still else None
        self.table = FaceTable.of(mesh, openness)
        if len(mesh.vertices):
            self.low, self.high = mesh.bounds
        else:
            self.low = self.high = np.zeros(3, dtype=np.float32)

    @property
    def empty(self) -> bool:
        """Whether it has no faces."""
        return not self.solid.faces and not self.clear.faces

    def corners(self) -> F32:
        """Return the corners `8 x 3` of the bounding box, m."""
        pairs = zip(self.low, self.high, strict=True)
        return np.stack(np.meshgrid(*pairs, indexing="ij"), axis=-1).reshape(-1, 3)


class BodyCache:
    """The most recently used bodies."""

    def __init__(self, size: int) -> None:
        """Keep at most `size` bodies."""
        self._size = size
        self._entries: OrderedDict[object, tuple[object, Body]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: object, owner: object, build: Callable[[], Body]) -> Body:
        """Return the body of `key`, built at first; `owner` is kept alive with it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = (owner, build())
                self._entries[key] = entry
                while len(self._entries) > self._size:
                    self._entries.popitem(last=False)
            self._entries.move_to_end(key)
            return entry[1]


_BACKDROPS = BodyCache(_KEPT_BACKDROPS)
_OBJECTS = BodyCache(_KEPT_OBJECTS)


def backdrop_body(key: str, mesh: Mesh) -> Body:
    """Return the body of the backdrop `key`."""
    return _BACKDROPS.get(key, None, lambda: Body(mesh, still=True))


def object_body(mesh: Mesh) -> Body:
    """Return the body of an object's mesh."""
    # A mesh is never changed, and kept alive here: its id names it.
    return _OBJECTS.get(id(mesh), mesh, lambda: Body(mesh))
