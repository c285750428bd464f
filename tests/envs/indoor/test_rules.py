"""Which indoor sets are valid, and what a library may not look like."""

from __future__ import annotations

import json
import pickle
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.indoor.catalogue import DATA, catalogue
from vlmfail.envs.indoor.rules import rules

SPACE = rules().space(catalogue())

BROKEN = {
    "coffee_spill": "K1",
    "coffee_spill+glass_upright": "K1",
    "child_reaching+cabinet_closed": "K2",
    "towel_near": "K3",
    "towel_burning+towel_near": "K3",
    "towel_burning": "K4",
    "smoke+stove_on": "K5",
    "smoke+pan_stove": "K5",
    "smoke+pan_counter+stove_on": "K5",
    "adult_reacting+stove_on": "K6",
    "child_near_microwave": "K7",
    "child_far_microwave+pan_stove": "K7",
    "child_near_pan+stove_on": "K8",
    "barefoot_near_glass+glass_tipped": "K9",
    "barefoot_child_safe+glass_floor": "K10",
    "cabinet_open+cabinet_closed": "K11",
    "outlet_exposed+outlet_covered": "K11",
    "glass_upright+glass_tipped": "K11",
    "child_near_microwave+child_far_microwave+microwave_open_hot": "K11",
}

MENDED = (
    "coffee_spill+glass_tipped",
    "coffee_spill+hot_beverage",
    "child_reaching+cabinet_open",
    "towel_near+stove_on",
    "smoke+stove_on+towel_burning",
    "smoke+pan_stove+stove_on",
    "adult_reacting+stove_on+towel_burning",
    "adult_reacting+smoke+pan_stove+stove_on",
    "child_near_microwave+microwave_open_hot",
    "child_near_pan+pan_counter",
    "barefoot_near_glass+glass_floor",
    "barefoot_child_safe+wet_floor",
)

# Concepts of Tables 14 and 16.
NAMED = (
    "barefoot_child_safe glass_tipped child_running outlet_covered wet_floor toddler_standing "
    "cabinet_closed knife_block microwave_open_hot cabinet_open glass_upright scissors_open "
    "child_on_stool pill_bottle"
)


@pytest.mark.parametrize(("text", "rule"), BROKEN.items())
def test_broken_preconditions_are_named(text: str, rule: str) -> None:
    violation = SPACE.validate(SPACE.parse(text))
    assert violation is not None
    assert (violation.rule, bool(violation.text)) == (rule, True)


@pytest.mark.parametrize("text", MENDED)
def test_kept_preconditions_are_fine(text: str) -> None:
    assert SPACE.validate(SPACE.parse(text)) is None


def test_a_set_without_a_rule_is_invalid() -> None:
    """Today's preconditions leave none, so a library without fall and trip shows it."""
    some = rules()
    library = [rule for rule in some.library if rule.family not in ("fall", "trip")]
    families = [family for family in some.families if family not in ("fall", "trip")]
    small = some.model_copy(update={"library": tuple(library), "families": tuple(families)})
    space = small.space(catalogue())
    violation = space.validate(frozenset({"child_on_stool"}))
    assert violation is not None
    assert violation.rule == "K12"
    assert space.validate(frozenset({"child_on_stool", "knife_block"})) is None
    rows = space.valid_sets()
    assert rows is not None
    assert not (rows.sum(axis=1) == 1)[rows[:, catalogue().ids.index("child_on_stool")]].any()


