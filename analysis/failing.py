"""All failing trials of a run with their numbers: also those that are in no failure mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..core import Tally, TrialRecord
from ..runs.run import RunData
from .fresh import outside_search
from .vector_modes import fresh_places


@dataclass(frozen=True, slots=True)
class NumberedTrial:
    """A trial with the number by which `vlmfail replay` knows it.

    Attributes:
        number: Its number in log order, from 1 (`RunData.places`).
        record: The trial.
        failed: Whether it counts as a failure.
        fresh: Whether it is one of a re-run or an audit, outside the search.
    """

    number: int
    record: TrialRecord
    failed: bool
    fresh: bool


def numbers(run: RunData) -> dict[tuple[str, int], int]:
    """Return the number of every trial by candidate key and trial index."""
    return {place: number for number, place in enumerate(run.places, 1)}


def numbered_trials(run: RunData, key: str | None = None) -> Iterator[NumberedTrial]:
    """Yield the stored trials in the order of their numbers.

    Args:
        run: The run.
        key: Those of one candidate only.
    """
    fresh = outside_search(run)
    fresh.update(place for places in fresh_places(run).values() for place in places)
    searched = {(e.key, trial.index) for e in run.evaluations for trial in e.new.trials}
    rule = Tally((), run.count_as_fail)
    for number, place in enumerate(run.places, 1):
        record = run.records.get(place)
        if record is not None and key in (None, place[0]):
            again = place in fresh and place not in searched
            yield NumberedTrial(number, record, rule.failed(record.trial), again)


def failing_trials(run: RunData, key: str | None = None) -> list[NumberedTrial]:
    """Return the failing trials in the order of their numbers, fresh ones included.

    Args:
        run: The run.
        key: Those of one candidate only.
    """
    return [trial for trial in numbered_trials(run, key) if trial.failed]
