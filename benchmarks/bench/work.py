"""One run of a bench, in another process: search, and fresh trials if wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from ..._facade import Run, search
from ...analysis.audited import lacks_audit
from ...core import EnvironmentFault
from ...rendering.picture_cache import PictureCache
from ...runs.store import RunStore
from ..studies.pictures import keep_pictures, link_pictures
from ..studies.workers import serve
from .arms import Bench, Task
from .figures import words_of
from .logs import loggers_of
from .plan import DONE, state_of


def work(bench: Bench, task: Task, pipe: Connection) -> bool:
    """Do one run and report on `pipe`; return whether it came to an end."""
    return serve(partial(perform, bench, task), pipe)


def perform(bench: Bench, task: Task, report: Callable[[int], None]) -> str:
    """Search, or go on with the search; give the surest modes their fresh trials if wanted.

    Args:
        bench: The bench.
        task: Which run.
        report: Called now and then with the trials put to the model so far.

    Returns:
        What was found, in words.

    Raises:
        KeyboardInterrupt: It was interrupted; the folder can be continued.
        EnvironmentFault: A cap ended it.
        UsageError: The folder holds a search with other settings.
    """
    folder = bench.folder(task)
    state_of(bench, task)  # not another search, which may have come since the bench began
    keep_pictures(bench.cache, bench.cache_gib)
    run = Run(RunStore.open(folder)) if RunStore.is_run(folder) else None
    if run is not None and run.status not in DONE:
        run.close()
        run = None
    if run is None:
        run = _search(bench, task, report)
    calls = run.calls
    try:
        if run.status == "capped":
            raise EnvironmentFault(f"a cap ended it after {calls} trials")
        if run.status not in DONE:
            raise KeyboardInterrupt
        if bench.confirm:
            run = run.confirm(
                top=bench.top,
                trials=bench.fresh,
                concurrency=bench.concurrency,
                progress=lambda done, _: report(calls + done),
            )
        if bench.audit and lacks_audit(run):
            run = run.audit(concurrency=bench.concurrency)
        return words_of(run)
    finally:
        run.close()
        if bench.cache is not None and bench.cache.is_dir():
            link_pictures(folder, PictureCache(bench.cache))


def _search(bench: Bench, task: Task, report: Callable[[int], None]) -> Run:
    env, searcher = bench.env(task.env), bench.searcher(task.searcher)
    caps: dict[str, Any] = dict(bench.caps)
    return search(
        env.id,
        searcher.name,
        model=task.model,
        budget=bench.budget,
        trials=bench.trials,
        seed=task.seed,
        out=bench.folder(task),
        loggers=loggers_of(bench, task),
        batch=bench.batch,
        concurrency=None if bench.concurrency == 1 else bench.concurrency,
        threshold=bench.threshold,
        renderer=bench.renderer,
        env_args=env.args,
        agent_args=searcher.args,
        progress=lambda progress: report(progress.calls),
        **caps,
    )
