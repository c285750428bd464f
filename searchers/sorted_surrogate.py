"""Adaptive random testing that a surrogate steers to failures (FATE-VLA, Algorithm 1)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from . import _knobs
from ._surrogates.outcome_trees import OutcomeForest, OutcomeModel, OutcomeTree
from .adaptive_random import F32, F64, CandidateSetSearch


class SurrogateSearch(CandidateSetSearch):
    """FSCS-ART until a failure and a pass are known; then a model, refitted to all outcomes told.

    The model is refitted before every `ask` that follows new outcomes. "Predicted to fail" is a
    probability of failure above one half.
    """

    def setup(self) -> None:
        """Start with an empty model."""
        super().setup()
        self._model = self._make_model()
        self._fitted = 0

    def _make_model(self) -> OutcomeModel:
        """Return an unfitted model."""
        raise NotImplementedError

    @property
    def _guided(self) -> bool:
        """Whether both outcomes are known."""
        return any(self._failed) and not all(self._failed)

    def _probabilities(self, features: F32) -> F64:
        """Return the probabilities of failure by the model of all outcomes told."""
        if self._fitted != len(self._told):
            self._fitted = len(self._told)
            seed = int(self.rng.integers(2**31))
            self._model.fit(self._told.array, np.array(self._failed), seed)
        return self._model.failure_probability(features)

    def _pick(self, features: F32, distances: F64) -> int:
        if not self._guided:
            return int(np.argmax(distances))
        return self._guided_pick(self._probabilities(features), distances)

    def _guided_pick(self, failing: F64, distances: F64) -> int:
        """Return which candidate to execute, once both outcomes are known."""
        raise NotImplementedError


class _TreeSearch(SurrogateSearch):
    """A decision tree as the model."""

    def __init__(self, *, candidates: int = 10, max_depth: int = 8) -> None:
        """Set the knobs.

        Args:
            candidates: Candidates an iteration, k.
            max_depth: Depth of the tree.

        Raises:
            UsageError: When a knob is out of range.
        """
        super().__init__(candidates=candidates)
        self.max_depth = _knobs.whole("max_depth", max_depth, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {**super().config(), "max_depth": self.max_depth}

    def _make_model(self) -> OutcomeModel:
        return OutcomeTree(self.max_depth)


class ForestSearch(SurrogateSearch):
    """A random forest as the model."""

    def __init__(self, *, candidates: int = 10, trees: int = 150, max_depth: int = 12) -> None:
        """Set the knobs.

        Args:
            candidates: Candidates an iteration, k.
            trees: Trees in the forest.
            max_depth: Depth of a tree.

        Raises:
            UsageError: When a knob is out of range.
        """
        super().__init__(candidates=candidates)
        self.trees = _knobs.whole("trees", trees, 1)
        self.max_depth = _knobs.whole("max_depth", max_depth, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {**super().config(), "trees": self.trees, "max_depth": self.max_depth}

    def _make_model(self) -> OutcomeModel:
        return OutcomeForest(self.trees, self.max_depth)


class SortingTree(_TreeSearch):
    """The most diverse of k random scenes that a decision tree predicts to fail.

    FATE-VLA, Algorithm 1 with a tree of depth 8: candidates by decreasing diversity, the first
    predicted to fail is executed, else the most diverse.
    """

    name: ClassVar[str] = "sorting-dt"

    def _guided_pick(self, failing: F64, distances: F64) -> int:
        order = np.argsort(-distances, kind="stable")
        predicted = order[failing[order] > 0.5]
        return int(predicted[0] if len(predicted) else order[0])


class SortingForest(ForestSearch):
    """Of k random scenes, the one that a random forest is surest to see fail.

    FATE-VLA, Algorithm 1 with a forest (150 trees of depth 12): candidates by decreasing
    diversity; those predicted to fail are sorted by probability, ties by diversity (ours), and
    the first is executed; without one, the most diverse.
    """

    name: ClassVar[str] = "sorting-rf"

    def _guided_pick(self, failing: F64, distances: F64) -> int:
        if not np.any(failing > 0.5):
            return int(np.argmax(distances))
        return int(np.lexsort((-distances, -failing))[0])


class PartitionTree(_TreeSearch):
    """FSCS-ART inside the part of the space that a decision tree predicts to fail.

    FATE-VLA's FSCSART_DT, which the paper tells apart from Sorting_DT by its tables and the words
    "hard partition" alone. Ours: candidates are drawn until k are predicted to fail, `rounds`
    times k at most, and the most diverse of these is executed; without one, FSCS-ART among the
    first k. So it judges more candidates an iteration than the others do; with one round its
    choice is Sorting_DT's.
    """

    name: ClassVar[str] = "fscsart-dt"

    def __init__(self, *, candidates: int = 10, max_depth: int = 8, rounds: int = 10) -> None:
        """Set the knobs.

        Args:
            candidates: Candidates an iteration, k, among which the most diverse is looked for.
            max_depth: Depth of the tree.
            rounds: Candidates that the tree judges an iteration at most, in units of k.

        Raises:
            UsageError: When a knob is out of range.
        """
        super().__init__(candidates=candidates, max_depth=max_depth)
        self.rounds = _knobs.whole("rounds", rounds, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {**super().config(), "rounds": self.rounds}

    def _pool(self) -> list[Any]:
        taken: set[str] = set()
        first = self._unseen(self.candidates, taken)
        if not self._guided or not first:
            return first
        inside: list[Any] = []
        drawn = first
        for _ in range(self.rounds):
            failing = self._probabilities(self._features(drawn)) > 0.5
            inside += [one for one, fails in zip(drawn, failing, strict=True) if fails]
            if len(inside) >= self.candidates:
                break
            drawn = self._unseen(self.candidates, taken)
            if not drawn:
                break
        return inside[: self.candidates] or first

    def _guided_pick(self, failing: F64, distances: F64) -> int:
        return int(np.argmax(distances))
