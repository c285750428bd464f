"""What is tried again, how long it waits, and what a trial becomes: against a real server."""

from __future__ import annotations

import base64
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from vlmfail.core import CancelledRequestError, ModelFault, Outcome
from vlmfail.models.answers import classify
from vlmfail.models.registry import make_model
from vlmfail.testing.provider_server import ProviderServer, steady
from vlmfail.testing.provider_steps import Answer, Cut, Hang, Raw, Reset, Status, Trickle

PROVIDERS = ["openai", "anthropic", "google", "bedrock"]


def spec(provider: str, url: str, **options: object) -> str:
    path = "/v1" if provider == "openai" else ""
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{provider}:m@{url}{path}" + (f"?{query}" if query else "")


@pytest.fixture(params=PROVIDERS)
def provider(request):
    needs = {"anthropic": "anthropic", "google": "google.genai", "bedrock": "boto3"}
    if request.param in needs:
        pytest.importorskip(needs[request.param])
    return request.param


def test_a_reply_with_what_was_sent_and_what_it_used(provider, picture):
    with ProviderServer(Answer("ANSWER: B", input_tokens=1000, output_tokens=50)) as server:
        reply = make_model(spec(provider, server.url)).answer([picture], "Which?", seed=7)
        request = server.requests[0]
    assert (reply.text, reply.finish_reason) == ("ANSWER: B", "stop")
    assert reply.usage.requests == server.count == 1
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 50)
    assert reply.usage.dollars is None, "an unpriced model costs nobody knows what, not nothing"
    plain = request.body.translate(bytes.maketrans(b"-_", b"+/"))  # Google's alphabet
    assert base64.b64encode(picture.png) in plain.replace(b"\\/", b"/")
    assert b"Which?" in request.body
    (sent,) = reply.raw["sent"]["pictures"]
    assert sent["sha256"] == picture.sha256
    assert reply.raw["cached"] is False
    assert reply.raw["response"]


def test_server_errors_are_tried_again(provider, picture):
    with ProviderServer([Status(500), Reset(), Answer("ANSWER: A")]) as server:
        reply = make_model(spec(provider, server.url)).answer([picture], "?", seed=0)
        assert server.count == 3
    assert reply.text == "ANSWER: A"
    assert reply.usage.requests == 3
    assert [row["fault"] for row in reply.raw["attempts"]] == ["server", "connection"]


def test_attempts_end_in_an_error_that_is_no_answer(provider, picture, question):
    with ProviderServer(Status(500)) as server:
        reply = make_model(spec(provider, server.url, attempts=2)).answer([picture], "?", seed=0)
        assert server.count == 2
    assert classify(reply, question)[:2] == (Outcome.ERROR, None)
    assert reply.usage.requests == 2
    assert reply.usage.input_tokens == 0, "an answer in error is not billed"


def test_a_rate_limit_is_waited_out(provider, picture):
    steps = [Status(kind="rate_limit", retry_after=1.0), Answer("ANSWER: A")]
    with ProviderServer(steps) as server:
        start = time.monotonic()
        reply = make_model(spec(provider, server.url, attempts=1)).answer([picture], "?", seed=0)
        waited = time.monotonic() - start
    assert reply.text == "ANSWER: A", "waiting is no failed attempt"
    if provider != "bedrock":  # it does not say how long
        assert 1.0 <= waited < 3.0


def test_patience_ends(picture, question):
    with ProviderServer(Status(429, retry_after=0.3)) as server:
        model = make_model(spec("openai", server.url, patience=1))
        reply = model.answer([picture], "?", seed=0)
        assert 2 <= server.count <= 6
    assert classify(reply, question)[0] is Outcome.ERROR


@pytest.mark.parametrize("step", [Hang(), Trickle(bytes_per_second=5)], ids=["hang", "trickle"])
def test_a_deadline_ends_every_attempt(provider, step, picture, question):
    with ProviderServer(step) as server:
        start = time.monotonic()
        reply = make_model(spec(provider, server.url, timeout=1)).answer([picture], "?", seed=0)
        assert time.monotonic() - start < 8
        assert server.count == 2, "a late reply may have been paid: one repetition, no more"
    assert classify(reply, question)[0] is Outcome.TIMEOUT
    assert reply.usage.input_tokens is None, "whether it was billed is not known"
    assert reply.raw["maybe_billed"] == 2


def test_a_cut_reply_is_tried_again(provider, picture):
    with ProviderServer([Cut(20), Answer("ANSWER: A")]) as server:
        reply = make_model(spec(provider, server.url)).answer([picture], "?", seed=0)
    assert reply.text == "ANSWER: A"
    assert reply.raw["maybe_billed"] == 1


def test_what_is_no_json_is_a_server_error(picture):
    with ProviderServer([Raw("<html>gateway</html>"), Answer("ANSWER: A")]) as server:
        reply = make_model(spec("openai", server.url)).answer([picture], "?", seed=0)
    assert reply.text == "ANSWER: A"
    assert reply.usage.requests == 2


@pytest.mark.parametrize(
    ("kind", "words"),
    [("quota", "quota"), ("auth", "key"), ("not_found", "no such model")],
)
def test_what_every_request_would_meet_stops_the_run(provider, kind, words, picture):
    from vlmfail.testing.provider_errors import kinds

    named = {"quota": ["quota"], "auth": ["auth", "invalid_key"], "not_found": ["not_found"]}[kind]
    known = [name for name in named if name in kinds(provider)]
    if not known:
        pytest.skip(f"{provider} has no {kind}")
    with ProviderServer(Status(kind=known[0])) as server:
        with pytest.raises(ModelFault, match=words):
            make_model(spec(provider, server.url)).answer([picture], "?", seed=0)
        assert server.count == 1


