from __future__ import annotations

import pytest

from vlmfail.reports.wording import candidate_parts, clean, words

TURNS = [*"\u061c\u200e\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))]
CONTROLS = ["\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ud800"]


@pytest.mark.parametrize("sign", [*TURNS, *CONTROLS])
def test_what_turns_text_around_or_controls_reaches_no_page(sign):
    text = f"pass{sign}liaf"
    assert clean(text) == "pass\ufffdliaf"
    assert words(text) == "pass\ufffdliaf"
    assert candidate_parts([text]) == ["pass\ufffdliaf"]


def test_text_of_any_script_stays():
    text = "Ein Kind läuft.\n\t子供がいる。 ילד 👩‍🍳 −5 °C"
    assert clean(text) == text
