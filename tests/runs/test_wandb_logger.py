"""W&B: the real package offline, its run file read back; a stand-in that hangs and fails."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vlmfail
from vlmfail.runs.loggers.helper_process import HelperProcess
from vlmfail.runs.loggers.wandb_logger import WandbLogger

ENV = "vlmfail.testing.toy:ToyDomain"
MODEL = "vlmfail.testing.toy:ToyModel"
FAKE = Path(__file__).parent / "fake_wandb.py"
KEY = "0123456789abcdef0123456789abcdef01234567"

KILLED = f"""
import os, signal, vlmfail
from vlmfail.runs.loggers.wandb_logger import WandbLogger

def kill(progress):
    if progress.evaluations >= 16:
        os.kill(os.getpid(), signal.SIGKILL)

logger = WandbLogger("p", group="g", finish_seconds=120)
vlmfail.search({ENV!r}, "random", model={MODEL!r}, budget=60, trials=3, out="r",
               loggers=[logger], progress=kill)
"""


def search(out: Path, logger: Any, **kwargs: Any) -> vlmfail.Run:
    kwargs = {"model": MODEL, "budget": 30, "trials": 3, **kwargs}
    return vlmfail.search(ENV, "random", out=out, loggers=[logger], **kwargs)


# -- the real package ---------------------------------------------------------------------------


def records(path: Path) -> Iterator[Any]:
    """The protobuf records of W&B's run file, a LevelDB log after a header of seven bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, parts = path.read_bytes(), 7, []
    assert data[:4] == b":W&B"
    while place + 7 <= len(data):
        if (left := 32768 - place % 32768) < 7:
            place += left
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts.append(data[place + 7 : place + 7 + length])
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = Record()
            record.ParseFromString(b"".join(parts))
            parts = []
            yield record


@pytest.mark.slow
def test_the_run_file_holds_every_evaluation_once_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec("wandb")
    if found is None or found.origin is None:
        pytest.skip("wandb is not installed")
    loaded = "wandb" in sys.modules
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + KEY)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    out = tmp_path / "r"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run = vlmfail.resume(out, loggers=[WandbLogger(finish_seconds=200)])

    assert ("wandb" in sys.modules) == loaded

    (file,) = (out / "wandb").glob("*/*.wandb")
    stored = list(records(file))
    history = [
        {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
        for items in (r.history.item for r in stored if r.HasField("history"))
    ]
    assert [row["evaluation"] for row in history] == list(range(len(run.evaluations)))
    assert [row["candidate"] for row in history] == [e.key for e in run.evaluations]
    assert [row.get("failure_rate") for row in history] == [
        pytest.approx(e.rate) if e.n else None for e in run.evaluations
    ]
    calls = [row["call"] for row in history if "call" in row]
    assert calls == sorted(set(calls))
    assert calls[-1] == run.calls

    (begun,) = (r.run for r in stored if r.HasField("run"))
    assert (begun.project, begun.run_group, begun.display_name) == ("p", "g", "r")
    assert not begun.host
    metrics = {
        r.metric.name or r.metric.glob_name: r.metric for r in stored if r.HasField("metric")
    }
    assert metrics["*"].step_metric == "call"
    config = {u.key: json.loads(u.value_json) for r in stored for u in r.config.update}
    assert config["budget"] == 60
    summary = {u.key or u.nested_key[0] for r in stored for u in r.summary.update}
    assert {"status", "metrics"} <= summary
    assert not any(r.HasField("stats") or r.HasField("output_raw") for r in stored)

    table = json.loads(next((out / "wandb").glob("*/files/media/table/*.json")).read_text())
    assert 0 < len(table["data"]) <= 50
    assert all(row[table["columns"].index("picture")] for row in table["data"])

    secret = KEY.encode()
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and secret in p.read_bytes()]
    assert list((tmp_path / "home").rglob("*")) == []


# -- a stand-in ---------------------------------------------------------------------------------


@pytest.fixture
def fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put the stand-in in W&B's place; choose what it does wrong."""
    place = tmp_path / "packages"
    place.mkdir()
    shutil.copy(FAKE, place / "wandb.py")
    monkeypatch.setenv("PYTHONPATH", str(place))
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    importlib.invalidate_caches()
    return lambda name: monkeypatch.setenv("FAKE_WANDB", name)


