"""The whole of a bench: check it, do its runs, write its tables, page and results."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ...core import UsageError
from ...runs.store import RunStore, dump_json
from ..studies.folders import write
from ..studies.markdown import machine
from ..studies.processes import do_all
from . import page as pages
from .arms import Bench, Task
from .comparison import Arm, compare
from .figures import RunFigures, read_run
from .plan import check, keep_asked, next_task, state_of
from .tables import Table, comparison_tables, cost_table, document, figure_tables, notes
from .text import markdown
from .thresholds import threshold_tables
from .work import work

RUNS_A_PROCESS = 20
"""A process that has done so many runs is replaced by another."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a bench came to.

    Attributes:
        tables: Its tables.
        short: Those that say the most.
        lines: Sentences to read with them.
        document: Everything as JSON values.
        complete: Whether every run is over.
        failed: Runs that failed in this call, and why.
        unfinished: Runs that are in no table.
    """

    tables: tuple[Table, ...]
    short: tuple[Table, ...]
    lines: tuple[str, ...]
    document: Mapping[str, Any]
    complete: bool
    failed: Mapping[Task, str]
    unfinished: int


def run_bench(
    bench: Bench,
    *,
    processes: int = 1,
    report_only: bool = False,
    command: str = "",
    console: Console | None = None,
) -> Result:
    """Do the runs that are not complete and write what all of them found.

    Args:
        bench: The bench.
        processes: Runs at once; changes speed only.
        report_only: Do no run: write the tables of what is there.
        command: The command, to be shown.
        console: Where progress is shown (default: stderr).

    Returns:
        The result, which was also written to the bench's folder as ``table.md``,
        ``results.json`` and ``bench.html``.

    Raises:
        VLMFailError: For what cannot be, before anything is run.
        KeyboardInterrupt: It was stopped; the same call goes on.
    """
    failed: dict[Task, str] = {}
    if report_only:
        if not any(RunStore.is_run(bench.folder(task)) for task in bench.tasks()):
            raise UsageError(
                f"{bench.out} holds no run of this bench: name the --out, and the envs, searchers, "
                "models and seeds that it was made with"
            )
    else:
        failed = _run(bench, processes, console or Console(stderr=True))
    runs, unfinished = _read(bench)
    arms = compare(bench, runs)
    result = _result(bench, arms, command, failed, unfinished)
    write(bench.out, "table.md", markdown(result.tables, result.lines, command, machine()).encode())
    write(bench.out, "results.json", dump_json(result.document, indent=1).encode())
    shown = pages.page(bench, arms, command=command, failed=failed, unfinished=unfinished)
    write(bench.out, "bench.html", shown.encode())
    return result


def _run(bench: Bench, processes: int, console: Console) -> dict[Task, str]:
    check(bench)
    keep_asked(bench, dry=True)  # what differs is told of the whole before it is of a run
    states = {task: state_of(bench, task) for task in bench.tasks()}
    keep_asked(bench)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return do_all(
            bench, states, processes, console, work, next_task, runs_a_process=RUNS_A_PROCESS
        )
    finally:
        signal.signal(signal.SIGTERM, before)


def _read(bench: Bench) -> tuple[list[RunFigures], int]:
    runs: list[RunFigures] = []
    unfinished = 0
    for task in bench.tasks():
        there = RunStore.is_run(bench.folder(task))
        found = read_run(bench, task) if there else None
        if found is None:
            unfinished += 1
        else:
            runs.append(found)
    return runs, unfinished


def _result(
    bench: Bench, arms: list[Arm], command: str, failed: Mapping[Task, str], unfinished: int
) -> Result:
    found = [*figure_tables(bench, arms), *threshold_tables(bench, arms)]
    compared = comparison_tables(bench, arms)
    tables = [*found, *compared]
    if arms:
        tables.append(cost_table(arms))
    lines = [bench.about] * bool(bench.about) + notes(bench, arms)
    if unfinished:
        lines.append(f"{unfinished} runs are not over and in no table.")
    lines += [f"{task} failed: {why}" for task, why in failed.items()]
    return Result(
        tables=tuple(tables),
        short=(*found, *compared[:1]),
        lines=tuple(lines),
        document=document(bench, arms, command=command, failed=failed, unfinished=unfinished),
        complete=unfinished == 0,
        failed=failed,
        unfinished=unfinished,
    )
