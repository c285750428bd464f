"""What the processes of a study owe their driver, and what the driver asks of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
from threading import Thread
from typing import Any, Protocol

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
