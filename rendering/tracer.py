"""Ray queries against the backdrop and the objects of a world."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .accelerator import FAR, Accelerator
from .bodies import Body, object_body, turned_table
from .faces import FaceTable
from .kernels.tracing import cull, cull_each, cull_turned, take_nearer
from .mesh import F32, Mesh
from .turning import rotation
from .world import Instance

_MARGIN = 1e-3  # m: a flat box has no inside
_ENDLESS = np.array([FAR], dtype=np.float32)
_LAYERS = 3
_STEP = 2e-3  # m
_UPRIGHT = 11  # numbers in the frame of a body that is turned about z alone


_Rays: TypeAlias = tuple[npt.NDArray[np.int64], F32, F32]
"""Indices `m` of rays, and their origins and directions, `m x 3`, in a body's own frame."""


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

    @classmethod
    def none(cls, count: int) -> Hits:
        """Return `count` rays that hit nothing."""
        return cls(
            np.full(count, FAR, dtype=np.float32),
            np.full(count, -1, dtype=np.int32),
            np.zeros(count, dtype=np.float32),
            np.zeros(count, dtype=np.float32),
        )

    def take(self, at: npt.NDArray[np.integer]) -> Hits:
        """Return the hits `at`."""
        return Hits(self.distance[at], self.face[at], self.u[at], self.v[at])


@dataclass(frozen=True, slots=True)
class _Placed:
    """A body in the world.

    Attributes:
        body: The body.
        number: From 1.
        first: Its first row in the table.
        frame: As `cull` takes it, or `cull_turned` where it is longer.
        box: Bounding box in the world, `2 x 3`, m.
    """

    body: Body
    number: int
    first: int
    frame: npt.NDArray[np.float64]
    box: npt.NDArray[np.float64]


