"""Where a drawn function is largest among the unseen sets: over all of them, or over a pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...core import SetSpace
from .._set_table import SetTable
from .linear_gp import LinearGP
from .rbf_gp import RBFGP

Set = frozenset[str]
Array = npt.NDArray[np.float64]


class Unseen(Protocol):
    """The sets that were not proposed yet; a set that is returned is seen from then on."""

    def linear_maxima(
        self, process: LinearGP, rng: np.random.Generator, count: int, centres: Sequence[Set]
    ) -> list[Set]:
        """Return the arg max of `count` drawn linear functions, distinct; fewer at the end."""
        ...

    def pool_maxima(
        self, process: RBFGP, rng: np.random.Generator, count: int, centres: Sequence[Set]
    ) -> list[Set]:
        """Return the same for any functions, over random sets and neighbours of `centres`."""
        ...


class EnumeratedSets:
    """Unseen sets of a space that can be enumerated: linear maxima are exact."""

    def __init__(self, table: SetTable, seen: Iterable[Set], pool: int) -> None:
        """Start with all sets but those in `seen`; `pool` is the size of the random pool."""
        self._table = table
        self._unseen = np.ones(len(table), dtype=bool)
        self._unseen[[table.find(candidate) for candidate in seen]] = False
        self._pool = pool

    def linear_maxima(
        self, process: LinearGP, rng: np.random.Generator, count: int, centres: Sequence[Set]
    ) -> list[Set]:
        """Return maxima over all unseen sets; `centres` are not needed."""
        maxima: list[Set] = []
        # The bias is the same for all sets and cannot move an arg max.
        for weights in process.draw(rng, count)[0]:
            scores = np.where(self._unseen, self._table.scores(weights), -np.inf)
            row = int(scores.argmax())
            if not self._unseen[row]:
                break
            maxima.append(self._take(row))
        return maxima

    def pool_maxima(
        self, process: RBFGP, rng: np.random.Generator, count: int, centres: Sequence[Set]
    ) -> list[Set]:
        """Return maxima over random unseen rows and the unseen neighbours of `centres`."""
        rows = np.flatnonzero(self._unseen)
        if not len(rows):
            return []
        pool = np.zeros(len(self._table), dtype=bool)
        pool[rng.choice(rows, size=min(self._pool, len(rows)), replace=False)] = True
        for centre in centres:
            pool[self._table.neighbours(centre)] = True
        rows = np.flatnonzero(pool & self._unseen)
        draws = process.draw(self._table.multi_hot(rows), rng, count)
        return [self._take(int(rows[column])) for column in distinct_maxima(draws)]

    def _take(self, row: int) -> Set:
        self._unseen[row] = False
        return self._table.candidate(row)


class SampledSets:
    """Unseen sets of a space too large to enumerate: a pool of random sets, kept filled."""

    #: Draws of the space for one place in the pool, after which the place stays empty.
    patience = 20

    def __init__(self, space: SetSpace, seen: Iterable[Set], pool: int) -> None:
        """Start with an empty pool of `pool` random sets."""
        self._space = space
        self._seen = set(seen)
        self._size = pool
        self._random: dict[Set, None] = {}

    def linear_maxima(
        self, process: LinearGP, rng: np.random.Generator, count: int, centres: Sequence[Set]
    ) -> list[Set]:
        """Return the best of the pool for each drawn function, followed uphill to a maximum."""
        pool = self._fill(rng, centres)
        if not pool:
            return []
        weights = process.draw(rng, count)[0]
        maxima = []
        for row, column in enumerate(distinct_maxima(weights @ self._encode(pool).T)):
            best = self._climb(pool[column], weights[row])
            self._seen.add(best)
            maxima.append(best)
        return maxima

    def pool_maxima(
        self, process: RBFGP, rng: np.random.Generator, count: int, centres: Sequence[Set]
    ) -> list[Set]:
        """Return maxima over the pool."""
        pool = self._fill(rng, centres)
        if not pool:
            return []
        maxima = [pool[c] for c in distinct_maxima(process.draw(self._encode(pool), rng, count))]
        self._seen.update(maxima)
        return maxima

    def _encode(self, sets: Sequence[Set]) -> Array:
        return np.stack([self._space.encode(candidate) for candidate in sets]).astype(np.float64)

    def _fill(self, rng: np.random.Generator, centres: Sequence[Set]) -> list[Set]:
        self._random = {one: None for one in self._random if one not in self._seen}
        for _ in range((self._size - len(self._random)) * self.patience):
            if len(self._random) >= self._size:
                break
            drawn = self._space.sample(rng)
            if drawn not in self._seen:
                self._random[drawn] = None
        pool = dict(self._random)
        for centre in centres:
            pool.update(dict.fromkeys(neighbours(self._space, centre)))
        return [candidate for candidate in pool if candidate not in self._seen]

    def _climb(self, start: Set, weights: Array) -> Set:
        best = start
        # A start that an earlier climb of this batch has taken is left even downhill.
        value = -np.inf if best in self._seen else float(self._encode([best])[0] @ weights)
        while True:
            around = [near for near in neighbours(self._space, best) if near not in self._seen]
            if not around:
                return best
            scores = self._encode(around) @ weights
            if scores.max() <= value:
                return best
            value = float(scores.max())
            best = around[int(scores.argmax())]


def distinct_maxima(scores: Array) -> list[int]:
    """Return for each drawn function (`draws x k`) its largest column that none before took."""
    free = np.ones(scores.shape[1], dtype=bool)
    chosen: list[int] = []
    for row in scores:
        if not free.any():
            break
        column = int(np.where(free, row, -np.inf).argmax())
        free[column] = False
        chosen.append(column)
    return chosen


def neighbours(space: SetSpace, candidate: Set) -> list[Set]:
    """Return the valid sets one addition, removal or exchange away, without an enumeration."""
    found = dict.fromkeys(space.extensions(candidate))
    for concept in space.to_json(candidate):
        rest = candidate - {concept}
        if rest and space.validate(rest) is None:
            found[rest] = None
        found.update(dict.fromkeys(space.extensions(rest)))
    found.pop(candidate, None)
    return list(found)
