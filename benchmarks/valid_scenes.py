"""How often a valid concept set gives a valid scene, rendering included, by set size.

    python -m vlmfail.benchmarks.valid_scenes [--env VLMFail-Driving-v0] [--sets 200] [--seed 0]
                                              [--processes 2] [--json]

A scene is invalid (driving: rule D8) when its things find no place without overlap or when what
decides the answer cannot be seen in the picture. An *attempt* is one sampled and rendered scene; a
*trial* draws up to `Domain.attempts` of them; a set is *infeasible* when none of `TRIALS` trials is
valid. Sets are drawn uniformly among the valid sets of a size; attempts are the first of each set's
first trial, so that hard sets weigh no more than others. *Seen* is the share of the named things in
valid pictures, deciding or not, that show the pixels asked of a deciding one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..core import Renderer, Rendering, SceneError, Truth
from ..core.statistics import wilson_interval
from ..envs.driving.domain import LAMP_PIXELS, OBJECT_PIXELS
from ..envs.indoor.domain import pixels_needed
from ..envs.registry import make_domain
from ..envs.trials import PreparedTrial, prepare_trial
from ..runs.executors import Executor, ProcessExecutor, SerialExecutor

TRIALS = 5
"""Trials without a valid scene that call a set infeasible."""

TARGET = 0.9
"""Share of scenes (attempts) that is to be valid at every size."""

Job = tuple[frozenset[str], int]


DRIVING, INDOOR = "VLMFail-Driving-v0", "VLMFail-Indoor-v0"


class WatchedDomain:
    """A domain, keeping why each attempt was invalid (an empty text: it was valid)."""

    def __init__(self, env: str) -> None:
        """Watch the domain of an env."""
        self.domain: Any = make_domain(env)
        self.reasons: list[str] = []

    def __getattr__(self, name: str) -> Any:
        """Return the domain's own."""
        return getattr(self.__dict__["domain"], name)

    def sample_scene(self, candidate: frozenset[str], rng: np.random.Generator) -> Any:
        """Sample a scene; keeps what found no place."""
        try:
            return self.domain.sample_scene(candidate, rng)
        except SceneError as error:
            self.reasons.append(f"no place: {str(error).split()[0]}")
            raise

    def unseen(self, scene: Any, truth: Truth, rendering: Rendering) -> str | None:
        """Return what the domain does; keeps which thing is not seen and in which weather."""
        problem: str | None = self.domain.unseen(scene, truth, rendering)
        reason = "" if problem is None else f"unseen: {problem.split()[0]}"
        weather = getattr(scene, "weather", None)
        if problem is not None and weather is not None:
            reason += f" in {weather.removeprefix('weather_')}"
        self.reasons.append(reason)
        return problem


@dataclass(frozen=True, slots=True)
class SetResult:
    """What happened to one set.

    Attributes:
        size: Concepts in the set.
        attempt: Whether the first attempt was valid.
        trial: Whether the first trial was valid.
        feasible: Whether any of the first `TRIALS` trials was valid.
        reasons: Why attempts were invalid, first trial.
        named: Named things in the first trial's picture.
        seen: How many of them show enough pixels.
        seconds: Of the first trial, s.
    """

    size: int
    attempt: bool
    trial: bool
    feasible: bool
    reasons: tuple[str, ...] = ()
    named: int = 0
    seen: int = 0
    seconds: float = 0.0


class Worker:
    """Tries one set; one renderer and domain a process."""

    def __init__(self, renderer: Renderer | None = None, env: str = DRIVING) -> None:
        """Take the built-in renderer, or another one."""
        self.domain: Any = WatchedDomain(env)
        self.renderer = renderer or self.domain.make_renderer("embree")

    def __call__(self, job: Job) -> SetResult:
        """Run the first trial of a set, and more only if it is invalid."""
        candidate, seed = job
        domain = self.domain
        domain.reasons.clear()
        first = prepare_trial(domain, self.renderer, candidate, 0, seed)
        reasons = tuple(reason for reason in domain.reasons if reason)
        attempt = not domain.reasons[0]
        trial = first.picture is not None
        feasible = trial or any(
            prepare_trial(domain, self.renderer, candidate, index, seed).picture is not None
            for index in range(1, TRIALS)
        )
        named, seen = _seen(first)
        size = len(candidate)
        return SetResult(size, attempt, trial, feasible, reasons, named, seen, first.seconds)


