from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from vlmfail.core import AgentError, UsageError
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.set_rules import AtMostOne, NeedsAny
from vlmfail.searchers import make_searcher
from vlmfail.searchers.beam import select_diverse
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials


def space_of(concepts: str, *rules: object, max_size: int = 3) -> ConceptSetSpace:
    return ConceptSetSpace(list(concepts), rules, max_size)  # type: ignore[arg-type]


def sets(*words: str) -> list[frozenset[str]]:
    return [frozenset(word) for word in words]


def test_levels_are_those_of_algorithm_1(street: ConceptSetSpace) -> None:
    rates = AdditiveRates(street, seed=1)
    run = Drive(make_searcher("beam"), street, SimulatedTrials(street, rates), budget=100_000)
    levels = [[e for e in run.evaluations if len(e.candidate) == size] for size in range(1, 6)]
    assert [len(e.candidate) for e in run.evaluations] == sorted(
        len(e.candidate) for e in run.evaluations
    )
    singles = [c for c in street.concepts if street.validate(frozenset({c})) is None]
    assert {e.key for e in levels[0]} == set(singles)
    for parents, children in pairwise(levels):
        kept = select_diverse(street, {e.candidate: e.rate for e in parents}, 5, 0.3)
        grown = {street.key(child) for parent in kept for child in street.extensions(parent)}
        assert {e.key for e in children} == grown
    assert run.exhausted, "the last level ends the search with budget left"


def test_selection_trades_rate_for_distance() -> None:
    space = space_of("abcdef")
    rates = dict(zip(sets("ab", "ac", "de"), (1.0, 0.9, 0.7), strict=True))
    # V(ac) = .9 - λ/3 against V(de) = .7 once ab is kept.
    assert select_diverse(space, rates, 2, 0.3) == sets("ab", "ac")
    assert select_diverse(space, rates, 2, 0.9) == sets("ab", "de")
    assert select_diverse(space, rates, 9, 0.3) == sets("ab", "ac", "de")


def test_similarity_is_the_maximum_over_kept_sets() -> None:
    space = space_of("abcdefgh")
    rates = dict(zip(sets("abc", "def", "abd", "gh"), (1.0, 0.99, 0.8, 0.5), strict=True))
    # abd: .8 - .9 * 1/2 (abc), although its similarity to def is 1/5 only.
    assert select_diverse(space, rates, 3, 0.9) == sets("abc", "def", "gh")


def test_no_data_never_ranks_above_data() -> None:
    space = space_of("abcd")
    rates = dict(zip(sets("a", "b", "c"), (None, 0.0, None), strict=True))
    assert select_diverse(space, rates, 1, 0.3) == sets("b")
    assert select_diverse(space, rates, 2, 0.3) == sets("b", "a")
    # Even where the penalty outweighs the rate.
    near = dict(zip(sets("ab", "abc", "d"), (0.2, 0.1, None), strict=True))
    assert select_diverse(space, near, 2, 5.0) == sets("ab", "abc")


def test_ties_go_to_the_first_of_the_level() -> None:
    space = space_of("abc")
    assert select_diverse(space, dict.fromkeys(sets("c", "a", "b"), 0.0), 2, 0.3) == sets("c", "a")


def test_a_cut_level_is_a_fair_sample(street: ConceptSetSpace) -> None:
    first = set()
    for seed in range(40):
        agent = make_searcher("beam")
        agent.bind(street, seed=seed, trials=5, budget=25)
        first.update(agent.ask(5))
    assert {street.key(one) for one in first} == {
        c for c in street.concepts if street.validate(frozenset({c})) is None
    }


def test_batch_size_does_not_change_the_search(street: ConceptSetSpace) -> None:
    rates = AdditiveRates(street, seed=2)
    keys = [
        Drive(
            make_searcher("beam"), street, SimulatedTrials(street, rates), batch=b, budget=500
        ).keys
        for b in (1, 7, 64)
    ]
    assert keys[0] == keys[1] == keys[2]


