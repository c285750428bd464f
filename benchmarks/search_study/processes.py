"""Several runs of a study at once, with one line of progress for all of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from rich import progress as bars
from rich.console import Console

from ..studies.folders import Task
from ..studies.workers import THREADS, Plan, Progress, Word
from .plan import next_task
from .work import Report, work

PATIENCE = 120.0
"""How long an interrupted run may take to end, s."""


@dataclass(slots=True)
class _Running:
    task: Task
    process: BaseProcess
    pipe: Connection
    last: Word
    started: float = field(default_factory=time.monotonic)


def do_all(
    study: Plan,
    states: Mapping[Task, Progress],
    processes: int,
    console: Console,
    work: Callable[[Any, Task, Connection], None] = work,
) -> bool:
    """Do every run that is not complete, `processes` at once.

    A run that fails is told and left; the others go on. Ctrl-C interrupts those that run: they
    are continued by the next call.

    Args:
        study: The study.
        states: Its runs, in order, and how far each of them is.
        processes: Runs at once.
        console: Where progress is shown.
        work: Does a run in a process of its own and sends what it says of it.

    Returns:
        Whether all of them are complete.
    """
    pending = [task for task, state in states.items() if not state.complete]
    if not pending:
        return True
    for name in THREADS:
        os.environ.setdefault(name, "1")
    context = multiprocessing.get_context("spawn")
    running: list[_Running] = []
    failed = 0
    with Ticker(study, states, console) as ticker:
        try:
            while pending or running:
                while pending and len(running) < processes:
                    task = next_task(pending, [one.task for one in running])
                    pending.remove(task)
                    ours, theirs = context.Pipe(duplex=False)
                    process = context.Process(target=work, args=(study, task, theirs))
                    _start(process)
                    theirs.close()
                    running.append(_Running(task, process, ours, Report(states[task].charged)))
                ready = wait([one.pipe for one in running], timeout=1.0)
                for one in [one for one in running if one.pipe in ready]:
                    if not _listen(one, ticker):
                        running.remove(one)
                        failed += not one.last.done
                ticker.tick()
        except KeyboardInterrupt:
            ticker.say("Stopping: the same command goes on from here.")
            raise
        finally:
            # Whatever ends the driver (a closed terminal, a full disk) ends the runs as well.
            _stop(running)
    return failed == 0


def _start(process: BaseProcess) -> None:
    """Start a worker that Ctrl-C does not reach, not even before it can say so itself."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _listen(one: _Running, ticker: Ticker) -> bool:
    """Take what a worker says; return whether it goes on."""
    try:
        report: Word = one.pipe.recv()
    except (EOFError, OSError):  # it ended: what it said last tells how
        one.process.join()
        one.pipe.close()
        if not one.last.done:
            why = one.last.error or f"its process ended with code {one.process.exitcode}"
            ticker.say(f"{one.task} failed: {why}")
        return False
    ticker.advance(one.task, report.charged)
    if report.done:
        ticker.finish(one.task, f"{report.words}, {time.monotonic() - one.started:.0f} s")
    one.last = report
    return True


def _stop(running: list[_Running]) -> None:
    for one in running:
        one.process.terminate()
    try:
        end = time.monotonic() + PATIENCE
        for one in running:
            one.process.join(max(0.1, end - time.monotonic()))
    finally:
        for one in running:
            if one.process.is_alive():
                one.process.kill()


class Ticker:
    """Total progress and time left: a bar, or a line a run where there is no terminal."""

    def __init__(self, study: Plan, states: Mapping[Task, Progress], console: Console) -> None:
        """Count what is there; nothing is shown before `__enter__`."""
        self._full = study.full
        self._charged = {task: state.charged for task, state in states.items()}
        self._complete = {task for task, state in states.items() if state.complete}
        self._at_first = sum(self._charged.values())
        self._console = console
        self._started = time.monotonic()
        self._bar = bars.Progress(
            bars.TextColumn("{task.fields[runs]}"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("trials, {task.fields[left]} left"),
            console=console,
            disable=not console.is_terminal,
        )
        self._id: bars.TaskID | None = None

    def __enter__(self) -> Ticker:
        """Show the bar."""
        self._bar.start()
        self._id = self._bar.add_task("", runs=self._runs(), left="?", total=None)
        self.tick()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bar as it is."""
        self.tick()
        self._bar.stop()

    def advance(self, task: Task, charged: int) -> None:
        """Take how many trials of a run were put to the model."""
        self._charged[task] = max(charged, self._charged[task])

    def finish(self, task: Task, words: str) -> None:
        """Take that a run is complete."""
        self._complete.add(task)
        self.say(f"{self._runs()}: {task}: {words}; {self.left()} left")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(line, highlight=False, soft_wrap=True, markup=False)

    def tick(self) -> None:
        """Draw the bar anew."""
        if self._id is not None:
            done = sum(self._charged.values())
            self._bar.update(
                self._id,
                completed=done,
                total=done + self._due(),
                runs=self._runs(),
                left=self.left(),
            )

    def left(self) -> str:
        """Return the time left in words, from this call's own pace."""
        done = sum(self._charged.values()) - self._at_first
        if done < 1:
            return "?"
        seconds = self._due() * (time.monotonic() - self._started) / done
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"

    def _due(self) -> int:
        """Trials to come, as if every run had all of its modes to try again."""
        open_runs = [task for task in self._charged if task not in self._complete]
        return sum(max(0, self._full - self._charged[task]) for task in open_runs)

    def _runs(self) -> str:
        return f"{len(self._complete)}/{len(self._charged)} runs"
