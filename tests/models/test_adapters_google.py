from __future__ import annotations

import asyncio
import base64
import pickle
import socket
import sys

import pytest

from vlmfail.core import MissingDependencyError, ModelFault, UsageError
from vlmfail.models.providers.adapter import Fault
from vlmfail.models.sent_pictures import SentPicture
from vlmfail.models.specs import parse_spec
from vlmfail.testing.provider_replies import ODD_REPLIES
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Hang, Raw, Reset, Status

pytest.importorskip("google.genai")
pytest.importorskip("httptools")

from vlmfail.models.providers.google import GoogleAdapter

PLANTED = "AIza-planted-0123456789"
PICTURE = SentPicture(b"\x89PNG picture", "image/png", 4, 4, "0" * 64)


def adapter(rest="gemini-2.5-flash"):
    return GoogleAdapter(parse_spec(f"google:{rest}"))


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", PLANTED)


def sent(steps, spec="gemini-2.5-flash{}", *, pictures=(), timeout=5.0, seed=3):
    """Return (what each step gave as words or fault, the requests that arrived)."""

    async def talk(url):
        one = adapter(spec.replace("{}", f"@{url}", 1))
        client = one.connect(connections=8)
        outcomes = []
        try:
            for _ in steps:
                try:
                    async with asyncio.timeout(timeout):
                        parameters = one.parameters()
                        if one.spec.send_seed:
                            parameters["seed"] = seed & one.largest_seed
                        raw = await one.send(
                            client, "What?", pictures, parameters, seed=seed, timeout=timeout
                        )
                except Exception as error:
                    outcomes.append(one.fault(error))
                else:
                    outcomes.append(one.read(raw))
        finally:
            await one.close(client)
        return outcomes

    with ProviderServer(steps) as server:
        return asyncio.run(talk(server.url)), server.requests


def test_a_request_and_its_reply():
    step = Answer("B", thinking="The lane is blocked.", cached=90, thinking_tokens=5)
    (words,), (request,) = sent(
        [step],
        "gemini-2.5-flash{}?temperature=0.5&top_p=0.9&max_tokens=50&thinking=low&send_seed=true"
        '&extra_body={"labels":{"a":"b"}}',
        pictures=(PICTURE,),
        seed=2**40 + 7,
    )
    assert (words.text, words.thinking, words.finish_reason) == (
        "B",
        "The lane is blocked.",
        "stop",
    )
    assert (words.usage.input_tokens, words.usage.output_tokens) == (120, 8)
    assert words.cached_tokens == 90
    assert request.path == "/v1beta/models/gemini-2.5-flash:generateContent"
    body = request.json
    (content,) = body["contents"]
    picture, text = content["parts"]
    (blob,) = picture.values()
    assert base64.urlsafe_b64decode(blob["data"]) == PICTURE.data
    assert text == {"text": "What?"}
    config = body["generationConfig"]
    assert (config["temperature"], config["topP"], config["seed"]) == (0.5, 0.9, 7)
    assert config["maxOutputTokens"] == 50 + 2048
    assert list(config["thinkingConfig"].values()) == [2048]
    assert body["labels"] == {"a": "b"}
    assert "safetySettings" not in body
    assert "systemInstruction" not in body


