"""Searches through a real server: caps, cache, outcomes, interruption, secrets."""

from __future__ import annotations

import io
import json
import logging
import pickle
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

from vlmfail import search
from vlmfail.core import EnvironmentFault, ModelFault, Outcome, Picture
from vlmfail.models.registry import make_model
from vlmfail.testing.provider_server import ProviderServer, steady
from vlmfail.testing.provider_steps import Answer, Hang, Status
from vlmfail.testing.toy import ToyModel

TOY = "vlmfail.testing.toy:ToyDomain"


def toy_script(request):
    """Answer as `ToyModel` does, from what reaches the wire alone."""
    content = request.json["messages"][0]["content"]
    prompt = next(part["text"] for part in content if part["type"] == "text")
    url = next(part["image_url"]["url"] for part in content if part["type"] == "image_url")
    import base64

    picture = Picture(base64.b64decode(url.partition(",")[2]))
    seed = request.json.get("seed", 0)
    reply = ToyModel().answer([picture], prompt, seed=seed)
    return Answer(reply.text, input_tokens=100, output_tokens=10)


def run_toy(url, out, **options):
    values = {"budget": 60, "trials": 5, "seed": 3, **options}
    return search(TOY, "random", model=f"openai:toy@{url}/v1?send_seed=true", out=out, **values)


def facts(run):
    return [(e.candidate, e.new.trials) for e in run.evaluations]


def stripped(run):
    """The trials without the reply's own words, which name the model."""
    return [
        [(t.key, t.index, t.outcome, t.answer, t.expected, t.picture) for t in trials]
        for _, trials in facts(run)
    ]


def test_a_search_through_the_wire_finds_what_the_model_in_process_does(tmp_path):
    inside = search(TOY, "random", model=ToyModel(), budget=60, seed=3, out=tmp_path / "i")
    with ProviderServer(toy_script) as server:
        one = run_toy(server.url, tmp_path / "one")
        eight = run_toy(server.url, tmp_path / "eight", concurrency=8)
        assert server.count == 60, "the second search was all in the cache"
    assert facts(one) == facts(eight)
    assert stripped(one) == stripped(inside)
    assert one.metrics == inside.metrics


def test_replies_are_paid_once_and_what_is_saved_is_told(tmp_path):
    from vlmfail.analysis import summarise

    with ProviderServer(toy_script) as server:
        first = summarise(run_toy(server.url, tmp_path / "a"))
        second = summarise(run_toy(server.url, tmp_path / "b"))
        assert server.count == 60
        other = run_toy(server.url, tmp_path / "c", seed=4)
        assert server.count == 120, "another seed's trials are other trials"
    assert first["spent"]["requests"] == 60
    assert first["spent"]["tokens"] == second["saved"]["tokens"] == 60 * 110
    assert second["spent"] == {"requests": 0, "tokens": 0, "dollars": 0.0}
    assert second["saved"]["requests"] == 60
    assert second["calls"] == 60, "the budget counts trials, from the cache too"
    assert first["failure_modes"] == second["failure_modes"]
    assert other.calls == 60


def test_refusals_and_cut_replies_are_not_kept(tmp_path, picture):
    script = [Answer("no", finish="filter"), Answer("wel", finish="length"), Answer("ANSWER: A")]
    with ProviderServer(script) as server:
        model = make_model(f"openai:m@{server.url}/v1")
        reasons = [model.answer([picture], "?", seed=0).finish_reason for _ in range(4)]
        assert reasons == ["content_filter", "length", "stop", "stop"]
        assert server.count == 3


def test_max_requests_is_never_overrun(tmp_path):
    script = steady(delay=0.02, error_share=0.3, seed=1)
    with ProviderServer(script) as server:
        run = run_toy(server.url, tmp_path / "r", budget=200, concurrency=8, max_requests=25)
        assert server.count == 25
        assert run.status == "capped"
        recorded = sum(record.requests for record in run.records.values())
        from vlmfail.runs.spending import unrecorded

        assert recorded + unrecorded(run.store).requests == 25
        page = run.report()
        assert "max_requests" in page.read_text()
        run.close()
        # A capped run goes on with a higher cap, and counts what it has spent.
        run = run_toy(server.url, tmp_path / "r", budget=200, concurrency=8, max_requests=40)
        assert server.count == 40
        assert run.status == "capped"


