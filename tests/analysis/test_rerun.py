from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vlmfail.analysis import compute_metrics, failure_modes, rerun_modes, summarise
from vlmfail.core import (
    Option,
    Outcome,
    Picture,
    Question,
    Rendering,
    Reply,
    RunFolderError,
    SceneError,
    Truth,
    Usage,
    UsageError,
)
from vlmfail.runs.run import RunData
from vlmfail.testing.made_runs import make_run


@dataclass
class Scene:
    number: float

    def record(self) -> dict[str, Any]:
        return {"number": self.number}


class MadeDomain:
    """A domain whose pictures are one colour; scenes of {rare} are invalid."""

    name = "made"
    attempts = 1
    space = SimpleNamespace(key="+".join, from_json=list)

    def sample_scene(self, candidate, rng):
        if "rare" in candidate:
            raise SceneError("no room")
        return Scene(float(rng.random()))

    def question(self, scene):
        return Question("What now?", (Option("stop", "Stop"), Option("go", "Go")), "v1")

    def truth(self, scene):
        return Truth("stop", frozenset({"stop"}), "A1", "a wall ahead")

    def unseen(self, scene, truth, rendering):
        return None

    def direction(self, truth, answer):
        return "under_reaction"

    def make_renderer(self, name):
        return self

    def render(self, scene):
        return Rendering(Picture.from_pixels(np.full((4, 4, 3), int(scene.number * 255), np.uint8)))


class Says:
    name = "says"

    def __init__(self, right: float) -> None:
        self.right = right
        self.calls = 0

    def answer(self, images, prompt, *, seed):
        self.calls += 1
        word = "Stop" if np.random.default_rng(seed).random() < self.right else "Go"
        letter = next(line[0] for line in prompt.splitlines() if line.endswith(f") {word}"))
        return Reply(f"ANSWER: {letter}")


@pytest.fixture
def run(tmp_path):
    sets = [(["a"], "fffff"), (["b"], "fffpp"), (["c"], "ppppp"), (["rare"], "ffffp")]
    return make_run(tmp_path / "run", sets)


def test_fresh_trials_confirm_and_leave_the_search_alone(run):
    before = summarise(run)
    model = Says(right=0.0)
    after = rerun_modes(run, MadeDomain(), model)
    assert model.calls == 40, "20 fresh trials for each of two modes; {rare} has no valid scene"
    modes = {mode.key: mode for mode in failure_modes(after)}
    assert modes["a"].confirmed is True
    assert (modes["b"].fresh.failures, modes["b"].fresh.n) == (20, 20)
    assert (modes["b"].failures, modes["b"].n) == (3, 5)
    assert modes["rare"].confirmed is None
    now = summarise(after)
    assert now["calls"] == before["calls"]
    assert now["outcomes"] == before["outcomes"]
    assert now["metrics"]["pfm"] == before["metrics"]["pfm"]
    assert now["metrics"]["rerun_mean"] == 1.0
    assert now["metrics"]["rerun_share_80"] == 1.0
    fresh = [r for r in after.records.values() if r.trial.index >= 5 and r.trial.key == "a"]
    assert len({r.trial.picture for r in fresh}) > 1, "scenes of their own"


def test_a_model_that_mostly_passes_on_fresh_trials_is_not_confirmed(run):
    after = rerun_modes(run, MadeDomain(), Says(right=0.5))
    assert {mode.key: mode.confirmed for mode in failure_modes(after)}["a"] is False
    assert compute_metrics(after)["confirmed_modes"] == 0
    assert compute_metrics(after)["rerun_share_80"] == 0.0


def test_a_second_re_run_adds_nothing(run):
    once = rerun_modes(run, MadeDomain(), Says(right=0.0))
    model = Says(right=0.0)
    twice = rerun_modes(once, MadeDomain(), model)
    assert model.calls == 0
    assert len([r for r in twice.records if r[0] == "a"]) == 25


def test_a_listed_trial_without_a_record_is_skipped_and_made_up_for(run):
    run.store.set_meta("rerun", '{"a": [5, 6]}')
    after = rerun_modes(run, MadeDomain(), Says(right=0.0))
    (mode,) = [mode for mode in failure_modes(after) if mode.key == "a"]
    assert mode.fresh.n == 20


def test_errors_never_confirm(run):
    class Broken:
        name = "broken"

        def answer(self, images, prompt, *, seed):
            raise RuntimeError("no")

    after = rerun_modes(run, MadeDomain(), Broken())
    modes = {mode.key: mode for mode in failure_modes(after)}
    assert modes["a"].confirmed is None
    assert modes["a"].fresh.counts == {Outcome.ERROR: 20}


