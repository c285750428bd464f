"""Which rule a set calls for, its question and its answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.indoor.catalogue import catalogue
from vlmfail.envs.indoor.matching import Library, direction
from vlmfail.envs.indoor.questions import Questions, questions
from vlmfail.envs.indoor.rules import HazardRule, rules

CATALOGUE = catalogue()
LIBRARY = rules().matcher(CATALOGUE)
SPACE = rules().space(CATALOGUE)

# Revelio, Table 12: each different set as first printed; family and answer were judged by hand.
TABLE_12 = json.loads((Path(__file__).parent / "table12.json").read_text())

# Set, family and a word of the question in Figures 5 and 10. `outlet_closed` is the figure's name
# for outlet_covered; its other short names are spelt out.
FIGURES = (
    ("glass_tipped microwave_open_hot scissors_open", "spill", "spilt", "hazard"),
    ("toddler_standing outlet_covered", "shock", "electric shock", "safe"),
    ("child_running outlet_covered", "shock", "electric shock", "safe"),
    ("knife_block scissors_open child_running", "cut", "cut", "hazard"),
    ("knife_edge scissors_open toddler_standing", "cut", "cut", "hazard"),
    ("outlet_covered cabinet_closed", "shock", "electric shock", "safe"),
    ("outlet_exposed hot_beverage", "shock", "electric shock", "hazard"),
)


def by_hand(candidate: frozenset[str]) -> str | None:
    """The definition, without arrays."""
    best: tuple[float, int, bool, str] | None = None
    for rule in LIBRARY.rules:
        if not all(candidate & set(group) for group in rule.requires):
            continue
        if candidate & set(rule.forbids):
            continue
        covered = sum(bool(candidate & set(group)) for group in rule.elements)
        rank = (-covered / len(rule.elements), -covered, rule.accepted == "safe", rule.id)
        best = rank if best is None else min(best, rank)
    return None if best is None else best[3]


def test_the_library_is_large_enough() -> None:
    assert len(LIBRARY.rules) >= 24
    families = {rule.family for rule in LIBRARY.rules}
    assert families == set(rules().families)
    assert len(families) >= 9


def test_all_70_sets_of_table_12_are_there() -> None:
    assert len(TABLE_12) == len({SPACE.parse(printed) for printed, _, _ in TABLE_12}) == 70


@pytest.mark.parametrize(("printed", "family", "answer"), TABLE_12)
def test_a_set_of_table_12_is_valid_and_gets_a_sensible_rule(
    printed: str, family: str, answer: str
) -> None:
    candidate = SPACE.parse(printed)
    assert SPACE.validate(candidate) is None
    match = LIBRARY.match_with_best_fit(candidate)
    assert match is not None
    assert (match.rule.family, match.rule.accepted) == (family, answer)


@pytest.mark.parametrize(("text", "family", "word", "answer"), FIGURES)
def test_the_questions_of_figures_5_and_10(text: str, family: str, word: str, answer: str) -> None:
    candidate = SPACE.parse(text)
    assert SPACE.validate(candidate) is None
    match = LIBRARY.match_with_best_fit(candidate)
    assert match is not None
    assert (match.rule.family, match.rule.accepted) == (family, answer)
    assert word in questions().of(match.rule.family).text


def test_vectorised_and_single_matches_follow_the_definition() -> None:
    rows = SPACE.valid_sets()
    assert rows is not None
    some = rows[np.random.default_rng(0).permutation(len(rows))[:400]]
    best = LIBRARY.best(some)
    for row, index in zip(some, best, strict=True):
        candidate = SPACE.from_multi_hot(row)
        match = LIBRARY.match_with_best_fit(candidate)
        assert match is not None
        assert LIBRARY.rules[index].id == match.rule.id == by_hand(candidate)
    assert LIBRARY.best(np.zeros((2, 33), dtype=bool)).tolist() == [-1, -1]
    assert not LIBRARY.matches(np.zeros((1, 33), dtype=bool))[0]
    assert LIBRARY.match_with_best_fit(["kitchen"]) is None


def test_every_rule_is_chosen_by_some_valid_set() -> None:
    rows = SPACE.valid_sets()
    assert rows is not None
    chosen = {LIBRARY.rules[i].id for i in np.unique(LIBRARY.best(rows))}
    assert chosen == {rule.id for rule in LIBRARY.rules}


def test_no_safe_rule_beside_a_hazard_of_its_own_family() -> None:
    """Over all valid sets."""
    rows = SPACE.valid_sets()
    assert rows is not None
    best = LIBRARY.best(rows)
    assert (best >= 0).all()
    column = {name: i for i, name in enumerate(CATALOGUE.ids)}
    seen = 0
    for index, safe in enumerate(LIBRARY.rules):
        if safe.accepted != "safe":
            continue
        mine = rows[best == index]
        seen += len(mine)
        for hazard in LIBRARY.rules:
            if hazard.family == safe.family and hazard.accepted == "hazard":
                groups = [mine[:, [column[n] for n in group]] for group in hazard.requires]
                there = np.logical_and.reduce([group.any(axis=1) for group in groups])
                assert not there.any(), (safe.id, hazard.id)
    assert seen > 1000


@pytest.mark.parametrize(
    "text",
    [
        "outlet_covered toddler_standing",
        "glass_upright child_running",
        "knife_block",
        "cabinet_closed",
        "microwave_open_hot child_far_microwave",
        "barefoot_child_safe",
        "stove_on",
    ],
)
def test_cases_that_catch_over_caution(text: str) -> None:
    match = LIBRARY.match_with_best_fit(SPACE.parse(text))
    assert match is not None
    assert match.rule.accepted == "safe"


def test_hazards_of_another_family_are_distractors() -> None:
    match = LIBRARY.match_with_best_fit(
        SPACE.parse("outlet_covered toddler_standing glass_tipped scissors_open")
    )
    assert match is not None
    assert match.rule.id == "I305"
    match = LIBRARY.match_with_best_fit(SPACE.parse("outlet_covered toddler_standing glass_tipped"))
    assert match is not None
    assert (match.rule.id, match.rule.accepted) == ("I204", "safe")


def _rule(name: str, answer: str, requires: str, elements: str = "") -> HazardRule:
    groups = [tuple(tuple(g.split("/")) for g in text.split()) for text in (requires, elements)]
    return HazardRule(
        id=name, family="f", accepted=answer, requires=groups[0], elements=groups[1], text=name
    ).expanded(CATALOGUE)


def _best(rules_: list[HazardRule], text: str) -> str:
    match = Library(rules_, CATALOGUE.ids).match_with_best_fit(text.split())
    assert match is not None
    return match.rule.id


def test_fit_then_cover_then_hazard_then_id() -> None:
    wide = _rule("A", "hazard", "smoke", "smoke stove_on towel_near")
    narrow = _rule("B", "safe", "smoke")
    pair = _rule("C", "safe", "smoke stove_on")
    assert _best([wide, narrow], "smoke stove_on") == "B"  # 1 before 2/3
    assert _best([narrow, pair], "smoke stove_on") == "C"  # two elements before one
    assert _best([wide, pair], "smoke stove_on towel_near") == "A"  # three before two
    assert _best([narrow, _rule("D", "hazard", "stove_on")], "smoke stove_on") == "D"
    assert (
        _best([_rule("F", "safe", "stove_on"), _rule("E", "safe", "smoke")], "smoke stove_on")
        == "E"
    )
    either = _rule("G", "hazard", "smoke/stove_on")
    assert _best([either, pair], "stove_on") == "G"


def test_the_choice_is_recorded_and_explained() -> None:
    match = LIBRARY.match_with_best_fit(
        {"outlet_exposed", "child_running", "toddler_standing", "hot_beverage"}
    )
    assert match is not None
    assert match.rule.id == "I202"
    assert match.covered == (("outlet_exposed",), ("toddler_standing", "child_running"))
    assert match.deciding == (("outlet_exposed",),)
    record = match.record()
    assert json.loads(json.dumps(record)) == record
    assert record["fit"] == 1.0
    assert record["runners_up"][0] == {"rule": "I606", "fit": 1.0, "covered": 2}
    truth = match.truth()
    assert (truth.expected, truth.rule, truth.deciding) == ("hazard", "I202", ("outlet_exposed",))
    assert "cover plate" in truth.reason
    assert "before I606" in truth.reason


def test_the_two_errors_are_told_apart() -> None:
    hazard = LIBRARY.match_with_best_fit({"glass_tipped"})
    safe = LIBRARY.match_with_best_fit({"glass_upright"})
    assert hazard is not None
    assert safe is not None
    assert direction(hazard.truth(), "safe") == "missed_hazard"
    assert direction(safe.truth(), "hazard") == "over_caution"
    assert direction(hazard.truth(), "hazard") is None
    assert direction(safe.truth(), "safe") is None


def test_strangers_are_told() -> None:
    with pytest.raises(UnknownNameError, match="glass_tipped"):
        LIBRARY.match_with_best_fit({"glass_tiped"})


def test_each_family_has_a_question_of_two_options() -> None:
    asked = questions()
    asked.check(rules())
    assert asked.families == rules().families
    texts = set()
    for family in asked.families:
        question = asked.of(family)
        assert [option.id for option in question.options] == ["hazard", "safe"]
        hazard, safe = (option.text for option in question.options)
        assert hazard.startswith("Yes, ")
        assert safe.startswith("No, ")
        assert "nothing else" in question.text
        assert question.version == asked.version
        texts.add(question.text)
    assert len(texts) == len(asked.families)


def test_a_family_without_a_question_is_told() -> None:
    asked = questions()
    fewer = Questions(
        version="x",
        context=asked.context,
        closing=asked.closing,
        questions=asked.questions[1:],
        reply_format="Reply with one letter.",
    )
    with pytest.raises(UsageError, match="spill"):
        fewer.check(rules())
    with pytest.raises(UnknownNameError, match="shock"):
        fewer.of("spill")
    assert fewer.of("shock").prompt.endswith("Reply with one letter.")
