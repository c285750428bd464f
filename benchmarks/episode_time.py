"""What a pick-up episode costs: the physics alone, with a policy's pictures, and a picture.

    python -m vlmfail.benchmarks.episode_time [--episodes 21] [--seed 0] [--distractors 0]
                                              [--no-pictures] [--json]

The scripted expert picks up every object in turn, in one process; each episode is carried on to
80 steps. The time with pictures asks for one with every chunk of actions.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..core import SceneError
from ..envs.pickup.objects import objects
from ..envs.pickup.scene import PickUpScene, Pose
from ..envs.pickup.worlds.mujoco_model import TIMESTEP
from ..envs.pickup.worlds.mujoco_world import MujocoWorld
from ..envs.pickup.worlds.world import F32, State
from ..models.policies.scripted import Scripted

STEPS = 80
"""Actions in an episode."""

TARGETS = {"episode": 0.4, "picture": 0.030, "physics_step": 0.005}
"""Seconds that an episode without pictures, a picture and a physics step are to take at most."""


@dataclass(frozen=True, slots=True)
class EpisodeTime:
    """Seconds, medians over episodes.

    Attributes:
        episodes: How many were played.
        successes: In how many the expert raised the target.
        start: Setting a scene up and letting it settle, s.
        episode: 80 steps without pictures, start included, s.
        slowest: The slowest of them, s.
        picture: One picture of 160 x 128, s; None where none was asked for.
        physics_step: Step of the engine, s.
    """

    episodes: int
    successes: int
    start: float
    episode: float
    slowest: float
    picture: float | None
    physics_step: float = TIMESTEP


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


def measure(count: int, seed: int, distractors: int, pictures: bool) -> EpisodeTime:
    """Play episodes and return what they took."""
    world, policy = MujocoWorld(), Scripted()
    starts, episodes, seen = [], [], []
    successes = 0
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
                before = time.perf_counter()
                world.observe()
                seen.append(time.perf_counter() - before)
                drawing += seen[-1]
            for action in _chunk(policy, state, STEPS - done):
                state = world.step(action)
                success = success or state.success
                done += 1
        episodes.append(time.perf_counter() - began - drawing)
        successes += success
    return EpisodeTime(
        len(episodes),
        successes,
        float(np.median(starts)),
        float(np.median(episodes)),
        float(np.max(episodes)),
        float(np.median(seen)) if seen else None,
    )


def _chunk(policy: Scripted, state: State, left: int) -> list[F32]:
    return list(policy.act({"world": state})[:left])


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=21)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--distractors", type=int, default=0, help="other objects, up to 3")
    parser.add_argument("--no-pictures", action="store_true", help="time the physics alone")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args(argv)
    if args.episodes < 1 or not 0 <= args.distractors <= 3:
        parser.error("--episodes takes 1 or more, --distractors 0 to 3")
    found = measure(args.episodes, args.seed, args.distractors, not args.no_pictures)
    if args.json:
        print(json.dumps(asdict(found), indent=1))
        return
    print(
        f"{found.episodes} episodes of {STEPS} steps, {found.successes} successes: start "
        f"{found.start:.3f} s, episode {found.episode:.3f} s (target {TARGETS['episode']} s), "
        f"slowest {found.slowest:.3f} s"
    )
    if found.picture is not None:
        print(f"picture of 160 x 128: {found.picture:.4f} s (target {TARGETS['picture']} s)")
    step, most = 1000 * found.physics_step, 1000 * TARGETS["physics_step"]
    print(f"physics step: {step:.2f} ms (target {most:.0f} ms)")


if __name__ == "__main__":
    main()
