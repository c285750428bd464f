from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vlmfail.core import AgentError, Evaluation, Outcome, Tally, Trial, UsageError
from vlmfail.envs.vector_space import Dimension, VectorSpace
from vlmfail.searchers import make_searcher
from vlmfail.searchers._kinds import KINDS
from vlmfail.testing.simulated import Drive, SimulatedTrials
from vlmfail.testing.toy import toy_space, toy_vector_space

GUIDED = ("fscsart-dt", "sorting-dt", "sorting-rf", "weighted-rf")


def bound(name: str, space: Any = None, **args: Any) -> Any:
    agent = make_searcher(name, **args)
    agent.bind(space or toy_vector_space(), seed=0, trials=1, budget=100)
    return agent


def told(agent: Any, candidate: Any, outcome: Outcome) -> None:
    key = agent.space.key(candidate)
    tally = Tally((Trial(key, 0, outcome),))
    agent.tell([Evaluation(candidate, key, tally, tally)])


def both_outcomes(agent: Any, n: int = 40) -> Any:
    """Tell n scenes of which the low ones fail."""
    for candidate in agent.ask(n):
        fails = agent.space.values(candidate)["height"] < 0.3
        told(agent, candidate, Outcome.FAIL if fails else Outcome.PASS)
    return agent


def pools(agent: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    seen: list[list[Any]] = []
    draw = agent._pool
    monkeypatch.setattr(agent, "_pool", lambda: seen.append(draw()) or seen[-1])
    return seen


def nearest(space: VectorSpace, candidate: Any, executed: list[Any]) -> float:
    here = space.featurise(candidate)
    return min(float(np.linalg.norm(here - space.featurise(one))) for one in executed)


def test_fscs_art_takes_the_farthest_within_a_batch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = bound("fscs-art")
    seen = pools(agent, monkeypatch)
    batch = agent.ask(12)
    assert [len(pool) for pool in seen] == [10] * 12
    for i in range(1, 12):
        distances = [nearest(agent.space, one, batch[:i]) for one in seen[i]]
        assert nearest(agent.space, batch[i], batch[:i]) == pytest.approx(max(distances))


@pytest.mark.parametrize("name", GUIDED)
@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.ERROR])
def test_until_both_outcomes_are_known_all_are_fscs_art(name: str, outcome: Outcome) -> None:
    def keys(name: str) -> list[str]:
        space = toy_vector_space()
        evaluate = SimulatedTrials(space, outcome=lambda key, index: outcome)
        return Drive(make_searcher(name), space, evaluate, trials=1, budget=25, batch=4).keys

    assert keys(name) == keys("fscs-art")


def test_sorting_takes_the_most_diverse_of_those_predicted_to_fail() -> None:
    distances = np.array([0.1, 0.9, 0.5, 0.7])
    tree = bound("sorting-dt")
    assert tree._guided_pick(np.array([1.0, 0.5, 0.6, 0.4]), distances) == 2
    assert tree._guided_pick(np.array([0.5, 0.5, 0.5, 0.0]), distances) == 1
    forest = bound("sorting-rf", trees=2)
    assert forest._guided_pick(np.array([0.8, 0.2, 0.6, 0.7]), distances) == 0
    assert forest._guided_pick(np.array([0.8, 0.2, 0.8, 0.8]), distances) == 3
    assert forest._guided_pick(np.array([0.5, 0.1, 0.4, 0.3]), distances) == 1


def test_weighted_score_turns_from_diversity_to_failure() -> None:
    failing, distances = np.array([0.9, 0.1, 0.5]), np.array([1.0, 2.0, 1.9])
    agent = bound("weighted-rf", trees=2)
    agent.ask(5)  # α = 0.05
    assert agent._guided_pick(failing, distances) == 1
    agent.ask(45)  # α = 0.5: 0.45, 0.55, 0.70
    assert agent._guided_pick(failing, distances) == 2
    agent.ask(50)  # α = 0.85: 0.765, 0.235, 0.56
    assert agent._guided_pick(failing, distances) == 0
    assert agent._guided_pick(np.array([0.1, 0.3, 0.2]), np.full(3, 0.7)) == 1


def test_weighted_score_counts_no_scene_that_cost_nothing() -> None:
    failing, distances = np.array([0.9, 0.1]), np.array([1.0, 2.0])
    agent = bound("weighted-rf", trees=2)
    for candidate in agent.ask(80):
        told(agent, candidate, Outcome.INVALID_SCENE)
    assert agent._guided_pick(failing, distances) == 1, "α = 0"
    for outcome in (Outcome.PASS, Outcome.ERROR):
        for candidate in agent.ask(20):
            told(agent, candidate, outcome)
    agent.ask(10)
    assert agent._guided_pick(failing, distances) == 1, "α = 0.5: 0.45, 0.55"
    agent.ask(10)
    assert agent._guided_pick(failing, distances) == 0, "α = 0.6: 0.54, 0.46"


