"""Services that cannot be reached, or only half: told from services that are slow."""

from __future__ import annotations

import gzip
import random
import socket
import string
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from vlmfail.core import ModelFault
from vlmfail.models.probe import probe_model
from vlmfail.models.providers.bedrock_calls import Call
from vlmfail.models.providers.endpoint import connect_timeout, place
from vlmfail.models.registry import make_model
from vlmfail.models.spending import Ledger, metering
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Cut, Hang, Raw, Status

PROVIDERS = ["openai", "anthropic", "google", "bedrock"]
NEEDS = {"anthropic": "anthropic", "google": "google.genai", "bedrock": "boto3"}


def spec(provider: str, url: str, **options: object) -> str:
    path = "/v1" if provider == "openai" else ""
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{provider}:m@{url}{path}" + (f"?{query}" if query else "")


@pytest.fixture(params=PROVIDERS)
def provider(request):
    if request.param in NEEDS:
        pytest.importorskip(NEEDS[request.param])
    return request.param


@contextmanager
def silent_host() -> Iterator[str]:
    """Yield the place of a listener whose queue is full: its host drops what comes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        queue = [socket.socket() for _ in range(4)]
        try:
            for one in queue:
                one.setblocking(False)
                one.connect_ex(listener.getsockname())
            time.sleep(0.05)
            with pytest.raises(TimeoutError):
                socket.create_connection(listener.getsockname(), timeout=0.1)
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for one in queue:
                one.close()


@contextmanager
def nobody() -> Iterator[str]:
    """Yield a place that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


# -- no connection --------------------------------------------------------------------------------


def test_a_host_that_drops_packets_ends_the_run_and_is_named(provider, picture):
    ledger = Ledger()
    with silent_host() as where, metering(ledger):
        model = make_model(spec(provider, f"http://{where}", timeout=2))
        start = time.monotonic()
        with pytest.raises(ModelFault, match=f"no server answers at {where}, tried 2 times in "):
            model.answer([picture], "?", seed=0)
        assert time.monotonic() - start < 6
    assert ledger.spent["unknown_tokens"] == 0, "nothing was sent, so that nothing was billed"


def test_a_host_that_drops_packets_at_all_its_addresses(picture, monkeypatch):
    pytest.importorskip("boto3")
    found = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: found(*a, **k) * 8)
    with silent_host() as where:
        model = make_model(spec("bedrock", f"http://{where}", timeout=1, attempts=1))
        with pytest.raises(ModelFault, match=f"no server answers at {where}, tried once"):
            model.answer([picture], "?", seed=0)


def test_the_probe_names_it(picture):
    with silent_host() as where:
        probe = probe_model(spec("openai", f"http://{where}", timeout=1))
    assert not probe.answers
    assert f"no server answers at {where}" in probe.note
    assert "\n" not in probe.note


def test_nobody_there_is_said_within_the_deadline_of_one_reply(provider, picture):
    with nobody() as where:
        model = make_model(spec(provider, f"http://{where}", timeout=2))
        start = time.monotonic()
        with pytest.raises(ModelFault, match=rf"at {where}, tried [23] times in [0-3]\.\d s"):
            model.answer([picture], "?", seed=0)
        assert time.monotonic() - start < 4


def test_a_service_that_was_reached_is_tried_as_often_as_asked(picture):
    server = ProviderServer(Answer("ANSWER: A"))
    model = make_model(spec("openai", server.url, timeout=1, attempts=3))
    assert model.answer([picture], "?", seed=0).text == "ANSWER: A"
    server.close()
    reply = model.answer([picture], "?", seed=1)
    assert [row["fault"] for row in reply.raw["attempts"]] == ["connection"] * 3
    assert "maybe_billed" not in reply.raw


def test_a_slow_reply_is_no_missing_server(provider, picture):
    with ProviderServer(Hang()) as server:
        model = make_model(spec(provider, server.url, timeout=0.8, attempts=1))
        reply = model.answer([picture], "?", seed=0)
    assert reply.finish_reason == "timeout"
    assert reply.raw["maybe_billed"] == 1


@pytest.mark.parametrize(("timeout", "connect"), [(1, 0.5), (15, 7.5), (120, 10), (3600, 10)])
def test_a_connection_is_there_well_before_a_reply(timeout, connect):
    assert connect_timeout(timeout) == connect