def test_the_re_run_of_modes_keeps_the_cap(tmp_path):
    with ProviderServer(toy_script) as server:
        run = run_toy(server.url, tmp_path / "r", max_requests=70)
        assert server.count == 60
        run = run.confirm(trials=20)
        assert server.count == 70
        run.close()


@pytest.mark.parametrize(
    ("caps", "unit"), [({"max_total_tokens": 1000}, "tokens"), ({"max_dollars": 0.1}, "dollars")]
)
def test_tokens_and_money_are_not_overrun_either(caps, unit, tmp_path, monkeypatch):
    prices = tmp_path / "prices.json"
    row = {"input": 50.0, "output": 500.0, "source": "a test", "date": "2026-01-01"}
    with ProviderServer(toy_script) as server:
        row |= {"provider": "openai", "model": "toy", "base_url": f"{server.url}/v1"}
        prices.write_text(json.dumps({"prices": [row]}))
        monkeypatch.setenv("VLMFAIL_PRICES", str(prices))
        run = run_toy(server.url, tmp_path / "r", concurrency=8, **caps)
        from vlmfail.analysis import summarise

        spent = summarise(run)["spent"]
        assert spent[unit] <= next(iter(caps.values()))
        assert spent[unit] >= 0.5 * next(iter(caps.values()))
        assert run.status == "capped"
        assert server.count == spent["requests"]


def test_a_money_cap_on_an_unpriced_model_is_refused_before_the_first_call(tmp_path):
    with ProviderServer(toy_script) as server:
        with pytest.raises(Exception, match="no price is known"):
            run_toy(server.url, tmp_path / "r", max_dollars=1)
        assert server.count == 0


def test_errors_are_no_failures(tmp_path):
    """Ten trials, four fail, four pass, two are HTTP 500 after all attempts: 4 of 8."""
    state = {"n": 0}

    def script(request):
        right = toy_right(request)
        state["n"] += 1
        if state["n"] > 8:
            return Status(500)
        letter = right if state["n"] % 2 else {"A": "B", "B": "A"}[right]
        return Answer(f"ANSWER: {letter}")

    with ProviderServer(script) as server:
        run = search(
            TOY,
            "random",
            model=f"openai:m@{server.url}/v1?attempts=2",
            budget=10,
            trials=10,
            out=tmp_path / "r",
        )
        assert server.count == 12
    evaluation = run.evaluations[0]
    assert evaluation.rate == 4 / 8
    assert evaluation.total.counts[Outcome.ERROR] == 2


def toy_right(request) -> str:
    content = request.json["messages"][0]["content"]
    prompt = next(part["text"] for part in content if part["type"] == "text")
    import base64

    url = next(part["image_url"]["url"] for part in content if part["type"] == "image_url")
    picture = Picture(base64.b64decode(url.partition(",")[2]))
    word = "yes" if picture.pixels[0, 0, 0] else "no"
    return next(line[0] for line in prompt.splitlines() if line[1:].startswith(f") {word}:"))


def test_a_refusal_is_one_call_and_never_the_end(tmp_path):
    with ProviderServer(Status(kind="filtered")) as server:
        run = run_toy(server.url, tmp_path / "r", budget=10)
        assert server.count == 10
    assert {t.outcome for e in run.evaluations for t in e.new.trials} == {Outcome.REFUSED}
    assert run.metrics["mfr"] is None, "no data is not 0 %"


def test_a_used_up_quota_keeps_the_run(tmp_path):
    steps = [*[Answer("ANSWER: A")] * 7, Status(kind="quota")]
    with ProviderServer(steps) as server:
        with pytest.raises(ModelFault, match="quota"):
            run_toy(server.url, tmp_path / "r")
        assert server.count == 8
        from vlmfail import Run

        run = Run.open(tmp_path / "r")
        assert len(run.records) == 7
        run.close()


