"""Files that are complete or absent."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vlmfail.core.files import write_atomically


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "ünï 図.txt"
    write_atomically(target, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(target, b"new")
    assert [(path, path.read_bytes()) for path in tmp_path.iterdir()] == [(target, b"old")]


def test_a_disk_without_modes_takes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAT and network shares refuse to change them."""

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refused)
    write_atomically(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"