def _seen(prepared: PreparedTrial) -> tuple[int, int]:
    """Return how many things a picture names and how many of them show enough pixels."""
    visible = prepared.scene.get("visible_pixels") or {}
    signal = (prepared.scene.get("signal") or {}).get("name")
    if "match" in prepared.scene:  # a kitchen
        needed: Mapping[str, int] = {name: pixels_needed(name) for name in visible}
    else:
        needed = {name: LAMP_PIXELS if name == signal else OBJECT_PIXELS for name in visible}
    return len(visible), sum(visible[name] >= needed[name] for name in visible)


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n`, with its Wilson 95 % interval."""

    count: int
    n: int
    share: float = field(init=False)
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        """Compute share and interval."""
        low, high = wilson_interval(self.count, self.n)
        for name, value in (("share", self.count / max(self.n, 1)), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Row:
    """The sets of one size.

    Attributes:
        size: Concepts a set.
        sets: Sets drawn.
        attempts: Valid first attempts.
        trials: Valid first trials.
        infeasible: Sets without a valid scene in `TRIALS` trials.
        seen: Named things that can be seen, of all in valid pictures.
        reasons: Invalid attempts by reason, most frequent first.
        seconds: Median time of a trial, s.
    """

    size: int
    sets: int
    attempts: Share
    trials: Share
    infeasible: Share
    seen: Share
    reasons: tuple[tuple[str, int], ...]
    seconds: float

    @classmethod
    def of(cls, results: Sequence[SetResult]) -> Row:
        """Summarise the results of one size."""
        n = len(results)
        reasons = Counter(reason for result in results for reason in result.reasons)
        ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        return cls(
            results[0].size,
            n,
            Share(sum(result.attempt for result in results), n),
            Share(sum(result.trial for result in results), n),
            Share(sum(not result.feasible for result in results), n),
            Share(sum(r.seen for r in results), sum(r.named for r in results)),
            tuple(ordered),
            float(np.median([result.seconds for result in results])),
        )


def draw_sets(
    sets: int, seed: int, sizes: Sequence[int], env: str = DRIVING
) -> list[frozenset[str]]:
    """Draw `sets` valid sets of each size, uniformly with replacement."""
    space: Any = make_domain(env).space
    rows = space.valid_sets()
    if rows is None:
        raise RuntimeError("the spaces of both domains can be enumerated")
    counts = rows.sum(axis=1)
    drawn: list[frozenset[str]] = []
    for size in sizes:
        rng = np.random.default_rng((seed, size))
        at = np.flatnonzero(counts == size)
        drawn.extend(space.from_multi_hot(rows[i]) for i in rng.choice(at, size=sets))
    return drawn


def measure(
    sets: int = 200,
    seed: int = 0,
    processes: int = 1,
    sizes: Sequence[int] = (1, 2, 3, 4, 5),
    renderer: Renderer | None = None,
    env: str = DRIVING,
) -> list[Row]:
    """Try `sets` sets of each size.

    Args:
        sets: Sets a size.
        seed: Of the drawn sets and of their trials.
        processes: Worker processes; they change the speed alone.
        sizes: Set sizes.
        renderer: In place of the built-in one.
        env: Whose sets and scenes.
    """
    # One number a draw: the same set drawn twice gets two scenes.
    jobs = [(one, seed + i) for i, one in enumerate(draw_sets(sets, seed, sizes, env))]
    build = partial(Worker, renderer, env)
    executor: Executor[Job, SetResult]
    executor = ProcessExecutor(build, processes) if processes > 1 else SerialExecutor(build)
    try:
        results = dict(executor.run(jobs))
    finally:
        executor.close()
    return [
        Row.of([results[i] for i in range(k * sets, (k + 1) * sets)]) for k in range(len(sizes))
    ]


def print_table(rows: Sequence[Row], minutes: float) -> None:
    """Print the figures as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"Valid scenes by set size, {rows[0].sets} sets a size",
        caption=f"shares with Wilson 95 % intervals; target: attempts ≥ {TARGET:g} at every size; "
        f"{minutes:.1f} min",
    )
    columns = ("attempts valid", "trials valid", "sets infeasible", "things seen", "s a trial")
    for column in ("size", *columns):
        table.add_column(column, justify="right")
    for row in rows:
        shares = (row.attempts, row.trials, row.infeasible, row.seen)
        cells = (f"{one.share:.3f}\n{one.low:.2f}-{one.high:.2f}" for one in shares)
        table.add_row(str(row.size), *cells, f"{row.seconds:.2f}")
    console = Console()
    console.print(table)
    for row in rows:
        if row.reasons:
            reasons = ", ".join(f"{reason} ({count})" for reason, count in row.reasons[:5])
            console.print(f"size {row.size}, invalid attempts: {reasons}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see the module's text."""
    parser = argparse.ArgumentParser(prog="valid_scenes", description=__doc__)
    parser.add_argument("--env", choices=(DRIVING, INDOOR), default=DRIVING)
    parser.add_argument("--sets", type=int, default=200, help="sets a size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    started = time.perf_counter()
    rows = measure(args.sets, args.seed, args.processes, args.sizes, env=args.env)
    if args.json:
        document: dict[str, Any] = {
            "target": TARGET,
            "trials_a_set": TRIALS,
            "env": args.env,
            "seed": args.seed,
            "sizes": [asdict(row) for row in rows],
        }
        print(json.dumps(document, allow_nan=False))
    else:
        print_table(rows, (time.perf_counter() - started) / 60.0)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
