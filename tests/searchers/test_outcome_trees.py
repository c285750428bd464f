from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from vlmfail.searchers._surrogates.outcome_trees import OutcomeForest, OutcomeTree


def scenes(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.random((n, 12), dtype=np.float32)
    features[:, :7] = np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]
    failed = rng.random(n) < np.where(features[:, 2] + (features[:, 8] < 0.3) > 0, 0.8, 0.2)
    failed[:2] = True, False
    return features, failed


@pytest.mark.parametrize("n", [2, 3, 20, 200])
def test_forest_is_the_classifiers(n: int) -> None:
    features, failed = scenes(n)
    forest = OutcomeForest(trees=25)
    forest.fit(features, failed, seed=9)
    reference = RandomForestClassifier(25, max_depth=12, min_samples_split=3, random_state=9)
    expected = reference.fit(features, failed).predict_proba(scenes(50, 1)[0])[:, 1]
    found = forest.failure_probability(scenes(50, 1)[0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert n < 20 or np.ptp(found) > 0.3


def test_builder_serves_the_installed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every refit takes several times as long, and nobody would notice."""

    def slow(*args: Any) -> list[Any]:
        raise AssertionError("the classifier was needed")

    monkeypatch.setattr(OutcomeForest, "_classifier", slow)
    OutcomeForest(trees=3).fit(*scenes(20), seed=0)


def test_without_the_builder_the_classifier_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = OutcomeForest(trees=7), OutcomeForest(trees=7)
    quick.fit(*scenes(60), seed=3)

    def gone(*args: Any) -> list[Any]:
        raise ImportError("no builder")

    monkeypatch.setattr(OutcomeForest, "_grow", gone)
    slow.fit(*scenes(60), seed=3)
    features = scenes(50, 1)[0]
    assert np.array_equal(quick.failure_probability(features), slow.failure_probability(features))


def test_tree_is_the_classifiers() -> None:
    features, failed = scenes(200)
    tree = OutcomeTree(max_depth=3)
    tree.fit(features, failed, seed=4)
    reference = DecisionTreeClassifier(max_depth=3, random_state=4).fit(features, failed)
    assert np.array_equal(
        tree.failure_probability(features), reference.predict_proba(features)[:, 1]
    )


@pytest.mark.parametrize("model", [OutcomeTree(), OutcomeForest(trees=3)])
def test_one_outcome_is_not_misread(model: OutcomeTree | OutcomeForest) -> None:
    features = scenes(5)[0]
    # Also after a fit to both outcomes: nothing of it may be left.
    for failed in (scenes(5)[1], np.zeros(5, dtype=bool), np.ones(5, dtype=bool)):
        model.fit(features, failed, seed=0)
        probabilities = model.failure_probability(features)
        assert probabilities.shape == (5,)
        if failed.all() or not failed.any():
            assert np.all(probabilities == failed.astype(float))
    with pytest.raises(ValueError, match="at least one outcome"):
        model.fit(features[:0], failed[:0], seed=0)


def test_refit_stays_near_its_target() -> None:
    """Target 60 ms an iteration at 200 scenes; ten times that: a busy machine passes."""
    features, failed = scenes(200)
    forest = OutcomeForest()
    seconds = []
    for seed in range(4):
        started = time.process_time()
        forest.fit(features, failed, seed)
        forest.failure_probability(features[:10])
        seconds.append(time.process_time() - started)
    assert min(seconds) < 0.6
