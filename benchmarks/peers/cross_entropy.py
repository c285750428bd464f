"""The cross-entropy method over independent features, as VerifAI offers it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...searchers import _knobs
from ._buckets import Buckets
from ._numbers import SceneVectors
from ._peer import Peer


class CrossEntropy(Peer):
    """Cross-entropy: draws features alone, each like the failures found (VerifAI's).

    Written from VerifAI's description (Dreossi et al., CAV 2019), not run through it: its pins
    exclude ours. Every feature has a distribution over its buckets; a candidate that fails (its
    rate is at least τ) moves the distributions of its own buckets: p = α p + (1 - α) [its bucket].

    *Concept sets*: a concept is a feature with two buckets, in and out; a set is drawn from their
    product, given that it is valid and was not proposed. At the start a concept is in as often as
    `random` draws it (ours: with one half each, nearly every draw would be invalid). *Scene
    vectors*: choices and flags have their values as buckets, others equal parts; uniform at first
    and inside a bucket.
    """

    name: ClassVar[str] = "cross-entropy"

    #: Probabilities stay this far from 0 and 1, so that their logarithms exist.
    margin = 1e-6

    def __init__(self, *, alpha: float = 0.9, buckets: int = 5) -> None:
        """Set the knobs.

        Args:
            alpha: Share of the old distribution that an update keeps, in [0, 1].
            buckets: Buckets of a real or an angle.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.alpha = _knobs.real("alpha", alpha, 0.0, 1.0)
        self.buckets = _knobs.whole("buckets", buckets, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {"alpha": self.alpha, "buckets": self.buckets}

    def _start(self) -> None:
        if isinstance(self._numbers, SceneVectors):
            self._parts = Buckets(self.space, self.buckets)
            self._shares = [np.full(count, 1.0 / count) for count in self._parts.counts]
        else:
            sets: Any = self._numbers
            self._inside = sets.usual()

    def _propose(self) -> Any | None:
        if isinstance(self._numbers, SceneVectors):
            chosen = [int(self.rng.choice(len(p), p=p / p.sum())) for p in self._shares]
            return self._numbers.nearest(self._parts.point(chosen, self.rng))
        sets: Any = self._numbers
        inside = np.clip(self._inside, self.margin, 1.0 - self.margin)
        return sets.weighted(np.log(inside / (1.0 - inside)))

    def _learn(self, candidate: Any, rate: float | None) -> None:
        if rate is None or rate < self.threshold:
            return
        if isinstance(self._numbers, SceneVectors):
            for shares, bucket in zip(self._shares, self._parts.of(candidate), strict=True):
                if bucket is not None:
                    shares *= self.alpha
                    shares[bucket] += 1.0 - self.alpha
        else:
            own = self._numbers.of(candidate)
            self._inside = self.alpha * self._inside + (1.0 - self.alpha) * own
