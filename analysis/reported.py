"""Reported modes: those that a run claims, each confirmed on fresh trials, none holding another."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..agents.loop import REPORTS_META
from ..runs.run import RunData
from .fresh import rerun_tallies
from .modes import failure_modes


def reported_modes(run: RunData, threshold: float | None = None) -> list[frozenset[str]]:
    """Return the concept sets that a run reports as failure modes, each once.

    The agent's own reports in its order; of an agent without, the run's confirmed modes, the
    surest first, less those that hold another one.

    Args:
        run: A run over concept sets.
        threshold: Failure rate τ; the run's own by default.
    """
    told = run.store.meta(REPORTS_META)
    if told is not None:
        return list(dict.fromkeys(frozenset(map(str, one)) for one in json.loads(told)))
    confirmed = [m for m in failure_modes(run, threshold) if m.confirmed is True]
    sets = [frozenset(map(str, mode.candidate)) for mode in confirmed]
    return [one for one in sets if not holds_another(one, sets)]


def reports_of_its_own(run: RunData) -> bool:
    """Whether the run's agent reports modes itself, be it none."""
    return run.store.meta(REPORTS_META) is not None


def holds_another(candidate: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    """Whether another set is a proper part of `candidate`."""
    return any(other < candidate for other in others)


def per_thousand(modes: int, run: RunData) -> float | None:
    """Return a number of modes per 1000 trials; None before the first.

    What confirms a mode is paid like what found it: trials of a re-run are outside the search's
    budget and inside this figure. A searcher that ends with budget left could not have found more
    with it: all of its budget counts, lest few trials make a large figure.
    """
    spent = run.calls + sum(tally.charged for tally in rerun_tallies(run).values())
    if run.status == "space exhausted":
        spent = max(spent, run.budget)
    return 1000.0 * modes / spent if spent else None