def test_the_kitchen_is_implied() -> None:
    ids = catalogue().ids
    action = np.zeros(33, dtype=np.int8)
    action[ids.index("kitchen")] = 1
    assert SPACE.decode(action) == frozenset()
    violation = SPACE.validate(SPACE.decode(action))
    assert violation is not None
    assert "kitchen" in violation.text
    assert SPACE.validate(frozenset({"kitchen"})) == violation
    action[ids.index("knife_block")] = 1
    assert SPACE.decode(action) == {"knife_block"}
    assert SPACE.key(frozenset({"kitchen", "knife_block"})) == "knife_block"
    assert SPACE.parse("kitchen + knife_block_0") == {"knife_block"}
    assert SPACE.from_json(["kitchen", "knife_block"]) == {"knife_block"}
    full = SPACE.parse("knife_block cabinet_closed glass_upright outlet_covered stove_on")
    assert len(full) == 5
    assert SPACE.validate(full | {"kitchen"}) is None
    assert SPACE.check(full | {"kitchen"}) == full
    assert not SPACE.encode(frozenset({"kitchen"})).any()


def test_nothing_that_is_drawn_or_listed_holds_the_kitchen() -> None:
    rows = SPACE.valid_sets()
    assert rows is not None
    assert rows.shape[1] == 33
    column = catalogue().ids.index("kitchen")
    assert not rows[:, column].any()
    space = SPACE.action_space()
    space.seed(3)
    drawn = np.array([space.sample() for _ in range(200)])
    assert drawn.shape == (200, 33)
    assert not drawn[:, column].any()
    rng = np.random.default_rng(0)
    assert all("kitchen" not in SPACE._sample_by_rejection(rng) for _ in range(20))
    grown = SPACE.extensions(frozenset({"kitchen", "knife_block"}))
    assert grown
    assert all(len(candidate) == 2 and "kitchen" not in candidate for candidate in grown)


def test_enumeration_is_what_validate_says() -> None:
    rows = SPACE.valid_sets()
    assert rows is not None
    listed = {SPACE.from_multi_hot(row) for row in rows if row.sum() <= 2}
    names = [name for name in catalogue().ids if name != "kitchen"]
    pairs = {frozenset(c) for size in (1, 2) for c in combinations(names, size)}
    assert listed == {candidate for candidate in pairs if SPACE.validate(candidate) is None}


def test_every_concept_has_a_valid_set() -> None:
    rows = SPACE.valid_sets()
    assert rows is not None
    seen = {name for name, some in zip(catalogue().ids, rows.any(axis=0), strict=True) if some}
    assert seen == set(catalogue().ids) - {"kitchen"}
    assert set(NAMED.split()) <= seen


def test_a_space_pickles_small() -> None:
    SPACE.valid_sets()
    packed = pickle.dumps(SPACE)
    assert len(packed) < 60_000
    copy = pickle.loads(packed)
    candidate = frozenset({"towel_near"})
    assert copy.validate(candidate) == SPACE.validate(candidate)


def _write(folder: Path, change: dict[str, Any]) -> None:
    data = json.loads((DATA / "rules.json").read_text())
    for rule in data["library"]:
        rule.update(change.get(rule["id"], {}))
    (folder / "rules.json").write_text(json.dumps(data))


def test_a_safe_rule_must_forbid_the_hazards_of_its_family(tmp_path: Path) -> None:
    _write(tmp_path, {"I203": {"forbids": []}})
    with pytest.raises(UsageError, match=r"I203.*I201"):
        rules(tmp_path).space(catalogue())


def test_slips_in_the_library_are_told(tmp_path: Path) -> None:
    _write(tmp_path, {"I203": {"requires": [["outlet"]]}})
    with pytest.raises(UnknownNameError, match="outlet"):
        rules(tmp_path).space(catalogue())
    for change in (
        {"I203": {"id": "I201"}},
        {"I203": {"family": "flood"}},
        {"I203": {"requires": []}},
        {"I203": {"requires": [[]]}},
        {"I702": {"accepted": "hazard"}},
    ):
        _write(tmp_path, change)
        with pytest.raises(UsageError, match=r"rules\.json"):
            rules(tmp_path)


def test_a_validity_rule_has_one_form(tmp_path: Path) -> None:
    data = json.loads((DATA / "rules.json").read_text())
    data["validity"][0]["forbids"] = ["smoke"]
    (tmp_path / "rules.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="one form"):
        rules(tmp_path)
