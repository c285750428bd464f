from __future__ import annotations

import json

import pytest

from vlmfail.models.probe import probe_model, probe_question
from vlmfail.testing.provider_server import ProviderServer
from vlmfail.testing.provider_steps import Answer, Hang, Status

pytest.importorskip("openai")
pytest.importorskip("httptools")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    monkeypatch.setenv("VLMFAIL_REPLIES", "off")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def right_letter() -> str:
    _, question, right = probe_question()
    return next(letter for letter, option in question.lettered() if option.id == right)


def test_the_machine_is_looked_over(cli):
    done = cli("doctor", "--json")
    data = json.loads(done.out)
    names = {check["name"]: check for check in data["checks"]}
    assert done.code == 0, data
    assert data["fine"] is True
    assert names["built-in model"]["text"].startswith("tiny-vlm answers ")
    assert names["OPENAI_API_KEY"] == {
        "name": "OPENAI_API_KEY", "fine": False, "text": "not set", "needed": False,
    }  # fmt: skip


def test_a_model_that_sees_is_told_from_one_that_guesses(cli):
    wrong = "B" if right_letter() == "A" else "A"
    with ProviderServer(
        [Answer(f"ANSWER: {right_letter()}"), Answer(f"ANSWER: {wrong}")]
    ) as server:
        good = cli("doctor", "--models", f"openai:m@{server.url}/v1", "--json")
        blind = cli("doctor", "--models", f"openai:m@{server.url}/v1", "--json")
        assert server.count == 2, "one cheap call each"
    (seen,) = json.loads(good.out)["models"]
    assert (good.code, seen["answers"], seen["sees"], seen["tokens"]) == (0, True, True, 128)
    (guess,) = json.loads(blind.out)["models"]
    assert (blind.code, guess["answers"], guess["sees"]) == (3, True, False)


def test_a_roster_in_a_file(cli, tmp_path):
    with ProviderServer(lambda request: Answer(f"ANSWER: {right_letter()}")) as server:
        roster = tmp_path / "roster.txt"
        roster.write_text(f"# ours\nopenai:m@{server.url}/v1\n\ntiny-vlm\nopenai:none\n")
        done = cli("doctor", "--models", f"@{roster}", "--json")
    models = json.loads(done.out)["models"]
    assert [model["answers"] for model in models] == [True, True, False]
    assert "OPENAI_API_KEY" in models[2]["note"]
    assert done.code == 3
    shown = cli("doctor", "--models", f"@{roster}x")
    assert shown.code == 2
    assert "cannot be read" in shown.err


@pytest.mark.parametrize("step", [Status(500), Status(429, retry_after=0.05), Hang()])
def test_a_broken_model_costs_three_requests_at_most(step):
    with ProviderServer(step) as server:
        probe = probe_model(f"openai:m@{server.url}/v1?timeout=0.3")
        assert 1 <= server.count <= 3
    assert not probe.fine
    assert probe.requests == server.count


def test_every_picture_of_the_probe_has_its_own_answer():
    rights = {probe_question(variant)[2] for variant in range(16)}
    assert len(rights) > 6
    for variant in range(16):
        picture, question, right = probe_question(variant)
        assert right in [option.id for option in question.options]
        assert picture.size == (256, 192)
