"""Several runs of a study at once, with one line of progress for all of them.

A run is named by a task: any hashable value whose text names it in a line.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from rich import progress as bars
from rich.console import Console

from ...core.text import legible
from .workers import THREADS, Plan, Progress, Report, Word, stay

T = TypeVar("T", bound=Hashable)

PATIENCE = 120.0
"""How long an interrupted run may take to end, s."""


@dataclass(slots=True)
class _Running(Generic[T]):
    task: T
    process: BaseProcess
    pipe: Connection
    last: Word
    runs: int = 1
    started: float = field(default_factory=time.monotonic)


def in_order(pending: Sequence[T], running: Collection[T]) -> T:
    """Return the task to start: the first."""
    return pending[0]


def do_all(
    study: Plan,
    states: Mapping[T, Progress],
    processes: int,
    console: Console,
    work: Callable[[Any, T, Connection], Any],
    choose: Callable[[Sequence[T], Collection[T]], T] = in_order,
    runs_a_process: int = 1,
) -> dict[T, str]:
    """Do every run that is not complete, `processes` at once.

    A run that fails is told and left; the others go on. Ctrl-C interrupts those that run: they
    are continued by the next call.

    Args:
        study: The study.
        states: Its runs, in order, and how far each of them is.
        processes: Runs at once.
        console: Where progress is shown.
        work: Does a run in another process and sends what it says of it: see `workers.serve`.
            With one run a process it answers for the process's signals, too.
        choose: Picks the next of the pending runs beside those that run.
        runs_a_process: Runs after which a process is replaced: to start one takes seconds, which
            is much beside runs of seconds.

    Returns:
        The runs that failed, and why.
    """
    pending = [task for task, state in states.items() if not state.complete]
    failed: dict[T, str] = {}
    if not pending:
        return failed
    for name in THREADS:
        os.environ.setdefault(name, "1")
    running: list[_Running[T]] = []
    idle: list[_Running[T]] = []
    with Ticker(study, states, console) as ticker:
        try:
            while pending or running:
                while pending and len(running) < processes:
                    task = choose(pending, [one.task for one in running])
                    pending.remove(task)
                    begun = Report(states[task].charged)
                    if idle:
                        running.append(_next(idle.pop(), task, begun))
                    else:
                        running.append(_launch(study, task, begun, work, runs_a_process))
                ready = wait([one.pipe for one in running], timeout=1.0)
                for one in [one for one in running if one.pipe in ready]:
                    goes_on = _listen(one, ticker)
                    over = runs_a_process > 1 and (one.last.done or one.last.error)
                    if goes_on and not over:
                        continue
                    running.remove(one)
                    if not one.last.done:
                        failed[one.task] = _why(one)
                        ticker.say(f"{one.task} failed: {failed[one.task]}")
                    if goes_on and one.runs < runs_a_process:
                        idle.append(one)
                    elif goes_on:
                        _end(one)
                ticker.tick()
        except KeyboardInterrupt:
            ticker.say("Stopping: the same command goes on from here.")
            raise
        finally:
            # Whatever ends the driver (a closed terminal, a full disk) ends the runs as well.
            try:
                _stop(running)
            finally:
                for one in idle:
                    _end(one)
    return failed


def _launch(
    study: Plan,
    task: T,
    begun: Word,
    work: Callable[[Any, T, Connection], Any],
    runs_a_process: int,
) -> _Running[T]:
    """Start a process with its first run."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    if runs_a_process > 1:
        process = context.Process(target=stay, args=(work, study, task, theirs))
    else:
        process = context.Process(target=work, args=(study, task, theirs))
    _start(process)
    theirs.close()
    return _Running(task, process, ours, begun)


def _next(one: _Running[T], task: T, begun: Word) -> _Running[T]:
    """Have a process that waits do another run."""
    with contextlib.suppress(
        OSError
    ):  # it has ended meanwhile, which is heard when it is listened to
        one.pipe.send(task)
    return _Running(task, one.process, one.pipe, begun, one.runs + 1)


def _end(one: _Running[T]) -> None:
    """Let a process that waits end."""
    one.pipe.close()
    one.process.join(PATIENCE)


def _start(process: BaseProcess) -> None:
    """Start a worker that Ctrl-C does not reach, not even before it can say so itself."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _listen(one: _Running[T], ticker: Ticker[T]) -> bool:
    """Take what a worker says; return whether it goes on."""
    try:
        report: Word = one.pipe.recv()
    except (EOFError, OSError):  # it ended: what it said last tells how
        one.process.join()
        one.pipe.close()
        return False
    ticker.advance(one.task, report.charged)
    if report.done:
        ticker.finish(one.task, f"{report.words}, {time.monotonic() - one.started:.0f} s")
    one.last = report
    return True


def _why(one: _Running[T]) -> str:
    return one.last.error or f"its process ended with code {one.process.exitcode}"


def _stop(running: list[_Running[T]]) -> None:
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


class Ticker(Generic[T]):
    """Total progress and time left: a bar, or a line a run where there is no terminal."""

    def __init__(self, study: Plan, states: Mapping[T, Progress], console: Console) -> None:
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

    def __enter__(self) -> Ticker[T]:
        """Show the bar."""
        self._bar.start()
        self._id = self._bar.add_task("", runs=self._runs(), left="?", total=None)
        self.tick()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bar as it is."""
        self.tick()
        self._bar.stop()

    def advance(self, task: T, charged: int) -> None:
        """Take how many trials of a run were put to the model."""
        self._charged[task] = max(charged, self._charged[task])

    def finish(self, task: T, words: str) -> None:
        """Take that a run is complete."""
        self._complete.add(task)
        self.say(f"{self._runs()}: {task}: {words}; {self.left()} left")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(legible(line), highlight=False, soft_wrap=True, markup=False)

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
