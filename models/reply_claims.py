"""Who pays for a reply: claims between processes in SQLite, between threads in memory."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

MAX_CLAIM = 86_400.0  # s


def take(db: sqlite3.Connection, key: str, seconds: float) -> bool:
    """Claim `key` for this process within a transaction; False while another one holds it.

    Args:
        db: A database with a table ``claims``.
        key: What is claimed.
        seconds: When the claim ends by itself, at most `MAX_CLAIM`.
    """
    now = time.time()
    row = db.execute(
        "SELECT host, pid, start, expires FROM claims WHERE key = ?", (key,)
    ).fetchone()
    if row is not None:
        *owner, expires = row
        # A claim that ends later than any may was made under a wrong clock.
        running = now < expires <= now + 2 * MAX_CLAIM
        if running and tuple(owner) != _whoami() and not _is_dead(*owner):
            return False
    db.execute(
        "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)", (key, *_whoami(), now + seconds)
    )
    return True


def drop(db: sqlite3.Connection, key: str) -> None:
    """End this process's claim on `key`, if it has one."""
    db.execute(
        "DELETE FROM claims WHERE key = ? AND host = ? AND pid = ? AND start = ?",
        (key, *_whoami()),
    )


def _whoami() -> tuple[str, int, str]:
    pid = os.getpid()
    return _host(), pid, _own_start(pid)


@cache
def _host() -> str:
    """Return a name for all processes that see each other's pids: host, boot, pid namespace."""
    parts = [socket.gethostname(), "", ""]
    with contextlib.suppress(OSError):
        parts[1] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        parts[2] = os.readlink("/proc/self/ns/pid")
    return "|".join(parts)


@cache
def _own_start(pid: int) -> str:
    return _start(pid) or "unknown"


def _start(pid: int) -> str | None:
    """Return when a process began, in clock ticks since boot; None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The command's name, in parentheses, may hold spaces and parentheses itself.
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in ("Z", "X") else rest[18]


def _is_dead(host: Any, pid: Any, start: Any) -> bool:
    """Whether a claim's owner was a process of this host that is gone."""
    if host != _host() or not isinstance(pid, int) or pid <= 0 or not start:
        return False
    if start != "unknown":
        return bool(_start(pid) != start)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


class Flights:
    """What the threads of this process are paying for, by key, until when."""

    def __init__(self) -> None:
        """Nothing is being paid for."""
        self._changed = threading.Condition()
        self._until: dict[str, float] = {}

    def begin(self, key: str, seconds: float) -> bool:
        """Claim `key` for the calling thread; False while another thread holds it."""
        with self._changed:
            now = time.monotonic()
            if self._until.get(key, now) > now:
                return False
            self._until[key] = now + seconds
            return True

    def holds(self, key: str) -> bool:
        """Whether any thread claimed `key` and has not ended it."""
        with self._changed:
            return key in self._until

    def end(self, key: str) -> None:
        """End the claim on `key` and wake whoever waits for it."""
        with self._changed:
            if self._until.pop(key, None) is not None:
                self._changed.notify_all()

    def wait(self, key: str, cancelled: Callable[[], bool]) -> None:
        """Wait until nobody here pays for `key` any more, or `cancelled` says so."""
        while not cancelled():
            with self._changed:
                left = self._until.get(key, 0.0) - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(min(left, 0.1))


_all: dict[str, Flights] = {}
_guard = threading.Lock()


def flights_of(path: str) -> Flights:
    """Return what this process pays for into the file at `path`: one for all that share it."""
    with _guard:
        return _all.setdefault(path, Flights())


def _forget_flights() -> None:
    global _guard
    _guard = threading.Lock()
    for flights in _all.values():
        flights.__init__()  # type: ignore[misc]


# A forked child pays for nothing yet, whatever its parent was doing.
os.register_at_fork(after_in_child=_forget_flights)
