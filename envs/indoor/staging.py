"""Puts the things of a concept set into a kitchen: what stands on what, who reaches for what.

The kitchen is drawn first, from those in which the named things are not too far apart; then every
concept is staged in turn around one place of it, things that are bound to a unit before those that
may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from . import staging_counter, staging_fixtures, staging_people
from .scene import Placed
from .stage import Stage
from .staging_fixtures import doors

_STEPS: Mapping[str, Callable[[Stage], None]] = MappingProxyType(
    {**staging_fixtures.STEPS, **staging_counter.STEPS, **staging_people.STEPS}
)

ORDER = (
    "cabinet_open",
    "cabinet_closed",
    "stove_on",
    "pan_stove",
    "towel_near",
    "towel_burning",
    "smoke",
    "microwave_open_hot",
    "adult_reacting",
    "child_on_stool",
    "pan_counter",
    "glass_tipped",
    "hot_beverage",
    "coffee_spill",
    "knife_edge",
    "outlet_exposed",
    "outlet_covered",
    "child_reaching",
    "child_near_microwave",
    "child_near_pan",
    "glass_floor",
    "barefoot_near_glass",
    "wet_floor",
    "loose_cord_floor",
    "scissors_open",
    "pill_bottle",
    "glass_upright",
    "knife_block",
    "child_far_microwave",
    "barefoot_child_safe",
    "toddler_standing",
    "child_running",
)
"""Concepts in the order in which they are staged; later ones make do with what is left."""


def build(stage: Stage) -> list[Placed]:
    """Stage every concept of an empty stage.

    Raises:
        NoRoom: One of them found no place.
    """
    for name in ORDER:
        if name in stage.chosen:
            _STEPS[name](stage)
    if not stage.chosen & {"cabinet_open", "cabinet_closed"}:
        for sink in stage.plan.of("sink"):
            stage.put(doors(stage, "room", "sink_doors_closed", sink))
    return stage.things
