from __future__ import annotations

import pytest

from vlmfail.models.providers.adapter import Fault
from vlmfail.models.providers.redaction import redacted

KEY = "sk-planted-0123456789abcdefghij"


@pytest.mark.parametrize(
    "text",
    [
        f"your key {KEY} is wrong",
        KEY,
        f"{KEY}{KEY}",
        f"incorrect key {KEY[:12]}***{KEY[-8:]}",
        "x" * 100 + KEY[:20],
        f"{KEY[:15]}\n{KEY[15:]}",
    ],
)
def test_a_key_is_struck_out_whole_and_in_part(text):
    said = redacted({"a": [text, Fault("auth", text)]}, (KEY,))
    for part in (KEY[:8], KEY[-8:]):
        assert part not in str(said)
    assert "[key]" in str(said)


def test_other_words_stay():
    text = "the lane is free, so: continue"
    assert redacted(text, (KEY, "abc", "")) == text
    assert redacted("short secret abc", ("abc",)) == "short secret abc"
