from __future__ import annotations

import pytest

from vlmfail.core import UsageError
from vlmfail.models.specs import parse_spec


def test_the_parts_of_a_spec():
    spec = parse_spec("openai:qwen2.5vl:7b@http://127.0.0.1:8000/v1/?thinking=low&max_tokens=10")
    assert (spec.prefix, spec.model) == ("openai", "qwen2.5vl:7b")
    assert spec.base_url == "http://127.0.0.1:8000/v1"
    assert (spec.thinking, spec.max_tokens) == ("low", 10)
    assert spec.given == ("thinking", "max_tokens")
    assert parse_spec("google:claude@20240620").model == "claude@20240620"
    assert parse_spec("openai:m@HTTP://h/v1").base_url == "HTTP://h/v1"


@pytest.mark.parametrize(
    "text",
    [
        "openai:",
        "openai:m?",
        "openai:m?thinkng=low",
        "openai:m?timeout=nan",
        "openai:m?max_tokens=" + "9" * 400,
        "openai:m?max_tokens=1&max_tokens=2",
        "openai:m?extra_body=" + "[" * 100_000,
        "openai:m@http://user:secret@h/v1",
        "openai:m@http://",
        "openai:m@127.0.0.1:8000/v1",
        "openai:m@localhost/v1",
        "openai:m@ftp://h/v1",
    ],
)
def test_what_is_no_spec_is_told(text):
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"a": NaN}', "NaN is no JSON"),
        ('{"a": -Infinity}', "-Infinity is no JSON"),
        ('{"a": [1e999]}', "too large"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\udc00": 1}', "surrogate"),
        ('{"a":' * 400 + "1" + "}" * 400, "32 levels"),
        ('{"a":' + "[" * 4000, "32 levels"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": 1', "delimiter"),
        ("[1]", "a JSON object"),
        ("null", "a JSON object"),
        ("1", "a JSON object"),
        ("", "character 0"),
        ("%ED%A0%80", "percent escape"),
    ],
)
def test_an_option_takes_a_json_object_that_all_read_alike(value, said):
    with pytest.raises(UsageError, match=said) as caught:
        parse_spec(f"openai:m?extra_body={value}")
    assert "extra_body" in str(caught.value) or "option" in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_an_object_in_an_option_is_kept_as_it_is():
    spec = parse_spec('openai:m?extra_body={"a": [1, {"b": null}], "c": "%C3%A9"}')
    assert spec.extra_body == {"a": [1, {"b": None}], "c": "é"}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://h/v 1", "blanks"),
        ("http://h /v1", "blanks"),
        ("http://h/v1\\x", "blanks"),
        ("http://h/\u200bv1", "blanks"),
        ("http://h/%zz", "hexadecimal"),
        ("http://h/v1%", "hexadecimal"),
        ("http://h%00/v1", "control character"),
        ("http://h/%0d%0aX-Key:1", "control character"),
        ("http://h/v1#part", "'#'"),
        ("http://h:0/v1", "65535"),
        ("http://h:65536/v1", "65535"),
        ("http://h:/v1", "65535"),
        ("http://h:80a/v1", "65535"),
        ("http://::1/v1", "brackets"),
        ("http://fe80::1:8000/v1", "brackets"),
        ("http://[::1/v1", "brackets"),
        ("http://[nonsense]/v1", "brackets"),
        ("http://[::1]x/v1", "brackets"),
        ("http://[::1]:99999/v1", "65535"),
        ("http://a..b/v1", "no name of a host"),
        ("http://.h/v1", "no name of a host"),
        ("http://h,i/v1", "no name of a host"),
        (f"http://{'a.' * 130}b/v1", "no name of a host"),
        ("http:///v1", "no host"),
        ("http:/h/v1", "without its scheme"),
        ("//h/v1", "without its scheme"),
    ],
)
def test_what_is_no_address_is_told_in_one_line(address, said):
    with pytest.raises(UsageError, match=said) as caught:
        parse_spec(f"openai:m@{address}")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "address",
    [
        "http://h",
        "https://h.example:65535/a/b%20c",
        "http://[::1]:8000/v1",
        "http://[fe80::1%25eth0]:8000/v1",
        "http://under_score.local./v1",
        "http://bücher.example/v1",
    ],
)
def test_addresses_are_taken_as_they_are(address):
    assert parse_spec(f"openai:m@{address}?timeout=5").base_url == address


@pytest.mark.parametrize(
    "address",
    [
        "http://user:sec-ret@h/v1",
        "http://sec-ret@h/v1",
        "https://user:8080/sec-ret@h/v1",
        "http://user:sec-ret?x@h/v1",
        "http://user:sec-ret#x@h/v1",
        "http://user:sec-ret /v1@h",
        "http://user%3Asec-ret%40h/v1",
        "user:sec-ret@h:8000/v1",
        "ftp://user:sec-ret@h/v1",
        "http://h/v1?key_env=sec-ret",
        "http://h/v1?api_key=sec-ret",
        "http://h/v1?timeout=x&extra_body={'key': 'sec-ret'}",
    ],
)
def test_a_secret_in_a_spec_is_refused_and_not_repeated(address):
    with pytest.raises(UsageError) as caught:
        parse_spec(f"openai:m@{address}")
    assert "sec-ret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "openai:m?extra_body=" + "x" * 8000,
        "openai:m?max_tokens=" + "x" * 8000,
        "openai:m?" + "x" * 8000 + "=1",
        "openai:m?" + "x" * 100_000,
        "openai:" + "x" * 8000 + "?max_tokens=0",
        "openai:" + "x" * 8000 + "@http://h:0/v1",
        "o" * 8000 + ":",
        "openai:m\x1b[31m",
        "openai:m\u2028n",
        "openai:m\ud800",
    ],
    ids=range(10),
)
def test_long_and_wild_specs_are_told_in_one_short_line(text):
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("value", ["1_0", "٣", "1e3"])
def test_numbers_are_plain_digits(value):
    with pytest.raises(UsageError, match="max_tokens"):
        parse_spec(f"openai:m?max_tokens={value}")


def test_texts_about_a_model_name_it_without_its_options():
    spec = parse_spec("openai:m@http://h/v1?extra_body=" + '{"a": "' + "x" * 7000 + '"}')
    assert spec.shown == "'openai:m@http://h/v1'"
    with pytest.raises(UsageError, match="has no option 'extra_body'") as caught:
        spec.check_options(("timeout",))
    assert len(str(caught.value)) < 200


def test_a_refused_thinking_names_what_this_provider_takes():
    with pytest.raises(UsageError) as levels:
        parse_spec("openai:m?thinking=lo")
    assert "low, medium, high, got 'lo'" in str(levels.value)
    assert "tokens" not in str(levels.value)
    with pytest.raises(UsageError, match="or a number of tokens where the model takes one"):
        parse_spec("anthropic:m?thinking=lo")
