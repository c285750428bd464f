"""What a pick-up episode costs: start, actions, a policy's pictures and one for people.

    python -m vlmfail.benchmarks.episode_time [--world mujoco] [--episodes 21] [--seed 0]
                                              [--distractors 0] [--no-pictures] [--json]

The scripted expert picks up every object in turn, in one process; each episode is carried on to
80 steps. The time with pictures asks for one with every chunk of actions, and after each episode
for one of 512 x 384. The first picture of the process is told apart: shaders or kernels may be
compiled for it. The engines: docs/engines.md.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..core import SceneError, VLMFailError
from ..envs.pickup.objects import objects
from ..envs.pickup.scene import PickUpScene, Pose
from ..envs.pickup.worlds.mujoco_model import TIMESTEP
from ..envs.pickup.worlds.registry import make_world
from ..envs.pickup.worlds.world import F32, State
from ..models.policies.scripted import Scripted

STEPS = 80
"""Actions in an episode."""

TARGETS = {"episode": 0.4, "picture": 0.030, "physics_step": 0.005}
"""Seconds that an episode without pictures, a picture and a physics step are to take at most, in
the embedded engine.
"""

WORLDS = ("mujoco", "maniskill")

SEEN = (160, 128)
"""Size of what a policy sees."""


@dataclass(frozen=True, slots=True)
class EpisodeTime:
    """Seconds, medians.

    Attributes:
        world: Which engine.
        episodes: How many were played.
        successes: In how many the expert raised the target.
        start: Setting a scene up and letting it settle, s.
        action: Carrying out one action, s.
        episode: 80 steps without pictures, start included, s.
        slowest: The slowest of them, s.
        first_picture: The first picture of the process, s; None where none was asked for.
        picture: One picture of 160 x 128 afterwards, s.
        shown: One picture of 512 x 384, s.
        physics_step: Step of the engine, s; None where it is not ours to choose.
    """

    world: str
    episodes: int
    successes: int
    start: float
    action: float
    episode: float
    slowest: float
    first_picture: float | None
    picture: float | None
    shown: float | None
    physics_step: float | None


def scenes(count: int, seed: int, distractors: int = 0) -> list[PickUpScene]:
    """Return random scenes, the objects in turn; some may turn out to be invalid."""
    rng = np.random.default_rng(seed)
    names = [one.id for one in objects().objects]

    def pose(name: str) -> Pose:
        x, y = rng.uniform(-0.5, -0.05), rng.uniform(0.0, 0.4)
        yaw = rng.uniform(-math.pi, math.pi)
        return Pose(name, float(x), float(y), bool(rng.random() < 0.5), float(yaw))

    found = []
    for number in range(count):
        name = names[number % len(names)]
        rest = [other for other in names if other != name]
        others = rng.choice(rest, size=distractors, replace=False).tolist()
        title = objects().of(name).title
        found.append(PickUpScene(pose(name), f"pick {title}", tuple(pose(one) for one in others)))
    return found


def measure(
    count: int, seed: int, distractors: int, pictures: bool, world_name: str = "mujoco"
) -> EpisodeTime:
    """Play episodes and return what they took."""
    world, policy = make_world(world_name, SEEN if pictures else None), Scripted()
    starts: list[float] = []
    actions: list[float] = []
    episodes: list[float] = []
    seen: list[float] = []
    shown: list[float] = []
    successes = 0

    def timed(call: Callable[[], object], into: list[float]) -> float:
        before = time.perf_counter()
        call()
        into.append(time.perf_counter() - before)
        return into[-1]

    for scene in scenes(count, seed, distractors):
        began = time.perf_counter()
        try:
            state = world.start(scene)
        except SceneError:
            continue
        starts.append(time.perf_counter() - began)
        drawing, success = 0.0, False
        policy.reset(scene.instruction)
        done = 0
        while done < STEPS:
            if pictures:
                drawing += timed(world.observe, seen)
            for action in _chunk(policy, state, STEPS - done):
                before = time.perf_counter()
                state = world.step(action)
                actions.append(time.perf_counter() - before)
                success = success or state.success
                done += 1
        episodes.append(time.perf_counter() - began - drawing)
        successes += success
        if pictures:
            timed(world.picture, shown)
    world.close()
    if not episodes:
        raise SystemExit(f"none of {count} random scenes had a valid start: --episodes takes more")
    return EpisodeTime(
        world_name,
        len(episodes),
        successes,
        float(np.median(starts)),
        float(np.median(actions)),
        float(np.median(episodes)),
        float(np.max(episodes)),
        seen[0] if seen else None,
        float(np.median(seen[1:])) if seen else None,
        float(np.median(shown)) if shown else None,
        TIMESTEP if world_name == "mujoco" else None,
    )


def _chunk(policy: Scripted, state: State, left: int) -> list[F32]:
    return list(policy.act({"world": state})[:left])


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", choices=WORLDS, default="mujoco")
    parser.add_argument("--episodes", type=int, default=21)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--distractors", type=int, default=0, help="other objects, up to 3")
    parser.add_argument("--no-pictures", action="store_true", help="time the physics alone")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args(argv)
    if args.episodes < 1 or not 0 <= args.distractors <= 3:
        parser.error("--episodes takes 1 or more, --distractors 0 to 3")
    try:
        found = measure(
            args.episodes, args.seed, args.distractors, not args.no_pictures, args.world
        )
    except VLMFailError as error:  # no ManiSkill, no Vulkan device
        raise SystemExit(str(error)) from None
    if args.json:
        print(json.dumps(asdict(found), indent=1))
        return
    print(
        f"{found.world}: {found.episodes} episodes of {STEPS} steps, {found.successes} successes: "
        f"start {found.start:.3f} s, action {found.action:.4f} s, episode {found.episode:.3f} s"
        f"{_target(found, 'episode')}, slowest {found.slowest:.3f} s"
    )
    if found.picture is not None:
        print(
            f"picture of 160 x 128: {found.picture:.4f} s{_target(found, 'picture')}, of 512 x 384 "
            f"{found.shown:.3f} s, the first {found.first_picture:.1f} s"
        )
    if found.physics_step is not None:
        print(f"physics step: {found.physics_step} s{_target(found, 'physics_step')}")


def _target(found: EpisodeTime, name: str) -> str:
    return f" (target {TARGETS[name]} s)" if found.world == "mujoco" else ""


if __name__ == "__main__":
    main()
