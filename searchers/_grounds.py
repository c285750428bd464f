"""Where a hunt for minimal failure modes looks for its next suspect: over all sets, or a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..core import SetSpace
from ._set_table import SetTable
from ._surrogates.conjunction_gp import ConjunctionGP
from ._surrogates.thompson import neighbours

Set = frozenset[str]
Array = npt.NDArray[np.float64]

Promise = Callable[[Array, Array], Array]
"""Returns the promise of sets by the mean log-odds of each, `k`, and those of what is left of it
without a concept, `D x k`, minus infinity where that is no valid set."""


class Ground(Protocol):
    """Sets that were neither closed nor banned."""

    def best(
        self, process: ConjunctionGP, cores: Sequence[Set], promise: Promise, count: int
    ) -> list[Set]:
        """Return up to `count` sets by promise, the highest first."""
        ...

    def draw(self, rng: np.random.Generator, count: int) -> list[Set]:
        """Return up to `count` random sets, not all distinct."""
        ...

    def close(self, candidate: Set) -> None:
        """Have a set never come again."""
        ...

    def ban_above(self, core: Set) -> None:
        """Have no set come again that holds `core`."""
        ...

    def refresh(self, rng: np.random.Generator, centres: Sequence[Set]) -> None:
        """Renew what was drawn of the space, where not all sets are known."""
        ...


class WholeGround:
    """Of a space that can be enumerated: all of its sets."""

    def __init__(self, space: SetSpace, table: SetTable, rows: npt.NDArray[np.bool_]) -> None:
        """Start with all sets, none closed."""
        self._space = space
        self._table = table
        self._left = np.ones(len(table), dtype=bool)
        self._less = removals(rows)
        self._rows: dict[Set, npt.NDArray[np.intp]] = {}

    def best(
        self, process: ConjunctionGP, cores: Sequence[Set], promise: Promise, count: int
    ) -> list[Set]:
        """Return the best of all; ties in the table's order."""
        bias, *effects = process.terms()
        means = self._table.interaction_scores(*effects).astype(np.float64) + bias
        for core, effect in zip(cores, process.effects(), strict=True):
            if abs(effect) > 1e-3:
                means[self._holding(core)] += effect
        value = promise(means, np.where(self._less >= 0, means[self._less], -np.inf))
        value[~self._left] = -np.inf
        count = min(count, int(self._left.sum()))
        rows = np.argpartition(-value, max(0, count - 1))[:count]
        rows = rows[np.lexsort((rows, -value[rows]))]
        return [self._table.candidate(int(row)) for row in rows]

    def draw(self, rng: np.random.Generator, count: int) -> list[Set]:
        """Return draws of the space that are left; when none of them is, some that are."""
        drawn = [self._space.sample(rng) for _ in range(count)]
        kept = [one for one in drawn if self._left[self._table.find(one)]]
        if kept:
            return kept
        rows = np.flatnonzero(self._left)
        some = rng.choice(rows, size=min(count, len(rows)), replace=False)
        return [self._table.candidate(int(row)) for row in some]

    def close(self, candidate: Set) -> None:
        """Have a set never come again."""
        self._left[self._table.find(candidate)] = False

    def ban_above(self, core: Set) -> None:
        """Have no set come again that holds `core`."""
        self._left[self._holding(core)] = False

    def _holding(self, core: Set) -> npt.NDArray[np.intp]:
        if core not in self._rows:
            self._rows[core] = np.flatnonzero(self._table.shared(core) == len(core))
        return self._rows[core]

    def refresh(self, rng: np.random.Generator, centres: Sequence[Set]) -> None:
        """Do nothing: all sets are there."""