def test_no_server_is_said_once_with_its_address(picture):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ModelFault, match=url):
            make_model(spec("openai", url, attempts=2)).answer([picture], "?", seed=0)


def test_a_missing_key_is_named(picture):
    with pytest.raises(ModelFault, match="OPENAI_API_KEY"):
        make_model("openai:gpt-unknown").answer([picture], "?", seed=0)


def test_a_server_that_was_there_and_goes_costs_trials_not_the_run(picture, question):
    with ProviderServer([Answer("ANSWER: A"), Reset()]) as server:
        model = make_model(spec("openai", server.url, attempts=2))
        assert model.answer([picture], "?", seed=0).text == "ANSWER: A"
        reply = model.answer([picture], "?", seed=1)
    assert classify(reply, question)[0] is Outcome.ERROR


def test_a_refused_parameter_is_left_out_once_with_a_warning(picture, tmp_path):
    def script(request):
        if "temperature" in request.json:
            return Status(
                400,
                body={
                    "error": {
                        "message": "Unsupported value: 'temperature' does not support 0.0 with "
                        "this model. Only the default (1) value is supported.",
                        "type": "invalid_request_error",
                        "param": "temperature",
                        "code": "unsupported_value",
                    }
                },
            )
        return Answer("ANSWER: A")

    with ProviderServer(script) as server:
        name = spec("openai", server.url, temperature=0)
        model = make_model(name)
        with pytest.warns(UserWarning, match="leaves out temperature"):
            first = model.answer([picture], "?", seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            second = model.answer([picture], "?", seed=1)
        assert server.count == 3
        assert first.raw["sent"]["parameters"] == second.raw["sent"]["parameters"] == {}
        # A later process finds the reply although it begins with the refused parameter.
        again = make_model(name).answer([picture], "?", seed=0)
        assert again.raw["cached"] is True
        assert server.count == 3


def test_the_token_limit_takes_its_other_name(picture):
    def script(request):
        if "max_tokens" in request.json:
            return Status(
                400,
                body={
                    "error": {
                        "message": "Unsupported parameter: 'max_tokens' is not supported with this "
                        "model. Use 'max_completion_tokens' instead.",
                        "type": "invalid_request_error",
                        "param": "max_tokens",
                        "code": "unsupported_parameter",
                    }
                },
            )
        return Answer("ANSWER: A")

    with ProviderServer(script) as server:
        model = make_model(spec("openai", server.url, max_tokens=99))
        with pytest.warns(UserWarning, match="max_completion_tokens"):
            reply = model.answer([], "?", seed=0)
        assert server.requests[-1].json["max_completion_tokens"] == 99
    assert reply.raw["sent"]["parameters"] == {"max_completion_tokens": 99}


def test_a_malformed_request_is_one_trials_error(picture, question):
    with ProviderServer([Answer("ANSWER: A"), Status(400)]) as server:
        model = make_model(spec("openai", server.url))
        model.answer([picture], "?", seed=0)
        reply = model.answer([picture], "?", seed=1)
        assert server.count == 2
    assert classify(reply, question)[0] is Outcome.ERROR


def test_a_model_that_refuses_everything_ends_the_run(picture):
    with ProviderServer(Status(400)) as server:
        model = make_model(spec("openai", server.url))
        for seed in range(9):
            assert model.answer([picture], "?", seed=seed).finish_reason == "error"
        with pytest.raises(ModelFault, match="all refused"):
            model.answer([picture], "?", seed=9)
        assert server.count == 10


@pytest.mark.parametrize("concurrency", [8, 150])
def test_as_many_in_flight_as_asked_and_no_more(concurrency, picture):
    with ProviderServer(steady(delay=0.1), gather=concurrency) as server:
        model = make_model(spec("openai", server.url))
        with ThreadPoolExecutor(concurrency) as pool:
            work = lambda seed: model.answer([picture], "?", seed=seed)  # noqa: E731
            list(pool.map(work, range(concurrency * 2)))
        assert server.max_in_flight == concurrency


def test_too_many_slows_down_and_recovers(picture):
    crowd = threading.Semaphore()
    state = {"until": 12}

    def script(request):
        with crowd:
            state["until"] -= 1
            if state["until"] >= 0:
                return Status(429, retry_after=0.1)
        return Answer("ANSWER: A", delay=0.03)

    with ProviderServer(script) as server:
        model = make_model(spec("openai", server.url))
        with ThreadPoolExecutor(12) as pool:
            work = lambda seed: model.answer([picture], "?", seed=seed)  # noqa: E731
            replies = list(pool.map(work, range(120)))
        from vlmfail.models.providers.endpoint import endpoint_of

        limiter = endpoint_of("openai", server.url + "/v1").limiter
    assert all(reply.text == "ANSWER: A" for reply in replies)
    assert limiter.limit is None, "after enough good replies nothing is held back"
    assert limiter.in_flight == 0


def test_cancel_ends_what_is_in_flight(picture):
    with ProviderServer(Hang()) as server:
        model = make_model(spec("openai", server.url))
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(model.answer, [picture], "?", seed=s) for s in range(4)]
            while server.count < 4:
                time.sleep(0.01)
            start = time.monotonic()
            model.cancel()
            for future in futures:
                with pytest.raises(CancelledRequestError):
                    future.result()
            assert time.monotonic() - start < 20
