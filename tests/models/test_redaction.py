from __future__ import annotations

import json
import time
from urllib.parse import quote, quote_plus

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


@pytest.mark.parametrize("key", [KEY, "planted9", "ab12cd", "".join(map(str, range(1000, 1300)))])
@pytest.mark.parametrize("mark", ["", "…", " ...", '"}', "\\"])
def test_a_key_that_a_cut_left_a_part_of_is_struck_out(key, mark):
    for kept in range(4, len(key)):
        cut = f"wrong key {key}"[: len("wrong key ") + kept] + mark
        said = redacted(cut, (key,))
        assert said == f"wrong key [key]{mark}", kept
        assert redacted(f"{key[-kept:]} is wrong", (key,)) == "[key] is wrong"


@pytest.mark.parametrize("key", ["plan/ted+0123456789", 'plan"ted\\0123456789'])
def test_a_key_is_struck_out_however_it_is_written(key):
    for written in (quote(key, safe=""), quote_plus(key), json.dumps(key)[1:-1]):
        said = redacted(f"GET /?key={written}&x=1", (key,))
        assert said == "GET /?key=[key]&x=1"
    assert "0123" not in redacted(key.replace("/", "\\/"), (key,))


def test_a_key_like_the_mark_itself_ends_the_work():
    for key in ("key]key]key]", "[key][key]", "]]]]]]]]]]", "....[key]...."):
        assert key not in redacted(f"a {key} and {key[:5]}", (key,)).replace("[key]", "")


def test_long_texts_are_read_once():
    text = "." * 1_000_000 + KEY[:5] + " " * 1_000_000
    start = time.process_time()
    assert "[key]" in redacted(text, (KEY,))
    assert time.process_time() - start < 2
