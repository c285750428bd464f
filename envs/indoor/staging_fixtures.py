"""What belongs to a unit or a wall: stove, towel, smoke, sink doors, outlets.

Places, headings and margins are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from . import assets, room
from .layout import (
    CABINET_FRONT,
    CEILING,
    COUNTER_FRONT,
    COUNTER_TOP,
    GRATE_TOP,
    TILE_FRONT,
    Unit,
)
from .scene import Placed
from .stage import FACING, Stage

_HIDES = {"microwave_open": 0.55, "steam_wide": 0.3, "steam_small": 0.2, "smoke": 0.35}
"""Kinds before which no outlet is put, and how far to the side it must be, m."""


def _stove_on(stage: Stage) -> None:
    lit = [stage.sides[0]]
    both = {"towel_near", "towel_burning"} <= stage.chosen
    if both or ("pan_stove" not in stage.chosen and stage.rng.random() < 0.4):
        lit.append(stage.sides[1])
    for index in lit:
        x, y = stage.burner(index)
        stage.put(Placed("stove_on", "gas_flame", 0, x, y, room.BURNER_TOP - 0.008))


def _pan_stove(stage: Stage) -> None:
    variant, steam = stage.variant("pan"), stage.variant("steam_wide")
    x, y = stage.burner(stage.sides[1])
    yaw = FACING + stage.sign() * stage.uniform(0.15, 0.45)
    stage.put(
        Placed("pan_stove", "pan", variant, x, y, GRATE_TOP, yaw),
        Placed("pan_stove", "pan_handle", variant, x, y, GRATE_TOP, yaw),
        Placed("pan_stove", "steam_wide", steam, x, y, GRATE_TOP + 0.04),
    )


def _towel(stage: Stage, name: str, kind: str) -> None:
    flame = stage.sides[0]
    if name == "towel_burning" and "towel_near" in stage.chosen:
        flame = stage.sides[1]
    # Front burner 0 is left of the stove's middle: the towel lies beside it, over the joint.
    side = 1.0 if flame == 0 else -1.0
    edge = stage.stove.left if flame == 0 else stage.stove.right
    variant = stage.variant(kind)

    def draw() -> list[Placed]:
        y = edge + side * stage.uniform(0.10, 0.14)
        return [Placed(name, kind, variant, COUNTER_FRONT, y, COUNTER_TOP, FACING)]

    stage.settle(name, draw, partners=("stove_on",))


def _smoke(stage: Stage) -> None:
    variant = stage.variant("smoke")
    if "towel_burning" in stage.chosen:
        towel = stage.first("towel_burning")
        x, y, z = towel.point("flame")
        tall = float(assets.build("smoke", variant).bounds[1][2])
        z = min(z + 0.08, CEILING - 0.02 - tall)
        stage.put(Placed("smoke", "smoke", variant, x, y, z))
        return
    pan = stage.first("pan_stove")
    stage.put(Placed("smoke", "smoke", variant, pan.x, pan.y, pan.z + 0.04))


def doors(stage: Stage, name: str, kind: str, sink: Unit) -> Placed:
    """Return the doors of a sink, in the kitchen's colours."""
    return Placed(name, kind, stage.palette, CABINET_FRONT, sink.middle)


def _cabinet_open(stage: Stage) -> None:
    sink = stage.plan.of("sink")[0]
    variant = stage.variant("chemicals")
    stage.put(
        doors(stage, "cabinet_open", "sink_doors_open", sink),
        Placed("cabinet_open", "chemicals", variant, -0.38, sink.middle, 0.125, FACING),
    )


def _cabinet_closed(stage: Stage) -> None:
    sink = stage.plan.of("sink")[0]
    stage.put(doors(stage, "cabinet_closed", "sink_doors_closed", sink))


def _outlet(stage: Stage, name: str) -> None:
    variant = stage.variant(name)

    def draw() -> list[Placed]:
        if stage.rng.random() < 0.5:
            wall = stage.plan.of("wall")[0]
            y = stage.uniform(wall.right + 0.15, wall.left - 0.15)
            z, plane = (stage.uniform(0.30, 0.45) if stage.coin() else 1.1), 0.0
        else:
            y, z, plane = stage.along_top(0.12), stage.uniform(1.10, 1.18), TILE_FRONT
        return [Placed(name, name, variant, plane - 0.0005, y, z, FACING)]

    def clear(placed: list[Placed]) -> bool:
        # Neither behind the oven nor behind steam.
        return all(
            placed[0].x < -0.5 or abs(placed[0].y - thing.y) > room_for
            for thing in stage.things
            if (room_for := _HIDES.get(thing.kind, 0.0)) and placed[0].z > 0.9
        )

    stage.settle(name, draw, fits=clear)


STEPS: Mapping[str, Callable[[Stage], None]] = MappingProxyType(
    {
        "cabinet_open": _cabinet_open,
        "cabinet_closed": _cabinet_closed,
        "stove_on": _stove_on,
        "pan_stove": _pan_stove,
        "towel_near": partial(_towel, name="towel_near", kind="towel_draped"),
        "towel_burning": partial(_towel, name="towel_burning", kind="towel_burning"),
        "smoke": _smoke,
        "outlet_exposed": partial(_outlet, name="outlet_exposed"),
        "outlet_covered": partial(_outlet, name="outlet_covered"),
    }
)
"""How each concept is staged."""
