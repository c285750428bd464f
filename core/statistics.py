"""Intervals of a failure rate.

`scipy.stats.binomtest` gives the same; importing it takes longer than a whole small command.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_QUANTILES = {0.95: 1.959963984540054}
"""Two-sided normal quantiles, correctly rounded; `NormalDist` may be off by the last bit."""


@lru_cache(maxsize=4096)
def wilson_interval(failures: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of `failures` out of `n`; (0, 1) when n = 0 (Wilson 1927)."""
    if not 0 <= failures <= n:
        raise ValueError(f"{failures} of {n} cannot have failed")
    if n == 0:
        return 0.0, 1.0
    z = _QUANTILES.get(confidence) or NormalDist().inv_cdf(0.5 + 0.5 * confidence)
    p = failures / n
    whole = 2 * (n + z**2)
    middle = (2 * n * p + z**2) / whole
    half = z / whole * math.sqrt(4 * n * p * (1 - p) + z**2)
    low = 0.0 if failures == 0 else float(middle - half)
    high = 1.0 if failures == n else float(middle + half)
    return low, high


@lru_cache(maxsize=4096)
def clopper_pearson_lower(failures: int, n: int, confidence: float = 0.95) -> float:
    """One-sided exact lower bound of a failure rate; 0 when n = 0 (Clopper and Pearson 1934)."""
    if not 0 <= failures <= n:
        raise ValueError(f"{failures} of {n} cannot have failed")
    if failures == 0:
        return 0.0
    from scipy.special import betaincinv

    return float(betaincinv(failures, n - failures + 1, 1.0 - confidence))
