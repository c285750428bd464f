"""The stage on which a concept set is put: the kitchen, what has its place and what is still free.

Margins and counts are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from ...core import SceneError
from . import assets
from .layout import BURNERS, RUNS, Layout, Unit, UnitKind, layout
from .scene import Placed, Point, bounds_of

SPOTS = 40
"""Places drawn for one thing before the stage is given up."""

LOOKS = 6
"""Of the free ones, how many are compared by how near the focus they are."""

MARGIN = 0.035
"""Least distance between two things that do not belong together, m."""

FACING = math.pi
"""Yaw of a thing that faces the room."""

_AIRY = frozenset({"steam_small", "steam_wide", "steam_front", "smoke", "gas_flame"})
"""Kinds that take no room."""

_BOUND: tuple[tuple[frozenset[str], UnitKind], ...] = (
    (frozenset({"cabinet_open", "cabinet_closed", "child_reaching"}), "sink"),
    (frozenset({"stove_on", "towel_near", "towel_burning", "pan_stove", "smoke"}), "stove"),
    (frozenset({"adult_reacting"}), "wall"),
)
"""Concepts that need a unit of a kind."""


class NoRoom(SceneError):
    """A thing found no place."""


def draw_layout(chosen: Sequence[str], rng: np.random.Generator) -> Layout:
    """Return a kitchen in which the units that a set needs are not far apart."""
    needed = [kind for names, kind in _BOUND if names & set(chosen)]
    plans = [layout(n, mirrored) for n in range(len(RUNS)) for mirrored in (False, True)]
    if {"towel_near", "towel_burning"} <= set(chosen):
        plans = [plan for plan in plans if len(beside(plan, plan.of("stove")[0])) == 2]
    spans = np.array([_span(plan, needed) for plan in plans])
    near = np.flatnonzero(spans <= spans.min() + 0.5)
    return plans[int(near[int(rng.integers(len(near)))])]


def _span(plan: Layout, kinds: Iterable[UnitKind]) -> float:
    middles = [plan.of(kind)[0].middle for kind in kinds]
    return max(middles) - min(middles) if middles else 0.0


def beside(plan: Layout, unit: Unit) -> list[Unit]:
    """Return the units with a worktop that touch a unit."""
    return [
        other
        for other in plan.units
        if other.has_top
        and (abs(other.left - unit.right) < 1e-6 or abs(other.right - unit.left) < 1e-6)
    ]


class Stage:
    """One try at a scene.

    Attributes:
        plan: The kitchen's plan.
        focus: Where along the run things gather, y in m.
        things: What has been placed so far.
        boxes: Their boxes, of those that take room.
        chosen: The concepts.
        palette: The kitchen's colours.
        rng: The only source of chance.
    """

    def __init__(
        self, chosen: Sequence[str], plan: Layout, palette: int, rng: np.random.Generator
    ) -> None:
        """Set up an empty kitchen for a set of concepts."""
        self.plan = plan
        self.palette = palette
        self.things: list[Placed] = []
        self.chosen = frozenset(chosen)
        self.rng = rng
        self.boxes: list[tuple[Placed, tuple[Point, Point]]] = []
        needed = [plan.of(kind)[0].middle for names, kind in _BOUND if names & self.chosen]
        if needed:
            self.focus = float(np.mean([min(needed), max(needed)]))
        else:
            tops = [unit for unit in plan.units if unit.has_top]
            self.focus = tops[int(rng.integers(len(tops)))].middle + rng.uniform(-0.2, 0.2)

    def variant(self, kind: str) -> int:
        """Return a variant of a kind, any one."""
        return int(self.rng.integers(assets.VARIANTS[kind]))

    def uniform(self, low: float, high: float) -> float:
        """Return a number between two."""
        return float(self.rng.uniform(low, high))

    def put(self, *placed: Placed) -> None:
        """Give things their places."""
        for thing in placed:
            self.things.append(thing)
            if thing.kind not in _AIRY:
                self.boxes.append((thing, _box(thing)))

    def free(self, thing: Placed, partners: Iterable[str] = ()) -> bool:
        """Return whether a thing meets no other one, its partners excepted."""
        if thing.kind in _AIRY:
            return True
        low, high = _box(thing)
        right, left = self.plan.side_walls
        if low[1] < right + 0.01 or high[1] > left - 0.01:
            return False
        apart = (*partners, thing.name)
        return not any(
            _meet(low, high, *box) for other, box in self.boxes if other.name not in apart
        )

    def settle(
        self,
        name: str,
        draw: Callable[[], list[Placed]],
        partners: Iterable[str] = (),
        fits: Callable[[list[Placed]], bool] = lambda placed: True,
    ) -> list[Placed]:
        """Draw places, put the one that is free and nearest the focus.

        Raises:
            NoRoom: None was free.
        """
        best: tuple[float, list[Placed]] | None = None
        found = 0
        for _ in range(SPOTS):
            placed = draw()
            if not all(self.free(thing, partners) for thing in placed) or not fits(placed):
                continue
            found += 1
            off = abs(placed[0].y - self.focus) + self.uniform(0.0, 0.35)
            if best is None or off < best[0]:
                best = off, placed
            if found == LOOKS:
                break
        if best is None:
            others = ", ".join(sorted(self.chosen - {name})) or "the kitchen"
            raise NoRoom(f"{name} found no place beside {others}")
        self.put(*best[1])
        return best[1]

    def top_unit(self) -> Unit:
        """Return a unit with a worktop."""
        tops = [unit for unit in self.plan.units if unit.has_top]
        # Near the focus more often; every one may come.
        weights = np.array([math.exp(-2.2 * abs(unit.middle - self.focus)) for unit in tops])
        return tops[int(self.rng.choice(len(tops), p=weights / weights.sum()))]

    def along_top(self, half: float) -> float:
        """Return a y on a worktop, `half` of the thing's breadth from its unit's ends, m."""
        unit = self.top_unit()
        return self.uniform(unit.right + half, max(unit.left - half, unit.right + half))

    def sign(self) -> float:
        """Return 1 or -1."""
        return 1.0 if self.rng.random() < 0.5 else -1.0

    def on_floor(self) -> float:
        """Return a y on the floor, near the focus, m."""
        right, left = self.plan.side_walls
        return float(np.clip(self.focus + self.rng.normal(0.0, 0.55), right + 0.3, left - 0.3))

    def first(self, *names: str) -> Placed:
        """Return the first thing of the first of some concepts that is there.

        Raises:
            SceneError: None of them is.
        """
        for name in names:
            for thing in self.things:
                if thing.name == name:
                    return thing
        chosen = ", ".join(sorted(self.chosen))
        raise SceneError(f"{chosen}: {' or '.join(names)} is missing, which it needs")

    @cached_property
    def stove(self) -> Unit:
        """The stove's unit."""
        return self.plan.of("stove")[0]

    def burner(self, index: int) -> tuple[float, float]:
        """Return the (x, y) of a burner, m."""
        x, y = BURNERS[index]
        return x, self.stove.middle + y

    @cached_property
    def sides(self) -> tuple[int, int]:
        """(burner of the flame, burner of the pan): the two front ones, drawn once."""
        tops = beside(self.plan, self.stove)
        if "towel_near" in self.chosen or "towel_burning" in self.chosen:
            left = any(unit.middle > self.stove.middle for unit in tops)
            right = any(unit.middle < self.stove.middle for unit in tops)
            flame = 0 if left and not right else 1 if right and not left else self.coin()
        else:
            flame = self.coin()
        return flame, 1 - flame

    def coin(self) -> int:
        """Return 0 or 1."""
        return int(self.rng.integers(2))


def _box(thing: Placed) -> tuple[Point, Point]:
    """Return (lowest, highest) corner of a thing's box in the room, m; as `Placed.box`.

    In plain numbers: thousands are compared for a scene.
    """
    low, high = bounds_of(thing.kind, thing.variant)
    c, s = math.cos(thing.yaw), math.sin(thing.yaw)
    mid_x, mid_y = 0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])
    half_x, half_y = 0.5 * (high[0] - low[0]), 0.5 * (high[1] - low[1])
    x, y = thing.x + c * mid_x - s * mid_y, thing.y + s * mid_x + c * mid_y
    wide, deep = abs(s) * half_x + abs(c) * half_y, abs(c) * half_x + abs(s) * half_y
    return (x - deep, y - wide, thing.z + low[2]), (x + deep, y + wide, thing.z + high[2])


def _meet(low: Point, high: Point, other_low: Point, other_high: Point) -> bool:
    return all(
        low[k] < other_high[k] + MARGIN and other_low[k] < high[k] + MARGIN for k in range(3)
    )
