"""What an iteration of each searcher costs over 46 656 candidates, as sets and as scene vectors.

Six factors of six levels: as concept sets one of six concepts from each of six groups, as scene
vectors six choices of six. The searcher alone (`ask` of one candidate and `tell`, the surrogate
refitted in between; `bind`, which enumerates the sets, counted apart) on an instant simulated
model, CPU time on one core.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from ..core import CandidateSpace
from ..envs.concept_sets import ConceptSetSpace
from ..envs.set_rules import AtMostOne, NeedsAny, Rule
from ..envs.vector_space import Dimension, VectorSpace
from ..searchers import make_searcher
from ..searchers._kinds import KINDS
from ..testing.simulated import AdditiveRates, SimulatedTrials
from .overhead_table import machine

FACTORS, LEVELS = 6, 6

Figure = tuple[float, float, float]
"""Median, least and most of the searches."""

TRIALS = 5
"""Trials a set; a scene vector has one."""


@dataclass(frozen=True, slots=True)
class FactorOverhead:
    """What a searcher costs, CPU ms.

    Attributes:
        method: Searcher.
        candidates: What they are, in words.
        iterations: Iterations of a search.
        seeds: Searches.
        bind: Before the first iteration.
        iteration: Mean over all iterations.
        late: Mean over the last tenth, where the surrogate has the most to fit.
        slowest: The slowest one, in which a searcher may prepare what it needs later.
    """

    method: str
    candidates: str
    iterations: int
    seeds: int
    bind: Figure
    iteration: Figure
    late: Figure
    slowest: Figure

    @classmethod
    def of(
        cls, method: str, candidates: str, runs: Sequence[tuple[float, list[float]]]
    ) -> FactorOverhead:
        """Summarise what `iteration_ms` returned for each search."""
        spent = [each for _, each in runs]
        n = min(map(len, spent))
        return cls(
            method,
            candidates,
            n,
            len(runs),
            _figure([first for first, _ in runs]),
            _figure([fmean(each) for each in spent]),
            _figure([fmean(each[-max(1, n // 10) :]) for each in spent]),
            _figure([max(each) for each in spent]),
        )


def _figure(values: Sequence[float]) -> Figure:
    return median(values), min(values), max(values)


def factor_sets() -> ConceptSetSpace:
    """Return the 46 656 sets that hold one level of each factor."""
    groups = [tuple(f"f{i}v{j}" for j in range(LEVELS)) for i in range(FACTORS)]
    rules: list[Rule] = [AtMostOne("ONE", "one level a factor", group) for group in groups]
    rules += [NeedsAny("ALL", "every factor", tuple((x,) for x in group)) for group in groups]
    return ConceptSetSpace([x for group in groups for x in group], rules, FACTORS)


def factor_vectors() -> VectorSpace:
    """Return the same candidates as vectors of six choices."""
    levels = tuple(f"v{j}" for j in range(LEVELS))
    return VectorSpace([Dimension(f"f{i}", "choice", choices=levels) for i in range(FACTORS)])


def iteration_ms(
    name: str, space: CandidateSpace[Any], iterations: int, seed: int, trials: int
) -> tuple[float, list[float]]:
    """Return what a searcher costs before the first iteration and in each, CPU ms.

    Args:
        name: Registered searcher.
        space: Candidates, fresh: their enumeration belongs to the cost.
        iterations: Candidates asked for, one after the other.
        seed: Of the landscape, the outcomes and the searcher.
        trials: Trials a candidate, m.
    """
    # Thresholds are passed often enough that surrogates have both outcomes to learn.
    rates = AdditiveRates(space, seed=seed, base=-1.5, scale=1.0)
    evaluate = SimulatedTrials(space, rates, seed=seed)
    agent = make_searcher(name)
    started = time.process_time()
    agent.bind(space, seed=seed, trials=trials, budget=iterations * trials)
    first = 1000.0 * (time.process_time() - started)
    spent: list[float] = []
    while len(spent) < iterations:
        started = time.process_time()
        proposed = list(agent.ask(1))
        seconds = time.process_time() - started
        if not proposed:
            break
        given = proposed[0]
        candidate, number = given if _is_pair(given) else (given, trials)
        evaluation = evaluate(candidate, number)
        started = time.process_time()
        agent.tell([evaluation])
        spent.append(1000.0 * (seconds + time.process_time() - started))
    return first, spent


def _is_pair(proposal: object) -> bool:
    return isinstance(proposal, tuple) and len(proposal) == 2 and isinstance(proposal[1], int)


def measure_factors(
    names: Sequence[str] = (), iterations: int = 200, seeds: int = 3
) -> list[FactorOverhead]:
    """Measure searchers over 46 656 candidates.

    Args:
        names: Registered searchers; by default all of sets and of scene vectors that are built in.
        iterations: Candidates a search asks for.
        seeds: Searches a searcher.
    """
    rows = []
    for kind, (words, built_in) in KINDS.items():
        fresh, trials = (factor_sets, TRIALS) if kind == "concept_set" else (factor_vectors, 1)
        for name in names or built_in:
            if name not in built_in:
                continue
            # Imports and first-use costs of libraries are paid once a process.
            iteration_ms(name, fresh(), min(iterations, 20), 0, trials)
            runs = [iteration_ms(name, fresh(), iterations, seed, trials) for seed in range(seeds)]
            rows.append(FactorOverhead.of(name, words, runs))
    return rows


def print_factors(rows: Sequence[FactorOverhead], target: float) -> None:
    """Print a row a searcher: medians over searches, the least and the most of them beside.

    Args:
        rows: The figures.
        target: Milliseconds that an iteration should not exceed.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title="Search overhead over 46 656 candidates, one candidate an iteration: CPU ms, median "
        "of the searches (least to most)",
        caption=f"{machine()}; target ≤ {target:g} ms an iteration",
    )
    for column in ("searcher", "candidates"):
        table.add_column(column)
    for column in ("n", "searches", "bind", "an iteration", "the last tenth", "the slowest"):
        table.add_column(column, justify="right")
    for row in rows:
        each = (row.bind, row.iteration, row.late, row.slowest)
        cells = (f"{m:.3g} ({low:.3g} to {high:.3g})" for m, low, high in each)
        table.add_row(row.method, row.candidates, str(row.iterations), str(row.seeds), *cells)
    console = Console()
    (console if console.is_terminal else Console(width=150)).print(table)
