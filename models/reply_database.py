"""The SQLite file of the reply cache: whatever becomes of it, a run goes on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import sqlite3
import stat
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_APPLICATION = 0x766C6D72  # "vlmr", in the file's header
_VERSION = 1
_SCHEMA = (
    "CREATE TABLE replies (key TEXT PRIMARY KEY, created INTEGER NOT NULL, size INTEGER NOT NULL, "
    "checksum BLOB NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE adaptations (key TEXT PRIMARY KEY, checksum BLOB NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, "
    "start TEXT NOT NULL, expires REAL NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)
NAME = "replies.sqlite"
"""What the file is called by default."""

_MAGIC = b"SQLite format 3\0"

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SET_ASIDE_AT_MOST = 3


class _Unusable(Exception):
    """The file cannot be used, and is none of ours to move away."""


def _may_be_ours(path: Path) -> bool:
    """Whether a file that is no database may be what is left of one, and may be moved away."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            head = file.read(len(_MAGIC))
    except OSError:
        return False
    return path.name == NAME or _MAGIC.startswith(head)


class ReplyDatabase:
    """One SQLite file (WAL) that several processes and threads read and write at once.

    `read` and `write` never raise for what is wrong with the file: they warn once and return
    None. A damaged file is set aside as ``NAME.damaged-N`` and a new one is begun; a file that is
    somebody else's is left alone; a locked one is waited for, then gone without; a full disk or a
    read-only folder costs storing, not the run. The connection is closed before a fork, since
    SQLite's locks do not survive one, and opened again on use.
    """

    def __init__(
        self, path: Path, *, patience: float = 5.0, on_open: Callable[[Any], None] | None = None
    ) -> None:
        """Name the file; it is opened on first use.

        Args:
            path: The file; missing folders are made.
            patience: Seconds to wait for a locked file.
            on_open: Called with each new connection that may write.
        """
        self.path = path
        self.patience = patience
        self._on_open = on_open
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._read_only = False
        self._given_up = False
        self._warned: set[str] = set()
        self._set_aside_count = 0
        self._waits = patience
        with _creating:
            _open_databases.add(self)

    @property
    def writable(self) -> bool:
        """Whether writing may succeed, as far as is known."""
        return not (self._given_up or self._read_only)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what `work` reads, or None when the file cannot be read."""
        return self._run(work)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what `work` makes of one transaction, or None when nothing was written."""

        def transaction(db: sqlite3.Connection) -> T | None:
            if self._read_only:
                return None
            db.execute("BEGIN IMMEDIATE")
            try:
                result = work(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        db.execute("ROLLBACK")
                raise
            self._waits = self.patience
            return result

        return self._run(transaction) if self.writable else None

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()

    def bytes(self) -> int:
        """Return the size of the file and of its log."""
        sizes = 0
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                sizes += os.stat(f"{self.path}{suffix}").st_size
        return sizes

    # -- what can go wrong ------------------------------------------------------------------------

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        deadline = time.monotonic() + self._waits
        while not self._given_up:
            try:
                with self._lock:
                    return work(self._connected())
            except _Unusable as error:
                self._give_up(str(error))
            except OSError as error:
                self._give_up(f"it cannot be opened ({error.strerror or error})")
            except sqlite3.Error as error:
                code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
                if code in _BUSY:
                    if time.monotonic() >= deadline:
                        # Who has waited once in vain does not wait as long for every reply.
                        self._waits = min(self.patience, 0.2)
                        self._warn("it is locked by another process; replies are asked anew")
                        return None
                    time.sleep(random.uniform(0.001, 0.01))
                elif code in _DAMAGED and not self._read_only:
                    if _may_be_ours(self.path):
                        self._set_aside(str(error))
                    else:
                        self._give_up("it is a file of another kind and is left alone")
                elif code == sqlite3.SQLITE_CANTOPEN:
                    self._give_up(f"it cannot be opened ({error})")
                else:
                    self._warn(f"{error}; replies are not stored")
                    return None
        return None

    def _warn(self, text: str) -> None:
        with self._lock:
            if text in self._warned:
                return
            self._warned.add(text)
        warnings.warn(f"reply cache {self.path}: {text}", UserWarning, stacklevel=6)

    def _give_up(self, why: str) -> None:
        self._given_up = True
        self.close()
        self._warn(f"{why}; replies are neither read nor stored")

    def _set_aside(self, why: str) -> None:
        """Rename the damaged file, unless another process already has."""
        with self._lock:
            damaged = self._identity
            self.close()
            if self._set_aside_count >= _SET_ASIDE_AT_MOST:
                self._give_up(f"it was damaged {self._set_aside_count} times ({why})")
                return
            self._set_aside_count += 1
            try:
                with _file_lock(self.path):
                    if damaged is None or _identity(self.path) != damaged:
                        return
                    n = 1
                    while os.path.lexists(f"{self.path}.damaged-{n}"):
                        n += 1
                    # The log first: it must never be replayed into the new file.
                    for suffix in ("-wal", "-shm", ""):
                        with contextlib.suppress(FileNotFoundError):
                            os.rename(f"{self.path}{suffix}", f"{self.path}.damaged-{n}{suffix}")
            except OSError as error:
                self._give_up(f"it is damaged ({why}) and cannot be moved ({error.strerror})")
                return
        self._warn(f"it was damaged ({why}): moved to {self.path.name}.damaged-{n}, begun anew")

    # -- opening ----------------------------------------------------------------------------------

    def _connected(self) -> sqlite3.Connection:
        # A file that was deleted or set aside meanwhile is left behind.
        if self._connection is not None:
            if self._read_only or _identity(self.path) == self._identity:
                return self._connection
            self.close()
        self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if self.path.exists() and not self.path.is_file():
            raise _Unusable("it is no ordinary file")
        with _creating:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # Made by hand so that nobody else may read it; the log inherits the mode. A file
                # that is there is not touched: closing it would drop the locks that SQLite holds
                # on it for this process's other connections.
                if not self.path.exists():
                    with contextlib.suppress(FileExistsError):
                        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
                        os.close(os.open(self.path, flags, 0o600))
            except OSError:
                if not self.path.is_file():
                    raise
        writable = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        if not writable:
            return self._open_read_only()
        self._identity = _identity(self.path)
        db = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._make_schema(db)
            if self._on_open is not None:
                self._on_open(db)
        except BaseException:
            db.close()
            raise
        return db

    def _make_schema(self, db: sqlite3.Connection) -> None:
        if not self._is_ours(db):
            # Only this may come before the first table; it lets a cleared file shrink.
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA wal_autocheckpoint = 8000")  # 32 MB: each one waits for the disk
        db.execute("PRAGMA journal_size_limit = 67108864")
        if self._is_ours(db):
            return
        db.execute("BEGIN IMMEDIATE")
        if not self._is_ours(db):
            for statement in _SCHEMA:
                db.execute(statement)
        db.execute("COMMIT")

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        """Whether the file holds our tables; False for an empty one."""
        # First, since another process may be making the tables right now, all at once.
        tables = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if (application, version) == (_APPLICATION, _VERSION):
            return True
        if application == _APPLICATION:
            raise _Unusable(f"it was written by another version of vlmfail (format {version})")
        if tables:
            raise _Unusable("it is a database of something else")
        return False

    def _open_read_only(self) -> sqlite3.Connection:
        self._read_only = True
        place = self.path.absolute().as_uri()
        # Where SQLite cannot make its files beside the database it reads without them.
        for how in ("mode=ro", "immutable=1"):
            db = sqlite3.connect(
                f"{place}?{how}", uri=True, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                if not self._is_ours(db):
                    raise _Unusable("it is empty and cannot be written")
            except sqlite3.Error as error:
                db.close()
                code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
                if how == "immutable=1" or code not in (
                    sqlite3.SQLITE_CANTOPEN,
                    sqlite3.SQLITE_READONLY,
                ):
                    raise
            else:
                break
        self._warn("it cannot be written; new replies are not stored")
        return db


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_creating = threading.Lock()
_open_databases: weakref.WeakSet[ReplyDatabase] = weakref.WeakSet()
_held: list[ReplyDatabase] = []
_abandoned: list[sqlite3.Connection] = []


def _before_fork() -> None:
    with _creating:
        databases = list(_open_databases)
    for database in databases:
        # A thread that is stuck in SQLite must not keep the process from forking.
        if database._lock.acquire(timeout=10):
            _held.append(database)
            database.close()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop()._lock.release()


def _after_fork_in_child() -> None:
    global _creating
    _creating = threading.Lock()
    _held.clear()
    for database in list(_open_databases):
        database._lock = threading.RLock()
        if database._connection is not None:  # closing it here could harm the parent's
            _abandoned.append(database._connection)
            database._connection = None


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