class Tracer:
    """The backdrop and the objects of one frame.

    Attributes:
        table: Faces of the backdrop, then of the objects in order.
    """

    def __init__(self, backdrop: Body, objects: Sequence[Instance]) -> None:
        """Place `objects`."""
        self._backdrop = backdrop
        # Panes of a backdrop are drawn in rooms alone, where they stand like an object's.
        still = np.array(
            [0.0, 0.0, 0.0, 1.0, 0.0, *(backdrop.low - _MARGIN), *(backdrop.high + _MARGIN)]
        )
        self._still = _Placed(backdrop, 0, 0, still, still[5:].reshape(2, 3))
        self._placed: list[_Placed] = []
        bodies = [object_body(instance.mesh) for instance in objects]
        # Of objects that are all turned in any way, nothing but the turns is new in a picture.
        alike = bool(objects) and all(instance.turn is not None for instance in objects)
        tables, turns = [backdrop.table], []
        first = len(backdrop.table.owner)
        for number, (instance, body) in enumerate(zip(objects, bodies, strict=True), start=1):
            place = np.array([instance.x, instance.y, instance.z])
            if instance.turn is None:
                cosine, sine = math.cos(instance.yaw), math.sin(instance.yaw)
                tables.append(body.table.placed(number, cosine, sine))
                turn = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
                way = np.array([cosine, sine])
            else:
                turn = rotation(instance.turn).T
                turns.append(turn.astype(np.float32))
                if not alike:
                    tables.append(body.table.turned(number, turns[-1]))
                way = turn.ravel()
            corners = body.corners() @ turn + place
            frame = np.concatenate([place, way, body.low - _MARGIN, body.high + _MARGIN])
            box = np.stack([corners.min(axis=0), corners.max(axis=0)])
            if not body.empty:
                self._placed.append(_Placed(body, number, first, frame, box))
            first += len(body.table.owner)
        self._frames = np.stack([p.frame for p in self._placed]) if alike and self._placed else None
        if alike:
            self.table = turned_table(backdrop, bodies, turns)
        else:
            self.table = FaceTable.joined(tables)

    def without(self, removed: Sequence[int]) -> Tracer:
        """Return a tracer without the objects `removed` (numbers from 1); rows stay the same."""
        twin = copy(self)
        twin._placed = [placed for placed in self._placed if placed.number not in removed]
        twin._frames = None
        return twin

    def only(self, kept: Sequence[int]) -> Tracer:
        """Return a tracer of the objects `kept` (numbers from 1) alone; rows stay the same."""
        twin = copy(self)
        twin._placed = [placed for placed in self._placed if placed.number in kept]
        twin._frames = None
        twin._still = replace(self._still, body=_NOTHING)
        twin._backdrop = _NOTHING
        return twin

    @property
    def soft(self) -> bool:
        """Whether there is vapour, flame or liquid among the objects."""
        return any(placed.body.soft for placed in self._placed)

    def bare(self) -> list[int]:
        """Return the numbers of the objects that have panes only."""
        return [p.number for p in self._placed if not p.body.solid.faces]

    def has_panes(self, numbers: Sequence[int]) -> bool:
        """Return whether any of the objects (numbers from 1) has panes."""
        return any(p.body.clear.faces and p.number in numbers for p in self._placed)

    @property
    def boxes(self) -> npt.NDArray[np.float64]:
        """Bounding boxes `k x 2 x 3` of the objects that are there, m."""
        boxes = [placed.box for placed in self._placed]
        return np.stack(boxes) if boxes else np.zeros((0, 2, 3))

    def met(
        self,
        numbers: Iterable[int],
        origins: F32,
        directions: F32,
        known: npt.NDArray[np.bool_],
        behind: F32 | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Return which of the rays meet any of the objects (numbers from 1) alone.

        Args:
            numbers: The objects.
            origins: `n x 3`, m, or `1 x 3` for one that all rays share.
            directions: `n x 3`, unit length.
            known: `n`: those that are known to.
            behind: If given, it is the objects' panes that count, before distances `n`, m.
        """
        wanted = set(numbers)
        found = known.copy()
        for placed in self._placed:
            if placed.number in wanted:
                reach = _ENDLESS if behind is None else behind
                at, starts, rays = _cull(origins, directions, reach, placed.frame)
                rest = ~found[at]
                at = at[rest]
                faces = placed.body.solid if behind is None else placed.body.clear
                limit = FAR if behind is None else behind[at]
                found[at] = faces.occluded(starts[rest], rays[rest], limit)
        return found

    def nearest(self, origins: F32, directions: F32) -> Hits:
        """Return the nearest solid hits of rays.

        Args:
            origins: `n x 3`, m, or `1 x 3` for one that all rays share.
            directions: `n x 3`, unit length.
        """
        found = self._backdrop.solid.nearest(origins, directions)
        if found is None:
            hits = Hits.none(len(directions))
        else:
            face = found["primID"].astype(np.int32, copy=False)
            hits = Hits(found["tfar"], face, found["u"], found["v"])
        for placed, culled in self._culled(origins, directions, hits.distance):
            self._nearer(placed, placed.body.solid, 0, culled, hits)
        return hits

    def _culled(self, origins: F32, directions: F32, reach: F32) -> Iterator[tuple[_Placed, _Rays]]:
        """Yield the objects and the rays that pass through their boxes; see `cull`."""
        if self._frames is None:
            for placed in self._placed:
                yield placed, _cull(origins, directions, reach, placed.frame)
            return
        count, index, starts, rays = cull_each(origins, directions, reach, self._frames)
        for k, placed in enumerate(self._placed):
            if some := int(count[k]):
                yield placed, (index[k, :some], starts[k, :some], rays[k, :some])

    @staticmethod
    def _nearer(
        placed: _Placed, accelerator: Accelerator, skipped: int, culled: _Rays, hits: Hits
    ) -> None:
        at, starts, rays = culled
        found = accelerator.nearest(starts, rays, hits.distance[at])
        if found is not None:
            take_nearer(
                at,
                found["primID"].astype(np.int32, copy=False),
                found["tfar"],
                found["u"],
                found["v"],
                placed.first + skipped,
                hits.distance,
                hits.face,
                hits.u,
                hits.v,
            )

    @property
    def glazed(self) -> bool:
        """Whether there are panes to look through."""
        return any(placed.body.clear.faces for placed in self._placed)

    @property
    def solid_boxes(self) -> npt.NDArray[np.float64]:
        """Bounding boxes `k x 2 x 3` of the objects that stop light, m."""
        boxes = [placed.box for placed in self._placed if placed.body.solid.faces]
        return np.stack(boxes) if boxes else np.zeros((0, 2, 3))

    def panes(
        self,
        origins: F32,
        directions: F32,
        behind: F32,
        layers: int = _LAYERS,
        *,
        backdrop: bool = False,
        step: float = _STEP,
        first: tuple[npt.NDArray[np.int64], Hits] | None = None,
    ) -> Iterator[tuple[npt.NDArray[np.int64], Hits]]:
        """Yield the panes before distances `behind`, `n`, nearest first, layer by layer.

        Args:
            origins: `1 x 3` or `n x 3`, m.
            directions: `n x 3`, unit length.
            behind: What the rays end at, `n`, m.
            layers: How many panes a ray meets at most.
            backdrop: Whether the backdrop's panes are there, too.
            step: From a pane to where the next one is looked for, m.
            first: The first layer, if it is known.

        Yields:
            The rays `m` that meet a pane, and their `m` hits.
        """
        glazed = [placed for placed in self._placed if placed.body.clear.faces]
        if backdrop and self._still.body.clear.faces:
            glazed.append(self._still)
        at = np.arange(len(directions))
        passed = np.zeros(len(directions), dtype=np.float32)
        for layer in range(layers):
            if layer or first is None:
                hits = Hits.none(len(at))
                starts = origins + directions * passed[:, None] if layer else origins
                np.subtract(behind, passed, out=hits.distance)
                for placed in glazed:
                    skipped = placed.body.solid.faces
                    culled = _cull(starts, directions, hits.distance, placed.frame)
                    self._nearer(placed, placed.body.clear, skipped, culled, hits)
                met = np.flatnonzero(hits.face >= 0)
                hits = hits.take(met)
            else:
                met, hits = first
            if len(met) == 0:
                return
            # What met nothing has met all of its panes.
            at, hits, directions, behind = at[met], hits, directions[met], behind[met]
            if len(origins) > 1:
                origins = origins[met]
            passed = passed[met] + hits.distance
            yield at, Hits(passed, hits.face, hits.u, hits.v)
            passed = passed + np.float32(step)

    def occluded(
        self, origins: F32, directions: F32, limit: F32 | None = None
    ) -> npt.NDArray[np.bool_]:
        """Return which of the rays `n x 3` hit anything solid, within `limit` (`n`, m) if given."""
        blocked = self._backdrop.solid.occluded(
            origins, directions, FAR if limit is None else limit
        )
        reach = _ENDLESS if limit is None else limit
        for placed, (at, starts, rays) in self._culled(origins, directions, reach):
            within = FAR if limit is None else limit[at]
            blocked[at] |= placed.body.solid.occluded(starts, rays, within)
        return blocked

    def closeness(self, origins: F32, directions: F32, reach: float) -> F32:
        """Return how close objects (not the backdrop) are along rays `n x 3`.

        Returns:
            `n`: 1 at the origin, falling to 0 at `reach` m and beyond.
        """
        distance = np.full(len(directions), reach, dtype=np.float32)
        for placed, (at, starts, rays) in self._culled(origins, directions, distance):
            found = placed.body.solid.nearest(starts, rays, distance[at])
            if found is not None:
                distance[at] = np.where(
                    found["primID"] >= 0, np.minimum(found["tfar"], distance[at]), distance[at]
                )
        close: F32 = 1.0 - distance * np.float32(1.0 / reach)
        return close


def _cull(origins: F32, directions: F32, reach: F32, frame: npt.NDArray[np.float64]) -> _Rays:
    """Return the rays that pass through a placed box, as seen from its frame."""
    narrowed = cull if len(frame) == _UPRIGHT else cull_turned
    return narrowed(origins, directions, reach, frame)


_NOTHING = Body(Mesh.merge([]))
