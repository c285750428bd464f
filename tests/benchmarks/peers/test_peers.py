"""The contract for every peer, and what is particular to each. One group: torch loads once."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vlmfail.agents.agent import SearchAgent
from vlmfail.core import (
    AgentError,
    Evaluation,
    MissingDependencyError,
    Outcome,
    Tally,
    Trial,
    UnknownNameError,
    UsageError,
)
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.set_rules import AtMostOne, NeedsAny
from vlmfail.envs.vector_space import Dimension, VectorSpace
from vlmfail.searchers import make_searcher
from vlmfail.searchers._kinds import PEERS
from vlmfail.testing.agent_suite import AgentContractSuite
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials
from vlmfail.testing.toy import toy_space, toy_vector_space

pytestmark = pytest.mark.xdist_group("peers")

NEEDS = {
    "optuna-tpe": "optuna",
    "map-elites": "ribs",
    "ppo": "stable_baselines3",
    "maskable-ppo": "sb3_contrib",
}
QUICK: dict[str, dict[str, Any]] = {
    "optuna-tpe": {"startup": 4, "candidates": 4},
    "map-elites": {"startup": 6},
    "gp-ucb": {"startup": 6, "pool": 40},
    "gp-ei": {"startup": 6, "pool": 40},
    "ppo": {"rollout": 8, "epochs": 1},
    "maskable-ppo": {"rollout": 8, "epochs": 1},
}


def named(name: str) -> Any:
    package = NEEDS.get(name)
    missing = package is not None and importlib.util.find_spec(package) is None
    skip = pytest.mark.skipif(missing, reason=f"{name} needs the package {package}")
    return pytest.param(name, id=name, marks=[skip])


SETS = [named(name) for name in PEERS["concept_set"]]
VECTORS = [named(name) for name in PEERS["vector"]]


class TestPeersOverSets(AgentContractSuite):
    candidates = 17

    @pytest.fixture(autouse=True, params=SETS)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self._name = request.param

    def make_agent(self) -> SearchAgent[Any]:
        return make_searcher(self._name, **QUICK.get(self._name, {}))


class TestPeersOverVectors(AgentContractSuite):
    trials = 1
    candidates = 17
    finite = False

    @pytest.fixture(autouse=True, params=[n for n in VECTORS if n.id not in ("sobol", "gp-ei")])
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self._name = request.param

    def make_agent(self) -> SearchAgent[Any]:
        return make_searcher(self._name, **QUICK.get(self._name, {}))

    def make_space(self) -> VectorSpace:
        if self.finite:
            return VectorSpace([Dimension("a", "choice", choices=tuple("uvwxyz")), *flags("bc")])
        return toy_vector_space()

    def make_tiny_space(self) -> VectorSpace:
        return VectorSpace(flags("ab"))

    def drive(self, *args: Any, **settings: Any) -> Drive:
        # Where nothing is charged, a search of endless scenes would be a long one.
        self.finite = "outcome" in settings
        return super().drive(*args, **settings)


def flags(names: str) -> list[Dimension]:
    return [Dimension(name, "flag") for name in names]


def bound(name: str, space: Any = None, *, budget: int = 200, seed: int = 0, **args: Any) -> Any:
    agent = make_searcher(name, **{**QUICK.get(name, {}), **args})
    agent.bind(space or toy_space(), seed=seed, trials=1, budget=budget)
    return agent


def told(agent: Any, fails: Callable[[Any], bool | None], n: int = 8) -> list[Any]:
    """Ask for n candidates, tell whether each fails (None: no data), return them."""
    asked = list(agent.ask(n))
    evaluations = []
    for candidate in asked:
        verdict = fails(candidate)
        outcome = Outcome.ERROR if verdict is None else Outcome.FAIL if verdict else Outcome.PASS
        key = agent.space.key(candidate)
        tally = Tally((Trial(key, 0, outcome),))
        evaluations.append(Evaluation(candidate, key, tally, tally))
    agent.tell(evaluations)
    return asked


def endless_space() -> ConceptSetSpace:
    concepts = [f"c{i}" for i in range(24)]
    pairs = [AtMostOne("PAIR", "not both", tuple(concepts[i : i + 2])) for i in range(0, 24, 2)]
    needs = NeedsAny("THING", "one of the first six", tuple((c,) for c in concepts[:6]))
    space = ConceptSetSpace(concepts, [*pairs, needs], 4)
    space.enumeration_limit = 100
    assert space.valid_sets() is None
    return space


@pytest.mark.parametrize("name", SETS)
def test_a_space_too_large_to_enumerate(name: str) -> None:
    space = endless_space()
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=1))
    agent = make_searcher(name, **QUICK.get(name, {}))
    run = Drive(agent, space, evaluate, budget=12, trials=1, batch=4)
    assert len(run.keys) == len(set(run.keys)) == 12
    assert all(space.validate(one.candidate) is None for one in run.evaluations)


@pytest.mark.parametrize("name", SETS)
def test_all_of_a_space_is_found(name: str) -> None:
    space = toy_space(2)
    count = len(space.valid_sets())  # type: ignore[arg-type]
    evaluate = SimulatedTrials(space, lambda candidate: float("cat" in candidate))
    agent = make_searcher(name, **QUICK.get(name, {}))
    run = Drive(agent, space, evaluate, trials=1, budget=2 * count, batch=5)
    assert run.exhausted
    assert len(run.keys) == len(set(run.keys)) == count


@pytest.mark.parametrize("name", [n for n in SETS if n.id not in ("halton", "sobol")])
def test_what_is_learnt_is_used(name: str) -> None:
    """With another outcome the search goes elsewhere; with none it learns nothing."""

    def later(fails: Callable[[Any], bool | None]) -> list[str]:
        agent = bound(name)
        for _ in range(3):
            told(agent, fails)
        return [agent.space.key(one) for one in agent.ask(8)]

    cats = later(lambda candidate: "cat" in candidate)
    assert cats != later(lambda candidate: "night" in candidate)


@pytest.mark.parametrize(
    "name", [n for n in SETS if n.id in ("bandit", "cross-entropy", "gp-ucb", "gp-ei")]
)
def test_failures_are_followed(name: str) -> None:
    """Sets with night fail, others pass: random finds a quarter of the 21 in 40 tries."""
    agent = bound(name, **({"alpha": 0.5} if name == "cross-entropy" else {}))
    asked = [one for _ in range(5) for one in told(agent, lambda candidate: "night" in candidate)]
    assert sum("night" in candidate for candidate in asked) >= 14


@pytest.mark.parametrize("name", VECTORS)
def test_other_candidates_are_refused_in_a_line(name: str) -> None:
    class Pairs:
        kind = "tuple"
        features = ("x",)

    with pytest.raises(UsageError, match="works on concept sets and scene vectors") as caught:
        bound(name, Pairs())
    assert "\n" not in str(caught.value)


def test_masks_are_for_sets() -> None:
    wanted = "maskable-ppo works on concept sets, and this env's candidates are scene vectors"
    with pytest.raises(UsageError, match=wanted):
        bound("maskable-ppo", toy_vector_space())


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("optuna-tpe", "optuna", "optuna"),
        ("map-elites", "ribs.archives", "ribs"),
        ("ppo", "stable_baselines3", "sb3"),
    ],
)
def test_a_missing_extra_is_named(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_searcher(name)  # to list or describe it nothing is needed
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'vlmfail\[{extra}\]'"):
        agent.bind(toy_space(), seed=0, trials=1, budget=10)


@pytest.mark.parametrize("name", ["halton", "optuna-tpe", "gp-ucb"])
def test_what_was_not_proposed_is_not_told(name: str) -> None:
    pytest.importorskip(NEEDS.get(name, "scipy"))
    agent = bound(name)
    (first,) = told(agent, lambda candidate: True, 1)
    key = agent.space.key(first)
    with pytest.raises(AgentError, match="did not just propose"):
        agent.tell([Evaluation(first, key, Tally(), Tally())])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("cross-entropy", {"alpha": 1.1}),
        ("cross-entropy", {"buckets": 0}),
        ("bandit", {"exploration": -1.0}),
        ("optuna-tpe", {"startup": 0}),
        ("map-elites", {"sigma": -0.1}),
        ("gp-ei", {"pool": 0}),
        ("gp-ucb", {"kappa": float("nan")}),
        ("ppo", {"rollout": 1}),
        ("ppo", {"parallel": 0}),
    ],
)
def test_knobs_out_of_range_are_told(name: str, args: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(args))):
        make_searcher(name, **args)


# -- each in particular -------------------------------------------------------------------------


def test_points_are_sets_as_random_draws_them() -> None:
    """Every size alike, and within a size every set: the transform keeps the distribution."""
    from vlmfail.benchmarks.peers._numbers import ListedSets

    space = toy_space()
    rows = space.valid_sets()
    assert rows is not None
    numbers = ListedSets(space, rows, np.random.default_rng(0))
    found: dict[str, int] = {}
    side = 24
    grid = (np.arange(side) + 0.5) / side
    for size in (0.1, 0.5, 0.9):
        for a in grid:
            for b in grid:
                numbers._left[:] = True
                candidate = numbers.at(np.array([size, a, b, 0.5]))
                found[space.key(candidate)] = found.get(space.key(candidate), 0) + 1  # type: ignore[arg-type]
    sizes = [key.count("+") for key in found for _ in range(found[key])]
    assert [sizes.count(size) for size in (0, 1, 2)] == [side * side] * 3
    pairs = [count for key, count in found.items() if key.count("+") == 1]
    assert len(pairs) == (rows.sum(axis=1) == 2).sum()
    assert max(pairs) / min(pairs) < 2.1, "whole cells of the grid: within one of the mean"


@pytest.mark.parametrize("name", ["halton", "sobol"])
def test_sizes_and_concepts_are_spread_evenly(name: str) -> None:
    space = ConceptSetSpace([f"c{i}" for i in range(12)], [], 4)
    asked = bound(name, space).ask(48)
    sizes = [len(one) for one in asked]
    assert all(abs(sizes.count(size) - 12) <= 2 for size in (2, 3, 4))
    assert min(sum(name in one for one in asked) for name in space.concepts) >= 5


def test_cross_entropy_moves_by_alpha_and_by_failures_alone() -> None:
    space = VectorSpace([Dimension("a", "choice", choices=("u", "v")), Dimension("x", "real")])
    agent = bound("cross-entropy", space, alpha=0.5, buckets=4)
    told(agent, lambda candidate: False, 4)
    told(agent, lambda candidate: None, 4)
    assert [shares.tolist() for shares in agent._shares] == [[0.5, 0.5], [0.25] * 4]
    (first,) = told(agent, lambda candidate: True, 1)
    bucket = int(first[0] > 0.5)
    assert agent._shares[0][bucket] == pytest.approx(0.75)
    assert agent._shares[1][min(3, int(first[1] * 4))] == pytest.approx(0.625)


def test_cross_entropy_begins_as_random_draws() -> None:
    agent = bound("cross-entropy")
    usual = dict(zip(agent.space.concepts, agent._inside, strict=True))
    assert usual["rain"] == pytest.approx(usual["sun"])
    assert usual["dog"] > usual["rain"], "every set needs an animal"


def test_bandit_tries_every_bucket_then_the_best() -> None:
    space = VectorSpace([Dimension("a", "choice", choices=("u", "v", "w")), Dimension("x", "real")])
    agent = bound("bandit", space, buckets=3, exploration=0.01)
    first = told(agent, lambda candidate: candidate[0] > 0.6, 3)
    assert sorted(int(one[0] * 3) for one in first) == [0, 1, 2]
    assert sorted(int(one[1] * 3) for one in first) == [0, 1, 2]
    assert all(int(one[0] * 3) == 2 for one in told(agent, lambda candidate: True, 1))


def test_tpe_learns_what_was_evaluated_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    optuna = pytest.importorskip("optuna")
    agent = bound("optuna-tpe")
    asked = told(agent, lambda candidate: "cat" in candidate) + told(agent, lambda candidate: None)
    complete = agent._study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    assert len(complete) == 8, "candidates without data are no observations"
    for trial, candidate in zip(complete, asked, strict=False):
        names = [agent.space.concepts[int(i)] for i, bit in trial.params.items() if bit]
        assert frozenset(names) == candidate
        assert trial.value == float("cat" in candidate)
    out, err = capsys.readouterr()
    assert out + err == ""


def test_map_elites_keeps_the_worst_of_each_kind() -> None:
    pytest.importorskip("ribs")
    agent = bound("map-elites", group="dog,cat,bird")
    for _ in range(4):
        told(agent, lambda candidate: "night" in candidate)
    elites = agent._archive.data(["solution", "objective", "measures"], return_type="dict")
    for row, rate, measures in zip(*elites.values(), strict=True):
        members = agent.space.from_multi_hot(row)
        assert rate == float("night" in members)
        animals = len(members & {"dog", "cat", "bird"})
        assert measures.tolist() == pytest.approx([len(members), animals / len(members)])
    assert len({tuple(m) for m in elites["measures"]}) > 2
    with pytest.raises(UnknownNameError, match="did you mean dog"):
        bound("map-elites", group="dogs")


def test_process_spreads_a_batch() -> None:
    """Proposals of one batch count as known to the next, so they are not neighbours all."""
    space = VectorSpace([Dimension("x", "real"), Dimension("y", "real")])
    agent = bound("gp-ucb", space, startup=8, pool=200, kappa=5.0)
    told(agent, lambda candidate: bool(candidate[0] > 0.8))
    batch = np.stack(agent.ask(8))
    distances = np.linalg.norm(batch[:, None] - batch, axis=2)[np.triu_indices(8, 1)]
    assert np.median(distances) > 0.2


def test_process_draws_exclude_the_noise() -> None:
    """At a point seen often, the latent rate is known although trials differ."""
    agent = bound("gp-ucb", VectorSpace([Dimension("x", "real")]), startup=30)
    told(agent, lambda candidate: bool(int(candidate[0] * 1e6) % 2), 30)
    agent.ask(1)
    assert agent._noise > 0.5
    assert np.diagonal(agent._covariance).min() < 0.5 * agent._noise
