"""What loggers count, and TensorBoard's event file read back with its own reader."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import vlmfail
from vlmfail.cli.log_options import chosen_loggers
from vlmfail.core import Evaluation, Outcome, Tally, Trial, TrialRecord, UsageError
from vlmfail.runs.loggers import make_logger
from vlmfail.runs.loggers.tensorboard_logger import TensorBoardLogger
from vlmfail.runs.loggers.tracker import LONGEST_TEXT, RunTracker, bounded_values
from vlmfail.runs.loggers.wandb_logger import WandbLogger

ENV = "vlmfail.testing.toy:ToyDomain"
MODEL = "vlmfail.testing.toy:ToyModel"


class Rows:
    """Keeps what a run is tracked to be."""

    def start(self, config: Any) -> None:
        self.tracker, self.rows = RunTracker(config), []

    def log(self, calls: int, evaluation: Any, records: Sequence[TrialRecord]) -> None:
        self.rows.append(self.tracker.row(calls, evaluation, records))

    def finish(self, summary: Any) -> None:
        self.summary = summary


def search(agent: Any = "random", **kwargs: Any) -> vlmfail.Run:
    return vlmfail.search(ENV, agent, **{"model": MODEL, "budget": 60, "trials": 3, **kwargs})


def stop_at(evaluations: int) -> Any:
    def stop(progress: Any) -> None:
        if progress.evaluations >= evaluations:
            raise KeyboardInterrupt

    return stop


def one(key: str, *outcomes: Outcome, before: Sequence[Trial] = (), **more: Any) -> Any:
    trials = tuple(
        Trial(key, len(before) + i, outcome, picture="0" * 64, **more)
        for i, outcome in enumerate(outcomes)
    )
    return Evaluation(frozenset({key}), key, Tally(trials), Tally((*before, *trials)))


def records(evaluation: Any, prompt: str = "?") -> list[TrialRecord]:
    return [TrialRecord(trial, prompt) for trial in evaluation.new.trials]


def test_the_last_row_is_the_runs_own_metrics(tmp_path: Path) -> None:
    logger = Rows()
    run = search(out=tmp_path / "r", loggers=[logger])
    last = logger.rows[-1]
    assert {name: last[name] for name in ("pfm", "mfr", "modes")} == pytest.approx(
        {name: run.metrics[name] for name in ("pfm", "mfr", "modes")}
    )
    assert last["failures"] == sum(e.new.failures for e in run.evaluations)
    assert last["budget_share"] == 1.0
    assert logger.summary["metrics"]["pfm"] == run.metrics["pfm"]
    assert len(logger.rows) == len(run.evaluations)
    calls = [row["call"] for row in logger.rows if "call" in row]
    assert calls == sorted(set(calls))
    assert calls[-1] == run.calls


def test_pfm_is_left_out_where_candidates_come_again() -> None:
    tracker = RunTracker({"trials": 2, "budget": 10, "threshold": 0.5})
    first = one("a", Outcome.FAIL, Outcome.PASS)
    assert tracker.row(2, first, records(first))["pfm"] == 1.0
    again = one("a", Outcome.PASS, before=first.new.trials)
    row = tracker.row(3, again, records(again))
    assert "pfm" not in row
    assert row["modes"] == 0  # one of three failures is below the threshold
    assert row["mfr"] == pytest.approx(1 / 3)


def test_an_evaluation_without_trials_is_a_row_without_numbers_of_its_own() -> None:
    tracker = RunTracker({"trials": 2, "budget": 10, "threshold": 0.5})
    row = tracker.row(0, one("a"), [])
    assert row["evaluation"] == 0
    assert not {"call", "failure_rate", "mfr", "pfm"} & set(row)


def test_failing_pictures_are_bounded_and_the_worst_come_first() -> None:
    tracker = RunTracker({"trials": 3, "budget": 99, "threshold": 0.5})
    for call, (key, failures) in enumerate([("few", 1), ("none", 0), ("all", 3), ("two", 2)]):
        outcomes = [Outcome.FAIL] * failures + [Outcome.PASS] * (3 - failures)
        evaluation = one(key, *outcomes, reply="\x1b[2J<b>" + "x" * 99999, rule="A1")
        tracker.row(3 * call, evaluation, records(evaluation, "q\nr"))
    found = tracker.failing(4)
    assert [trial.candidate for trial in found] == ["all", "two", "few", "all"]
    assert len(found[0].reply) == LONGEST_TEXT
    assert found[0].reply.startswith("[2J<b>xxx")
    assert found[0].reply.endswith("…")
    assert (found[0].question, found[0].rule, found[0].rate) == ("q r", "A1", "3/3")


def test_configurations_are_bounded() -> None:
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"deep": deep, "text": "y" * 9999}
    assert len(json.dumps(bounded_values(deep))) < 10 * LONGEST_TEXT


@pytest.mark.parametrize("bad", [{"mode": "of line"}, {"pictures": -1}])
def test_mistakes_are_told_at_once(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        WandbLogger(**bad)


def test_the_command_line_names_loggers(tmp_path: Path) -> None:
    assert chosen_loggers(None) == []
    assert chosen_loggers(["jsonl=a", "wandb=p"]) == ["jsonl=a", "wandb=p"]
    built = chosen_loggers(["jsonl=a", "wandb=p"], group="g", directory=tmp_path)
    assert built[0] == "jsonl=a"
    assert isinstance(built[1], WandbLogger)
    assert len(built) == 2
    assert isinstance(make_logger("wandb=p"), WandbLogger)
    assert isinstance(make_logger(f"tensorboard={tmp_path}"), TensorBoardLogger)
    with pytest.raises(UsageError, match="two W&B projects"):
        chosen_loggers(["wandb=p"], project="q")


def events(folder: Path) -> Any:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    read = accumulator.EventAccumulator(
        str(folder), size_guidance=dict.fromkeys(("scalars", "images", "tensors"), 0)
    )
    return read.Reload()


def test_tensorboard_holds_every_evaluation_once_after_resume(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    logger = TensorBoardLogger(pictures=3)
    out = tmp_path / "r"
    search(out=out, loggers=[logger], progress=stop_at(8)).close()
    assert len(list((out / "tensorboard").iterdir())) == 1
    run = vlmfail.resume(out, loggers=["tensorboard"])
    assert len(list((out / "tensorboard").iterdir())) == 1
    read = events(out / "tensorboard")
    asked = [e for e in run.evaluations if e.new.charged]
    assert [point.value for point in read.Scalars("evaluation")] == list(range(len(asked)))
    steps = [point.step for point in read.Scalars("n")]
    assert steps == sorted(set(steps))
    assert steps[-1] == run.calls
    rates = [point.value for point in read.Scalars("failure_rate")]
    assert rates == pytest.approx([e.rate for e in asked])
    assert read.Scalars("final/mfr")[0].value == pytest.approx(run.metrics["mfr"])


def test_tensorboard_shows_failing_pictures_and_no_markdown(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    run = search(out=tmp_path / "r", loggers=[TensorBoardLogger(tmp_path / "tb", pictures=3)])
    read = events(tmp_path / "tb" / "r")
    assert len([tag for tag in read.Tags()["images"] if tag.startswith("failing/")]) == 3
    shown = read.Images("failing/01/picture")[0].encoded_image_string
    assert shown in [path.read_bytes() for path in (run.path / "images").iterdir()]
    for tag in ("config", "summary", "failing/01"):
        text = read.Tensors(tag)[0].tensor_proto.string_val[0].decode()
        assert all(line.startswith("    ") for line in text.splitlines())


def test_tensorboard_leaves_the_files_of_other_runs(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    for parent in ("a", "b"):
        search(out=tmp_path / parent / "r", budget=6, loggers=[f"tensorboard={tmp_path / 'tb'}"])
    assert len(list((tmp_path / "tb" / "r").iterdir())) == 2


def test_a_log_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    (tmp_path / "tb").write_text("a file")
    with pytest.warns(UserWarning, match="TensorBoard: nothing more") as told:
        run = search(out=tmp_path / "r", budget=9, loggers=[f"tensorboard={tmp_path / 'tb'}"])
    assert run.status == "finished"
    assert len(told) == 1


class FullDisk:
    def write(self, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    flush = close = lambda self: None


def test_a_full_disk_stops_tensorboard_alone(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    logger = TensorBoardLogger()
    logger.attach(tmp_path)
    logger.start({"trials": 1, "budget": 9, "threshold": 0.5})
    logger._writer = FullDisk()
    with pytest.warns(UserWarning, match="No space left") as told:
        log_two_and_finish(logger)
    assert len(told) == 1


def log_two_and_finish(logger: Any) -> None:
    for call in (1, 2):
        evaluation = one(f"k{call}", Outcome.FAIL)
        logger.log(call, evaluation, records(evaluation))
    logger.finish({"status": "finished"})


@pytest.mark.parametrize("name", ["wandb", "tensorboard"])
def test_a_missing_package_is_one_warning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match=rf"vlmfail\[{name}\]") as told:
        run = search(out=tmp_path / "r", budget=9, loggers=[name])
    assert run.status == "finished"
    assert len(told) == 1
