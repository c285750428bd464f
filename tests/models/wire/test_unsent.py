"""Requests that no server can have seen are not counted; all others are."""

from __future__ import annotations

import socket

import pytest

from vlmfail import search
from vlmfail.core import ModelFault, Usage
from vlmfail.models.registry import make_model
from vlmfail.models.spending import Caps, Ledger, metering
from vlmfail.runs.spending import unrecorded
from vlmfail.runs.store import RunStore
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Reset

from .test_runs import TOY


def port_of(server: ProviderServer) -> int:
    return int(server.url.rpartition(":")[2])


def test_a_dead_server_costs_no_requests_of_the_cap(tmp_path):
    words = {"budget": 60, "trials": 5, "out": tmp_path / "r"}
    with ProviderServer(Answer("ANSWER: A")) as server:
        model = f"openai:m@{server.url}/v1?attempts=1"
        search(TOY, "random", model=model, max_requests=4, **words).close()
        assert server.count == 4
    with pytest.raises(ModelFault):
        search(TOY, "random", model=model, max_requests=10, **words)
    store = RunStore.open(tmp_path / "r")
    spent = sum(record.requests for record in store.records()) + unrecorded(store).requests
    store.close()
    assert spent == 4, "nobody was there to be asked"
    with ProviderServer(Answer("ANSWER: A"), port=port_of(server)) as back:
        run = search(TOY, "random", model=model, max_requests=10, **words)
        assert back.count == 6
        assert run.status == "capped"


def test_a_refused_connection_gives_its_reservation_back(picture):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        ledger = Ledger(Caps(max_requests=1))
        with metering(ledger), pytest.raises(ModelFault, match="no server answers"):
            make_model(f"openai:m@{url}/v1?attempts=3").answer([picture], "?", seed=0)
    assert ledger.spent["requests"] == 0
    assert ledger.unrecorded.requests == 0
    assert ledger.reserve(), "the one request of the cap is there still"


def test_a_connection_that_breaks_is_counted(picture):
    ledger = Ledger(Caps(max_requests=5))
    with ProviderServer(Reset()) as server, metering(ledger):
        model = make_model(f"openai:m@{server.url}/v1?attempts=2")
        with pytest.raises(ModelFault):
            model.answer([picture], "?", seed=0)
        assert server.count == 2
    assert ledger.spent["requests"] == 2, "what was sent may have been read"
    assert ledger.spent["unknown_tokens"] == 2


def test_only_what_was_sent_is_settled_as_a_request():
    ledger = Ledger(Caps(max_requests=2))
    assert ledger.reserve()
    assert ledger.reserve_retry()
    ledger.add(Usage(1, 5, 1), reserved=2)
    assert ledger.spent["requests"] == 1
    assert ledger.reserve()
    assert not ledger.reserve()
