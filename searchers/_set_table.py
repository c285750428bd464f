"""All valid sets of a space in a form that is quick to score, find and draw from."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from ..core import SetSpace, UsageError
from ._kinds import wrong_kind

Floats = npt.NDArray[np.floating]
Indices = npt.NDArray[np.intp]


class SetTable:
    """The valid sets of an enumerable space, addressed by row.

    Members are kept instead of multi-hot rows: a set has at most D of them, so that a linear
    function of all sets is D/2 look-ups a set. The sum runs in catalogue order on every machine,
    which a matrix product does not promise.

    Attributes:
        sizes: Set sizes, `N`.
    """

    def __init__(self, space: SetSpace, rows: npt.NDArray[np.bool_]) -> None:
        """Index the multi-hot `rows`, `N x n`."""
        self._concepts = space.concepts
        self._column = {concept: i for i, concept in enumerate(space.concepts)}
        # One flat scan: far quicker than np.nonzero in two dimensions.
        row, concept = np.divmod(np.flatnonzero(rows), rows.shape[1])
        self.sizes: Indices = np.bincount(row, minlength=len(rows))
        position = np.arange(len(row)) - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        # Column n stands for "no further member" and has weight 0.
        nobody = rows.shape[1]
        depth = int(self.sizes.max())
        self._members = np.full(
            (depth + depth % 2, len(rows)), nobody, dtype=np.min_scalar_type(nobody)
        )
        self._members[position, row] = concept
        # A pair of members is one look-up in a table that stays in the processor's cache.
        # Widened first: numpy 1 would keep the small type beside a scalar, and overflow.
        self._places: dict[int, list[Indices]] = {}
        self._pairs = self._members[::2].astype(np.intp) * (nobody + 1) + self._members[1::2]

    @classmethod
    def of(cls, space: SetSpace) -> SetTable | None:
        """Return the table of a space, or None when it has too many sets to enumerate."""
        rows = space.valid_sets()
        return None if rows is None else cls(space, rows)

    def __len__(self) -> int:
        """Number of valid sets."""
        return len(self.sizes)

    def candidate(self, row: int) -> frozenset[str]:
        """Return the set at `row`."""
        members = self._members[: self.sizes[row], row]
        return frozenset(self._concepts[i] for i in members)

    def find(self, candidate: frozenset[str]) -> int:
        """Return the row of a valid set.

        Raises:
            UsageError: When the set is not in the table.
        """
        found = np.flatnonzero(self.sizes == len(candidate))
        for position, member in enumerate(sorted(self._column[c] for c in candidate)):
            found = found[self._members[position, found] == member]
        if len(found) != 1:
            raise UsageError(f"{{{'+'.join(sorted(candidate))}}} is not a valid set of this space")
        return int(found[0])

    def multi_hot(self, rows: Indices) -> npt.NDArray[np.float64]:
        """Return multi-hot vectors of `rows`, `len(rows) x n`."""
        hot = np.zeros((len(rows), len(self._concepts) + 1))
        hot[np.arange(len(rows))[:, None], self._members[:, rows].T] = 1.0
        return hot[:, :-1]

    def scores(self, weights: Floats) -> npt.NDArray[np.float32]:
        """Return the sum of its members' weights for every set, `N`.

        Args:
            weights: One weight a concept, `n`.
        """
        padded = np.append(weights, 0.0).astype(np.float32)
        sums = (padded[:, None] + padded).ravel()
        total: npt.NDArray[np.float32] = sums.take(self._pairs[0])
        for pairs in self._pairs[1:]:
            total += sums.take(pairs)
        return total

    def interaction_scores(
        self, singles: Floats, pairs: Floats, triples: Floats | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the sum over its concepts, pairs and triples for every set, each once, `N`.

        Args:
            singles: One weight a concept, `n`.
            pairs: One a pair, `n x n`, symmetric.
            triples: One a triple, `n x n x n`, symmetric; None or empty for none.
        """
        total = self.scores(singles)
        width = len(self._concepts) + 1
        flat = np.zeros((width, width), dtype=np.float32)
        flat[:-1, :-1] = pairs
        for at in self._combinations(2):
            total += flat.ravel().take(at)
        if triples is not None and triples.size:
            cube = np.zeros((width, width, width), dtype=np.float32)
            cube[:-1, :-1, :-1] = triples
            for at in self._combinations(3):
                total += cube.ravel().take(at)
        return total

    def _combinations(self, size: int) -> list[Indices]:
        """Return where the weights of each combination of `size` member places stand."""
        if size not in self._places:
            width = len(self._concepts) + 1
            self._places[size] = []
            for chosen in combinations(range(int(self.sizes.max())), size):
                at = self._members[chosen[0]].astype(np.intp)
                for place in chosen[1:]:
                    at = at * width + self._members[place]
                self._places[size].append(at)
        return self._places[size]

    def shared(self, candidate: frozenset[str]) -> Indices:
        """Return how many concepts every set has in common with `candidate`, `N`."""
        present = np.zeros(len(self._concepts), dtype=np.float32)
        present[[self._column[concept] for concept in candidate]] = 1.0
        return self.scores(present).astype(np.intp)

    def neighbours(self, candidate: frozenset[str]) -> Indices:
        """Return rows one addition, removal or exchange away from `candidate`."""
        shared = self.shared(candidate)
        distance = self.sizes + len(candidate) - 2 * shared
        # Two exchanged-for-nothing removals also differ by 2; only equal sizes are exchanges.
        exchanged = (distance == 2) & (self.sizes == len(candidate))
        return np.flatnonzero((distance == 1) | exchanged)


def require_sets(space: object, searcher: str) -> SetSpace:
    """Return `space` as a space of concept sets.

    Raises:
        UsageError: When its candidates are something else.
    """
    if getattr(space, "kind", None) != "concept_set" or not isinstance(space, SetSpace):
        raise wrong_kind(space, searcher, "concept_set")
    return space
