"""Whose requests are cancelled: one model object may serve several searches at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import NamedTuple
from weakref import WeakKeyDictionary

_scope: ContextVar[object | None] = ContextVar("vlmfail_cancel_scope", default=None)


@contextlib.contextmanager
def cancelling(scope: object) -> Iterator[None]:
    """Have requests that this thread makes or cancels meanwhile be those of `scope`.

    Args:
        scope: Whoever asks, e.g. a search's evaluator; told apart by identity.
    """
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def current_scope() -> object | None:
    """Return the scope that `cancelling` set, if any."""
    return _scope.get()


class Mark(NamedTuple):
    """When a request began, and whose it is."""

    scope: object | None
    of_all: int
    of_scope: int


class Cancellation:
    """Which requests of a model have been cancelled since they began. Thread-safe."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._of_all = 0
        self._of_scope: WeakKeyDictionary[object, int] = WeakKeyDictionary()

    def mark(self) -> Mark:
        """Return the mark of a request that begins now, in this thread's scope."""
        scope = current_scope()
        with self._lock:
            return Mark(scope, self._of_all, self._count(scope))

    def cancel(self) -> None:
        """Cancel the requests of this thread's scope that have begun; all outside of any scope."""
        scope = current_scope()
        with self._lock:
            if scope is None:
                self._of_all += 1
            else:
                self._of_scope[scope] = self._count(scope) + 1

    def hit(self, mark: Mark) -> bool:
        """Return whether a request was cancelled since it began."""
        with self._lock:
            return mark.of_all != self._of_all or mark.of_scope != self._count(mark.scope)

    def _count(self, scope: object | None) -> int:
        return 0 if scope is None else self._of_scope.get(scope, 0)
