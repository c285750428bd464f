"""A search that cannot be leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlmfail import search
from vlmfail.core import UsageError
from vlmfail.runs.store import RunStore

TOY = "vlmfail.testing.toy:ToyDomain"


def start(out: Path | None, searcher: str = "fscs-art") -> None:
    search(TOY, searcher, budget=4, trials=1, out=out)


def test_a_searcher_of_other_candidates_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        start(tmp_path / "runs" / "mine")
    assert list(tmp_path.iterdir()) == []


def test_folders_that_were_there_stay(tmp_path: Path) -> None:
    (tmp_path / "runs" / "other").mkdir(parents=True)
    with pytest.raises(UsageError):
        start(tmp_path / "runs" / "mine")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["other"]


def test_a_temporary_folder_goes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UsageError):
        start(None)
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_trials_is_kept(tmp_path: Path) -> None:
    start(tmp_path / "run", "random")

    with pytest.raises(Exception, match="another search"):
        start(tmp_path / "run")
    assert RunStore.is_run(tmp_path / "run")


def test_an_empty_folder_of_the_users_stays(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        start(tmp_path)
    assert tmp_path.is_dir()
    start(tmp_path, "random")
    assert RunStore.is_run(tmp_path)
