"""Placing the objects of a scene: seeded rejection sampling with restarts.

Ranges are the catalogue's; headings, lateral places and margins are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...core import SceneError
from . import assets, street
from .catalogue import Concept, Range, Ranges
from .footprint import Corners, apart, extents, footprint, nearest_in_strip
from .scene import CAMERA_BEHIND_BUMPER, CAMERA_FIELD_OF_VIEW, CAMERA_HEIGHT, PlacedObject

TRIES = 40
"""Tries to place one object before the scene starts afresh."""

RESTARTS = 25
"""Fresh starts before a scene is given up."""

CENTRAL_RESTARTS = 3
"""Of these, how many put things in the middle of the lane before they look for other places."""

CLEAR_RESTARTS = 8
"""Of these, how many insist that objects do not hide one another."""

MARGIN = 0.1
"""Least distance between two objects, m."""

LANE_OVERLAP = 0.25
"""How far an in-lane object reaches into the ego's corridor at least, m: truth does not hang on
a centimetre.
"""

ROAD = (street.RIGHT_EDGE_Y + 0.05, street.LEFT_EDGE_Y - 0.05)
"""y range for things on the road: clear of both kerbs, m."""

SIDEWALK = (street.RIGHT_SIDEWALK[0] + 0.02, street.RIGHT_SIDEWALK[1] - 0.06)
"""y range for things on the right sidewalk, m."""

SIDEWALK_OPENING = street.JUNCTION_SETBACK + street.CROSSING_WIDTH + street.JUNCTION_SETBACK
"""From a stop line on, how far the sidewalk is cut by the crossing street and its corners, m."""

SEE_THROUGH = frozenset({"chain_barrier"})
"""Kinds that hide nothing behind them."""


@dataclass(frozen=True, slots=True)
class Stance:
    """How a kind of object stands.

    Attributes:
        lane: Headings on the road, degrees, 0 = away from the ego; one is drawn.
        sidewalk: Headings on the sidewalk, degrees.
        jitter: Added to a heading, uniform within plus or minus, degrees.
        sidewalk_jitter: The same on the sidewalk, which has no room for a long thing askew.
    """

    lane: tuple[float, ...]
    sidewalk: tuple[float, ...]
    jitter: float
    sidewalk_jitter: float


_PERSON = Stance((90.0, -90.0, 180.0, 0.0), (90.0, 180.0, 0.0, -90.0), 25.0, 40.0)
_THING = Stance((0.0, 90.0, 180.0, -90.0), (90.0,), 15.0, 12.0)

STANCES: Mapping[str, Stance] = MappingProxyType(
    {
        "pedestrian": _PERSON,
        "child_pedestrian": _PERSON,
        "wheelchair_pedestrian": _PERSON,
        "police_pedestrian": _PERSON,
        "cyclist": Stance((0.0, 90.0, -90.0, 180.0), (0.0, 180.0), 12.0, 12.0),
        "emergency_vehicle": Stance((0.0, 0.0, 180.0, 90.0, -90.0), (0.0, 180.0), 8.0, 0.3),
        "cone": Stance((0.0, 90.0, 180.0, -90.0), (0.0, 90.0, 180.0, -90.0), 45.0, 45.0),
        "bus_stop": Stance((180.0, 90.0, -90.0), (90.0,), 6.0, 2.0),
        "garbage_bin": _THING,
        "chain_barrier": Stance((0.0, 180.0), (0.0,), 5.0, 0.0),
        "debris": Stance((0.0, 90.0, 180.0, -90.0), (0.0,), 45.0, 0.0),
        "obstruction": Stance((0.0, 90.0, 180.0, -90.0), (0.0,), 7.0, 0.0),
    }
)
"""Stances by asset kind; other kinds stand as a thing does."""


@dataclass(frozen=True, slots=True)
class Order:
    """One object to place: who, at which range, on the road or the sidewalk."""

    concept: Concept
    distance: Range
    on_sidewalk: bool


def orders(chosen: Sequence[Concept]) -> list[Order]:
    """Return the objects that a set places, in catalogue order.

    A modifier applies to the last movable entity in catalogue order (rule D6).
    """
    placed = [concept for concept in chosen if concept.role in ("obstacle", "movable")]
    movable = [concept for concept in placed if concept.role == "movable"]
    moved = {concept.distance for concept in chosen if concept.role == "modifier"} - {None}
    sidewalk = any(concept.place == "sidewalk" for concept in chosen)
    result = []
    for concept in placed:
        last = bool(movable) and concept is movable[-1]
        assert concept.distance is not None
        distance = next(iter(moved)) if last and moved else concept.distance
        result.append(Order(concept, distance or concept.distance, last and sidewalk))
    return result


class Placer:
    """Places the objects of one scene.

    Args:
        ranges: Gaps by distance.
        ego_y: The ego's lateral offset, m.
        corridor: (right, left) edge of the ego's swept strip, m.
        contact_limit: In-lane objects placed nearer than `far` are touched within this, m.
        fixed: Boxes of other things that take room.
        openings: x ranges in which the sidewalk is cut, m.
    """

    def __init__(
        self,
        ranges: Ranges,
        *,
        ego_y: float,
        corridor: tuple[float, float],
        contact_limit: float,
        fixed: Sequence[Corners] = (),
        openings: Sequence[tuple[float, float]] = (),
    ) -> None:
        self.ranges = ranges
        self.ego_y = ego_y
        self.corridor = corridor
        self.contact_limit = contact_limit
        self.fixed = tuple(fixed)
        self.openings = tuple(openings)

    def place(self, wanted: Sequence[Order], rng: np.random.Generator) -> tuple[PlacedObject, ...]:
        """Place all objects; returns them in the order of `wanted`.

        Raises:
            SceneError: Names the object that found no place most often.
        """
        failed: dict[str, int] = {}
        best: tuple[PlacedObject, ...] | None = None
        for restart in range(RESTARTS):
            placed = self._attempt(wanted, rng, restart, failed)
            if placed is None:
                continue
            if restart >= CLEAR_RESTARTS or self._clear(placed):
                return placed
            best = best or placed
        if best is not None:
            return best
        worst = max(failed, key=lambda name: (failed[name], name))
        others = ", ".join(o.concept.id for o in wanted if o.concept.id != worst) or "the street"
        raise SceneError(
            f"{worst} could not be placed beside {others} without overlap "
            f"after {RESTARTS} x {TRIES} tries"
        )

    def _attempt(
        self,
        wanted: Sequence[Order],
        rng: np.random.Generator,
        restart: int,
        failed: dict[str, int],
    ) -> tuple[PlacedObject, ...] | None:
        variants = [
            int(rng.integers(assets.VARIANTS[order.concept.kind or ""])) for order in wanted
        ]
        areas = [
            (shape.x1 - shape.x0) * (shape.y1 - shape.y0)
            for shape in (
                footprint(order.concept.kind or "", variant)
                for order, variant in zip(wanted, variants, strict=True)
            )
        ]
        # Large things first: small ones find a place in what is left. Later starts try any order.
        sequence = sorted(range(len(wanted)), key=lambda i: -areas[i])
        if restart >= RESTARTS // 2:
            sequence = [int(i) for i in rng.permutation(len(wanted))]
        done: dict[int, PlacedObject] = {}
        for i in sequence:
            taken = [*self.fixed, *(placed.corners for placed in done.values())]
            placed = self._one(wanted[i], variants[i], taken, restart >= CENTRAL_RESTARTS, rng)
            if placed is None:
                name = wanted[i].concept.id
                failed[name] = failed.get(name, 0) + 1
                return None
            done[i] = placed
        return tuple(done[i] for i in range(len(wanted)))

    def _one(
        self,
        order: Order,
        variant: int,
        taken: Sequence[Corners],
        packed: bool,
        rng: np.random.Generator,
    ) -> PlacedObject | None:
        kind = order.concept.kind or ""
        shape = footprint(kind, variant)
        stance = STANCES.get(kind, _THING)
        headings = stance.sidewalk if order.on_sidewalk else stance.lane
        jitter = stance.sidewalk_jitter if order.on_sidewalk else stance.jitter
        low, high = self.ranges.of(order.distance)
        for attempt in range(TRIES):
            heading = headings[int(rng.integers(len(headings)))]
            # A turned box is a wider one: late tries straighten up.
            turn = jitter * (1.0 if attempt < TRIES // 2 else 0.1)
            yaw = math.radians(heading + turn * (2.0 * rng.random() - 1.0))
            relative = shape.corners(yaw)
            x0, _, y0, y1 = extents(relative)
            gap = low + (high - low) * _share(packed, rng)
            if order.on_sidewalk:
                y = self._sidewalk_y(y0, y1, rng)
            else:
                y = self._lane_y(y0, y1, packed or attempt >= TRIES // 4, rng)
            if y is None:
                continue
            corners = shape.corners(yaw, gap - x0, y)
            if not self._stands(order, corners, packed and attempt >= TRIES - 5):
                continue
            if not all(apart(corners, other, MARGIN) for other in taken):
                continue
            return PlacedObject(
                name=order.concept.id,
                kind=kind,
                variant=variant,
                x=gap - x0,
                y=y,
                z=street.SIDEWALK_HEIGHT if order.on_sidewalk else 0.0,
                yaw=math.remainder(yaw, 2.0 * math.pi),
                corners=corners,
                height=shape.height,
                gap=gap,
                distance=order.distance,
                on_sidewalk=order.on_sidewalk,
            )
        return None

    def _lane_y(
        self, y0: float, y1: float, anywhere: bool, rng: np.random.Generator
    ) -> float | None:
        right, left = self.corridor
        overlap = min(LANE_OVERLAP, 0.9 * (y1 - y0))
        low = max(right + overlap - y1, ROAD[0] - y0)
        high = min(left - overlap - y0, ROAD[1] - y1)
        if low > high:
            return None
        if not anywhere:  # "directly ahead" where there is room for it
            middle = street.EGO_LANE_Y - 0.5 * (y0 + y1)
            return float(min(max(middle + 0.4 * (2.0 * rng.random() - 1.0), low), high))
        return low + (high - low) * _share(True, rng)

    def _sidewalk_y(self, y0: float, y1: float, rng: np.random.Generator) -> float | None:
        low, high = SIDEWALK[0] - y0, SIDEWALK[1] - y1
        return None if low > high else low + (high - low) * rng.random()

    def _stands(self, order: Order, corners: Corners, unseen: bool) -> bool:
        if not order.on_sidewalk:
            if order.distance == "far":
                return True
            contact = nearest_in_strip(corners, *self.corridor)
            return contact is not None and contact <= self.contact_limit
        x0, x1, _, _ = extents(corners)
        if any(x1 > start and x0 < end for start, end in self.openings):
            return False
        # In view where possible; the last tries let go, since a sidewalk decides nothing.
        return unseen or self._in_view(corners)

    def _in_view(self, corners: Corners) -> bool:
        x = 0.25 * sum(p[0] for p in corners) + CAMERA_BEHIND_BUMPER
        y = 0.25 * sum(p[1] for p in corners) - self.ego_y
        return abs(y) <= math.tan(CAMERA_FIELD_OF_VIEW / 2 - math.radians(1.5)) * x

    def _clear(self, placed: Sequence[PlacedObject]) -> bool:
        """Whether at most half of every object is hidden behind nearer ones, in plan."""
        views = [(self._bearings(p.corners), self._distance(p), p) for p in placed]
        for (low, high), distance, target in views:
            covered: list[tuple[float, float]] = []
            for (a, b), nearer, other in views:
                if other is target or nearer >= distance or other.kind in SEE_THROUGH:
                    continue
                # Height at which the sight line to the target's upper part passes the other.
                line = CAMERA_HEIGHT + (0.75 * target.height - CAMERA_HEIGHT) * nearer / distance
                if other.height > line and a < high and b > low:
                    covered.append((max(a, low), min(b, high)))
            if _length(covered) > 0.5 * (high - low):
                return False
        return True

    def _bearings(self, corners: Corners) -> tuple[float, float]:
        angles = [math.atan2(y - self.ego_y, x + CAMERA_BEHIND_BUMPER) for x, y in corners]
        return min(angles), max(angles)

    @staticmethod
    def _distance(placed: PlacedObject) -> float:
        return placed.gap + CAMERA_BEHIND_BUMPER


def _share(packed: bool, rng: np.random.Generator) -> float:
    """Return a number in [0, 1]: uniform; when packed, half the time close to an end."""
    u = rng.random()
    if not packed or u < 0.5:
        return float(2.0 * u if packed else u)
    edge = 0.1 * rng.random() ** 2
    return float(edge if u < 0.75 else 1.0 - edge)


def _length(intervals: list[tuple[float, float]]) -> float:
    """Return the length of a union of intervals."""
    total, reach = 0.0, -math.inf
    for low, high in sorted(intervals):
        if high > reach:
            total += high - max(low, reach)
            reach = high
    return total


def sidewalk_openings(stop_lines: Sequence[float]) -> list[tuple[float, float]]:
    """Return where crossing streets cut the sidewalk, for stop lines ahead, m."""
    return [(x - 0.1, x + SIDEWALK_OPENING + 0.1) for x in stop_lines]
