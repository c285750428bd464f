from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from vlmfail.core import Outcome
from vlmfail.models.answers import (
    Number,
    parse_number,
    parse_short_text,
    parse_statements,
    parse_verdict,
    parse_yes_no,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes", True),
        ("No, the lane is free.", False),
        ("The lane is blocked.\nYes.", True),
        ('{"answer": true}', True),
        ("1. Yes\n2. Yes\nANSWER: No", False),
        ("Answer: no, not yes", False),
        ("No car is near.", None),
        ("No. 5 bus", None),
        ("ANSWER: yes or no", None),
        ("Yes, but actually no.", None),
        ("ANSWER: no idea", None),
        ("ANSWER: not yes", None),
        ("Answer: yes if it is red", None),
        ("The answer is yes. Wait, the answer is no.", None),
        ("Is it? Yes and no.", None),
    ],
)
def test_yes_and_no_need_a_declaration(text, value):
    parsed = parse_yes_no(text)
    assert parsed.value is value
    assert (parsed.outcome is None) == (value is not None)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("Answer: 1,250 m", 1250, "m"),
        ("\\boxed{\\frac{1}{2}}", 0.5, ""),
        ("ANSWER: three", 3, ""),
        ("ANSWER: −5.5", -5.5, ""),
        ("ANSWER: 42\\%", 42, "%"),
        ("1.5e-3", 0.0015, ""),
        ("ANSWER: $1.5 \\times 10^{6}$", 1.5e6, ""),
        ("ANSWER: 1.5×10⁶", 1.5e6, ""),
        ("ANSWER: 2*10^3", 2000, ""),
        ("ANSWER: 1½", 1.5, ""),
        ("ANSWER: 5 million", 5e6, ""),
        ("ANSWER: 2 + 3 = 5", 5, ""),
        ("ANSWER: $5", 5, ""),
        ("ANSWER: 5 m\nThe answer is 5.", 5, "m"),
        ("#### 42", 42, ""),
        ("5 cars", 5, "cars"),
    ],
)
def test_numbers_are_read_as_written(text, value, unit):
    assert parse_number(text).value == Number(value, unit)


@pytest.mark.parametrize(
    "said",
    ["5 or 6", "5-6", "5 to 6", "more than 5", "5k", "5th", "twenty-five", "one of them",
     "12:30",
     "2024-05-06", "1,5", "2 + 3", "1/0", "1e999", "five (6)", "5\nANSWER: 6",
     "5. Wait, 6.", "5, 6",
     "none", "not 5", "5 is wrong", "9" * 400],
)  # fmt: skip
def test_what_is_no_single_number_is_unparsed(said):
    parsed = parse_number(f"ANSWER: {said}")
    assert parsed.value is None
    assert parsed.outcome is Outcome.UNPARSED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer: **The red car.**", "The red car"),
        ('{"answer": "a \\"red\\" car", "reason": "x"}', 'a "red" car'),
        ("ANSWER: red because the lamp is on", "red"),
        ("ANSWER: red. The lamp is on.", "red"),
        ("ANSWER: St. Mary", "St. Mary"),
        ("ANSWER: C#", "C#"),
        ("The answer is clear. ANSWER: red", "red"),
        ("ANSWER: a red car\nThe answer is the Red Car!", "a red car"),
        ("ANSWER：「赤」。", "赤"),
        ("ANSWER: I don't know", None),
        ("The answer is hard to see", None),
        ("ANSWER: red or blue", None),
        ('ANSWER: "red" or "blue"', None),
        ("ANSWER: red\nANSWER: blue", None),
        ("ANSWER: <your answer>", None),
        ("ANSWER: not red", None),
        ("ANSWER: it is a large red car that stands near the tree in the rain", None),
        ("red", None),
    ],
)
def test_a_short_text_is_what_was_declared_and_never_prose(text, value):
    assert parse_short_text(text).value == value


@pytest.mark.parametrize(
    ("text", "value"), [("A red car.", "A red car"), ("It is red", None), ("hmm", None)]
)
def test_a_bare_phrase_is_an_answer_where_one_is_asked_for(text, value):
    assert parse_short_text(text, bare=3).value == value


