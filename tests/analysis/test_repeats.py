from __future__ import annotations

import random

import pytest

from vlmfail.analysis.repeats import Repeats, find_repeats
from vlmfail.core import Outcome, Trial, TrialRecord

ZERO = {"temperature": 0.0, "max_completion_tokens": 64}


def record(
    index: int,
    answer: str | None = "stop",
    *,
    picture: str | None = "p",
    prompt: str = "?",
    parameters: dict | None = ZERO,
    cached: bool = False,
    key: str = "rain",
) -> TrialRecord:
    raw: dict = {"cached": cached, "response": {"id": index}, "attempts": 1}
    if parameters is not None:
        raw["sent"] = {"parameters": parameters, "pictures": [{"sha256": picture}]}
    outcome = Outcome.UNPARSED if answer is None else Outcome.PASS
    trial = Trial(key, index, outcome, answer=answer, picture=picture)
    return TrialRecord(trial, prompt=prompt, raw=raw)


def test_disagreeing_repeats_are_flagged():
    found = find_repeats([record(0), record(1, "go"), record(2), record(3, picture="q")])
    assert (found.repeated, found.disagreeing) == (1, 1)
    (example,) = found.examples
    assert example.answers == (("stop", 2), ("go", 1))
    assert example.trials == (("rain", 0), ("rain", 1), ("rain", 2))
    assert (example.picture, example.prompt) == ("p", "?")
    assert "1 of 1 input " in found.sentence


def test_agreeing_repeats_are_counted_and_say_nothing():
    found = find_repeats([record(0), record(1), record(2, key="fog")])
    assert (found.repeated, found.disagreeing, found.examples) == (1, 0, ())
    assert found.sentence is None


@pytest.mark.parametrize(
    "other",
    [
        {"cached": True},
        {"picture": "q"},
        {"picture": None},
        {"prompt": "? "},
        {"answer": None},
        {"parameters": {"temperature": 0.7}},
        {"parameters": {"max_completion_tokens": 64}},
        {"parameters": {**ZERO, "seed": 4}},
        {"parameters": {"temperature": False}},
        {"parameters": None},
    ],
)
def test_what_is_no_repeat_does_not_count(other):
    assert find_repeats([record(0), record(1, **{"answer": "go", **other})]) == Repeats()


def test_neither_do_repeats_at_another_temperature():
    warm = {"temperature": 1}
    assert find_repeats([record(i, f"a{i}", parameters=warm) for i in range(4)]) == Repeats()


@pytest.mark.parametrize(
    "parameters", [{"temperature": 0}, {"inferenceConfig": {"temperature": 0.0, "maxTokens": 5}}]
)
def test_a_temperature_is_found_where_the_provider_has_it(parameters):
    found = find_repeats([record(0, parameters=parameters), record(1, "go", parameters=parameters)])
    assert found.disagreeing == 1


def test_the_same_record_twice_is_one():
    assert find_repeats([record(0), record(0)]) == Repeats()


def test_foreign_shapes_and_none_at_all_are_no_error():
    odd = [
        TrialRecord(Trial("a", 0, Outcome.PASS, answer="x", picture="p"), raw={"sent": raw})
        for raw in (None, [], "x", {"parameters": None}, {"parameters": [1]})
    ]
    assert find_repeats(odd) == find_repeats([]) == Repeats()


def test_order_does_not_matter_and_examples_are_few():
    records = [record(2 * i + j, f"a{j}", picture=f"p{i}") for i in range(9) for j in range(2)]
    records.append(record(99, "a0", picture="p7"))
    found = find_repeats(records)
    assert (found.repeated, found.disagreeing, len(found.examples)) == (9, 9, 5)
    assert found.examples[0].picture == "p7"
    random.Random(1).shuffle(records)
    assert find_repeats(records) == found
    assert "9 of 9 inputs" in found.sentence
