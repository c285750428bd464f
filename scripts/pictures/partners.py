"""What stands beside a concept in a picture: what it needs, and valid other concepts."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np

from vlmfail.core import UsageError
from vlmfail.envs.concept_sets import ConceptSetSpace


class Partners:
    """Answers for one space of concept sets."""

    def __init__(self, space: ConceptSetSpace) -> None:
        self.space = space

    @cached_property
    def _valid(self) -> list[frozenset[str]]:
        rows = self.space.valid_sets()
        if rows is None:
            raise UsageError("there are too many valid sets to choose partners from")
        return [self.space.from_multi_hot(row) for row in rows]

    @cached_property
    def least(self) -> dict[str, list[frozenset[str]]]:
        """By concept, the smallest valid sets that hold it: no valid one is inside them."""
        out: dict[str, list[frozenset[str]]] = {}
        for name in self.space.concepts:
            if name in self.space.implied:
                continue
            found: list[frozenset[str]] = []
            for candidate in self._valid:  # by size, so what is smaller comes first
                if name in candidate and not any(small <= candidate for small in found):
                    found.append(candidate)
            shortest = min(map(len, found))
            out[name] = [candidate for candidate in found if len(candidate) == shortest]
        return out

    def leaning_on(self, concept: str) -> frozenset[str]:
        """Return the concepts that may need `concept`: to name them is to name it."""
        return frozenset(
            name
            for name, sets in self.least.items()
            if name != concept and any(concept in candidate for candidate in sets)
        )

    def beside(
        self,
        base: frozenset[str],
        count: int,
        rng: np.random.Generator,
        without: Collection[str] = (),
    ) -> frozenset[str]:
        """Return `base` with up to `count` further concepts, drawn one by one, still valid."""
        out = base
        for _ in range(count):
            grown = [
                larger for larger in self.space.extensions(out) if not (larger - out) & set(without)
            ]
            if not grown:
                break
            out = grown[int(rng.integers(len(grown)))]
        return out
