"""The study's command, on the toy world: run, stop, go on, report."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vlmfail.benchmarks.search_study import plan, work
from vlmfail.benchmarks.search_study.__main__ import main
from vlmfail.benchmarks.search_study.plan import (
    Study,
    Task,
    keep_provenance,
    next_task,
    slug,
    state_of,
)
from vlmfail.benchmarks.search_study.work import link_pictures, perform
from vlmfail.benchmarks.studies import processes
from vlmfail.core import UsageError
from vlmfail.rendering.picture_cache import PictureCache
from vlmfail.runs.run import RunData

TOY = "vlmfail.testing.toy:ToyDomain"
MODEL = "vlmfail.testing.toy:ToyModel"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # The study sets these for its own process; the tests share one.
    for name in ("VLMFAIL_PICTURES", "VLMFAIL_PICTURES_GIB"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def study(out: Path, **changes: Any) -> Study:
    base = Study(out, models=(MODEL,), seeds=2, random_seeds=3, budget=60, top=2, fresh=4, env=TOY)
    return replace(base, **changes)


def words(out: Path, *more: str) -> list[str]:
    text = f"--env {TOY} --models {MODEL} --budget 60 --seeds 1 --random-seeds 2 --top 2 --fresh 4"
    return ["--out", str(out), *text.split(), *more]


def test_runs_go_seed_by_seed(tmp_path: Path) -> None:
    tasks = study(tmp_path, models=("a", "b"), searchers=("random", "gpts")).tasks()
    assert [(t.seed, t.model, t.searcher) for t in tasks] == [
        (0, "a", "random"), (0, "a", "gpts"), (0, "b", "random"), (0, "b", "gpts"),
        (1, "a", "random"), (1, "a", "gpts"), (1, "b", "random"), (1, "b", "gpts"),
        (2, "a", "random"), (2, "b", "random"),
    ]  # fmt: skip


def test_a_study_goes_on_with_the_code_that_began_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_provenance(study(tmp_path))
    keep_provenance(study(tmp_path))
    monkeypatch.setattr(plan, "drawing_digest", lambda: "another")
    with pytest.raises(UsageError, match="begun by other code"):
        keep_provenance(study(tmp_path))
    keep_provenance(study(tmp_path / "new"))


def test_scenes_that_are_being_drawn_are_not_drawn_beside(tmp_path: Path) -> None:
    a0, b0, a1 = (Task(*which) for which in (("a", "r", 0), ("b", "r", 0), ("a", "r", 1)))
    assert next_task([a0, b0, a1], []) == a0
    assert next_task([b0, a1], [a0]) == a1
    assert next_task([b0], [a0]) == b0, "rather than wait"


def test_names_become_one_part_of_a_path() -> None:
    assert slug("tiny-vlm") == "tiny-vlm"
    assert slug("../my model.py:Name") == "my-model.py-Name"


def test_a_run_is_continued_where_it_was_stopped(tmp_path: Path) -> None:
    task = Task(MODEL, "random", 0)
    whole, halves = study(tmp_path / "whole"), study(tmp_path / "halves")
    perform(whole, task, lambda _: None)

    def stop(charged: int) -> None:
        raise KeyboardInterrupt

    assert state_of(halves, task).charged == 0
    with pytest.raises(KeyboardInterrupt):
        perform(halves, task, stop)
    between = state_of(halves, task)
    assert not between.searched
    assert 0 < between.charged < 60
    perform(halves, task, lambda _: None)
    assert state_of(halves, task) == state_of(whole, task)
    assert state_of(halves, task).complete

    def trials(made: Study) -> list[Any]:
        run = RunData.open(made.folder(task))
        return [record.trial for record in run.records.values()]

    assert trials(halves) == trials(whole)
    before = (halves.folder(task) / "trials.sqlite").stat().st_mtime_ns
    perform(halves, task, lambda _: None)
    assert len(trials(halves)) == len(trials(whole)), "nothing more"
    assert before


def test_a_run_that_lacks_its_fresh_trials_gets_them(tmp_path: Path) -> None:
    task, made = Task(MODEL, "gpts", 0), study(tmp_path)
    perform(replace(made, fresh=1), task, lambda _: None)
    state = state_of(made, task)
    assert state.searched
    assert not state.confirmed
    perform(made, task, lambda _: None)
    assert state_of(made, task).complete


def test_another_search_in_the_folder_is_told(tmp_path: Path) -> None:
    task, made = Task(MODEL, "random", 0), study(tmp_path)
    perform(made, task, lambda _: None)
    with pytest.raises(UsageError, match="budget 60, this study has 70: choose another --out"):
        state_of(replace(made, budget=70), task)


def test_pictures_become_links_to_equal_ones(tmp_path: Path) -> None:
    kept = PictureCache(tmp_path / "kept")
    images = tmp_path / "run" / "images"
    images.mkdir(parents=True)
    names = ["aa", "bb", "cc"]
    for name in names:
        (images / f"{name}.png").write_bytes(name.encode())
    for name, data in (("aa", b"aa"), ("bb", b"another length")):
        kept.picture_path(name).parent.mkdir(parents=True)
        kept.picture_path(name).write_bytes(data)
    assert link_pictures(tmp_path / "run", kept) == 1
    assert link_pictures(tmp_path / "run", kept) == 0, "they are"
    assert (images / "aa.png").samefile(kept.picture_path("aa"))
    shutil.rmtree(tmp_path / "kept")
    assert sorted((p.stem, p.read_bytes().decode()) for p in images.iterdir()) == [
        (name, name) for name in names
    ]


@pytest.mark.slow
def test_command_goes_on_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(2):
        perform(study(tmp_path), Task(MODEL, "random", seed), lambda _: None)
    assert main(words(tmp_path, "--report-only", "--json")) == 0
    captured = capsys.readouterr()
    first = json.loads(captured.out)
    assert [(arm["searcher"], arm["seeds"]) for arm in first["arms"]] == [("random", [0, 1])]
    assert "2 runs of the study are not over" in captured.err
    assert main(words(tmp_path, "--json")) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [arm["searcher"] for arm in document["arms"]] == ["random", "beam", "gpts"]
    assert document["arms"][0] == first["arms"][0], "run before, not again"
    assert document == json.loads((tmp_path / "results.json").read_text())
    assert "4/4 runs: " in captured.err
    assert "vlmfail.benchmarks.search_study" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "failures.png").is_file()


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_interruption_ends_clean(tmp_path: Path) -> None:
    arguments = words(tmp_path, "--searchers", "random", "--budget", "250")
    command = [sys.executable, "-m", "vlmfail.benchmarks.search_study", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    end = time.monotonic() + 90
    while not list(tmp_path.glob("*/random/0/images/*")) and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "the same command goes on" in output
    end = time.monotonic() + 30
    while _lives(process.pid):
        assert time.monotonic() < end, "somebody of its group is left"
        time.sleep(0.1)


def _said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert not captured.out
    return captured.err


@pytest.mark.parametrize("data", [b'{"pic', b"", b"\xff\xfe", b"[" * 100_000])
def test_damaged_provenance_is_told_and_kept(tmp_path: Path, data: bytes) -> None:
    keep_provenance(study(tmp_path))
    path = tmp_path / plan.PROVENANCE
    path.write_bytes(data)
    with pytest.raises(UsageError, match="it alone says which code began this study"):
        keep_provenance(study(tmp_path))
    assert path.read_bytes() == data
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match="it alone says which code began this study"):
        keep_provenance(study(tmp_path))


@pytest.mark.parametrize("name", ["file", "file/below", "[/nothing]", "new"])
def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    if not name.startswith("file"):

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
    assert main(words(tmp_path / name)) == 2
    said = _said(capsys)
    assert f"{name} cannot be written (" in said
    assert "choose another --out" in said


def test_a_report_says_the_settings_of_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perform(study(tmp_path), Task(MODEL, "random", 0), lambda _: None)
    for option, value in (("--budget", "70"), ("--trials", "7")):
        assert main([*words(tmp_path, "--report-only"), option, value]) == 2
        assert f"this study has {value}" in _said(capsys)
    assert not (tmp_path / "table.md").exists()


def test_a_report_of_nothing_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(tmp_path / "typo", "--report-only")) == 2
    assert "holds no run" in _said(capsys)
    assert not (tmp_path / "typo").exists()


def test_names_that_would_share_a_folder_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*words(tmp_path), "--models", "a/b", "A-b"])
    assert "'a/b' and 'A-b' would share a folder" in capsys.readouterr().err


def test_the_run_of_another_model_is_not_confirmed_as_ones_own(tmp_path: Path) -> None:
    mine, other = Task(MODEL, "random", 0), Task(f"{MODEL}/", "random", 0)
    made = study(tmp_path)
    assert made.folder(mine) == made.folder(other)
    perform(made, mine, lambda _: None)
    with pytest.raises(UsageError, match="was made with model"):
        perform(made, other, lambda _: None)


def test_a_damaged_kept_picture_replaces_none(tmp_path: Path) -> None:
    kept = PictureCache(tmp_path / "kept")
    path = tmp_path / "run" / "images" / "aa.png"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"evidence")
    kept.picture_path("aa").parent.mkdir(parents=True)
    kept.picture_path("aa").write_bytes(b"evidenXe")
    assert link_pictures(tmp_path / "run", kept) == 0
    assert path.read_bytes() == b"evidence"


def test_whatever_ends_the_driver_ends_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[Any] = []

    def gone(*_: object, **__: object) -> list[Any]:
        raise BrokenPipeError

    monkeypatch.setattr(processes, "_start", lambda process: None)
    monkeypatch.setattr(processes, "wait", gone)
    monkeypatch.setattr(processes, "_stop", stopped.extend)
    made, task = study(tmp_path), Task(MODEL, "random", 0)
    with pytest.raises(BrokenPipeError):
        processes.do_all(made, {task: plan.State()}, 1, Console(file=io.StringIO()), work.work)
    assert [one.task for one in stopped] == [task]


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words(tmp_path), "--models", "tiny-vml"]) == 2
    assert "did you mean tiny-vlm" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words(tmp_path), "--searchers", "luck"])
    with pytest.raises(SystemExit):
        main([*words(tmp_path), "--seeds", "0"])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (["--searchers", "no_such_module:Name"], "no_such_module"),
        (["--searchers", f"{TOY.partition(':')[0]}:Nothing"], "Nothing"),
        (["--searchers", TOY], "search agent"),
        (["--env", "no_such_module:Name"], "no_such_module"),
    ],
)
def test_what_cannot_be_loaded_is_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], part: str
) -> None:
    out = tmp_path / "study"
    assert main([*words(out), *change]) == 2
    assert part in capsys.readouterr().err
    assert not out.exists()
