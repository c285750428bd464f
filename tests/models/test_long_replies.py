"""A reply that is too long, or grows when its signs are spelled out, costs no time."""

from __future__ import annotations

import time

import pytest
from pydantic import BaseModel

from vlmfail.core import Option, Outcome, Question
from vlmfail.models.answers import (
    LONGEST_REPLY,
    parse_choice,
    parse_number,
    parse_short_text,
    parse_statements,
    parse_verdict,
    parse_yes_no,
)
from vlmfail.models.answers import marks as text_marks

QUESTION = Question("?", (Option("a", "Stop."), Option("b", "Go.")), "1")


class Verdict(BaseModel):
    verdict: str


READERS = {
    "choice": lambda text: parse_choice(text, QUESTION),
    "number": parse_number,
    "short text": parse_short_text,
    "statements": lambda text: parse_statements(text, 4),
    "verdict": lambda text: parse_verdict(text, Verdict),
    "yes or no": parse_yes_no,
}
GROWS = "\ufdfa"  # 18 characters in compatibility form
LONG = {
    "long": "a b " * 2_500_000,
    "grows": GROWS * 300_000,
    "grows when unescaped": "\\ufdfa" * (LONGEST_REPLY // 6),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", LONG)
def test_it_is_told_before_it_is_read(kind, name, monkeypatch):
    def never(text):
        raise AssertionError("it was read")

    monkeypatch.setattr(text_marks, "gentle", never)
    began = time.process_time()
    parsed = READERS[kind](LONG[name])
    assert parsed.outcome is Outcome.UNPARSED
    assert "characters long" in parsed.note
    assert time.process_time() - began < 2.0


def test_text_of_other_scripts_below_the_limit_is_read():
    text = "前方に人がいます。" * 10_000 + "\nANSWER: B"
    assert parse_choice(text, QUESTION).option == "b"
    assert parse_statements("１．True\n２．False", 2).marks == (True, False)
