"""From a concept set to a scene: stages are built and looked at, the best-seen one is taken."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...core import SceneError
from ...rendering.world import Camera
from . import room
from .layout import Layout
from .light import light
from .matching import Match
from .scene import F64, IndoorScene, Placed, mesh_of
from .stage import NoRoom, Stage, draw_layout
from .staging import build
from .viewpoint import FROM_ABOVE, Subject, choose

STAGES = 24
"""Stages built before a scene is given up."""

LOOKS = 4
"""Stages that are looked at before the best is taken."""

GOOD = 0.92
"""Score of a camera from which on no further stage is looked at."""

SMOKE_IN_FRAME = 0.75
"""How much of a column of smoke the frame must hold, m."""

LEGS = 0.35
"""Share of a standing person's height, from the ground, that may be out of the frame."""

_HALF_LENGTH = frozenset({"toddler_standing", "child_running", "adult_reacting"})

_FLAT = frozenset(
    {"chef_knife", "scissors_open", "pan", "gas_flame", "broken_glass", "loose_cord"}
    | {"pan_handle", "water_counter", "water_floor", "coffee_counter", "coffee_floor"}
)
"""Kinds that one must look down on."""

OVERHANGING = -0.5
"""x before which a pan or knife reaches over the edge of the worktop, m."""

ACROSS_EDGE = math.radians(27.0)
"""Angle of looking down from which on one sees that it does: from below, it lies before the edge's
line in the picture only.
"""

PAST_DOOR = math.radians(22.0)
"""How far the camera looks past the open door of the microwave rather than straight at it."""

HANGS = 0.25
"""How much of what runs over the worktop's edge the frame must hold, m."""

_BESIDE = frozenset({"water_floor", "child_near_pan"})
"""Kinds below or beside the small thing that decides with them: the frame may cut them."""

_THIN = frozenset({"steam_small", "steam_wide", "steam_front", "smoke", "gas_flame"})
_ASIDE = frozenset({"steam_small", "steam_wide", "steam_front", "coffee_puddle"})
"""Kinds that need not be in the frame."""


def sample(
    chosen: Sequence[str],
    match: Match | None,
    deciding: frozenset[str],
    rng: np.random.Generator,
) -> IndoorScene:
    """Return a scene of a concept set.

    Args:
        chosen: Concepts in catalogue order, without the implied ones.
        match: The rule that decides.
        deciding: The concepts that the answer hangs on.
        rng: The only source of chance.

    Raises:
        SceneError: The things find no place; names the one that failed most often.
    """
    palette = int(rng.integers(len(room.PALETTES)))
    failed: Counter[str] = Counter()
    best: tuple[float, Layout, list[Placed], Camera] | None = None
    looks = 0
    for _ in range(STAGES):
        plan = draw_layout(chosen, rng)
        stage = Stage(chosen, plan, palette, rng)
        try:
            things = build(stage)
        except NoRoom as error:
            failed[str(error)] += 1
            continue
        camera, score = choose(
            subjects(things, deciding, plan, stage.focus), stage.focus, plan.side_walls, rng
        )
        looks += 1
        if best is None or score > best[0]:
            best = score, plan, things, camera
        if score >= GOOD or looks == LOOKS:
            break
    if best is None:
        worst = min(failed, key=lambda text: (-failed[text], text))
        raise SceneError(f"{worst} after {STAGES} tries")
    _, plan, things, camera = best
    return IndoorScene(
        candidate=tuple(chosen),
        match=match,
        layout=plan,
        palette=palette,
        camera=camera,
        atmosphere=light(plan, rng),
        things=tuple(things),
    )


def subjects(
    things: Sequence[Placed], deciding: frozenset[str], plan: Layout, focus: float
) -> list[Subject]:
    """Return what the camera is to show, each concept's parts on their own.

    A set whose things are in no frame by themselves (there are none) shows the run at the focus.
    """
    shown = [
        Subject(
            name=thing.name,
            box=_framed(thing),
            decides=thing.name in deciding and thing.kind not in _BESIDE,
            solid=thing.kind not in _THIN,
            front=_front(thing),
            above=_above(thing),
            faces=_faces(thing),
        )
        for thing in things
        if thing.name != "room" and thing.kind not in _ASIDE
    ]
    if shown:
        return shown
    right, left = plan.side_walls
    middle = min(max(focus, right + 0.8), left - 0.8)
    box = np.array([[-0.7, middle - 0.8, 0.2], [-0.3, middle + 0.8, 1.5]])
    return [Subject("room", box, decides=False, solid=False)]


def _framed(thing: Placed) -> F64:
    """Return the box of a thing that is to be in the frame, `2 x 3`, m.

    Of smoke that is the lower part, of people whose feet say nothing the upper one: small things
    beside them come out larger.
    """
    box = thing.box()
    if thing.kind == "smoke":
        box[1, 2] = min(box[1, 2], box[0, 2] + SMOKE_IN_FRAME)
    elif thing.kind in ("water_counter", "coffee_counter"):
        box[0, 2] = max(box[0, 2], box[1, 2] - HANGS)
    elif thing.kind in _HALF_LENGTH:
        box[0, 2] += LEGS * (box[1, 2] - box[0, 2])
    return box


@lru_cache(maxsize=512)
def _own_faces(kind: str, variant: int) -> F64:
    """Return half of the area-long normals of a thing's triangles in its own frame, `n x 3`, m²."""
    mesh = mesh_of(kind, variant)
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    return np.asarray(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 4.0)


def _faces(thing: Placed) -> F64:
    """Return the same as it stands in the room."""
    own = _own_faces(thing.kind, thing.variant)
    c, s = math.cos(thing.yaw), math.sin(thing.yaw)
    turned: F64 = own @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return turned


def _above(thing: Placed) -> float:
    """Return how far one must look down on a thing, radians."""
    overhanging = thing.kind in ("chef_knife", "pan") and thing.x < OVERHANGING
    if thing.kind == "pan_handle" or overhanging:
        return ACROSS_EDGE
    return FROM_ABOVE if thing.kind in _FLAT else 0.0


def _front(thing: Placed) -> tuple[float, float] | None:
    """Return the (x, y) that a thing must be seen from, if it has one good side."""
    if thing.kind == "adult_reacting":  # her face shows alarm
        return math.cos(thing.yaw), math.sin(thing.yaw)
    if thing.kind == "sink_doors_open":
        return -1.0, 0.0
    if thing.kind == "microwave_open":
        hinge, bowl = thing.point("hinge"), thing.point("bowl")
        away = -math.copysign(PAST_DOOR, hinge[1] - bowl[1])
        return -math.cos(away), math.sin(away)
    return None
