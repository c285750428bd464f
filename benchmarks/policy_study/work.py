"""One run of the study, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from ..._facade import search
from ...analysis.episodes import episode_metrics
from ...core import VLMFailError
from ..studies.folders import Task
from ..studies.workers import obey_the_driver
from .plan import DONE, Study, spec_of, state_of

_SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of its run.

    Attributes:
        charged: Episodes played so far, by this and earlier processes.
        done: Whether the run is complete.
        fr: Failure rate, once done.
        error: Why it ended early, or "".
    """

    charged: int
    done: bool = False
    fr: float | None = None
    error: str = ""

    @property
    def words(self) -> str:
        """What a complete run found."""
        return "FR -" if self.fr is None else f"FR {100 * self.fr:.1f} %"


def work(study: Study, task: Task, pipe: Connection) -> None:
    """Do one run and report on `pipe`; SIGTERM interrupts it, to be continued another time."""
    obey_the_driver()
    charged = 0

    def report(charged_now: int) -> None:
        nonlocal charged
        charged = charged_now
        pipe.send(Report(charged))

    try:
        fr = perform(study, task, report)
    except KeyboardInterrupt:
        return
    except VLMFailError as error:
        pipe.send(Report(charged, error=str(error)))
    except Exception as error:
        pipe.send(Report(charged, error=f"{type(error).__name__}: {error}"))
    else:
        pipe.send(Report(charged, done=True, fr=fr))


def perform(study: Study, task: Task, report: Callable[[int], None]) -> float | None:
    """Search, or go on with the search.

    Args:
        study: The study.
        task: Which run.
        report: Called now and then with the episodes played so far.

    Returns:
        The run's failure rate.

    Raises:
        KeyboardInterrupt: It was interrupted; the folder can be continued.
        UsageError: The folder holds a search with other settings.
    """
    state_of(study, task)  # not another search, which may have come since the study began
    due = 0.0

    def tell(charged: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _SECONDS_BETWEEN_REPORTS
            report(charged)

    run = search(
        study.env,
        spec_of(task.searcher),
        model=task.model,
        budget=study.budget,
        seed=task.seed,
        out=study.folder(task),
        batch=study.batch,
        env_args=study.options(),
        progress=lambda progress: tell(progress.calls),
    )
    try:
        if run.status not in DONE:
            raise KeyboardInterrupt
        report(run.calls)
        # Not all of `run.metrics`: failure modes of scene vectors take trees to find.
        fr: float | None = episode_metrics(run)["fr"]
        return fr
    finally:
        run.close()
