from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from vlmfail.envs.driving.catalogue import catalogue
from vlmfail.envs.driving.rules import rules

SPACE = rules().space(catalogue())

# Revelio, Table 11, as printed, repeats removed: 99 spellings of 93 different sets.
PRINTED = (
    "town_town02 + debris_near + weather_cloudy_0 + debris_far",
    "weather_clear_noon_0 + chain_barrier_far + town_town02",
    "chain_barrier_far + debris_far",
    "weather_hard_rain_0 + chain_barrier_far + town_town01",
    "cyclist",
    "obstruction_far + cyclist",
    "obstruction_far + cyclist + weather_clear_noon_0",
    "obstruction_far + cyclist + weather_foggy_0",
    "debris_far + weather_hard_rain_0 + town_town02",
    "weather_hard_rain_0 + chain_barrier_far + town_town02",
    "cyclist + obstruction_far + chain_barrier_far",
    "cyclist + obstruction_far + weather_clear_noon_0",
    "cyclist + weather_wet_0 + obstruction_near",
    "chain_barrier_far + cyclist + weather_clear_noon",
    "chain_barrier_far + town_town02",
    "obstruction_far + weather_wet_0 + town_town02",
    "weather_cloudy_0 + light_green + chain_barrier_far",
    "weather_clear_noon_0 + cyclist",
    "debris_far",
    "chain_barrier_far",
    "weather_hard_rain_0 + chain_barrier_far + light_green",
    "weather_hard_rain_0 + chain_barrier_far + cyclist",
    "obstruction_far + town_town02 + light_green",
    "obstruction_far + cyclist + weather_clear_noon_0 + chain_barrier_far",
    "obstruction_far + cyclist + weather_clear_noon_0 + town_town02",
    "cyclist + town_town02 + on_lane",
    "chain_barrier_far + light_green + weather_clear_noon",
    "chain_barrier_far + weather_cloudy",
    "chain_barrier_far + town_town01",
    "chain_barrier_far + light_green",
    "town_town02 + obstruction_far + debris_near + weather_cloudy_0",
    "chain_barrier_far + light_green + town_town02 + debris_near",
    "debris_far + light_green",
    "obstruction_near",
    "cyclist + weather_clear_noon_0",
    "weather_wet_0 + cone + far_0 + on_lane_0",
    "weather_wet_0 + cone + far_0 + on_lane_0 + town_town01",
    "weather_wet_0 + cone + far_0 + on_lane_0 + light_green",
    "debris_far + obstruction_near + intersection_ego",
    "debris_far + obstruction_near + intersection_ego + emergency_vehicle",
    "town_town02 + debris_far",
    "town_town02 + debris_far + intersection_ego",
    "town_town02 + debris_far + light_green",
    "town_town02 + debris_far + debris_near",
    "town_town02 + debris_far + weather_clear_noon_0",
    "debris_far + intersection_ego + obstruction_near",
    "weather_foggy_0 + debris_far",
    "weather_wet_0 + cone + far_0 + intersection_ego",
    "debris_far + obstruction_near",
    "debris_far + obstruction_near + weather_cloudy_0",
    "weather_wet_0 + cone + far_0",
    "debris_far + cyclist + on_lane_0",
    "debris_far + weather_wet_0 + town_town02",
    "debris_far + town_town02 + weather_soft_rain",
    "debris_near + town_town02",
    "debris_far + town_town02",
    "debris_far + town_town02 + weather_cloudy",
    "town_town02 + debris_near",
    "debris_near + town_town02 + weather_foggy_0",
    "weather_clear_noon_0 + debris_far",
    "debris_far + weather_hard_rain_0",
    "chain_barrier_far + weather_wet_0",
    "chain_barrier_far + weather_foggy_0",
    "emergency_vehicle + on_lane_0",
    "debris_far + weather_hard_rain_0 + obstruction_far",
    "debris_far + weather_hard_rain_0 + light_green",
    "bus_stop + on_lane_0",
    "bus_stop + weather_clear_noon_0",
    "bus_stop + child_pedestrian",
    "chain_barrier_near + weather_cloudy_0",
    "cone + light_red",
    "bus_stop",
    "chain_barrier_near",
    "cone",
    "light_red",
    "debris_near",
    "bus_stop + chain_barrier_near",
    "bus_stop + weather_cloudy_0",
    "obstruction_far",
    "weather_wet_0 + debris_far + chain_barrier_near",
    "cone + weather_cloudy_0 + obstruction_near",
    "chain_barrier_near + light_green",
    "debris_far + weather_soft_rain_0",
    "debris_far + chain_barrier_near",
    "obstruction_near + chain_barrier_near",
    "debris_far + weather_wet_0",
    "debris_far + cyclist",
    "bus_stop + town_town01",
    "chain_barrier_far + debris_far + town_town02",
    "garbage_bin + town_town02 + intersection_ego + obstruction_near",
    "debris_near + weather_foggy_0",
    "wheelchair_pedestrian + near_0",
    "cone + weather_cloudy_0 + bus_stop + garbage_bin",
    "obstruction_near + intersection_ego",
    "obstruction_near + light_green",
    "obstruction_near + chain_barrier_far",
    "weather_hard_rain_0 + debris_far",
    "chain_barrier_far + cyclist",
    "chain_barrier_far + debris_near",
)


