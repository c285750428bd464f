"""What was sent is counted once and for all, and what is unknown is no zero."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import pytest

from vlmfail import resume, search
from vlmfail.analysis import summarise
from vlmfail.core import ModelFault, Outcome
from vlmfail.models.answers import classify
from vlmfail.models.registry import make_model
from vlmfail.testing.provider_server import ProviderServer, steady
from vlmfail.testing.provider_steps import Answer, Hang, Raw, Reset, Status

from .test_runs import TOY, run_toy, toy_script

REFUSED_TEMPERATURE = Status(kind="unsupported_temperature")


def capped_run(url, out, cap, **options):
    return run_toy(url, out, max_requests=cap, **options)


def test_a_cap_counts_re_run_trials_when_the_search_goes_on(tmp_path):
    with ProviderServer(toy_script) as server:
        capped_run(server.url, tmp_path / "r", 40, budget=100).close()
        assert server.count == 40
        run = capped_run(server.url, tmp_path / "r", 60, budget=100)
        assert server.count == 60
        run.close()
        capped_run(server.url, tmp_path / "r", 70, budget=100).close()
        assert server.count == 70


def test_a_killed_run_does_not_forget_what_it_had_sent(tmp_path):
    step = [*[Answer("ANSWER: A")] * 6, Hang()]
    with ProviderServer(step) as server:
        model = f"openai:m@{server.url}/v1"
        command = [sys.executable, "-m", "vlmfail", "search", TOY, "--searcher", "random"]
        command += ["--model", model, "--budget", "50", "--concurrency", "4", "--no-report"]
        command += ["--max-requests", "20", "--out", str(tmp_path / "r")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while server.count < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with ProviderServer(Answer("ANSWER: A"), port=int(server.url.rpartition(":")[2])) as again:
        run = search(TOY, "random", model=model, budget=50, max_requests=20, out=tmp_path / "r")
        assert again.count == 20 - 10, "ten had been sent before the kill, four of them in vain"
    data = summarise(run)
    assert data["spent"]["requests"] == 20
    assert data["unknown_cost"]["tokens"] == 4


def test_trials_that_are_retried_in_a_fork_stay_paid(tmp_path):
    steps = [*[Answer("ANSWER: A")] * 8, Status(500), Status(500), Answer("ANSWER: A")]
    with ProviderServer(steps) as server:
        model = f"openai:m@{server.url}/v1?attempts=1"
        run = search(TOY, "random", model=model, budget=10, out=tmp_path / "r")
        assert summarise(run)["outcomes"]["error"] == 2
        run.close()
        fork = resume(tmp_path / "r", retry_errors=True, fork=tmp_path / "f")
        assert server.count == 12
        assert summarise(fork)["spent"]["requests"] == 12


def test_an_unpriced_model_is_never_free(tmp_path):
    with ProviderServer([Status(500), Answer("ANSWER: A")]) as server:
        run = search(
            TOY,
            "random",
            model=f"openai:m@{server.url}/v1?attempts=1",
            budget=5,
            out=tmp_path / "r",
        )
        data = summarise(run)
        assert data["outcomes"]["error"] == 1
        assert data["spent"]["dollars"] is None
        assert data["unknown_cost"]["dollars"] == 5
        assert "unknown" in run.report().read_text()


def test_useless_replies_cost_what_they_say(picture):
    empty = {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 50}}
    steps = [Raw(json.dumps(empty)), Answer("ANSWER: A", input_tokens=1000, output_tokens=50)]
    with ProviderServer(steps) as server:
        reply = make_model(f"openai:m@{server.url}/v1").answer([picture], "?", seed=0)
    assert (reply.usage.requests, reply.usage.input_tokens) == (2, 2000)
    assert "maybe_billed" not in reply.raw


def test_what_may_have_been_billed_is_told(tmp_path):
    with ProviderServer([Hang(), Answer("ANSWER: A")]) as server:
        model = f"openai:m@{server.url}/v1?timeout=1"
        data = summarise(search(TOY, "random", model=model, budget=5, out=tmp_path / "r"))
    assert data["spent"]["requests"] == 6
    assert data["unknown_cost"]["tokens"] == 1


def test_a_refused_parameter_is_learned_once_by_all(picture):
    def script(request):
        if "temperature" in request.json:
            return REFUSED_TEMPERATURE
        return Answer("ANSWER: A", delay=0.1)

    with ProviderServer(script) as server:
        name = f"openai:m@{server.url}/v1?temperature=0"
        models = [make_model(name), make_model(name)]
        with pytest.warns(UserWarning, match="temperature"), ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda model: model.answer([picture], "?", seed=0), models))
        paid = sum("temperature" not in request.json for request in server.requests)
        assert paid == 1


def test_the_seed_that_was_sent_is_recorded_and_tells_replies_apart(picture):
    with ProviderServer(Answer("ANSWER: A")) as server:
        plain = make_model(f"openai:m@{server.url}/v1").answer([picture], "?", seed=7)
        seeded = make_model(f"openai:m@{server.url}/v1?send_seed=true")
        assert seeded.answer([picture], "?", seed=7).raw["cached"] is False
        again = seeded.answer([picture], "?", seed=7)
        assert server.requests[1].json["seed"] == 7
        assert server.count == 2
    assert again.raw["sent"]["parameters"] == {"seed": 7}
    assert plain.raw["sent"]["parameters"] == {}


def test_an_error_within_a_choice_is_no_answer(picture, question):
    body = {"choices": [{"message": {"content": ""}, "error": {"code": 502, "message": "up"}}]}
    with ProviderServer([Raw(json.dumps(body)), Answer("ANSWER: A")]) as server:
        reply = make_model(f"openai:m@{server.url}/v1").answer([picture], "?", seed=0)
        assert server.count == 2
    assert reply.text == "ANSWER: A"


def test_a_refusal_beside_content_is_a_refusal(picture, question):
    with ProviderServer(Answer("ANSWER: A", refusal="I cannot help.")) as server:
        reply = make_model(f"openai:m@{server.url}/v1").answer([picture], "?", seed=0)
        assert server.count == 1
    assert classify(reply, question)[0] is Outcome.REFUSED


def test_the_vector_form_asks_together():
    with ProviderServer(steady(delay=4)) as server:  # longer than two scenes take to draw
        envs = gym.make_vec(
            "VLMFail-Driving-v0",
            num_envs=2,
            model=f"openai:m@{server.url}/v1",
            trials=2,
        )
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())
        envs.close()
        assert 2 <= server.max_in_flight <= 4


def test_a_server_that_goes_for_good_ends_the_run(tmp_path):
    with ProviderServer([*[Answer("ANSWER: A")] * 5, Reset()]) as server:
        model = f"openai:m@{server.url}/v1?attempts=1"
        with pytest.raises(ModelFault, match="has gone"):
            search(TOY, "random", model=model, budget=100, out=tmp_path / "r")
        assert server.count == 15


@pytest.mark.parametrize("tokens", [10**400, 10**20, -1, True, "many"])
def test_an_absurd_count_neither_hangs_nor_ends_a_capped_run(tokens, tmp_path, monkeypatch):
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    body = {"choices": [{"message": {"content": "ANSWER: A"}}], "usage": usage}
    with ProviderServer(Raw(json.dumps(body))) as server:
        row = {"provider": "openai", "model": "m", "base_url": f"{server.url}/v1", "input": 1.0}
        row |= {"output": 1.0, "source": "a test", "date": "2026-01-01"}
        (tmp_path / "prices.json").write_text(json.dumps({"prices": [row]}))
        monkeypatch.setenv("VLMFAIL_PRICES", str(tmp_path / "prices.json"))
        model = f"openai:m@{server.url}/v1"
        run = search(TOY, "random", model=model, budget=10, max_dollars=5.0, out=tmp_path / "r")
    assert run.status == "capped", "a service that does not tell its usage cannot be capped"
    assert len(run.records) == 3
