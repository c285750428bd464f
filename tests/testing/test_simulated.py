from __future__ import annotations

from typing import Any

from vlmfail.agents.agent import SearchAgent
from vlmfail.core import Outcome
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials, with_trials
from vlmfail.testing.toy import toy_space


def test_more_trials_of_a_candidate_get_the_next_indices() -> None:
    space = toy_space()
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=0))
    dog = frozenset({"dog"})
    first, second = evaluate(dog, 3), evaluate(dog, 2)
    assert [trial.index for trial in second.new.trials] == [3, 4]
    assert second.total.trials == (*first.new.trials, *second.new.trials)


def test_rates_are_met() -> None:
    space = toy_space()
    evaluate = SimulatedTrials(space, lambda candidate: 0.25)
    rate = evaluate(frozenset({"dog"}), 4000).rate
    assert rate is not None
    assert abs(rate - 0.25) < 0.03


def test_outcomes_do_not_depend_on_the_order() -> None:
    space = toy_space()
    dog, cat = frozenset({"dog"}), frozenset({"cat"})
    one = SimulatedTrials(space, lambda candidate: 0.5)
    other = SimulatedTrials(space, lambda candidate: 0.5)
    assert [one(dog, 9), one(cat, 9)] == [other(cat, 9), other(dog, 9)][::-1]


def test_pairs_are_told_from_tuple_candidates() -> None:
    assert with_trials([frozenset({"a"}), (frozenset({"b"}), 2)], 5) == [
        (frozenset({"a"}), 5),
        (frozenset({"b"}), 2),
    ]
    assert with_trials([(3, 4), ((3, 4), 2)], 5) == [((3, 4), 5), ((3, 4), 2)]


def test_impossible_scenes_do_not_run_for_ever() -> None:
    class Stubborn(SearchAgent[Any]):
        def ask(self, n: int) -> list[Any]:
            return [frozenset({"dog"})]

        def tell(self, evaluations: Any) -> None:
            self.rate = evaluations[0].rate

    space = toy_space()
    evaluate = SimulatedTrials(space, outcome=lambda key, index: Outcome.INVALID_SCENE)
    agent = Stubborn()
    run = Drive(agent, space, evaluate, budget=10, trials=1)
    assert 1000 <= len(run.batches) < 2000
    assert agent.rate is None
    assert not run.exhausted
