"""Points that are spread evenly instead of drawn: Halton and Sobol sequences (scipy)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ._numbers import F64
from ._peer import Peer


class _QuasiRandom(Peer):
    """Proposes what lies at the next points of a sequence; learns nothing.

    `_numbers` says what lies at a point. A point whose candidate was proposed before is passed
    over; after `patience` of these in a row a random unseen candidate is taken.
    """

    patience = 100

    #: Points drawn at once; a Sobol sequence is balanced in powers of 2.
    block = 64

    def _start(self) -> None:
        self._engine = self._sequence(self._numbers.coordinates)
        self._points: list[F64] = []

    def _sequence(self, dimensions: int) -> Any:
        """Return a sequence of scipy, scrambled by the agent's seed."""
        raise NotImplementedError

    def _propose(self) -> Any | None:
        for _ in range(self.patience):
            if not self._points:
                # A number that rounds to 1 would lie beyond the last bin.
                block = np.minimum(self._engine.random(self.block), np.nextafter(1.0, 0.0))
                self._points = list(block[::-1])
            candidate = self._numbers.at(self._points.pop())
            if candidate is not None:
                return candidate
        return self._numbers.drawn()


class HaltonSearch(_QuasiRandom):
    """Scrambled Halton points (scipy): evenly spread candidates, nothing learnt.

    VerifAI's passive sampler beside `random`.
    """

    name: ClassVar[str] = "halton"

    def _sequence(self, dimensions: int) -> Any:
        from scipy.stats import qmc

        return qmc.Halton(dimensions, seed=self.rng)


class SobolSearch(_QuasiRandom):
    """Scrambled Sobol points (scipy): evenly spread candidates, nothing learnt."""

    name: ClassVar[str] = "sobol"

    def _sequence(self, dimensions: int) -> Any:
        from scipy.stats import qmc

        return qmc.Sobol(dimensions, seed=self.rng)