def broken(text: str) -> str | None:
    violation = SPACE.validate(SPACE.parse(text))
    return None if violation is None else violation.rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("town_town01 town_town02 cone", "D1"),
        ("weather_wet weather_cloudy cone", "D2"),
        ("light_red light_green", "D3"),
        ("cone near far", "D3"),
        ("cone on_lane on_sidewalk", "D3"),
        ("town_town01 weather_wet", "D4"),
        ("near", "D4"),
        ("debris_far near", "D5"),
        ("light_red on_sidewalk", "D5"),
        ("intersection_ego on_lane", "D5"),
        ("cone", None),
        ("cone far_0 on_sidewalk_0 weather_cloudy_0 town_town02", None),
        ("debris_near debris_far", None),
        ("light_red", None),
        ("intersection_ego", None),
        ("bus_stop on_lane", None),
    ],
)
def test_validity(text: str, rule: str | None) -> None:
    assert broken(text) == rule


def test_the_93_sets_of_table_11_are_valid() -> None:
    sets = {SPACE.parse(text) for text in PRINTED}
    assert len(sets) == 93
    assert [SPACE.key(s) for s in sets if SPACE.validate(s) is not None] == []


def test_the_rules_leave_110650_sets() -> None:
    rows = SPACE.valid_sets()
    assert rows is not None
    assert len(rows) == 110_650
    assert np.bincount(rows.sum(axis=1)).tolist() == [0, 18, 332, 3024, 18988, 88288]


def test_the_count_does_not_hang_on_the_space() -> None:
    """The same count by another road: every set up to size 5, rules written out by hand."""
    ids = catalogue().ids
    column = {concept: i for i, concept in enumerate(ids)}
    masks = {
        name: sum(1 << column[c] for c in ids if c in group)
        for name, group in {
            "towns": {c for c in ids if c.startswith("town_")},
            "weathers": {c for c in ids if c.startswith("weather_")},
            "lights": {"light_red", "light_green"},
            "distance": {"near", "far"},
            "place": {"on_lane", "on_sidewalk"},
            "movable": set(ids[11:20]),
            "anchors": set(ids[2:20]),
        }.items()
    }
    total = 0
    for size in range(1, 6):
        chosen = np.array(list(combinations(range(30), size)), dtype=np.int64)
        sets = np.bitwise_or.reduce(np.int64(1) << chosen, axis=1)

        def several(name: str, sets: np.ndarray = sets) -> np.ndarray:
            part = sets & masks[name]
            return (part & (part - 1)) != 0

        bad = several("towns") | several("weathers") | several("lights")
        bad |= several("distance") | several("place")
        bad |= (sets & masks["anchors"]) == 0
        modifiers = masks["distance"] | masks["place"]
        bad |= ((sets & modifiers) != 0) & ((sets & masks["movable"]) == 0)
        total += int((~bad).sum())
    assert total == 110_650


def test_every_rule_of_the_table_has_an_entry() -> None:
    table = rules()
    ids = {rule.id for rule in (*table.validity, *table.readings)}
    assert ids == {f"D{i}" for i in range(1, 9)}
    assert [rule.id for rule in table.expected_action] == ["A1", "A2", "A3", "A4", "A5"]
    assert {r.id for r in table.readings if r.source == "ours"} == {"D6", "D7"}
