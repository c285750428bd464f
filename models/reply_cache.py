"""Replies that were paid for once, shared between runs: SQLite, several processes at once."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..core import CancelledRequestError, Usage, UsageError
from ..core.files import cache_folder
from .reply_claims import MAX_CLAIM, drop, flights_of, take
from .reply_database import ReplyDatabase

GIB = 1 << 30
DEFAULT_GIB = 2.0
MAX_BODY = 64 << 20  # bytes of one reply; more is no answer to a question
_FORMAT = 1  # of keys: a change makes every old reply unreachable

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def reply_key(
    provider: str,
    base_url: str,
    model: str,
    messages: Any,
    pictures_sha256: Sequence[str],
    parameters: Mapping[str, Any],
    trial: int,
) -> str:
    """Return the key of one reply: SHA-256 (hex) of everything that decides it.

    Args:
        provider: The provider's prefix, e.g. ``"openai"``.
        base_url: Where the request goes.
        model: The provider's name of the model.
        messages: What is said, as JSON values: a prompt or a list of messages.
        pictures_sha256: Digests of the pictures' *content* in order; never paths or dates.
        parameters: Everything else that is sent, as JSON values.
        trial: The trial's own seed. Trials never share a reply, so that a reply from the cache
            never passes for an independent repeat.
    """
    parts = (_FORMAT, provider, base_url, model, messages, (*pictures_sha256,), parameters)
    return hashlib.sha256(_canonical((*parts, int(trial))).encode("ascii")).hexdigest()


def adaptation_key(provider: str, base_url: str, model: str, parameters: Mapping[str, Any]) -> str:
    """Return the key under which it is remembered what a model was sent instead."""
    text = _canonical((_FORMAT, "adaptation", provider, base_url, model, parameters))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A stored reply.

    Attributes:
        raw: The provider's reply as JSON values, to be parsed anew.
        parameters: The parameters that were really sent.
        usage: What it cost when it was paid for, i.e. what is saved now.
        created: The day on which it was stored (ISO, UTC), for people only.
    """

    raw: dict[str, Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    created: str = ""


@dataclass(frozen=True, slots=True)
class CacheSize:
    """How much is stored: replies, and bytes on disk."""

    replies: int
    bytes: int


class ReplyCache:
    """Stored replies and claims on those that are being paid for.

    No trouble with the file ever ends a run (see `ReplyDatabase`). Nothing but what `put` and
    `remember_adaptation` are given lands in it; both must be free of keys. Thread-safe; it pickles
    as its path and may be used after a fork.

    Nothing is deleted by itself while the replies take up less than $VLMFAIL_REPLIES_GIB (default
    2); above it the oldest go when the file is next opened.
    """

    def __init__(self, path: Path | str | None = None, *, patience: float = 5.0) -> None:
        """Name the file; it is opened on first use.

        Args:
            path: The file. By default $VLMFAIL_REPLIES, else ``replies.sqlite`` in the folder of
                vlmfail's caches. ``off`` in either stores nothing and finds nothing.
            patience: Seconds to wait for a locked file before going on without it.

        Raises:
            UsageError: When $VLMFAIL_REPLIES_GIB is no number above 0.
        """
        self.path = _place(path)
        self._patience = patience
        self._limit = _limit()
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the place; what is open or claimed stays in this process."""
        return {"path": self.path, "_patience": self._patience, "_limit": self._limit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the same file anew."""
        vars(self).update(state)
        self._open()

    def _open(self) -> None:
        self._db: ReplyDatabase | None = None
        if self.path is not None:
            self._db = ReplyDatabase(self.path, patience=self._patience, on_open=self._tidy)
            self._flights = flights_of(os.path.realpath(self.path))

    @property
    def on(self) -> bool:
        """Whether replies are kept at all."""
        return self._db is not None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._db is not None:
            self._db.close()

    # -- replies ----------------------------------------------------------------------------------

    def get(self, key: str) -> CachedReply | None:
        """Return the stored reply, or None when there is none or its row is damaged."""
        row = self._row("SELECT checksum, body, created FROM replies WHERE key = ?", key)
        found = None if row is None else _unpacked(key, row[0], row[1])
        if row is None or found is None:
            return None
        try:
            raw, parameters, usage = found["raw"], found["parameters"], Usage(**found["usage"])
            created = datetime.fromtimestamp(row[2], UTC).date().isoformat()
        except (KeyError, TypeError, ValueError, OverflowError, OSError):
            return None
        if not isinstance(raw, dict) or not isinstance(parameters, dict):
            return None
        return CachedReply(raw, parameters, usage, created)

    def put(
        self,
        key: str,
        raw: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        *,
        usage: Usage | None = None,
    ) -> bool:
        """Store a good reply and end this process's claim on it; return whether it was stored.

        Whether a reply is good (no refusal, truncation or error) is the caller's to decide; an
        empty one, one that is no JSON and one above 64 MiB are not stored.

        Args:
            key: From `reply_key`.
            raw: The provider's reply as JSON values.
            parameters: The parameters that were really sent.
            usage: What it cost.
        """
        if self._db is None:
            return False
        cost = usage or Usage()
        entry = {
            "raw": dict(raw),
            "parameters": dict(parameters or {}),
            "usage": {name: getattr(cost, name) for name in Usage.__dataclass_fields__},
        }
        body = _packed(entry) if raw else None
        stored = False
        if body is not None:
            now, mark = int(time.time()), _checksum(key, body)
            claimed = self._flights.holds(key)

            def work(db: sqlite3.Connection) -> bool:
                db.execute(
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)",
                    (key, now, len(body), mark, body),
                )
                if claimed:
                    drop(db, key)
                return True

            stored = bool(self._db.write(work))
        if stored:
            self._flights.end(key)
        else:
            self.release(key)
        return stored

    # -- single flight ----------------------------------------------------------------------------

    def claim(self, key: str, seconds: float) -> bool:
        """Claim the right to pay for `key`; False while another thread or process holds it.

        Look with `get` once more after a claim, as `wait_or_claim` does: the owner before may
        just have stored its reply. Without a file that can be written the claim holds in this
        process only.

        Args:
            key: The reply's key.
            seconds: When the claim ends by itself, at most a day. The claim of a process on this
                host that was killed ends at once.
        """
        return self._try_claim(key, seconds) == "mine"

    def release(self, key: str) -> None:
        """End this process's claim, if it has one: whoever waits may go."""
        if self._db is not None and self._flights.holds(key):
            self._db.write(lambda db: drop(db, key))
            self._flights.end(key)

    def wait_or_claim(
        self, key: str, seconds: float, cancelled: Callable[[], bool] = lambda: False
    ) -> CachedReply | None:
        """Return the reply once it is there, or None: then the claim is yours, go and pay.

        End a claim by `put`, or by `release` when there is nothing to store.

        Args:
            key: The reply's key.
            seconds: How long a claim holds, s.
            cancelled: Asked several times a second while another one pays.

        Raises:
            CancelledRequestError: When `cancelled` says so.
        """
        if self._db is None:
            return None
        pause = 0.05
        while True:
            reply = self.get(key)
            if reply is not None:
                return reply
            if cancelled():
                raise CancelledRequestError(
                    "the wait for a reply that another request is paying "
                    "for was cancelled: the run is stopping"
                )
            whose = self._try_claim(key, seconds)
            if whose == "mine":
                reply = self.get(key)
                if reply is not None:
                    self.release(key)
                return reply
            if whose == "here":
                self._flights.wait(key, cancelled)
            else:
                time.sleep(random.uniform(0.75, 1.0) * pause)
                pause = min(pause * 1.5, 0.2)

    def _try_claim(self, key: str, seconds: float) -> str:
        """Return who holds the claim now: ``mine``, ``here`` (another thread) or ``elsewhere``."""
        if self._db is None:
            return "mine"
        seconds = min(max(seconds, 0.0), MAX_CLAIM)
        if not self._flights.begin(key, seconds):
            return "here"
        got: bool | None = False
        try:
            got = self._db.write(lambda db: take(db, key, seconds))
        finally:
            if got is False:
                self._flights.end(key)
        # None: there is no file to agree over with other processes, so this one goes on alone.
        return "elsewhere" if got is False else "mine"

    # -- adaptations ------------------------------------------------------------------------------

    def adaptation(self, key: str) -> dict[str, Any] | None:
        """Return the parameters that a model was sent instead of those it refused, if any.

        Args:
            key: From `adaptation_key`.
        """
        row = self._row("SELECT checksum, body FROM adaptations WHERE key = ?", key)
        return None if row is None else _unpacked(key, *row)

    def remember_adaptation(self, key: str, parameters: Mapping[str, Any]) -> None:
        """Remember what was sent instead, so that a replay needs no request to find out."""
        body = _packed(dict(parameters))
        if self._db is not None and body is not None:
            row = (key, _checksum(key, body), body)
            self._db.write(
                lambda db: db.execute("INSERT OR REPLACE INTO adaptations VALUES (?, ?, ?)", row)
            )

    # -- housekeeping -----------------------------------------------------------------------------

    def size(self) -> CacheSize:
        """Return how many replies are stored and what the file takes up on disk."""
        if self._db is None:
            return CacheSize(0, 0)
        count = self._db.read(lambda db: db.execute("SELECT COUNT(*) FROM replies").fetchone()[0])
        return CacheSize(int(count or 0), self._db.bytes())

    def clear(self, older_than_days: float | None = None) -> int:
        """Delete replies, all or the older ones, and return how many.

        All adaptations go with all replies; claims stay.
        """
        if self._db is None:
            return 0
        before = None if older_than_days is None else time.time() - older_than_days * 86_400

        def work(db: sqlite3.Connection) -> int:
            if before is not None:
                return db.execute("DELETE FROM replies WHERE created < ?", (before,)).rowcount
            db.execute("DELETE FROM adaptations")
            return db.execute("DELETE FROM replies").rowcount

        deleted = self._db.write(work) or 0
        if deleted:
            self._db.read(_shrink)
        return deleted

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Drop old claims, and the oldest replies above the limit."""
        try:
            if os.stat(str(self.path)).st_size > self._limit and _drop_oldest(db, self._limit):
                _shrink(db)
            if db.execute("SELECT COUNT(*) FROM claims").fetchone()[0]:
                db.execute("DELETE FROM claims WHERE expires <= ?", (time.time(),))
        except sqlite3.OperationalError:  # locked or full: another time
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _row(self, query: str, key: str) -> Any:
        if self._db is None:
            return None
        return self._db.read(lambda db: db.execute(query, (key,)).fetchone())


def _place(path: Path | str | None) -> Path | None:
    named = os.environ.get("VLMFAIL_REPLIES") or None if path is None else path
    if named is None:
        folder = cache_folder()
        return None if folder is None else folder.absolute() / "replies.sqlite"
    if str(named).strip().lower() == "off":
        return None
    # The folder of the day must not matter to a worker process.
    return Path(os.path.expanduser(named)).absolute()


def _limit() -> float:
    text = os.environ.get("VLMFAIL_REPLIES_GIB") or str(DEFAULT_GIB)
    try:
        gib = float(text)
    except ValueError:
        gib = 0.0
    if not gib > 0:
        raise UsageError(
            f"VLMFAIL_REPLIES_GIB={text!r}: expected a number above 0, the GiB that stored replies "
            "may take up; VLMFAIL_REPLIES=off stores none"
        )
    return gib * GIB


# -- rows -----------------------------------------------------------------------------------------


def _packed(value: Any) -> bytes | None:
    try:
        # ASCII keeps lone surrogates, which no UTF-8 text could hold.
        body = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        return None
    return body if len(body) <= MAX_BODY else None


def _unpacked(key: str, checksum: Any, body: Any) -> dict[str, Any] | None:
    if not isinstance(body, bytes) or checksum != _checksum(key, body):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _checksum(key: str, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=8, key=key.encode()[:64]).digest()


def _drop_oldest(db: sqlite3.Connection, limit: float) -> bool:
    """Delete the oldest replies until nine tenths of `limit` bytes are left."""
    db.execute("BEGIN IMMEDIATE")
    # Deleted pages are reused, so the file's size says little by itself.
    pages, free, page = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    excess = (pages - free) * page - 0.9 * limit if (pages - free) * page > limit else 0.0
    last = None
    if excess > 0:
        for rowid, size in db.execute("SELECT rowid, size FROM replies ORDER BY rowid"):
            last = rowid
            excess -= size + 150
            if excess <= 0:
                break
        db.execute("DELETE FROM replies WHERE rowid <= ?", (last,))
    db.execute("COMMIT")
    return last is not None


def _shrink(db: sqlite3.Connection) -> None:
    # As a script: `execute` would take one step of it, which frees one page.
    db.executescript("PRAGMA incremental_vacuum")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