def test_weighted_candidates_are_half_near_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = both_outcomes(bound("weighted-rf", trees=5, scale=0.01))
    failures = list(agent._failures)
    assert failures
    seen = pools(agent, monkeypatch)
    agent.ask(5)
    near = [[nearest(agent.space, one, failures) < 0.15 for one in pool] for pool in seen]
    assert all(all(flags[:5]) for flags in near)
    assert np.mean([flags[5:] for flags in near]) < 0.6


def test_partition_tree_stays_inside_its_partition() -> None:
    agent = both_outcomes(bound("fscsart-dt"))
    heights = [agent.space.values(one)["height"] for one in agent.ask(20)]
    assert np.mean([height < 0.33 for height in heights]) == 1.0


@pytest.mark.parametrize("rounds", [1, 3])
def test_partition_tree_judges_as_many_candidates_as_it_is_told(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = both_outcomes(bound("fscsart-dt", candidates=4, rounds=rounds))
    judged: list[int] = []

    def none_fails(features: Any) -> Any:
        judged.append(len(features))
        return np.zeros(len(features))

    monkeypatch.setattr(agent, "_probabilities", none_fails)
    agent._pool()
    assert sum(judged) == 4 * rounds
    assert agent.config() == {"candidates": 4, "max_depth": 8, "rounds": rounds}


@pytest.mark.parametrize("name", GUIDED)
def test_guided_searchers_find_more_failures(name: str) -> None:
    """A quarter of the scenes of one animal fail, no others: random finds one in twelve."""
    space = toy_vector_space()

    def fails(candidate: Any) -> float:
        values = space.values(candidate)
        return float(values["animal"] == "cat" and values["height"] < 0.3)

    def failures(name: str, **args: Any) -> int:
        found = 0
        for seed in range(3):
            agent, evaluate = make_searcher(name, **args), SimulatedTrials(space, fails)
            run = Drive(agent, space, evaluate, seed=seed, trials=1, budget=80, batch=4)
            found += sum(one.total.failures for one in run.evaluations)
        return found

    few = {"trees": 20} if name.endswith("rf") else {}
    assert failures(name, **few) > 2 * failures("random") > 0


def test_what_was_not_proposed_is_not_told() -> None:
    agent = bound("fscs-art")
    (candidate,) = agent.ask(1)
    told(agent, candidate, Outcome.PASS)
    with pytest.raises(AgentError, match="did not just propose"):
        told(agent, candidate, Outcome.PASS)


@pytest.mark.parametrize("name", KINDS["vector"][1])
def test_what_can_be_enumerated_is_exhausted(name: str) -> None:
    space = VectorSpace([Dimension("a", "choice", choices=tuple("uvwxyz")), Dimension("b", "flag")])
    evaluate = SimulatedTrials(space, lambda candidate: float(candidate[0] < 0.5))
    args = {"trees": 3} if name.endswith("rf") else {}
    run = Drive(make_searcher(name, **args), space, evaluate, trials=1, budget=50, batch=5)
    assert run.exhausted
    assert len(run.keys) == len(set(run.keys)) == 12


@pytest.mark.parametrize("name", ["beam", "gpts"])
def test_set_searchers_refuse_vectors_in_a_line(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        bound(name)
    assert str(caught.value) == (
        f"{name} works on concept sets, and this env's candidates are scene vectors: choose "
        "random, fscs-art, fscsart-dt, sorting-dt, sorting-rf or weighted-rf, or an agent made for "
        "them. See `vlmfail list`."
    )


@pytest.mark.parametrize("name", [n for n in KINDS["vector"][1] if n != "random"])
def test_vector_searchers_refuse_sets_in_a_line(name: str) -> None:
    wanted = f"{name} works on scene vectors, .* are concept sets: choose random, beam, gpts, level"
    with pytest.raises(UsageError, match=wanted):
        bound(name, toy_space())


def test_a_space_without_neighbours_is_told() -> None:
    class Plain:
        kind = "vector"
        features = ("x",)

        def sample(self, rng: np.random.Generator) -> Any: ...
        def key(self, candidate: Any) -> str: ...  # type: ignore[empty-body]
        def featurise(self, candidate: Any) -> Any: ...

    bound("sorting-rf", Plain())
    with pytest.raises(UsageError, match=r"weighted-rf needs perturb\(\) of a space, which Plain"):
        bound("weighted-rf", Plain())


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fscs-art", {"candidates": 0}),
        ("sorting-dt", {"max_depth": 0}),
        ("fscsart-dt", {"rounds": 0}),
        ("sorting-rf", {"trees": 1.5}),
        ("weighted-rf", {"near_share": 1.1}),
        ("weighted-rf", {"scale": float("nan")}),
        ("weighted-rf", {"max_weight": -0.1}),
    ],
)
def test_knobs_out_of_range_are_told(name: str, args: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(args))):
        make_searcher(name, **args)
