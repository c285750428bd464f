"""What stands and lies on the worktop. Places, headings and margins are ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from . import assets
from .layout import COUNTER_FRONT, COUNTER_TOP
from .scene import Placed
from .stage import FACING, Stage


def _on_top(stage: Stage, name: str, depth: tuple[float, float], turn: float = math.pi) -> None:
    variant = stage.variant(name)

    def draw() -> list[Placed]:
        x, y = stage.uniform(*depth), stage.along_top(0.12)
        yaw = FACING + stage.uniform(-turn, turn)
        return [Placed(name, name, variant, x, y, COUNTER_TOP, yaw)]

    stage.settle(name, draw)


def _glass_tipped(stage: Stage) -> None:
    variant, pool = stage.variant("glass_tipped"), stage.variant("water_counter")
    floor = stage.variant("water_floor")
    mouth = assets.anchor("glass_tipped", variant, "mouth")[0]

    def draw() -> list[Placed]:
        # Askew: seen straight into its mouth, a glass is two rings.
        y, turn = stage.along_top(0.13), stage.uniform(0.3, 0.7) * stage.sign()
        back = stage.uniform(0.03, 0.08) + mouth * math.cos(turn)
        return [
            Placed("glass_tipped", "glass_tipped", variant, COUNTER_FRONT + back,
                   y + mouth * math.sin(turn), COUNTER_TOP, FACING + turn),
            Placed("glass_tipped", "water_counter", pool, COUNTER_FRONT, y, COUNTER_TOP,
                   FACING),
            Placed("glass_tipped", "water_floor", floor, COUNTER_FRONT - 0.15, y, 0.0,
                   stage.uniform(-0.4, 0.4)),
        ]  # fmt: skip

    stage.settle("glass_tipped", draw)


def _hot_beverage(stage: Stage) -> None:
    variant, steam = stage.variant("mug"), stage.variant("steam_small")
    top = assets.anchor("mug", variant, "top")[2]

    def draw() -> list[Placed]:
        # "On the very edge": a part of the foot stands over it.
        x = COUNTER_FRONT + stage.uniform(0.008, 0.024)
        y, yaw = stage.along_top(0.08), stage.uniform(-1.2, 1.2)
        return [
            Placed("hot_beverage", "mug", variant, x, y, COUNTER_TOP, yaw),
            Placed("hot_beverage", "steam_small", steam, x, y, COUNTER_TOP + top - 0.01),
        ]

    stage.settle("hot_beverage", draw)


def _coffee_spill(stage: Stage) -> None:
    variant, pool = stage.variant("mug_tipped"), stage.variant("coffee_counter")
    puddle = stage.variant("coffee_puddle")
    reach = float(assets.build("mug_tipped", variant).bounds[1][0])

    def draw() -> list[Placed]:
        y, turn = stage.along_top(0.16), stage.uniform(-0.35, 0.35)
        x = COUNTER_FRONT + stage.uniform(0.04, 0.09) + reach
        return [
            Placed("coffee_spill", "mug_tipped", variant, x, y, COUNTER_TOP, FACING + turn),
            Placed("coffee_spill", "coffee_counter", pool, COUNTER_FRONT, y, COUNTER_TOP,
                   FACING),
            Placed("coffee_spill", "coffee_puddle", puddle, COUNTER_FRONT - 0.03, y, 0.0,
                   stage.uniform(-0.4, 0.4)),
        ]  # fmt: skip

    stage.settle("coffee_spill", draw)


def _knife_edge(stage: Stage) -> None:
    variant = stage.variant("chef_knife")

    def draw() -> list[Placed]:
        # The blade hangs over; its middle is just past the edge, "about to fall".
        yaw = FACING + stage.sign() * stage.uniform(0.2, 0.65)
        x = COUNTER_FRONT + stage.uniform(-0.012, 0.006)
        return [Placed("knife_edge", "chef_knife", variant, x, stage.along_top(0.14),
                       COUNTER_TOP, yaw)]  # fmt: skip

    stage.settle("knife_edge", draw)


def _pan_counter(stage: Stage) -> None:
    variant, steam = stage.variant("pan"), stage.variant("steam_wide")

    def draw() -> list[Placed]:
        # Its rim ends with the worktop, its handle reaches into the room.
        x, y = stage.uniform(-0.518, -0.505), stage.along_top(0.16)
        yaw = FACING + stage.sign() * stage.uniform(0.2, 0.5)
        return [
            Placed("pan_counter", "pan", variant, x, y, COUNTER_TOP, yaw),
            Placed("pan_counter", "pan_handle", variant, x, y, COUNTER_TOP, yaw),
            Placed("pan_counter", "steam_wide", steam, x, y, COUNTER_TOP + 0.04),
        ]  # fmt: skip

    stage.settle("pan_counter", draw)


def _microwave(stage: Stage) -> None:
    kind = "microwave_open"
    variant, steam = stage.variant(kind), stage.variant("steam_front")
    near = "child_near_microwave" in stage.chosen

    def draw() -> list[Placed]:
        y, yaw = stage.along_top(0.26), FACING + stage.uniform(-0.06, 0.06)
        x = stage.uniform(-0.40, -0.36) if near else stage.uniform(-0.40, -0.28)
        oven = Placed("microwave_open_hot", kind, variant, x, y, COUNTER_TOP, yaw)
        return [
            oven,
            Placed("microwave_open_hot", "steam_front", steam, *oven.point("mouth"), yaw),
        ]

    stage.settle("microwave_open_hot", draw)


STEPS: Mapping[str, Callable[[Stage], None]] = MappingProxyType(
    {
        "pan_counter": _pan_counter,
        "glass_tipped": _glass_tipped,
        "hot_beverage": _hot_beverage,
        "coffee_spill": _coffee_spill,
        "knife_edge": _knife_edge,
        "microwave_open_hot": _microwave,
        "scissors_open": partial(_on_top, name="scissors_open", depth=(-0.5, -0.38)),
        "pill_bottle": partial(_on_top, name="pill_bottle", depth=(-0.5, -0.36), turn=0.4),
        # "In the center of the counter, well away from any edges".
        "glass_upright": partial(_on_top, name="glass_upright", depth=(-0.45, -0.3)),
        "knife_block": partial(_on_top, name="knife_block", depth=(-0.3, -0.2), turn=0.5),
    }
)
"""How each concept is staged."""
