"""What a picture costs: one process, then several.

    python -m vlmfail.benchmarks.frame_time [--env VLMFail-Driving-v0] [--frames 200] [--seed 0]
                                            [--processes 2] [--json]

A frame is one attempt of a trial: sampling the scene, building its world, drawing it at 512 x 384,
measuring what is visible in it, encoding the PNG. Sets are drawn as `random` draws them. Of the
pick-up world it is what a policy sees once: 160 x 128 pixels, with up to three distractors. Every
process draws frames first, and meets every backdrop, so that those, the kernels and most meshes are
in memory. The speed-up is the rate of several processes over that of one, on the same frames.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product

import numpy as np

from ..core import SceneError
from ..envs.registry import make_domain
from ..rendering.bodies import backdrop_body
from ..rendering.embree import ROOM_REACH
from ..runs.executors import ProcessExecutor

PICK_UP = "VLMFail-PickUp-v0"

TARGETS = {"VLMFail-Driving-v0": 0.25, "VLMFail-Indoor-v0": 0.50, PICK_UP: 0.030}
"""Median seconds a frame is to take on one core, by environment."""

TARGET_SPEED_UP = 1.7
"""Of two processes."""

WARM = 36
"""Frames that each process draws first at least."""


@dataclass(frozen=True, slots=True)
class FrameTime:
    """Seconds a frame.

    Attributes:
        processes: How many drew at once.
        frames: How many were drawn in all.
        median: Of a frame, s.
        p95: 95th percentile, s.
        rate: Frames a second, all processes together.
    """

    processes: int
    frames: int
    median: float
    p95: float
    rate: float


def meet_backdrops(env: str) -> None:
    """Have the bodies of all of an environment's backdrops in memory."""
    if env == PICK_UP:
        return  # it has one, met with the first frame
    if env == "VLMFail-Indoor-v0":
        from ..envs.indoor import room
        from ..envs.indoor.layout import RUNS, layout

        for number, mirrored in product(range(len(RUNS)), (False, True)):
            for palette in range(len(room.PALETTES)):
                inside = room.backdrop(layout(number, mirrored), palette)
                backdrop_body(inside.key, inside.mesh, ROOM_REACH)
    else:
        from ..envs.driving.town import BACKDROPS, TOWNS, backdrop

        for town, variant in product(TOWNS, range(BACKDROPS)):
            street = backdrop(town, variant)
            backdrop_body(street.key, street.mesh)


def build(env: str, warm: int) -> Callable[[tuple[int, int]], tuple[float, list[float]]]:
    """Return the work of a process: (seed, frames) → (when it began to count, seconds a frame).

    Args:
        env: Id of an environment.
        warm: Frames to draw first; of more than one, all backdrops are met too.
    """
    frame = looks() if env == PICK_UP else attempts(env)

    def work(job: tuple[int, int]) -> tuple[float, list[float]]:
        seed, frames = job
        if warm > 1:
            meet_backdrops(env)
        warming = np.random.default_rng([seed, 1])
        for _ in range(warm):
            frame(warming)
        start, rng = time.time(), np.random.default_rng(seed)
        return start, [frame(rng) for _ in range(frames)]

    return work


def attempts(env: str) -> Callable[[np.random.Generator], float]:
    """Return what draws a frame of a trial and says how many seconds it took."""
    domain = make_domain(env)
    renderer = domain.make_renderer("embree")

    def frame(rng: np.random.Generator) -> float:
        candidate = domain.space.sample(rng)
        while True:
            start = time.perf_counter()
            try:
                scene = domain.sample_scene(candidate, rng)
            except SceneError:
                continue
            renderer.render(scene)
            return time.perf_counter() - start

    return frame


def looks() -> Callable[[np.random.Generator], float]:
    """Return what shows a policy a settled pick-up scene and says how many seconds that took."""
    from ..envs.pickup.space import pickup_space, scene_of
    from ..envs.pickup.worlds.mujoco_world import MujocoWorld

    space = pickup_space(("distractors", "light", "camera"))
    world = MujocoWorld()

    def frame(rng: np.random.Generator) -> float:
        while True:
            try:
                world.start(scene_of(space, space.sample(rng)))
            except SceneError:
                continue
            start = time.perf_counter()
            world.observe()
            return time.perf_counter() - start

    return frame


def measure(env: str, frames: int, seed: int, processes: int) -> FrameTime:
    """Draw `frames` frames in each of `processes` processes at once."""
    executor: ProcessExecutor[tuple[int, int], tuple[float, list[float]]] = ProcessExecutor(
        partial(build, env, WARM), processes
    )
    try:
        # The same frames in each: only the company differs.
        results = [result for _, result in executor.run([(seed, frames)] * processes)]
    finally:
        executor.close()
    seconds = np.array([times for _, times in results])
    # Warming takes each process about as long; only the time that all of them drew counts.
    first, last = max(start for start, _ in results), min(s + sum(t) for s, t in results)
    ends = [start + np.cumsum(times) for start, times in results]
    inside = sum(int(((end > first) & (end <= last)).sum()) for end in ends)
    rate = inside / (last - first)
    return FrameTime(
        processes,
        seconds.size,
        float(np.median(seconds)),
        float(np.percentile(seconds, 95)),
        float(rate),
    )


def table(env: str, results: Sequence[FrameTime]) -> None:
    """Print the figures."""
    from rich.console import Console
    from rich.table import Table

    size = "160 x 128" if env == PICK_UP else "512 x 384"
    shown = Table(title=f"A picture of {env}, {size}")
    for name in ("processes", "frames", "median, s", "95th percentile, s", "frames a second"):
        shown.add_column(name, justify="right")
    for result in results:
        shown.add_row(
            str(result.processes),
            str(result.frames),
            f"{result.median:.4f}" if env == PICK_UP else f"{result.median:.3f}",
            f"{result.p95:.4f}" if env == PICK_UP else f"{result.p95:.3f}",
            f"{result.rate:.2f}",
        )
    console = Console()
    console.print(shown)
    one, many = results
    console.print(
        f"median on one core {one.median:.3f} s (target {TARGETS[env]} s); speed-up of "
        f"{many.processes} processes {many.rate / one.rate:.2f} (target {TARGET_SPEED_UP} of 2)"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", choices=sorted(TARGETS), default="VLMFail-Driving-v0")
    parser.add_argument("--frames", type=int, default=200, help="frames in each process")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args(argv)
    if args.frames < 1 or args.processes < 2:
        parser.error("--frames takes 1 or more, --processes 2 or more")
    results = [measure(args.env, args.frames, args.seed, count) for count in (1, args.processes)]
    if args.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    else:
        table(args.env, results)


if __name__ == "__main__":
    main()
