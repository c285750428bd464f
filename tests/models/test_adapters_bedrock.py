from __future__ import annotations

import asyncio
import base64
import pickle
import socket
import sys
import time

import pytest

from vlmfail.core import MissingDependencyError, ModelFault, UsageError
from vlmfail.models.providers.adapter import Fault
from vlmfail.models.sent_pictures import SentPicture
from vlmfail.models.specs import parse_spec
from vlmfail.testing.provider_replies import ODD_REPLIES
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Hang, Raw, Reset, Status

pytest.importorskip("boto3")
pytest.importorskip("httptools")

from vlmfail.models.providers.bedrock import BedrockAdapter

PLANTED = "planted-0123456789"
PICTURE = SentPicture(b"\xff\xd8 picture", "image/jpeg", 4, 4, "0" * 64)
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def adapter(rest=CLAUDE):
    return BedrockAdapter(parse_spec(f"bedrock:{rest}"))


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id-" + PLANTED)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-" + PLANTED)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-" + PLANTED)


def sent(steps, spec=CLAUDE + "{}", *, pictures=(), timeout=5.0, together=False):
    """Return (what each step gave as words or fault, the requests that arrived, in flight)."""

    async def talk(url):
        one = adapter(spec.replace("{}", f"@{url}", 1))
        client = one.connect(connections=64)

        async def attempt():
            try:
                async with asyncio.timeout(timeout):
                    raw = await one.send(
                        client, "What?", pictures, one.parameters(), seed=3, timeout=timeout
                    )
            except Exception as error:
                return one.fault(error)
            return one.read(raw)

        try:
            if together:
                return await asyncio.gather(*(attempt() for _ in steps))
            return [await attempt() for _ in steps]
        finally:
            await one.close(client)

    with ProviderServer(steps) as server:
        return asyncio.run(talk(server.url)), server.requests, server.max_in_flight


