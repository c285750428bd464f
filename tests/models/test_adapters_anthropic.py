from __future__ import annotations

import asyncio
import pickle
import socket
import sys

import pytest

from vlmfail.core import MissingDependencyError, ModelFault, UsageError
from vlmfail.models.providers.adapter import Fault
from vlmfail.models.providers.claude import claude_version
from vlmfail.models.sent_pictures import SentPicture
from vlmfail.models.specs import parse_spec
from vlmfail.testing.provider_replies import ODD_REPLIES
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Hang, Raw, Reset, Status

pytest.importorskip("anthropic")
pytest.importorskip("httptools")

from vlmfail.models.providers.anthropic import AnthropicAdapter

PLANTED = "sk-ant-planted-0123456789"
PICTURE = SentPicture(b"\x89PNG picture", "image/png", 4, 4, "0" * 64)


def adapter(rest="claude-haiku-4-5"):
    return AnthropicAdapter(parse_spec(f"anthropic:{rest}"))


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLANTED)


def sent(steps, spec="claude-haiku-4-5{}", *, pictures=(), timeout=5.0, times=None):
    """Return (what each step gave as words or fault, the requests that arrived)."""

    async def talk(url):
        one = adapter(spec.replace("{}", f"@{url}", 1))
        client = one.connect(connections=8)
        outcomes = []
        try:
            for _ in range(times or len(steps)):
                try:
                    async with asyncio.timeout(timeout):
                        raw = await one.send(
                            client, "What?", pictures, one.parameters(), seed=3, timeout=timeout
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
        'claude-haiku-4-5{}?temperature=0.5&thinking=low&extra_body={"metadata":{"user_id":"u"}}',
        pictures=(PICTURE,),
    )
    assert (words.text, words.thinking, words.finish_reason) == (
        "B",
        "The lane is blocked.",
        "stop",
    )
    assert (words.usage.input_tokens, words.usage.output_tokens) == (120, 8)
    assert words.cached_tokens == 90
    body = request.json
    picture, text = body["messages"][0]["content"]
    assert picture["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": PICTURE.base64,
    }
    assert text == {"type": "text", "text": "What?"}
    assert body["temperature"] == 0.5
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert body["max_tokens"] == 4096 + 2048
    assert body["metadata"] == {"user_id": "u"}
    assert "system" not in body


def test_the_own_key_stays_away_from_a_foreign_host(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", PLANTED)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Api-Key: {PLANTED}\nX-Team: {PLANTED}")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/elsewhere")
    _, (request,) = sent([Answer()])
    assert PLANTED not in repr(dict(request.headers))
    assert b"planted" not in request.body
    monkeypatch.setenv("MY_KEY", "my-own-key")
    _, (request,) = sent([Answer()], "claude-haiku-4-5{}?key_env=MY_KEY")
    assert "my-own-key" in repr(dict(request.headers))
    assert PLANTED not in repr(dict(request.headers))


def test_the_version_in_an_address_is_not_doubled():
    _, (request,) = sent([Answer()], "claude-haiku-4-5{}/v1")
    assert request.path == "/v1/messages"


def test_a_redirect_is_not_followed(monkeypatch):
    monkeypatch.setenv("MY_KEY", "my-own-key")
    with ProviderServer([Answer()]) as other:
        moved = Status(307, body={}, headers={"Location": other.url + "/v1/messages"})
        (fault,), _ = sent([moved], "claude-haiku-4-5{}?key_env=MY_KEY")
        assert (fault.kind, fault.status) == ("not_found", 307)
        assert other.count == 0


