"""What searching costs beside rendering and the model, per evaluated concept set.

    python -m vlmfail.benchmarks.search_overhead [--sets 200] [--seeds 3] [--json]

The searcher runs on the driving space with an instant simulated model. Its `bind`, `ask` and
`tell` are timed; beside them, in the same run and on the same data, what one refit of
scikit-learn's `GaussianProcessRegressor(DotProduct() + WhiteKernel())` and its prediction for all
valid sets take: a straightforward Algorithm 2 (Revelio) needs that once a batch.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..envs.concept_sets import ConceptSetSpace
from ..envs.driving.catalogue import catalogue
from ..envs.driving.rules import rules
from ..searchers import make_searcher, searcher_names
from ..testing.simulated import AdditiveRates, Drive, SimulatedTrials

#: Milliseconds a set that the built-in searchers are to stay below.
TARGET_MS = 5.0
REFERENCE = "scikit-learn, one refit + predict"


@dataclass(frozen=True, slots=True)
class Overhead:
    """Time per evaluated set over several seeds, ms.

    Attributes:
        method: Searcher, or the reference.
        sets: Evaluated sets a seed.
        seeds: Number of seeds.
        median: Median over seeds of the mean time per set.
        mean: Mean over seeds.
        max: Slowest seed.
    """

    method: str
    sets: int
    seeds: int
    median: float
    mean: float
    max: float

    @classmethod
    def of(cls, method: str, sets: int, per_set_ms: Sequence[float]) -> Overhead:
        """Summarise one figure a seed."""
        return cls(
            method,
            sets,
            len(per_set_ms),
            float(np.median(per_set_ms)),
            float(np.mean(per_set_ms)),
            float(np.max(per_set_ms)),
        )


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
    for name in names:
        runs = [searcher_run(name, sets, seed, batch=batch) for seed in range(seeds)]
        rows.append(Overhead.of(name, sets, [1000 * r.seconds / len(r.keys) for r in runs]))
        if name == names[-1]:
            reference = [reference_ms(run) for run in runs]
    rows.append(Overhead.of(REFERENCE, sets, reference))
    return rows


def print_table(rows: Sequence[Overhead], batch: int) -> None:
    """Print the figures as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"Search overhead per evaluated set, driving space, m = 5, batch {batch}",
        caption=f"{_machine()}; target ≤ {TARGET_MS:g} ms",
    )
    table.add_column("method")
    for column in ("sets", "seeds", "median ms", "mean ms", "max ms"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row.method,
            str(row.sets),
            str(row.seeds),
            *(f"{value:.2f}" for value in (row.median, row.mean, row.max)),
        )
    Console().print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see the module's text."""
    parser = argparse.ArgumentParser(prog="search_overhead", description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="evaluated sets a search")
    parser.add_argument("--seeds", type=int, default=3, help="searches a searcher")
    parser.add_argument("--batch", type=int, default=8, help="the n of ask(n)")
    parser.add_argument("--searchers", nargs="+", choices=searcher_names(), default=["gpts"])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    rows = measure(args.searchers, args.sets, args.seeds, args.batch)
    if args.json:
        document: dict[str, Any] = {
            "machine": _machine(),
            "batch": args.batch,
            "target_ms": TARGET_MS,
            "milliseconds_per_set": [asdict(row) for row in rows],
        }
        print(json.dumps(document, allow_nan=False))
    else:
        print_table(rows, args.batch)
    return 0


def _machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    raise SystemExit(main())