def test_a_request_and_its_reply():
    step = Answer("B", thinking="The lane is blocked.", cached=90, thinking_tokens=5)
    (words,), (request,), _ = sent(
        [step],
        CLAUDE + '{}?temperature=0.5&top_p=0.9&thinking=low&extra_body={"top_k":3}',
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
    assert picture["image"]["format"] == "jpeg"
    assert base64.b64decode(picture["image"]["source"]["bytes"]) == PICTURE.data
    assert text == {"text": "What?"}
    assert body["inferenceConfig"] == {"maxTokens": 6144, "temperature": 0.5, "topP": 0.9}
    assert body["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "top_k": 3,
    }
    assert "system" not in body
    assert request.model == CLAUDE


def test_a_foreign_host_is_sent_no_credentials(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-" + PLANTED)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    _, (request,), _ = sent([Answer()])
    assert PLANTED not in repr(dict(request.headers))
    assert "authorization" not in request.headers


def test_the_reply_is_kept_as_it_came():
    body = {
        "output": {"message": {"content": [{"text": "B"}, {"novelty": 1}]}},
        "stopReason": "end_turn",
        "somethingNew": {"a": [1]},
    }

    async def talk(url):
        one = adapter(f"{CLAUDE}@{url}")
        client = one.connect(connections=1)
        return await one.send(client, "What?", (), {}, seed=0, timeout=5)

    with ProviderServer([Raw(body)]) as server:
        assert asyncio.run(talk(server.url)) == body


def test_one_request_an_attempt_and_what_each_error_means():
    kinds = {
        "auth": "auth",
        "expired": "auth",
        "forbidden": "auth",
        "not_found": "not_found",
        "wrong_model": "not_found",
        "bad_request": "bad_request",
        "too_long": "bad_request",
        "rate_limit": "rate_limit",
        "daily_limit": "quota",
        "quota": "quota",
        "server": "server",
        "unavailable": "overload",
        "not_ready": "overload",
        "model_timeout": "server",
        "model_error": "server",
        "filtered": "filtered",
        "unsupported_temperature": "unsupported",
        "unsupported_thinking": "unsupported",
    }
    steps = [Status(kind=kind, retry_after=7) for kind in kinds]
    steps += [Reset(), Raw(b"<html>"), Status(502, body="<html>Bad Gateway</html>")]
    faults, requests, _ = sent(steps)
    assert len(requests) == len(steps)
    last = ["connection", "server", "server"]
    assert [fault.kind for fault in faults] == [*kinds.values(), *last]
    by_kind = dict(zip(kinds, faults, strict=False))
    assert by_kind["rate_limit"].retry_after == 7.0
    assert by_kind["rate_limit"].code == "ThrottlingException"
    assert by_kind["unsupported_temperature"].parameter == "temperature"
    assert by_kind["unsupported_thinking"].parameter == "thinking"


def test_many_wait_at_once():
    words, requests, in_flight = sent([Answer("B", delay=1.0)] * 40, together=True)
    assert [word.text for word in words] == ["B"] * 40
    assert len(requests) == 40
    assert in_flight > 20  # boto3's own pool holds ten


def test_a_hung_request_ends_with_the_callers_deadline():
    start = time.monotonic()
    (fault, words), requests, _ = sent([Hang(), Answer("B")], timeout=0.5)
    assert fault.kind == "timeout"
    assert words.text == "B"
    assert len(requests) == 2
    assert time.monotonic() - start < 5


def test_odd_replies_over_the_wire():
    odd = ODD_REPLIES["bedrock"]
    words = dict(zip(odd, sent(list(odd.values()))[0], strict=True))
    assert words["guardrail_intervened"].finish_reason == "content_filter"
    assert words["content_filtered"].finish_reason == "content_filter"
    assert words["max_tokens_in_thinking"].finish_reason == "length"
    assert words["context_exceeded"].finish_reason == "length"
    assert words["malformed_model_output"].finish_reason == "malformed_model_output"
    assert words["redacted_reasoning"].text == "B"
    assert words["two_texts"].text == "Answer: B"
    assert words["unknown_stop"].finish_reason == "novel_reason"
    assert words["no_usage"].usage.input_tokens is None
    assert words["no_output"].fault.kind == "server"


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"output": None},
        {"output": {"message": {"content": None}}},
        {"output": {"message": {"content": [None, 3, {"text": 4}]}}, "usage": 1},
        {"output": {"message": {"content": [{"reasoningContent": 3}]}}, "stopReason": 8},
        {"error": "boom"},
        {"message": "The request is odd", "__type": "ValidationException"},
        {"stopReason": "content_filtered"},
    ],
)
def test_no_reply_is_too_odd_to_read(raw):
    words = adapter().read(raw)
    assert (words.fault is None) == ("stopReason" in raw)
    assert words.usage.input_tokens is None


def test_cache_tokens_are_part_of_the_input():
    usage = {
        "inputTokens": 10,
        "cacheReadInputTokens": 90,
        "cacheWriteInputTokens": 20,
        "outputTokens": 5,
    }
    words = adapter().read({"output": {"message": {"content": []}}, "usage": usage})
    assert (words.usage.input_tokens, words.usage.output_tokens) == (120, 5)
    assert (words.cached_tokens, words.cache_write_tokens) == (90, 20)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (CLAUDE, {}),
        (CLAUDE + "?max_tokens=10&top_p=0.5", {"inferenceConfig": {"maxTokens": 10, "topP": 0.5}}),
        (
            "anthropic.claude-opus-4-7?thinking=high&max_tokens=900",
            {
                "inferenceConfig": {"maxTokens": 900},
                "additionalModelRequestFields": {
                    "thinking": {"type": "adaptive"},
                    "output_config": {"effort": "high"},
                },
            },
        ),
        (
            "us.amazon.nova-2-lite-v1:0?thinking=minimal&temperature=0",
            {
                "inferenceConfig": {"temperature": 0.0},
                "additionalModelRequestFields": {
                    "reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}
                },
            },
        ),
        (
            "openai.gpt-oss-120b-1:0?thinking=high",
            {"additionalModelRequestFields": {"reasoning_effort": "high"}},
        ),
        ("qwen.qwen3-vl-235b-a22b?max_tokens=9", {"inferenceConfig": {"maxTokens": 9}}),
    ],
)
def test_parameters(rest, expected):
    assert adapter(rest).parameters() == expected


