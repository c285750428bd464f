"""Figures over seeds, and how far two searchers are apart under the same seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000

Statistic = Literal["mean", "median"]

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over runs or modes.

    Attributes:
        mean: Its mean.
        sd: Sample standard deviation, None below two.
        n: Number of values.
        quartiles: 25 %, 50 % and 75 % of the values, None where they were not asked for.
    """

    mean: float
    sd: float | None
    n: int
    quartiles: tuple[float, float, float] | None = None

    @classmethod
    def of(cls, values: Iterable[float | None], *, quartiles: bool = False) -> Spread | None:
        """Summarise the values that are not None; None when there are none."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        parts = None
        if quartiles:
            low, middle, high = (float(q) for q in np.percentile(known, [25, 50, 75]))
            parts = (low, middle, high)
        return cls(fmean(known), stdev(known) if len(known) > 1 else None, len(known), parts)

    def to_json(self) -> dict[str, float | int | None]:
        """Return it as JSON values."""
        found: dict[str, float | int | None] = {"mean": self.mean, "sd": self.sd, "n": self.n}
        if self.quartiles is not None:
            found |= dict(zip(("q25", "median", "q75"), self.quartiles, strict=True))
        return found


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect with its 95 % interval.

    Attributes:
        value: The effect.
        low, high: Ends of the interval; `high` may be infinite for a ratio.
    """

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float | None]:
        """Return it as JSON values; an infinite end is null."""
        high = self.high if np.isfinite(self.high) else None
        return {"value": self.value, "low": self.low, "high": high}


@dataclass(frozen=True, slots=True)
class Against:
    """A figure of a searcher against the baseline's under the same seeds.

    Attributes:
        seeds: Number of common seeds.
        difference: Difference of the means (or medians).
        ratio: Their ratio; None when the baseline's is 0.
        p: Two-sided p of the paired permutation test (signs of the differences flipped).
        p_holm: The same, corrected for the comparisons of the table (Holm).
    """

    seeds: int
    difference: Estimate
    ratio: Estimate | None
    p: float
    p_holm: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "seeds": self.seeds,
            "difference": self.difference.to_json(),
            "ratio": None if self.ratio is None else self.ratio.to_json(),
            "p": self.p,
            "p_holm": self.p_holm,
        }


def against(
    values: Mapping[Any, float],
    baseline: Mapping[Any, float],
    statistic: Statistic = "mean",
) -> Against | None:
    """Compare two searchers by the figures that they reached under the same seeds.

    Args:
        values: Figure by seed, or by whatever else makes pairs.
        baseline: The baseline's.
        statistic: What stands for the seeds.

    Returns:
        None with fewer than two common seeds.
    """
    from scipy.stats import permutation_test

    middle: Callable[..., Any] = np.mean if statistic == "mean" else np.median

    common = sorted(values.keys() & baseline.keys())
    if len(common) < 2:
        return None
    ours = np.array([values[seed] for seed in common], dtype=np.float64)
    theirs = np.array([baseline[seed] for seed in common], dtype=np.float64)

    def difference(a: F64, b: F64, axis: int = -1) -> Any:
        return middle(a, axis=axis) - middle(b, axis=axis)

    def ratio(a: F64, b: F64, axis: int = -1) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return middle(a, axis=axis) / middle(b, axis=axis)

    test = permutation_test(
        (ours, theirs),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        random_state=np.random.default_rng(0),
    )
    return Against(
        seeds=len(common),
        difference=_bootstrapped(ours, theirs, difference),
        ratio=_bootstrapped(ours, theirs, ratio) if middle(theirs) > 0 else None,
        p=float(test.pvalue),
    )


def _bootstrapped(a: F64, b: F64, statistic: Callable[..., Any]) -> Estimate:
    """Return a statistic of two paired samples with its percentile bootstrap interval.

    Seeds are drawn together: the pair is what is resampled.
    """
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant sample has an interval without width
        result = bootstrap(
            (a, b),
            statistic,
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=RESAMPLES,
            random_state=np.random.default_rng(0),
        )
    low, high = np.nanpercentile(result.bootstrap_distribution, [2.5, 97.5], method="nearest")
    return Estimate(float(statistic(a, b)), float(low), float(high))


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values after Holm's step-down correction, in the order given."""
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, dtype=np.float64)[order] * (len(ps) - np.arange(len(ps)))
    corrected = np.empty(len(ps))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0) if len(ps) else scaled
    return [float(p) for p in corrected]
