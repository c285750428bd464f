from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from vlmfail.core import UsageError
from vlmfail.models.prices import BUILT_IN, Price, price_of
from vlmfail.models.specs import parse_spec

OPENAI = "https://api.openai.com/v1"
GIVEN = {"provider": "openai", "model": "m", "input": 2.0, "cached_input": 0.2, "output": 8.0}


@pytest.fixture(autouse=True)
def _no_table(monkeypatch):
    monkeypatch.delenv("VLMFAIL_PRICES", raising=False)


@pytest.fixture
def table(tmp_path, monkeypatch):
    def write(*rows: dict | str) -> Path:
        path = tmp_path / "prices.json"
        text = rows[0] if rows and isinstance(rows[0], str) else json.dumps({"prices": rows})
        path.write_text(text)
        monkeypatch.setenv("VLMFAIL_PRICES", str(path))
        return path

    return write


def price(spec: str, base_url: str = OPENAI) -> Price | None:
    return price_of(parse_spec(spec), base_url)


# -- dollars --------------------------------------------------------------------------------------


def test_cached_tokens_are_counted_once():
    assert Price(**GIVEN).dollars(1000, 900, None, 50) == pytest.approx(0.00078, abs=1e-12)


@pytest.mark.parametrize("tokens", [(None, 0, 0, 50), (1000, 0, 0, None), (None, None, None, None)])
def test_unknown_tokens_cost_an_unknown_amount(tokens):
    assert Price(**GIVEN).dollars(*tokens) is None


def test_unsaid_parts_cost_the_full_input_price():
    full = pytest.approx(1000 * 2e-6 + 50 * 8e-6)
    assert Price(**GIVEN).dollars(1000, None, None, 50) == full
    plain = Price(provider="openai", model="m", input=2.0, output=8.0)
    assert plain.dollars(1000, 900, 100, 50) == full


def test_tokens_written_to_the_cache_have_their_price():
    written = Price(**GIVEN, cache_write=2.5)
    assert written.dollars(1000, 600, 300, 50) == pytest.approx(
        100 * 2e-6 + 600 * 2e-7 + 300 * 2.5e-6 + 50 * 8e-6
    )
    assert written.dollars(1000, 2000, 2000, 0) == pytest.approx(1000 * 2e-7)  # never negative


def test_a_prompt_longer_than_the_price_holds_for_costs_an_unknown_amount():
    short = Price(**GIVEN, up_to_input_tokens=1000)
    assert short.dollars(1000, 0, 0, 0) == pytest.approx(0.002)
    assert short.dollars(1001, 0, 0, 0) is None


# -- which row ------------------------------------------------------------------------------------


def test_the_table_that_ships_is_dated_and_sourced():
    rows = json.loads(BUILT_IN.read_text())["prices"]
    names = [(row["provider"], row.get("base_url"), row["model"]) for row in rows]
    assert len(set(names)) == len(names) > 30
    for row in rows:
        assert row["source"].startswith("https://")
        assert row.get("date", "") > "2026" or "day of reading" in row["note"]
        assert 0 < row.get("cached_input", 0.001) < row["input"] < row["output"]
        assert row["input"] <= row.get("cache_write", row["input"])


@pytest.mark.parametrize(
    ("spec", "base_url", "input_price"),
    [
        ("openai:gpt-5-mini", OPENAI, 0.25),
        ("openai:gpt-5-mini", OPENAI + "/", 0.25),
        ("openai:gpt-5-mini?temperature=0", OPENAI, 0.25),
        ("openai:gpt-5-mini-2025-08-07", OPENAI, 0.25),
        ("openai:gpt-4o-2024-08-06", OPENAI, 2.5),
        ("openai:gpt-4o-2024-05-13", OPENAI, 5),
        ("anthropic:claude-haiku-4-5-20251001", "https://api.anthropic.com", 1),
        ("google:gemini-2.5-flash", "https://generativelanguage.googleapis.com", 0.3),
        (
            "bedrock:us.amazon.nova-lite-v1:0",
            "https://bedrock-runtime.us-east-1.amazonaws.com",
            0.06,
        ),
    ],
)
def test_known_models_are_priced(spec, base_url, input_price):
    assert price(spec, base_url).input == input_price


@pytest.mark.parametrize(
    ("spec", "base_url"),
    [
        ("openai:gpt-5-pro", OPENAI),  # a name that only begins like a known one
        ("openai:gpt-5-mini-audio", OPENAI),
        ("openai:ft:gpt-4o-mini:me", OPENAI),
        ("openai:claude-haiku-4-5", OPENAI),
        ("openai:gpt-5-mini", "https://openrouter.ai/api/v1"),
        ("openai:gpt-5-mini", "http://127.0.0.1:8000/v1"),
        ("openai:gpt-5-mini", "http://localhost/v1"),
        ("openai:gpt-5-mini", "https://api.openai.com.evil.example/v1"),
        ("openai:gpt-5-mini", "https://api.openai.com:8443/v1"),
        ("openai:gpt-5-mini", "https://[broken/v1"),
        ("bedrock:amazon.nova-lite-v1:0", "https://bedrock-runtime.eu-west-3.amazonaws.com"),
    ],
)
def test_what_is_not_known_is_unpriced(spec, base_url):
    assert price(spec, base_url) is None


