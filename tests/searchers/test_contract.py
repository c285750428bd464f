from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vlmfail.agents.agent import SearchAgent
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.vector_space import Dimension, VectorSpace
from vlmfail.searchers import make_searcher
from vlmfail.searchers._kinds import KINDS
from vlmfail.testing.agent_suite import AgentContractSuite
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials
from vlmfail.testing.toy import toy_vector_space

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in KINDS["concept_set"][1]),
    ("beam", {"width": 1, "diversity": 0.0, "max_size": 2}),
    ("gpts", {"warm_share": 0.0}),
    ("gpts", {"warm_share": 1.0}),
    ("gpts", {"kernel": "rbf", "pool": 100}),
]


@pytest.fixture(params=VARIANTS, ids=lambda v: "-".join([v[0], *map(str, v[1].values())]))
def variant(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


class TestRegisteredSearchers(AgentContractSuite):
    @pytest.fixture(autouse=True)
    def _variant(self, variant: tuple[str, dict[str, Any]]) -> None:
        self._spec, self._args = variant

    def make_agent(self) -> SearchAgent[Any]:
        return make_searcher(self._spec, **self._args)

    def test_space_too_large_to_enumerate(self, endless: ConceptSetSpace) -> None:
        drawing = self._spec.startswith(("gpts", "level-set"))
        args = {"pool": 100, **self._args} if drawing else self._args
        evaluate = SimulatedTrials(endless, AdditiveRates(endless, seed=1))
        run = Drive(make_searcher(self._spec, **args), endless, evaluate, budget=150, trials=5)
        repeats = len(run.keys) - len(set(run.keys))
        if make_searcher(self._spec).fixed_trials:
            assert (len(run.keys), repeats) == (30, 0)
        assert sum(e.new.charged for e in run.evaluations) == 150
        assert all(endless.validate(e.candidate) is None for e in run.evaluations)


FEW = {"trees": 5}  # the forest's size is tested elsewhere; here it only costs time
VECTOR_VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, FEW if name.endswith("rf") else {}) for name in KINDS["vector"][1]),
    ("fscs-art", {"candidates": 1}),
    ("sorting-dt", {"candidates": 3, "max_depth": 1}),
    ("weighted-rf", {**FEW, "near_share": 1.0, "scale": 1.0, "max_weight": 1.0}),
    ("weighted-rf", {**FEW, "near_share": 0.0, "max_weight": 0.0}),
]


@pytest.fixture(params=VECTOR_VARIANTS, ids=lambda v: "-".join([v[0], *map(str, v[1].values())]))
def vector_variant(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


class TestVectorSearchers(AgentContractSuite):
    trials = 1

    @pytest.fixture(autouse=True)
    def _variant(self, vector_variant: tuple[str, dict[str, Any]]) -> None:
        self._spec, self._args = vector_variant

    def make_agent(self) -> SearchAgent[Any]:
        return make_searcher(self._spec, **self._args)

    def make_space(self) -> VectorSpace:
        return toy_vector_space()

    def make_tiny_space(self) -> VectorSpace:
        return VectorSpace([Dimension("a", "flag"), Dimension("b", "flag")])

    def drive(self, *args: Any, **settings: Any) -> Drive:
        # Where nothing is charged, the search ends after so many batches: small ones here.
        return super().drive(*args, **({"batch": 1} if "outcome" in settings else {}) | settings)

    def test_several_trials_a_scene(self) -> None:
        run = self.drive(trials=5, budget=150)
        assert len(run.keys) == len(set(run.keys)) == 30


class SuiteCatches(SearchAgent[frozenset[str]]):
    """Breaks the contract in a way per `how`."""

    def __init__(self, how: str) -> None:
        self.how = how

    def setup(self) -> None:
        self.seen: set[frozenset[str]] = set()
        self.failures = 0
        if self.how == "keeps state":
            self.rng = self.__dict__.setdefault("old", self.rng)
        if self.how == "shared draws":
            self.rng = type(self).__dict__.get("shared") or self.rng
            type(self).shared = self.rng  # type: ignore[attr-defined]
        if self.how == "global draws":
            self.rng = np.random.mtrand._rand  # type: ignore[assignment]

    def ask(self, n: int) -> Any:
        if self.how == "too many":
            n += 1
        if self.how == "invalid":
            return [frozenset({"rain"})]
        if self.how == "invalid after failures" and self.failures > 3:
            return [frozenset({"rain"})]
        if self.how == "generator":
            return (self.space.sample(self.rng) for _ in range(n))
        batch = []
        for _ in range(200 * n):
            if self.how == "global draws":
                draw = self.space.sample(np.random.default_rng(self.rng.randint(2**31)))  # type: ignore[attr-defined]
            else:
                draw = self.space.sample(self.rng)
            if self.how == "repeats" or draw not in self.seen:
                self.seen.add(draw)
                batch.append(draw)
            if len(batch) == n:
                break
        return batch

    def tell(self, evaluations: Any) -> None:
        self.failures += sum(evaluation.new.failures > 0 for evaluation in evaluations)
        if self.how == "no trials":
            _ = [1 / evaluation.new.charged for evaluation in evaluations]
        if self.how == "no data":
            _ = [evaluation.rate + 0.0 for evaluation in evaluations]


@pytest.mark.parametrize(
    ("how", "test"),
    [
        ("too many", "test_batches_hold_valid_distinct_candidates"),
        ("invalid", "test_batches_hold_valid_distinct_candidates"),
        ("repeats", "test_fixed_trials_never_repeats_a_candidate"),
        ("repeats", "test_stops_when_nothing_is_left"),
        ("global draws", "test_leaves_global_generators_alone"),
        ("global draws", "test_same_seed_and_outcomes_give_the_same_search"),
        ("global draws", "test_replaying_a_log_restores_the_agent"),
        ("no data", "test_candidates_without_data"),
        ("no trials", "test_budget_that_ends_inside_a_batch"),
        ("generator", "test_batches_of_any_size"),
        ("invalid after failures", "test_constant_outcomes"),
        ("keeps state", "test_binding_again_starts_afresh"),
        ("shared draws", "test_searches_in_turns_are_as_if_alone"),
    ],
)
def test_suite_catches_broken_agents(how: str, test: str) -> None:
    class Suite(AgentContractSuite):
        def make_agent(self) -> SearchAgent[Any]:
            return SuiteCatches(how)

    with pytest.raises((AssertionError, TypeError, ZeroDivisionError)):
        getattr(Suite(), test)()
