"""The space of concept sets and its rules."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlmfail.core import InvalidCandidateError, SetSpace, UnknownNameError, UsageError
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.set_rules import AtMostOne, Forbids, NeedsAny
from vlmfail.testing.toy import CONCEPTS, toy_space

SETS = st.frozensets(st.sampled_from(CONCEPTS), max_size=5)


def by_hand(space: ConceptSetSpace) -> set[frozenset[str]]:
    return {
        frozenset(c)
        for size in range(1, space.max_size + 1)
        for c in itertools.combinations(space.concepts, size)
        if space.validate(frozenset(c)) is None
    }


@pytest.mark.parametrize("max_size", [1, 2, 3, 5])
def test_enumeration_is_complete_ordered_and_free_of_repeats(max_size: int) -> None:
    space = toy_space(max_size)
    rows = space.valid_sets()
    assert rows is not None
    sets = [space.from_multi_hot(row) for row in rows]
    assert len(set(sets)) == len(sets)
    assert set(sets) == by_hand(space)
    order = [(len(s), [space.concepts.index(c) for c in space.to_json(s)]) for s in sets]
    assert order == sorted(order)


def test_rules_of_every_kind() -> None:
    space = ConceptSetSpace(
        "abcd",
        [
            Forbids("F", "no d beside a", ("a",), ("d",)),
            NeedsAny("N", "c needs a and b, or d", (("a", "b"), ("d",)), ("c",)),
        ],
        4,
    )
    broken = {
        frozenset(s): v.rule
        for s in (["a", "d"], ["c"], ["a", "c"], ["a", "b", "c"], ["c", "d"])
        if (v := space.validate(frozenset(s)))
    }
    assert broken == {
        frozenset("ad"): "F",
        frozenset("c"): "N",
        frozenset("ac"): "N",
    }
    assert {space.from_multi_hot(r) for r in space.valid_sets()} == by_hand(space)  # type: ignore[union-attr]


@given(SETS)
def test_key_and_json_ignore_order_and_round_trip(candidate: frozenset[str]) -> None:
    space = toy_space()
    names = sorted(candidate, reverse=True)
    assert space.key(candidate) == space.key(frozenset(names))
    assert space.from_json(space.to_json(candidate)) == candidate
    assert space.decode(space.encode(candidate)) == candidate


@given(SETS)
def test_extensions_are_the_valid_supersets_with_one_more(candidate: frozenset[str]) -> None:
    space = toy_space()
    expected = {
        s for c in CONCEPTS if c not in candidate and space.validate(s := candidate | {c}) is None
    }
    assert set(space.extensions(candidate)) == expected


def test_parse_takes_suffixes_and_separators_and_tells_close_matches() -> None:
    space = ConceptSetSpace(["far", "weather_wet", "cone_2"], [], 3)
    assert space.parse("far_0, weather_wet_0") == {"far", "weather_wet"}
    assert space.parse("{far + weather_wet}") == {"far", "weather_wet"}
    assert space.parse("cone_2") == {"cone_2"}
    with pytest.raises(UnknownNameError, match="weather_wet"):
        space.parse("wether_wet")


def test_check_tells_the_rule() -> None:
    with pytest.raises(InvalidCandidateError, match="T1: rain and sun exclude each other"):
        toy_space().check(frozenset({"dog", "rain", "sun"}))


def test_sampling_is_uniform_over_sizes_and_seeded() -> None:
    space = toy_space()
    draws = [space.sample(np.random.default_rng(seed)) for seed in range(600)]
    assert draws == [space.sample(np.random.default_rng(seed)) for seed in range(600)]
    counts = np.bincount([len(d) for d in draws])[1:]
    assert (np.abs(counts - 200) < 60).all()


def test_rejection_sampling_when_there_are_too_many_to_list() -> None:
    space = toy_space()
    space.enumeration_limit = 10
    assert space.valid_sets() is None
    rng = np.random.default_rng(0)
    assert all(space.validate(space.sample(rng)) is None for _ in range(50))


@pytest.mark.parametrize("action", [np.zeros(3), np.full(10, 2), np.zeros((1, 10))])
def test_bad_actions_are_told(action: np.ndarray) -> None:
    with pytest.raises(UsageError, match="action"):
        toy_space().decode(action)


def test_bad_catalogues_are_told() -> None:
    with pytest.raises(UsageError, match="differ"):
        ConceptSetSpace(["a", "a"], [])
    with pytest.raises(UsageError, match="max_size"):
        ConceptSetSpace(["a"], [], 2)
    with pytest.raises(UnknownNameError, match="rule R"):
        ConceptSetSpace(["a"], [AtMostOne("R", "", ("b",))], 1)
    with pytest.raises(UsageError, match="no valid"):
        ConceptSetSpace(["a"], [NeedsAny("R", "", ())], 1).valid_sets()


def test_satisfies_the_protocol_and_pickles_small() -> None:
    space = toy_space()
    assert isinstance(space, SetSpace)
    space.valid_sets()
    assert len(pickle.dumps(space)) < 3000
    assert pickle.loads(pickle.dumps(space)).valid_sets().shape == space.valid_sets().shape  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["", "a+b", "a,b", "a b", "{a}", "a\n", "\x1b[31m", "a_0"])
def test_ids_that_would_be_misread_are_told(name: str) -> None:
    with pytest.raises(UsageError, match="concepts:"):
        ConceptSetSpace(["a", "b", name], [], 2)


@pytest.mark.parametrize(
    "action",
    [
        [[1], [1, 2]],
        np.zeros(4, complex),
        np.array([{}] * 4, dtype=object),
        np.full(4, 10**30, dtype=object),
        ["a", "b", "c", "d"],
        None,
        {"a"},
        "a",
        np.full(4, np.nan),
        np.zeros((1, 4)),
    ],
)
def test_what_is_no_action_is_told(action: object) -> None:
    with pytest.raises(UsageError, match="expected 4 zeros and ones"):
        ConceptSetSpace("abcd", [], 2).decode(action)  # type: ignore[arg-type]
