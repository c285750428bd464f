"""Damaged, edited and read-only run folders: one clear error, never another number."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

import vlmfail
from vlmfail.analysis.fresh_trials import check_same_system
from vlmfail.core import EnvironmentFault, RunFolderError, VLMFailError
from vlmfail.models.registry import make_model
from vlmfail.runs.run import RunData
from vlmfail.runs.store import RunStore, dump_json
from vlmfail.testing.toy import ToyDomain, ToyModel

ENV = "vlmfail.testing.toy:ToyDomain"
MODEL = "vlmfail.testing.toy:ToyModel"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = vlmfail.search(ENV, "random", model=MODEL, budget=24, trials=3, out=tmp_path / "r")
    run.close()
    return tmp_path / "r"


def read_all(path: Path) -> Any:
    run = RunData.open(path)
    try:
        return dict(run.records), run.evaluations, run.config
    finally:
        run.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("threshold", 0.1), ("seed", 7), ("count_as_fail", ["error"]), ("trials", 1)],
)
def test_an_edited_run_json_is_noticed(folder: Path, name: str, value: Any) -> None:
    config = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**config, name: value}))
    with pytest.raises(RunFolderError, match="edited"):
        read_all(folder)
    with pytest.raises(RunFolderError):
        vlmfail.resume(folder)


def test_a_run_json_laid_out_anew_is_the_same(folder: Path) -> None:
    config = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(config, indent=7))
    assert len(read_all(folder)[0]) == 24


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": "x"},
        {"trials": None},
        {"count_as_fail": ["pass"]},
        {"count_as_fail": ["bogus"]},
        {"model": "x"},
    ],
    ids=str,
)
def test_a_config_that_no_search_wrote_is_refused(folder: Path, change: dict[str, Any]) -> None:
    config = json.loads((folder / "run.json").read_text())
    with sqlite3.connect(folder / "trials.sqlite") as db:  # as in runs of earlier versions
        db.execute("DELETE FROM meta WHERE name = 'config'")
    (folder / "run.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(RunFolderError, match=r"run\.json"):
        read_all(folder)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_database_is_told(folder: Path, share: float) -> None:
    path = folder / "trials.sqlite"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_all(folder)
    with pytest.raises(VLMFailError):
        vlmfail.search(ENV, "random", model=MODEL, budget=24, trials=3, out=folder)


@pytest.mark.parametrize(
    "change",
    ["outcome = 'bogus'", "raw = '{'", "accepted = 5", "scene = NULL"],
)
def test_a_damaged_row_is_told(folder: Path, change: str) -> None:
    with sqlite3.connect(folder / "trials.sqlite") as db:
        db.execute(f"UPDATE trials SET {change}")
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_all(folder)


def test_a_replaced_picture_is_no_evidence(folder: Path) -> None:
    store = RunStore.open(folder)
    digest = next(store.records()).trial.picture
    assert digest is not None
    assert store.picture(digest) is not None
    other = next(p for p in (folder / "images").iterdir() if digest not in p.name)
    shutil.copy(other, store.picture_path(digest))
    assert store.picture(digest) is None
    store.close()


def test_a_read_only_folder_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_all(folder)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert read_all(folder) == before
    assert sorted(p.name for p in folder.glob("trials*")) == ["trials.sqlite"]


def test_a_deleted_folder_is_told(tmp_path: Path) -> None:
    def deletes(images: Any, prompt: str, *, seed: int) -> str:
        shutil.rmtree(tmp_path / "r", ignore_errors=True)
        return "ANSWER: A"

    with pytest.raises(EnvironmentFault, match="cannot write"):
        vlmfail.search(ENV, "random", model=deletes, budget=9, trials=3, out=tmp_path / "r")


def test_text_that_is_no_text_is_written(tmp_path: Path) -> None:
    assert json.loads(dump_json({"\udcff": Path("a\udcff")})) == {"\\udcff": "a\\udcff"}
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/-a \xff \xc3\xa9"))
    run = vlmfail.search(
        ENV, "random", model=MODEL, budget=3, trials=3, out=out, command=f"vlmfail {out}"
    )
    assert run.report().is_file()


SOURCE = """
def answer(images, prompt, *, seed):
    return "ANSWER: {letter}"
"""


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("vlmfail_plugin_mine")]:
        monkeypatch.delitem(sys.modules, name)


def test_an_edited_model_neither_continues_nor_confirms_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    mine = tmp_path / "mine.py"
    mine.write_text(SOURCE.format(letter="A"))
    run = vlmfail.search(
        ENV, "random", model=f"{mine}:answer", budget=90, out=tmp_path / "r", progress=stop
    )
    check_same_system(run, ToyDomain(), make_model(f"{mine}:answer"))
    run.close()
    mine.write_text(SOURCE.format(letter="B"))
    forget_plugins(monkeypatch)
    with pytest.raises(RunFolderError, match=r"model\.source"):
        vlmfail.resume(tmp_path / "r")
    with pytest.raises(RunFolderError, match="another model"):
        check_same_system(run_again(tmp_path / "r"), ToyDomain(), make_model(f"{mine}:answer"))


def run_again(path: Path) -> RunData:
    return RunData.open(path)


def test_another_model_confirms_nothing(folder: Path) -> None:
    run = run_again(folder)
    check_same_system(run, ToyDomain(), ToyModel())
    with pytest.raises(RunFolderError, match="another model"):
        check_same_system(run, ToyDomain(), make_model("vlmfail.testing.toy:guess"))
    run.close()


def test_a_copy_is_whole_or_absent_and_never_inside_its_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunFolderError, match="inside"):
        vlmfail.resume(folder, fork=folder / "sub")

    def half(source: Path, target: Path, **_: Any) -> None:
        target.mkdir()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", half)
        with pytest.raises(EnvironmentFault, match="disk is full"):
            vlmfail.resume(folder, fork=tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert vlmfail.resume(folder, fork=tmp_path / "copy").calls == 24