def test_local_models_cost_nothing():
    assert price("hf:some/model", "").dollars(1000, None, None, 50) == 0.0


def test_the_users_rows_win(table):
    table({**GIVEN, "model": "gpt-5-mini", "input": 9}, {**GIVEN, "model": "new"})
    assert price("openai:gpt-5-mini").input == 9
    assert price("openai:new").input == 2
    assert price("openai:gpt-5").input == 1.25
    assert price("openai:new", "http://127.0.0.1:9/v1") is None


def test_a_compatible_servers_rows_hold_there_only(table):
    there = "https://OpenRouter.ai/api/v1"
    table({**GIVEN, "base_url": there, "model": "*"}, {**GIVEN, "base_url": "http://[::1]:8000"})
    assert price("openai:any/thing", "https://openrouter.ai/api/v1").input == 2
    assert price("openai:any/thing", "http://openrouter.ai/api/v1") is None
    assert price("openai:gpt-5-mini").input == 0.25
    assert price("openai:m", "http://[::1]:8000/v1").input == 2
    assert price("openai:m", "http://[::1]:8001/v1") is None


def test_exact_then_dated_then_longest_pattern(table):
    table(
        {**GIVEN, "model": "*", "input": 1},
        {**GIVEN, "model": "qwen*", "input": 2},
        {**GIVEN, "model": "qwen3-*-instruct", "input": 3},
        {**GIVEN, "model": "qwen3-vl-instruct", "input": 4},
        {**GIVEN, "model": "a[b]*", "input": 5},
    )
    found = {
        name: price(f"openai:{name}").input
        for name in ("x", "qwen2", "qwen3-8b-instruct", "qwen3-vl-instruct", "a[b]c")
    }
    assert list(found.values()) == [1, 2, 3, 4, 5]
    assert price("openai:qwen3-vl-instruct-2507").input == 4


def test_an_edited_table_is_read_again(table):
    path = table({**GIVEN, "input": 1})
    assert price("openai:m").input == 1
    path.write_text(json.dumps({"prices": [{**GIVEN, "input": 12.5}]}))
    assert price("openai:m").input == 12.5


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**GIVEN, "input": -1}, "prices[0].input"),
        ({**GIVEN, "input": "2"}, "prices[0].input"),
        ({**GIVEN, "input": True}, "prices[0].input"),
        ({**GIVEN, "outputs": 2}, "prices[0].outputs"),
        ({"provider": "openai", "model": "m", "input": 1}, "prices[0].output"),
        ({**GIVEN, "date": "yesterday"}, "prices[0].date"),
        ({**GIVEN, "base_url": "openrouter.ai"}, "no address"),
        ("{", "JSON"),
        ("[]", "price table"),
        ('{"prices": [{"provider": "openai", "model": "m", "input": NaN, "output": 1}]}', "price"),
        ("\x00\x01", "JSON"),
        ("[" * 100_000, "JSON"),
        (json.dumps({"prices": {"a": 1}}), "prices"),
        (json.dumps({"prices": [{**GIVEN, "input": 1e300}]}), "prices[0].input"),
        ({**GIVEN, "cached_input": -0.1}, "prices[0].cached_input"),
        ({**GIVEN, "x\n\x1b[31m" * 500: 1}, "..."),
        ({**GIVEN, "base_url": "http://h:99999/" + "x" * 900}, "... (915 characters)"),
        ({**GIVEN, "source": "s" * 10_000}, "prices[0].source"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "row",
)
def test_a_bad_table_is_told_in_one_line(table, row, said):
    path = table(row)
    with pytest.raises(UsageError) as caught:
        price("openai:gpt-5-mini")
    text = str(caught.value)
    assert said in text
    assert str(path) in text
    assert text.isprintable()
    assert len(text) < 1000


def test_a_missing_table_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("VLMFAIL_PRICES", str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match=r"VLMFAIL_PRICES=.*No such file"):
        price("openai:gpt-5-mini")
    monkeypatch.setenv("VLMFAIL_PRICES", str(tmp_path))
    with pytest.raises(UsageError, match="cannot be read"):
        price("openai:gpt-5-mini")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: os.mkfifo(path), "no regular file"),
        (lambda path: path.mkdir(), "no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
        (lambda path: path.symlink_to(path), "cannot be read"),
        (lambda path: path.write_bytes(b" " * ((4 << 20) + 1)), "larger than 4 MiB"),
    ],
    ids=["fifo", "folder", "device", "loop", "huge"],
)
def test_what_is_no_table_is_told_and_never_waited_for(make, said, monkeypatch, tmp_path):
    path = tmp_path / "prices.json"
    make(path)
    monkeypatch.setenv("VLMFAIL_PRICES", str(path))
    with pytest.raises(UsageError, match=said) as caught:
        price("openai:gpt-5-mini")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["~nosuchuser/x.json", "x" * 5000, "a\nb.json"])
def test_a_name_that_no_file_can_have_is_told_in_one_line(name, monkeypatch):
    monkeypatch.setenv("VLMFAIL_PRICES", name)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        price("openai:gpt-5-mini")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
