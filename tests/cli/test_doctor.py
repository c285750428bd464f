from __future__ import annotations

import json
import socket

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
    assert names["road pictures"]["text"].startswith("VLMFail-Driving-v0 at ")
    assert names["kitchen pictures"]["text"].startswith("VLMFail-Indoor-v0 at ")
    texts = " ".join(check["text"] for check in data["checks"])
    for package in ("optuna", "ribs", "wandb", "tensorboard"):
        assert package in texts
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
        assert server.count == 3, "one cheap call, and one more after a wrong answer"
    (seen,) = json.loads(good.out)["models"]
    assert (good.code, seen["answers"], seen["sees"], seen["tokens"]) == (0, True, True, 128)
    (guess,) = json.loads(blind.out)["models"]
    assert (blind.code, guess["answers"], guess["sees"]) == (3, True, False)
    assert '"What does the picture show?"' in guess["note"]
    assert f"it chose {wrong}) A" in guess["note"]
    assert guess["note"].count("ANSWER: ") == 2


@pytest.mark.parametrize("letter", "ABC")
def test_who_always_says_the_same_never_sees(letter):
    from vlmfail.envs.diagnosis import road_questions

    asked = road_questions()
    assert len({one.question.prompt for one in asked}) == 1
    assert not asked[0].right & asked[1].right
    if letter == right_letter():
        letter = "D"
    with ProviderServer(Answer(f"ANSWER: {letter}")) as server:
        probe = probe_model(f"openai:m@{server.url}/v1", further=lambda: asked)
        assert server.count <= 3
    assert probe.sees is False


def test_a_model_of_road_scenes_is_told_to_see_through_a_server(monkeypatch):
    from vlmfail.envs.diagnosis import road_questions
    from vlmfail.models.tiny_vlm import TinyVLM

    monkeypatch.setattr(TinyVLM, "reads_scenes_only", False)
    probe = probe_model("tiny-vlm", further=road_questions)
    assert (probe.answers, probe.sees, probe.fine) == (True, True, True)
    assert "person close ahead" in probe.note
    assert probe_model("tiny-vlm").sees is False, "coloured shapes are not what it reads"


def test_what_came_back_is_told_tamed_and_whole(cli):
    long = "no\u001b[31m idea " + "x" * 300 + " at all"
    with ProviderServer([Answer(long), Status(400, kind="auth")]) as server:
        shown = cli("doctor", "--models", f"openai:m@{server.url}/v1")
    assert shown.code == 3
    assert "no option could be read" in shown.out
    assert "no [31m idea" in shown.out
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        gone = cli("doctor", "--models", f"openai:m@http://127.0.0.1:{port}/v1")
    assert gone.code == 3
    assert "check the address after '@'" in gone.out, "the text is shown to its end"


def test_a_very_long_text_is_bounded(cli, tmp_path):
    (tmp_path / "long.py").write_text("raise RuntimeError('y ' * 3000)")
    shown = cli("doctor", "--models", "long.py:answer")
    assert shown.code == 2
    assert 600 < max(map(len, shown.out.splitlines())) < 700


def test_a_spec_that_cannot_be_is_the_callers_mistake(cli):
    for spec in ("openai:m?thinkin=low", "opnai:m", "openai:m?thinking=lo"):
        done = cli("doctor", "--models", spec)
        assert done.code == 2, spec
        assert "unpriced" not in done.out
        assert spec in done.out
    both = cli("doctor", "--models", "tiny-vlm", "--models", "opnai:m", "--json")
    assert both.code == 2
    good, bad = json.loads(both.out)["models"]
    assert (good["answers"], bad["mistaken"], bad["priced"]) == (True, True, None)


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
        probe = probe_model(f"openai:m@{server.url}/v1?timeout=1")
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
