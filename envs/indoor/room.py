"""Kitchens: rooms with everything that stands still, built from a plan and a palette.

Doors, worktops, appliances and colours are ours, those of ordinary fitted kitchens. The doors
under the sink are separate meshes, because scenes open and close them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core import UnknownNameError, UsageError
from ...rendering.baking import baked
from ...rendering.mesh import Mesh
from .layout import Layout
from .room_counter import sink, worktop
from .room_decor import decorate
from .room_palettes import LOOKS, Palette
from .room_parts import Parts, Range
from .room_shell import shell, splashback, window
from .room_stove import BURNER_TOP, cooktop, hood, oven
from .room_units import base_unit, end_panel, fridge, under_sink_doors, wall_unit

PALETTES = tuple(LOOKS)
"""Names of the colours and styles that each layout exists in; functions take their index."""

DOOR_STATES = ("open", "closed")
"""Kinds of `sink_doors`."""

_SWING = (math.radians(104.0), math.radians(99.0))  # wide, and no two doors alike
_OPEN_SHELF = 0.42  # of the width of the wall cabinet that has one


@dataclass(frozen=True, slots=True)
class Backdrop:
    """A kitchen.

    Attributes:
        mesh: Everything static, in room coordinates (see `layout`).
        key: Equal keys mean equal backdrops.
    """

    mesh: Mesh
    key: str


@lru_cache(maxsize=64)
def backdrop(layout: Layout, palette: int) -> Backdrop:
    """Return the kitchen of a plan in a palette, the same in every process.

    Args:
        layout: The plan.
        palette: Index into `PALETTES`.

    Raises:
        UsageError: There is no such palette.
    """
    look = _look(palette)
    key = f"kitchen-{layout.key}-{PALETTES[palette]}"
    return Backdrop(baked(key, _sources(), lambda: _build(layout, palette, look)), key)


@lru_cache(maxsize=16)
def sink_doors(kind: str, palette: int) -> Mesh:
    """Return the doors of the cabinet under the sink.

    They are in room orientation; the origin lies on the floor at `layout.CABINET_FRONT`, in the
    middle of the sink unit.

    Args:
        kind: "open" (both swung wide) or "closed".
        palette: Index into `PALETTES`.

    Raises:
        UnknownNameError: There is no such kind.
        UsageError: There is no such palette.
    """
    if kind not in DOOR_STATES:
        raise UnknownNameError("state of the doors", kind, DOOR_STATES)
    look = _look(palette)
    return under_sink_doors(look, _SWING if kind == "open" else (0.0, 0.0))


def _look(palette: int) -> Palette:
    if not 0 <= palette < len(PALETTES):
        raise UsageError(f"there is no palette {palette}: there are 0 to {len(PALETTES) - 1}.")
    return LOOKS[PALETTES[palette]]


def _sources() -> tuple[Path, ...]:
    here = Path(__file__).parent
    rendering = here.parent.parent / "rendering"
    return (
        *sorted(here.glob("room*.py")),
        here / "layout.py",
        rendering / "mesh.py",
        rendering / "shapes" / "builder.py",
        rendering / "shapes" / "primitives.py",
    )


def _build(plan: Layout, palette: int, look: Palette) -> Mesh:
    rng = np.random.default_rng([plan.number, int(plan.mirrored), palette, 7])
    b = Parts()
    shell(b, look, plan)
    counters = plan.of("sink", "drawers", "base", "stove")
    run: Range = (counters[-1].right, counters[0].left)
    sink_unit = plan.of("sink")[0]
    worktop(b, look, run, sink_unit.middle, rng)
    sink(b, look, sink_unit.middle)
    splashback(b, look, plan, run)
    window(b, look, sink_unit)
    for unit in counters:
        base_unit(b, look, unit)
    walls = plan.side_walls
    hidden = {*walls, *(y for unit in plan.of("fridge") for y in (unit.right, unit.left))}
    for end, side in ((run[0], -1), (run[1], 1)):
        if all(abs(end - y) > 1e-6 for y in hidden):
            end_panel(b, look, end, side)
    shelves = []
    for index, unit in enumerate(plan.of("drawers", "base")):
        share = _OPEN_SHELF if index == 0 and plan.number % 2 else 0.0
        inner = wall_unit(b, look, (unit.right, unit.left), open_share=share)
        if inner is not None:
            shelves.append(inner)
    for unit in plan.of("stove"):
        cooktop(b, look, unit.middle)
        oven(b, look, unit)
        hood(b, look, unit)
    for unit in plan.of("fridge"):
        fridge(b, look, unit)
    decorate(b, look, plan, shelves, rng)
    return b.mesh()


__all__ = ["BURNER_TOP", "DOOR_STATES", "PALETTES", "Backdrop", "backdrop", "sink_doors"]
