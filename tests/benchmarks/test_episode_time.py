from __future__ import annotations

import json
import sys

import pytest

pytest.importorskip("mujoco")

from vlmfail.benchmarks import episode_time


def test_episodes_are_timed(capsys):
    episode_time.main(["--episodes", "2", "--no-pictures", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == found["successes"] == 2
    assert 0 < found["action"] < found["start"] + found["action"] < found["episode"]
    assert found["episode"] <= found["slowest"]
    assert found["picture"] is found["first_picture"] is found["shown"] is None
    assert found["physics_step"] <= 0.005


def test_pictures_are_timed(capsys):
    episode_time.main(["--episodes", "1"])
    said = capsys.readouterr().out
    assert "mujoco: 1 episodes of 80 steps, 1 successes" in said
    assert "picture of 160 x 128" in said
    assert said.count("(target") == 3


def test_an_engine_that_is_not_installed_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "mani_skill", None)
    with pytest.raises(SystemExit, match=r"mani-skill.*pip install"):
        episode_time.main(["--world", "maniskill", "--episodes", "1"])


def test_bad_counts_are_refused(capsys):
    with pytest.raises(SystemExit):
        episode_time.main(["--distractors", "4"])
    assert "--distractors 0 to 3" in capsys.readouterr().err


def test_scenes_are_drawn_by_seed():
    assert episode_time.scenes(3, 1, 2) == episode_time.scenes(3, 1, 2)
    assert len(episode_time.scenes(3, 1, 2)[0].distractors) == 2
