"""Diversity-aware beam search over concept sets (Revelio, Algorithm 1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..agents.agent import SearchAgent
from ..core import AgentError, Evaluation, SetSpace, UsageError
from . import _knobs
from ._set_table import SetTable, require_sets

Set = frozenset[str]

#: Draws among which the smallest valid sets are looked for, where no singleton is valid and the
#: space is too large to enumerate.
START_DRAWS = 256


class BeamLevels:
    """The levels of one beam search, apart from the agent that owns its generator.

    Within a level the order is drawn by the generator, so that a level which the budget cuts is
    cut fairly; the same order breaks ties when sets are kept (ours).
    """

    def __init__(
        self,
        space: SetSpace,
        rng: np.random.Generator,
        *,
        width: int,
        diversity: float,
        max_size: int,
    ) -> None:
        """Start at the valid singletons, or at the smallest valid sets when there are none.

        A space of sets with gaps between them, such as those of a folder of pictures, says where to
        start (`roots`) and what is nearest above a set (`steps`); its levels hold sets of several
        sizes.

        Raises:
            UsageError: When no valid set is as small as `max_size`.
        """
        self._space = space
        self._rng = rng
        self._width = width
        self._diversity = diversity
        self._max_size = max_size
        self._steps: Callable[[Set], list[Set]] = getattr(space, "steps", space.extensions)
        roots = getattr(space, "roots", None)
        start = _smallest_sets(space, rng) if roots is None else roots()
        if min(map(len, start)) > max_size:
            raise UsageError(
                f"max_size: no valid set has {max_size} concepts or fewer, "
                f"the smallest has {min(map(len, start))}"
            )
        self._proposed: set[Set] = set()
        self._queue = self._shuffled(self._new(start))
        self._rates: dict[Set, float | None] = {}
        self._waiting: dict[Set, None] = {}

    def propose(self, n: int) -> list[Set]:
        """Return at most `n` sets of one level; [] when the last level is done.

        Raises:
            AgentError: When a level must be judged of which some sets were not told.
        """
        if not self._queue:
            self._queue = self._shuffled(self._next_level())
            self._rates.clear()
        batch = [self._queue.popleft() for _ in range(min(n, len(self._queue)))]
        self._waiting.update(dict.fromkeys(batch))
        self._proposed.update(batch)
        return batch

    def told(self, candidate: Set, rate: float | None) -> None:
        """Record the failure rate of a proposed set; None when it has no data.

        Raises:
            AgentError: When the set was not proposed, or was told already.
        """
        if candidate not in self._waiting:
            raise AgentError(
                f"tell() got {{{self._space.key(candidate)}}}, which ask() did not just propose"
            )
        del self._waiting[candidate]
        self._rates[candidate] = rate

    def _next_level(self) -> list[Set]:
        if self._waiting:
            raise AgentError(
                f"ask() was called before tell() got {len(self._waiting)} of the proposed sets, "
                f"the first is {{{self._space.key(next(iter(self._waiting)))}}}"
            )
        kept = select_diverse(self._space, self._rates, self._width, self._diversity)
        kept = [candidate for candidate in kept if len(candidate) < self._max_size]
        children = self._new(child for parent in kept for child in self._steps(parent))
        # Where no single concept leads on (two that need each other), take the nearest supersets.
        return children or self._new(self._nearest_supersets(kept))

    def _new(self, sets: Iterable[Set]) -> list[Set]:
        """Return each set once that was not proposed and is not too large."""
        return [
            one
            for one in _distinct(sets)
            if one not in self._proposed and len(one) <= self._max_size
        ]

    def _nearest_supersets(self, kept: Sequence[Set]) -> list[Set]:
        rows = self._space.valid_sets() if kept else None
        if rows is None:
            return []
        sizes = rows.sum(axis=1)
        found = np.zeros(len(rows), dtype=bool)
        for candidate in kept:
            inside = rows[:, self._space.encode(candidate).astype(bool)].all(axis=1)
            found |= inside & (sizes > len(candidate)) & (sizes <= self._max_size)
        if not found.any():
            return []
        found &= sizes == sizes[found].min()
        return [self._space.from_multi_hot(row) for row in rows[found]]

    def _shuffled(self, level: Sequence[Set]) -> deque[Set]:
        return deque(level[i] for i in self._rng.permutation(len(level)))


def select_diverse(
    space: SetSpace, rates: dict[Set, float | None], width: int, diversity: float
) -> list[Set]:
    """Keep `width` sets greedily by V = rate - λ · max Jaccard similarity to those kept before.

    A set without data never ranks above one with data. Of equal sets the first in `rates` is
    kept (Revelio, equation 1; ties and sets without data: ours).
    """
    sets = list(rates)
    if not sets:
        return []
    has_data = np.array([rates[candidate] is not None for candidate in sets])
    values = np.array([rates[candidate] or 0.0 for candidate in sets])
    # Whole-number products: similarities and therefore ties are the same on every machine.
    rows = np.stack([space.encode(candidate) for candidate in sets]).astype(np.int64)
    sizes = rows.sum(axis=1)
    nearest = np.zeros(len(sets))
    left = np.ones(len(sets), dtype=bool)
    kept: list[Set] = []
    while len(kept) < width and left.any():
        eligible = np.flatnonzero(left & has_data if (left & has_data).any() else left)
        best = int(eligible[np.argmax((values - diversity * nearest)[eligible])])
        kept.append(sets[best])
        left[best] = False
        shared = rows @ rows[best]
        nearest = np.maximum(nearest, shared / (sizes + sizes[best] - shared))
    return kept


def _smallest_sets(space: SetSpace, rng: np.random.Generator) -> list[Set]:
    singletons = [frozenset({concept}) for concept in space.concepts]
    valid = [single for single in singletons if space.validate(single) is None]
    if valid:
        return valid
    table = SetTable.of(space)
    if table is not None:
        smallest = np.flatnonzero(table.sizes == table.sizes.min())
        return [table.candidate(int(row)) for row in smallest]
    drawn = [space.sample(rng) for _ in range(START_DRAWS)]
    size = min(map(len, drawn))
    return _distinct(candidate for candidate in drawn if len(candidate) == size)


def _distinct(sets: Iterable[Set]) -> list[Set]:
    return list(dict.fromkeys(sets))


class BeamSearch(SearchAgent[Set]):
    """Diversity-aware beam search, from single concepts to sets of D (Revelio, Algorithm 1).

    Level 1 holds all valid singletons; of each level the `width` sets with the largest
    V = rate - λ · max Jaccard similarity are kept and grown by every compatible concept. A level
    is judged when all of its sets are told. Concepts that are valid only beside another (a
    modifier beside an entity) are reached by growing the other. When the last level is done the
    search ends, with budget left or not: `ask` returns [].
    """

    name: ClassVar[str] = "beam"

    def __init__(
        self, *, width: int = 5, diversity: float = 0.3, max_size: int | None = None
    ) -> None:
        """Set the knobs.

        Args:
            width: Sets kept a level, k (Revelio, Appendix D.1).
            diversity: Weight λ of the similarity to the sets kept before; the paper gives none,
                0.3 is ours.
            max_size: Deepest level D; the space's own maximum by default.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.width = _knobs.whole("width", width, 1)
        self.diversity = _knobs.real("diversity", diversity, 0.0)
        self.max_size = None if max_size is None else _knobs.whole("max_size", max_size, 1)

    def setup(self) -> None:
        """Start at level 1."""
        space = require_sets(self.space, self.name)
        if self.max_size is not None and self.max_size > space.max_size:
            raise UsageError(
                f"max_size: this env's sets have at most {space.max_size} concepts, "
                f"got {self.max_size}"
            )
        self._levels = BeamLevels(
            space,
            self.rng,
            width=self.width,
            diversity=self.diversity,
            max_size=self.max_size or space.max_size,
        )

    def ask(self, n: int) -> Sequence[Set]:
        """Return at most `n` sets of the current level."""
        return self._levels.propose(n)

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Record the rates of the level."""
        for evaluation in evaluations:
            self._levels.told(evaluation.candidate, evaluation.rate)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {"width": self.width, "diversity": self.diversity, "max_size": self.max_size}
