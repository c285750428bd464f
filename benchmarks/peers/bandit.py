"""A multi-armed bandit a feature, as VerifAI offers it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ...searchers import _knobs
from ._buckets import Buckets
from ._numbers import F64, SceneVectors
from ._peer import Peer


class Bandit(Peer):
    """A bandit a feature: the bucket with the highest upper confidence bound (VerifAI's).

    Written from VerifAI's description (Viswanadha et al., RV 2021), not run through it: its pins
    exclude ours. A bucket's index is the share of its candidates that failed (rate at least τ)
    plus √(exploration · ln t / its candidates), t candidates in all; each bucket is tried first.

    *Concept sets*: a concept has two buckets, in and out. One bucket a feature, each with the
    highest index, is what has the highest sum of indices; so that the set is valid and new, the
    highest sum among the unseen valid sets is taken (ours). *Scene vectors*: buckets as
    `cross-entropy` has them, uniform inside. A candidate that was proposed counts at once, as a
    pass until it is told (ours), so that a batch spreads.
    """

    name: ClassVar[str] = "bandit"

    #: Index of a bucket that was not tried: above any other.
    untried = 1e3

    def __init__(self, *, exploration: float = 2.0, buckets: int = 5) -> None:
        """Set the knobs.

        Args:
            exploration: Factor of ln t; 2 is UCB1's.
            buckets: Buckets of a real or an angle.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.exploration = _knobs.real("exploration", exploration, 0.0)
        self.buckets = _knobs.whole("buckets", buckets, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {"exploration": self.exploration, "buckets": self.buckets}

    def _start(self) -> None:
        counts = [2] * self._numbers.width
        if isinstance(self._numbers, SceneVectors):
            self._parts = Buckets(self.space, self.buckets)
            counts = self._parts.counts
        self._tried = [np.zeros(count) for count in counts]
        self._failed = [np.zeros(count) for count in counts]

    def _propose(self) -> Any | None:
        indices = [self._index(*pair) for pair in zip(self._tried, self._failed, strict=True)]
        if isinstance(self._numbers, SceneVectors):
            chosen = [self._highest(index) for index in indices]
            candidate = self._numbers.nearest(self._parts.point(chosen, self.rng))
        else:
            sets: Any = self._numbers
            candidate = sets.best(np.array([index[1] - index[0] for index in indices]))
        if candidate is not None:
            self._count(self._tried, candidate, 1.0)
        return candidate

    def _learn(self, candidate: Any, rate: float | None) -> None:
        if rate is None:
            self._count(self._tried, candidate, -1.0)
        elif rate >= self.threshold:
            self._count(self._failed, candidate, 1.0)

    def _index(self, tried: F64, failed: F64) -> F64:
        trials = np.maximum(tried, 1.0)
        bonus = np.sqrt(self.exploration * math.log(max(1, self._proposed)) / trials)
        return np.where(tried > 0, failed / trials + bonus, self.untried)

    def _highest(self, index: F64) -> int:
        best = np.flatnonzero(index == index.max())
        return int(best[int(self.rng.integers(len(best)))])

    def _count(self, counts: list[F64], candidate: Any, number: float) -> None:
        buckets: list[int | None]
        if isinstance(self._numbers, SceneVectors):
            buckets = self._parts.of(candidate)
        else:
            buckets = [int(bit) for bit in self._numbers.of(candidate)]
        for row, bucket in zip(counts, buckets, strict=True):
            if bucket is not None:
                row[bucket] += number