def test_ctrl_c_ends_requests_in_flight_and_the_run_goes_on_later(tmp_path):
    with ProviderServer([*[Answer("ANSWER: A")] * 5, Hang()]) as server:
        command = [
            *[sys.executable, "-m", "vlmfail", "search", TOY, "--searcher", "random"],
            *["--model", f"openai:m@{server.url}/v1", "--budget", "20", "--concurrency", "4"],
            *["--out", str(tmp_path / "r"), "--no-report"],
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while server.count < 9 and time.monotonic() < deadline:
            time.sleep(0.05)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert time.monotonic() - start < 15, "a hanging request is not waited for"
    from vlmfail import Run
    from vlmfail.runs.spending import unrecorded

    run = Run.open(tmp_path / "r")
    assert run.status == "interrupted"
    assert len(run.records) == 5
    assert unrecorded(run.store).requests == 4, "what was sent is not forgotten"
    run.close()


KEY = "sk-planted-0123456789abcdef"


def test_the_key_lands_nowhere(tmp_path, monkeypatch, picture, caplog):
    """Not in the run folder, the cache, logs, errors, pickles or the environment's spec."""
    import gymnasium as gym

    import vlmfail  # noqa: F401

    monkeypatch.setenv("PLANTED_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    texts = []
    echoes = [Answer(f"you sent {KEY}\nANSWER: A"), Status(kind="auth_echo")]
    with ProviderServer(echoes) as server:
        name = f"openai:m@{server.url}/v1?key_env=PLANTED_KEY"
        env = gym.make("VLMFail-Driving-v0", model=name)
        texts += [repr(env.spec), str(pickle.dumps(env.unwrapped.state.model)), repr(env)]
        model = make_model(name)
        reply = model.answer([picture], "?", seed=0)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        texts += [repr(reply), str(pickle.dumps(model)), repr(vars(model)), repr(model.identity())]
        try:
            search(TOY, "random", model=name, budget=5, out=tmp_path / "r")
        except EnvironmentFault as error:
            texts.append(str(error))
            buffer = io.StringIO()
            traceback.print_exception(error, file=buffer)
            texts.append(buffer.getvalue())
        else:
            pytest.fail("a refused key must end the run")
    texts.append(caplog.text)
    for path in Path(tmp_path).rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
    for text in texts:
        assert KEY not in text
        assert not re.search(r"planted-0123", text)


def test_a_foreign_address_never_gets_the_providers_own_key(tmp_path, monkeypatch, picture):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", KEY)
    monkeypatch.setenv("OPENAI_PROJECT_ID", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_CUSTOM_HEADERS", f"X-Planted: {KEY}")
        monkeypatch.setenv(f"{provider}_BASE_URL", "http://127.0.0.1:9")
    with ProviderServer(Answer("ANSWER: A")) as server:
        for provider, path in (("openai", "/v1"), ("anthropic", ""), ("google", "")):
            make_model(f"{provider}:m@{server.url}{path}").answer([picture], "?", seed=0)
        for request in server.requests:
            assert KEY not in str(dict(request.headers))
            assert KEY not in request.path


def test_the_environment_with_a_client_pickles_and_works(picture):
    with ProviderServer(Answer("ANSWER: A")) as server:
        model = make_model(f"openai:m@{server.url}/v1")
        model.answer([picture], "?", seed=0)
        copy = pickle.loads(pickle.dumps(model))
        assert copy.answer([picture], "?", seed=1).text == "ANSWER: A"


def test_numbers_in_json_are_strict(tmp_path):
    with ProviderServer(Answer("ANSWER: A", usage=False)) as server:
        run = run_toy(server.url, tmp_path / "r", budget=5)
    from vlmfail.analysis import summarise
    from vlmfail.runs import dump_json

    assert json.loads(dump_json(summarise(run)))["spent"]["tokens"] is None
    assert np.isfinite(run.metrics["mfr"])
