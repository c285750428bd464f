"""Held-out figures of the built-in policy and its model card, measured through the package."""

from __future__ import annotations

import functools
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tiny_vla_episodes import scenes
from tiny_vla_recipe import RECIPE, SceneSet

from vlmfail.core import wilson_interval
from vlmfail.envs.pickup.episode import run_episode
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.reasons import REASONS
from vlmfail.envs.pickup.scene import ROBOT, PickUpScene
from vlmfail.envs.pickup.worlds.mujoco_world import MujocoWorld
from vlmfail.models.policies.tiny_vla import TinyVLA
from vlmfail.runs.executors import ProcessExecutor

CARDS = Path(__file__).parent / "cards"

DISTANCES = (0.0, 0.5, 0.6, 0.7, 0.8, 1.0)
"""Bins of the distance between the robot's base and the target, seen from above, m."""

TURNS = (0, 30, 60, 90)
"""Bins of how far the hand must turn from its start to close on a lying target, degrees."""


@dataclass(frozen=True)
class Result:
    """What came of one episode."""

    once: bool
    end: bool
    reason: str
    steps: int | None


def build(weights: Path, steps: int) -> Callable[[PickUpScene], Result]:
    """Return the work of a process: one episode."""
    world, policy = MujocoWorld(), TinyVLA(weights)

    def work(scene: PickUpScene) -> Result:
        episode = run_episode(world, policy, scene, max_steps=steps)
        if episode.error is not None:
            raise SystemExit(f"an episode was broken off: {episode.note}")
        first = next((i for i, state in enumerate(episode.states) if i and state.success), None)
        reason = "" if episode.success_once else episode.reason
        return Result(episode.success_once, episode.success_at_end, reason, first)

    return work


def measure(weights: Path, wanted: SceneSet, processes: int, steps: int = 80) -> dict[str, Any]:
    """Return the figures of a set of scenes as JSON values: shares with n and Wilson 95 %."""
    drawn = scenes(wanted)
    executor: ProcessExecutor[PickUpScene, Result] = ProcessExecutor(
        functools.partial(build, weights, steps), processes
    )
    results: list[Result | None] = [None] * len(drawn)
    try:
        for number, result in executor.run(drawn):
            results[number] = result
    finally:
        executor.close()
    return figures(drawn, [result for result in results if result is not None])


def figures(drawn: Sequence[PickUpScene], results: Sequence[Result]) -> dict[str, Any]:
    """Return the figures of episodes."""
    once = np.array([result.once for result in results])
    tables = {
        "Object": shares([[scene.target.object] for scene in drawn], once),
        "Put down": shares([[put_down(scene)] for scene in drawn], once),
        "Object and how it was put down": shares(
            [[f"{scene.target.object}, {put_down(scene)}"] for scene in drawn], once
        ),
        "Distance from the robot": shares([[distance(scene)] for scene in drawn], once),
        "Turn of the hand, lying": shares([turn(scene) for scene in drawn], once),
    }
    reasons = Counter(result.reason for result in results if not result.once)
    steps = [result.steps for result in results if result.steps is not None]
    names = [one.id for one in objects().objects]
    return {
        "scenes": len(drawn),
        "once": share(once),
        "end": share(np.array([result.end for result in results])),
        "steps": {str(q): int(np.percentile(steps, q)) for q in (50, 95)} if steps else {},
        "reasons": {name: reasons[name] for name in REASONS},
        "reasons_by_object": {
            name: {
                reason: sum(
                    result.reason == reason and scene.target.object == name
                    for scene, result in zip(drawn, results, strict=True)
                )
                for reason in REASONS
            }
            for name in names
        },
        "tables": tables,
    }


def put_down(scene: PickUpScene) -> str:
    """Return how the target was let go of; a thing may fall over before the episode begins."""
    return "standing" if scene.target.standing else "lying"


def distance(scene: PickUpScene) -> str:
    """Return the bin of the target's distance."""
    away = math.dist((scene.target.x, scene.target.y), ROBOT)
    low = max(edge for edge in DISTANCES if edge <= away)
    return f"{low:.1f} to {DISTANCES[DISTANCES.index(low) + 1]:.1f} m"


def turn(scene: PickUpScene) -> list[str]:
    """Return the bin of the turn by which the fingers of a hand that closes along y close across a
    lying target.
    """
    if scene.target.standing:
        return []
    degrees = math.degrees(math.acos(min(1.0, abs(math.cos(scene.target.yaw)))))
    low = max(edge for edge in TURNS[:-1] if edge <= degrees)
    return [f"{low} to {TURNS[TURNS.index(low) + 1]}°"]


def shares(names: Sequence[Iterable[str]], right: np.ndarray) -> dict[str, Any]:
    """Return the share of successes by group; scene `i` belongs to the groups `names[i]`."""
    groups: dict[str, list[int]] = {}
    for i, mine in enumerate(names):
        for name in mine:
            groups.setdefault(name, []).append(i)
    return {name: share(right[groups[name]]) for name in sorted(groups)}


def share(right: np.ndarray) -> dict[str, Any]:
    """Return share, n and Wilson 95 % interval."""
    hits, n = int(right.sum()), len(right)
    low, high = wilson_interval(hits, n)
    return {"share": round(hits / n, 3), "n": n, "interval": [round(low, 3), round(high, 3)]}


def speed(weights: Path, repeats: int = 300) -> dict[str, Any]:
    """Return milliseconds an act takes on one thread: of the core's time, and by the clock."""
    rng, policy = np.random.default_rng(0), TinyVLA(weights)
    width, height = RECIPE.size
    seen = {
        "image": rng.integers(0, 256, (height, width, 3), dtype=np.uint8),
        "state": np.array([0.33, 0.0, 1.16, 0.0, 0.0, 1.0, 0.0, 0.09], np.float32),
        "instruction": "pick apple",
    }
    spent: dict[str, list[float]] = {"wall": [], "cpu": []}
    clocks = {"wall": time.perf_counter, "cpu": time.thread_time}
    for _ in range(repeats + 20):
        start = {name: clock() for name, clock in clocks.items()}
        policy.act(seen)
        for name, clock in clocks.items():
            spent[name].append(1000 * (clock() - start[name]))
    return {
        "acts": repeats,
        **{
            f"{name}_p{percent}_ms": round(float(np.percentile(values[20:], percent)), 2)
            for name, values in spent.items()
            for percent in (50, 95)
        },
    }


def card(facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """Return the model card in Markdown.

    Args:
        facts: What the file beside the weights says.
        figures: Figures by held-out set (`measure`), ``speed``, and ``curve`` where it was drawn.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(CARDS),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = environment.get_template("tiny-vla.md.jinja").render(
        facts=facts, figures=figures, recipe=asdict(RECIPE), reasons=REASONS
    )
    return re.sub(r"\n{3,}", "\n\n", text)