def test_keys_of_another_version_are_refused(run):
    domain = MadeDomain()
    domain.space = SimpleNamespace(key=lambda c: "other", from_json=list)
    with pytest.raises(RunFolderError, match="with the version that wrote it"):
        rerun_modes(run, domain, Says(right=0.0))


def test_caps_hold(tmp_path):
    config = {"caps": {"max_requests": 12, "max_total_tokens": None, "max_dollars": None}}
    run = make_run(tmp_path / "capped", [(["a"], "fffff"), (["b"], "fffff")], config=config)

    class Counts(Says):
        def answer(self, images, prompt, *, seed):
            reply = super().answer(images, prompt, seed=seed)
            return Reply(reply.text, usage=Usage(requests=1))

    model = Counts(right=0.0)
    after = rerun_modes(run, MadeDomain(), model)
    assert model.calls == 2
    assert summarise(after)["spent"]["requests"] == 12


class Slow(Says):
    """Answers late, the first ones last, and counts how many it is asked at once."""

    def __init__(self, right: float) -> None:
        super().__init__(right)
        self.lock = threading.Lock()
        self.now = self.most = 0

    def answer(self, images, prompt, *, seed):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002 + 0.02 * (seed % 7) / 7)
        try:
            return super().answer(images, prompt, seed=seed)
        finally:
            with self.lock:
                self.now -= 1


def trials_of(run):
    return {place: record.trial for place, record in run.records.items()}


def test_requests_are_in_flight_together_and_change_nothing(tmp_path):
    sets = [(["a"], "fffff"), (["b"], "fffpp"), (["some"], "ffffp")]

    class Domain(MadeDomain):
        def sample_scene(self, candidate, rng):
            scene = super().sample_scene(candidate, rng)
            if "some" in candidate and scene.number < 0.5:
                raise SceneError("no room")
            return scene

    one = rerun_modes(make_run(tmp_path / "one", sets), Domain(), Says(right=0.5))
    model, told = Slow(right=0.5), []
    eight = rerun_modes(
        make_run(tmp_path / "eight", sets),
        Domain(),
        model,
        concurrency=8,
        progress=lambda done, total: told.append((done, total)),
    )
    assert 1 < model.most <= 8
    assert trials_of(eight) == trials_of(one)
    assert eight.store.meta("rerun") == one.store.meta("rerun")
    assert told[-1] == (60, 60)
    assert sorted(told) == told


def test_an_interrupted_re_run_goes_on_to_the_same_trials(tmp_path):
    sets = [(["a"], "fffff"), (["b"], "fffff")]
    whole = rerun_modes(make_run(tmp_path / "whole", sets), MadeDomain(), Says(right=0.5))

    class Stops(Slow):
        def answer(self, images, prompt, *, seed):
            reply = super().answer(images, prompt, seed=seed)
            if self.calls == 17:
                raise KeyboardInterrupt
            return reply

    run = make_run(tmp_path / "stopped", sets)
    with pytest.raises(KeyboardInterrupt):
        rerun_modes(run, MadeDomain(), Stops(right=0.5), concurrency=6)
    rest = RunData(run.store)
    assert 10 < len(rest.records) < 50
    after = rerun_modes(rest, MadeDomain(), Says(right=0.5), concurrency=3)
    assert trials_of(after) == trials_of(whole)
    assert after.store.meta("rerun") == whole.store.meta("rerun")


def test_a_cap_stops_requests_in_flight_together_too(tmp_path):
    config = {"caps": {"max_requests": 12, "max_total_tokens": None, "max_dollars": None}}
    run = make_run(tmp_path / "capped", [(["a"], "fffff"), (["b"], "fffff")], config=config)

    class Counts(Slow):
        def answer(self, images, prompt, *, seed):
            reply = super().answer(images, prompt, seed=seed)
            return Reply(reply.text, usage=Usage(requests=1))

    model = Counts(right=0.0)
    rerun_modes(run, MadeDomain(), model, concurrency=8)
    assert model.calls == 2


@pytest.mark.parametrize("concurrency", [0, -1, True, 1.5])
def test_a_concurrency_that_cannot_be_is_refused(run, concurrency):
    with pytest.raises(UsageError, match="concurrency"):
        rerun_modes(run, MadeDomain(), Says(right=0.0), concurrency=concurrency)
