"""The folder of a study: its runs, its tables, and which code began it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import UsageError
from ...core.files import write_atomically

PROVENANCE = "study.json"
"""Says which code a study was begun by."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run: a searcher on a model under a seed."""

    model: str
    searcher: str
    seed: int

    def __str__(self) -> str:
        """Name it in a line."""
        return f"{self.model} {self.searcher} seed {self.seed}"


def read_provenance(folder: Path, name: str = PROVENANCE) -> Any:
    """Return which code began the study in a folder; None where no study was begun.

    Args:
        folder: The folder.
        name: The file that says it.

    Raises:
        UsageError: It cannot be read, or the folder cannot be a study's.
    """
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, NotADirectoryError):
            raise _unwritable(folder, error) from error
        raise UsageError(
            f"{path} cannot be read, and it alone says which code began this study "
            f"({_why(error)}): restore it, or choose another --out"
        ) from error


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file of a study; its folder is made.

    Raises:
        UsageError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, data)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the folder {folder} cannot be written ({_why(error)}): choose another --out"
    )


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error))[:200]


def slug(name: str) -> str:
    """Return a name as one part of a path."""
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", name).strip("-.") or "unnamed"