def test_a_place_has_a_host_and_a_port():
    assert place("https://api.openai.com/v1") == "api.openai.com:443"
    assert place("http://gpu-box/v1") == "gpu-box:80"
    assert place("http://[::1]:8000/v1") == "[::1]:8000"


# -- half a reply ---------------------------------------------------------------------------------


def test_a_service_whose_first_replies_are_cut_is_there(provider, picture):
    with ProviderServer([Cut(), Cut(), Cut(), Answer("ANSWER: A")]) as server:
        model = make_model(spec(provider, server.url, attempts=3))
        reply = model.answer([picture], "?", seed=0)
        assert reply.finish_reason == "error"
        assert "the reply was cut" in reply.text
        assert [row["fault"] for row in reply.raw["attempts"]] == ["server"] * 3
        assert reply.raw["maybe_billed"] == 3
        assert model.answer([picture], "?", seed=1).text == "ANSWER: A"


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "zstd"}], ids=["plain", "zstd"])
def test_an_error_that_is_no_text_keeps_its_status(provider, headers, picture):
    letters = "".join(random.Random(1).choices(string.ascii_letters, k=6000))
    with ProviderServer(Raw(gzip.compress(letters.encode()), 400, headers)) as server:
        model = make_model(spec(provider, server.url))
        reply = model.answer([picture], "?", seed=0)
        assert server.count == 1
    (row,) = reply.raw["attempts"]
    assert row["status"] == 400
    assert "no text" in row["text"] or "zstd" in row["text"]
    assert row["text"].isascii()


def test_words_of_other_scripts_are_text(picture):
    said = "\u8bf7\u6c42\u4e2d\u7684\u56fe\u7247\u65e0\u6548, \u043d\u0435\u043b\u044c\u0437\u044f"
    with ProviderServer(Status(400, body={"error": {"message": said}})) as server:
        reply = make_model(spec("openai", server.url)).answer([picture], "?", seed=0)
    assert reply.raw["attempts"][0]["text"] == said


# -- clients and connections ----------------------------------------------------------------------


def test_making_a_client_takes_nothing_from_other_requests_deadlines(picture):
    with ProviderServer(Answer("ANSWER: A", delay=0.3)) as server, ThreadPoolExecutor(9) as pool:
        first = make_model(spec("openai", server.url, timeout=1.5, attempts=1))
        assert first.answer([picture], "?", seed=0).text == "ANSWER: A"
        other = make_model(spec("openai", server.url, timeout=1.5, attempts=1, temperature=0))
        connect, made = other.adapter.connect, []

        def slowly(**options):
            made.append(options)
            time.sleep(2)
            return connect(**options)

        other.adapter.connect = slowly
        early = pool.submit(first.answer, [picture], "?", seed=1)
        server.wait_for(2)
        late = [pool.submit(other.answer, [picture], "?", seed=seed) for seed in range(8)]
        assert early.result().text == "ANSWER: A"
        assert all(future.result().text == "ANSWER: A" for future in late)
    assert len(made) == 1, "they share one client"


def test_a_key_that_comes_later_is_found(picture, monkeypatch):
    monkeypatch.delenv("THEIR_KEY", raising=False)
    with ProviderServer(Answer("ANSWER: A")) as server:
        model = make_model(spec("openai", server.url, key_env="THEIR_KEY"))
        with pytest.raises(ModelFault, match="THEIR_KEY"):
            model.answer([picture], "?", seed=0)
        monkeypatch.setenv("THEIR_KEY", "planted-key-that-is-no-key")
        assert model.answer([picture], "?", seed=0).text == "ANSWER: A"


class Connection:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.call = None


def test_a_call_ends_no_connection_but_its_own():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(ours)
        first, second = Call(), Call()
        first.took(connection)
        second.took(connection)  # the pool had it back before the first was over
        first.end()
        ours.sendall(b"second")
        assert theirs.recv(6) == b"second"
        second.gave_back()
        second.end()
        ours.sendall(b"third")
        assert theirs.recv(5) == b"third"
        third = Call()
        third.took(connection)
        third.end()
        with pytest.raises(BrokenPipeError):
            ours.sendall(b"more")


def test_a_call_without_a_connection_gets_none_once_its_time_is_over():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        call = Call()
        assert call.unconnected()
        with pytest.raises(ConnectionAbortedError):
            call.took(Connection(ours))
        other = Call()
        other.took(Connection(ours))
        assert not other.unconnected()
        ours.sendall(b"goes on")
        assert theirs.recv(7) == b"goes on"
