"""Candidates as numbers, for libraries that search a cube or a row of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...core import SetSpace
from ...searchers._kinds import require_vectors, wrong_kind
from ...searchers._set_table import SetTable
from ...searchers._surrogates.thompson import neighbours

F64 = npt.NDArray[np.float64]
Set = frozenset[str]


class Numbers(Protocol):
    """The unseen candidates of a space, behind vectors of numbers.

    A candidate that a method returns is taken: no method returns it again. None means that
    nothing is left, or that nothing turned up.

    Attributes:
        width: Length of `of`'s vectors and of `nearest`'s targets.
        coordinates: Length of `at`'s points.
    """

    width: int
    coordinates: int

    def of(self, candidate: Any) -> F64:
        """Return a candidate's own numbers: multi-hot, or the canonical vector."""
        ...

    def at(self, point: F64) -> Any | None:
        """Return the candidate at a point of [0, 1)^coordinates; None when it is taken."""
        ...

    def nearest(self, target: F64) -> Any | None:
        """Return a candidate as near to a target of `width` numbers as any, or nearly so."""
        ...

    def drawn(self) -> Any | None:
        """Return a random candidate, as `random` draws it."""
        ...

    def pool(self, count: int, centres: Sequence[Any]) -> tuple[list[Any], F64]:
        """Return random candidates and neighbours of `centres`, not taken, with their features."""
        ...

    def take(self, candidate: Any) -> None:
        """Take a candidate that `pool` named."""
        ...


class ListedSets:
    """The concept sets of a space that can be enumerated: all of it is exact.

    *Points.* The first coordinate is the size, uniform over the sizes that exist; the k-th of the
    others is the k-th concept of the set in catalogue order, by its distribution over the valid
    sets of that size that begin as this one does (the inverse Rosenblatt transform). So uniform
    points are the sets that `random` draws, and points that are spread evenly are sets spread
    evenly over sizes and concepts (ours).

    *Targets.* The nearest set in Euclidean distance to the target; of several one at random.
    """

    def __init__(self, space: SetSpace, rows: npt.NDArray[np.bool_], rng: Any) -> None:
        """Start with the sets of the multi-hot `rows`, none taken."""
        self._space, self._rng = space, rng
        self._table = SetTable(space, rows)
        self._left = np.ones(len(rows), dtype=bool)
        self._by_size: list[tuple[int, npt.NDArray[np.intp]]] = []
        sizes = rows.sum(axis=1)
        for size in np.unique(sizes):
            first = int(np.flatnonzero(sizes == size)[0])
            members = np.nonzero(rows[sizes == size])[1].reshape(-1, int(size))
            self._by_size.append((first, members))
        self.width = rows.shape[1]
        self.coordinates = 1 + int(sizes.max())

    def of(self, candidate: Set) -> F64:
        """Return the multi-hot vector."""
        return self._space.featurise(candidate).astype(np.float64)

    def at(self, point: F64) -> Set | None:
        """Return the set at a point; see the class."""
        first, members = self._by_size[int(point[0] * len(self._by_size))]
        low, high = 0, len(members)
        for column, number in enumerate(point[1 : members.shape[1] + 1]):
            part = members[low:high, column]
            concept = part[int(number * len(part))]
            low, high = (low + int(np.searchsorted(part, concept, side)) for side in SIDES)
        return self._taken(first + low) if self._left[first + low] else None

    def nearest(self, target: F64) -> Set | None:
        """Return the nearest set."""
        # |target - x|² is linear in a row x of zeros and ones.
        return self.best(2.0 * target - 1.0)

    def best(self, weights: F64) -> Set | None:
        """Return the set with the largest sum of its concepts' weights; of several any."""
        scores = np.where(self._left, self._table.scores(weights), -np.inf)
        rows = np.flatnonzero(scores == scores.max())
        row = int(rows[int(self._rng.integers(len(rows)))])
        return self._taken(row) if self._left[row] else None

    def weighted(self, weights: F64) -> Set | None:
        """Draw a set with a probability proportional to exp(sum of its concepts' weights)."""
        scores = np.where(self._left, self._table.scores(weights), -np.inf).astype(np.float64)
        if not self._left.any():
            return None
        heights = np.cumsum(np.exp(scores - scores.max()))
        row = int(np.searchsorted(heights, self._rng.random() * heights[-1], "right"))
        return self._taken(min(row, int(np.flatnonzero(self._left)[-1])))

    def usual(self) -> F64:
        """Return by concept how often `random` draws it: its share, sizes alike."""
        shares = [
            np.bincount(members.ravel(), minlength=self.width) / len(members)
            for _, members in self._by_size
        ]
        return np.asarray(np.mean(shares, axis=0))

    def drawn(self) -> Set | None:
        """Return a set whose size is uniform over the sizes left."""
        parts = [
            np.flatnonzero(self._left[first : first + len(members)]) + first
            for first, members in self._by_size
        ]
        parts = [rows for rows in parts if len(rows)]
        if not parts:
            return None
        rows = parts[int(self._rng.integers(len(parts)))]
        return self._taken(int(rows[int(self._rng.integers(len(rows)))]))

    def pool(self, count: int, centres: Sequence[Set]) -> tuple[list[Set], F64]:
        """Return random sets, uniform over those left, and neighbours of `centres`."""
        left = np.flatnonzero(self._left)
        chosen = np.zeros(len(self._left), dtype=bool)
        chosen[self._rng.choice(left, size=min(count, len(left)), replace=False)] = True
        for centre in centres:
            chosen[self._table.neighbours(centre)] = True
        rows = np.flatnonzero(chosen & self._left)
        sets = [self._table.candidate(int(row)) for row in rows]
        return sets, self._table.multi_hot(rows) if len(rows) else np.zeros((0, self.width))

    def take(self, candidate: Set) -> None:
        """Take a set."""
        self._left[self._table.find(candidate)] = False

    def _taken(self, row: int) -> Set:
        self._left[row] = False
        return self._table.candidate(row)


