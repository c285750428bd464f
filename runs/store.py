"""The run store: one folder a run, one SQLite row a trial, pictures by content."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..core import EnvironmentFault, Outcome, Picture, RunFolderError, Trial, TrialRecord
from ..core.files import write_atomically

SCHEMA_VERSION = 1

_TRIAL_FIELDS = tuple(f.name for f in fields(Trial))
_RECORD_FIELDS = tuple(f.name for f in fields(TrialRecord) if f.name != "trial")
_JSON_FIELDS = {"accepted", "options", "scene", "raw"}
# `index` is an SQL word.
_COLUMNS = tuple("idx" if name == "index" else name for name in _TRIAL_FIELDS + _RECORD_FIELDS)

_INSERT = (
    f"INSERT OR REPLACE INTO trials ({', '.join(_COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)

_ADDED_COLUMNS = frozenset({"repeats"})
"""Columns that runs of the same schema may lack, since they were written before there was one."""

_ASKED = "CREATE TABLE IF NOT EXISTS asked (key TEXT PRIMARY KEY, candidate TEXT NOT NULL)"
"""Candidates by key, written before their trials; runs of the same schema may lack the table."""

_SCHEMA = f"""
CREATE TABLE trials ({", ".join(_COLUMNS)}, PRIMARY KEY (key, idx));
CREATE TABLE evaluations (
    step INTEGER PRIMARY KEY, batch INTEGER NOT NULL, key TEXT NOT NULL,
    candidate TEXT NOT NULL, indices TEXT NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
{_ASKED};
"""


@dataclass(frozen=True, slots=True)
class LoggedEvaluation:
    """One line of the run's log: what was asked in which batch, and its trial indices."""

    step: int
    batch: int
    key: str
    candidate: Any
    indices: tuple[int, ...]


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """Return strict JSON: NaN and infinities are null, numpy numbers are numbers."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent)
        text.encode()  # a lone surrogate is no text
        return text
    except (TypeError, ValueError):  # something that is no plain JSON value: convert it all
        return json.dumps(to_plain(value), allow_nan=False, ensure_ascii=False, indent=indent)


def to_plain(value: Any) -> Any:
    """Return `value` as plain JSON values."""
    import numpy as np

    if isinstance(value, Mapping):
        return {to_plain(str(k)): to_plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(to_plain(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return value
    # A path with bytes that are no text holds lone surrogates, which no file may.
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


class RunStore:
    """The folder of one run.

    A trial's picture is written first, then its row, then its evaluation's line: whatever kills
    the process, the rows that exist are complete.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        """Wrap an open folder; use `create` or `open`."""
        self.path = path
        self._db = connection
        self._lock = lock
        self._pid = os.getpid()
        self._columns = self._known_columns()

    # -- opening ------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | os.PathLike[str], config: Mapping[str, Any]) -> RunStore:
        """Make a new run folder.

        Raises:
            RunFolderError: When the path is taken or cannot be written.
        """
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise RunFolderError(f"{folder} is a file, not a run folder: choose another --out")
        if folder.is_dir() and not cls._is_unborn(folder):
            raise RunFolderError(
                f"{folder} is not empty and is no run of vlmfail: choose another --out"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "images").mkdir(exist_ok=True)
            lock = cls._acquire(folder)
        except OSError as error:
            raise RunFolderError(
                f"cannot write the run folder {folder} ({error.strerror}): choose another --out"
            ) from error
        with guard_disk(folder):
            # The database first: a folder with run.json always has a complete database.
            for left in (*folder.glob("trials.sqlite*"), *folder.glob(".new-*")):
                left.unlink()
            temporary = folder / "trials.sqlite.new"
            db = sqlite3.connect(temporary)
            db.executescript(_SCHEMA)
            db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA_VERSION),))
            db.execute("INSERT INTO meta VALUES ('config', ?)", (_digest(to_plain(config)),))
            db.commit()
            db.close()
            os.replace(temporary, folder / "trials.sqlite")
            write_atomically(folder / "run.json", dump_json(config, indent=1).encode())
        return cls(folder, cls._connect(folder), lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, write: bool = False) -> RunStore:
        """Open an existing run folder.

        Args:
            path: The folder.
            write: Take the run's lock, to continue it.

        Raises:
            RunFolderError: When it is no run, damaged, or in use by another process.
        """
        folder = Path(path)
        if not cls.is_run(folder):
            exists = "it does not exist" if not folder.exists() else "it holds no run.json"
            raise RunFolderError(
                f"{folder} is no run of vlmfail, {exists}: `vlmfail runs` lists runs"
            )
        lock = None
        try:
            lock = cls._acquire(folder) if write else None
            store = cls(folder, cls._connect(folder, write), lock)
            schema = store.meta("schema")
        except (sqlite3.DatabaseError, OSError, RunFolderError) as error:
            if lock is not None:
                os.close(lock)
            if isinstance(error, RunFolderError):
                raise
            raise RunFolderError(f"the run folder {folder} cannot be read: {error}") from error
        if schema != str(SCHEMA_VERSION):
            store.close()
            raise RunFolderError(
                f"{folder} was written by another version of vlmfail (schema {schema}, "
                f"this one reads {SCHEMA_VERSION}): use that version"
            )
        return store

    @staticmethod
    def is_run(path: str | os.PathLike[str]) -> bool:
        """Whether `path` is a run folder."""
        folder = Path(path)
        return (folder / "run.json").is_file() and (folder / "trials.sqlite").is_file()

    @staticmethod
    def _is_unborn(folder: Path) -> bool:
        """Whether a process was killed while it made this folder: no run.json, no picture."""
        names = {p.name for p in folder.iterdir() if not p.name.startswith(".new-")}
        ours = {"run.lock", "images"} | {"trials.sqlite" + s for s in ("", ".new", "-wal", "-shm")}
        ours.add("trials.sqlite.new-journal")
        return names <= ours and not any((folder / "images").glob("*"))

    @staticmethod
    def _acquire(folder: Path) -> int:
        handle = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise RunFolderError(
                    f"the run {folder} is being written by another process: wait for it or stop it"
                ) from error
            raise
        return handle

    @staticmethod
    def _connect(folder: Path, write: bool = True) -> sqlite3.Connection:
        if not write and not os.access(folder, os.W_OK):
            # On a read-only medium SQLite cannot make its files beside the database; it needs
            # none when no log is left.
            log = folder / "trials.sqlite-wal"
            how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
            place = (folder / "trials.sqlite").absolute().as_uri()
            return sqlite3.connect(f"{place}?{how}", uri=True, check_same_thread=False)
        # The trials of a batch finish on several threads; the evaluator serialises the writes.
        db = sqlite3.connect(folder / "trials.sqlite", timeout=30, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def _known_columns(self) -> str:
        """Return the columns to read; what an older run lacks is added to it, or read as NULL."""
        rows = self._db.execute("PRAGMA table_info(trials)").fetchall()
        there = {str(row[1]) for row in rows}
        lacking = [name for name in _COLUMNS if name in _ADDED_COLUMNS and name not in there]
        if there and lacking and self._lock is not None:
            for name in lacking:
                self._db.execute(f"ALTER TABLE trials ADD COLUMN {name}")
            lacking = []
        if there and self._lock is not None:
            self._db.execute(_ASKED)
            self._db.commit()
        return ", ".join(f"NULL AS {n}" if n in lacking else n for n in _COLUMNS)

    def close(self) -> None:
        """Close the database and release the lock; twice is fine."""
        self._db.close()
        self.unlock()

    def unlock(self) -> None:
        """Release the lock: another process may continue the run; this one still reads it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # -- configuration ------------------------------------------------------------------------

    @property
    def config(self) -> dict[str, Any]:
        """What `run.json` holds."""
        try:
            value = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{self.path / 'run.json'} cannot be read: {error}") from error
        if not isinstance(value, dict):
            raise RunFolderError(f"{self.path / 'run.json'} holds no object")
        # While it is being replaced, the old one and the new one are both right.
        if self.meta("config") not in (None, _digest(value)) and (
            self.meta("next_config") != _digest(value)
        ):
            raise RunFolderError(
                f"{self.path / 'run.json'} was edited after the run was made, so it no longer says "
                "how the trials came about: restore it, or search anew with another --out"
            )
        return value

    def replace_config(self, config: Mapping[str, Any]) -> None:
        """Write another `run.json`; whatever kills the process, one of the two is there whole."""
        digest = _digest(to_plain(config))
        self.set_meta("next_config", digest)
        with guard_disk(self.path):
            write_atomically(self.path / "run.json", dump_json(config, indent=1).encode())
        self.set_meta("config", digest)

    def begin_anew(self, config: Mapping[str, Any]) -> None:
        """Turn a run without a trial into another one.

        Raises:
            RunFolderError: When it holds a trial.
        """
        if self.count():
            raise RunFolderError(f"{self.path} holds trials: choose another --out")
        with guard_disk(self.path):
            self._db.execute("DELETE FROM evaluations")
            self._db.execute("DELETE FROM asked")
            self._db.execute("DELETE FROM meta WHERE name NOT IN ('schema', 'config')")
            self._db.commit()
        self.replace_config(config)

    def meta(self, name: str) -> str | None:
        """Return a state value such as ``"status"``."""
        with guard_read(self.path):
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
            return None if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        """Set a state value."""
        with guard_disk(self.path):
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
            self._db.commit()

    # -- trials -------------------------------------------------------------------------------

    def add(self, record: TrialRecord, picture: Picture | None) -> None:
        """Write one trial, its picture first."""
        with guard_disk(self.path):
            if picture is not None:
                target = self.picture_path(picture.sha256)
                # In place, without a second file to rename: half the cost, and as safe. The row
                # that names a picture comes after it, and half a picture has another length.
                if not (target.exists() and target.stat().st_size == len(picture.png)):
                    target.write_bytes(picture.png)
            values = [getattr(record.trial, name) for name in _TRIAL_FIELDS]
            values += [getattr(record, name) for name in _RECORD_FIELDS]
            for i, name in enumerate(_TRIAL_FIELDS + _RECORD_FIELDS):
                value = values[i]
                values[i] = dump_json(value) if name in _JSON_FIELDS else to_plain(value)
            self._db.execute(_INSERT, values)
            self._db.commit()

    def get(self, key: str, index: int) -> TrialRecord | None:
        """Return one trial, or None."""
        with guard_read(self.path):
            row = self._db.execute(
                f"SELECT {self._columns} FROM trials WHERE key = ? AND idx = ?", (key, index)
            ).fetchone()
            return None if row is None else _record(row)

    def records(self) -> Iterator[TrialRecord]:
        """Yield all trials, ordered by key and index."""
        with guard_read(self.path):
            rows = self._db.execute(f"SELECT {self._columns} FROM trials ORDER BY key, idx")
            for row in rows:
                yield _record(row)

    def places(self) -> list[tuple[str, int]]:
        """Return the (candidate key, trial index) of all trials, in the order they were stored."""
        with guard_read(self.path):
            rows = self._db.execute("SELECT key, idx FROM trials ORDER BY rowid")
            return [(str(key), int(index)) for key, index in rows]

    def count(self) -> int:
        """Number of stored trials."""
        with guard_read(self.path):
            return int(self._db.execute("SELECT COUNT(*) FROM trials").fetchone()[0])

    def delete_trials(self, outcomes: Sequence[Outcome]) -> int:
        """Delete the trials of some outcomes and the whole evaluation log; return how many."""
        marks = ", ".join("?" * len(outcomes))
        with guard_disk(self.path):
            cursor = self._db.execute(
                f"DELETE FROM trials WHERE outcome IN ({marks})", [str(o) for o in outcomes]
            )
            self._db.execute("DELETE FROM evaluations")
            self._db.commit()
        return cursor.rowcount

    # -- evaluations --------------------------------------------------------------------------

    def ask(self, candidates: Mapping[str, Any]) -> None:
        """Write the candidates, by key, whose trials are about to be run.

        The log names a candidate once its batch has ended; a trial of a batch that never does can
        only be made again with this.
        """
        with guard_disk(self.path):
            rows = [(key, dump_json(candidate)) for key, candidate in candidates.items()]
            self._db.executemany("INSERT OR REPLACE INTO asked VALUES (?, ?)", rows)
            self._db.commit()

    def asked(self) -> dict[str, Any]:
        """Return the candidates, by key, whose trials were begun."""
        with guard_read(self.path):
            named = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'asked'"
            if not self._db.execute(named).fetchone()[0]:
                return {}
            rows = self._db.execute("SELECT key, candidate FROM asked ORDER BY rowid")
            return {str(key): json.loads(candidate) for key, candidate in rows}

    def log_evaluation(self, entry: LoggedEvaluation) -> None:
        """Write one line of the log."""
        with guard_disk(self.path):
            self._db.execute(
                "INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?)",
                (
                    entry.step,
                    entry.batch,
                    entry.key,
                    dump_json(entry.candidate),
                    dump_json(entry.indices),
                ),
            )
            self._db.commit()

    def evaluation_log(self) -> list[LoggedEvaluation]:
        """Return the log in order."""
        with guard_read(self.path):
            rows = self._db.execute(
                "SELECT step, batch, key, candidate, indices FROM evaluations ORDER BY step"
            )
            return [
                LoggedEvaluation(step, batch, key, json.loads(c), tuple(json.loads(indices)))
                for step, batch, key, c, indices in rows
            ]

    # -- pictures -----------------------------------------------------------------------------

    def picture_path(self, sha256: str) -> Path:
        """Return where a picture lies."""
        return self.path / "images" / f"{sha256}.png"

    def picture(self, sha256: str | None) -> Picture | None:
        """Return a stored picture, or None when it is missing or no longer what the model saw."""
        if sha256 is None:
            return None
        try:
            found = Picture(self.picture_path(sha256).read_bytes())
        except OSError:
            return None
        return found if found.sha256 == sha256 else None


def _digest(config: Any) -> str:
    text = json.dumps(config, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _record(row: Sequence[Any]) -> TrialRecord:
    values = dict(zip(_TRIAL_FIELDS + _RECORD_FIELDS, row, strict=True))
    for name in _JSON_FIELDS:
        values[name] = json.loads(values[name])
    values["accepted"] = tuple(values["accepted"])
    values["options"] = tuple(values["options"])
    values["outcome"] = Outcome(values["outcome"])
    trial = Trial(**{name: values.pop(name) for name in _TRIAL_FIELDS})
    return TrialRecord(trial=trial, **values)


@contextlib.contextmanager
def guard_read(folder: Path) -> Iterator[None]:
    """Turn a damaged or locked database into one clear line."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
        raise RunFolderError(
            f"the run folder {folder} cannot be read: {error}. If its database is damaged, no "
            "number of it can be trusted: restore it, or search anew with another --out"
        ) from error


@contextlib.contextmanager
def guard_disk(folder: Path) -> Iterator[None]:
    """Turn a full or failing disk into one clear line; what was written before is kept."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        text = str(error)
        full = "full" in text or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else text
        raise EnvironmentFault(
            f"cannot write to the run folder {folder}: {what}. Finished trials are kept; when it "
            f"can be written again: vlmfail resume {folder}"
        ) from error
