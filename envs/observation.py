"""The observation: a flat float vector that any learning library takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import CandidateSpace, Evaluation

F32 = npt.NDArray[np.float32]


class Observer:
    """Builds observations of `3 n + 3` entries in [0, 1], n = number of features.

    | entries | meaning |
    |---|---|
    | 0 ... n-1 | features of the last candidate (multi-hot for concept sets) |
    | n | its failure rate over all its trials, 0 without data |
    | n+1 | how well it is known: k / (k + m), k = its passes and failures, m = default trials |
    | n+2 ... 2n+1 | by feature: failure rate of its trials, 0 without data |
    | 2n+2 ... 3n+1 | by feature: share of the budget spent on it |
    | 3n+2 | share of the budget left |
    """

    def __init__(self, space: CandidateSpace[Any], trials: int, budget: int) -> None:
        """Prepare for one search."""
        self._space = space
        self._trials = trials
        self._budget = budget
        self._n = len(space.features)
        self.clear()

    @property
    def size(self) -> int:
        """Length of the vector."""
        return 3 * self._n + 3

    def clear(self) -> None:
        """Forget all evaluations."""
        self._failures = np.zeros(self._n)
        self._counts = np.zeros(self._n)

    def learn(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Add the new trials of evaluations."""
        for evaluation in evaluations:
            features = self._space.featurise(evaluation.candidate)
            self._failures += features * evaluation.new.failures
            self._counts += features * evaluation.new.n

    def vector(self, last: Evaluation[Any] | None, remaining: int) -> F32:
        """Return the observation after `last` with `remaining` trials of budget left."""
        n = self._n
        out = np.zeros(self.size, dtype=np.float32)
        if last is not None:
            out[:n] = self._space.featurise(last.candidate)
            out[n] = last.total.rate or 0.0
            out[n + 1] = last.total.n / (last.total.n + self._trials)
        np.divide(self._failures, self._counts, out=out[n + 2 : 2 * n + 2], where=self._counts > 0)
        out[2 * n + 2 : 3 * n + 2] = np.minimum(self._counts / self._budget, 1.0)
        out[3 * n + 2] = remaining / self._budget
        return out
