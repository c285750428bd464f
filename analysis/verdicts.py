"""What fresh trials say of a failure mode: one bound decides, and it is named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core import clopper_pearson_lower

CONFIDENCE = 0.95
"""Of each of the two one-sided bounds."""


class Verdict(StrEnum):
    """What fresh trials say of a rate of at least τ.

    Attributes:
        CONFIRMED: The lower bound reaches τ.
        FELL_SHORT: The upper bound lies below τ.
        TOO_FEW: Neither, and even if all had failed the lower bound would not reach τ.
        UNDECIDED: Neither: τ lies between the bounds.
        NOT_RERUN: There are no fresh trials.
        NO_PICTURE: There are none, and no picture is left for one.
    """

    CONFIRMED = "confirmed"
    FELL_SHORT = "fell short"
    TOO_FEW = "too few"
    UNDECIDED = "undecided"
    NOT_RERUN = "not re-run"
    NO_PICTURE = "no picture left"


@dataclass(frozen=True, slots=True)
class FreshBounds:
    """A failure rate on fresh trials with its two one-sided 95 % bounds.

    Attributes:
        failures: Failures.
        n: Passes and failures.
        threshold: Failure rate τ.
    """

    failures: int
    n: int
    threshold: float

    @property
    def lower(self) -> float:
        """Lower bound (Clopper-Pearson); it confirms where it reaches τ."""
        return clopper_pearson_lower(self.failures, self.n, CONFIDENCE)

    @property
    def upper(self) -> float:
        """Upper bound (Clopper-Pearson); it refutes where it lies below τ."""
        return 1.0 - clopper_pearson_lower(self.n - self.failures, self.n, CONFIDENCE)

    @property
    def least(self) -> int | None:
        """Fewest fresh trials that can confirm τ, all of which must fail; None for τ = 1."""
        return least_to_confirm(self.threshold)

    @property
    def confirmed(self) -> bool | None:
        """Whether the rate is confirmed; None without fresh trials."""
        return self.lower >= self.threshold if self.n else None

    def verdict(self, used_up: bool = False) -> Verdict:
        """Return what the bounds say.

        Args:
            used_up: Whether no picture is left for a fresh trial.
        """
        if not self.n:
            return Verdict.NO_PICTURE if used_up else Verdict.NOT_RERUN
        if self.confirmed:
            return Verdict.CONFIRMED
        if self.upper < self.threshold:
            return Verdict.FELL_SHORT
        if self.least is None or self.n < self.least:
            return Verdict.TOO_FEW
        return Verdict.UNDECIDED

    def to_json(self) -> dict[str, Any]:
        """Return the bounds as JSON values."""
        return {
            "lower": self.lower if self.n else None,
            "upper": self.upper if self.n else None,
            "least": self.least,
        }


def least_to_confirm(threshold: float) -> int | None:
    """Return the fewest fresh trials that can confirm a rate of `threshold`; None for 1.

    All n must fail: their lower bound is 0.05 ** (1 / n).
    """
    if threshold >= 1.0:
        return None
    if threshold <= 0.0:
        return 1
    n = max(1, math.floor(math.log(1.0 - CONFIDENCE) / math.log(threshold)))
    while clopper_pearson_lower(n, n, CONFIDENCE) < threshold:
        n += 1
    return n
