"""Ray queries against the backdrop and the objects of a world."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from .accelerator import FAR, Accelerator
from .faces import FaceTable
from .mesh import F32, Mesh
from .occlusion import baked_openness
from .world import Instance

_KEPT_BACKDROPS = 12


@dataclass(frozen=True, slots=True)
class Hits:
    """Nearest hits of `n` rays.

    Attributes:
        distance: `n`, m; `FAR` where nothing is hit.
        face: `n` row in the `FaceTable`, -1 where nothing is hit.
        u, v: `n`, barycentric weights of the second and third corner.
    """

    distance: F32
    face: npt.NDArray[np.int32]
    u: F32
    v: F32


@dataclass(frozen=True, slots=True)
class Backdrop:
    """A backdrop with its hierarchy and table."""

    accelerator: Accelerator
    table: FaceTable


class BackdropCache:
    """The most recently used backdrops, by `World.backdrop_key`."""

    def __init__(self, size: int = _KEPT_BACKDROPS) -> None:
        """Keep at most `size` backdrops."""
        self._size = size
        self._entries: OrderedDict[str, Backdrop] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str, mesh: Mesh) -> Backdrop:
        """Return the backdrop of `key`, built from `mesh` at first."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                accelerator = Accelerator([mesh])
                openness = baked_openness(mesh, accelerator.occluded)
                entry = Backdrop(accelerator, FaceTable.of(mesh, 0, openness))
                self._entries[key] = entry
                while len(self._entries) > self._size:
                    self._entries.popitem(last=False)
            self._entries.move_to_end(key)
            return entry


class Tracer:
    """The backdrop and the objects of one frame.

    Attributes:
        table: Faces of the backdrop, then of the objects in order.
        boxes: Bounding boxes `k x 2 x 3` of the objects that are there, m.
    """

    def __init__(self, backdrop: Backdrop, objects: Sequence[Instance]) -> None:
        """Place and index `objects`."""
        self._placed = tuple(instance.placed() for instance in objects)
        self._backdrop = backdrop
        own = [FaceTable.of(mesh, k) for k, mesh in enumerate(self._placed, start=1)]
        self.table = FaceTable.joined([backdrop.table, *own])
        counts = [backdrop.accelerator.faces, *(len(mesh.faces) for mesh in self._placed)]
        self._starts = np.cumsum(counts)
        together = Accelerator(self._placed)
        self._objects: list[tuple[Accelerator, int]] = [(together, int(self._starts[0]))]
        self._singles = {0: together} if len(self._placed) == 1 else {}
        self.boxes = self._boxes(range(len(self._placed)))

    def without(self, removed: Sequence[int]) -> Tracer:
        """Return a tracer without the objects `removed` (numbers from 1); rows stay the same."""
        twin = copy(self)
        kept = [k for k in range(len(self._placed)) if k + 1 not in removed]
        # One hierarchy an object, built once for all the twins of a frame.
        twin._objects = [(self._single(k), int(self._starts[k])) for k in kept]
        twin.boxes = self._boxes(kept)
        return twin

    def boxes_of(self, numbers: Iterable[int]) -> F32:
        """Return the bounding boxes `k x 2 x 3` of objects (numbers from 1), m."""
        return self._boxes(k - 1 for k in numbers)

    def met(self, numbers: Iterable[int], origins: F32, directions: F32) -> npt.NDArray[np.bool_]:
        """Return which of the rays `n x 3` meet any of the objects (numbers from 1) alone."""
        found = np.zeros(len(origins), dtype=np.bool_)
        for number in numbers:
            found |= self._single(number - 1).occluded(origins, directions)
        return found

    def _single(self, k: int) -> Accelerator:
        if k not in self._singles:
            self._singles[k] = Accelerator([self._placed[k]])
        return self._singles[k]

    def _boxes(self, kept: Iterable[int]) -> F32:
        meshes = [self._placed[k] for k in kept if len(self._placed[k].vertices)]
        boxes = [np.stack(mesh.bounds) for mesh in meshes]
        return np.stack(boxes) if boxes else np.zeros((0, 2, 3), dtype=np.float32)

    def nearest(
        self,
        origins: F32,
        directions: F32,
        candidates: npt.NDArray[np.intp] | None = None,
    ) -> Hits:
        """Return the nearest hits of rays `n x 3`.

        Args:
            origins: `n x 3`, m.
            directions: `n x 3`, unit length.
            candidates: The rays that may hit an object, ascending; None = all.
        """
        n = len(origins)
        found = self._backdrop.accelerator.nearest(origins, directions)
        if found is None:
            distance = np.full(n, FAR, dtype=np.float32)
            face = np.full(n, -1, dtype=np.int32)
            u, v = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
        else:
            face, distance = found["primID"].astype(np.int32, copy=False), found["tfar"]
            u, v = found["u"], found["v"]
        for accelerator, first in self._objects:
            if candidates is None:
                nearer = accelerator.nearest(origins, directions, distance)
            else:
                nearer = accelerator.nearest(
                    origins[candidates], directions[candidates], distance[candidates]
                )
            if nearer is None:
                continue
            found_at = np.flatnonzero(nearer["primID"] >= 0)
            at = found_at if candidates is None else candidates[found_at]
            face[at] = nearer["primID"][found_at] + np.int32(first)
            for mine, other in ((distance, "tfar"), (u, "u"), (v, "v")):
                mine[at] = nearer[other][found_at]
        return Hits(distance, face, u, v)

    def occluded(self, origins: F32, directions: F32) -> npt.NDArray[np.bool_]:
        """Return which of the rays `n x 3` hit anything."""
        blocked = self._backdrop.accelerator.occluded(origins, directions)
        for accelerator, _ in self._objects:
            free = np.flatnonzero(~blocked)
            blocked[free] = accelerator.occluded(origins[free], directions[free])
        return blocked

    def closeness(self, origins: F32, directions: F32, reach: float) -> F32:
        """Return how close objects (not the backdrop) are along rays `n x 3`.

        Returns:
            `n`: 1 at the origin, falling to 0 at `reach` m and beyond.
        """
        close = np.zeros(len(origins), dtype=np.float32)
        for accelerator, _ in self._objects:
            found = accelerator.nearest(origins, directions, reach)
            if found is not None:
                value = 1.0 - found["tfar"] * np.float32(1.0 / reach)
                value *= found["primID"] >= 0
                np.maximum(close, value, out=close)
        return close
