"""Random search without replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..agents.agent import SearchAgent
from ..core import Evaluation, SetSpace
from ._set_table import SetTable


class Urn:
    """Numbers 0 to `size` - 1, drawn without replacement.

    A Fisher-Yates shuffle that stores only the places it has touched: a draw costs the same
    whatever the size.
    """

    def __init__(self, size: int) -> None:
        """Fill the urn."""
        self._left = size
        self._moved: dict[int, int] = {}

    def __len__(self) -> int:
        """How many numbers are left."""
        return self._left

    def draw(self, rng: np.random.Generator) -> int:
        """Take one of the numbers left, uniformly."""
        place = int(rng.integers(self._left))
        self._left -= 1
        drawn = self._moved.get(place, place)
        self._moved[place] = self._moved.pop(self._left, self._left)
        return drawn


class RandomSearch(SearchAgent[Any]):
    """Random valid candidates without replacement, set sizes uniform.

    Concept sets: the size is uniform over those sizes in 1..D that still have unseen sets, the
    set uniform over the unseen ones of that size (Revelio, section 4, baseline; "without
    replacement" is ours). Exact when the space can be enumerated; else, and for other kinds of
    candidates, the space's own draws, of which repeats are dropped.
    """

    name: ClassVar[str] = "random"

    #: Draws in a row that only repeat, after which a space that cannot be enumerated counts as
    #: exhausted.
    patience = 10_000

    def setup(self) -> None:
        """Fill one urn a set size."""
        self._seen: set[str] = set()
        self._table: SetTable | None = None
        if getattr(self.space, "kind", None) == "concept_set" and isinstance(self.space, SetSpace):
            self._table = SetTable.of(self.space)
        if self._table is not None:
            by_size = [np.flatnonzero(self._table.sizes == s) for s in np.unique(self._table.sizes)]
            self._urns = [(rows, Urn(len(rows))) for rows in by_size]

    def ask(self, n: int) -> Sequence[Any]:
        """Return at most `n` unseen candidates; fewer when the space runs out."""
        batch = []
        for _ in range(n):
            candidate = self._draw() if self._table is None else self._draw_row(self._table)
            if candidate is None:
                break
            batch.append(candidate)
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Learn nothing."""

    def _draw_row(self, table: SetTable) -> frozenset[str] | None:
        filled = [(rows, urn) for rows, urn in self._urns if len(urn)]
        if not filled:
            return None
        rows, urn = filled[int(self.rng.integers(len(filled)))]
        return table.candidate(int(rows[urn.draw(self.rng)]))

    def _draw(self) -> Any | None:
        for _ in range(self.patience):
            candidate = self.space.sample(self.rng)
            key = self.space.key(candidate)
            if key not in self._seen:
                self._seen.add(key)
                return candidate
        return None