def test_the_own_key_stays_away_from_a_foreign_host(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", PLANTED)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    _, (request,) = sent([Answer()], "gemini-2.5-flash{}/v1")
    assert request.path == "/v1/models/gemini-2.5-flash:generateContent"
    assert PLANTED not in repr(dict(request.headers)) + request.path
    monkeypatch.setenv("MY_KEY", "my-own-key")
    _, (request,) = sent([Answer()], "gemini-2.5-flash{}?key_env=MY_KEY")
    assert request.headers["x-goog-api-key"] == "my-own-key"


def test_a_redirect_is_not_followed(monkeypatch):
    monkeypatch.setenv("MY_KEY", "my-own-key")
    with ProviderServer([Answer()]) as other:
        there = other.url + "/v1beta/models/gemini-2.5-flash:generateContent"
        moved = Status(307, body={}, headers={"Location": there})
        (fault,), _ = sent([moved], "gemini-2.5-flash{}?key_env=MY_KEY")
        assert (fault.kind, fault.status) == ("not_found", 307)
        assert other.count == 0


def test_one_request_an_attempt_and_what_each_error_means():
    kinds = {
        "auth": "auth",
        "unauthenticated": "auth",
        "forbidden": "auth",
        "not_found": "not_found",
        "too_large": "bad_request",
        "bad_request": "bad_request",
        "rate_limit": "rate_limit",
        "exhausted": "rate_limit",
        "quota": "quota",
        "server": "server",
        "unavailable": "overload",
        "gateway_timeout": "server",
        "unsupported_temperature": "unsupported",
        "unsupported_thinking": "unsupported",
        "thinking_required": "unsupported",
    }
    steps = [Status(kind=kind, retry_after=17 if "limit" in kind else None) for kind in kinds]
    steps += [Reset(), Raw(b"<html>"), Raw(b"")]
    faults, requests = sent(steps)
    assert len(requests) == len(steps)
    assert [fault.kind for fault in faults[:-3]] == list(kinds.values())
    assert [fault.kind for fault in faults[-3:]] == ["connection", "server", "server"]
    by_kind = dict(zip(kinds, faults, strict=False))
    assert by_kind["rate_limit"].retry_after == 17.0
    assert by_kind["unsupported_temperature"].parameter == "temperature"
    assert by_kind["thinking_required"].parameter == "thinking_config"


def test_a_hung_request_ends_with_the_callers_deadline():
    (fault, words), requests = sent([Hang(), Answer("B")], timeout=0.5)
    assert fault.kind == "timeout"
    assert words.text == "B"
    assert len(requests) == 2


def test_a_continued_reply_is_not_continued():
    body = {
        "candidates": [
            {
                "content": {"parts": [{"text": "B"}]},
                "finishReason": "CONTINUATION",
                "continuationToken": "YWJj",
            }
        ]
    }
    (words,), requests = sent([Raw(body)])
    assert (words.text, words.finish_reason) == ("B", "continuation")
    assert len(requests) == 1


def test_odd_replies_over_the_wire():
    odd = ODD_REPLIES["google"]
    words = dict(zip(odd, sent(list(odd.values()))[0], strict=True))
    for name in odd:
        if name.startswith("blocked_"):
            assert (words[name].finish_reason, words[name].text) == ("content_filter", "")
            assert words[name].fault is None
    assert words["safety"].finish_reason == "safety"
    assert words["recitation"].finish_reason == "recitation"
    assert words["max_tokens_without_parts"].finish_reason == "length"
    assert words["max_tokens_without_parts"].usage.output_tokens == 16
    assert words["two_parts"].text == "Answer: B"
    assert words["no_finish"].finish_reason == "stop"
    assert words["unknown_finish"].finish_reason == "novel_reason"
    assert words["no_usage"].usage.output_tokens is None
    assert words["empty_candidates"].fault.kind == "server"
    assert words["no_candidates"].fault.kind == "server"
    assert words["error_object"].fault.kind == "overload"
    assert words["not_json"].kind == "server"  # a fault: there is nothing to read


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"candidates": None},
        {"candidates": [None]},
        {"candidates": [{"content": None, "finishReason": 7}]},
        {"candidates": [{"content": {"parts": [None, 3, {"text": 4}]}}], "usageMetadata": []},
        {"error": "boom"},
        {"promptFeedback": {"blockReason": None}},
        {"promptFeedback": 4, "candidates": []},
    ],
)
def test_no_reply_is_too_odd_to_read(raw):
    words = adapter().read(raw)
    assert (words.fault is None) == ("finishReason" in str(raw))
    assert words.usage.input_tokens is None


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}, (10, 7)),
        ({"promptTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 15}, (10, 5)),
        ({"promptTokenCount": 10, "totalTokenCount": 10}, (10, 0)),
        ({"promptTokenCount": 10}, (10, None)),
        ({"promptTokenCount": 10, "toolUsePromptTokenCount": 3, "totalTokenCount": 15}, (13, 2)),
        ({}, (None, None)),
    ],
)
def test_usage(usage, expected):
    words = adapter().read({"candidates": [{}], "usageMetadata": usage})
    assert (words.usage.input_tokens, words.usage.output_tokens) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("gemini-2.5-flash", {}),
        ("gemini-2.0-flash?thinking=none", {}),
        ("gemini-2.5-flash?thinking=none", {"thinking_config": {"thinking_budget": 0}}),
        ("gemini-2.5-pro?thinking=high", {"thinking_config": {"thinking_budget": 24576}}),
        (
            "gemini-2.5-flash?thinking=100&max_tokens=100",
            {"max_output_tokens": 200, "thinking_config": {"thinking_budget": 100}},
        ),
        (
            "gemini-3.1-pro-preview?thinking=medium&max_tokens=100&temperature=0",
            {
                "max_output_tokens": 100,
                "temperature": 0.0,
                "thinking_config": {"thinking_level": "MEDIUM"},
            },
        ),
        ("gemini-flash-latest?thinking=low", {"thinking_config": {"thinking_level": "LOW"}}),
        ("gemini-3-flash?thinking=100", {"thinking_config": {"thinking_budget": 100}}),
    ],
)
def test_parameters(rest, expected):
    assert adapter(rest).parameters() == expected


