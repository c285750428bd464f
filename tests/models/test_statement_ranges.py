"""A mark of several statements at once marks none of them."""

from __future__ import annotations

import pytest

from vlmfail.models.answers import parse_statements


@pytest.mark.parametrize(
    "text",
    [
        "1-2: True",
        "1–2: True",
        "1~2: True",
        "1..2: True",
        "S1-S2: True",
        "Statements 1-2: True",
        "Statement 1 and Statement 2: True",
        "1, 2: True",
        "1, 2, and 3: True",
        "1;2: True",
        "1 & 2 - True",
        "1 to 2: True",
        "(1)-(2): True",
        "**1-2:** True",
        "- 1-2: True",
        "1-2 True",
        "1-2. This is true.",
        "1-2: The lamps are red. True",
        "1-2:\nTrue",
        "Answers: 1-2: True",
        '{"1-2": true}',
    ],
)
def test_a_range_marks_neither(text):
    assert parse_statements(text, 3).marks == (None, None, None)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("1: True, 2-3: False", (True, None, None)),
        ("1-2: True, 3: False", (None, None, False)),
        ("1-2: True\n3: False", (None, None, False)),
        ("1-2: True\n1: False\n2: False", (False, False, None)),
        ("1. 2 cones are there: True", (True, None, None)),
        ("1) 2-door car ahead: True", (True, None, None)),
        ("1. In frames 2-3: True", (True, None, None)),
        ("1: there are 2-3 cars. True", (True, None, None)),
        ("1 - 2.5 m away: True", (True, None, None)),
        ("1-True, 2-False, 3-True", (True, False, True)),
        ("1-T 2-F 3-T", (True, False, True)),
    ],
)
def test_what_stands_beside_a_range_or_looks_like_one_is_read(text, marks):
    assert parse_statements(text, 3).marks == marks


def test_the_tilde_of_a_range_joins_no_numbers():
    assert parse_statements("1~3: True", 20).marks == (None,) * 20
