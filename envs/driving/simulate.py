"""Independent check of the right answers: drive each action against the sampled meshes.

Revelio App. C.1 validates its labels by simulation. Here the ego's box is integrated in steps of
1 ms against the boxes of the meshes that the picture shows, for every action; the labels follow
from what happened. No formula, gap or box of `truth` or `scene` is used: the meshes' vertices,
the lit lamp's colour and the stop line are the only inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...core import SceneError, Truth
from ...rendering.mesh import Material, Mesh
from ...rendering.world import Camera, World
from .scene import CAMERA_BEHIND_BUMPER, EGO_WIDTH, DrivingScene
from .truth import BRAKE_INTENSITY, CRUISE_SPEED, FULL_BRAKING

if TYPE_CHECKING:
    from .domain import DrivingDomain

STEP = 0.001
"""Time step, s."""

REACH = 45.0
"""How far the ego is driven when nothing stops it, m: beyond everything that is placed."""

EGO_LENGTH = 4.0
ROOF = 2.0
"""Parts of a mesh above the ego cannot be hit, m."""

SIGHT = 180.0
"""Sight distance below which a driver slows down, m (3.9 / extinction, Koschmieder)."""

GAP_TOLERANCE = 0.02
"""How far the recorded gap may be from the distance rolled, m: three steps at full speed."""

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one action leads to.

    Attributes:
        impact_speed: Speed at first contact, 0 = no contact, m/s.
        struck: Names of what was touched in the step of first contact; empty = no contact.
        travelled: Distance rolled, up to the contact, a stop or `REACH`, m.
        ran_red: Whether the front bumper crossed the stop line of a red light.
    """

    impact_speed: float
    struck: tuple[str, ...]
    travelled: float
    ran_red: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the simulation says of a truth.

    Attributes:
        outcomes: By action.
        accepted: The actions that it finds right.
        rule: The rule that its outcomes stand for.
        disagreements: Words on every point on which the truth says otherwise; empty = agreement.
    """

    outcomes: Mapping[str, Outcome]
    accepted: frozenset[str]
    rule: str
    disagreements: tuple[str, ...]


def _box(mesh: Mesh, yaw: float, x: float, y: float) -> F64 | None:
    """Return the corners, `4 x 2`, of the box of a placed mesh along its own axes, m.

    Vertices are taken where they stand in the world and measured along the object's heading.
    """
    triangles = mesh.vertices[mesh.faces].astype(np.float64)
    points = triangles[triangles[:, :, 2].min(axis=1) < ROOF].reshape(-1, 3)[:, :2]
    if not len(points):
        return None
    along = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    local = (points - (x, y)) @ along.T
    (x0, y0), (x1, y1) = local.min(axis=0), local.max(axis=0)
    corners: F64 = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]) @ along + np.array((x, y))
    return corners


def _touch(ego: F64, box: F64) -> bool:
    """Whether two boxes overlap (separating axes)."""
    for corners in (ego, box):
        for edge in (corners[1] - corners[0], corners[3] - corners[0]):
            a, b = ego @ edge, box @ edge
            if a.max() < b.min() or b.max() < a.min():
                return False
    return True


def boxes(world: World) -> dict[str, F64]:
    """Return the box of every object that the ego can hit, by name, `4 x 2` corners, m."""
    placed = {item.name: _box(item.placed(), item.yaw, item.x, item.y) for item in world.objects}
    return {name: box for name, box in placed.items() if box is not None}


def drive(
    around: Mapping[str, F64], camera: Camera, action: str, stop_line: float | None = None
) -> Outcome:
    """Drive the ego straight on and return what happens.

    Args:
        around: The `boxes` of the world.
        camera: The world's camera; the ego's front bumper is `CAMERA_BEHIND_BUMPER` before it.
        action: ``"continue"``, ``"slow_down"`` or ``"emergency_stop"``, kept until standstill.
        stop_line: x of the stop line of a red light in the world, m.
    """
    front = camera.x + CAMERA_BEHIND_BUMPER
    half = EGO_WIDTH / 2
    shape = np.array([(-EGO_LENGTH, -half), (0.0, -half), (0.0, half), (-EGO_LENGTH, half)])
    braking = FULL_BRAKING * BRAKE_INTENSITY[action]
    speed, travelled, ran_red = CRUISE_SPEED, 0.0, False
    # What the whole sweep leaves alone cannot be hit on the way: only the rest is stepped.
    sweep = shape + np.array((front, camera.y))
    sweep[1:3, 0] += REACH
    at_risk = [(name, box) for name, box in around.items() if _touch(sweep, box)]
    first = min((box[:, 0].min() for _, box in at_risk), default=np.inf)
    while speed > 0.0 and travelled < REACH:
        nose = front + travelled
        if nose >= first:
            ego = shape + np.array((nose, camera.y))
            struck = tuple(name for name, box in at_risk if _touch(ego, box))
            if struck:
                return Outcome(speed, struck, travelled, ran_red)
        ran_red = ran_red or (stop_line is not None and nose > stop_line)
        faster, speed = speed, max(0.0, speed - braking * STEP)
        travelled += 0.5 * (faster + speed) * STEP
    return Outcome(0.0, (), travelled, ran_red)


def red_line(scene: DrivingScene, world: World) -> float | None:
    """Return x of the stop line if the lamp that the world shows is lit red, m."""
    if scene.signal is None or scene.junction_gap is None:
        return None
    lamp = next(item for item in world.objects if item.name == scene.signal.name)
    lit = lamp.mesh.materials == Material.EMISSIVE
    red, green, _ = lamp.mesh.colours[lit].mean(axis=0)
    return world.camera.x + CAMERA_BEHIND_BUMPER + scene.junction_gap if red > green else None


def check(scene: DrivingScene, truth: Truth) -> Verdict:
    """Drive every action through a scene and compare with a truth."""
    world = scene.world()
    line = red_line(scene, world)
    around = boxes(world)
    outcomes = {action: drive(around, world.camera, action, line) for action in BRAKE_INTENSITY}
    rule, accepted = _judge(outcomes, world)
    problems = []
    if truth.accepted != accepted:
        problems.append(
            f"accepted: truth {', '.join(sorted(truth.accepted))}; "
            f"simulation {', '.join(sorted(accepted))}"
        )
    if truth.expected not in accepted:
        problems.append(f"expected: truth {truth.expected}, which the simulation rejects")
    if truth.rule != rule:
        problems.append(f"rule: truth {truth.rule}, simulation {rule}")
    struck = outcomes["continue"].struck
    if struck and not (len(truth.deciding) == 1 and truth.deciding[0] in struck):
        problems.append(
            f"deciding: truth {', '.join(truth.deciding) or 'nothing'}, "
            f"continue hits {', '.join(struck)}"
        )
    if struck:
        rolled = outcomes["continue"].travelled
        recorded = scene.in_lane[0][0] if scene.in_lane else np.inf
        if abs(recorded - rolled) > GAP_TOLERANCE:
            problems.append(f"gap: recorded {recorded:.2f} m, continue rolls {rolled:.2f} m")
    return Verdict(outcomes, accepted, rule, tuple(problems))


def _judge(outcomes: Mapping[str, Outcome], world: World) -> tuple[str, frozenset[str]]:
    """Return the rule and the accepted actions that the outcomes stand for."""
    if outcomes["continue"].struck:
        unhurt = [action for action in BRAKE_INTENSITY if not outcomes[action].struck]
        best = unhurt[0] if unhurt else min(outcomes, key=lambda a: outcomes[a].impact_speed)
        return ("A1" if outcomes["slow_down"].struck else "A2"), frozenset({best})
    lawful = [action for action in BRAKE_INTENSITY if not outcomes[action].ran_red]
    if "continue" not in lawful:
        return "A3", frozenset(lawful)
    sky = world.atmosphere
    if sky.rain > 0.5 or sky.fog * SIGHT > 3.9:
        return "A4", frozenset({"slow_down"})
    return "A5", frozenset({"continue"})


def sample_scenes(
    domain: DrivingDomain, count: int, seed: int
) -> Iterator[tuple[frozenset[str], DrivingScene]]:
    """Yield (concept set, scene) pairs that bring every rule to the test.

    Every other set is drawn from all valid ones, the rest from those that leave the lane free:
    four of five valid sets call for a stop (A1), and A3 to A5 would hardly occur.

    Args:
        domain: The domain.
        count: Scenes to yield; sets whose scene cannot be placed are skipped.
        seed: Seed of sets and scenes.
    """
    rng = np.random.default_rng(seed)
    chosen = domain.catalogue.concepts
    kinds = {
        role: [i for i, concept in enumerate(chosen) if concept.role == role]
        for role in ("obstacle", "movable")
    }
    sidewalk = [i for i, concept in enumerate(chosen) if concept.place == "sidewalk"]
    rows = domain.space.valid_sets()
    if rows is None:
        raise SceneError("the catalogue has too many valid sets to draw from")
    movable = rows[:, kinds["movable"]].sum(axis=1)
    moved = rows[:, sidewalk].any(axis=1)
    free = ~rows[:, kinds["obstacle"]].any(axis=1) & ((movable == 0) | ((movable == 1) & moved))
    pools = [np.flatnonzero(np.ones(len(rows), dtype=bool)), np.flatnonzero(free)]
    sizes = rows.sum(axis=1)
    done = 0
    while done < count:
        pool = pools[done % 2]
        size = int(rng.integers(1, domain.space.max_size + 1))
        sized = pool[sizes[pool] == size]
        if not len(sized):
            continue
        candidate = domain.space.from_multi_hot(rows[sized[int(rng.integers(len(sized)))]])
        try:
            scene = domain.sample_scene(candidate, rng)
        except SceneError:
            continue
        done += 1
        yield candidate, scene