TFT = (True, False, True)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("| # | said | mark |\n|--|--|--|\n| 1 | a | True |\n| 2 | b | F |\n| 3 | c | ✓ |", TFT),
        ("1. True 2. False 3. True ANSWER: B", TFT),
        ("True, False, True\n\nANSWER: C", TFT),
        ('{"statements": [{"id": 1, "answer": true}, {"id": 2, "answer": false}, '
         '{"id": "S3", "verdict": "true"}], "answer": "B"}', TFT),
        ("1. a\nAnswer: True\n2. b\nAnswer: False\n3. c\nAnswer: True\nANSWER: B", TFT),
        ("Statement 1 is true. Statement 2 is false.\nStatement 3 is true.", TFT),
        ("1. No car is ahead: True\n2. T-junction ahead: False\n3. True love: True", TFT),
        ("1. True\n1. False\n2. False\n3. True", (None, False, True)),
        ("1. True/False\n2. True or False? False\n3. not true", (None, False, None)),
        ("1. a car\n2. b\n3. lane free\nANSWER: No", (None, None, None)),
        ("0. True\n1. False\n2. True", (None, None, None)),
        ("3 cars are near: True", (None, None, None)),
        ("True, False", (None, None, None)),
    ],
)  # fmt: skip
def test_statements_are_marked_by_their_numbers(text, marks):
    parsed = parse_statements(text, 3)
    assert parsed.marks == marks
    assert parsed.missing == tuple(i for i, mark in enumerate(marks, 1) if mark is None)
    assert (parsed.outcome is Outcome.UNPARSED) == (not any(mark is not None for mark in marks))


def test_contradicted_statements_and_a_cut_last_line_are_told():
    assert parse_statements("1. True\n1. False\n2. True", 2).contradicted == (1,)
    assert parse_statements("1. True\n2. F", 2, "length").marks == (True, None)
    assert parse_statements("1. Tr", 2, "length").outcome is Outcome.TRUNCATED


class Verdict(BaseModel):
    verdict: Literal["pass", "fail"]
    score: float = 0.0
    sure: bool = True
    reason: str = ""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('Sure {here}:\n```json\n{"verdict": "fail", "reason": "a } b",}\n```\nDone.', "fail"),
        ('{"verdict": "pass|fail"} is asked, so {"verdict": "pass"}', "pass"),
        ('{"result": [{"verdict": "pass"}]}', "pass"),
        ('{"verdict": "pass"} {"verdict": "fail"}', None),
        ('{"verdict": "pass", "score": NaN}', None),
        ('{"verdict": "pass", "score": 1e999}', None),
        ('{"verdict": "pass", "sure": "true"}', None),
        ('{"verdict": "pass", "verdict": "fail"}', None),
        ("{'verdict': 'pass'}", None),
        ('{"verdict": "maybe"}', None),
        ('{"verdict": "pass"', None),
        ("[" * 5000, None),
    ],
)
def test_a_verdict_is_one_strict_object(text, verdict):
    parsed = parse_verdict(text, Verdict)
    assert (parsed.value.verdict if parsed.value else None) == verdict
    assert (parsed.outcome is Outcome.UNPARSED) == (verdict is None)
    assert bool(parsed.note) == (verdict is None)


def test_only_the_deciding_fields_of_two_verdicts_must_agree():
    text = '{"verdict": "pass", "reason": "a"} {"verdict": "pass", "reason": "b"}'
    assert parse_verdict(text, Verdict).value is None
    assert parse_verdict(text, Verdict, decides={"verdict"}).value.reason == "b"
    assert parse_verdict('{"verdict": "pa', Verdict, "length").outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    ("reply", "reason", "note"),
    [
        ("ANSWER: B", "stop", "no statement is marked"),
        ("I see a kitchen.", "stop", "no statement is marked"),
        ("I see a", "length", "the reply was cut before a mark"),
        ("", "stop", "the reply is empty"),
    ],
)
def test_a_note_on_statements_speaks_of_statements(reply, reason, note):
    assert parse_statements(reply, 2, reason).note == note
