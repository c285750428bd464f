"""What reviewers found in a run, how far they agree, and whose failures the failures are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from ...core import Tally
from ...runs.run import RunData
from .labels import BLAMED, FLAGS, Label, LabelStore

Place = tuple[str, int]


def sample_trials(
    run: RunData, number: int | None, seed: int, *, failures: bool = False
) -> list[Place]:
    """Return trials to label, in an order that the seed alone decides: alike for all reviewers.

    Args:
        run: The run.
        number: How many; None for all.
        seed: Which, and in which order.
        failures: Only trials that failed.

    A repeat of an episode shows what another trial shows, and is left out.
    """
    import numpy as np

    places = sorted(
        place
        for place, record in run.records.items()
        if record.trial.picture is not None
        and record.trial.repeats is None
        and (not failures or _failed(run, place))
    )
    order = np.random.default_rng(seed).permutation(len(places))
    chosen = [places[int(i)] for i in order]
    return chosen if number is None else chosen[:number]


def label_summary(run: RunData) -> dict[str, Any]:
    """Return what the labels of a run say, as JSON values. Shares are fractions, None = no data.

    ``reviewers`` has each one's counts and which failures they blamed on the picture or the label;
    ``agreement`` compares each two on the trials that both labelled: the share of equal flags and
    Cohen's kappa, None where both used one and the same flag throughout; ``failures`` counts the
    failed trials that anybody, or everybody who labelled them, blamed on the picture or the label;
    ``unreadable`` counts the file's rows that are no labels and were passed over.
    """
    stored, unreadable = LabelStore(run.path).read()
    labels = [label for label in stored if (label.key, label.index) in run.records]
    by_reviewer: dict[str, dict[Place, Label]] = {}
    for label in labels:
        by_reviewer.setdefault(label.reviewer, {})[label.key, label.index] = label
    outcomes: dict[str, list[str]] = {}
    for label in labels:
        outcome = str(run.records[label.key, label.index].trial.outcome)
        outcomes.setdefault(outcome, []).append(label.flag)
    return {
        "run": str(run.path),
        "labels": len(labels),
        "trials": len({(label.key, label.index) for label in labels}),
        "without_trial": len(stored) - len(labels),
        "unreadable": unreadable,
        "flags": _counts(label.flag for label in labels),
        "by_outcome": {name: _counts(flags) for name, flags in sorted(outcomes.items())},
        "reviewers": {name: _reviewer(run, own) for name, own in sorted(by_reviewer.items())},
        "agreement": [
            _agreement(a, b, by_reviewer[a], by_reviewer[b])
            for a, b in combinations(sorted(by_reviewer), 2)
        ],
        "failures": _failures(run, labels),
    }


def _counts(flags: Any) -> dict[str, int]:
    found = Counter(flags)
    return {flag.id: found.get(flag.id, 0) for flag in FLAGS}


def _failed(run: RunData, place: Place) -> bool:
    return Tally((), run.count_as_fail).failed(run.records[place].trial)


def _reviewer(run: RunData, own: Mapping[Place, Label]) -> dict[str, Any]:
    failed = [label.flag for place, label in own.items() if _failed(run, place)]
    blamed = sum(flag in BLAMED for flag in failed)
    times = [label.seconds for label in own.values() if label.seconds is not None]
    return {
        "labelled": len(own),
        "flags": _counts(label.flag for label in own.values()),
        "failures": len(failed),
        "failures_blamed": blamed,
        "share_blamed": blamed / len(failed) if failed else None,
        "mean_seconds": sum(times) / len(times) if times else None,
    }


def _agreement(
    a: str, b: str, first: Mapping[Place, Label], second: Mapping[Place, Label]
) -> dict[str, Any]:
    places = sorted(set(first) & set(second))
    left = [first[place].flag for place in places]
    right = [second[place].flag for place in places]
    equal = sum(x == y for x, y in zip(left, right, strict=True))
    return {
        "reviewers": [a, b],
        "trials": len(places),
        "equal": equal,
        "share": equal / len(places) if places else None,
        "kappa": _kappa(left, right),
    }


def _kappa(left: Sequence[str], right: Sequence[str]) -> float | None:
    """Return Cohen's kappa (1960); None where it is not defined: one flag alone was ever used."""
    if len({*left, *right}) < 2:
        return None
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(left, right))


def _failures(run: RunData, labels: Sequence[Label]) -> dict[str, Any]:
    said: dict[Place, list[bool]] = {}
    for label in labels:
        place = label.key, label.index
        if _failed(run, place):
            said.setdefault(place, []).append(label.flag in BLAMED)
    anybody = sum(any(blamed) for blamed in said.values())
    everybody = sum(all(blamed) for blamed in said.values())
    return {
        "labelled": len(said),
        "blamed_by_any": anybody,
        "blamed_by_all": everybody,
        "share_by_any": anybody / len(said) if said else None,
        "share_by_all": everybody / len(said) if said else None,
    }