class PoolGround:
    """Of a space too large to enumerate: random sets, and neighbours of what fails."""

    def __init__(self, space: SetSpace, size: int) -> None:
        """Start with an empty pool of `size` random sets."""
        self._space = space
        self._size = size
        self._closed: set[Set] = set()
        self._banned: list[Set] = []
        self._random: dict[Set, None] = {}
        self._near: dict[Set, None] = {}
        self._around: dict[Set, list[Set]] = {}
        self._less: dict[Set, list[int]] = {}

    def best(
        self, process: ConjunctionGP, cores: Sequence[Set], promise: Promise, count: int
    ) -> list[Set]:
        """Return the best of the pool; ties in its order."""
        sets = [one for one in {**self._random, **self._near} if self._free(one)]
        if not sets:
            return []
        rows = np.stack([self._space.encode(one) for one in sets]).astype(np.float64)
        places = np.full((self._space.max_size, len(sets)), -1)
        for i, one in enumerate(sets):
            columns = self._columns(one)
            places[: len(columns), i] = columns
        place, owner = np.nonzero(places >= 0)
        smaller = rows[owner]
        smaller[np.arange(len(owner)), places[place, owner]] = 0.0
        lesser = np.full(places.shape, -np.inf)
        lesser[place, owner] = process.means(smaller)
        value = promise(process.means(rows), lesser)
        order = np.argsort(-value, kind="stable")[:count]
        return [sets[int(i)] for i in order]

    def draw(self, rng: np.random.Generator, count: int) -> list[Set]:
        """Return draws of the space that are left."""
        drawn = [self._space.sample(rng) for _ in range(count)]
        return [one for one in drawn if self._free(one)]

    def close(self, candidate: Set) -> None:
        """Have a set never come again."""
        self._closed.add(candidate)
        self._random.pop(candidate, None)

    def ban_above(self, core: Set) -> None:
        """Have no set come again that holds `core`."""
        self._banned.append(core)
        self._random = {one: None for one in self._random if self._free(one)}

    def refresh(self, rng: np.random.Generator, centres: Sequence[Set]) -> None:
        """Replace a part of the random sets, and take the neighbours of `centres`."""
        kept = list(self._random)[len(self._random) // 8 :]
        fresh = self.draw(rng, self._size - len(kept))
        self._random = dict.fromkeys([*kept, *fresh])
        self._near = {}
        for centre in centres:
            if centre not in self._around:
                self._around[centre] = neighbours(self._space, centre)
            self._near.update(dict.fromkeys([centre, *self._around[centre]]))

    def _free(self, candidate: Set) -> bool:
        return candidate not in self._closed and not any(
            candidate >= core for core in self._banned
        )

    def _columns(self, one: Set) -> list[int]:
        """Return the columns of the concepts without which a valid set is left."""
        if one not in self._less:
            order = self._space.concepts
            kept = [c for c in one if len(one) > 1 and self._space.validate(one - {c}) is None]
            self._less[one] = sorted(order.index(c) for c in kept)
        return self._less[one]


def ground_of(space: SetSpace, pool: int) -> Ground:
    """Return all sets of a space, or a pool of them where they cannot be enumerated."""
    rows = space.valid_sets()
    if rows is None:
        return PoolGround(space, pool)
    return WholeGround(space, SetTable(space, rows), rows)


def removals(rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return for each set the rows of the sets with one concept less, `D x N`, -1 for none.

    Args:
        rows: The sets, multi-hot, `N x n`.
    """
    n = rows.shape[1]
    # A set is found by the sum of random words of its concepts; 64 bits tell millions apart.
    words = np.random.default_rng(0).integers(2**63, size=n, dtype=np.uint64)
    row, concept = np.divmod(np.flatnonzero(rows), n)
    sizes = np.bincount(row, minlength=len(rows))
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keys = np.zeros(len(rows), dtype=np.uint64)
    np.add.at(keys, row, words[concept])
    order = np.argsort(keys, kind="stable")
    wanted = keys[row] - words[concept]
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    less = np.full((int(sizes.max()), len(rows)), -1, dtype=np.intp)
    less[place, row] = np.where(keys[order][at] == wanted, order[at], -1)
    return less


class Cover:
    """Chooses random sets that hold many small combinations which no set that passed holds (ours).

    A conjunction that fails gives no hint before all of it is there. So a screen goes through the
    pairs and triples of concepts: one trial of a set tells of all that it holds.
    """

    #: Sets drawn for each that is chosen.
    draws = 48

    #: By how much a trial lowers what a pair or triple is worth.
    decay = 0.3

    def __init__(self, space: SetSpace) -> None:
        """Start with nothing covered."""
        n = len(space.concepts)
        self._column = {concept: i for i, concept in enumerate(space.concepts)}
        self._pairs = np.ones((n, n))
        self._triples = np.ones((n, n, n)) if n <= 200 else None
        # A pair is as likely to be what fails as a triple, and there are n/3 triples a pair.
        self._share = 3.0 / max(1, n - 2)

    def seen(self, candidate: Set) -> None:
        """Take note that a set was tried."""
        columns = self._columns(candidate)
        self._pairs[np.ix_(columns, columns)] *= self.decay
        if self._triples is not None:
            self._triples[np.ix_(columns, columns, columns)] *= self.decay

    def choose(self, drawn: Iterable[Set], known: Sequence[Set]) -> Set | None:
        """Return the drawn set that covers most, none that holds a known mode or nearly one."""
        best, most = None, -1.0
        for one in drawn:
            if any(len(core - one) <= (len(core) > 2) for core in known):
                continue
            worth = self._worth(one)
            if worth > most:
                best, most = one, worth
        return best

    def _worth(self, candidate: Set) -> float:
        columns = self._columns(candidate)
        s = len(columns)
        i, j = np.triu_indices(s, 1)
        pairs = float(self._pairs[np.ix_(columns, columns)][i, j].sum()) + 0.1 * s
        if self._triples is None or s < 3:
            return pairs
        cube = self._triples[np.ix_(columns, columns, columns)]
        total = sum(float(cube[a, b, b + 1 :].sum()) for a, b in zip(i, j, strict=True))
        return pairs + self._share * total

    def _columns(self, candidate: Set) -> list[int]:
        return sorted(self._column[concept] for concept in candidate)
