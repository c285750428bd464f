"""Intervals of a failure rate, from scipy."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def wilson_interval(failures: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of `failures` out of `n`; (0, 1) when n = 0."""
    if n == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest

    interval = binomtest(failures, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


@lru_cache(maxsize=4096)
def clopper_pearson_lower(failures: int, n: int, confidence: float = 0.95) -> float:
    """One-sided exact (Clopper-Pearson) lower bound of a failure rate; 0 when n = 0."""
    if n == 0:
        return 0.0
    from scipy.stats import binomtest

    test = binomtest(failures, n, alternative="greater")
    return float(test.proportion_ci(confidence, method="exact").low)
