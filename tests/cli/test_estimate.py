from __future__ import annotations

import json

import pytest

from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Status

pytest.importorskip("openai")
pytest.importorskip("httptools")

TOY = "vlmfail.testing.toy:ToyDomain"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setenv("VLMFAIL_REPLIES", "off")


def prices(tmp_path, monkeypatch, **row):
    row = {"provider": "openai", "model": "m", "source": "a test", "date": "2026-01-01", **row}
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"prices": [row]}))
    monkeypatch.setenv("VLMFAIL_PRICES", str(path))


def test_calls_measure_tokens_and_money(cli, tmp_path, monkeypatch):
    with ProviderServer(Answer("ANSWER: A", input_tokens=1000, output_tokens=50)) as server:
        prices(tmp_path, monkeypatch, base_url=f"{server.url}/v1", input=2.0, output=8.0)
        model = f"openai:m@{server.url}/v1"
        done = cli("estimate", TOY, "--model", model, "--budget", "200", "--calls", "3", "--json")
        assert server.count == 3
    data = json.loads(done.out)
    assert done.code == 0
    assert data["requests"] == 200
    assert data["tokens"] == 200 * 1050
    assert data["dollars"] == pytest.approx(200 * (1000 * 2e-6 + 50 * 8e-6))
    assert data["spent"] == pytest.approx(3 * 0.0024)
    assert data["spread"] == 0.0


def test_without_calls_nothing_is_sent_and_assumptions_are_told(cli):
    with ProviderServer(Answer("ANSWER: A")) as server:
        model = f"openai:m@{server.url}/v1"
        done = cli("estimate", TOY, "--model", model, "--budget", "200", "--json")
        assert server.count == 0
    data = json.loads(done.out)
    assert data["dollars"] is None, "an unpriced model costs nobody knows what"
    assert data["price"] == "no price is known"
    assert "assumed" in data["basis"]


def test_a_known_model_is_estimated_from_the_table(cli, monkeypatch):
    monkeypatch.delenv("VLMFAIL_PRICES", raising=False)
    done = cli("estimate", TOY, "--model", "openai:gpt-4o", "--budget", "1000", "--json")
    data = json.loads(done.out)
    assert data["tokens"] > 1000 * 100
    assert data["dollars"] > 0.1
    assert "price table" in data["price"]


def test_a_local_model_costs_nothing(cli):
    data = json.loads(cli("estimate", TOY, "--budget", "10", "--json").out)
    assert (data["requests"], data["dollars"]) == (0, 0.0)
    shown = cli("estimate", TOY, "--budget", "10")
    assert "nothing is billed" in shown.out


def test_no_reply_is_a_fault_of_the_machine(cli):
    with ProviderServer(Status(500)) as server:
        model = f"openai:m@{server.url}/v1?attempts=1"
        done = cli("estimate", TOY, "--model", model, "--calls", "2")
    assert done.code == 3
    assert "none of 2 calls" in done.err
