"""What a search reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a search after a batch.

    Attributes:
        calls: Charged trials.
        budget: Trials that may be charged.
        evaluations: Evaluations told.
        failures: Failing trials.
        n: Passing and failing trials.
        modes: Candidates whose failure rate is at least τ; None where a single one is no mode.
        seconds: Time since the search (or its resumption) began, s.
        resumed: Charged trials that were taken from the store.
        last_key: Key of the last candidate.
    """

    calls: int
    budget: int
    evaluations: int
    failures: int
    n: int
    modes: int | None
    seconds: float
    resumed: int
    last_key: str


ProgressCallback = Callable[[Progress], None]
