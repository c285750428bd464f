"""The run store and the executors."""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vlmfail.cli.console import worded
from vlmfail.core import EnvironmentFault, Outcome, Picture, RunFolderError, Trial, TrialRecord
from vlmfail.runs.executors import (
    ProcessExecutor,
    SerialExecutor,
    _deaf_to_interruption,
    _wording,
)
from vlmfail.runs.store import LoggedEvaluation, RunStore, dump_json


def record(key: str = "a+b", index: int = 0, **fields: object) -> TrialRecord:
    trial = Trial(key, index, Outcome.FAIL, "x", "y", ("y",), "A1", "over", "abc", "ümlaut \x00")
    return TrialRecord(trial, "prompt", ("x", "y"), {"k": [1, None]}, {"r": "é"}, **fields)  # type: ignore[arg-type]


def picture(shade: int = 3) -> Picture:
    return Picture.from_pixels(np.full((4, 5, 3), shade, dtype=np.uint8))


def test_a_record_and_its_picture_come_back_as_they_were(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "r", {"a": 1})
    kept = record(requests=2, input_tokens=None, output_tokens=5, dollars=0.25, seconds_render=0.5)
    store.add(kept, picture())
    assert store.get("a+b", 0) == kept
    assert store.get("a+b", 1) is None
    assert store.picture(picture().sha256) == picture()
    assert store.picture("0" * 64) is None
    assert store.picture(None) is None
    store.close()
    again = RunStore.open(tmp_path / "r")
    assert list(again.records()) == [kept]
    assert again.config == {"a": 1}


def test_the_same_picture_is_stored_once(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "r", {})
    for index in range(3):
        store.add(record(index=index), picture())
    assert len(list((tmp_path / "r" / "images").iterdir())) == 1


