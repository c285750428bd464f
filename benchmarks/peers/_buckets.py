"""Buckets of a space's dimensions, as VerifAI's samplers divide them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._numbers import F64


class Buckets:
    """The dimensions of a scene vector in buckets: the values of a choice or flag, or equal parts.

    Attributes:
        counts: Buckets of each dimension.
    """

    def __init__(self, space: Any, parts: int) -> None:
        """Divide.

        Args:
            space: A space of scene vectors.
            parts: Buckets of a real or an angle.
        """
        self._space = space
        self.counts = [len(one.choices) or parts for one in space.dimensions]

    def point(self, buckets: list[int], rng: np.random.Generator) -> F64:
        """Draw a point uniformly inside one bucket a dimension."""
        counts = np.array(self.counts)
        return np.asarray((np.array(buckets) + rng.random(len(counts))) / counts)

    def of(self, candidate: Any) -> list[int | None]:
        """Return the buckets that a scene lies in; None where a dimension means nothing."""
        numbers, meaning, _ = self._space.resolve(candidate)
        return [
            min(int(number * count), count - 1) if means else None
            for number, count, means in zip(numbers, self.counts, meaning, strict=True)
        ]
