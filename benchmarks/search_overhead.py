"""What searching costs beside rendering and the model, per evaluated candidate.

    python -m vlmfail.benchmarks.search_overhead [--sets 200] [--seeds 3] [--json]
    python -m vlmfail.benchmarks.search_overhead --space factors

Two figures a searcher, on the driving space: the searcher alone (`bind`, `ask`, `tell` on an
instant simulated model), and the whole search as a user runs it (`vlmfail.search` into a run
folder), less the seconds that its trials spent on sampling, rendering and in the model: judging,
budget, store and pictures on disk included. Beside them, in the same run and on the same data,
what one refit of scikit-learn's `GaussianProcessRegressor(DotProduct() + WhiteKernel())` and its
prediction for all valid sets take: a straightforward Algorithm 2 (Revelio) needs that once a
batch.

Searchers over scene vectors are measured on a space of the pick-up domain's shape, one scene a
batch, so that the surrogate is refitted for every scene: the searcher alone over the whole search,
and its last tenth, where the surrogate is largest, in CPU time.

With ``--space factors`` every searcher is measured over 46 656 candidates instead, an iteration at
a time: see `factor_overhead`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..core import Picture, Reply
from ..envs.concept_sets import ConceptSetSpace
from ..envs.driving.catalogue import catalogue
from ..envs.driving.rules import rules
from ..envs.failure_env import FailureEnv
from ..envs.options import EnvOptions
from ..envs.vector_space import Dimension, VectorSpace
from ..searchers import make_searcher, searcher_names
from ..searchers._kinds import KINDS
from ..testing.simulated import AdditiveRates, Drive, SimulatedTrials
from ..testing.toy import ToyDomain
from .factor_overhead import measure_factors, print_factors
from .overhead_table import Overhead, machine, print_table

#: Milliseconds a set that the built-in searchers of concept sets are to stay below.
TARGET_MS = 5.0
#: Milliseconds a scene that those of scene vectors are to stay below at 200 scenes, refit included.
VECTOR_TARGET_MS = 60.0
OF = "Search overhead per evaluated"
REFERENCE = "scikit-learn, one refit + predict"


def fresh_space() -> ConceptSetSpace:
    """Return the driving space anew: the enumeration of its sets belongs to the cost."""
    return rules().space(catalogue())


def searcher_run(name: str, sets: int, seed: int, trials: int = 5, batch: int = 8) -> Drive:
    """Search the driving space with an instant model; see `Drive.seconds`."""
    space = fresh_space()
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=seed), seed=seed)
    return Drive(
        make_searcher(name),
        space,
        evaluate,
        seed=seed,
        trials=trials,
        budget=sets * trials,
        batch=batch,
    )


def vector_space() -> VectorSpace:
    """Return a space of the pick-up domain's shape: object, position, orientation."""
    return VectorSpace(
        [
            Dimension("object", "choice", choices=tuple("abcdefg")),
            Dimension("x", "real"),
            Dimension("y", "real"),
            Dimension("standing", "flag"),
            Dimension("yaw", "angle", only_if=("standing", False)),
        ]
    )