SIDES: tuple[Any, Any] = ("left", "right")


class DrawnSets:
    """The concept sets of a space too large to enumerate: draws, and steps from them.

    *Points.* The first coordinate is the largest size, each of the others a concept; one that
    would break a rule beyond mending gives way to the next in the catalogue that does not, and a
    set that still lacks something gets the first concept that completes it (ours).

    *Targets.* The best of `draws` random sets, followed uphill through its neighbours for `steps`
    steps (ours).
    """

    draws, steps, patience = 64, 4, 10_000

    def __init__(self, space: SetSpace, rng: Any) -> None:
        """Start with nothing taken."""
        self._space, self._rng = space, rng
        self._seen: set[Set] = set()
        self.width = len(space.concepts)
        self.coordinates = 1 + space.max_size

    def of(self, candidate: Set) -> F64:
        """Return the multi-hot vector."""
        return self._space.featurise(candidate).astype(np.float64)

    def at(self, point: F64) -> Set | None:
        """Return the set at a point; see the class."""
        conflict: Any = getattr(self._space, "conflict", lambda grown: None)
        concepts = self._space.concepts
        chosen: Set = frozenset()
        for number in point[1 : 2 + int(point[0] * self._space.max_size)]:
            start = int(number * len(concepts))
            for name in (*concepts[start:], *concepts[:start]):
                if name not in chosen and not conflict(chosen | {name}):
                    chosen = chosen | {name}
                    break
        if self._space.validate(chosen) is not None:
            chosen = next(iter(self._space.extensions(chosen)), frozenset())
        return self._taken(chosen) if chosen and chosen not in self._seen else None

    def nearest(self, target: F64) -> Set | None:
        """Return the nearest set that was found."""
        return self.best(2.0 * target - 1.0)

    def best(self, weights: F64) -> Set | None:
        """Return the set with the largest sum of weights that was found."""
        drawn = self._draws()
        if not drawn:
            return None
        best = drawn[int(np.argmax(self._scores(drawn, weights)))]
        for _ in range(self.steps):
            around = [best, *(s for s in neighbours(self._space, best) if s not in self._seen)]
            index = int(np.argmax(self._scores(around, weights)))
            if index == 0:
                break
            best = around[index]
        return self._taken(best)

    def weighted(self, weights: F64) -> Set | None:
        """Draw one of the random sets, with a probability proportional to exp(its weights)."""
        drawn = self._draws()
        if not drawn:
            return None
        scores = self._scores(drawn, weights)
        heights = np.cumsum(np.exp(scores - scores.max()))
        place = int(np.searchsorted(heights, self._rng.random() * heights[-1], "right"))
        return self._taken(drawn[min(place, len(drawn) - 1)])

    def usual(self) -> F64:
        """Return by concept its share of random sets."""
        drawn = [self._space.sample(self._rng) for _ in range(4 * self.draws)]
        return np.asarray(np.mean([self.of(one) for one in drawn], axis=0))

    def drawn(self) -> Set | None:
        """Return a random set."""
        for _ in range(self.patience):
            candidate = self._space.sample(self._rng)
            if candidate not in self._seen:
                return self._taken(candidate)
        return None

    def pool(self, count: int, centres: Sequence[Set]) -> tuple[list[Set], F64]:
        """Return random sets and neighbours of the first few `centres`."""
        found = dict.fromkeys(self._space.sample(self._rng) for _ in range(count))
        for centre in centres[: self.steps]:
            found.update(dict.fromkeys(neighbours(self._space, centre)))
        sets = [one for one in found if one not in self._seen]
        rows = np.stack([self.of(one) for one in sets]) if sets else np.zeros((0, self.width))
        return sets, rows

    def take(self, candidate: Set) -> None:
        """Take a set."""
        self._taken(candidate)

    def _draws(self) -> list[Set]:
        drawn = [self._space.sample(self._rng) for _ in range(self.draws)]
        left = [one for one in drawn if one not in self._seen]
        if left:
            return left
        one = self.drawn()
        return [] if one is None else [one]

    def _scores(self, sets: Sequence[Set], weights: F64) -> F64:
        return np.asarray(np.stack([self.of(one) for one in sets]) @ weights)

    def _taken(self, candidate: Set) -> Set:
        self._seen.add(candidate)
        return candidate


