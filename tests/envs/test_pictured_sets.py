"""The space of a folder's sets: every searcher stays inside it and can reach all of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from vlmfail.agents import SearchAgent
from vlmfail.core import Evaluation, Outcome, SetSpace, Tally, Trial, UsageError
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.pictured_sets import RULE, PicturedSets, candidate_space
from vlmfail.envs.set_rules import AtMostOne
from vlmfail.searchers import make_searcher

IDS = tuple("abcdefg")


def pictured(*names, max_size=5):
    base = ConceptSetSpace(IDS, [AtMostOne("ONE", "f or g", ("f", "g"))], max_size)
    return PicturedSets(base, {tuple(name): 1 + i for i, name in enumerate(names)})


GAPS = ("a", "abc", "bc", "bcde", "de", "abcde", "fdc", "gfa")
"""A set with its parents missing, a chain with gaps, two roots of two and three, a broken one."""

INSIDE = {frozenset(name) for name in GAPS} - {frozenset("gfa")}


@pytest.fixture
def space():
    return pictured(*GAPS)


def test_it_holds_the_sets_that_have_pictures_and_break_no_rule(space):
    assert isinstance(space, SetSpace)
    rows = space.valid_sets()
    found = [space.from_multi_hot(row) for row in rows]
    assert [space.key(one) for one in found] == [
        "a", "b+c", "d+e", "a+b+c", "c+d+f", "b+c+d+e", "a+b+c+d+e",
    ]  # fmt: skip
    assert len(space) == 7
    assert space.pictures == 1 + 2 + 3 + 4 + 5 + 6 + 7
    for one in found:
        assert space.validate(one) is None
    assert space.validate(frozenset("gfa")).rule == "ONE"
    assert space.validate(frozenset("ab")).rule == RULE
    assert space.validate(frozenset()).rule == "SIZE"


def test_samples_and_actions_are_valid(space):
    rng = np.random.default_rng(0)
    assert {space.sample(rng) for _ in range(300)} == INSIDE
    actions = space.action_space()
    actions.seed(0)
    assert all(space.validate(space.decode(actions.sample())) is None for _ in range(20))


def test_extensions_add_one_and_steps_pass_over_gaps(space):
    assert space.extensions(frozenset("bc")) == [frozenset("abc")]
    assert space.extensions(frozenset("a")) == []
    assert space.steps(frozenset("a")) == [frozenset("abc")]
    assert space.steps(frozenset("bc")) == [frozenset("abc"), frozenset("bcde")]
    assert space.roots() == [frozenset("a"), frozenset("bc"), frozenset("de"), frozenset("cdf")]
    assert space.conflict(frozenset("ab")) is None, "abc can still be reached"
    assert space.conflict(frozenset("ad")) is None
    assert space.conflict(frozenset("af")).rule == RULE


@pytest.mark.parametrize("seed", range(6))
def test_every_set_is_a_root_or_steps_above_one(seed):
    rng = np.random.default_rng(seed)
    names = {"".join(sorted(rng.choice(list("abcdef"), 1 + int(rng.integers(5)), replace=False)))
             for _ in range(12)}  # fmt: skip
    space = pictured(*sorted(names))
    reached = level = set(space.roots())
    while level:
        level = {one for parent in level for one in space.steps(parent)} - reached
        reached = reached | level
    assert reached == {frozenset(name) for name in names}
    for low in reached:
        for high in space.steps(low):
            assert not any(low < one < high for one in reached)


def test_it_survives_pickling(space):
    space.valid_sets()
    again = pickle.loads(pickle.dumps(space))
    assert (again.valid_sets() == space.valid_sets()).all()


def test_a_folder_of_forbidden_sets_alone_is_refused():
    with pytest.raises(UsageError, match="forbid every set"):
        pictured("fg")


def test_what_draws_at_will_leaves_the_space_as_it_is():
    base = ConceptSetSpace(IDS, [], 2)
    assert candidate_space(base, object()) is base


# -- searchers ------------------------------------------------------------------------------------


class Greedy(SearchAgent):
    """An agent that knows nothing but the contract: samples, and grows what failed."""

    name = "greedy"

    def setup(self):
        self._seen = set()
        self._queue = []

    def ask(self, n):
        while self._queue:
            one = self._queue.pop()
            if one not in self._seen:
                self._seen.add(one)
                return [one]
        for _ in range(200):
            one = self.space.sample(self.rng)
            if one not in self._seen:
                self._seen.add(one)
                return [one]
        return []

    def tell(self, evaluations):
        for evaluation in evaluations:
            self._queue += self.space.extensions(evaluation.candidate)


def proposals(space, agent, seed):
    """Drive an agent until it has nothing left; each set fails at a rate of its own."""
    agent.threshold = 0.6
    agent.bind(space, seed=seed, trials=1, budget=1000)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(100):
        asked = agent.ask(3)
        if not asked:
            return found
        told = []
        for one in asked:
            outcome = Outcome.FAIL if rng.random() < 0.5 else Outcome.PASS
            tally = Tally((Trial(space.key(one), 0, outcome),))
            told.append(Evaluation(one, space.key(one), tally, tally))
        found += asked
        agent.tell(told)
    raise AssertionError("it never ends")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["random", "beam", "gpts", "rbf", "greedy"])
def test_searchers_propose_every_set_once_and_no_other(space, name, seed):
    if name == "greedy":
        agent = Greedy()
    elif name == "rbf":
        agent = make_searcher("gpts", kernel="rbf")
    else:
        agent = make_searcher(name)
    found = proposals(space, agent, seed)
    assert len(found) == len(set(found))
    assert set(found) == INSIDE


def test_a_narrow_beam_still_passes_over_gaps():
    space = pictured("a", "abcd", "b")
    found = proposals(space, make_searcher("beam", width=2), 0)
    assert set(found) == {frozenset("a"), frozenset("b"), frozenset("abcd")}


def test_a_beam_keeps_to_its_largest_size(space):
    found = proposals(space, make_searcher("beam", max_size=3), 0)
    assert max(map(len, found)) == 3
    with pytest.raises(UsageError, match="no valid set has 1 concepts"):
        proposals(pictured("abc"), make_searcher("beam", max_size=1), 0)
