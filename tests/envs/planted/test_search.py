"""Trials on a landscape and whole searches over it: outcomes, records, resume, report, command."""

from __future__ import annotations

import json
import math
import pickle

import gymnasium as gym
import numpy as np
import pytest

import vlmfail
from vlmfail.cli.main import main
from vlmfail.core import InvalidCandidateError, Outcome, Stream, UsageError, trial_rng
from vlmfail.envs.episodes import Player
from vlmfail.envs.planted.domain import PlantedDomain
from vlmfail.reports.html import render_report
from vlmfail.runs.store import RunStore
from vlmfail.testing.space_suite import SpaceContractSuite

ENV = "VLMFail-Planted-v0"
HERE = {"family": "pairwise", "level": "easy", "landscape_seed": 6}


class TestPlantedSpace(SpaceContractSuite):
    def make_domain(self):
        return PlantedDomain(**HERE)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted") / "run"
    run = vlmfail.search(ENV, "random", budget=203, seed=4, env_args=HERE, out=folder)
    yield run
    run.close()


def test_a_trial_fails_with_its_sets_rate():
    domain = PlantedDomain(**HERE)
    candidate = domain.landscape.candidate(5000)
    rate = domain.landscape.rate(candidate)
    records = [domain.run_episode(None, None, candidate, i, run_seed=3)[0] for i in range(2000)]
    failed = np.mean([record.trial.outcome is Outcome.FAIL for record in records])
    assert failed == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / 2000))
    for index in range(20):
        drawn = trial_rng(3, domain.space.key(candidate), index, Stream.MODEL).random()
        assert (records[index].trial.outcome is Outcome.FAIL) == (drawn < rate)


def test_what_an_agent_is_told_hides_the_rate():
    domain = PlantedDomain(**HERE)
    candidate = domain.landscape.candidate(77)
    record, picture = domain.run_episode(None, None, candidate, 0, run_seed=0)
    trial = record.trial
    assert picture is None
    assert record.scene == {"rate": domain.landscape.rate(candidate)}
    told = (trial.answer, trial.expected, trial.rule, trial.direction, trial.picture, trial.repeats)
    assert told == (None,) * 6
    assert (trial.reply, trial.note, trial.accepted) == ("", "", ())


def test_an_invalid_set_has_no_trial():
    domain = PlantedDomain(**HERE)
    with pytest.raises(InvalidCandidateError, match="rule D2"):
        domain.run_episode(
            None, None, frozenset({"cone", "weather_wet", "weather_foggy"}), 0, run_seed=0
        )


def test_a_domain_is_light_and_the_same_in_a_copy():
    domain = PlantedDomain(**HERE)
    domain.landscape, domain.space.valid_sets()
    packed = pickle.dumps(domain)
    assert len(packed) < 50_000
    copy = pickle.loads(packed)
    candidate = domain.landscape.candidate(9)
    one, other = (d.run_episode(None, None, candidate, 1, run_seed=2) for d in (domain, copy))
    assert one == other


def test_a_search_spends_its_budget_at_the_true_rates(finished):
    assert finished.calls == 203
    assert finished.status == "finished"
    assert finished.config["model"]["spec"] == "planted"
    known = PlantedDomain(**HERE).landscape
    for (key, _), record in finished.records.items():
        assert record.scene["rate"] == known.rate(frozenset(key.split("+")))
    assert finished.config["domain_data"]["rates"] == known.digest


def test_an_interrupted_search_goes_on_to_the_same(tmp_path, finished):
    class EnoughError(Exception):
        pass

    def stop(state):
        if state.calls >= 100:
            raise EnoughError

    with pytest.raises(EnoughError):
        vlmfail.search(
            ENV, "random", budget=203, seed=4, env_args=HERE, out=tmp_path / "cut", progress=stop
        )
    assert 90 < RunStore.open(tmp_path / "cut").count() < 110
    again = vlmfail.resume(tmp_path / "cut")
    assert again.evaluations == finished.evaluations
    assert again.records == finished.records
    again.close()


def test_the_environment_draws_as_the_search_does(finished):
    env = gym.make(ENV, budget=40, **HERE)
    assert env.observation_space.shape == (93,)
    env.reset(seed=4)
    for evaluation in finished.evaluations[:8]:
        candidate = frozenset(evaluation.candidate)
        _, reward, _, truncated, info = env.step(env.unwrapped.encode(candidate))
        assert reward == evaluation.new.rate
        assert info["evaluation"].new == evaluation.new
    assert truncated
    assert env.unwrapped.state.picture().shape[2] == 3
    env.close()


def test_a_worker_draws_the_same(finished):
    player = Player(pickle.loads(pickle.dumps(PlantedDomain(**HERE))), "planted")
    for (key, index), record in [*finished.records.items()][:20]:
        again, _ = player((frozenset(key.split("+")), index, 4))
        assert again.trial == record.trial
    player.close()


def test_fresh_trials_are_drawn_and_said(tmp_path):
    run = vlmfail.search(ENV, "random", budget=100, env_args=HERE, out=tmp_path / "run")
    run = run.confirm(top=3, trials=20)
    tried = [mode for mode in run.failure_modes if mode.fresh.n]
    assert [mode.fresh.n for mode in tried] == [20, 20, 20]
    page = render_report(run)
    assert "tried on fresh trials" in page
    run.close()


def test_the_report_speaks_of_neither_pictures_nor_episodes(finished):
    page = render_report(finished)
    text = page[page.index("<body>") :].lower()
    for word in ("episode", "robot", "picture", "scene", "rule broken", "right answer"):
        assert word not in text
    assert "true failure rate" in text
    for name in ("True PFM", "Oracle share", "Modes at 1k", "Recall", "False reports"):
        assert f"<dt>{name}</dt>" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", ENV, "--model", "tiny-vlm"], "tests no model: leave it out, or give 'planted'"),
        (["search", ENV, "--env-arg", "level=odd"], "unknown level 'odd': there is easy, hard"),
        (["search", ENV, "--max-requests", "3"], "a trial of planted sends nothing"),
        (["search", ENV, "--concurrency", "3"], "a trial of planted is no request; workers=3"),
        (["search", ENV, "--renderer", "other"], "has no pictures"),
        (["preview", ENV, "--concepts", "cyclist"], "no pictures: a trial of a set is one draw"),
        (["estimate", ENV], "sends no requests"),
    ],
)
def test_what_cannot_be_is_one_line(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    err = capsys.readouterr().err.strip()
    assert said in err
    assert "\n" not in err
    assert not list(tmp_path.iterdir())


def test_the_command_says_the_true_figures(capsys, finished, monkeypatch):
    assert main(["report", str(finished.path)]) == 0
    shown = capsys.readouterr().out
    assert "by the true rates of pairwise easy 6: PFM" in shown
    assert "rule" not in shown.split("by the true rates")[0].split("trials or more")[0]
    assert main(["report", str(finished.path), "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert metrics["planted"]["family"] == "pairwise"
    assert main(["replay", str(finished.path), "3", "--rerender"]) == 0
    shown = capsys.readouterr().out
    assert "true rate" in shown
    assert "the same outcome" in shown
    assert "picture" not in shown
    assert main(["label", str(finished.path)]) == 2
    assert "nothing to label" in capsys.readouterr().err
    assert main(["list"]) == 0
    assert ENV in capsys.readouterr().out


def test_another_landscape_is_another_search(tmp_path, finished):
    with pytest.raises(UsageError, match="landscape_seed"):
        vlmfail.search(
            ENV, "random", budget=203, seed=4, out=finished.path,
            env_args={**HERE, "landscape_seed": 7},
        )  # fmt: skip
