"""Fresh trials: those drawn after a candidate was selected, which alone may confirm it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..agents.progress import LEAST_TRIALS
from ..core import Evaluation, Tally, Trial
from ..runs.run import RunData

RERUN_META = "rerun"
"""Name of the store's state value that lists the re-run trials: key → trial indices."""

AUDIT_TRIALS_META = "audit_trials"
"""Name of the one that lists the trials of an audit, likewise."""


def least_trials(run: RunData) -> int:
    """Return the passes and failures from which a failing candidate is a failure mode.

    Ours: three, or m where that is less: a search of one or two trials a set gives none more.
    """
    return min(LEAST_TRIALS, max(1, run.trials))


def listed_indices(run: RunData, meta: str) -> dict[str, tuple[int, ...]]:
    """Return the trial indices of every candidate that a state value lists."""
    text = run.store.meta(meta)
    if not text:
        return {}
    return {str(key): tuple(int(i) for i in indices) for key, indices in json.loads(text).items()}


def rerun_indices(run: RunData) -> dict[str, tuple[int, ...]]:
    """Return the trial indices of every candidate that were re-run outside the budget."""
    return listed_indices(run, RERUN_META)


def outside_search(run: RunData) -> set[tuple[str, int]]:
    """Return key and index of the trials of re-run and audit, outside the search."""
    return {
        (key, index)
        for meta in (RERUN_META, AUDIT_TRIALS_META)
        for key, indices in listed_indices(run, meta).items()
        for index in indices
    }


def rerun_tallies(run: RunData) -> dict[str, Tally]:
    """Return the re-run trials of every re-run candidate.

    A trial that the search itself drew later on (after a resume) is the search's, not counted
    here.
    """
    return listed_tallies(run, RERUN_META)


def listed_tallies(run: RunData, meta: str) -> dict[str, Tally]:
    """Return the trials that a state value lists, those of the search left out, by candidate."""
    searched = {
        (evaluation.key, trial.index)
        for evaluation in run.evaluations
        for trial in evaluation.new.trials
    }
    tallies = {}
    for key, indices in listed_indices(run, meta).items():
        places = [(key, index) for index in indices]
        trials = [run.records[p].trial for p in places if p in run.records and p not in searched]
        tallies[key] = Tally(tuple(trials), run.count_as_fail)
    return tallies


def selected_after(evaluations: Sequence[Evaluation[object]], threshold: float) -> int | None:
    """Return the evaluation (position) after which a candidate counted as selected, or None.

    Ours: the first one after which its rate over at least three trials reached `threshold`.
    """
    for position, evaluation in enumerate(evaluations):
        rate = evaluation.total.rate
        if rate is not None and rate >= threshold and evaluation.total.n >= LEAST_TRIALS:
            return position
    return None


def fresh_tallies(run: RunData, threshold: float) -> Mapping[str, Tally]:
    """Return the fresh trials by candidate; candidates without any are absent.

    Fresh are the search's own trials of evaluations that came after the one which selected the
    candidate, and those of a re-run. A searcher with a fixed number of trials evaluates a
    candidate once, so that only a re-run gives it fresh ones.
    """
    by_key: dict[str, list[Evaluation[object]]] = {}
    for evaluation in run.evaluations:
        by_key.setdefault(evaluation.key, []).append(evaluation)
    fresh: dict[str, tuple[Trial, ...]] = {}
    for key, evaluations in by_key.items():
        position = selected_after(evaluations, threshold)
        if position is not None:
            later = [t for e in evaluations[position + 1 :] for t in e.new.trials]
            fresh[key] = tuple(later)
    for key, tally in rerun_tallies(run).items():
        fresh[key] = (*fresh.get(key, ()), *tally.trials)
    return {key: Tally(trials, run.count_as_fail) for key, trials in fresh.items() if trials}
