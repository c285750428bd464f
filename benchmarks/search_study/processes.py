"""Several runs of the study at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from rich.console import Console

from ..studies import processes
from ..studies.folders import Task
from ..studies.workers import Plan, Progress
from .plan import next_task
from .work import work


def do_all(
    study: Plan,
    states: Mapping[Task, Progress],
    processes_: int,
    console: Console,
    work: Callable[[Any, Task, Connection], None] = work,
) -> bool:
    """Do every run that is not complete; return whether all of them are.

    See `studies.processes.do_all`.
    """
    return not processes.do_all(study, states, processes_, console, work, next_task)
