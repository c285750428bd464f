"""Confirmation of a failure mode on fresh trials, by a plan fixed before the first of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

ERROR = 0.05
"""Chance at most that a set whose rate is τ or less is confirmed (one-sided 95 %)."""

SHARES = (0.6, 0.85, 1.0)
"""Share of `ERROR` that is spent up to each look of a patient plan (ours)."""

MOST_TRIALS = 400


@dataclass(frozen=True, slots=True)
class Plan:
    """Looks at which a run of fresh trials may confirm a set.

    A look counts the trials that passed or failed. What is judged at several looks would be
    confirmed by luck more often than at one; the looks share out `ERROR` so that all together do
    not exceed it (group-sequential test, exact for binomial trials).

    Attributes:
        looks: (number of trials, passes allowed), in order, both increasing.
    """

    looks: tuple[tuple[int, int], ...]

    def verdict(self, failures: int, passes: int) -> bool | None:
        """Return whether the trials confirm, can no longer do so (False), or must go on (None)."""
        n = failures + passes
        for trials, allowed in self.looks:
            if n == trials and passes <= allowed:
                return True
        open_ = any(trials > n and passes <= allowed for trials, allowed in self.looks)
        return None if open_ else False

    def power(self, rate: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the chance that a set with this failure rate is confirmed."""
        return _power(self.looks, np.asarray(rate, dtype=np.float64))


def _power(
    looks: tuple[tuple[int, int], ...], rate: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    done = dict(looks)
    accepted = np.zeros_like(rate)
    by_passes = {0: np.ones_like(rate)}
    for n in range(1, looks[-1][0] + 1 if looks else 1):
        after: dict[int, npt.NDArray[np.float64]] = {}
        for passes, chance in by_passes.items():
            for more, share in ((0, rate), (1, 1.0 - rate)):
                if passes + more <= looks[-1][1]:
                    before = after.get(passes + more, np.zeros_like(rate))
                    after[passes + more] = before + chance * share
        for passes in [p for p in after if n in done and p <= done[n]]:
            accepted = accepted + after.pop(passes)
        by_passes = after
    return accepted


@lru_cache(maxsize=64)
def quick_plan(threshold: float) -> Plan:
    """Return the plan that ends at the first pass: the fewest trials that all must fail.

    6 for τ = 0.6. The most modes per trial where there are many to choose from.
    """
    return Plan(_looks(threshold, (1.0,)))


@lru_cache(maxsize=64)
def patient_plan(threshold: float) -> Plan:
    """Return a plan that forgives up to two passes: 7, 12 or 17 trials for τ = 0.6."""
    return Plan(_looks(threshold, SHARES))


def _looks(threshold: float, shares: tuple[float, ...]) -> tuple[tuple[int, int], ...]:
    looks: tuple[tuple[int, int], ...] = ()
    at = np.array([min(threshold, 1.0)])
    for allowed, share in enumerate(shares):
        first = looks[-1][0] + 1 if looks else 1
        for n in range(first, MOST_TRIALS + 1):
            tried = (*looks, (n, allowed))
            if float(_power(tried, at)[0]) <= share * ERROR:
                looks = tried
                break
        else:
            break  # τ = 1 can never be confirmed
    return looks