def test_one_request_an_attempt_and_what_each_error_means():
    kinds = {
        "auth": "auth",
        "forbidden": "auth",
        "not_found": "not_found",
        "too_large": "bad_request",
        "too_long": "bad_request",
        "bad_request": "bad_request",
        "rate_limit": "rate_limit",
        "quota": "quota",
        "server": "server",
        "unavailable": "overload",
        "gateway_timeout": "server",
        "overload": "overload",
        "filtered": "filtered",
        "unsupported_temperature": "unsupported",
        "unsupported_thinking": "unsupported",
    }
    steps = [Status(kind=kind, retry_after=7) for kind in kinds] + [Reset(), Raw(b"<html>")]
    faults, requests = sent(steps)
    assert len(requests) == len(steps)
    assert [fault.kind for fault in faults] == [*kinds.values(), "connection", "server"]
    by_kind = dict(zip(kinds, faults, strict=False))
    assert by_kind["rate_limit"].retry_after == 7.0
    assert by_kind["overload"].code == "overloaded_error"
    assert by_kind["unsupported_temperature"].parameter == "temperature"
    assert by_kind["unsupported_thinking"].parameter == "thinking"


def test_a_hung_request_ends_with_the_callers_deadline():
    (fault, words), requests = sent([Hang(), Answer("B")], timeout=0.5)
    assert fault.kind == "timeout"
    assert words.text == "B"
    assert len(requests) == 2


def test_odd_replies_over_the_wire():
    odd = ODD_REPLIES["anthropic"]
    words = dict(zip(odd, sent(list(odd.values()))[0], strict=True))
    assert words["refusal"].finish_reason == "refusal"
    assert words["refusal"].text
    assert words["max_tokens_in_thinking"].finish_reason == "length"
    assert words["max_tokens_in_thinking"].text == ""
    assert words["context_exceeded"].finish_reason == "length"
    assert words["two_texts"].text == "Answer: B"
    assert words["unknown_block"].text == "B"
    assert words["unknown_stop"].finish_reason == "novel_reason"
    assert words["no_usage"].usage.input_tokens is None
    assert words["error_object"].fault.kind == "overload"
    assert words["not_json"].kind == "server"  # a fault: there is nothing to read


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"content": None},
        {"content": None, "stop_reason": "refusal", "stop_details": {"explanation": "no"}},
        {"content": [None, 1, {"type": "text"}, {"type": "text", "text": 3}], "usage": 4},
        {"content": "B", "stop_reason": 5, "usage": {"input_tokens": "x", "output_tokens": -1}},
        {"error": "boom"},
        {"error": {"type": None}},
        {"type": "error"},
        {"reply": []},
    ],
)
def test_no_reply_is_too_odd_to_read(raw):
    words = adapter().read(raw)
    assert (words.fault is None) == (isinstance(raw.get("content"), str) or "stop_reason" in raw)
    assert words.usage.input_tokens is None


def test_cache_tokens_are_part_of_the_input():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 20,
        "output_tokens": 5,
    }
    words = adapter().read({"content": [], "usage": usage})
    assert words.usage.input_tokens == 120
    assert (words.cached_tokens, words.cache_write_tokens) == (90, 20)


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-3-5-haiku-latest", (3, 5)),
        ("claude-3-7-sonnet-20250219", (3, 7)),
        ("claude-sonnet-4-20250514", (4, 0)),
        ("claude-opus-4-5-20251101", (4, 5)),
        ("us.anthropic.claude-opus-4-6-v1:0", (4, 6)),
        ("anthropic/claude-sonnet-4.5", (4, 5)),
        ("claude-sonnet-5", (5, 0)),
        ("claude-fable-5-2", (5, 2)),
        ("claude-mythos-preview", (4, 7)),
        ("my-model", None),
    ],
)
def test_generations(model, version):
    assert claude_version(model) == version


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("claude-haiku-4-5", {"max_tokens": 4096}),
        ("claude-haiku-4-5?max_tokens=10&top_p=0.5", {"max_tokens": 10, "top_p": 0.5}),
        ("claude-3-5-haiku-latest?thinking=none", {"max_tokens": 4096}),
        (
            "claude-haiku-4-5?thinking=none",
            {"max_tokens": 4096, "thinking": {"type": "disabled"}},
        ),
        (
            "claude-haiku-4-5?thinking=3000&max_tokens=2000",
            {"max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 3000}},
        ),
        (
            "claude-haiku-4-5?thinking=3000&max_tokens=4000",
            {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 3000}},
        ),
        (
            "claude-opus-4-7?thinking=minimal&max_tokens=500",
            {
                "max_tokens": 500,
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "low"},
            },
        ),
        ("claude-sonnet-5", {"max_tokens": 4096 + 16384}),
    ],
)
def test_parameters(rest, expected):
    assert adapter(rest).parameters() == expected


