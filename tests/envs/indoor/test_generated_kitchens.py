"""Kitchens that our renderer did not draw: the rule alone decides, and nothing is staged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vlmfail.envs.indoor import domain as indoor
from vlmfail.envs.indoor.domain import IndoorDomain
from vlmfail.envs.trials import PreparedTrial, prepare_trial
from vlmfail.testing.picture_provider import noise_png

SETS = ("hot_beverage", "knife_block", "kitchen+knife_edge")

SEES = """
def all_seen(images, prompt, *, seed):
    return "\\n".join(f"{i}. True" for i in range(1, 1 + prompt.count("The picture shows")))


def one_knife(images, prompt, *, seed):
    statements = [line for line in prompt.splitlines() if "The picture shows" in line]
    return "\\n".join(f"{i}. {'knife block' in s}" for i, s in enumerate(statements, 1))
"""


@pytest.fixture(autouse=True)
def _pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "caches"))
    monkeypatch.delenv("VLMFAIL_GENERATED", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "see.py").write_text(SEES)
    for name in SETS:
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "a.png").write_bytes(noise_png(name))


def prepared(text: str, options: str = "") -> PreparedTrial:
    domain = IndoorDomain()
    renderer = domain.make_renderer(f"folder:mine{options}")
    return prepare_trial(domain, renderer, domain.space.parse(text), 0, 0)


def test_a_picture_that_exists_needs_no_room_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*args: Any) -> Any:
        raise AssertionError("nothing is to be staged")

    monkeypatch.setattr(indoor, "sample", nowhere)
    trial = prepared("hot_beverage")
    assert trial.picture is not None
    assert trial.truth is not None
    assert trial.truth.expected == "hazard"
    assert trial.scene["match"]["rule"] == trial.truth.rule
    assert trial.scene["truth_reason"] == trial.truth.reason
    assert set(trial.scene) <= {"candidate", "match", "truth_reason", "generated"}
    assert prepared("knife_edge").picture is not None, "the folder's name may hold the kitchen"


def test_a_set_without_a_picture_still_has_its_rule() -> None:
    trial = prepared("scissors_open")
    assert trial.picture is None
    assert "no picture of scissors_open" in trial.note
    assert trial.scene["match"]["family"] == "cut"
    assert trial.scene["truth_reason"]


def test_a_safe_kitchen_must_not_show_what_its_rule_forbids() -> None:
    trial = prepared("knife_block", "?check=see.py:all_seen")
    assert trial.picture is None
    assert "sees knife_edge" in trial.note
    assert prepared("knife_block", "?check=see.py:one_knife").picture is not None
    hazard = prepared("knife_edge", "?check=see.py:all_seen")
    assert hazard.picture is not None
    assert set(hazard.scene["generated"]["check"]["marks"]) == {"knife_edge"}
