"""Placing the objects of a scene: seeded draws, compared by what they hide, with restarts.

Ranges are the catalogue's; headings, lateral places and margins are ours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ...core import SceneError
from . import assets, street
from .catalogue import Concept, Range, Ranges
from .footprint import Corners, apart, corners_of, footprint, nearest_each
from .scene import PlacedObject
from .sight import Eye, Thing, hidden_shares

TRIES = 72
"""Places drawn for one object before the scene starts afresh."""

RESTARTS = 30
"""Fresh starts before a scene is given up."""

CENTRAL_RESTARTS = 1
"""Of these, how many put things in the middle of the lane before they look for other places."""

CLEAR_RESTARTS = 6
"""Starts after which a scene is taken in which things hide one another."""

LOOKS = 12
"""Of the places of an object without overlap, how many are compared by what is hidden."""

HIDDEN: Mapping[str, float] = MappingProxyType(
    {"nearest": 0.25, "sidewalk": 0.15, "other": 0.5, "lamp": 0.3}
)
"""Share that may be hidden or out of the frame before a better place is sought: of the nearest
thing in lane, which decides the answer, of things on the sidewalk, of others, of the better seen
head of a traffic light.
"""

ENOUGH = math.radians(12.0)
"""Of a wide thing on the road more may be hidden, up to what others may, while this much is in
sight, radians.
"""

DECIDES = 3.0
"""How much more a hidden part of the nearest thing in lane weighs than one of other things."""

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


OBLIQUE = 10.0
"""Least angle between the line of sight and the long axis of a thing too thin to be seen head-on,
degrees."""

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stance:
    """How a kind of object stands.

    Attributes:
        lane: Headings on the road, degrees, 0 = away from the ego; one is drawn.
        sidewalk: Headings on the sidewalk, degrees.
        turn: (least, greatest) turn from a heading to either side, degrees.
        sidewalk_turn: The same on the sidewalk, which has no room for a long thing askew.
        oblique: Whether it is never seen head-on; see `OBLIQUE`.
    """

    lane: tuple[float, ...]
    sidewalk: tuple[float, ...]
    turn: tuple[float, float]
    sidewalk_turn: tuple[float, float]
    oblique: bool = False


_AROUND = (0.0, 90.0, 180.0, -90.0)
_PERSON = Stance(_AROUND, _AROUND, (0.0, 25.0), (0.0, 40.0))
_THING = Stance(_AROUND, (90.0,), (0.0, 15.0), (0.0, 12.0))

STANCES: Mapping[str, Stance] = MappingProxyType(
    {
        "pedestrian": _PERSON,
        "child_pedestrian": _PERSON,
        "wheelchair_pedestrian": _PERSON,
        "police_pedestrian": _PERSON,
        "cyclist": Stance(_AROUND, (0.0, 180.0), (10.0, 25.0), (10.0, 25.0), oblique=True),
        "emergency_vehicle": Stance(
            (0.0, 0.0, 180.0, 90.0, -90.0), (0.0, 180.0), (0.0, 8.0), (0.0, 0.3)
        ),
        "cone": Stance(_AROUND, _AROUND, (0.0, 45.0), (0.0, 45.0)),
        "bus_stop": Stance((180.0, 90.0, -90.0), (90.0,), (0.0, 6.0), (0.0, 2.0)),
        "garbage_bin": _THING,
        "chain_barrier": Stance((0.0, 180.0), (0.0,), (0.0, 5.0), (0.0, 0.0)),
        "debris": Stance(_AROUND, (0.0,), (0.0, 45.0), (0.0, 0.0)),
        "obstruction": Stance(_AROUND, (0.0,), (0.0, 7.0), (0.0, 0.0)),
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

    Of `TRIES` random places of an object the first `LOOKS` without overlap are compared, and that
    one is taken which hides least of anything, itself included, beyond what `HIDDEN` allows; the
    earlier of two that hide alike. So things stand
    side by side or staggered, and on the sidewalk close to the kerb and within the frame, wherever
    the ranges leave room for it. When `CLEAR_RESTARTS` starts found no room, things are packed:
    each takes as little of the near corridor as it can.

    What is seen moves an object within its range and across its lane or sidewalk, never out of
    them, and no answer depends on where in them it stands.

    Args:
        ranges: Gaps by distance.
        eye: The camera.
        corridor: (right, left) edge of the ego's swept strip, m.
        contact_limit: In-lane objects placed nearer than `far` are touched within this, m.
        fixed: Boxes of other things that take room.
        lamps: Heads of a traffic light; one of them is to stay in sight.
        openings: x ranges in which the sidewalk is cut, m.
    """

    def __init__(
        self,
        ranges: Ranges,
        *,
        eye: Eye,
        corridor: tuple[float, float],
        contact_limit: float,
        fixed: Sequence[Corners] = (),
        lamps: Sequence[Thing] = (),
        openings: Sequence[tuple[float, float]] = (),
    ) -> None:
        self.ranges = ranges
        self.eye = eye
        self.corridor = corridor
        self.contact_limit = contact_limit
        self.fixed = tuple(fixed)
        self.lamps = tuple(lamps)
        self.openings = tuple(openings)

    def place(self, wanted: Sequence[Order], rng: np.random.Generator) -> tuple[PlacedObject, ...]:
        """Place all objects; returns them in the order of `wanted`.

        Raises:
            SceneError: Names the object that found no place most often.
        """
        failed: Counter[str] = Counter()
        best: tuple[float, tuple[PlacedObject, ...]] | None = None
        for restart in range(RESTARTS):
            if best is not None and restart >= CLEAR_RESTARTS:
                break
            placed = self._attempt(wanted, rng, restart, failed)
            if placed is None:
                continue
            hidden = float(self._hidden(placed)[0])
            if best is None or hidden < best[0]:
                best = hidden, placed
            if hidden == 0.0:
                break
        if best is not None:
            return best[1]
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
        failed: Counter[str],
    ) -> tuple[PlacedObject, ...] | None:
        kinds = [order.concept.kind or "" for order in wanted]
        variants = [int(rng.integers(assets.VARIANTS[kind])) for kind in kinds]
        shapes = [footprint(kind, variant) for kind, variant in zip(kinds, variants, strict=True)]
        # Far things first: near ones then leave sight of them. Large things before small ones,
        # which find a place in what is left. Some late starts try any order.
        near = [order.distance != "far" for order in wanted]
        sequence = sorted(range(len(wanted)), key=lambda i: (near[i], -shapes[i].area))
        if restart >= RESTARTS // 2 and restart % 4 == 0:
            sequence = [int(i) for i in rng.permutation(len(wanted))]
        done: dict[int, PlacedObject] = {}
        for i in sequence:
            placed = self._one(
                wanted[i],
                variants[i],
                tuple(done.values()),
                central=restart < CENTRAL_RESTARTS,
                packed=restart >= CLEAR_RESTARTS,
                rng=rng,
            )
            if placed is None:
                failed[wanted[i].concept.id] += 1
                return None
            done[i] = placed
        return tuple(done[i] for i in range(len(wanted)))

    def _one(
        self,
        order: Order,
        variant: int,
        placed: tuple[PlacedObject, ...],
        *,
        central: bool,
        packed: bool,
        rng: np.random.Generator,
    ) -> PlacedObject | None:
        """Return the best of the places drawn for one object, None when it fits into none."""
        places = self._draw(order, variant, central, rng)
        free = places.fits & self._stand(order, places.corners)
        for taken in (*self.fixed, *(one.corners for one in placed)):
            free &= apart(places.corners, taken, MARGIN)
        at = np.flatnonzero(free)
        if len(at) == 0:
            return None
        if packed:
            return places.object(int(at[np.argmin(self._room(places.corners[at]))]), order, variant)
        at = at[:LOOKS]
        hidden = self._hidden(
            (*placed, places.object(int(at[0]), order, variant)), places.corners[at]
        )
        return places.object(int(at[np.argmin(hidden)]), order, variant)

    def _draw(self, order: Order, variant: int, central: bool, rng: np.random.Generator) -> _Places:
        kind = order.concept.kind or ""
        shape = footprint(kind, variant)
        stance = STANCES.get(kind, _THING)
        headings = np.array(stance.sidewalk if order.on_sidewalk else stance.lane)
        least, most = stance.sidewalk_turn if order.on_sidewalk else stance.turn
        # A turned box is a wider one: every other place is nearly straight.
        spread = (most - least) * np.where(np.arange(TRIES) % 2 == 0, 1.0, 0.1)
        turn = (least + spread * rng.random(TRIES)) * rng.choice((-1.0, 1.0), TRIES)
        yaw = np.radians(rng.choice(headings, TRIES) + turn)
        relative = corners_of(shape, yaw)
        (x0, y0), y1 = relative.min(axis=1).T, relative[..., 1].max(axis=1)
        low, high = self.ranges.of(order.distance)
        gap = low + (high - low) * _shares(not central, rng)
        if order.on_sidewalk:
            right, left = SIDEWALK[0] - y0, SIDEWALK[1] - y1
            y = right + (left - right) * rng.random(TRIES)
        else:
            overlap = np.minimum(LANE_OVERLAP, 0.9 * (y1 - y0))
            right = np.maximum(self.corridor[0] + overlap - y1, ROAD[0] - y0)
            left = np.minimum(self.corridor[1] - overlap - y0, ROAD[1] - y1)
            y = right + (left - right) * _shares(True, rng)
            if central:  # "directly ahead" where there is room for it
                ahead = street.EGO_LANE_Y - 0.5 * (y0 + y1) + 0.4 * (2.0 * rng.random(TRIES) - 1.0)
                y = np.where(np.arange(TRIES) % 3 == 0, np.clip(ahead, right, left), y)
        fits = right <= left
        where = np.stack([gap - x0, y], axis=-1)
        if stance.oblique:
            # Seen from the camera, not from straight behind.
            bearing = np.arctan2(y - self.eye.y, where[:, 0] - self.eye.x)
            fits &= np.abs(np.sin(yaw - bearing)) >= math.sin(math.radians(OBLIQUE))
        return _Places(yaw, gap, where, relative + where[:, None, :], fits)

    def _stand(self, order: Order, corners: F64) -> npt.NDArray[np.bool_]:
        if order.on_sidewalk:
            x0, x1 = corners[..., 0].min(axis=1), corners[..., 0].max(axis=1)
            cut = np.zeros(len(corners), dtype=np.bool_)
            for start, end in self.openings:
                cut |= (x1 > start) & (x0 < end)
            return ~cut
        if order.distance == "far":
            return np.ones(len(corners), dtype=np.bool_)
        return np.asarray(nearest_each(corners, *self.corridor) <= self.contact_limit)

    def _room(self, corners: F64) -> F64:
        """Return how much boxes take of the corridor up to where things must be reached, m²."""
        low, high = corners.min(axis=1), corners.max(axis=1)
        long = np.minimum(high[:, 0], self.contact_limit) - low[:, 0]
        wide = np.minimum(high[:, 1], self.corridor[1]) - np.maximum(low[:, 1], self.corridor[0])
        return np.asarray(np.maximum(0.0, long) * np.maximum(0.0, wide))

    def _hidden(self, placed: Sequence[PlacedObject], last: F64 | None = None) -> F64:
        """Return how much more is hidden of things and lamps than `HIDDEN` allows, 0 = nothing.

        Args:
            placed: The things.
            last: Corners of the last one in each of `m` arrangements, `m x 4 x 2`, m.

        Returns:
            One figure an arrangement, `m`.
        """
        things = [
            Thing(one.corners, one.z, one.z + one.height, one.kind not in SEE_THROUGH)
            for one in placed
        ]
        things += self.lamps
        corners = np.array([thing.corners for thing in things])[None]
        count = len(placed)
        if last is not None:
            corners = np.repeat(corners, len(last), axis=0)
            corners[:, count - 1] = last
        shares, widths = hidden_shares(corners, things, self.eye)
        contact = nearest_each(corners[:, :count], *self.corridor)
        decides = np.isfinite(contact) & (contact == contact.min(axis=1, keepdims=True))
        usual = [HIDDEN["sidewalk" if one.on_sidewalk else "other"] for one in placed]
        least = np.where(decides, HIDDEN["nearest"], usual)
        most = np.minimum(HIDDEN["other"], 1.0 - ENOUGH / widths[:, :count])
        most[:, [one.on_sidewalk for one in placed]] = 0.0
        excess = np.maximum(0.0, shares[:, :count] - np.maximum(least, most))
        total = (excess * np.where(decides, DECIDES, 1.0)).sum(axis=1)
        if self.lamps:
            total += np.maximum(0.0, shares[:, count:].min(axis=1) - HIDDEN["lamp"])
        return np.asarray(total)


