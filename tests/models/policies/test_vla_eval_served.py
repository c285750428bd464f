"""Policies behind a real vla-eval model server process: the same episodes as in this one."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail import search
from vlmfail.cli.main import main
from vlmfail.core import ModelFault, Outcome, TrialRecord
from vlmfail.models.policies.registry import make_policy
from vlmfail.models.policies.serve_vla_eval import main as serve_main

pytest.importorskip("vla_eval", reason="the package vla-eval is not installed")

HERE = Path(__file__).parent
ID = "VLMFail-PickUp-v0"
WORLD = f"{HERE / 'looking.py'}:DrawnWorld"


def policy(name: str) -> str:
    return f"{HERE / 'looking.py'}:{name}"


class Served:
    """A server process."""

    def __init__(self, name: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "vlmfail.models.policies.serve_vla_eval", "--json"]
        self.process = subprocess.Popen(
            [*command, "--policy", policy(name), "--port", str(port)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        timer = threading.Timer(60, self.process.kill)
        timer.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        timer.cancel()
        self.url = json.loads(line)["url"]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextlib.contextmanager
def served(name: str) -> Iterator[Served]:
    one = Served(name)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


@pytest.fixture(scope="module")
def looker() -> Iterator[str]:
    with served("Looker") as one:
        yield one.url
        assert one.stop() == 0


def found(out: Path, model: str, **options: Any) -> list[TrialRecord]:
    options = {"budget": 10, "seed": 3, **options}
    env_args = {"world": WORLD, "max_steps": 24, **options.pop("env_args", {})}
    run = search(ID, "random", model=model, out=out, env_args=env_args, **options)
    records = [replace(r, seconds_render=0.0, seconds_model=0.0) for r in run.records.values()]
    run.close()
    return records


def test_the_same_episodes_as_in_this_process(tmp_path: Path, looker: str) -> None:
    here = found(tmp_path / "here", policy("Looker"), env_args={"keep_frames": "all"})
    there = found(tmp_path / "there", f"vla-eval:{looker}", env_args={"keep_frames": "all"})
    assert here == there
    assert all(r.scene["digest"] for r in there)
    assert {r.trial.outcome for r in there} == {Outcome.PASS, Outcome.FAIL}
    config = json.loads((tmp_path / "there" / "run.json").read_text())
    assert "PolicyServer" in json.dumps(config)
    assert "policy looker" in json.dumps(config)


def test_parallel_episodes_each_have_a_session(tmp_path: Path, looker: str) -> None:
    one = found(tmp_path / "one", f"vla-eval:{looker}")
    two = found(tmp_path / "two", f"vla-eval:{looker}", workers=2)

    def by_trial(records: list[TrialRecord]) -> dict[tuple[str, int], TrialRecord]:
        return {(record.trial.key, record.trial.index): record for record in records}

    assert by_trial(one) == by_trial(two)


@pytest.mark.slow
def test_with_mujoco_and_its_pictures(tmp_path: Path, looker: str) -> None:
    pytest.importorskip("mujoco")
    options: dict[str, Any] = {"budget": 2, "env_args": {"world": "mujoco", "max_steps": 6}}
    here = found(tmp_path / "here", policy("Looker"), **options)
    there = found(tmp_path / "there", f"vla-eval:{looker}", **options)
    assert here == there


def test_what_the_policy_does_wrong_is_its_trials_outcome(tmp_path: Path) -> None:
    with served("Sulking") as one:
        records = found(
            tmp_path / "run", f"vla-eval:{one.url}?timeout=2",
            budget=6, env_args={"objects": ["sponge", "carrot", "redbull_can"]},
        )  # fmt: skip
    by_object: dict[str, set[Outcome]] = {}
    notes: dict[str, str] = {}
    for record in records:
        name = record.scene["target"]["object"]
        by_object.setdefault(name, set()).add(record.trial.outcome)
        notes[name] = record.trial.note
    assert by_object["sponge"] == {Outcome.ERROR}
    assert "not a sponge again" in notes["sponge"]
    assert by_object["carrot"] == {Outcome.TIMEOUT}
    assert "did not answer in 2 s" in notes["carrot"]
    assert by_object["redbull_can"] <= {Outcome.PASS, Outcome.FAIL}


def test_a_server_that_dies(tmp_path: Path) -> None:
    with served("Mortal") as one:
        played = make_policy(f"vla-eval:{one.url}?attempts=1")
        image = np.zeros((8, 8, 3), np.uint8)
        image[2, 2], image[6, 6] = (200, 0, 0), (0, 200, 0)
        seen = {"image": image, "state": np.zeros(8, np.float32)}
        played.seed(1)  # type: ignore[attr-defined]
        played.reset("pick apple")
        assert played.act({**seen, "instruction": "pick apple"}).shape == (2, 7)
        played.reset("pick carrot")
        with pytest.raises(RuntimeError, match="ConnectionClosed"):
            played.act({**seen, "instruction": "pick carrot"})
        with pytest.raises(ModelFault, match=r"the server has gone .*resume the run"):
            played.reset("pick apple")


def test_one_that_comes_back_is_found_again(tmp_path: Path) -> None:
    with served("Mortal") as one:
        played = make_policy(f"vla-eval:{one.url}")
        played.reset("pick apple")
        assert one.stop() == 0
        with pytest.raises((RuntimeError, TimeoutError)):
            played.act({"image": np.zeros((8, 8, 3), np.uint8), "instruction": "pick apple",
                        "state": np.zeros(8, np.float32)})  # fmt: skip
    again = Served("Mortal", int(one.url.rpartition(":")[2]))
    try:
        played.reset("pick apple")
    finally:
        assert again.stop() == 0


def test_nobody_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["search", ID, "--model", "vla-eval:ws://127.0.0.1:9", "--budget", "2"]
    out = ["--out", str(tmp_path / "run"), "--env-arg", f"world={WORLD}"]
    assert main([*command, *out]) == 3
    err = " ".join(capsys.readouterr().err.split())
    assert "no model server answers" in err
    assert "Traceback" not in err


def test_what_cannot_be_served(capsys: pytest.CaptureFixture[str], looker: str) -> None:
    assert serve_main(["--policy", "scripted"]) == 2
    assert "looks at pictures" in capsys.readouterr().err
    assert serve_main(["--policy", policy("Looker"), "--port", "70000"]) == 2
    taken = looker.rpartition(":")[2]
    assert serve_main(["--policy", policy("Looker"), "--port", taken]) == 3
    assert f"port {taken} cannot be served" in capsys.readouterr().err
