"""The concept sets of which pictures exist, where those cannot be drawn at will."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations

import numpy as np

from ..core import CandidateSpace, UsageError, Violation
from .concept_sets import ConceptSetSpace
from .generated import GeneratedRenderer
from .set_rules import Rows

Set = frozenset[str]

RULE = "PICTURES"
"""Id of the rule that a set needs a picture."""


class PicturedSets(ConceptSetSpace):
    """The valid sets of a space that have pictures (core.SetSpace).

    A set is grown to its *nearest* larger sets: `extensions` adds exactly one concept, as ever,
    while `steps` passes over sizes of which there is no picture. Every set is a root or lies a
    number of steps above one.
    """

    def __init__(self, base: ConceptSetSpace, supply: Mapping[tuple[str, ...], int]) -> None:
        """Keep what the rules of `base` allow.

        Args:
            base: The domain's space.
            supply: By ids of a set, how many different pictures it has.

        Raises:
            UsageError: The rules allow none of the sets.
        """
        super().__init__(base.concepts, base.rules, base.max_size, base.implied)
        order = {concept: i for i, concept in enumerate(self.concepts)}
        kept = {
            frozenset(ids) - self.implied: number
            for ids, number in supply.items()
            if base.validate(frozenset(ids)) is None
        }
        if not kept:
            raise UsageError("the rules of the domain forbid every set that has pictures")
        ranked = sorted(kept, key=lambda one: (len(one), sorted(order[c] for c in one)))
        self._supply: dict[Set, int] = {one: kept[one] for one in ranked}

    def __len__(self) -> int:
        """Number of sets."""
        return len(self._supply)

    @property
    def pictures(self) -> int:
        """Number of different pictures of all sets together."""
        return sum(self._supply.values())

    # -- what a search asks ---------------------------------------------------------------------

    def validate(self, candidate: Set) -> Violation | None:
        """Return the broken rule, which may be that the set has no picture, or None."""
        broken = super().validate(candidate)
        if broken is None and candidate - self.implied not in self._supply:
            return Violation(RULE, f"no picture shows this set ({len(self)} other sets have some)")
        return broken

    def conflict(self, candidate: Set) -> Violation | None:
        """Return a broken rule that no further concept can mend, or None."""
        wanted = candidate - self.implied
        if any(wanted <= one for one in self._supply):
            return None
        return super().conflict(candidate) or Violation(RULE, "no picture shows these together")

    def extensions(self, candidate: Set) -> list[Set]:
        """Return the sets with pictures and exactly one concept more, in catalogue order."""
        return [one for one in super().extensions(candidate) if one in self._supply]

    def roots(self) -> list[Set]:
        """Return the sets that hold no smaller one, by size, then in catalogue order."""
        return [one for one in self._supply if not self._between(frozenset(), one)]

    def steps(self, candidate: Set) -> list[Set]:
        """Return the nearest larger sets: no other lies between, by size, then in catalogue order.

        `candidate` itself need not have a picture.
        """
        start = candidate - self.implied
        return [one for one in self._supply if start < one and not self._between(start, one)]

    def completed(self, candidate: Set) -> Set:
        """Return the smallest set that holds `candidate`; itself when there is none."""
        wanted = candidate - self.implied
        return next((one for one in self._supply if wanted <= one), candidate)

    def _between(self, low: Set, high: Set) -> bool:
        """Whether a set lies strictly between two."""
        free = sorted(high - low)
        if 2 ** len(free) > len(self._supply):
            return any(low < one < high for one in self._supply)
        return any(
            low.union(added) in self._supply
            for number in range(1, len(free))
            for added in combinations(free, number)
        )

    @cached_property
    def _rows_by_size(self) -> list[Rows]:
        rows = np.stack([self.encode(one).astype(bool) for one in self._supply])
        sizes = rows.sum(axis=1)
        return [rows[sizes == size] for size in np.unique(sizes)]


def candidate_space(
    space: CandidateSpace[Set], renderer: object
) -> CandidateSpace[Set] | PicturedSets:
    """Return what a search over `renderer` may propose: of a folder of pictures, its sets.

    Args:
        space: The domain's space; one of another kind than concept sets is returned as it is.
        renderer: The renderer.

    Raises:
        UsageError: The domain's rules allow none of the sets that have pictures.
    """
    if not isinstance(renderer, GeneratedRenderer) or not isinstance(space, ConceptSetSpace):
        return space
    supply: Mapping[tuple[str, ...], int] | None = getattr(renderer.source, "supply", None)
    return space if supply is None else PicturedSets(space, supply)
