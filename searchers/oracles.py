"""Reference searchers that know the true failure rates: how far others are from the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from ..agents.agent import SearchAgent
from ..core import Evaluation, UsageError, clopper_pearson_lower

Set = frozenset[str]


class KnownRates(Protocol):
    """What the oracles read of a space's ``landscape``; see `vlmfail.envs.planted`.

    Attributes:
        rates: True failure rate of every valid set, `N`.
    """

    rates: npt.NDArray[np.float64]

    def candidate(self, row: int) -> Set:
        """Return the set at a row of `rates`."""
        ...

    def greedy_modes(self, tau: float) -> Iterator[int]:
        """Yield rows of minimal modes by decreasing rate, none of which holds another."""
        ...


def require_landscape(space: object, searcher: str) -> KnownRates:
    """Return the true rates of a space.

    Raises:
        UsageError: When nobody knows them.
    """
    found: KnownRates | None = getattr(space, "landscape", None)
    if found is None:
        raise UsageError(
            f"{searcher} reads the true failure rates, which only a planted landscape has: search "
            "VLMFail-Planted-v0 with it, or choose another searcher. See `vlmfail list`."
        )
    return found


def fewest_trials(threshold: float) -> int | None:
    """Return the fewest trials that confirm a rate of `threshold` when all of them fail.

    One-sided 95 % Clopper-Pearson lower bound, which is .05^(1/n) then: 6 for τ = .6. None when no
    number does.
    """
    if not 0.0 < threshold < 1.0:
        return None
    near = max(1, math.ceil(math.log(0.05) / math.log(threshold)) - 1)
    return next(n for n in range(near, near + 3) if clopper_pearson_lower(n, n) >= threshold)


class Oracle(SearchAgent[Set]):
    """Knows the true rates: proposes unseen sets by decreasing rate, ties in the space's order.

    The most true failure modes that any searcher could evaluate with m trials a set. Planted
    landscapes only.
    """

    name: ClassVar[str] = "oracle"

    def setup(self) -> None:
        """Sort the sets."""
        self._known = require_landscape(self.space, self.name)
        self._order = np.argsort(-self._known.rates, kind="stable")
        self._next = 0

    def ask(self, n: int) -> Sequence[Set]:
        """Return the next `n` sets."""
        rows = self._order[self._next : self._next + n]
        self._next += len(rows)
        return [self._known.candidate(int(row)) for row in rows]

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Learn nothing: all is known."""


class GreedyOracle(SearchAgent[Set]):
    """Knows the true rates: confirms minimal failure modes one after another, surest first.

    A mode is confirmed by the fewest fresh trials that can, all of which must fail: 6 for τ = .6.
    An attempt is over at the first pass. A mode of rate p then costs (1 - p^n) / (1 - p) trials an
    attempt and is confirmed with p^n, whatever came before; reports per trial rise with p, so that
    the best in expectation is to try the same mode again before any of a lower rate. Modes that
    hold or are part of an earlier one are left out. Planted landscapes only.
    """

    name: ClassVar[str] = "greedy-oracle"
    fixed_trials: ClassVar[bool] = False

    def setup(self) -> None:
        """Begin with the mode of the highest rate."""
        self._known = require_landscape(self.space, self.name)
        needed = fewest_trials(self.threshold)
        self._needed = needed or 0
        self._rows = self._known.greedy_modes(self.threshold) if needed else iter(())
        self._current: Set | None = None
        self._failed = 0
        self._reports: list[Set] = []

    def ask(self, n: int) -> Sequence[tuple[Set, int]]:
        """Return the mode under test with one trial; [] when all are confirmed."""
        if self._current is None:
            row = next(self._rows, None)
            if row is None:
                return []
            self._current, self._failed = self._known.candidate(row), 0
        return [(self._current, 1)]

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Count failures in a row."""
        for evaluation in evaluations:
            if evaluation.new.n:
                passed = evaluation.new.failures < evaluation.new.n
                self._failed = 0 if passed else self._failed + evaluation.new.failures
        if self._current is not None and self._failed >= self._needed:
            self._reports.append(self._current)
            self._current = None

    def reports(self) -> Sequence[Set]:
        """Return the confirmed modes, in order."""
        return list(self._reports)