class SceneVectors:
    """Scene vectors: a point or a target is the vector itself, brought to its canonical form.

    A target whose scene is taken is perturbed by steps that grow until one is not (ours).
    """

    tries, patience = 50, 10_000

    def __init__(self, space: Any, rng: Any) -> None:
        """Start with nothing taken."""
        self._space, self._rng = space, rng
        self._seen: set[str] = set()
        self._size: int | None = getattr(space, "size", None)
        self.width = self.coordinates = len(space.names)

    def of(self, candidate: Any) -> F64:
        """Return the canonical vector."""
        return np.array(self._space.canonical(candidate), dtype=np.float64)

    def at(self, point: F64) -> Any | None:
        """Return the scene at a point."""
        candidate = self._space.canonical(np.clip(point, 0.0, 1.0))
        return self._taken(candidate)

    def nearest(self, target: F64) -> Any | None:
        """Return the scene of a target, or one near it."""
        found = self.at(target)
        if found is None and not self._empty:
            centre = self._space.canonical(np.clip(target, 0.0, 1.0))
            for step in range(1, self.tries + 1):
                near = self._space.perturb(centre, self._rng, step / self.tries)
                found = self._taken(near)
                if found is not None:
                    break
        return self.drawn() if found is None else found

    def drawn(self) -> Any | None:
        """Return a random scene."""
        for _ in range(0 if self._empty else self.patience):
            found = self._taken(self._space.sample(self._rng))
            if found is not None:
                return found
        return None

    def pool(self, count: int, centres: Sequence[Any]) -> tuple[list[Any], F64]:
        """Return random scenes, and for each of `centres` a share of scenes near it."""
        scenes = [self._space.sample(self._rng) for _ in range(count)]
        for centre in centres:
            near = (self._space.perturb(centre, self._rng) for _ in range(count // 20))
            scenes += near
        keyed = {self._space.key(one): one for one in scenes}
        left = [one for key, one in keyed.items() if key not in self._seen]
        features = [self._space.featurise(one).astype(np.float64) for one in left]
        return left, np.stack(features) if left else np.zeros((0, len(self._space.features)))

    def take(self, candidate: Any) -> None:
        """Take a scene."""
        self._seen.add(self._space.key(candidate))

    @property
    def _empty(self) -> bool:
        return self._size is not None and len(self._seen) >= self._size

    def _taken(self, candidate: Any) -> Any | None:
        key = self._space.key(candidate)
        if key in self._seen:
            return None
        self._seen.add(key)
        return candidate


def numbers_of(space: Any, name: str, rng: np.random.Generator) -> Numbers:
    """Return the numbers of a space's candidates.

    Args:
        space: The space.
        name: The searcher's name, for the error.
        rng: The searcher's generator, which breaks ties.

    Raises:
        UsageError: For candidates that are neither concept sets nor scene vectors.
    """
    kind = getattr(space, "kind", None)
    if kind == "concept_set" and isinstance(space, SetSpace):
        rows = space.valid_sets()
        return DrawnSets(space, rng) if rows is None else ListedSets(space, rows, rng)
    if kind != "vector":
        raise wrong_kind(space, name, "concept_set", "vector")
    return SceneVectors(require_vectors(space, name, "sample", "key", "canonical", "perturb"), rng)
