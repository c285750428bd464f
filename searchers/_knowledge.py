"""What a hunt knows of sets: their counts, the surrogate, and what both say of their rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ..core import SetSpace
from ._surrogates.conjunction_gp import ConjunctionGP
from ._surrogates.rate_belief import RateBelief
from .level_set import GROWTH, PRIOR_LOG_ODDS

Set = frozenset[str]
Array = npt.NDArray[np.float64]


MOST_CORES = 20
"""Shared parts of failing sets that get an effect of their own."""


class Knowledge:
    """Counts of sets, the surrogate of them, and beliefs about rates.

    Attributes:
        process: The surrogate.
        spread: Typical standard deviation of what the surrogate says of a set, log-odds.
    """

    def __init__(self, space: SetSpace, *, doubt: float, order: int, most: int, learn: bool, cores: bool) -> None:
        """Know nothing.

        Args:
            space: The candidates.
            doubt: Probability that the surrogate's word on a set is void.
            order: Most concepts that have an effect together in the surrogate.
            most: Sets that the surrogate is fitted to at most.
        """
        self.process = ConjunctionGP(mean=PRIOR_LOG_ODDS, order=order, cores=cores)
        self.cores: list[Set] = []
        self._with_cores = cores
        self.spread = 1.5
        self._space = space
        self._belief = RateBelief(doubt)
        self._most = most
        self.learn = learn
        self._counts: dict[Set, tuple[int, int]] = {}
        self._hot: dict[Set, npt.NDArray[np.int8]] = {}
        self._fitted: dict[Set, tuple[int, int]] = {}
        self._priors: dict[Set, Array] = {}
        self._choose_at = 0.0

    def __len__(self) -> int:
        """Number of sets with data."""
        return len(self._counts)

    def add(self, candidate: Set, failures: int, n: int) -> None:
        """Take the counts of a set over all of its trials."""
        if n:
            self._counts[candidate] = (failures, n - failures)

    def counts(self, candidate: Set) -> tuple[int, int]:
        """Return failures and passes of a set."""
        return self._counts.get(candidate, (0, 0))

    def failing(self, count: int) -> list[Set]:
        """Return sets that failed, most often first, as many as `count`."""
        seen = [one for one, (k, _) in self._counts.items() if k]
        seen.sort(key=lambda one: -(self._counts[one][0] + 1) / (sum(self._counts[one]) + 2))
        return seen[:count]

    def suspect_cores(self, modes: Sequence[Set], threshold: float) -> None:
        """Choose the conjunctions that get an effect: modes, and what failing sets share."""
        if not self._with_cores:
            return
        sure = [
            one
            for one, (k, p) in self._counts.items()
            if k >= 3 and k >= threshold * (k + p)
        ][-60:]
        votes: dict[Set, int] = {}
        for i, one in enumerate(sure):
            for other in sure[:i]:
                shared = one & other
                if len(shared) > 1:
                    votes[shared] = votes.get(shared, 0) + 1
        often = [one for one in votes if votes[one] >= 3]
        often.sort(key=lambda one: (-votes[one], -len(one), sorted(one)))
        self.cores = list(dict.fromkeys([*modes, *often[:MOST_CORES]]))
        self.process.suspect([self._space.encode(one) for one in self.cores])

    def fit(self, rng: np.random.Generator) -> None:
        """Bring the surrogate up to date."""
        if not self._counts:
            return
        sets = list(self._counts)
        if len(sets) > self._most:
            sets = [sets[i] for i in np.sort(rng.choice(len(sets), self._most, replace=False))]
        self._fitted = {one: self._counts[one] for one in sets}
        failures = [k for k, _ in self._fitted.values()]
        self.process.observe(self._rows(sets), failures, [k + p for k, p in self._fitted.values()])
        if len(self) >= self._choose_at:
            self.process.choose()
            self._choose_at = max(len(self) + 8, GROWTH * len(self))
        else:
            self.process.fit()
        if self.learn and len(sets) > 20:
            known = np.array([self._fitted[one] for one in sets], dtype=np.float64)
            self._belief.learn(*self._others(sets), known[:, 0], known[:, 1])
        self._priors = {}

    def beliefs(self, sets: Sequence[Set]) -> Array:
        """Return the beliefs about the rates of sets, `k x grid`."""
        new = [one for one in dict.fromkeys(sets) if one not in self._priors]
        if new:
            self._priors.update(zip(new, self._belief.prior(*self._others(new)), strict=True))
        counts = np.array([self.counts(one) for one in sets], dtype=np.float64).reshape(-1, 2)
        prior = np.stack([self._priors[one] for one in sets])
        return self._belief.after(prior, counts[:, 0], counts[:, 1])

    def _others(self, sets: Sequence[Set]) -> tuple[Array, Array]:
        """Return what all trials but the sets' own say: mean and variance of log-odds.

        Of a fitted set its own site is taken out again (the cavity of expectation propagation).
        """
        mean, variance = self.process.predict(self._rows(sets))
        variance = np.maximum(variance, 1e-6)
        if len(sets) > 20:
            self.spread = float(np.sqrt(np.median(variance)))
        own = np.array([self._fitted.get(one, (0, 0)) for one in sets], dtype=np.float64)
        n = own.sum(axis=1)
        chance = expit(mean)
        weight = n * chance * (1.0 - chance)
        precision = np.maximum(1.0 / variance - weight, 1e-3)
        shifted = (mean / variance - weight * mean - (own[:, 0] - n * chance)) / precision
        return np.where(n > 0, shifted, mean), np.where(n > 0, 1.0 / precision, variance)

    def _rows(self, sets: Iterable[Set]) -> Array:
        rows = []
        for one in sets:
            if one not in self._hot:
                self._hot[one] = self._space.encode(one)
            rows.append(self._hot[one])
        return np.stack(rows).astype(np.float64)
