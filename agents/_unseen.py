"""The nearest candidate that was not proposed: how a learner's repeats become new candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import SetSpace


class Unseen:
    """Candidates of a space, each returned once.

    Concept sets: the valid set with the fewest concepts more or less, of several one at random;
    where the space cannot be enumerated, a random one. Scene vectors: steps from the scene that
    grow until one is new.
    """

    tries, patience = 50, 10_000

    def __init__(self, space: Any, rng: np.random.Generator) -> None:
        """Start with nothing proposed."""
        self._space, self._rng = space, rng
        self._seen: set[str] = set()
        self._size: int | None = getattr(space, "size", None)
        self._rows: Any = None
        if getattr(space, "kind", None) == "concept_set" and isinstance(space, SetSpace):
            rows = space.valid_sets()
            if rows is not None:
                self._rows, self._size = rows.astype(np.float32), len(rows)
                self._left = np.ones(len(rows), dtype=bool)

    def nearest(self, candidate: Any) -> Any | None:
        """Return `candidate`, which may be invalid, or what is near it; None when none is left."""
        if self._size is not None and len(self._seen) >= self._size:
            return None
        if self._rows is not None:
            return self._nearest_row(candidate)
        if self._space.validate(candidate) is None:
            if self._space.kind == "vector":
                candidate = self._space.canonical(candidate)
            perturb = getattr(self._space, "perturb", None)
            for step in range(self.tries + 1):
                near = candidate
                if step and perturb is not None:
                    near = perturb(candidate, self._rng, step / self.tries)
                if self._new(near):
                    return near
        for _ in range(self.patience):
            drawn = self._space.sample(self._rng)
            if self._new(drawn):
                return drawn
        return None

    def _nearest_row(self, candidate: Any) -> Any:
        target = 2.0 * self._space.encode(candidate).astype(np.float32) - 1.0
        scores = np.where(self._left, self._rows @ target, -np.inf)
        rows = np.flatnonzero(scores == scores.max())
        row = int(rows[int(self._rng.integers(len(rows)))])
        self._left[row] = False
        found = self._space.from_multi_hot(self._rows[row])
        self._seen.add(self._space.key(found))
        return found

    def _new(self, candidate: Any) -> bool:
        key = self._space.key(candidate)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
