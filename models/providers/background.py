"""One event loop in a thread of its own, where all requests of a process are made."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from ...core import CancelledRequestError

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_process: int | None = None


def event_loop() -> asyncio.AbstractEventLoop:
    """Return this process's loop; it starts on first use, and anew in a forked child."""
    global _loop, _process
    with _lock:
        if _loop is None or _process != os.getpid() or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            _process = os.getpid()
            threading.Thread(target=_loop.run_forever, name="vlmfail-requests", daemon=True).start()
        return _loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start `work` in the loop."""
    return asyncio.run_coroutine_threadsafe(work, event_loop())


def wait_for(future: Future[T]) -> T:
    """Return a started work's result; Ctrl-C while waiting cancels the work.

    Raises:
        CancelledRequestError: When somebody cancelled it.
    """
    try:
        return future.result()
    except CancelledError as error:
        raise CancelledRequestError("the request was cancelled: the run is stopping") from error
    except KeyboardInterrupt:
        future.cancel()
        raise