def test_a_level_waits_for_all_of_its_evaluations(street: ConceptSetSpace) -> None:
    agent = make_searcher("beam")
    agent.bind(street, seed=0, trials=5, budget=1000)
    level = list(agent.ask(100))
    evaluate = SimulatedTrials(street, lambda candidate: 0.5)
    agent.tell([evaluate(one, 5) for one in level[:-1]])
    with pytest.raises(AgentError, match="before tell"):
        agent.ask(8)
    agent.tell([evaluate(level[-1], 5)])
    assert len(agent.ask(8)) == 8
    with pytest.raises(AgentError, match="did not just propose"):
        agent.tell([evaluate(level[0], 5)])


def test_modifiers_are_reached_from_entities(street: ConceptSetSpace) -> None:
    run = Drive(
        make_searcher("beam"),
        street,
        SimulatedTrials(street, lambda one: 0.9 if "walker" in one else 0.1),
        budget=1000,
    )
    assert frozenset({"walker", "on_lane"}) in {e.candidate for e in run.evaluations}


def test_starts_at_the_smallest_sets_without_valid_singletons(
    factors: Callable[[int, int], ConceptSetSpace],
) -> None:
    space = factors(2, 3)
    run = Drive(make_searcher("beam"), space, SimulatedTrials(space, lambda c: 0.2), budget=1000)
    assert len(set(run.keys)) == 9
    assert run.exhausted


def test_crosses_a_size_that_has_no_valid_set() -> None:
    pair = [
        NeedsAny("X", "x needs y", (("y",),), ("x",)),
        NeedsAny("Y", "y needs x", (("x",),), ("y",)),
    ]
    space = space_of("axy", *pair)
    run = Drive(make_searcher("beam"), space, SimulatedTrials(space, lambda c: 0.2), budget=1000)
    assert run.keys == ["a", "a+x+y"]


@pytest.mark.parametrize(
    "args",
    [
        {"width": 0},
        {"width": 2.5},
        {"width": True},
        {"diversity": -0.1},
        {"diversity": float("nan")},
        {"diversity": "much"},
        {"max_size": 0},
    ],
)
def test_wrong_knobs(args: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(args))):
        make_searcher("beam", **args)


def test_max_size_beyond_the_space(street: ConceptSetSpace) -> None:
    with pytest.raises(UsageError, match="at most 5"):
        make_searcher("beam", max_size=6).bind(street, seed=0, trials=5, budget=10)


def test_max_size_below_every_set(factors: Callable[[int, int], ConceptSetSpace]) -> None:
    with pytest.raises(UsageError, match="smallest has 3"):
        make_searcher("beam", max_size=2).bind(factors(3, 2), seed=0, trials=5, budget=10)


def test_max_size_bounds_the_depth(street: ConceptSetSpace) -> None:
    run = Drive(
        make_searcher("beam", max_size=2),
        street,
        SimulatedTrials(street, lambda c: 0.5),
        budget=10_000,
    )
    assert max(len(e.candidate) for e in run.evaluations) == 2
    assert run.exhausted


def test_width_one_is_greedy() -> None:
    space = space_of("abcde", AtMostOne("AB", "not both", ("a", "b")))
    rates = {"a": 0.2, "b": 0.9, "c": 0.5, "d": 0.1, "e": 0.0}

    def rate(candidate: frozenset[str]) -> float:
        return float(np.mean([rates[one] for one in candidate]))

    run = Drive(
        make_searcher("beam", width=1, diversity=0.0),
        space,
        SimulatedTrials(space, rate, seed=1),
        trials=400,
        budget=400 * 11,
    )
    assert {e.key for e in run.evaluations} == {
        *"abcde",
        "b+c",
        "b+d",
        "b+e",
        "b+c+d",
        "b+c+e",
    }
