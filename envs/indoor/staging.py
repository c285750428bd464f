"""Puts the things of a concept set into a kitchen: what stands on what, who reaches for what.

The kitchen is drawn first, from those in which the named things are not too far apart; then every
concept is staged in turn around one place of it, things that are bound to a unit before those that
may stand anywhere. Places, headings and margins are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from ...core import SceneError
from . import assets, room
from .layout import (
    BURNERS,
    CABINET_FRONT,
    CEILING,
    COUNTER_FRONT,
    COUNTER_TOP,
    GRATE_TOP,
    RUNS,
    TILE_FRONT,
    Layout,
    Unit,
    UnitKind,
    layout,
)
from .scene import Placed, mesh_of

SPOTS = 40
"""Places drawn for one thing before the stage is given up."""

LOOKS = 6
"""Of the free ones, how many are compared by how near the focus they are."""

MARGIN = 0.035
"""Least distance between two things that do not belong together, m."""

AWAY_FROM_HEAT = 1.2
"""Least distance of a child that is not said to be near the microwave from its bowl, m."""

FAR = 1.6
"""The same of the child that is said to be far, m."""

DRY = 0.45
"""Least distance of the barefoot child on dry floor from anything that lies on the floor, m."""

FACING = math.pi
"""Yaw of a thing that faces the room."""

CHILDREN_ON_FLOOR = (
    "toddler_standing",
    "child_running",
    "child_far_microwave",
    "barefoot_child_safe",
)

_FLAT = frozenset(
    {"water_counter", "water_floor", "coffee_counter", "coffee_floor", "broken_glass"}
)
_AIRY = frozenset({"steam_small", "steam_wide", "steam_front", "smoke", "gas_flame"})
"""Kinds that take no room."""

_HIDES = {"microwave_open": 0.55, "steam_wide": 0.3, "steam_small": 0.2, "smoke": 0.35}
"""Kinds before which no outlet is put, and how far to the side it must be, m."""

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
        plans = [plan for plan in plans if len(_beside(plan, plan.of("stove")[0])) == 2]
    spans = np.array([_span(plan, needed) for plan in plans])
    near = np.flatnonzero(spans <= spans.min() + 0.5)
    return plans[int(near[int(rng.integers(len(near)))])]


def _span(plan: Layout, kinds: Iterable[UnitKind]) -> float:
    middles = [plan.of(kind)[0].middle for kind in kinds]
    return max(middles) - min(middles) if middles else 0.0


def _beside(plan: Layout, unit: Unit) -> list[Unit]:
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
    """

    def __init__(
        self, chosen: Sequence[str], plan: Layout, palette: int, rng: np.random.Generator
    ) -> None:
        """Set up an empty kitchen for a set of concepts."""
        self.plan = plan
        self.palette = palette
        self.things: list[Placed] = []
        self._chosen = frozenset(chosen)
        self._rng = rng
        self._boxes: list[tuple[Placed, np.ndarray]] = []
        needed = [plan.of(kind)[0].middle for names, kind in _BOUND if names & self._chosen]
        if needed:
            self.focus = float(np.mean([min(needed), max(needed)]))
        else:
            tops = [unit for unit in plan.units if unit.has_top]
            self.focus = tops[int(rng.integers(len(tops)))].middle + rng.uniform(-0.2, 0.2)

    def build(self) -> list[Placed]:
        """Stage every concept.

        Raises:
            NoRoom: One of them found no place.
        """
        for name, stage in self._steps:
            if name in self._chosen:
                stage()
        if not self._chosen & {"cabinet_open", "cabinet_closed"}:
            for sink in self.plan.of("sink"):
                self._put(self._doors("room", "sink_doors_closed", sink))
        return self.things

    @cached_property
    def _steps(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        return (
            ("cabinet_open", self._cabinet_open),
            ("cabinet_closed", self._cabinet_closed),
            ("stove_on", self._stove_on),
            ("pan_stove", self._pan_stove),
            ("towel_near", lambda: self._towel("towel_near", "towel_draped")),
            ("towel_burning", lambda: self._towel("towel_burning", "towel_burning")),
            ("smoke", self._smoke),
            ("microwave_open_hot", self._microwave),
            ("adult_reacting", self._adult),
            ("pan_counter", self._pan_counter),
            ("glass_tipped", self._glass_tipped),
            ("hot_beverage", self._hot_beverage),
            ("coffee_spill", self._coffee_spill),
            ("knife_edge", self._knife_edge),
            ("outlet_exposed", lambda: self._outlet("outlet_exposed")),
            ("outlet_covered", lambda: self._outlet("outlet_covered")),
            ("child_reaching", self._child_reaching),
            ("child_near_microwave", self._child_near_microwave),
            ("child_near_pan", self._child_near_pan),
            ("child_on_stool", self._child_on_stool),
            ("glass_floor", self._glass_floor),
            ("barefoot_near_glass", self._barefoot_near_glass),
            ("wet_floor", self._wet_floor),
            ("loose_cord_floor", self._cord),
            ("scissors_open", lambda: self._on_top("scissors_open", "scissors_open", (-0.5, -0.3))),
            ("pill_bottle", lambda: self._on_top("pill_bottle", "pill_bottle", (-0.5, -0.3), 0.4)),
            ("glass_upright", self._glass_upright),
            ("knife_block", lambda: self._on_top("knife_block", "knife_block", (-0.3, -0.2), 0.5)),
            ("child_far_microwave", self._child_far),
            ("barefoot_child_safe", self._barefoot_safe),
            ("toddler_standing", lambda: self._child("toddler_standing", "toddler_standing", 60)),
            ("child_running", self._child_running),
        )

    # Placing.

    def _variant(self, kind: str) -> int:
        return int(self._rng.integers(assets.VARIANTS[kind]))

    def _uniform(self, low: float, high: float) -> float:
        return float(self._rng.uniform(low, high))

    def _put(self, *placed: Placed) -> None:
        for thing in placed:
            self.things.append(thing)
            if thing.kind not in _AIRY:
                self._boxes.append((thing, thing.box()))

    def _free(self, thing: Placed, partners: Iterable[str] = ()) -> bool:
        """Return whether a thing meets no other one, its partners excepted."""
        if thing.kind in _AIRY:
            return True
        low, high = thing.box()
        right, left = self.plan.side_walls
        if low[1] < right + 0.01 or high[1] > left - 0.01:
            return False
        apart = (*partners, thing.name)
        for other, (other_low, other_high) in self._boxes:
            if other.name in apart:
                continue
            if (low - MARGIN < other_high).all() and (high + MARGIN > other_low).all():
                return False
        return True

    def _settle(
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
            if not all(self._free(thing, partners) for thing in placed) or not fits(placed):
                continue
            found += 1
            off = abs(placed[0].y - self.focus) + self._uniform(0.0, 0.35)
            if best is None or off < best[0]:
                best = off, placed
            if found == LOOKS:
                break
        if best is None:
            others = ", ".join(sorted(self._chosen - {name})) or "the kitchen"
            raise NoRoom(f"{name} found no place beside {others}")
        self._put(*best[1])
        return best[1]

    def _top_unit(self) -> Unit:
        tops = [unit for unit in self.plan.units if unit.has_top]
        # Near the focus more often; every one may come.
        weights = np.array([math.exp(-2.2 * abs(unit.middle - self.focus)) for unit in tops])
        return tops[int(self._rng.choice(len(tops), p=weights / weights.sum()))]

    def _along_top(self, half: float) -> float:
        """Return a y on a worktop, `half` of the thing's breadth from its unit's ends, m."""
        unit = self._top_unit()
        return self._uniform(unit.right + half, max(unit.left - half, unit.right + half))

    def _sign(self) -> float:
        return 1.0 if self._rng.random() < 0.5 else -1.0

    def _on_floor(self) -> float:
        right, left = self.plan.side_walls
        return float(np.clip(self.focus + self._rng.normal(0.0, 0.55), right + 0.3, left - 0.3))

    def _first(self, *names: str) -> Placed:
        for name in names:
            for thing in self.things:
                if thing.name == name:
                    return thing
        chosen = ", ".join(sorted(self._chosen))
        raise SceneError(f"{chosen}: {' or '.join(names)} is missing, which it needs")

    # The worktop.

    def _on_top(
        self, name: str, kind: str, depth: tuple[float, float], turn: float = math.pi
    ) -> None:
        variant = self._variant(kind)

        def draw() -> list[Placed]:
            x, y = self._uniform(*depth), self._along_top(0.12)
            yaw = FACING + self._uniform(-turn, turn)
            return [Placed(name, kind, variant, x, y, COUNTER_TOP, yaw)]

        self._settle(name, draw)

    def _glass_upright(self) -> None:
        # "In the center of the counter, well away from any edges".
        self._on_top("glass_upright", "glass_upright", (-0.45, -0.3))

    def _glass_tipped(self) -> None:
        variant, pool = self._variant("glass_tipped"), self._variant("water_counter")
        floor = self._variant("water_floor")
        mouth = assets.anchor("glass_tipped", variant, "mouth")[0]

        def draw() -> list[Placed]:
            # Askew: seen straight into its mouth, a glass is two rings.
            y, turn = self._along_top(0.13), self._uniform(0.3, 0.7) * self._sign()
            back = self._uniform(0.03, 0.08) + mouth * math.cos(turn)
            return [
                Placed("glass_tipped", "glass_tipped", variant, COUNTER_FRONT + back,
                       y + mouth * math.sin(turn), COUNTER_TOP, FACING + turn),
                Placed("glass_tipped", "water_counter", pool, COUNTER_FRONT, y, COUNTER_TOP,
                       FACING),
                Placed("glass_tipped", "water_floor", floor, COUNTER_FRONT - 0.15, y, 0.0,
                       self._uniform(-0.4, 0.4)),
            ]  # fmt: skip

        self._settle("glass_tipped", draw)

    def _hot_beverage(self) -> None:
        variant, steam = self._variant("mug"), self._variant("steam_small")
        top = assets.anchor("mug", variant, "top")[2]

        def draw() -> list[Placed]:
            # "On the very edge": a part of the foot stands over it.
            x = COUNTER_FRONT + self._uniform(0.008, 0.024)
            y, yaw = self._along_top(0.08), self._uniform(-1.2, 1.2)
            return [
                Placed("hot_beverage", "mug", variant, x, y, COUNTER_TOP, yaw),
                Placed("hot_beverage", "steam_small", steam, x, y, COUNTER_TOP + top - 0.01),
            ]

        self._settle("hot_beverage", draw)

    def _coffee_spill(self) -> None:
        variant, pool = self._variant("mug_tipped"), self._variant("coffee_counter")
        reach = float(assets.build("mug_tipped", variant).bounds[1][0])

        def draw() -> list[Placed]:
            y, turn = self._along_top(0.16), self._uniform(-0.35, 0.35)
            x = COUNTER_FRONT + self._uniform(0.04, 0.09) + reach
            return [
                Placed("coffee_spill", "mug_tipped", variant, x, y, COUNTER_TOP, FACING + turn),
                Placed("coffee_spill", "coffee_counter", pool, COUNTER_FRONT, y, COUNTER_TOP,
                       FACING),
            ]  # fmt: skip

        self._settle("coffee_spill", draw)

    def _knife_edge(self) -> None:
        variant = self._variant("chef_knife")

        def draw() -> list[Placed]:
            # The blade hangs over, askew to whoever stands before it; the balance is at the edge,
            # "about to fall".
            yaw = FACING + self._sign() * self._uniform(0.45, 0.95)
            x = COUNTER_FRONT + self._uniform(-0.004, 0.008)
            return [Placed("knife_edge", "chef_knife", variant, x, self._along_top(0.14),
                           COUNTER_TOP, yaw)]  # fmt: skip

        self._settle("knife_edge", draw)

    def _pan_counter(self) -> None:
        variant, steam = self._variant("pan"), self._variant("steam_wide")

        def draw() -> list[Placed]:
            x, y = self._uniform(-0.5, -0.46), self._along_top(0.16)
            return [
                Placed("pan_counter", "pan", variant, x, y, COUNTER_TOP,
                       FACING + self._sign() * self._uniform(0.3, 0.65)),
                Placed("pan_counter", "steam_wide", steam, x, y, COUNTER_TOP + 0.04),
            ]  # fmt: skip

        self._settle("pan_counter", draw)

    def _microwave(self) -> None:
        kind = "microwave_open"
        variant, steam = self._variant(kind), self._variant("steam_front")
        near = "child_near_microwave" in self._chosen

        def draw() -> list[Placed]:
            y, yaw = self._along_top(0.26), FACING + self._uniform(-0.06, 0.06)
            x = self._uniform(-0.40, -0.36) if near else self._uniform(-0.40, -0.28)
            oven = Placed("microwave_open_hot", kind, variant, x, y, COUNTER_TOP, yaw)
            return [
                oven,
                Placed("microwave_open_hot", "steam_front", steam, *oven.point("mouth"), yaw),
            ]

        self._settle("microwave_open_hot", draw)

    # The stove.

    @cached_property
    def _stove(self) -> Unit:
        return self.plan.of("stove")[0]

    def _burner(self, index: int) -> tuple[float, float]:
        x, y = BURNERS[index]
        return x, self._stove.middle + y

    @cached_property
    def _sides(self) -> tuple[int, int]:
        """(burner of the flame, burner of the pan): the two front ones, drawn once."""
        beside = _beside(self.plan, self._stove)
        if "towel_near" in self._chosen or "towel_burning" in self._chosen:
            left = any(unit.middle > self._stove.middle for unit in beside)
            right = any(unit.middle < self._stove.middle for unit in beside)
            flame = 0 if left and not right else 1 if right and not left else self._coin()
        else:
            flame = self._coin()
        return flame, 1 - flame

    def _coin(self) -> int:
        return int(self._rng.integers(2))

    def _stove_on(self) -> None:
        lit = [self._sides[0]]
        both = {"towel_near", "towel_burning"} <= self._chosen
        if both or ("pan_stove" not in self._chosen and self._rng.random() < 0.4):
            lit.append(self._sides[1])
        for index in lit:
            x, y = self._burner(index)
            self._put(Placed("stove_on", "gas_flame", 0, x, y, room.BURNER_TOP - 0.008))

    def _pan_stove(self) -> None:
        variant, steam = self._variant("pan"), self._variant("steam_wide")
        x, y = self._burner(self._sides[1])
        yaw = FACING + self._sign() * self._uniform(0.3, 0.65)
        pan = Placed("pan_stove", "pan", variant, x, y, GRATE_TOP, yaw)
        self._put(pan, Placed("pan_stove", "steam_wide", steam, x, y, GRATE_TOP + 0.04))

    def _towel(self, name: str, kind: str) -> None:
        flame = self._sides[0]
        if name == "towel_burning" and "towel_near" in self._chosen:
            flame = self._sides[1]
        # Front burner 0 is left of the stove's middle: the towel lies beside it, over the joint.
        side = 1.0 if flame == 0 else -1.0
        edge = self._stove.left if flame == 0 else self._stove.right
        variant = self._variant(kind)

        def draw() -> list[Placed]:
            y = edge + side * self._uniform(0.10, 0.14)
            return [Placed(name, kind, variant, COUNTER_FRONT, y, COUNTER_TOP, FACING)]

        self._settle(name, draw, partners=("stove_on",))

    def _smoke(self) -> None:
        variant = self._variant("smoke")
        if "towel_burning" in self._chosen:
            towel = self._first("towel_burning")
            x, y, z = towel.point("flame")
            tall = float(assets.build("smoke", variant).bounds[1][2])
            z = min(z + 0.08, CEILING - 0.02 - tall)
            self._put(Placed("smoke", "smoke", variant, x, y, z))
            return
        pan = self._first("pan_stove")
        self._put(Placed("smoke", "smoke", variant, pan.x, pan.y, pan.z + 0.04))

    # Walls and cabinets.

    def _doors(self, name: str, kind: str, sink: Unit) -> Placed:
        return Placed(name, kind, self.palette, CABINET_FRONT, sink.middle)

    def _cabinet_open(self) -> None:
        sink = self.plan.of("sink")[0]
        variant = self._variant("chemicals")
        self._put(
            self._doors("cabinet_open", "sink_doors_open", sink),
            Placed("cabinet_open", "chemicals", variant, -0.38, sink.middle, 0.125, FACING),
        )

    def _cabinet_closed(self) -> None:
        sink = self.plan.of("sink")[0]
        self._put(self._doors("cabinet_closed", "sink_doors_closed", sink))

    def _outlet(self, name: str) -> None:
        variant = self._variant(name)

        def draw() -> list[Placed]:
            if self._rng.random() < 0.5:
                wall = self.plan.of("wall")[0]
                y = self._uniform(wall.right + 0.15, wall.left - 0.15)
                z, plane = (self._uniform(0.30, 0.45) if self._coin() else 1.1), 0.0
            else:
                y, z, plane = self._along_top(0.12), self._uniform(1.10, 1.18), TILE_FRONT
            return [Placed(name, name, variant, plane - 0.0005, y, z, FACING)]

        def clear(placed: list[Placed]) -> bool:
            # Neither behind the oven nor behind steam.
            return all(
                placed[0].x < -0.5 or abs(placed[0].y - thing.y) > room_for
                for thing in self.things
                if (room_for := _HIDES.get(thing.kind, 0.0)) and placed[0].z > 0.9
            )

        self._settle(name, draw, fits=clear)

    def _adult(self) -> None:
        right, left = self.plan.side_walls
        wall = self.plan.of("wall")[0]
        on_left = abs(wall.left - left) < 1e-6
        variant = 0 if on_left else 1  # each turns her head to its own side: the camera's
        side = 1.0 if on_left else -1.0
        plane = left if on_left else right
        hand = assets.anchor("adult_reacting", variant, "hand")

        def draw() -> list[Placed]:
            x = self._uniform(-1.35, -1.05)
            rack = Placed("adult_reacting", "extinguisher", 0, x, plane - side * 0.002,
                          hand[2] - assets.anchor("extinguisher", 0, "handle")[2],
                          -side * math.pi / 2)  # fmt: skip
            target = rack.point("handle")
            # She reaches past the camera's side: her face is seen.
            yaw = side * (math.pi / 2 + self._uniform(0.55, 0.95))
            return [_reaching("adult_reacting", "adult_reacting", variant, target, yaw), rack]

        placed = draw()
        for _ in range(SPOTS):
            if self._free(placed[0]):
                self._put(*placed)
                return
            placed = draw()
        raise NoRoom("adult_reacting found no place at the extinguisher")

    # People and the floor.

    def _child_reaching(self) -> None:
        variant = self._variant("child_reaching")
        sink = self.plan.of("sink")[0]
        height = assets.anchor("child_reaching", variant, "hand")[2]

        def draw() -> list[Placed]:
            y = sink.middle + self._uniform(-0.12, 0.12)
            target = (self._uniform(-0.56, -0.48), y, height)
            yaw = self._uniform(-0.45, 0.45)
            return [_reaching("child_reaching", "child_reaching", variant, target, yaw)]

        self._settle("child_reaching", draw, partners=("cabinet_open",))

    def _child_near_microwave(self) -> None:
        kind = "child_near_microwave"
        variant = self._variant(kind)
        bowl = self._first("microwave_open_hot").point("bowl")
        height = assets.anchor(kind, variant, "hand")[2]

        def draw() -> list[Placed]:
            target = (bowl[0] - self._uniform(0.16, 0.24), bowl[1] + self._uniform(-0.06, 0.06),
                      height)  # fmt: skip
            return [_reaching(kind, kind, variant, target, self._uniform(-0.3, 0.3))]

        self._settle(kind, draw, partners=("microwave_open_hot",), fits=_before_counter)

    def _child_near_pan(self) -> None:
        kind = "child_near_pan"
        variant = self._variant(kind)
        pan = self._first("pan_stove", "pan_counter")
        handle = pan.point("handle_end")

        def draw() -> list[Placed]:
            yaw = self._uniform(-0.7, 0.7)
            return [_reaching(kind, kind, variant, handle, yaw)]

        self._settle(kind, draw, partners=("pan_stove", "pan_counter"), fits=_before_counter)

    def _child_on_stool(self) -> None:
        kind = "child_on_stool"
        variant, chair = self._variant(kind), self._variant("chair")
        seat = assets.anchor("chair", chair, "seat")

        def draw() -> list[Placed]:
            y = self._along_top(0.2)
            # Pushed up to the counter, its back aside: the child's feet are seen.
            yaw = self._sign() * math.pi / 2 + self._uniform(-0.25, 0.25)
            child_yaw = self._uniform(-0.2, 0.2)
            stool = Placed(kind, "chair", chair, COUNTER_FRONT - 0.27, y, 0.0, yaw)
            top = stool.to_room([seat])[0]
            return [
                Placed(kind, kind, variant, float(top[0]), float(top[1]), float(top[2]), child_yaw),
                stool,
            ]

        self._settle(kind, draw, fits=self._cool)

    def _glass_floor(self) -> None:
        self._lying("glass_floor", "broken_glass")

    def _wet_floor(self) -> None:
        self._lying("wet_floor", "coffee_floor")

    def _cord(self) -> None:
        self._lying("loose_cord_floor", "loose_cord")

    def _lying(self, name: str, kind: str) -> None:
        variant = self._variant(kind)

        def draw() -> list[Placed]:
            x, y = self._uniform(-1.35, -0.95), self._on_floor()
            yaw = self._uniform(-0.5, 0.5) + math.pi / 2
            return [Placed(name, kind, variant, x, y, 0.0, yaw)]

        def before_units(placed: list[Placed]) -> bool:
            return bool(placed[0].box()[1, 0] < CABINET_FRONT - 0.04)

        self._settle(name, draw, fits=before_units)

    def _barefoot_near_glass(self) -> None:
        kind = "barefoot_walking"
        variant = self._variant(kind)
        shards = self._first("glass_floor")

        def draw() -> list[Placed]:
            low, high = shards.box()
            side = 1.0 if self._rng.random() < 0.5 else -1.0
            beyond = high[1] if side > 0 else low[1]
            y = float(beyond) + side * self._uniform(0.10, 0.22)
            x = shards.x + self._uniform(-0.12, 0.18)
            yaw = -side * math.pi / 2 + self._uniform(-0.5, 0.5)
            return [Placed("barefoot_near_glass", kind, variant, x, y, 0.0, yaw)]

        self._settle("barefoot_near_glass", draw, partners=("glass_floor",))

    def _child(
        self,
        name: str,
        kind: str,
        turn: float,
        heading: float = FACING,
        fits: Callable[[list[Placed]], bool] | None = None,
    ) -> None:
        """Place a child that stands, sits or runs by itself; `turn` in degrees."""
        variant = self._variant(kind)
        spread = math.radians(turn)
        sign = self._rng.choice([-1.0, 1.0]) if heading != FACING else 1.0

        def draw() -> list[Placed]:
            x, y = self._uniform(-1.7, -0.95), self._on_floor()
            yaw = sign * heading + self._uniform(-spread, spread)
            return [Placed(name, kind, variant, x, y, 0.0, yaw)]

        own = fits or (lambda placed: True)
        self._settle(name, draw, fits=lambda placed: self._cool(placed) and own(placed))

    def _child_running(self) -> None:
        self._child("child_running", "child_running", 35, math.pi / 2)

    def _child_far(self) -> None:
        bowl = self._first("microwave_open_hot").point("bowl")

        def far(placed: list[Placed]) -> bool:
            return _nearest(placed[0], bowl) >= FAR

        variant = self._variant("toddler_playing")
        right, left = self.plan.side_walls

        def draw() -> list[Placed]:
            side = 1.0 if left - bowl[1] > bowl[1] - right else -1.0
            y = bowl[1] + side * self._uniform(1.3, 2.4)
            x, yaw = self._uniform(-1.7, -0.95), FACING + self._uniform(-0.8, 0.8)
            return [Placed("child_far_microwave", "toddler_playing", variant, x, y, 0.0, yaw)]

        self._settle("child_far_microwave", draw, fits=far)

    def _barefoot_safe(self) -> None:
        def dry(placed: list[Placed]) -> bool:
            low, high = placed[0].box()
            return all(
                (low[:2] - DRY > box[1, :2]).any() or (high[:2] + DRY < box[0, :2]).any()
                for thing, box in self._boxes
                if thing.kind in _FLAT and thing.z == 0.0
            )

        self._child("barefoot_child_safe", "barefoot_standing", 40, fits=dry)

    def _cool(self, placed: list[Placed]) -> bool:
        """Return whether a child is out of reach of the hot bowl."""
        if "microwave_open_hot" not in self._chosen:
            return True
        bowl = self._first("microwave_open_hot").point("bowl")
        return _nearest(placed[0], bowl) >= AWAY_FROM_HEAT


def _reaching(
    name: str, kind: str, variant: int, target: tuple[float, float, float], yaw: float
) -> Placed:
    """Return a person whose hand is at a target's (x, y)."""
    hand = assets.anchor(kind, variant, "hand")
    c, s = math.cos(yaw), math.sin(yaw)
    x = target[0] - (c * hand[0] - s * hand[1])
    y = target[1] - (s * hand[0] + c * hand[1])
    return Placed(name, kind, variant, x, y, 0.0, yaw)


def _nearest(placed: Placed, point: tuple[float, float, float]) -> float:
    """Return the distance in plan from a thing's box to a point, m."""
    low, high = placed.box()[:, :2]
    away = np.maximum(np.maximum(low - point[:2], np.array(point[:2]) - high), 0.0)
    return float(np.hypot(away[0], away[1]))


def _before_counter(placed: list[Placed]) -> bool:
    """Return whether nothing of a person is inside the units: over the worktop it may reach."""
    person = placed[0]
    points = person.to_room(mesh_of(person.kind, person.variant).vertices)
    return bool(points[points[:, 2] < COUNTER_TOP][:, 0].max() <= COUNTER_FRONT)
