"""All valid sets of the driving catalogue as bit masks: quick to find, to shrink and to count."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..concept_sets import ConceptSetSpace

Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.intp]


class SetMasks:
    """The valid sets of a space of at most 32 concepts, addressed by row of `valid_sets()`.

    Attributes:
        space: The space.
        masks: One bit a concept, bit i = the i-th of the catalogue, `N`.
        sizes: Set sizes, `N`.
        members: Catalogue indices in ascending order, `D x N`; the number of concepts where a set
            has no further member.
        weights: How likely `ConceptSetSpace.sample` draws a set, `N`: sizes uniform, then uniform
            within a size.
    """

    def __init__(self, space: ConceptSetSpace) -> None:
        """Index the valid sets of `space`."""
        rows = space.valid_sets()
        n = len(space.concepts)
        if rows is None or n > 32:
            raise ValueError("only a space of at most 32 concepts that can be enumerated")
        self.space = space
        self.masks: Masks = (rows * (np.uint32(1) << np.arange(n, dtype=np.uint32))).sum(
            axis=1, dtype=np.uint32
        )
        row, concept = np.divmod(np.flatnonzero(rows), n)
        self.sizes: Rows = np.bincount(row, minlength=len(rows))
        place = np.arange(len(row)) - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        self.members: Rows = np.full((space.max_size, len(rows)), n, dtype=np.intp)
        self.members[place, row] = concept
        sizes, counts = np.unique(self.sizes, return_counts=True)
        share = np.zeros(sizes.max() + 1)
        share[sizes] = 1.0 / (len(sizes) * counts)
        self.weights: Floats = share[self.sizes]
        self._bits = {concept: 1 << i for i, concept in enumerate(space.concepts)}
        self._order: Rows = np.argsort(self.masks)
        self._sorted: Masks = self.masks[self._order]

    def __len__(self) -> int:
        """Number of valid sets."""
        return len(self.masks)

    def mask(self, candidate: frozenset[str]) -> int:
        """Return the bits of a set of the catalogue's ids, valid or not."""
        bits = self._bits
        return sum(bits[one] for one in candidate - self.space.implied)

    def candidate(self, row: int) -> frozenset[str]:
        """Return the set at `row`."""
        return frozenset(self.space.concepts[i] for i in self.members[: self.sizes[row], row])

    def find(self, masks: Masks) -> Rows:
        """Return the rows of sets given as bits, -1 for a set that is not valid."""
        place = np.searchsorted(self._sorted, masks)
        place[place == len(self)] = 0
        return np.where(self._sorted[place] == masks, self._order[place], -1)

    def row(self, candidate: frozenset[str]) -> int:
        """Return the row of a set of the catalogue's ids, -1 when it is not valid."""
        mask = np.uint32(self.mask(candidate))
        place = int(self._sorted.searchsorted(mask))
        found = place < len(self) and self._sorted[place] == mask
        return int(self._order[place]) if found else -1

    def holding(self, mask: int) -> npt.NDArray[np.bool_]:
        """Return which sets hold all concepts of `mask`, `N`."""
        held: npt.NDArray[np.bool_] = (self.masks & np.uint32(mask)) == np.uint32(mask)
        return held

    def touching(self, mask: int) -> npt.NDArray[np.bool_]:
        """Return which sets hold a concept of `mask`, `N`."""
        touched: npt.NDArray[np.bool_] = (self.masks & np.uint32(mask)) != 0
        return touched


def driving_space() -> ConceptSetSpace:
    """Return the space of the driving catalogue's concept sets, up to five of 30."""
    return driving_sets().space


@lru_cache(maxsize=1)
def driving_sets() -> SetMasks:
    """Return the driving catalogue's 110 650 valid sets; built once a process."""
    from ..driving.catalogue import catalogue
    from ..driving.rules import rules

    return SetMasks(rules().space(catalogue()))