def test_log_keeps_order_and_is_rewritten_in_place(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "r", {})
    entries = [LoggedEvaluation(i, i // 2, f"k{i}", ["a", "b"], (0, 1)) for i in range(5)]
    for entry in [*reversed(entries), entries[2]]:
        store.log_evaluation(entry)
    assert store.evaluation_log() == entries


def test_candidates_are_named_before_they_are_tried(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "r", {})
    assert store.asked() == {}
    store.ask({"b": ["b"], "a": [1.5, None]})
    store.ask({"a": [2.5, None]})
    assert store.asked() == {"b": ["b"], "a": [2.5, None]}
    for place in (("b", 1), ("a", 0), ("b", 0)):
        store.add(record(*place), picture())
    assert store.places() == [("b", 1), ("a", 0), ("b", 0)]
    store.delete_trials([Outcome.FAIL])
    assert list(store.asked()) == ["b", "a"], "errored trials may be run again"
    store.begin_anew({})
    assert store.asked() == {}


def test_a_run_from_before_candidates_were_named_is_read_and_goes_on(tmp_path: Path) -> None:
    RunStore.create(tmp_path / "r", {}).close()
    with sqlite3.connect(tmp_path / "r" / "trials.sqlite") as db:
        db.execute("DROP TABLE asked")
    read = RunStore.open(tmp_path / "r")
    assert read.asked() == {}
    read.close()
    store = RunStore.open(tmp_path / "r", write=True)
    store.ask({"a": ["a"]})
    assert store.asked() == {"a": ["a"]}


def test_strict_json() -> None:
    value = {
        "nan": math.nan,
        "inf": np.float32("inf"),
        "i": np.int64(3),
        "b": np.bool_(True),
        "a": np.arange(2),
        "s": frozenset({"b", "a"}),
        "o": Outcome.PASS,
        1: Path("x"),
    }
    assert json.loads(dump_json(value)) == {
        "nan": None,
        "inf": None,
        "i": 3,
        "b": True,
        "a": [0, 1],
        "s": ["a", "b"],
        "o": "pass",
        "1": "x",
    }


def test_another_schema_is_refused(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "r", {})
    store.set_meta("schema", "99")
    store.close()
    with pytest.raises(RunFolderError, match="99"):
        RunStore.open(tmp_path / "r")


def test_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="does not exist"):
        RunStore.open(tmp_path / "none")
    with pytest.raises(RunFolderError, match=r"run\.json"):
        RunStore.open(tmp_path)


def test_a_kill_between_database_and_config_leaves_a_folder_that_can_be_made_again(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "r"
    RunStore.create(folder, {}).close()
    (folder / "run.json").unlink()
    assert not RunStore.is_run(folder)
    # The search that was killed there has no trial yet: it starts anew in the same folder.
    RunStore.create(folder, {"b": 2}).close()
    assert RunStore.open(folder).config == {"b": 2}


def squares() -> Callable[[int], int]:
    return lambda job: job * job


def dying() -> Callable[[tuple[str, int]], int]:
    def work(job: tuple[str, int]) -> int:
        marker, number = job
        if marker and not Path(marker).exists():
            Path(marker).write_text("")
            os._exit(9)
        return number

    return work


def always_dying() -> Callable[[int], int]:
    def work(job: int) -> int:
        os._exit(9)

    return work


def failing() -> Callable[[int], int]:
    def work(job: int) -> int:
        raise ValueError(f"job {job}")

    return work


def test_executors_agree() -> None:
    jobs = list(range(7))
    serial = SerialExecutor(squares)
    parallel = ProcessExecutor(squares, 2)
    assert dict(serial.run(jobs)) == dict(parallel.run(jobs)) == {j: j * j for j in jobs}
    parallel.close()
    assert dict(parallel.run([3])) == {0: 9}
    parallel.close()
    parallel.close()


def test_a_worker_that_dies_loses_no_job(tmp_path: Path) -> None:
    executor = ProcessExecutor(dying, 2)
    jobs = [("", 0), (str(tmp_path / "died"), 1), ("", 2), ("", 3)]
    assert dict(executor.run(jobs)) == {0: 0, 1: 1, 2: 2, 3: 3}
    executor.close()


def test_workers_that_keep_dying_are_told() -> None:
    executor = ProcessExecutor(always_dying, 1)
    with pytest.raises(EnvironmentFault, match="--workers 1"):
        list(executor.run([1]))
    executor.close()


def test_an_exception_in_a_worker_reaches_the_driver() -> None:
    executor = ProcessExecutor(failing, 1)
    with pytest.raises(ValueError, match="job 1"):
        list(executor.run([1]))
    executor.close()


def test_workers_end_with_a_killed_driver(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(
        "import os, sys, time\n"
        "from vlmfail.runs.executors import ProcessExecutor\n"
        "def build():\n"
        "    return lambda job: os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    executor = ProcessExecutor(build, 2)\n"
        "    print(*{pid for _, pid in executor.run(range(8))}, flush=True)\n"
        "    time.sleep(60)\n"
    )
    driver = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    pids = [int(word) for word in driver.stdout.readline().split()]
    assert pids
    driver.kill()
    driver.wait()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_run_from_before_repeats_were_noted_is_read_and_continued(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "r", {"a": 1})
    store.add(TrialRecord(Trial("k", 0, Outcome.PASS)), None)
    store.close()
    db = sqlite3.connect(tmp_path / "r" / "trials.sqlite")
    db.execute("ALTER TABLE trials DROP COLUMN repeats")
    db.commit()
    db.close()
    read = RunStore.open(tmp_path / "r")
    assert [record.trial.repeats for record in read.records()] == [None]
    read.close()
    written = RunStore.open(tmp_path / "r", write=True)
    written.add(TrialRecord(Trial("k", 1, Outcome.PASS, repeats=0)), None)
    assert [record.trial.repeats for record in written.records()] == [None, 0]
    written.close()


def _hears(_: int) -> tuple[bool, bool, str]:
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return ignored, blocked, warnings.formatwarning("x", UserWarning, "file.py", 1)


@pytest.mark.slow
def test_a_worker_is_deaf_to_ctrl_c_and_words_warnings_as_its_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warnings, "formatwarning", worded)
    executor: ProcessExecutor[int, tuple[bool, bool, str]] = ProcessExecutor(_make_hears, 1)
    assert dict(executor.run([0])) == {0: (True, False, "warning: x\n")}
    executor.close()
    monkeypatch.setattr(warnings, "formatwarning", lambda *_: "")
    assert _wording() is None, "what no other process can load stays here"


def _make_hears() -> Callable[[int], tuple[bool, bool, str]]:
    return _hears


def test_a_process_does_not_hear_ctrl_c_while_it_starts() -> None:
    asks = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    with _deaf_to_interruption():
        done = subprocess.run(
            [sys.executable, "-c", asks], capture_output=True, text=True, check=True
        )
    assert done.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
