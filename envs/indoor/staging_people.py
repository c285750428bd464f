"""People, and what lies on the floor. Places, headings and margins are ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from . import assets
from .layout import CABINET_FRONT, COUNTER_FRONT, COUNTER_TOP
from .scene import Placed, mesh_of
from .stage import FACING, SPOTS, NoRoom, Stage

AWAY_FROM_HEAT = 1.2
"""Least distance of a child that is not said to be near the microwave from its bowl, m."""

FAR = 1.6
"""The same of the child that is said to be far, m."""

DRY = 0.45
"""Least distance of the barefoot child on dry floor from anything that lies on the floor, m."""

_FLAT = frozenset({"water_floor", "coffee_floor", "coffee_puddle", "broken_glass"})


def _adult(stage: Stage) -> None:
    right, left = stage.plan.side_walls
    wall = stage.plan.of("wall")[0]
    on_left = abs(wall.left - left) < 1e-6
    variant = 0 if on_left else 1  # each turns her head to its own side: the camera's
    side = 1.0 if on_left else -1.0
    plane = left if on_left else right
    hand = assets.anchor("adult_reacting", variant, "hand")

    def draw() -> list[Placed]:
        x = stage.uniform(-1.35, -1.05)
        rack = Placed("adult_reacting", "extinguisher", 0, x, plane - side * 0.002,
                      hand[2] - assets.anchor("extinguisher", 0, "handle")[2],
                      -side * math.pi / 2)  # fmt: skip
        target = rack.point("handle")
        # She reaches past the camera's side: her face is seen.
        yaw = side * (math.pi / 2 + stage.uniform(0.55, 0.95))
        return [_reaching("adult_reacting", "adult_reacting", variant, target, yaw), rack]

    placed = draw()
    for _ in range(SPOTS):
        if stage.free(placed[0]):
            stage.put(*placed)
            return
        placed = draw()
    raise NoRoom("adult_reacting found no place at the extinguisher")


def _child_reaching(stage: Stage) -> None:
    variant = stage.variant("child_reaching")
    sink = stage.plan.of("sink")[0]
    height = assets.anchor("child_reaching", variant, "hand")[2]

    def draw() -> list[Placed]:
        y = sink.middle + stage.uniform(-0.12, 0.12)
        target = (stage.uniform(-0.56, -0.48), y, height)
        yaw = stage.uniform(-0.45, 0.45)
        return [_reaching("child_reaching", "child_reaching", variant, target, yaw)]

    stage.settle("child_reaching", draw, partners=("cabinet_open",))


def _child_near_microwave(stage: Stage) -> None:
    kind = "child_near_microwave"
    variant = stage.variant(kind)
    bowl = stage.first("microwave_open_hot").point("bowl")
    height = assets.anchor(kind, variant, "hand")[2]

    def draw() -> list[Placed]:
        target = (bowl[0] - stage.uniform(0.16, 0.24), bowl[1] + stage.uniform(-0.06, 0.06),
                  height)  # fmt: skip
        return [_reaching(kind, kind, variant, target, stage.uniform(-0.3, 0.3))]

    stage.settle(kind, draw, partners=("microwave_open_hot",), fits=_before_counter)


def _child_near_pan(stage: Stage) -> None:
    kind = "child_near_pan"
    variant = stage.variant(kind)
    stage.first("pan_stove", "pan_counter")  # told when there is none
    handle = next(thing for thing in stage.things if thing.kind == "pan_handle").point("handle_end")

    def draw() -> list[Placed]:
        yaw = stage.uniform(-0.7, 0.7)
        return [_reaching(kind, kind, variant, handle, yaw)]

    stage.settle(kind, draw, partners=("pan_stove", "pan_counter"), fits=_before_counter)


def _child_on_stool(stage: Stage) -> None:
    kind = "child_on_stool"
    variant, chair = stage.variant(kind), stage.variant("chair")
    seat = assets.anchor("chair", chair, "seat")

    def draw() -> list[Placed]:
        y = stage.along_top(0.2)
        # Pushed up to the counter, its back aside: the child's feet are seen.
        yaw = stage.sign() * math.pi / 2 + stage.uniform(-0.25, 0.25)
        child_yaw = stage.uniform(-0.2, 0.2)
        stool = Placed(kind, "chair", chair, COUNTER_FRONT - 0.27, y, 0.0, yaw)
        top = stool.to_room([seat])[0]
        return [
            Placed(kind, kind, variant, float(top[0]), float(top[1]), float(top[2]), child_yaw),
            stool,
        ]

    stage.settle(kind, draw, fits=lambda placed: _cool(stage, placed))


def _lying(stage: Stage, name: str, kind: str) -> None:
    variant = stage.variant(kind)

    def draw() -> list[Placed]:
        x, y = stage.uniform(-1.35, -0.95), stage.on_floor()
        yaw = stage.uniform(-0.5, 0.5) + math.pi / 2
        return [Placed(name, kind, variant, x, y, 0.0, yaw)]

    def before_units(placed: list[Placed]) -> bool:
        return bool(placed[0].box()[1, 0] < CABINET_FRONT - 0.04)

    stage.settle(name, draw, fits=before_units)


def _barefoot_near_glass(stage: Stage) -> None:
    kind = "barefoot_walking"
    variant = stage.variant(kind)
    shards = stage.first("glass_floor")

    def draw() -> list[Placed]:
        low, high = shards.box()
        side = 1.0 if stage.rng.random() < 0.5 else -1.0
        beyond = high[1] if side > 0 else low[1]
        y = float(beyond) + side * stage.uniform(0.10, 0.22)
        x = shards.x + stage.uniform(-0.12, 0.18)
        yaw = -side * math.pi / 2 + stage.uniform(-0.5, 0.5)
        return [Placed("barefoot_near_glass", kind, variant, x, y, 0.0, yaw)]

    stage.settle("barefoot_near_glass", draw, partners=("glass_floor",))


def _child(
    stage: Stage,
    name: str,
    kind: str,
    turn: float,
    heading: float = FACING,
    fits: Callable[[list[Placed]], bool] | None = None,
) -> None:
    """Place a child that stands, sits or runs by itself; `turn` in degrees."""
    variant = stage.variant(kind)
    spread = math.radians(turn)
    sign = stage.rng.choice([-1.0, 1.0]) if heading != FACING else 1.0

    def draw() -> list[Placed]:
        x, y = stage.uniform(-1.7, -0.95), stage.on_floor()
        yaw = sign * heading + stage.uniform(-spread, spread)
        return [Placed(name, kind, variant, x, y, 0.0, yaw)]

    own = fits or (lambda placed: True)
    stage.settle(name, draw, fits=lambda placed: _cool(stage, placed) and own(placed))


def _child_far(stage: Stage) -> None:
    bowl = stage.first("microwave_open_hot").point("bowl")

    def far(placed: list[Placed]) -> bool:
        return _nearest(placed[0], bowl) >= FAR

    variant = stage.variant("toddler_playing")
    right, left = stage.plan.side_walls

    def draw() -> list[Placed]:
        side = 1.0 if left - bowl[1] > bowl[1] - right else -1.0
        y = bowl[1] + side * stage.uniform(1.3, 2.4)
        x, yaw = stage.uniform(-1.7, -0.95), FACING + stage.uniform(-0.8, 0.8)
        return [Placed("child_far_microwave", "toddler_playing", variant, x, y, 0.0, yaw)]

    stage.settle("child_far_microwave", draw, fits=far)


def _barefoot_safe(stage: Stage) -> None:
    def dry(placed: list[Placed]) -> bool:
        low, high = placed[0].box()
        return all(
            (low[:2] - DRY > box[1][:2]).any() or (high[:2] + DRY < box[0][:2]).any()
            for thing, box in stage.boxes
            if thing.kind in _FLAT and thing.z == 0.0
        )

    _child(stage, "barefoot_child_safe", "barefoot_standing", 40, fits=dry)


def _cool(stage: Stage, placed: list[Placed]) -> bool:
    """Return whether a child is out of reach of the hot bowl."""
    if "microwave_open_hot" not in stage.chosen:
        return True
    bowl = stage.first("microwave_open_hot").point("bowl")
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


STEPS: Mapping[str, Callable[[Stage], None]] = MappingProxyType(
    {
        "adult_reacting": _adult,
        "child_reaching": _child_reaching,
        "child_near_microwave": _child_near_microwave,
        "child_near_pan": _child_near_pan,
        "child_on_stool": _child_on_stool,
        "glass_floor": partial(_lying, name="glass_floor", kind="broken_glass"),
        "barefoot_near_glass": _barefoot_near_glass,
        "wet_floor": partial(_lying, name="wet_floor", kind="coffee_floor"),
        "loose_cord_floor": partial(_lying, name="loose_cord_floor", kind="loose_cord"),
        "child_far_microwave": _child_far,
        "barefoot_child_safe": _barefoot_safe,
        "toddler_standing": partial(
            _child, name="toddler_standing", kind="toddler_standing", turn=60
        ),
        "child_running": partial(
            _child, name="child_running", kind="child_running", turn=35, heading=math.pi / 2
        ),
    }
)
"""How each concept is staged."""
