"""Meshes ready for ray tracing, built once and kept."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from .accelerator import Accelerator
from .baked_array import baked_array
from .faces import FaceTable
from .mesh import F32, SEEN_THROUGH, SOFT, Mesh
from .occlusion import baked_openness, cut_fine, room_openness

# Bounded by what they weigh, about 200 bytes a face: all streets, or all rooms that there are.
_KEPT_BACKDROPS, _KEPT_BACKDROP_FACES = 64, 2_200_000
_KEPT_OBJECTS = 256
_KEPT_TABLES = 16
_WORTH_KEEPING = 4000  # faces: baking fewer takes no longer than reading them


class Body:
    """A mesh in its own frame with its hierarchies.

    Attributes:
        solid: Over the faces that stop light.
        clear: Over the panes that are looked through.
        soft: Whether some of those are vapour, flame or liquid.
        table: The solid faces, then the clear ones.
        low, high: Bounding box, each `3`, m.
    """

    def __init__(self, mesh: Mesh, *, still: bool = False, reach: float | None = None) -> None:
        """Index `mesh`; ambient light is baked into what stands still.

        Args:
            mesh: The mesh.
            still: Whether it is a backdrop.
            reach: How far a room's ambient occlusion looks, m; None: as suits a street.
        """
        if reach is not None:
            mesh = cut_fine(mesh, reach)
        panes = np.isin(mesh.materials, SEEN_THROUGH)
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
        self.soft = bool(np.isin(mesh.materials[count:], SOFT).any())
        openness = None
        if still and reach is None:
            openness = baked_openness(mesh, self.solid.occluded).T
        elif still and reach is not None:
            openness = _kept_openness(mesh, self.solid, reach).T
        self.table = FaceTable.of(mesh, openness)
        if len(mesh.vertices):
            self.low, self.high = mesh.bounds
        else:
            self.low = self.high = np.zeros(3, dtype=np.float32)
        pairs = zip(self.low, self.high, strict=True)
        self._corners = np.stack(np.meshgrid(*pairs, indexing="ij"), axis=-1).reshape(-1, 3)

    @property
    def empty(self) -> bool:
        """Whether it has no faces."""
        return not self.solid.faces and not self.clear.faces

    def corners(self) -> F32:
        """Return the corners `8 x 3` of the bounding box, m."""
        return self._corners


def _kept_openness(mesh: Mesh, solid: Accelerator, reach: float) -> F32:
    """Return a room's openness, `3 x f`, from the cache folder if it was baked before."""
    count = len(mesh.faces)
    if count < _WORTH_KEEPING:
        return room_openness(mesh, solid.nearest, reach)
    digest = hashlib.sha256(repr(reach).encode())
    for part in (mesh.vertices, mesh.faces, mesh.normals, mesh.materials):
        digest.update(np.ascontiguousarray(part).data)

    def bake() -> npt.NDArray[np.float16]:
        return room_openness(mesh, solid.nearest, reach).astype(np.float16)

    sources = (Path(__file__).parent / "occlusion.py",)
    kept = baked_array(f"openness-{digest.hexdigest()[:24]}", sources, bake, (3, count))
    return kept.astype(np.float32)


class BodyCache:
    """The most recently used bodies."""

    def __init__(self, size: int, faces: int | None = None) -> None:
        """Keep at most `size` bodies, of at most `faces` faces together (the last in any case)."""
        self._size = size
        self._faces = faces
        self._entries: OrderedDict[object, tuple[object, Body]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: object, owner: object, build: Callable[[], Body]) -> Body:
        """Return the body of `key`, built at first; `owner` is kept alive with it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = (owner, build())
                self._entries[key] = entry
                while len(self._entries) > 1 and self._too_many():
                    self._entries.popitem(last=False)
            self._entries.move_to_end(key)
            return entry[1]

    def _too_many(self) -> bool:
        if len(self._entries) > self._size:
            return True
        if self._faces is None:
            return False
        return sum(len(body.table.owner) for _, body in self._entries.values()) > self._faces


_BACKDROPS = BodyCache(_KEPT_BACKDROPS, _KEPT_BACKDROP_FACES)
_OBJECTS = BodyCache(_KEPT_OBJECTS)


def backdrop_body(key: str, mesh: Mesh, reach: float | None = None) -> Body:
    """Return the body of the backdrop `key`; `reach` as in `World.occlusion_reach`."""
    return _BACKDROPS.get((key, reach), None, lambda: Body(mesh, still=True, reach=reach))


def object_body(mesh: Mesh) -> Body:
    """Return the body of an object's mesh."""
    # A mesh is never changed, and kept alive here: its id names it.
    return _OBJECTS.get(id(mesh), mesh, lambda: Body(mesh))


def turned_table(backdrop: Body, bodies: Sequence[Body], turns: Sequence[F32]) -> FaceTable:
    """Return the table of a backdrop and of bodies turned by transposed matrices, `3 x 3` each.

    Of the same bodies in the same order, only the normals are made anew.
    """
    key = (id(backdrop), *(id(body) for body in bodies))
    with _TABLES_LOCK:
        entry = _TABLES.get(key)
        if entry is None:
            tables = [backdrop.table]
            for number, body in enumerate(bodies, start=1):
                owner = np.full_like(body.table.owner, number)
                tables.append(body.table._replace(owner=owner))
            # The bodies are kept alive with it: their ids name it.
            entry = (backdrop, *bodies), FaceTable.joined(tables)
            _TABLES[key] = entry
            while len(_TABLES) > _KEPT_TABLES:
                _TABLES.popitem(last=False)
        _TABLES.move_to_end(key)
    normals = [backdrop.table.normals]
    for body, turn in zip(bodies, turns, strict=True):
        normals.append((body.table.normals.reshape(-1, 3) @ turn).reshape(-1, 9))
    return entry[1]._replace(normals=np.concatenate(normals))


_TABLES: OrderedDict[tuple[int, ...], tuple[tuple[Body, ...], FaceTable]] = OrderedDict()
_TABLES_LOCK = Lock()
