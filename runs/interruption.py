"""Ctrl-C, wherever it strikes: native code wraps it, and others swallow it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

from ..core import VLMFailError


def is_interruption(error: BaseException) -> bool:
    """Whether an exception is a Ctrl-C, or what other code made of one.

    Compiled code cannot let `KeyboardInterrupt` through everywhere: numba turns it into a
    `SystemError` with the interruption as its cause. An error that vlmfail itself raised and a
    disk's, while it cleaned up after a Ctrl-C, are told as what they are.
    """
    if isinstance(error, (VLMFailError, OSError)):
        return False
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, KeyboardInterrupt):
            return True
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return False


HEARD = "stopping after the trials under way ..."
"""What a terminal is told at once: until they end, and the run is closed, may take a while."""


class Interruption:
    """Notes a Ctrl-C while it is entered, and raises it as Python does.

    In a terminal it says at once that it was heard.

    Attributes:
        came: Whether there was one.
    """

    def __init__(self) -> None:
        """Note nothing yet."""
        self.came = False
        self._before: Any = None

    def __enter__(self) -> Interruption:
        """Listen, if this is the main thread and nobody else decides what Ctrl-C does."""
        own = threading.current_thread() is threading.main_thread()
        if own and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Listen no more."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.came:
            _tell_terminal(HEARD)
        self.came = True
        signal.default_int_handler(number, frame)


def _tell_terminal(text: str) -> None:
    """Write a line to the terminal of stderr, if it is one."""
    # By its number: a signal may strike in the middle of another write of the stream's.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        number = sys.stderr.fileno()
        if os.isatty(number):
            os.write(number, f"\n{text}\n".encode())
