"""One run of the study, in a process of its own: search, fresh trials, tidying up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from ..._facade import Run, search
from ...core import VLMFailError
from ...rendering.picture_cache import PictureCache
from ...runs.store import RunStore
from ..studies.pictures import keep_pictures, link_pictures
from ..studies.workers import obey_the_driver
from .plan import DONE, Study, Task, state_of

__all__ = ["Report", "link_pictures", "perform", "use_cache", "work"]

_SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of its run.

    Attributes:
        charged: Trials put to the model so far, by this and earlier processes.
        done: Whether the run is complete.
        pfm: Share of failure modes, once done.
        error: Why it ended early, or "".
    """

    charged: int
    done: bool = False
    pfm: float | None = None
    error: str = ""

    @property
    def words(self) -> str:
        """What a complete run found."""
        return "PFM -" if self.pfm is None else f"PFM {100 * self.pfm:.1f} %"


def work(study: Study, task: Task, pipe: Connection) -> None:
    """Do one run and report on `pipe`; SIGTERM interrupts it, to be continued another time."""
    obey_the_driver()
    charged = 0

    def report(charged_now: int) -> None:
        nonlocal charged
        charged = charged_now
        pipe.send(Report(charged))

    try:
        pfm = perform(study, task, report)
    except KeyboardInterrupt:
        return
    except VLMFailError as error:
        pipe.send(Report(charged, error=str(error)))
    except Exception as error:
        pipe.send(Report(charged, error=f"{type(error).__name__}: {error}"))
    else:
        pipe.send(Report(charged, done=True, pfm=pfm))


def perform(study: Study, task: Task, report: Callable[[int], None]) -> float | None:
    """Search, or go on with the search, and give the surest modes their fresh trials.

    Args:
        study: The study.
        task: Which run.
        report: Called now and then with the trials put to the model so far.

    Returns:
        The run's PFM.

    Raises:
        KeyboardInterrupt: It was interrupted; the folder can be continued.
        UsageError: The folder holds a search with other settings.
    """
    folder = study.folder(task)
    state_of(study, task)  # not another search, which may have come since the study began
    use_cache(study)
    due = 0.0

    def tell(charged: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _SECONDS_BETWEEN_REPORTS
            report(charged)

    run = Run(RunStore.open(folder)) if RunStore.is_run(folder) else None
    if run is not None and run.status not in DONE:
        run.close()
        run = None
    if run is None:
        run = search(
            study.env,
            task.searcher,
            model=task.model,
            budget=study.budget,
            trials=study.trials,
            seed=task.seed,
            out=folder,
            progress=lambda progress: tell(progress.calls),
        )
    calls = run.calls
    try:
        if run.status not in DONE:
            raise KeyboardInterrupt
        run = run.confirm(
            top=study.top, trials=study.fresh, progress=lambda done, _: tell(calls + done)
        )
        pfm: float | None = run.metrics["pfm"]
        report(sum(record.trial.outcome.charged for record in run.records.values()))
    finally:
        run.close()
    if study.cache is not None:
        link_pictures(folder, PictureCache(study.cache))
    return pfm


def use_cache(study: Study) -> None:
    """Have this process read and keep pictures in the study's cache, or in none."""
    keep_pictures(study.cache, study.cache_gib)
