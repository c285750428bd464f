"""What reviewers said of a run's trials: one row a reviewer and trial, in ``labels.sqlite``.

The five flags are Revelio's (App. C.2). A later label of the same reviewer replaces an earlier
one; any number of reviewers may write at once.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core import RunFolderError, UsageError
from ...models.specs import shown

NAME = "labels.sqlite"

LONGEST_COMMENT = 2000
LONGEST_NAME = 60

_APPLICATION = 0x766C6D6C  # "vlml", in the file's header
_SCHEMA = """
CREATE TABLE IF NOT EXISTS labels (
    reviewer TEXT NOT NULL, key TEXT NOT NULL, idx INTEGER NOT NULL, flag TEXT NOT NULL,
    comment TEXT NOT NULL, seconds REAL, PRIMARY KEY (reviewer, key, idx))
"""


@dataclass(frozen=True, slots=True)
class Flag:
    """One of the five verdicts: its id in the file and its words on the page."""

    id: str
    text: str


FLAGS = (
    Flag("none", "No issues"),
    Flag("picture", "Image generation failure / noise"),
    Flag("label", "Expected answer wrong / incorrect rule match"),
    Flag("question", "Question issue"),
    Flag("other", "Other"),
)

BLAMED = ("picture", "label")
"""Flags that take a failure off the model: what it was shown, or what it was held against."""


@dataclass(frozen=True, slots=True)
class Label:
    """What one reviewer said of one trial.

    Attributes:
        reviewer: Their name.
        key: The candidate's key.
        index: The trial's index.
        flag: Id of one of `FLAGS`.
        comment: Their words, if any.
        seconds: How long the page was looked at, s, as the browser measured it.
    """

    reviewer: str
    key: str
    index: int
    flag: str
    comment: str = ""
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no page offers, in the file's rows too: anybody may have written them."""
        if not _is_name(self.reviewer):
            raise UsageError(f"a reviewer's name cannot be {shown(self.reviewer, 40)}")
        if not _is_text(self.key):
            raise UsageError(f"a candidate's key cannot be {shown(self.key, 40)}")
        if not _is_whole(self.index):
            raise UsageError(f"a trial's index cannot be {shown(self.index, 40)}")
        if self.flag not in [flag.id for flag in FLAGS]:
            raise UsageError(
                f"there is no flag {shown(self.flag, 40)}: there is "
                + ", ".join(flag.id for flag in FLAGS)
            )
        if not _is_text(self.comment):
            raise UsageError("a comment is text")
        if len(self.comment) > LONGEST_COMMENT:
            raise UsageError(f"a comment has at most {LONGEST_COMMENT} characters")
        if self.seconds is not None and not _is_time(self.seconds):
            raise UsageError(f"a time cannot be {shown(self.seconds, 40)} s")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= LONGEST_NAME and value.isprintable()


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value < math.inf


def reviewer_name(name: str) -> str:
    """Return a reviewer's name without blanks around it.

    Raises:
        UsageError: When it is empty, too long or cannot be printed.
    """
    name = name.strip()
    if not _is_name(name):
        raise UsageError(
            f"--reviewer: expected a name of at most {LONGEST_NAME} printable characters, "
            f"got {shown(name, 40)}"
        )
    return name


class LabelStore:
    """The labels of one run."""

    def __init__(self, run: str | os.PathLike[str]) -> None:
        """Name the run's folder; the file is made with the first label."""
        self.path = Path(run) / NAME

    def put(self, label: Label) -> None:
        """Write a label; it replaces the reviewer's earlier one of the same trial.

        Raises:
            RunFolderError: The file cannot be written, or is none of ours.
        """
        with self._open(write=True) as db:
            db.execute(
                "INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?, ?, ?)",
                (
                    label.reviewer,
                    label.key,
                    label.index,
                    label.flag,
                    label.comment,
                    label.seconds,
                ),
            )

    def all(self) -> list[Label]:
        """Return all labels, ordered by reviewer, candidate and trial.

        Raises:
            RunFolderError: The file cannot be read, or is none of ours.
        """
        return self.read()[0]

    def read(self) -> tuple[list[Label], int]:
        """Return (all labels, number of rows that are none and were passed over).

        Raises:
            RunFolderError: The file cannot be read, or is none of ours.
        """
        return self._rows("", ())

    def of(self, reviewer: str) -> dict[tuple[str, int], Label]:
        """Return a reviewer's labels by (candidate's key, trial index)."""
        rows, _ = self._rows("WHERE reviewer = ?", (reviewer,))
        return {(row.key, row.index): row for row in rows}

    def _rows(self, where: str, values: tuple[str, ...]) -> tuple[list[Label], int]:
        if not self.path.exists():
            return [], 0
        with self._open(write=False) as db:
            if not _tables(db):  # another reviewer is just making it
                return [], 0
            query = f"SELECT reviewer, key, idx, flag, comment, seconds FROM labels {where}"
            rows = db.execute(f"{query} ORDER BY reviewer, key, idx", values).fetchall()
        labels: list[Label] = []
        for row in rows:
            with contextlib.suppress(UsageError):
                labels.append(Label(*row))
        return labels, len(rows) - len(labels)

    @contextlib.contextmanager
    def _open(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """Yield a connection, within a transaction if it is to write."""
        # Who may write also reads so: only then is what a killed writer left cleared up.
        may_write = os.access(self.path.parent, os.W_OK) and (
            write or os.access(self.path, os.W_OK)
        )
        mode = "rwc" if write else "rw" if may_write else "ro"
        place = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            with contextlib.closing(
                sqlite3.connect(place, uri=True, timeout=30, isolation_level=None)
            ) as db:
                db.text_factory = _decoded
                if write:
                    db.execute("BEGIN IMMEDIATE")
                    _prepare(db)
                yield db
                if write:
                    db.execute("COMMIT")
        except (sqlite3.Error, OSError, TypeError, ValueError, OverflowError) as error:
            raise RunFolderError(
                f"the labels in {self.path} cannot be {'written' if write else 'read'}: {error}"
            ) from error


def _decoded(text: bytes) -> str | bytes:
    """Return a text of the file; as bytes, which no label holds, where it is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _tables(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0])


def _prepare(db: sqlite3.Connection) -> None:
    """Make the table within the transaction; the file is ours, or empty."""
    if db.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION:
        return
    if _tables(db):
        raise sqlite3.DatabaseError("it is a database of something else")
    db.execute(_SCHEMA)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
