"""The scripted provider: the official SDKs read its replies, and it counts what it sees."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from vlmfail.core import UsageError
from vlmfail.testing.provider_errors import kinds
from vlmfail.testing.provider_replies import ODD_REPLIES, odd
from vlmfail.testing.provider_server import (
    Answer,
    Cut,
    Hang,
    Provider,
    ProviderServer,
    Raw,
    Reset,
    ServedRequest,
    Status,
    Step,
    Trickle,
    provider_process,
    steady,
)
from vlmfail.testing.provider_steps import PROVIDERS

PATHS: dict[str, str] = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "google": "/v1beta/models/m-1:generateContent",
    "bedrock": "/model/m-1/converse",
}

Ask = Callable[[ProviderServer], Any]


pytest.importorskip("httptools")


def ask_openai(server: ProviderServer, timeout: float = 5.0) -> Any:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(
        base_url=server.url + "/v1", api_key="sk-planted", max_retries=0, timeout=timeout
    ) as client:
        return client.chat.completions.create(
            model="m-1", messages=[{"role": "user", "content": "Which?"}]
        )


def ask_anthropic(server: ProviderServer, timeout: float = 5.0) -> Any:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(
        base_url=server.url, api_key="sk-planted", max_retries=0, timeout=timeout
    ) as client:
        return client.messages.create(
            model="m-1", max_tokens=16, messages=[{"role": "user", "content": "Which?"}]
        )


def ask_google(server: ProviderServer, timeout: float = 5.0) -> Any:
    genai = pytest.importorskip("google.genai")
    client = genai.Client(
        api_key="planted",
        vertexai=False,
        http_options={"base_url": server.url, "timeout": round(timeout * 1000)},
    )
    try:
        return client.models.generate_content(model="m-1", contents="Which?")
    finally:
        client.close()


@pytest.fixture(scope="module")
def bedrock_session() -> Any:
    boto3 = pytest.importorskip("boto3")
    return boto3.Session(
        aws_access_key_id="AKIAPLANTED",
        aws_secret_access_key="planted",
        region_name="us-east-1",
    )


@pytest.fixture
def asking(bedrock_session: Any) -> dict[str, Ask]:
    from botocore.config import Config

    def ask_bedrock(server: ProviderServer, timeout: float = 5.0) -> Any:
        client = bedrock_session.client(
            "bedrock-runtime",
            endpoint_url=server.url,
            config=Config(
                retries={"total_max_attempts": 1}, read_timeout=timeout, connect_timeout=5
            ),
        )
        return client.converse(
            modelId="m-1", messages=[{"role": "user", "content": [{"text": "Which?"}]}]
        )

    return {
        "openai": ask_openai,
        "anthropic": ask_anthropic,
        "google": ask_google,
        "bedrock": ask_bedrock,
    }


def post(server: ProviderServer, provider: str = "openai", **more: Any) -> tuple[int, Any, Any]:
    """One request without an SDK: status, headers, body."""
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=more.pop("timeout", 5))
    body = json.dumps({"model": "m-1", **more})
    try:
        connection.request("POST", PATHS[provider], body, {"authorization": "Bearer sk-planted"})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., ProviderServer]]:
    servers: list[ProviderServer] = []

    def start(script: Any, **more: Any) -> ProviderServer:
        servers.append(ProviderServer(script, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


FULL = Answer(
    "B",
    input_tokens=1000,
    cached=900,
    output_tokens=50,
    thinking_tokens=30,
    thinking="The lane is blocked.",
)


def test_openai_reads_a_plain_answer(serve: Any, asking: dict[str, Ask]) -> None:
    reply = asking["openai"](serve(FULL))
    choice = reply.choices[0]
    assert (choice.message.content, choice.finish_reason, reply.model) == ("B", "stop", "m-1")
    assert choice.message.reasoning_content == "The lane is blocked."
    usage = reply.usage
    assert (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens) == (1000, 900)
    assert (usage.completion_tokens, usage.total_tokens) == (50, 1050)
    assert usage.completion_tokens_details.reasoning_tokens == 30


def test_anthropic_reads_a_plain_answer(serve: Any, asking: dict[str, Ask]) -> None:
    reply = asking["anthropic"](serve(FULL))
    assert [block.type for block in reply.content] == ["thinking", "text"]
    assert (reply.content[1].text, reply.stop_reason, reply.model) == ("B", "end_turn", "m-1")
    usage = reply.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (
        100,
        900,
        50,
    )


def test_google_reads_a_plain_answer(serve: Any, asking: dict[str, Ask]) -> None:
    reply = asking["google"](serve(FULL))
    assert reply.text == "B"
    assert reply.candidates[0].finish_reason.name == "STOP"
    assert reply.candidates[0].content.parts[0].thought is True
    usage = reply.usage_metadata
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (1000, 900)
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (20, 30)
    assert usage.total_token_count == 1050


def test_bedrock_reads_a_plain_answer(serve: Any, asking: dict[str, Ask]) -> None:
    reply = asking["bedrock"](serve(FULL))
    blocks = reply["output"]["message"]["content"]
    assert blocks[0]["reasoningContent"]["reasoningText"]["text"] == "The lane is blocked."
    assert (blocks[1], reply["stopReason"]) == ({"text": "B"}, "end_turn")
    usage = reply["usage"]
    assert (usage["inputTokens"], usage["cacheReadInputTokens"]) == (100, 900)
    assert (usage["outputTokens"], usage["totalTokens"]) == (50, 1050)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_request_is_recorded(provider: Provider, serve: Any, asking: dict[str, Ask]) -> None:
    server = serve(Answer())
    asking[provider](server)
    (request,) = server.requests
    assert (request.provider, request.model, request.n) == (provider, "m-1", 0)
    assert "Which?" in json.dumps(request.json)
    assert PATHS[provider].removeprefix("/v1beta") in request.path
    assert "content-type" in request.headers
    assert "planted" not in repr(request)
    assert server.strays == []


ERRORS: list[tuple[str, Status, str, int]] = [
    ("openai", Status(400), "BadRequestError", 400),
    ("openai", Status(401), "AuthenticationError", 401),
    ("openai", Status(403), "PermissionDeniedError", 403),
    ("openai", Status(404), "NotFoundError", 404),
    ("openai", Status(413), "APIStatusError", 413),
    ("openai", Status(429), "RateLimitError", 429),
    ("openai", Status(kind="quota"), "RateLimitError", 429),
    ("openai", Status(500), "InternalServerError", 500),
    ("openai", Status(502), "InternalServerError", 502),
    ("anthropic", Status(401), "AuthenticationError", 401),
    ("anthropic", Status(413), "ContentTooLargeError", 413),
    ("anthropic", Status(429), "RateLimitError", 429),
    ("anthropic", Status(kind="quota"), "BadRequestError", 400),
    ("anthropic", Status(529), "OverloadedError", 529),
    ("google", Status(kind="auth"), "ClientError", 400),
    ("google", Status(429), "ClientError", 429),
    ("google", Status(503), "ServerError", 503),
    ("bedrock", Status(400), "ValidationException", 400),
    ("bedrock", Status(kind="auth"), "ClientError", 403),
    ("bedrock", Status(403), "AccessDeniedException", 403),
    ("bedrock", Status(429), "ThrottlingException", 429),
    ("bedrock", Status(kind="not_ready"), "ModelNotReadyException", 429),
    ("bedrock", Status(kind="quota"), "ServiceQuotaExceededException", 400),
    ("bedrock", Status(500), "InternalServerException", 500),
]


@pytest.mark.parametrize(("provider", "step", "name", "code"), ERRORS)
def test_the_sdk_raises_the_right_class(
    provider: str, step: Status, name: str, code: int, serve: Any, asking: dict[str, Ask]
) -> None:
    server = serve(step)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        asking[provider](server)
    error: Any = caught.value
    assert type(error).__name__ == name
    if provider == "bedrock":
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == code
        assert error.response["Error"]["Message"]
    else:
        assert getattr(error, "status_code", getattr(error, "code", None)) == code
    assert server.count == 1


def test_errors_of_one_status_differ_by_code(serve: Any, asking: dict[str, Ask]) -> None:
    import openai
    from google.genai import errors

    server = serve([Status(429), Status(kind="quota"), Status(kind="filtered_azure")])
    codes = []
    for _ in range(3):
        with pytest.raises(openai.APIStatusError) as caught:
            asking["openai"](server)
        codes.append(caught.value.code)
    assert codes == ["rate_limit_exceeded", "insufficient_quota", "content_filter"]
    server = serve([Status(429, retry_after=2.5), Status(kind="quota")])
    texts = []
    for _ in range(2):
        with pytest.raises(errors.ClientError) as failed:
            asking["google"](server)
        texts.append(json.dumps(failed.value.details))
    assert "PerMinute" in texts[0]
    assert '"retryDelay": "2.5s"' in texts[0]
    assert texts[0].count("RetryInfo") == 1
    assert "PerDay" in texts[1]


def test_retry_after_is_said_as_each_provider_says_it(serve: Any) -> None:
    step = Status(429, retry_after=1.2)
    headers = post(serve(step), "openai")[1]
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "1200")
    headers = post(serve(step), "anthropic")[1]
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", None)
    headers = post(serve(Status(429, headers={"Retry-After": "7"})), "openai")[1]
    assert headers["retry-after"] == "7"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_kind_of_error_and_odd_reply_is_served(provider: Provider, serve: Any) -> None:
    names = list(ODD_REPLIES[provider])
    steps: list[Step] = [Status(kind=kind) for kind in kinds(provider)]
    steps += [odd(provider, name) for name in names]
    server = serve(steps)
    replies = [post(server, provider) for _ in steps]
    errors = replies[: len(kinds(provider))]
    assert all(code >= 400 for code, _, _ in errors)
    assert all("MODEL" not in body.decode() for _, _, body in errors)
    assert all(json.loads(body) for _, _, body in errors)
    assert {code for code, _, _ in replies[len(errors) :]} <= {200, 400}
    bodies = [body for _, _, body in replies[len(errors) :]]
    assert len(set(bodies)) >= len(bodies) - 1


def test_odd_replies_reach_the_sdk(serve: Any, asking: dict[str, Ask]) -> None:
    openai = asking["openai"]
    assert openai(serve(odd("openai", "refusal"))).choices[0].message.refusal
    assert openai(serve(odd("openai", "empty_choices"))).choices == []
    assert openai(serve(odd("openai", "null_choices"))).choices is None
    cut = openai(serve(odd("openai", "length_without_content"))).choices[0]
    assert (cut.message.content, cut.finish_reason) == (None, "length")
    assert openai(serve(odd("openai", "no_usage"))).usage is None
    reply = asking["anthropic"](serve(odd("anthropic", "refusal")))
    assert reply.stop_reason == "refusal"
    reply = asking["anthropic"](serve(odd("anthropic", "redacted_thinking")))
    assert reply.content[0].type == "redacted_thinking"
    reply = asking["google"](serve(odd("google", "blocked_safety")))
    assert reply.prompt_feedback.block_reason.name == "SAFETY"
    reply = asking["google"](serve(odd("google", "max_tokens_without_parts")))
    assert (reply.candidates[0].content.parts, reply.text) == (None, None)
    reply = asking["bedrock"](serve(odd("bedrock", "guardrail_intervened")))
    assert reply["stopReason"] == "guardrail_intervened"
    reply = asking["bedrock"](serve(odd("bedrock", "redacted_reasoning")))
    assert reply["output"]["message"]["content"][0]["reasoningContent"]["redactedContent"]


def test_an_unknown_odd_reply_names_those_that_exist() -> None:
    with pytest.raises(UsageError, match="empty_choices"):
        odd("openai", "nonsense")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_can_be_echoed(provider: str, serve: Any) -> None:
    _, _, body = post(serve(Status(kind="auth_echo")), provider)
    assert b"sk-planted" in body


def test_hang_runs_into_the_clients_timeout(serve: Any, asking: dict[str, Ask]) -> None:
    import openai

    server = serve(Hang())
    began = time.monotonic()
    with pytest.raises(openai.APITimeoutError):
        ask_openai(server, timeout=0.3)
    assert 0.25 < time.monotonic() - began < 3
    deadline = time.monotonic() + 5
    while server.in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (server.in_flight, server.hung_up) == (0, 1)


def test_close_ends_hanging_requests_at_once() -> None:
    server = ProviderServer(Hang())
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(post, server)
        server.wait_for(1)
        began = time.monotonic()
        server.close()
        server.close()
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            asked.result(timeout=5)
        assert time.monotonic() - began < 5
    with pytest.raises(ConnectionError):
        post(server)


def test_nobody_listens_once_it_is_closed_however_soon() -> None:
    for _ in range(200):
        server = ProviderServer(Answer("B"))
        server.close()
        port = int(server.url.rpartition(":")[2])
        # A listener left behind takes the connection and never answers.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()


def test_a_trickle_outlives_a_timeout_of_reads(serve: Any) -> None:
    server = serve(Trickle(Answer("B"), bytes_per_second=1000))
    began = time.monotonic()
    _, _, body = post(server, timeout=0.3)
    assert time.monotonic() - began > len(body) / 1000 * 0.9 > 0.3
    assert json.loads(body)["choices"]


def test_cut_and_reset_break_the_connection(serve: Any, asking: dict[str, Ask]) -> None:
    import openai

    with pytest.raises(http.client.IncompleteRead) as caught:
        post(serve(Cut(7)))
    assert len(caught.value.partial) == 7
    with pytest.raises(ConnectionResetError):
        post(serve(Reset()))
    for step in (Cut(7), Reset()):
        with pytest.raises(openai.APIConnectionError):
            asking["openai"](serve(step))
        with pytest.raises(Exception, match=r"(?i)closed|reset|disconnect|incomplete"):
            asking["google"](serve(step))


def test_steps_are_served_in_order_and_the_last_repeats(serve: Any) -> None:
    server = serve([Status(500), Raw({"x": 1}, status=202), Answer()])
    assert [post(server)[0] for _ in range(5)] == [500, 202, 200, 200, 200]


def test_a_script_sees_the_request(serve: Any) -> None:
    def script(request: ServedRequest) -> Step:
        return Answer("blue" if request.json.get("colour") else f"n{request.n}")

    server = serve(script, keep_bodies=False)
    bodies = [post(server, **more)[2] for more in ({"colour": 1}, {})]
    assert [json.loads(b)["choices"][0]["message"]["content"] for b in bodies] == ["blue", "n1"]
    assert {request.body for request in server.requests} == {b""}


def test_a_raising_script_answers_500_and_is_raised_at_the_end() -> None:
    def script(request: ServedRequest) -> Step:
        raise KeyError("slip")

    with pytest.raises(KeyError, match="slip"), ProviderServer(script) as server:
        assert post(server)[0] == 500
    with pytest.raises(ValueError, match="no error 'nonsense'"):  # noqa: SIM117
        with ProviderServer(Status(kind="nonsense")) as server:
            assert post(server)[0] == 500
    with pytest.raises(ZeroDivisionError), ProviderServer(script) as server:  # noqa: PT012
        post(server)
        raise ZeroDivisionError


def test_other_paths_are_strays(serve: Any) -> None:
    server = serve(Answer())
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(server.url + "/v1/models")
    assert server.strays == ["GET /v1/models"]
    assert (server.count, server.in_flight) == (0, 0)


async def _many(url: str, count: int, at_once: int, size: int) -> list[int]:
    """Send `count` requests over `at_once` kept connections and return the statuses."""
    host, port = url.removeprefix("http://").split(":")
    body = json.dumps({"model": "m-1", "picture": "x" * size}).encode()
    head = f"POST {PATHS['openai']} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    left = iter(range(count))
    statuses = []

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in left:
            writer.write(head.encode() + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).lower().decode().split("\r\n")
            length = next(line for line in lines if line.startswith("content-length"))
            await reader.readexactly(int(length.split(":")[1]))
            statuses.append(int(lines[0].split()[1]))
        writer.close()

    await asyncio.gather(*(worker() for _ in range(at_once)))
    return statuses


def test_the_highest_number_in_flight_is_exact(serve: Any) -> None:
    server = serve(steady(delay=0.05), gather=37)
    assert asyncio.run(_many(server.url, 120, 37, 10_000)) == [200] * 120
    assert server.max_in_flight == 37
    assert (server.in_flight, server.hung_up, server.count) == (0, 0, 120)


def test_the_count_is_there_as_soon_as_the_reply_is(serve: Any) -> None:
    for _ in range(20):
        server = serve(Answer())
        post(server)
        assert (server.max_in_flight, server.in_flight, server.count) == (1, 0, 1)


def test_clients_that_hang_up_do_not_raise_the_number_in_flight(serve: Any) -> None:
    server = serve(Hang())
    for n in range(20):
        with pytest.raises(TimeoutError):
            post(server, timeout=0.01)
        server.wait_for(n + 1)
    assert server.max_in_flight == 1


def test_as_its_own_process_it_errs_by_seed_and_tells_its_counts() -> None:
    with provider_process(delay=0.005, error_share=0.3, seed=5) as url:
        statuses = asyncio.run(_many(url, 200, 1, 100))
        with urllib.request.urlopen(url + "/stats") as response:
            stats = json.load(response)
        request = urllib.request.Request(url + "/reset", method="POST")
        with urllib.request.urlopen(request):
            pass
        again = asyncio.run(_many(url, 200, 64, 300_000))
    assert stats["requests"] == 200
    assert stats["max_in_flight"] == 1
    assert stats["statuses"] == {"200": statuses.count(200), "500": statuses.count(500)}
    assert 35 <= statuses.count(500) <= 85
    # The n-th request errs or not whatever came before and however many are in flight.
    assert sorted(again) == sorted(statuses)
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(url + "/stats", timeout=2)
    script = steady(error_share=0.3, seed=5)
    made = [script(ServedRequest(n, "openai", "m", "/", {}, b"")) for n in range(200)]
    assert [isinstance(step, Status) for step in made] == [code == 500 for code in statuses]
