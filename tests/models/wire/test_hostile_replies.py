"""Replies that no provider should send: whatever comes, a trial's outcome and never a crash."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import time
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from vlmfail import search
from vlmfail.core import ModelFault, Outcome
from vlmfail.models.answers import classify
from vlmfail.models.providers.reply_bodies import (
    MOST_BYTES,
    STEP,
    Decoder,
    UnreadableReplyError,
    kept,
    ordinary,
)
from vlmfail.models.registry import make_model
from vlmfail.testing.provider_formats import answer_body
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Raw, Status, Trickle

PROVIDERS = ["openai", "anthropic", "google", "bedrock"]
NEEDS = {"anthropic": "anthropic", "google": "google.genai", "bedrock": "boto3"}
TOY = "vlmfail.testing.toy:ToyDomain"

WHERE = {
    "openai": {
        "content": ("choices", 0, "message", "content"),
        "message": ("choices", 0, "message"),
        "first": ("choices", 0),
        "outer": ("choices",),
        "stop": ("choices", 0, "finish_reason"),
        "usage": ("usage",),
        "input": ("usage", "prompt_tokens"),
    },
    "anthropic": {
        "content": ("content",),
        "stop": ("stop_reason",),
        "usage": ("usage",),
        "input": ("usage", "input_tokens"),
    },
    "google": {
        "content": ("candidates", 0, "content", "parts"),
        "message": ("candidates", 0, "content"),
        "first": ("candidates", 0),
        "outer": ("candidates",),
        "stop": ("candidates", 0, "finishReason"),
        "usage": ("usageMetadata",),
        "input": ("usageMetadata", "promptTokenCount"),
    },
    "bedrock": {
        "content": ("output", "message", "content"),
        "message": ("output", "message"),
        "outer": ("output",),
        "stop": ("stopReason",),
        "usage": ("usage",),
        "input": ("usage", "inputTokens"),
    },
}
"""Where each format holds the parts of a reply."""

ODD = {
    "string": "ANSWER: B",
    "number": 5,
    "true": True,
    "null": None,
    "nulls": [None, None],
    "numbers": [1, 2],
    "nested": [[{"type": "text", "text": "ANSWER: B"}]],
    "object": {"a": [1]},
    "text_number": [{"type": "text", "text": 5}],
    "text_null": [{"type": "text", "text": None}],
}
"""What stands in the place of something else."""

COUNTS = [-1, 10**30, 10**4000, True, "x", 1.5, float("inf"), float("nan"), None, [], {}]

DOCUMENTS = {
    "empty": b"",
    "blank": b"  \n",
    "open": b"{",
    "list": b"[]",
    "lists": b"[[[]]]",
    "string": b'"ANSWER: B"',
    "number": b"5",
    "null": b"null",
    "object": b"{}",
    "zeros": b"\x00" * 100,
    "not_utf8": b'\xff\xfe"\x80',
    "many_digits": b'{"choices": ' + b"9" * 5000 + b"}",
    "deep_lists": b"[" * 100_000,
    "deep_objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "error_number": b'{"error": 5}',
    "errors": b'[{"error": {"message": [1], "code": {}, "status": 5, "details": "x"}}]',
    "fields": b'{"message": [1], "__type": 5, "code": {}, "error": {"message": 4}}',
    "error_deep": b'{"error": ' + b"[" * 900 + b"]" * 900 + b"}",
    "page": b"<html><body>ANSWER: B</body></html>",
}


def altered(provider: str, part: str, value: object) -> dict:
    body = answer_body(provider, Answer("ANSWER: B"), "m", 0)
    *path, last = WHERE[provider][part]
    place = body
    for step in path:
        place = place[step]
    place[last] = value
    return body


def spec(provider: str, url: str, **options: object) -> str:
    path = "/v1" if provider == "openai" else ""
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{provider}:m@{url}{path}" + (f"?{query}" if query else "")


class Asked:
    """A model whose server sends what it is told; every question is a new one."""

    def __init__(self, provider: str) -> None:
        if provider in NEEDS:
            pytest.importorskip(NEEDS[provider])
        self.step = Answer()
        self.server = ProviderServer(lambda request: self.step)
        self.model = make_model(spec(provider, self.server.url, attempts=1, patience=0)).uncached()
        self.seeds = itertools.count()
        self.sent = 0

    def __call__(self, step):
        self.step, before = step, self.server.count
        reply = self.model.answer([], "Which?", seed=next(self.seeds))
        self.sent = self.server.count - before
        return reply


@pytest.fixture(scope="module", params=PROVIDERS)
def provider(request):
    return request.param


@pytest.fixture(scope="module")
def asked(provider):
    one = Asked(provider)
    yield one
    one.server.close()


@pytest.fixture
def outcome(asked, question):
    """Return a function: what is sent → (outcome, option, reply)."""

    def judge(step):
        reply = asked(step)
        json.dumps(dict(reply.raw))  # records hold it
        return (*classify(reply, question)[:2], reply)

    return judge


@pytest.mark.parametrize("part", ["content", "message", "first", "outer"])
@pytest.mark.parametrize("kind", ODD)
def test_a_wrong_type_is_an_error(provider, outcome, part, kind):
    if part not in WHERE[provider]:
        pytest.skip(f"{provider} has no such part")
    found, option, _ = outcome(Raw(altered(provider, part, ODD[kind])))
    if part == "content" and kind == "string" and provider in ("openai", "anthropic"):
        assert (found, option) == (None, "b")
    elif (provider, part, kind) in {
        ("openai", "content", "null"),
        ("openai", "message", "object"),
        ("google", "content", "null"),
        ("google", "message", "null"),
        ("google", "message", "object"),
    }:
        assert found is Outcome.UNPARSED, "a provider's own way to say nothing"
    else:
        assert found is Outcome.ERROR


@pytest.mark.parametrize("usage", [*ODD.values(), -1], ids=str)
def test_odd_usage_is_unknown_and_the_answer_stands(provider, outcome, usage):
    found, option, reply = outcome(Raw(altered(provider, "usage", usage)))
    assert (found, option) == (None, "b")
    assert reply.usage.input_tokens is None


@pytest.mark.parametrize("count", COUNTS, ids=lambda value: str(value)[:9])
def test_odd_counts_are_unknown_and_the_answer_stands(provider, outcome, count):
    found, option, reply = outcome(Raw(altered(provider, "input", count)))
    assert (found, option) == (None, "b")
    assert reply.usage.input_tokens is None


@pytest.mark.parametrize(
    "stop", [*ODD.values(), "\x1b[31mend\n" * 10_000], ids=lambda v: str(v)[:9]
)
def test_an_odd_end_leaves_the_answer(provider, outcome, stop):
    found, option, reply = outcome(Raw(altered(provider, "stop", stop)))
    assert (found, option) == (None, "b")
    assert len(reply.finish_reason) <= 80
    assert reply.finish_reason.isprintable()


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=zlib"])
def test_a_document_that_is_no_reply_is_an_error(outcome, asked, name, kind):
    found, _, reply = outcome(Raw(DOCUMENTS[name], headers={"content-type": kind}))
    assert found is Outcome.ERROR
    assert reply.text.isprintable()
    assert asked.sent == 1


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_with_an_odd_body_keeps_its_status(provider, asked, outcome, name, status):
    # Patience would wait out a real rate limit: 0 s here.
    found, _, reply = outcome(Status(status, body=DOCUMENTS[name], retry_after=None))
    assert found is Outcome.ERROR
    assert reply.raw["attempts"][0]["status"] == status


@pytest.mark.parametrize("end", range(1, 60, 7))
def test_a_document_that_ends_early_is_an_error(provider, outcome, end):
    whole = json.dumps(answer_body(provider, Answer("ANSWER: B"), "m", 0)).encode()
    assert outcome(Raw(whole[:-end]))[0] is Outcome.ERROR


def test_bytes_that_are_no_utf8_never_raise(provider, outcome):
    whole = json.dumps(answer_body(provider, Answer("ANSWER: B~"), "m", 0)).encode()
    found, option, _ = outcome(Raw(whole.replace(b"~", b"\xff\xfe")))
    assert (found, option) in [(Outcome.ERROR, None), (None, "b")]


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd", "gzip", "deflate", "\x7f" * 9])
def test_an_encoding_that_is_not_what_it_says_is_an_error(provider, outcome, encoding):
    if provider == "bedrock":
        pytest.skip("asks for none and undoes none")
    body = answer_body(provider, Answer("ANSWER: B"), "m", 0)
    found, _, reply = outcome(Raw(body, headers={"content-encoding": encoding}))
    assert found is Outcome.ERROR
    assert reply.raw["error"].startswith("server: the reply")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw"])
def test_a_compressed_reply_is_read(provider, outcome, encoding):
    if provider == "bedrock":
        pytest.skip("asks for none and undoes none")
    body = json.dumps(answer_body(provider, Answer("ANSWER: B"), "m", 0)).encode()
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "raw": raw_deflate}[encoding](body)
    header = {"content-encoding": encoding.replace("raw", "deflate")}
    assert outcome(Raw(packed, headers=header))[:2] == (None, "b")


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


# -- size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 400, 429, 500])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "bomb"])
def test_a_reply_beyond_all_measure_is_given_up(provider, asked, outcome, status, packed):
    if packed and provider == "bedrock":
        pytest.skip("asks for none and undoes none")
    whole = json.dumps(answer_body(provider, Answer("ANSWER: B~"), "m", 0)).encode()
    body = whole.replace(b"~", b" " * (MOST_BYTES + 1000))
    headers = {}
    if packed:
        body, headers = gzip.compress(body, 1), {"content-encoding": "gzip"}
        assert len(body) < MOST_BYTES // 100
    found, _, reply = outcome(Raw(body, status=status, headers=headers))
    assert found is Outcome.ERROR
    assert asked.sent == 1, "it is not asked again"
    assert reply.raw["error"] == (
        "too_large: the reply is larger than 16 MiB: it was not read to its end"
    )
    assert reply.usage.input_tokens is None, "it may have been billed"


def test_a_stream_that_decodes_to_nothing_is_given_up(provider, outcome):
    if provider == "bedrock":
        pytest.skip("asks for none and undoes none")
    body = gzip.compress(b"{}") + bytes(MOST_BYTES)  # nothing of it is looked at
    found, _, reply = outcome(Raw(body, headers={"content-encoding": "gzip"}))
    assert found is Outcome.ERROR
    assert reply.raw["error"].startswith("too_large: ")


def test_a_large_reply_is_kept_in_part(provider, outcome):
    text = "ANSWER: B" + " x" * (MOST_BYTES // 5)
    found, option, reply = outcome(Answer(text))
    assert (found, option) == (Outcome.UNPARSED, None)
    assert len(reply.text) == 1_000_000
    assert len(json.dumps(dict(reply.raw))) < 400_000


@pytest.mark.parametrize(
    "value",
    [
        ["x" * 100] * 1_000_000,
        {str(n): [n] for n in range(100_000)},
        {"x" * 2_000_000: 1},
        json.loads("[" * 500 + "]" * 500),
        [10**4000] * 10_000,
        {"a": [[[["y" * 30_000] * 50] * 50] * 50]},
    ],
    ids=["list", "object", "name", "deep", "digits", "wide"],
)
def test_what_records_keep_is_bounded(value):
    assert not ordinary(value)
    part = kept(value)
    assert len(json.dumps(part)) < 700_000
    assert ordinary(part)


def test_an_ordinary_reply_is_kept_whole():
    for name in PROVIDERS:
        body = answer_body(name, Answer("B" * 200_000), "m", 0)
        assert kept(body) is body


def test_a_decoder_makes_steps_of_a_known_size():
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    sizes = [len(part) for part in Decoder("gzip").parts(packed)]
    assert sum(sizes) == 64 << 20
    assert max(sizes) <= STEP
    with pytest.raises(UnreadableReplyError, match="gzip, deflate"):
        Decoder("gzip, gzip")


@pytest.mark.parametrize(("many", "apart"), [(10, False), (100_000, True)])
def test_other_requests_go_on_while_a_large_reply_is_read(monkeypatch, many, apart):
    threads = []
    with ProviderServer(Raw({"choices": [], "more": [[]] * many})) as server:
        model = make_model(spec("openai", server.url, attempts=1))
        read = model.adapter.read

        def noted(raw):
            threads.append(threading.current_thread().name)
            return read(raw)

        monkeypatch.setattr(model.adapter, "read", noted)
        assert model.answer([], "?", seed=0).finish_reason == "error"
    assert (threads[0] != "vlmfail-requests") is apart


# -- a search -------------------------------------------------------------------------------------


def test_no_reply_ends_a_search_or_passes_for_a_failure(provider, tmp_path):
    if provider in NEEDS:
        pytest.importorskip(NEEDS[provider])
    parts = [part for part in ("outer", "content") if part in WHERE[provider]]
    values = [5, [None], [[]], {"a": 1}]
    bodies = [Raw(altered(provider, part, value)) for part in parts for value in values]
    bodies += [Raw(body) for body in DOCUMENTS.values()]
    with ProviderServer(lambda request: bodies[request.n % len(bodies)]) as server:
        model = spec(provider, server.url, attempts=1)
        run = search(TOY, "random", model=model, out=tmp_path / "run", budget=30, trials=3, seed=1)
    outcomes = {trial.outcome for e in run.evaluations for trial in e.new.trials}
    assert outcomes <= {Outcome.ERROR, Outcome.INVALID_SCENE}


# -- time -----------------------------------------------------------------------------------------


def test_patience_holds_for_a_place_in_flight_too(picture, question):
    with ProviderServer(Status(429, retry_after=100)) as server:
        model = make_model(spec("openai", server.url, patience=1))
        model.answer([picture], "?", seed=0)  # now nothing may start for 100 s
        start = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            work = lambda seed: model.answer([picture], "?", seed=seed)  # noqa: E731
            replies = list(pool.map(work, range(1, 5)))
        assert time.monotonic() - start < 10
        assert server.count == 1, "no request was sent into the pause"
    for reply in replies:
        assert classify(reply, question)[0] is Outcome.ERROR
        assert reply.raw["attempts"][0]["fault"] == "rate_limit"
        assert (reply.usage.requests, reply.usage.input_tokens) == (0, 0)


@pytest.mark.parametrize("wait", ["9" * 400, "1e400", "-5", "nan", "Fri, 31 Dec 99999 1:1:1 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_cannot_be_is_an_error(outcome, wait, status):
    body = {"error": {"message": f"Please try again in {wait}h", "details": [{"retryDelay": wait}]}}
    found, _, reply = outcome(Status(status, body=body, headers={"retry-after": wait}))
    assert found is Outcome.ERROR
    assert reply.raw["attempts"][0]["fault"] in ("rate_limit", "overload")


def test_an_error_that_cannot_be_read_is_an_error_like_others(monkeypatch, picture, question):
    with ProviderServer(Status(500)) as server:
        model = make_model(spec("openai", server.url, attempts=2))

        def broken(error):
            raise OverflowError("cannot convert float infinity to integer")

        monkeypatch.setattr(model.adapter, "fault", broken)
        reply = model.answer([picture], "?", seed=0)
        assert server.count == 2
    assert classify(reply, question)[0] is Outcome.ERROR
    assert "InternalServerError" in reply.text
    assert "OverflowError" in reply.text


@pytest.mark.parametrize("head", [False, True], ids=["body", "headers"])
def test_no_more_in_flight_than_asked_when_replies_trickle(provider, head, picture):
    if provider in NEEDS:
        pytest.importorskip(NEEDS[provider])
    with ProviderServer(Trickle(bytes_per_second=4, head=head)) as server:
        model = make_model(spec(provider, server.url, timeout=1, attempts=2))
        with ThreadPoolExecutor(3) as pool:
            work = lambda seed: model.answer([picture], "?", seed=seed)  # noqa: E731
            replies = list(pool.map(work, range(3)))
        assert {reply.finish_reason for reply in replies} == {"timeout"}
        assert server.count == 6
        assert server.max_in_flight == 3
        until = time.monotonic() + 5
        while server.in_flight and time.monotonic() < until:
            time.sleep(0.01)
        assert server.in_flight == 0, "nothing is left running behind a trial's back"


# -- words ----------------------------------------------------------------------------------------

WILD = "\x1b]0;owned\x07\x1b[2J\u202evil\r\nvlmfail: all is well\n" + "long " * 2000


def test_a_servers_words_are_tamed_in_warnings(picture):
    def script(request):
        if "temperature" not in request.json:
            return Answer("ANSWER: A")
        said = "Unsupported parameter: 'temperature' " + WILD
        return Status(400, body={"error": {"message": said, "param": "temperature"}})

    with ProviderServer(script) as server:
        model = make_model(spec("openai", server.url, temperature=0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert model.answer([picture], "?", seed=0).text == "ANSWER: A"
    (text,) = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    assert text.isprintable()
    assert len(text) < 500
    assert "leaves out temperature" in text


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_servers_words_are_tamed_in_errors(status, picture):
    body = {"error": {"message": WILD, "code": "\x1b[31mred"}}
    with ProviderServer(Status(status, body=body)) as server:
        model = make_model(spec("openai", server.url, attempts=1))
        if status == 500:
            reply = model.answer([picture], "?", seed=0)
            rows = [reply.text, reply.raw["error"], *map(str, reply.raw["attempts"][0].values())]
            assert all(row.isprintable() for row in rows)
        else:
            with pytest.raises(ModelFault) as caught:
                model.answer([picture], "?", seed=0)
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 500