def vector_run_ms(name: str, scenes: int, seed: int) -> tuple[float, float]:
    """Return what a searcher costs a scene over a search and in its last tenth, ms.

    CPU time: what it takes on a core of its own.
    """
    space = vector_space()
    rates = AdditiveRates(space, seed=seed, base=-1.5, scale=1.5)
    evaluate = SimulatedTrials(space, rates, seed=seed)
    agent = make_searcher(name)
    agent.bind(space, seed=seed, trials=1, budget=scenes)
    spent = []
    for _ in range(scenes):
        started = time.process_time()
        (candidate,) = agent.ask(1)
        seconds = time.process_time() - started
        evaluation = evaluate(candidate, 1)
        started = time.process_time()
        agent.tell([evaluation])
        spent.append(1000.0 * (seconds + time.process_time() - started))
    return float(np.mean(spent)), float(np.mean(spent[-max(1, scenes // 10) :]))


def measure_vectors(names: Sequence[str], scenes: int = 200, seeds: int = 3) -> list[Overhead]:
    """Measure searchers over scene vectors.

    Args:
        names: Registered searchers.
        scenes: Scenes a search evaluates.
        seeds: Searches a searcher.
    """
    rows = []
    for name in names:
        vector_run_ms(name, min(scenes, 20), 0)
        spent = [vector_run_ms(name, scenes, seed) for seed in range(seeds)]
        rows.append(Overhead.of(f"{name}, scene vectors", scenes, [one for one, _ in spent]))
        rows.append(Overhead.of(f"{name}, the last tenth", scenes, [late for _, late in spent]))
    return rows


class PaintedDomain(ToyDomain):
    """The driving space with flat pictures: everything of a search but the tracer."""

    name = "painted driving"

    def __init__(self) -> None:
        """Take the driving space anew."""
        super().__init__()
        self.space = fresh_space()


class RateModel:
    """Answers wrongly at the rates of a landscape; deterministic in (prompt, seed)."""

    name = "rates"

    def __init__(self, rate: Callable[[frozenset[str]], float]) -> None:
        """Keep the landscape."""
        self._rate = rate

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer with a letter."""
        lines = prompt.splitlines()
        concepts = json.loads(lines[0].removeprefix("Concepts: "))
        yes = bool(images[0].pixels[0, 0, 0])
        yes ^= np.random.default_rng(seed).random() < self._rate(frozenset(concepts))
        word = ") yes:" if yes else ") no:"
        letter = next(line[0] for line in lines if line[1:].startswith(word))
        return Reply(f"ANSWER: {letter}")


def whole_search_ms(name: str, sets: int, seed: int, trials: int = 5, batch: int = 8) -> float:
    """Return what a whole search costs beside rendering and the model, ms a set."""
    from .. import search

    domain = PaintedDomain()
    model = RateModel(AdditiveRates(domain.space, seed=seed))
    options = EnvOptions(model=model, trials=trials, budget=sets * trials)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = search(FailureEnv(domain, options), name, seed=seed, batch=batch, out=f"{folder}/run")
        seconds = time.perf_counter() - started
        spent = sum(r.seconds_render + r.seconds_model for r in run.records.values())
        count = len(run.evaluations)
        run.close()
    return 1000.0 * (seconds - spent) / count


def reference_ms(run: Drive) -> float:
    """Return the time of one scikit-learn refit and prediction over the data of `run`, ms."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import DotProduct, WhiteKernel

    space = fresh_space()
    rows = space.valid_sets()
    if rows is None:
        raise RuntimeError("the driving space can be enumerated")
    told = [one for one in run.evaluations if one.rate is not None]
    x = np.stack([space.encode(one.candidate) for one in told]).astype(float)
    y = np.array([one.rate for one in told], dtype=float)
    everything = rows.astype(float)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        process = GaussianProcessRegressor(DotProduct() + WhiteKernel()).fit(x, y)
    process.predict(everything)
    return 1000.0 * (time.perf_counter() - started)


def measure(
    names: Sequence[str], sets: int = 200, seeds: int = 3, batch: int = 8
) -> list[Overhead]:
    """Measure searchers, and scikit-learn on the last one's data.

    Args:
        names: Registered searchers.
        sets: Sets a search evaluates.
        seeds: Searches a searcher.
        batch: The n of `ask(n)`.
    """
    rows: list[Overhead] = []
    reference: list[float] = []
    # Imports and first-use costs of libraries are paid once a process, not once a set.
    for name in names:
        searcher_run(name, min(sets, 40), 0, batch=batch)
        whole_search_ms(name, min(sets, 40), 0, batch=batch)
    for name in names:
        runs = [searcher_run(name, sets, seed, batch=batch) for seed in range(seeds)]
        alone = [1000 * r.seconds / len(r.keys) for r in runs]
        rows.append(Overhead.of(f"{name}, the searcher alone", sets, alone))
        whole = [whole_search_ms(name, sets, seed, batch=batch) for seed in range(seeds)]
        rows.append(Overhead.of(f"{name}, the whole search", sets, whole))
        if name == names[-1]:
            reference = [reference_ms(run) for run in runs]
    rows.append(Overhead.of(REFERENCE, sets, reference))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see the module's text."""
    parser = argparse.ArgumentParser(prog="search_overhead", description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="evaluated candidates a search")
    parser.add_argument("--seeds", type=int, default=3, help="searches a searcher")
    parser.add_argument("--batch", type=int, default=8, help="the n of ask(n), concept sets")
    parser.add_argument(
        "--searchers", nargs="+", choices=searcher_names(), help="default: gpts; of factors, all"
    )
    parser.add_argument(
        "--space",
        choices=("own", "factors"),
        default="own",
        help="driving and pick-up, or 46 656 candidates: six factors of six levels",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    if args.space == "factors":
        return _factors(args)
    names = args.searchers or ["gpts"]
    vectors = [name for name in names if name not in KINDS["concept_set"][1]]
    sets = [name for name in names if name not in vectors]
    rows = measure(sets, args.sets, args.seeds, args.batch) if sets else []
    vector_rows = measure_vectors(vectors, args.sets, args.seeds)
    if args.json:
        document: dict[str, Any] = {
            "machine": machine(),
            "batch": args.batch,
            "target_ms": TARGET_MS,
            "milliseconds_per_set": [asdict(row) for row in rows],
            "vector_target_ms": VECTOR_TARGET_MS,
            "milliseconds_per_scene": [asdict(row) for row in vector_rows],
        }
        print(json.dumps(document, allow_nan=False))
        return 0
    if rows:
        title = f"{OF} set, driving space, m = 5, batch {args.batch}"
        print_table(rows, title, TARGET_MS)
    if vector_rows:
        print_table(vector_rows, f"{OF} scene, 5 dimensions, batch 1", VECTOR_TARGET_MS)
    return 0


def _factors(args: argparse.Namespace) -> int:
    """Measure and print the searchers over 46 656 candidates."""
    names = args.searchers or ()
    rows = measure_factors(names, args.sets, args.seeds)
    if args.json:
        document = {
            "machine": machine(),
            "target_ms": VECTOR_TARGET_MS,
            "milliseconds_per_iteration": [asdict(row) for row in rows],
        }
        print(json.dumps(document, allow_nan=False))
        return 0
    print_factors(rows, VECTOR_TARGET_MS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
