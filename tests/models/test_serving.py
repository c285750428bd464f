"""The application of a served model, driven without a socket; see tests/cli/test_serve.py."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import struct
import threading
import time
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vlmfail.core import EnvironmentFault, Picture, Reply, Usage
from vlmfail.models import serving, serving_requests
from vlmfail.models.serving_requests import RequestError, read_request

pytest.importorskip("starlette")

HOST = [(b"host", b"127.0.0.1:8000")]


class Recorder:
    """Remembers what reached it."""

    name = "recorder"

    def __init__(self, reply=None):
        self.reply = Reply("hello") if reply is None else reply
        self.seen = []

    def answer(self, images, prompt, *, seed):
        self.seen.append((list(images), prompt, seed))
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply


def noise(seed=0, size=(24, 32)):
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    return Picture.from_pixels(pixels)


def data_url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def image_part(data, **more):
    return {"type": "image_url", "image_url": {"url": data_url(data), **more}}


def text_part(text):
    return {"type": "text", "text": text}


def body(content="hi", **fields):
    return {"model": "recorder", "messages": [{"role": "user", "content": content}], **fields}


async def asked(app, method, path, pieces=(b"",), headers=HOST, gap=0.0, leave_after=None):
    """Put one request to `app`; return (status, headers, body)."""
    waiting = list(pieces)
    status, sent_headers, out = None, {}, b""

    async def receive():
        if waiting:
            await asyncio.sleep(gap)
            piece = waiting.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(waiting)}
        await asyncio.sleep(60 if leave_after is None else leave_after)
        return {"type": "http.disconnect"}

    async def send(message):
        nonlocal status, sent_headers, out
        if message["type"] == "http.response.start":
            status = message["status"]
            sent_headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            out += message.get("body", b"")

    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "query_string": b"",
        "headers": list(headers), "scheme": "http", "root_path": "", "raw_path": path.encode(),
    }  # fmt: skip
    await app(scope, receive, send)
    return status, sent_headers, out


def call(app, method, path, value=None, **options):
    data = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value)
    data = data.encode() if isinstance(data, str) else data
    status, _, out = asyncio.run(asked(app, method, path, [data], **options))
    return status, json.loads(out)


def chat(model, value, **options):
    app = serving.make_app(model, name="recorder", concurrency=2)
    return call(app, "POST", "/v1/chat/completions", value, **options)


def test_a_plain_png_reaches_the_model_with_its_very_bytes():
    model, picture = Recorder(), noise()
    status, said = chat(model, body([image_part(picture.png), text_part("What?")], seed=7))
    assert status == 200
    assert said["choices"][0]["message"]["content"] == "hello"
    [([got], prompt, seed)] = model.seen
    assert (got.png, got.sha256, prompt, seed) == (picture.png, picture.sha256, "What?", 7)


def test_several_pictures_keep_their_order_and_their_type_comes_from_the_bytes():
    model, first, second = Recorder(), noise(1), noise(2)
    jpeg = io.BytesIO()
    Image.fromarray(np.full((8, 16, 3), 200, np.uint8)).save(jpeg, format="JPEG")
    parts = [image_part(first.png), text_part("and"), image_part(jpeg.getvalue(), detail="low")]
    status, _ = chat(model, body([*parts, image_part(second.png), text_part("differ?")]))
    assert status == 200
    [(images, prompt, seed)] = model.seen
    assert images[0] == first
    assert images[2] == second
    assert images[1].size == (16, 8)
    assert abs(int(images[1].pixels[4, 8, 0]) - 200) <= 2
    assert (prompt, seed) == ("and\ndiffer?", 0)


def test_white_space_in_base64_and_other_words_in_the_data_url_are_taken():
    model, picture = Recorder(), noise()
    text = base64.encodebytes(picture.png).decode()
    for head in ("data:;base64,", "DATA:image/jpeg;charset=utf-8;BASE64,"):
        part = {"type": "image_url", "image_url": {"url": head + text}}
        assert chat(model, body([part, text_part("x")]))[0] == 200
    assert all(images == [picture] for images, _, _ in model.seen)


def test_system_messages_come_before_the_text():
    model = Recorder()
    messages = [
        {"role": "user", "content": "first"},
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": [text_part("be kind")]},
        {"role": "user", "content": [text_part("second")]},
    ]
    assert chat(model, {"model": "recorder", "messages": messages})[0] == 200
    assert model.seen[0][1] == "be brief\n\nbe kind\n\nfirst\n\nsecond"


def test_sampling_options_are_accepted_and_change_nothing():
    model = Recorder()
    options = {
        "temperature": 0.7, "top_p": 0.1, "max_tokens": 1, "max_completion_tokens": 1,
        "stop": [None], "presence_penalty": 2, "user": "me", "n": 1, "logprobs": False,
        "tools": [], "response_format": {"type": "text"}, "reasoning_effort": "high",
    }  # fmt: skip
    status, said = chat(model, body("hi", **options))
    assert (status, said["choices"][0]["message"]["content"]) == (200, "hello")


def test_tokens_are_told_when_known_and_left_out_when_not():
    known = Recorder(Reply("x", usage=Usage(1, 12, 3)))
    assert chat(known, body())[1]["usage"] == {
        "prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15,
    }  # fmt: skip
    assert "usage" not in chat(Recorder(Reply("x", usage=Usage(1, 12, None))), body())[1]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("stop", "stop"), ("length", "length"), ("max_tokens", "length"),
        ("content_filter", "content_filter"), ("eos", "stop"), ("odd", "odd"),
    ],
)  # fmt: skip
def test_finish_reasons(reason, told):
    choice = chat(Recorder(Reply("x", reason)), body())[1]["choices"][0]
    assert choice["finish_reason"] == told
    assert choice["message"] == {"role": "assistant", "content": "x", "refusal": None}


def test_a_refusal_is_told_as_one():
    choice = chat(Recorder(Reply("I must not.", "refusal")), body())[1]["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"] is None
    assert choice["message"]["refusal"] == "I must not."


def test_the_id_depends_on_request_and_reply_alone():
    ids = [chat(Recorder(), body("hi", seed=seed))[1]["id"] for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]


def test_a_stream_is_one_piece_then_the_reason_then_done():
    model = Recorder(Reply("two\nlines", usage=Usage(1, 5, 2)))
    app = serving.make_app(model, name="recorder")
    for include in (False, True):
        value = body(stream=True, stream_options={"include_usage": include})
        status, headers, out = asyncio.run(
            asked(app, "POST", "/v1/chat/completions", [json.dumps(value).encode()])
        )
        assert status == 200
        assert headers["content-type"].startswith("text/event-stream")
        lines = out.decode().strip().split("\n\n")
        assert lines.pop() == "data: [DONE]"
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
        assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        assert [c["delta"] for c in choices] == [{"role": "assistant", "content": "two\nlines"}, {}]
        assert [c["finish_reason"] for c in choices] == [None, "stop"]
        usage = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
        assert usage == [{"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}][:include]


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("reply", "status", "word"),
    [
        (RuntimeError("no\nconnection " + "x" * 10_000), 500, "no connection"),
        (SystemExit(3), 500, "SystemExit"),
        (KeyboardInterrupt(), 500, "KeyboardInterrupt"),
        (EnvironmentFault("no weights"), 500, "no weights"),
        (Unprintable(), 500, "Unprintable"),
        (3, 500, "int"),
        (Reply("the server gave up", "error"), 500, "gave up"),
        (Reply("", "timeout"), 504, "timeout"),
    ],
)
def test_a_model_that_fails_is_an_error_of_the_server(reply, status, word):
    got, said = chat(Recorder(reply), body(stream=True))
    assert got == status
    assert said["error"]["type"] == "server_error"
    assert word in said["error"]["message"]
    assert len(said["error"]["message"]) < 400
    assert "Traceback" not in said["error"]["message"]


def test_text_that_no_encoding_has_is_sent_all_the_same():
    assert chat(Recorder(Reply("a\ud800b ü")), body())[1]["choices"][0]["message"]["content"] == (
        "a\ufffdb ü"
    )


def large_png(side):
    """A PNG of 1 x 1 that says that it is larger."""
    png = noise(size=(1, 1)).png
    head = png[12:16] + struct.pack(">II", side, side) + png[24:29]
    return png[:12] + head + struct.pack(">I", zlib.crc32(head)) + png[33:]


BAD = {
    "no JSON": (b"{", "not JSON"),
    "no UTF-8": (b"\xff\xfe\x00", "not JSON"),
    "deep": (b"[" * 100_000, "not JSON"),
    "huge number": (b'{"seed": ' + b"9" * 10_000 + b"}", "not JSON"),
    "list": ([1], "object"),
    "no model": ({"messages": [{"role": "user", "content": "x"}]}, "'model'"),
    "model is a number": ({**body(), "model": 3}, "'model'"),
    "no messages": ({"model": "recorder"}, "'messages'"),
    "no message": ({**body(), "messages": []}, "'messages'"),
    "messages is text": ({**body(), "messages": "hi"}, "'messages'"),
    "message is text": ({**body(), "messages": ["hi"]}, "messages[0]"),
    "no role": ({**body(), "messages": [{"content": "x"}]}, "role"),
    "assistant": (
        {**body(), "messages": [*body()["messages"], {"role": "assistant", "content": "x"}]},
        "no conversation",
    ),
    "system alone": ({**body(), "messages": [{"role": "system", "content": "x"}]}, "user"),
    "no content": (body(None), "content"),
    "content is a number": (body(3), "content"),
    "empty content": (body([]), "content"),
    "part is text": (body(["x"]), "part"),
    "part of another type": (body([{"type": "input_audio", "input_audio": {}}]), "input_audio"),
    "text is a number": (body([{"type": "text", "text": 3}]), "text"),
    "half a pair": (body("a\ud800"), "surrogate"),
    "picture is text": (body([{"type": "image_url", "image_url": "data:,x"}]), "object"),
    "no url": (body([{"type": "image_url", "image_url": {}}]), "object"),
    "url is a number": (body([{"type": "image_url", "image_url": {"url": 1}}]), "object"),
    "not base64": (
        body([{"type": "image_url", "image_url": {"url": "data:image/png;base64,a$b="}}]),
        "base64",
    ),
    "base64 cut off": (
        body([{"type": "image_url", "image_url": {"url": "data:image/png;base64,abc"}}]),
        "base64",
    ),
    "not base64 by its head": (
        body([{"type": "image_url", "image_url": {"url": "data:image/png,abc"}}]),
        "only data URLs",
    ),
    "empty picture": (body([image_part(b"")]), "picture 1"),
    "no picture": (body([image_part(noise().png), image_part(b"hello")]), "picture 2"),
    "EPS": (body([image_part(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")]), "picture 1"),
    "picture cut off": (body([image_part(noise().png[:300])]), "picture 1"),
    "many pictures": (body([image_part(noise(size=(1, 1)).png)] * 65), "at most 64"),
    "huge picture": (body([image_part(large_png(100_000))]), "pixels"),
    "n": (body(n=2), "'n'"),
    "n is true": (body(n=True), "'n'"),
    "tools": (body(tools=[{"type": "function"}]), "'tools'"),
    "logprobs": (body(logprobs=True), "'logprobs'"),
    "JSON mode": (body(response_format={"type": "json_object"}), "'response_format'"),
    "stream is text": (body(stream="yes"), "'stream'"),
    "stream_options": (body(stream=True, stream_options=1), "'stream_options'"),
    "seed below": (body(seed=-1), "seed"),
    "seed above": (body(seed=2**32), "seed"),
    "seed is a fraction": (body(seed=1.5), "seed"),
    "seed is true": (body(seed=True), "seed"),
    "seed is text": (body(seed="1"), "seed"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_told_what_is_wrong(case):
    value, word = BAD[case]
    model = Recorder()
    status, said = chat(model, value)
    assert status == 400
    assert set(said["error"]) == {"message", "type", "param", "code"}
    assert said["error"]["type"] == "invalid_request_error"
    assert word in said["error"]["message"]
    assert len(said["error"]["message"]) < 400
    assert model.seen == []


def test_the_pixels_of_all_pictures_together_are_limited(monkeypatch):
    monkeypatch.setattr(serving_requests, "MOST_PIXELS", 1000)
    model, part = Recorder(), image_part(noise(size=(20, 30)).png)
    assert chat(model, body([part]))[0] == 200
    status, said = chat(model, body([part, part]))
    assert (status, said["error"]["code"]) == (400, "invalid_image")
    assert "1000 pixels" in said["error"]["message"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/secret.png",
        "https://example.org/x.png",
        "file:///etc/passwd",
        "/etc/passwd",
        "ftp://x/y.png",
        "http://x/data:image/png;base64,aaaa",
        "",
    ],
)
def test_nothing_is_ever_fetched(url):
    model = Recorder()
    status, said = chat(model, body([{"type": "image_url", "image_url": {"url": url}}]))
    assert (status, said["error"]["code"]) == (400, "invalid_image_url")
    assert "only data URLs" in said["error"]["message"]
    assert model.seen == []


def test_an_unknown_model_is_told_which_exists():
    status, said = chat(Recorder(), {**body(), "model": "gpt-9"})
    assert (status, said["error"]["code"]) == (404, "model_not_found")
    assert "'gpt-9'" in said["error"]["message"]
    assert "'recorder'" in said["error"]["message"]


def test_models_health_and_what_there_is_not():
    app = serving.make_app(Recorder(), name="mine.py:my/model")
    assert [row["id"] for row in call(app, "GET", "/v1/models")[1]["data"]] == ["mine.py:my/model"]
    assert call(app, "GET", "/v1/models/mine.py:my/model")[1]["object"] == "model"
    assert call(app, "GET", "/v1/models/other")[0] == 404
    assert call(app, "GET", "/health") == (200, {"status": "ok", "model": "mine.py:my/model"})
    for method, path, status in [
        ("POST", "/v1/responses", 404),
        ("POST", "/v1/chat/completions/", 404),
        ("GET", "/v1/chat/completions", 405),
        ("GET", "/", 404),
    ]:
        got, said = call(app, method, path)
        assert got == status
        assert "/v1/chat/completions" in said["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": ["127.0.0.1:8000"]}, 200),
        ({"host": ["localhost"]}, 200),
        ({"host": ["LOCALHOST:1"]}, 200),
        ({"host": ["[::1]:8000"]}, 200),
        ({"host": ["evil.example"]}, 403),
        ({"host": ["evil.example:8000"]}, 403),
        ({"host": ["127.0.0.1.evil.example"]}, 403),
        ({"host": ["localhost.evil.example"]}, 403),
        ({"host": ["127.0.0.1@evil.example"]}, 403),
        ({"host": ["127.0.0.1:8000x"]}, 403),
        ({"host": ["192.168.1.7:8000"]}, 403),
        ({"host": ["0.0.0.0:8000"]}, 403),
        ({"host": [""]}, 403),
        ({"host": []}, 403),
        ({"host": ["127.0.0.1", "evil.example"]}, 403),
        ({"host": ["127.0.0.1"], "origin": ["http://localhost:3000"]}, 200),
        ({"host": ["127.0.0.1"], "origin": ["http://[::1]"]}, 200),
        ({"host": ["127.0.0.1"], "origin": ["https://evil.example"]}, 403),
        ({"host": ["127.0.0.1"], "origin": ["http://127.0.0.1.evil.example"]}, 403),
        ({"host": ["127.0.0.1"], "origin": ["http://evil.example/127.0.0.1"]}, 403),
        ({"host": ["127.0.0.1"], "origin": ["null"]}, 403),
        ({"host": ["127.0.0.1"], "origin": [""]}, 403),
        ({"host": ["127.0.0.1"], "origin": ["http://localhost", "http://evil.example"]}, 403),
    ],
)
def test_only_loopback_hosts_and_origins_are_answered(headers, status):
    model = Recorder()
    sent = [(name.encode(), value.encode()) for name in headers for value in headers[name]]
    got, said = chat(model, body(), headers=sent)
    assert got == status
    assert len(model.seen) == (status == 200)
    if status == 403:
        assert said["error"]["code"] in ("foreign_host", "foreign_origin")


def test_large_bodies_are_refused_by_their_announced_and_by_their_real_length(monkeypatch):
    model = Recorder()
    app = serving.make_app(model, name="recorder", largest_body=1000)
    for pieces, headers in [
        ([b"x"], [(b"content-length", b"1001")]),
        ([b"x"], [(b"content-length", b"9" * 5000)]),
        ([b"x" * 600, b"x" * 600, b"x"], []),
        ([b"x" * 600, b"x" * 600, b"x"], [(b"content-length", b"5")]),
    ]:
        status, _, out = asyncio.run(
            asked(app, "POST", "/v1/chat/completions", pieces, [*HOST, *headers])
        )
        assert (status, json.loads(out)["error"]["code"]) == (413, "too_large")
    monkeypatch.setattr(serving, "LARGEST_HELD", 30)
    assert call(app, "POST", "/v1/chat/completions", body())[0] == 503
    monkeypatch.undo()
    assert call(app, "POST", "/v1/chat/completions", body())[0] == 200
    assert len(model.seen) == 1


def test_refused_requests_are_no_longer_counted_as_held(monkeypatch):
    app = serving.make_app(Recorder(), name="recorder", largest_body=1000)
    monkeypatch.setattr(serving, "LARGEST_HELD", 1200)
    for value in [b"{" * 900, {**body(), "model": "x" * 900}, body("x" * 800)] * 3:
        assert call(app, "POST", "/v1/chat/completions", value)[0] in (400, 404, 200)


def test_a_client_that_stops_in_the_middle_is_given_up(monkeypatch):
    monkeypatch.setattr(serving, "SILENCE", 0.05)
    app = serving.make_app(Recorder(), name="recorder")
    status, _, out = asyncio.run(asked(app, "POST", "/v1/chat/completions", [b"{", b"}"], gap=0.2))
    assert (status, json.loads(out)["error"]["type"]) == (408, "invalid_request_error")


class Gate:
    """Holds every request until it is opened; counts those inside."""

    name = "recorder"

    def __init__(self):
        self.open = threading.Event()
        self.inside = self.most = self.calls = 0
        self.lock = threading.Lock()

    def answer(self, images, prompt, *, seed):
        with self.lock:
            self.calls += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.open.wait(10)
        with self.lock:
            self.inside -= 1
        return Reply("done")


def test_concurrency_is_kept_and_the_server_goes_on_answering_meanwhile():
    gate = Gate()

    async def scenario():
        app = serving.make_app(gate, name="recorder", concurrency=3)
        data = json.dumps(body()).encode()
        tasks = [
            asyncio.create_task(asked(app, "POST", "/v1/chat/completions", [data]))
            for _ in range(10)
        ]
        while gate.inside < 3:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        start = time.monotonic()
        assert (await asked(app, "GET", "/health"))[0] == 200
        assert (await asked(app, "POST", "/v1/chat/completions", [b"{"]))[0] == 400
        assert time.monotonic() - start < 20
        gate.open.set()
        return [status for status, _, _ in await asyncio.gather(*tasks)]

    assert asyncio.run(scenario()) == [200] * 10
    assert gate.most == 3


def test_a_request_whose_client_left_while_it_waited_never_reaches_the_model():
    gate = Gate()

    async def scenario():
        app = serving.make_app(gate, name="recorder", concurrency=1)
        data = json.dumps(body()).encode()
        first = asyncio.create_task(asked(app, "POST", "/v1/chat/completions", [data]))
        while gate.inside < 1:
            await asyncio.sleep(0.01)
        left = await asked(app, "POST", "/v1/chat/completions", [data], leave_after=0.05)
        gate.open.set()
        assert (await first)[0] == 200
        assert (await asked(app, "POST", "/v1/chat/completions", [data]))[0] == 200
        return left[0]

    assert asyncio.run(scenario()) == 499
    assert gate.calls == 2


def read_or_refused(data):
    try:
        return read_request(data).prompt
    except RequestError as error:
        return error.text if error.status == 400 and len(error.text) < 400 else None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "image_url", "url", "messages", "model", "n"]
            ),
            inner | st.sampled_from(["user", "system", "text", "image_url", "data:;base64,aaaa"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(
    st.fixed_dictionaries({"model": st.just("m"), "messages": st.lists(JSON, max_size=3)}) | JSON
)
def test_any_json_is_read_or_refused(value):
    told = read_or_refused(json.dumps(value).encode())
    assert isinstance(told, str)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    assert isinstance(read_or_refused(data), str)
