"""What a search reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core import Tally

LEAST_TRIALS = 3
"""Trials from which a rate may select a candidate (ours): one failure selects nothing."""


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a search after a trial, and after a batch when its evaluations were told.

    Attributes:
        calls: Charged trials.
        budget: Trials that may be charged.
        evaluations: Evaluations told.
        failures: Failing trials, those of the batch under way included.
        n: Passing and failing trials, likewise.
        modes: Evaluated candidates whose failure rate over at least three trials (m if that is
            less) is at least τ; None where a single one is no mode.
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
"""Called one at a time, with a trial's state maybe from the thread that asked the model."""


@dataclass(slots=True)
class Counts:
    """Trials of the batch under way, which no evaluation holds yet.

    Attributes:
        charged: Charged trials.
        failures: Failing trials.
        n: Passing and failing trials.
    """

    charged: int = 0
    failures: int = 0
    n: int = 0

    def add(self, one: Tally) -> None:
        """Count further trials."""
        self.charged += one.charged
        self.failures += one.failures
        self.n += one.n
