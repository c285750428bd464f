"""The unseen sets that a surrogate ranks highest: of all sets, or of a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...core import SetSpace
from .._set_table import SetTable
from .interaction_gp import InteractionGP
from .thompson import neighbours

Set = frozenset[str]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Some unseen sets.

    Attributes:
        rows: The sets, multi-hot, `k x features`.
        at: Returns the set of a row.
    """

    rows: Array
    at: Callable[[int], Set]


class Shortlist(Protocol):
    """Sets that were neither taken nor banned."""

    def draw(self, rng: np.random.Generator, count: int) -> list[Set]:
        """Take `count` random sets; fewer when no more are left."""
        ...

    def highest(
        self,
        process: InteractionGP,
        count: int,
        rng: np.random.Generator,
        centres: Sequence[Set],
    ) -> Ranked:
        """Return up to `count` sets by posterior mean, highest first; none is taken.

        Args:
            process: The surrogate, fitted.
            count: How many.
            rng: Fills the pool, where there is one.
            centres: Sets whose neighbours join the pool.
        """
        ...

    def take(self, sets: Iterable[Set]) -> None:
        """Have sets never come again."""
        ...

    def ban(self, core: Set) -> None:
        """Have no set come again that holds `core` or is part of it."""
        ...


class EnumeratedShortlist:
    """Of a space that can be enumerated: over all of its sets."""

    def __init__(self, table: SetTable) -> None:
        """Start with all sets."""
        self._table = table
        self._left = np.ones(len(table), dtype=bool)

    def draw(self, rng: np.random.Generator, count: int) -> list[Set]:
        """Take `count` sets, each as likely."""
        rows = np.flatnonzero(self._left)
        drawn = rng.choice(rows, size=min(count, len(rows)), replace=False)
        self._left[drawn] = False
        return [self._table.candidate(int(row)) for row in drawn]

    def highest(
        self,
        process: InteractionGP,
        count: int,
        rng: np.random.Generator,
        centres: Sequence[Set],
    ) -> Ranked:
        """Return the highest of all; ties in the table's order."""
        means = self._table.interaction_scores(*process.terms()[1:])
        means[~self._left] = -np.inf
        count = min(count, int(self._left.sum()))
        rows = np.argpartition(-means, max(0, count - 1))[:count]
        # Which of equal sets the partition keeps is numpy's affair, their order is not.
        rows = rows[np.lexsort((rows, -means[rows]))]
        return Ranked(self._table.multi_hot(rows), lambda i: self._table.candidate(int(rows[i])))

    def take(self, sets: Iterable[Set]) -> None:
        """Have sets never come again."""
        for candidate in sets:
            self._left[self._table.find(candidate)] = False

    def ban(self, core: Set) -> None:
        """Have no set come again that holds `core` or is part of it."""
        shared = self._table.shared(core)
        self._left[(shared == len(core)) | (shared == self._table.sizes)] = False


class SampledShortlist:
    """Of a space too large to enumerate: over random sets and neighbours of what fails."""

    #: Draws of the space for one place in the pool, after which the place stays empty.
    patience = 20

    def __init__(self, space: SetSpace, pool: int) -> None:
        """Start with an empty pool of `pool` random sets."""
        self._space = space
        self._size = pool
        self._taken: set[Set] = set()
        self._banned: list[Set] = []
        self._pool: dict[Set, None] = {}

    def draw(self, rng: np.random.Generator, count: int) -> list[Set]:
        """Take `count` of the space's own draws."""
        self._fill(rng)
        drawn = list(self._pool)[:count]
        self.take(drawn)
        return drawn

    def highest(
        self,
        process: InteractionGP,
        count: int,
        rng: np.random.Generator,
        centres: Sequence[Set],
    ) -> Ranked:
        """Return the highest of the pool."""
        self._fill(rng)
        pool = dict(self._pool)
        for centre in centres:
            pool.update((n, None) for n in neighbours(self._space, centre) if self._free(n))
        sets = list(pool)
        rows = np.zeros((len(sets), len(self._space.concepts)))
        for row, candidate in zip(rows, sets, strict=True):
            row[:] = self._space.encode(candidate)
        order = np.argsort(-process.means(rows), kind="stable")[:count]
        return Ranked(rows[order], lambda i: sets[int(order[i])])

    def take(self, sets: Iterable[Set]) -> None:
        """Have sets never come again."""
        for candidate in sets:
            self._taken.add(candidate)
            self._pool.pop(candidate, None)

    def ban(self, core: Set) -> None:
        """Have no set come again that holds `core` or is part of it."""
        self._banned.append(core)
        self._pool = {one: None for one in self._pool if self._free(one)}

    def _fill(self, rng: np.random.Generator) -> None:
        for _ in range((self._size - len(self._pool)) * self.patience):
            if len(self._pool) >= self._size:
                return
            drawn = self._space.sample(rng)
            if self._free(drawn):
                self._pool[drawn] = None

    def _free(self, candidate: Set) -> bool:
        return candidate not in self._taken and not any(
            candidate >= core or candidate <= core for core in self._banned
        )


def shortlist_of(space: SetSpace, pool: int, *, pooled: bool = False) -> Shortlist:
    """Return the shortlist of a space.

    Args:
        space: The candidates.
        pool: Size of the pool where sets cannot be enumerated.
        pooled: Take the pool even where they can.
    """
    table = None if pooled else SetTable.of(space)
    return SampledShortlist(space, pool) if table is None else EnumeratedShortlist(table)
