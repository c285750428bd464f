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


def test_a_mistyped_model_without_a_price_is_told_the_nearest_ones(cli, monkeypatch):
    monkeypatch.delenv("VLMFAIL_PRICES", raising=False)
    data = json.loads(cli("estimate", TOY, "--model", "openai:gpt-5-mni", "--json").out)
    assert data["price"].startswith("no price is known: did you mean gpt-5-mini")
    assert data["dollars"] is None
    own = cli("estimate", TOY, "--model", "openai:gpt-5-mni@http://127.0.0.1:9/v1", "--json")
    assert json.loads(own.out)["price"] == "no price is known", "its server may call it anything"


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


@pytest.fixture
def _warm(monkeypatch, tmp_path):
    monkeypatch.setenv("VLMFAIL_REPLIES", str(tmp_path / "replies.sqlite"))


@pytest.mark.usefixtures("_warm")
def test_a_warm_reply_cache_changes_no_estimate(cli, tmp_path, monkeypatch):
    from vlmfail import search

    with ProviderServer(Answer("ANSWER: A", input_tokens=1000, output_tokens=50)) as server:
        prices(tmp_path, monkeypatch, base_url=f"{server.url}/v1", input=2.0, output=8.0)
        model = f"openai:m@{server.url}/v1"

        def estimate(calls):
            words = ("--model", model, "--budget", "200", "--calls", str(calls), "--json")
            before = server.count
            data = json.loads(cli("estimate", TOY, *words).out)
            assert server.count - before == calls, "calls are made, whatever is in the cache"
            return {**data, "seconds": None}

        cold = estimate(3), estimate(0)
        search(TOY, "random", model=model, budget=20, out=tmp_path / "r").close()
        sent = server.count
        search(TOY, "random", model=model, budget=20, out=tmp_path / "s").close()
        assert server.count == sent, "the cache is warm"
        assert (estimate(3), estimate(0)) == cold
    assert cold[0]["dollars"] == pytest.approx(200 * (1000 * 2e-6 + 50 * 8e-6))
    assert cold[0]["spent"] == pytest.approx(3 * 0.0024)
    assert all("reply cache already cost nothing" in data["basis"] for data in cold)


@pytest.mark.usefixtures("_warm")
def test_replies_from_a_cache_measure_nothing(cli, tmp_path, monkeypatch):
    with ProviderServer(Answer("ANSWER: A", input_tokens=1000, output_tokens=50)) as server:
        prices(tmp_path, monkeypatch, base_url=f"{server.url}/v1", input=2.0, output=8.0)
        (tmp_path / "wrapped.py").write_text(
            "from vlmfail.models.registry import make_model\n"
            f"inner = make_model('openai:m@{server.url}/v1')\n"
            "class Wrapped:\n"
            "    name, metered = 'wrapped', True\n"
            "    def answer(self, images, prompt, *, seed):\n"
            "        return inner.answer(images, prompt, seed=seed)\n"
        )
        words = ("estimate", TOY, "--model", "wrapped.py:Wrapped", "--budget", "200", "--json")
        first = cli(*words, "--calls", "2")
        assert json.loads(first.out)["dollars"] == pytest.approx(200 * 0.0024)
        more = json.loads(cli(*words, "--calls", "3").out)
        assert (more["measured"], server.count) == (1, 3)
        assert more["dollars"] == pytest.approx(200 * 0.0024), "two of three were free, once"
        again = cli(*words, "--calls", "2")
    assert again.code == 3
    assert "reply cache" in again.err


def test_a_price_of_an_unknown_day_is_told_so(cli, monkeypatch):
    monkeypatch.delenv("VLMFAIL_PRICES", raising=False)
    done = cli("estimate", TOY, "--model", "openai:gpt-4o", "--budget", "10", "--json")
    assert "None" not in json.loads(done.out)["price"]


def test_no_more_trials_are_estimated_than_there_are_pictures(cli, tmp_path):
    from vlmfail.testing.picture_provider import noise_png

    for name, number in {"wet_floor": 3, "knife_edge": 2}.items():
        (tmp_path / "mine" / name).mkdir(parents=True)
        for i in range(number):
            (tmp_path / "mine" / name / f"{i}.png").write_bytes(noise_png(f"{name} {i}"))
    words = ("estimate", "VLMFail-Indoor-v0", "--renderer", "folder:mine")
    data = json.loads(cli(*words, "--budget", "40", "--json").out)
    assert (data["budget"], data["trials"]) == (40, 5)
    assert json.loads(cli(*words, "--budget", "4", "--json").out)["trials"] == 4
    shown = cli(*words, "--budget", "40").out
    assert "5 of 40: there are no more pictures" in shown


def test_time_is_told_where_it_was_measured_and_else_how(cli):
    assert "unknown; --calls 5 measures it" in cli("estimate", TOY, "--budget", "10").out
    measured = cli("estimate", TOY, "--budget", "10", "--calls", "2").out
    assert "s, drawing not counted" in measured
