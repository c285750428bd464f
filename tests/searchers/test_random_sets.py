from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
from scipy.stats import chisquare

from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.searchers import make_searcher
from vlmfail.searchers.random_sets import Urn


def ask_all(space: Any, n: int, seed: int = 0) -> list[Any]:
    agent = make_searcher("random")
    agent.bind(space, seed=seed, trials=5, budget=10**6)
    return list(agent.ask(n))


def test_sizes_are_uniform(street: ConceptSetSpace) -> None:
    # 50 draws leave some of the 18 singletons.
    sizes = Counter(len(one) for seed in range(10) for one in ask_all(street, 50, seed))
    assert chisquare([sizes[size] for size in range(1, 6)]).pvalue > 0.001


def test_sets_of_a_size_are_uniform(small: ConceptSetSpace) -> None:
    drawn = [
        small.key(one) for s in range(600) for one in ask_all(small, 2, s)[1:] if len(one) == 1
    ]
    counts = Counter(drawn)
    singles = [c for c in small.concepts if small.validate(frozenset({c})) is None]
    assert len(counts) == len(singles)
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_sizes_stay_uniform_over_those_that_are_left(small: ConceptSetSpace) -> None:
    rows = small.valid_sets()
    assert rows is not None
    singles = int((rows.sum(axis=1) == 1).sum())
    drawn = ask_all(small, len(rows) + 10)
    assert len(drawn) == len(set(drawn)) == len(rows)
    last_single = max(i for i, one in enumerate(drawn) if len(one) == 1)
    # Half of the draws are singletons until they are used up.
    assert singles <= last_single + 1 < 4 * singles


def test_urn_is_a_permutation() -> None:
    rng = np.random.default_rng(0)
    urn = Urn(50)
    assert sorted(urn.draw(rng) for _ in range(50)) == list(range(50))
    assert len(urn) == 0


class Vectors:
    """Three points of a vector space, as another domain offers them."""

    kind = "vector"
    features = ("x",)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        return np.array([float(rng.integers(3))])

    def key(self, candidate: np.ndarray) -> str:
        return str(candidate[0])

    def action_space(self) -> gym.Space[Any]:
        return gym.spaces.Box(0, 3)


def test_other_spaces_are_sampled_without_repeats() -> None:
    drawn = ask_all(Vectors(), 8)
    assert sorted(v[0] for v in drawn) == [0.0, 1.0, 2.0]
