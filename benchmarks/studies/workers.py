"""What the processes of a study owe their driver, and what the driver asks of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, Protocol

from ...core import VLMFailError

SECONDS_BETWEEN_REPORTS = 0.5

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that keep libraries to one thread a process; read when they are loaded."""


class Progress(Protocol):
    """How far a run was when the study began."""

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        ...

    @property
    def charged(self) -> int:
        """Trials put to the model."""
        ...


class Word(Protocol):
    """What a worker says of its run."""

    @property
    def charged(self) -> int:
        """Trials put to the model so far, by this and earlier processes."""
        ...

    @property
    def done(self) -> bool:
        """Whether the run is complete."""
        ...

    @property
    def error(self) -> str:
        """Why it ended early, or ""."""
        ...

    @property
    def words(self) -> str:
        """What a complete run found."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of its run: see `Word`."""

    charged: int
    done: bool = False
    words: str = ""
    error: str = ""


def stay(
    work: Callable[[Any, Any, Connection], Any], study: Any, task: Any, pipe: Connection
) -> None:
    """Do one run after the other, as the driver names them, until it closes the pipe."""
    obey_the_driver()
    with contextlib.suppress(KeyboardInterrupt, EOFError, OSError):
        while work(study, task, pipe):
            task = pipe.recv()


def serve(perform: Callable[[Callable[[int], None]], str], pipe: Connection) -> bool:
    """Do one run and report on `pipe`; SIGTERM interrupts it, to be continued another time.

    Args:
        perform: Does the run and returns what it found, in words; given is what to call now and
            then with the trials put to the model so far.
        pipe: To the driver.

    Returns:
        Whether it came to an end, good or bad.
    """
    charged = 0
    due = 0.0

    def tell(charged_now: int) -> None:
        nonlocal charged, due
        charged = charged_now
        if time.monotonic() >= due:
            due = time.monotonic() + SECONDS_BETWEEN_REPORTS
            pipe.send(Report(charged))

    try:
        words = perform(tell)
    except KeyboardInterrupt:
        return False
    except VLMFailError as error:
        pipe.send(Report(charged, error=str(error)))
    except Exception as error:
        pipe.send(Report(charged, error=f"{type(error).__name__}: {error}"))
    else:
        pipe.send(Report(charged, done=True, words=words))
    return True


class Plan(Protocol):
    """What the driver must know of a study."""

    @property
    def full(self) -> int:
        """Trials of a run at most."""
        ...


def obey_the_driver() -> None:
    """Leave Ctrl-C, which reaches the whole process group, to the driver; end when it is gone."""

    def stop(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