@dataclass(frozen=True, slots=True)
class _Places:
    """Places drawn for one object; `n` of each."""

    yaw: F64
    gap: F64
    xy: F64
    corners: F64
    fits: npt.NDArray[np.bool_]

    def object(self, i: int, order: Order, variant: int) -> PlacedObject:
        kind = order.concept.kind or ""
        a, b, c, d = ((float(x), float(y)) for x, y in self.corners[i])
        return PlacedObject(
            name=order.concept.id,
            kind=kind,
            variant=variant,
            x=float(self.xy[i, 0]),
            y=float(self.xy[i, 1]),
            z=street.SIDEWALK_HEIGHT if order.on_sidewalk else 0.0,
            yaw=math.remainder(float(self.yaw[i]), 2.0 * math.pi),
            corners=(a, b, c, d),
            height=footprint(kind, variant).height,
            gap=float(self.gap[i]),
            distance=order.distance,
            on_sidewalk=order.on_sidewalk,
        )


def _shares(packed: bool, rng: np.random.Generator) -> F64:
    """Return `TRIES` numbers in [0, 1]: uniform; when packed, half of them close to an end."""
    u = rng.random(TRIES)
    if not packed:
        return u
    edge = 0.1 * rng.random(TRIES) ** 2
    ends = np.where(u < 0.75, edge, 1.0 - edge)
    return np.where(u < 0.5, 2.0 * u, ends)


def sidewalk_openings(stop_lines: Sequence[float]) -> list[tuple[float, float]]:
    """Return where crossing streets cut the sidewalk, for stop lines ahead, m."""
    return [(x - 0.1, x + SIDEWALK_OPENING + 0.1) for x in stop_lines]
