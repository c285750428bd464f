"""Decision tree and random forest from scene features to the probability of failure."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class OutcomeModel(Protocol):
    """What learns from outcomes."""

    def fit(self, features: F32, failed: Flags, seed: int) -> None:
        """Learn from features `n x f` and outcomes `n`, afresh."""
        ...

    def failure_probability(self, features: F32) -> F64:
        """Return the probability of failure, `n`."""
        ...


class OutcomeTree:
    """One decision tree (scikit-learn's, Gini).

    Where all outcomes told are the same there is nothing to learn: the probability is 0 or 1
    everywhere, whichever they were. The columns of a classifier that knows one class cannot tell.
    """

    def __init__(self, max_depth: int = 8) -> None:
        """Set the depth (FATE-VLA: 8)."""
        self.max_depth = max_depth
        self._model: Any = None
        self._constant = 0.0

    def fit(self, features: F32, failed: Flags, seed: int) -> None:
        """Learn from features `n x f` and outcomes `n`, afresh."""
        from sklearn.tree import DecisionTreeClassifier

        self._model = None
        if _one_class(failed):
            self._constant = float(failed[0])
            return
        tree = DecisionTreeClassifier(max_depth=self.max_depth, random_state=seed)
        self._model = tree.fit(features, failed).tree_

    def failure_probability(self, features: F32) -> F64:
        """Return the share of failures in each scene's leaf, `n`."""
        if self._model is None:
            return np.full(len(features), self._constant)
        return _shares(self._model, np.ascontiguousarray(features, dtype=np.float32))


class OutcomeForest:
    """A random forest (scikit-learn's, Gini, √f features a split, bootstrap).

    The same trees, to the bit, as `RandomForestClassifier(trees, max_depth=...,
    min_samples_split=3, random_state=seed)`. They are grown by scikit-learn's own tree builder
    without the checks of input that the classifier repeats for every tree: at 200 scenes these
    take several times as long as the trees. Where a version of scikit-learn does not offer the
    builder, the classifier is used.
    """

    def __init__(self, trees: int = 150, max_depth: int = 12, min_samples_split: int = 3) -> None:
        """Set the size (FATE-VLA: 150 trees, depth 12, split from 3)."""
        self.trees = trees
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self._grown: list[Any] = []
        self._constant = 0.0

    def fit(self, features: F32, failed: Flags, seed: int) -> None:
        """Learn from features `n x f` and outcomes `n`, afresh."""
        self._grown = []
        if _one_class(failed):
            self._constant = float(failed[0])
            return
        features = np.ascontiguousarray(features, dtype=np.float32)
        try:
            self._grown = self._grow(features, failed, seed)
        except (ImportError, AttributeError, TypeError, ValueError):
            self._grown = self._classifier(features, failed, seed)

    def failure_probability(self, features: F32) -> F64:
        """Return the mean over trees of the share of failures in each scene's leaf, `n`."""
        if not self._grown:
            return np.full(len(features), self._constant)
        features = np.ascontiguousarray(features, dtype=np.float32)
        total = np.zeros(len(features))
        for tree in self._grown:
            total += _shares(tree, features)
        return total / len(self._grown)

    def _grow(self, features: F32, failed: Flags, seed: int) -> list[Any]:
        from sklearn.tree._criterion import Gini
        from sklearn.tree._splitter import BestSplitter
        from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

        n, f = features.shape
        classes = np.array([2], dtype=np.intp)
        outcomes = np.ascontiguousarray(failed[:, None], dtype=np.float64)
        # The legacy generator, since the classifier draws from it; one, seeded anew: making one
        # costs more than a tree.
        draws = np.random.RandomState(seed)
        seeds = [draws.randint(np.iinfo(np.int32).max) for _ in range(self.trees)]
        grown = []
        for own in seeds:
            draws.seed(own)
            weights = np.bincount(draws.randint(0, n, n, dtype=np.int32), minlength=n)
            draws.seed(own)
            splitter = BestSplitter(Gini(1, classes), max(1, math.isqrt(f)), 1, 0.0, draws, None)
            tree = Tree(f, classes, 1)
            builder = DepthFirstTreeBuilder(
                splitter, self.min_samples_split, 1, 0.0, self.max_depth, 0.0
            )
            builder.build(tree, features, outcomes, weights.astype(np.float64), None)
            grown.append(tree)
        return grown

    def _classifier(self, features: F32, failed: Flags, seed: int) -> list[Any]:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            self.trees,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            n_jobs=1,
            random_state=seed,
        )
        return [one.tree_ for one in forest.fit(features, failed).estimators_]


def _one_class(failed: Flags) -> bool:
    if not len(failed):
        raise ValueError("failed: expected at least one outcome")
    return bool(failed.all() or not failed.any())


def _shares(tree: Any, features: F32) -> F64:
    """Return the share of failures (the second class) in each row's leaf."""
    shares: F64 = tree.predict(features)[:, 1]
    return shares
