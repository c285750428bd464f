"""A capped, mistyped or interrupted search goes on with what its messages say."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from vlmfail import resume
from vlmfail.core import RunFolderError, UsageError
from vlmfail.runs.caps import with_caps
from vlmfail.runs.store import RunStore
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Raw, Status

pytest.importorskip("openai")
pytest.importorskip("httptools")

TOY = "vlmfail.testing.toy:ToyDomain"
SILENT = Raw(json.dumps({"choices": [{"message": {"content": "ANSWER: A"}}]}))


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setenv("VLMFAIL_REPLIES", "off")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def toy(cli):
    def call(server, *words, model="m"):
        spec = f"openai:{model}@{server.url}/v1?attempts=1"
        base = ("search", TOY, "-s", "random", "-m", spec, "--budget", 60, "--no-report")
        return cli(*base, "--out", "r", *words)

    return call


def test_a_raised_cap_is_the_runs_own_from_then_on(cli, toy):
    with ProviderServer(Answer("ANSWER: A")) as server:
        assert "10 of 10 requests" in toy(server, "--max-requests", 10).out
        assert "16 of 16 requests" in toy(server, "--max-requests", 16).out
        again = cli("resume", "r", "--no-report")
        assert "16 of 16 requests" in again.out
        assert server.count == 16
        with_store = RunStore.open("r")
        assert with_store.config["caps"]["max_requests"] == 16
        assert with_store.config["command"].endswith("--max-requests 16")
        with_store.close()


def test_resume_raises_a_cap_as_its_message_says(cli, toy):
    with ProviderServer(Answer("ANSWER: A")) as server:
        capped = toy(server, "--max-requests", 10)
        said = re.search(r"vlmfail (resume r --max-requests \d+)", capped.out)
        assert said, capped.out
        more = cli(*said[1].split(), "--no-report", "--json")
        assert (more.json["status"], server.count) == ("capped", 20)
        assert RunStore.open("r").config["caps"]["max_requests"] == 20
        lower = cli("resume", "r", "--max-requests", 15)
        assert lower.code == 2
        assert "below this run's cap of 20" in lower.err
        assert cli("resume", "r", "--max-requests", 100, "--no-report").code == 0
        assert server.count == 60


def test_a_finished_run_takes_a_higher_cap_for_its_re_run(cli, toy):
    with ProviderServer(Answer("ANSWER: A")) as server:
        toy(server, "--max-requests", 65)
        assert server.count == 60
        capped = cli("resume", "r", "--confirm", "--no-report", "--json")
        assert (capped.code, server.count) == (0, 65)
        cli("resume", "r", "--confirm", "--max-requests", 80, "--no-report", "--json")
        assert server.count == 80


def test_a_cap_that_is_too_low_copies_nothing(cli, toy, tmp_path):
    with ProviderServer(Answer("ANSWER: A")) as server:
        toy(server, "--max-requests", 10)
    with pytest.raises(UsageError, match="below"):
        resume(tmp_path / "r", fork=tmp_path / "f", max_requests=3)
    assert not (tmp_path / "f").exists()


def test_a_command_line_is_told_with_the_caps_in_force():
    command = "vlmfail search E --max-requests 10 --max-dollars=2 --out 'a b'"
    caps = {"max_requests": 30, "max_total_tokens": None, "max_dollars": 2.5}
    words = shlex.split(with_caps(command, caps) or "")
    assert words[:5] == ["vlmfail", "search", "E", "--out", "a b"]
    assert words[5:] == ["--max-requests", "30", "--max-dollars", "2.5"]
    assert with_caps(None, caps) is None


def test_a_kill_between_the_two_writes_of_a_cap_leaves_a_sound_run(cli, toy, monkeypatch):
    with ProviderServer(Answer("ANSWER: A")) as server:
        toy(server, "--max-requests", 10)
        for name in ("next_config", "config"):
            store = RunStore.open("r", write=True)
            before, real = store.config, store.set_meta

            def dies(entry, value, name=name, real=real):
                if entry == name:
                    raise KeyboardInterrupt
                real(entry, value)

            monkeypatch.setattr(store, "set_meta", dies)
            with pytest.raises(KeyboardInterrupt):
                store.replace_config({**before, "caps": {**before["caps"], "max_requests": 12}})
            store.close()
            assert cli("resume", "r", "--no-report").code == 0


@pytest.mark.parametrize("wrong", ["name", "port"])
def test_a_search_that_came_to_nothing_is_taken_over(toy, wrong):
    with ProviderServer(Status(404)) as gone:
        if wrong == "name":
            failed = toy(gone, model="mm")
    if wrong == "port":
        failed = toy(gone)
    assert failed.code == 3
    with ProviderServer(Answer("ANSWER: A")) as server:
        done = toy(server, "--max-requests", 10, "--json")
        assert done.code == 0, done.err
        assert done.json["spent"]["requests"] == 10
        assert toy(server, "--seed", 1).code == 2, "now it holds a search"


def test_what_may_have_been_billed_is_not_taken_over(toy, tmp_path):
    with ProviderServer(Status(404)) as server:
        toy(server, model="mm")
    store = RunStore.open(tmp_path / "r", write=True)
    store.set_meta("requests_begun", "5")
    store.close()
    with ProviderServer(Answer("ANSWER: A")) as server:
        refused = toy(server)
        assert (refused.code, server.count) == (2, 0)
        assert "holds another search" in refused.err


def test_a_run_with_trials_never_begins_anew(toy, tmp_path):
    with ProviderServer(Answer("ANSWER: A")) as server:
        toy(server, "--max-requests", 10)
    store = RunStore.open(tmp_path / "r", write=True)
    with pytest.raises(RunFolderError, match="holds trials"):
        store.begin_anew(store.config)
    store.close()


@pytest.mark.parametrize("json_words", [(), ("--json",)])
def test_a_cap_that_the_service_makes_impossible_says_what_helps(cli, toy, json_words):
    with ProviderServer(SILENT) as server:
        done = toy(server, "--max-total-tokens", 100000, *json_words)
        assert done.code == 3
        assert "higher cap" not in done.out + done.err
        said = re.search(r"capped by requests: vlmfail (search .*)", done.out + done.err)
        assert said, done.err
        words = shlex.split(said[1])
        assert "--max-total-tokens" not in words
        words[words.index("--max-requests") + 1] = "20"
        more = cli(*[word for word in words if word != "--json"], "--json")
        assert (more.code, more.json["status"]) == (0, "capped")
        assert server.count == 20