@pytest.mark.parametrize(
    "rest",
    [
        "gemini-2.0-flash?thinking=low",
        "gemini-2.5-pro?thinking=none",
        "gemini-3-pro-preview?thinking=none",
        "gemini-2.5-flash?detail=low",
    ],
)
def test_what_cannot_be_is_refused_at_once(rest):
    with pytest.raises(UsageError, match="gemini"):
        adapter(rest)


def test_adapting():
    one = adapter()

    def refuse(parameters, name, text=""):
        return one.adapted(parameters, Fault("unsupported", text, 400, parameter=name))

    def level(name, text):
        return refuse({"thinking_config": {"thinking_level": name}}, "thinking_config", text)

    assert level("MINIMAL", "Thinking level MINIMAL is not supported for this model.") == {
        "thinking_config": {"thinking_level": "LOW"}
    }
    assert level("MEDIUM", "Thinking level is not supported for this model.") == {
        "thinking_config": {"thinking_budget": 8192}
    }
    budget = {"temperature": 0.0, "thinking_config": {"thinking_budget": 0}}
    said = "The thinking budget 0 is invalid. Please choose a value between 128 and 32768."
    assert refuse(budget, "thinking_config", said)["thinking_config"] == {"thinking_budget": 128}
    said = "Budget 0 is invalid. This model only works in thinking mode."
    assert refuse(budget, "thinking_config", said) == {"temperature": 0.0}
    assert refuse(budget, "temperature") == {"thinking_config": {"thinking_budget": 0}}
    said = "a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 65537"
    less = refuse({"max_output_tokens": 99999}, "max_output_tokens", said + " (exclusive).")
    assert less == {"max_output_tokens": 65536}
    assert refuse({"max_output_tokens": 9}, "max_output_tokens", "odd") is None
    assert refuse({"temperature": 0.0}, "contents") is None


def test_no_key_is_kept(monkeypatch):
    one = adapter()
    assert one.secrets() == (PLANTED,)
    for text in (repr(one), str(vars(one)), repr(pickle.dumps(one))):
        assert "planted" not in text
    assert pickle.loads(pickle.dumps(one)).parameters() == one.parameters()
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(ModelFault, match="GOOGLE_API_KEY are unset: export GEMINI_API_KEY="):
        one.connect(connections=1)
    monkeypatch.setenv("GOOGLE_API_KEY", "other-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    client = one.connect(connections=300)
    options = client._api_client._http_options
    assert options.base_url.rstrip("/") == "https://generativelanguage.googleapis.com"
    assert options.headers["x-goog-api-key"] == "other-key"
    assert options.httpx_async_client._transport._pool._max_connections == 300
    asyncio.run(one.close(client))
    assert options.httpx_async_client.is_closed


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'vlmfail\[google\]'"):
        adapter()


def test_a_server_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async def talk():
        one = adapter("gemini-2.5-flash" + f"@http://127.0.0.1:{port}")
        client = one.connect(connections=1)
        try:
            await one.send(client, "What?", (), one.parameters(), seed=0, timeout=5)
        except Exception as error:
            return one.fault(error)
        finally:
            await one.close(client)

    assert asyncio.run(talk()).kind == "connection"