@pytest.mark.parametrize(
    "rest",
    [
        "qwen.qwen3-vl-235b-a22b?thinking=low",
        "us.amazon.nova-2-lite-v1:0?thinking=4000",
        "openai.gpt-oss-120b-1:0?thinking=none",
        "anthropic.claude-opus-4-7?thinking=4000",
        CLAUDE + "?key_env=MY_KEY",
    ],
)
def test_what_cannot_be_is_refused_at_once(rest):
    with pytest.raises(UsageError, match="bedrock:"):
        adapter(rest)


def test_adapting():
    def refuse(one, parameters, name, text=""):
        return one.adapted(parameters, Fault("unsupported", text, 400, parameter=name))

    one = adapter("anthropic.claude-opus-4-6-v1?thinking=low&temperature=0")
    first = one.parameters()
    plain = refuse(one, first, "temperature")
    assert plain["inferenceConfig"] == {"maxTokens": first["inferenceConfig"]["maxTokens"]}
    budget = refuse(one, plain, "thinking", "adaptive thinking is not supported on this model")
    assert budget["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 2048}
    }
    nova = adapter("us.amazon.nova-2-lite-v1:0?thinking=high&temperature=0&max_tokens=9")
    assert "temperature" not in refuse(nova, nova.parameters(), "temperature")["inferenceConfig"]
    assert refuse(nova, nova.parameters(), "max_tokens") is None
    assert refuse(nova, nova.parameters(), "messages") is None


def test_no_key_is_kept(monkeypatch):
    one = adapter()
    assert "secret-" + PLANTED in one.secrets()
    assert "session-" + PLANTED in one.secrets()
    for text in (repr(one), str(vars(one)), repr(pickle.dumps(one))):
        assert PLANTED not in text
    copy = pickle.loads(pickle.dumps(one))
    assert copy.base_url == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with pytest.raises(ModelFault, match="AWS_ACCESS_KEY_ID") as caught:
        one.connect(connections=1)
    assert "\n" not in str(caught.value)
    assert "export AWS_BEARER_TOKEN_BEDROCK=" in str(caught.value)


def test_the_region(monkeypatch):
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(UsageError, match="region=us-east-1"):
        adapter()
    one = adapter(CLAUDE + "?region=ap-south-1")
    assert one.base_url == "https://bedrock-runtime.ap-south-1.amazonaws.com"
    client = one.connect(connections=300)
    assert client.meta.endpoint_url == one.base_url
    assert client.meta.config.max_pool_connections == 300
    client.close()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'vlmfail\[bedrock\]'"):
        adapter()


def test_a_server_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async def talk():
        one = adapter(CLAUDE + f"@http://127.0.0.1:{port}")
        client = one.connect(connections=1)
        try:
            await one.send(client, "What?", (), one.parameters(), seed=0, timeout=5)
        except Exception as error:
            return one.fault(error)
        finally:
            await one.close(client)

    assert asyncio.run(talk()).kind == "connection"


@pytest.mark.parametrize("token", [None, "bearer-" + PLANTED])
def test_the_own_host_is_sent_signed_requests(monkeypatch, token):
    awsrequest = pytest.importorskip("botocore.awsrequest")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    if token:
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", token)
    seen = []

    class Body:
        def stream(self, **_):
            return iter([b'{"output": {"message": {"content": [{"text": "B"}]}}}'])

    def instead_of_sending(request, **_):
        seen.append((request.url, request.headers["Authorization"].decode()))
        return awsrequest.AWSResponse(request.url, 200, {}, Body())

    async def talk():
        one = adapter()
        client = one.connect(connections=1)
        client.meta.events.register("before-send.bedrock-runtime.Converse", instead_of_sending)
        return one.read(await one.send(client, "What?", (), {}, seed=0, timeout=5))

    assert asyncio.run(talk()).text == "B"
    ((url, authorization),) = seen
    assert url.startswith("https://bedrock-runtime.eu-west-1.amazonaws.com/model/")
    assert authorization.startswith("Bearer " if token else "AWS4-HMAC-SHA256 Credential=id-")
    assert "secret-" + PLANTED not in authorization
