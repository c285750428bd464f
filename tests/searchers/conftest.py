from __future__ import annotations

from collections.abc import Callable

import pytest

from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.set_rules import AtMostOne, NeedsAny, Rule


def street_space(max_size: int = 5) -> ConceptSetSpace:
    """A space of the driving domain's size and shape: 110 650 valid sets up to size 5."""
    towns = ("town_a", "town_b")
    crossing = ("crossing", "light_red", "light_green")
    obstacles = (
        "barrier_near",
        "barrier_far",
        "debris_near",
        "debris_far",
        "hole_near",
        "hole_far",
    )
    movables = ("walker", "child", "wheelchair", "officer", "cyclist", "ambulance", "cone")
    movables += ("bus_stop", "bin")
    modifiers = ("on_sidewalk", "on_lane", "near", "far")
    weather = ("noon", "hard_rain", "soft_rain", "fog", "wet", "cloudy")
    exclusive = (towns, weather, crossing[1:], modifiers[2:], modifiers[:2])
    anything = tuple((one,) for one in crossing + obstacles + movables)
    rules = [
        *(AtMostOne("ONE", "one of these", group) for group in exclusive),
        NeedsAny("THING", "something to judge", anything),
        NeedsAny("MOD", "a modifier needs a thing", tuple((m,) for m in movables), modifiers),
    ]
    concepts = towns + crossing + obstacles + movables + modifiers + weather
    return ConceptSetSpace(concepts, rules, max_size)


def factor_space(factors: int, levels: int) -> ConceptSetSpace:
    """One level of each factor: levels ** factors candidates, all of the same size."""
    groups = [tuple(f"f{i}v{j}" for j in range(levels)) for i in range(factors)]
    rules: list[Rule] = [AtMostOne("ONE", "one level a factor", group) for group in groups]
    rules += [NeedsAny("ALL", "every factor", tuple((x,) for x in group)) for group in groups]
    return ConceptSetSpace([x for group in groups for x in group], rules, factors)


@pytest.fixture(scope="session")
def street() -> ConceptSetSpace:
    return street_space()


@pytest.fixture(scope="session")
def small() -> ConceptSetSpace:
    return street_space(2)


@pytest.fixture(scope="session")
def factors() -> Callable[[int, int], ConceptSetSpace]:
    return factor_space


@pytest.fixture(scope="session")
def endless() -> ConceptSetSpace:
    """Too large to enumerate (the limit is lowered so that this is found at once)."""
    concepts = [f"c{i}" for i in range(60)]
    pairs = [AtMostOne("PAIR", "not both", tuple(concepts[i : i + 2])) for i in range(0, 60, 2)]
    needs = NeedsAny("THING", "one of the first ten", tuple((c,) for c in concepts[:10]))
    space = ConceptSetSpace(concepts, [*pairs, needs], 6)
    space.enumeration_limit = 1000
    assert space.valid_sets() is None
    return space
