"""A count out of n with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core import wilson_interval


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of n with its Wilson 95 % interval.

    Attributes:
        name: What is counted.
        failures: The count.
        n: Out of how many.
    """

    name: str
    failures: int
    n: int

    @property
    def rate(self) -> float | None:
        """The share, or None when n = 0."""
        return self.failures / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson 95 % interval; (0, 1) when n = 0."""
        return wilson_interval(self.failures, self.n)

    def to_json(self) -> dict[str, Any]:
        """Return the share as JSON values."""
        interval = list(self.interval) if self.n else None
        return {"rate": self.rate, "failures": self.failures, "n": self.n, "interval": interval}
