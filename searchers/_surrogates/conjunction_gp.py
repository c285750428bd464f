"""The interaction surrogate with an effect of some whole conjunctions beside (ours)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .interaction_gp import Array, InteractionGP

CORE_STEPS = (0.0, 1.0, 3.0, 8.0)
"""Variances of a conjunction's effect among which the evidence chooses (ours)."""


class ConjunctionGP(InteractionGP):
    """Adds, for conjunctions that are suspected, an effect of each set that holds all of one.

    Pairs and triples spread what four concepts do together over all of their parts, and what one
    known conjunction does over whatever resembles it. With an effect of its own the conjunction
    explains its failures, and the parts need not.
    """

    def __init__(self, *, mean: float, order: int = 3, cores: bool = True) -> None:
        """Start without observations and conjunctions.

        Args:
            mean: Of the bias, log-odds.
            order: Most concepts that have an effect together by themselves: 1, 2 or 3.
            cores: Whether conjunctions have effects at all.
        """
        super().__init__(mean=mean, order=order)
        if cores:
            self._steps["core"] = CORE_STEPS
        self._cores: Array = np.zeros((0, 0))
        self._holds: Array = np.zeros((0, 0))

    def suspect(self, cores: Sequence[npt.ArrayLike]) -> None:
        """Set the conjunctions, multi-hot; before `observe`."""
        self._cores = np.array(cores, dtype=np.float64) if len(cores) else np.zeros((0, 0))

    def observe(self, sets: npt.ArrayLike, failures: npt.ArrayLike, n: npt.ArrayLike) -> None:
        """Replace all observations."""
        super().observe(sets, failures, n)
        self._holds = self.holding(self._sets)

    def effects(self) -> Array:
        """Return the posterior mean of the conjunctions' effects, in their order."""
        return np.asarray(self.variances.core * (self._alpha @ self._holds))

    def holding(self, x: Array) -> Array:
        """Return which sets hold which conjunctions, `k x cores`."""
        if not len(self._cores):
            return np.zeros((len(x), 0))
        return np.asarray(x @ self._cores.T >= self._cores.sum(axis=1), dtype=np.float64)

    def _gram(self, variances: Variances) -> Array:
        return super()._gram(variances) + variances.core * (self._holds @ self._holds.T)

    def _cross(self, x: Array, shared: Array) -> Array:
        return super()._cross(x, shared) + self.variances.core * (self.holding(x) @ self._holds.T)

    def _prior(self, x: Array, sizes: Array) -> Array:
        return super()._prior(x, sizes) + self.variances.core * self.holding(x).sum(axis=1)