@pytest.mark.parametrize(
    "rest",
    [
        "claude-3-5-haiku-latest?thinking=low",
        "claude-opus-4-7?thinking=5000",
        "claude-haiku-4-5?thinking=100",
        "claude-haiku-4-5?region=eu-west-1",
        "claude-haiku-4-5?send_seed=true",
    ],
)
def test_what_cannot_be_is_refused_at_once(rest):
    with pytest.raises(UsageError, match="claude"):
        adapter(rest)


def test_adapting():
    one = adapter("my-model?thinking=medium&temperature=0&top_p=0.9&max_tokens=3000")

    def refuse(parameters, name, text=""):
        return one.adapted(parameters, Fault("unsupported", text, 400, parameter=name))

    first = one.parameters()
    assert first["thinking"] == {"type": "adaptive"}
    no_temperature = refuse(first, "temperature")
    assert no_temperature == {key: first[key] for key in first if key != "temperature"}
    budget = refuse(no_temperature, "thinking", "adaptive thinking is not supported on this model")
    assert budget["thinking"] == {"type": "enabled", "budget_tokens": 8192}
    assert budget["max_tokens"] == 3000 + 8192
    assert "output_config" not in budget
    plain = refuse(budget, "thinking", "thinking is not supported on this model")
    assert plain == {"max_tokens": 3000 + 8192, "top_p": 0.9}
    again = refuse(budget, "thinking", "Use thinking.type.adaptive and output_config.effort")
    assert again["thinking"] == {"type": "adaptive"}
    assert again["output_config"] == {"effort": "medium"}
    assert "output_config" not in refuse(first, "effort", "does not support the effort parameter")
    less = refuse(
        {"max_tokens": 99999},
        "max_tokens",
        "max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens",
    )
    assert less == {"max_tokens": 64000}
    assert refuse({"max_tokens": 10}, "max_tokens", "max_tokens is odd") is None
    assert refuse({"max_tokens": 10}, "messages") is None
    assert refuse({"max_tokens": 10}, None) is None


def test_no_key_is_kept(monkeypatch):
    one = adapter()
    assert one.secrets() == (PLANTED,)
    for text in (repr(one), str(vars(one)), repr(pickle.dumps(one))):
        assert "planted" not in text
    copy = pickle.loads(pickle.dumps(one))
    assert copy.parameters() == one.parameters()
    assert copy.base_url == "https://api.anthropic.com"
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert one.secrets() == ()
    with pytest.raises(ModelFault, match="export ANTHROPIC_API_KEY=") as caught:
        one.connect(connections=1)
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLANTED + "\nsecond line")
    with pytest.raises(ModelFault, match="no key") as caught:
        one.connect(connections=1)
    assert "planted" not in str(caught.value)


def test_the_own_key_goes_to_the_own_host(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    client = adapter().connect(connections=300)
    assert client.api_key == PLANTED
    assert str(client.base_url).rstrip("/") == "https://api.anthropic.com"
    assert client.max_retries == 0
    pool = client._client._transport._pool
    assert pool._max_connections == 300
    asyncio.run(client.close())


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'vlmfail\[anthropic\]'"):
        adapter()


def test_a_server_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async def talk():
        one = adapter("claude-haiku-4-5" + f"@http://127.0.0.1:{port}")
        client = one.connect(connections=1)
        try:
            await one.send(client, "What?", (), one.parameters(), seed=0, timeout=5)
        except Exception as error:
            return one.fault(error)
        finally:
            await one.close(client)

    assert asyncio.run(talk()).kind == "connection"