def told(out: Path) -> list[dict[str, Any]]:
    """What the stand-in was told in the one W&B run of a folder."""
    (file,) = (out / "wandb").glob("*run-*/calls.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def steps(calls: list[dict[str, Any]]) -> list[int]:
    return [call["step"] for call in calls if "step" in call and "failing" not in call["row"]]


def test_the_service_gets_everything_and_no_secret(
    tmp_path: Path, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault("")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    before = dict(os.environ)
    run = search(tmp_path / "r", WandbLogger("p", entity="e", group="g", pictures=2))
    calls = told(tmp_path / "r")
    assert (calls[0]["init"], calls[0]["entity"], calls[0]["resume"]) == ("online", "e", "allow")
    assert calls[0]["settings"]["console"] == "off"
    assert "OPENAI_API_KEY" not in calls[0]["env"]
    assert steps(calls) == list(range(len(run.evaluations)))
    columns, rows = next(c["row"]["failing"] for c in calls if "failing" in c.get("row", {}))
    assert len(rows) == 2
    assert Path(rows[0][columns.index("picture")]).parent == (run.path / "images").absolute()
    assert calls[-1]["finish"] == 0
    assert calls[-1]["summary"]["status"] == "finished"
    assert calls[-1]["config"]["seed"] == 0
    assert dict(os.environ) == before


def test_what_the_service_holds_is_not_sent_again(
    tmp_path: Path, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault("")
    search(tmp_path / "r", WandbLogger("p", entity="e")).close()
    first = told(tmp_path / "r")
    monkeypatch.setenv("FAKE_WANDB_STEP", "4")
    run = vlmfail.resume(tmp_path / "r", loggers=["wandb"])
    again = told(tmp_path / "r")
    assert steps(again) == list(range(4, len(run.evaluations)))
    for name in ("id", "project", "entity"):  # the run is W&B's same one
        assert again[0][name] == first[0][name]


@pytest.mark.parametrize(
    ("name", "said", "seconds"),
    [("hang in init", "did not answer within", 0.3), ("no key", "bad key …", 60)],
)
def test_without_the_service_the_run_is_logged_offline(
    name: str,
    said: str,
    seconds: float,
    tmp_path: Path,
    fault: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault(name)
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with pytest.warns(UserWarning, match=said) as warned:
        run = search(tmp_path / "r", WandbLogger(start_seconds=seconds))
    assert len(warned) == 1
    assert KEY not in str(warned[0].message)
    assert "wandb sync" in str(warned[0].message)
    calls = told(tmp_path / "r")
    assert calls[0]["init"] == "offline"
    assert steps(calls) == list(range(len(run.evaluations)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hang in log", "did not end within 1 s"),
        ("die in log", "its process ended|did not end"),
        ("fail to load", "broken|did not end"),
        ("full disk", "evaluations could not be written|did not end"),
    ],
)
def test_no_fault_of_wandb_stops_or_holds_up_a_search(
    name: str, said: str, tmp_path: Path, fault: Any
) -> None:
    fault(name)
    logger = WandbLogger(finish_seconds=1)
    clock = time.monotonic()
    with pytest.warns(UserWarning, match=said) as warned:
        run = search(tmp_path / "r", logger)
    assert run.status == "finished"
    assert len(warned) == 1
    assert time.monotonic() - clock < 60


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path, fault: Any) -> None:
    fault("")
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="Weights & Biases") as warned:
        run = search(tmp_path / "r", WandbLogger(directory=tmp_path / "file"))
    assert run.status == "finished"
    assert len(warned) == 1


def test_disabled_leaves_nothing(
    tmp_path: Path, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault("")
    search(tmp_path / "a", WandbLogger(mode="disabled")).close()
    monkeypatch.setenv("WANDB_MODE", "disabled")
    search(tmp_path / "b", WandbLogger()).close()
    assert not list(tmp_path.rglob("wandb"))


def test_runs_that_share_a_folder_keep_to_their_own(tmp_path: Path, fault: Any) -> None:
    fault("")
    for name in ("a", "b"):
        search(tmp_path / name, WandbLogger(directory=tmp_path / "all")).close()
    vlmfail.resume(tmp_path / "a", loggers=[WandbLogger(directory=tmp_path / "all")]).close()
    assert len(list((tmp_path / "all" / "wandb").glob("*run-*"))) == 2


def test_a_fork_is_a_run_of_its_own(tmp_path: Path, fault: Any) -> None:
    fault("")
    search(tmp_path / "r", WandbLogger()).close()
    vlmfail.resume(tmp_path / "r", fork=tmp_path / "f", loggers=["wandb"]).close()
    assert told(tmp_path / "r")[0]["id"] != told(tmp_path / "f")[0]["id"]


def test_a_helper_that_reads_nothing_holds_nobody_up(tmp_path: Path) -> None:
    code = textwrap.dedent("import time; print('{\"told\": 1}', flush=True); time.sleep(1000)")
    helper = HelperProcess([sys.executable, "-c", code], tmp_path, os.environ)
    clock = time.monotonic()
    for _ in range(200):
        assert helper.send({"text": "x" * 10_000})
    assert time.monotonic() - clock < 5
    helper.close(2.0)
    assert time.monotonic() - clock < 20
    assert helper._process.returncode == -signal.SIGKILL
