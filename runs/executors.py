"""Executors: run picklable jobs in this process or in several. Only the speed differs."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from ..core import EnvironmentFault, UsageError, load_object

J = TypeVar("J")
R = TypeVar("R")
J_contra = TypeVar("J_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

Build = Callable[[], Callable[[Any], Any]]


class Executor(Protocol[J_contra, R_co]):
    """Runs jobs and yields (job number, result) as they finish."""

    def run(self, jobs: Sequence[J_contra]) -> Iterator[tuple[int, R_co]]:
        """Run `jobs`; results come in any order, each with its job's number."""
        ...

    def close(self) -> None:
        """Stop the workers; twice is fine."""
        ...


class SerialExecutor(Generic[J, R]):
    """Runs jobs one after another in this process."""

    def __init__(self, build: Callable[[], Callable[[J], R]]) -> None:
        """Keep `build`, which returns the work function; it is called on first use."""
        self._build = build
        self._work: Callable[[J], R] | None = None

    def run(self, jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Yield results in order."""
        if self._work is None:
            self._work = self._build()
        for number, job in enumerate(jobs):
            yield number, self._work(job)

    def close(self) -> None:
        """Close what the work holds, if it can be closed."""
        close = getattr(self._work, "close", None)
        if callable(close):
            close()


_work: Callable[[Any], Any] | None = None

UNGUARDED_EXIT = 77
"""Exit code of a worker in which the script began the work again (ours; no signal's)."""

GUARD = """the script must start its search under a guard, as in
    if __name__ == "__main__":
        run = vlmfail.search(..., workers=2)
        print(run)
(or leave workers out)"""
"""What to write."""


def refuse_reimport() -> None:
    """Refuse to start work in a worker that is only importing the user's script.

    A spawned process imports the main script; one that starts its search at its top level would
    start it again in each process, and never come to work.

    Raises:
        UsageError: This process is such a worker. Uncaught, it is one line on stderr.
    """
    if not getattr(multiprocessing.current_process(), "_inheriting", False):
        return
    sys.excepthook = _tell_unguarded
    raise UsageError(
        "a worker process imports this script, which starts the search again: put it under "
        'if __name__ == "__main__":'
    )


def _tell_unguarded(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if not isinstance(error, UsageError):
        sys.__excepthook__(kind, error, trace)
        return
    sys.stderr.write(f"vlmfail: {error}\n")
    sys.stderr.flush()
    # The parent reads it off the code; Python's own would be that of any exception.
    os._exit(UNGUARDED_EXIT)


def _refuse_unguarded(processes: Iterable[Any]) -> None:
    """Say why workers died, when it is that the script starts its search in each of them."""
    if any(process.exitcode == UNGUARDED_EXIT for process in processes):
        raise UsageError(
            "worker processes import the script that started them, and this one starts the search "
            f"again in each of them: {GUARD}"
        ) from None


def _end_with_the_driver() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


Wording = Callable[..., str]


def _start_worker(files: Sequence[str], made: bytes | tuple[Build, Wording | None]) -> None:
    """Make the work function, which may come from `files` that no import finds."""
    global _work
    from threadpoolctl import threadpool_limits

    # A killed driver closes no queue: without this its workers would wait for ever.
    Thread(target=_end_with_the_driver, daemon=True).start()

    # Ctrl-C reaches the whole process group; the driver alone decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threadpool_limits(1)
    for path in files:
        load_object(f"{path}:__name__")
    # What was pickled was written by the driver.
    build, wording = pickle.loads(made) if isinstance(made, bytes) else made  # noqa: S301
    if wording is not None:
        warnings.formatwarning = wording
    _work = build()


def _wording() -> Wording | None:
    """Return how this process words warnings, or None when no other process can load it."""
    try:
        pickle.dumps(warnings.formatwarning)
    except Exception:
        return None
    return warnings.formatwarning


@contextlib.contextmanager
def _deaf_to_interruption() -> Iterator[None]:
    """Have processes that are started meanwhile not hear Ctrl-C before they can ignore it."""
    # It lets SIGINT through again where it starts its own process: that must come first.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _make_pool(build: Build, workers: int) -> ProcessPoolExecutor:
    refuse_reimport()
    made: bytes | tuple[Build, Wording | None] = (build, _wording())
    files: list[str] = []
    # A lock or an event can be handed over to a process that is being started, and not before.
    with contextlib.suppress(RuntimeError):
        made = packed = pickle.dumps(made)
        plugged = [m for name, m in sys.modules.items() if name.startswith("vlmfail_plugin_")]
        files = [str(m.__file__) for m in plugged if m.__name__.encode() in packed]
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(files, made),
    )


def _processes(pool: ProcessPoolExecutor | None) -> tuple[Any, ...]:
    # It forgets them when it breaks, and they alone know why they ended.
    return tuple((getattr(pool, "_processes", None) or {}).values())


def _work_on(job: Any) -> Any:
    if _work is None:
        raise RuntimeError("the worker was not started")
    return _work(job)


class ProcessExecutor(Generic[J, R]):
    """Runs jobs in `workers` spawned processes.

    A worker that dies (a crash of a native library, the out-of-memory killer) takes its jobs
    with it; they are run again in fresh workers, `retries` times.
    """

    retries = 2

    def __init__(self, build: Callable[[], Callable[[J], R]], workers: int) -> None:
        """Keep the picklable `build`; processes start on first use."""
        self._build = build
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._started: tuple[Any, ...] = ()

    def run(self, jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Yield results as they finish.

        Raises:
            EnvironmentFault: When workers keep dying.
        """
        left = dict(enumerate(jobs))
        deaths = 0
        while left:
            try:
                for number, result in self._attempt(left):
                    del left[number]
                    yield number, result
            except BrokenProcessPool as error:
                self.close()
                _refuse_unguarded(self._started)
                deaths += 1
                if deaths > self.retries:
                    raise EnvironmentFault(
                        f"a worker process died {deaths} times on the same jobs (crash of a native "
                        "library, or out of memory): try --workers 1, which shows the cause"
                    ) from error

    def _attempt(self, jobs: dict[int, J]) -> Iterator[tuple[int, R]]:
        if self._pool is None:
            self._pool = _make_pool(self._build, self._workers)
        with _deaf_to_interruption():
            pending: dict[Future[R], int] = {
                self._pool.submit(_work_on, job): number for number, job in list(jobs.items())
            }
        self._started = _processes(self._pool) or self._started
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    yield pending.pop(future), result
        finally:
            for future in pending:
                future.cancel()

    def close(self) -> None:
        """Stop the processes without waiting for queued jobs."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class GuardedExecutor(Generic[J, R]):
    """Runs jobs in spawned processes, and gives up on a job whose process dies twice.

    One job at a time goes to each process. When one dies, the jobs that were being worked on are
    run again alone, each in a process that nothing else shares: the job that kills that one too is
    at fault, and `lost` says what becomes of it. So it depends neither on the number of workers nor
    on chance which jobs are lost.
    """

    hopeless = 5
    """Jobs lost before any is done from which the machine is at fault, not the jobs (ours)."""

    def __init__(
        self,
        build: Callable[[], Callable[[J], R]],
        workers: int,
        lost: Callable[[J], R],
    ) -> None:
        """Keep the picklable `build`; processes start on first use.

        Args:
            build: Returns the work function, in each process.
            workers: Number of processes.
            lost: Returns the result of a job whose process died; called in this process.
        """
        self._build = build
        self._workers = workers
        self._lost = lost
        self._pool: ProcessPoolExecutor | None = None
        self._started: tuple[Any, ...] = ()
        self._done = 0
        self._given_up = 0

    def run(self, jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Yield results as they finish.

        Raises:
            EnvironmentFault: When the first jobs all lost their processes.
        """
        left = dict(enumerate(jobs))
        while left:
            suspects: list[int] = []
            for number, result in self._attempt(left, suspects):
                del left[number]
                yield number, result
            for number in suspects:
                yield number, self._alone(left.pop(number))

    def _attempt(self, jobs: dict[int, J], suspects: list[int]) -> Iterator[tuple[int, R]]:
        """Run `jobs` until all are done or a process dies; name those that were in work then."""
        queue = list(jobs.items())
        queue.reverse()
        pending: dict[Future[R], int] = {}
        try:
            while queue or pending:
                while queue and len(pending) < self._workers:
                    number, job = queue.pop()
                    try:
                        pending[self._submit(job, self._workers)] = number
                    except BrokenProcessPool:  # died since: what is pending will say so
                        queue.append((number, job))
                        if pending:
                            break
                        self.close()
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda f: pending[f]):
                    number = pending.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        suspects.append(number)
                        continue
                    self._done += 1
                    yield number, result
                if suspects:
                    wait(pending)
                    _refuse_unguarded(self._started)
                    queue.clear()
        finally:
            for future in pending:
                future.cancel()
            if suspects:
                self.close()
                suspects.sort()

    def _alone(self, job: J) -> R:
        self.close()
        try:
            result = self._submit(job, 1).result()
        except BrokenProcessPool as error:
            self._given_up += 1
            if not self._done and self._given_up >= self.hopeless:
                raise EnvironmentFault(
                    f"a worker process died in each of the first {self._given_up} trials (crash of "
                    "a native library, or out of memory): try --workers 1, which shows the cause"
                ) from error
            return self._lost(job)
        else:
            self._done += 1
            return result
        finally:
            self.close()

    def _submit(self, job: J, workers: int) -> Future[R]:
        if self._pool is None:
            self._pool = _make_pool(self._build, workers)
        with _deaf_to_interruption():
            future: Future[R] = self._pool.submit(_work_on, job)
        self._started = _processes(self._pool) or self._started
        return future

    def close(self) -> None:
        """Stop the processes without waiting for queued jobs."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class ThreadExecutor(Generic[J, R]):
    """Runs jobs in threads of this process: for work that waits for others, as for a service."""

    def __init__(self, build: Callable[[], Callable[[J], R]], threads: int) -> None:
        """Keep `build`; what it returns is called from several threads at once.

        If that has a method ``cancel``, it is called when a run is broken off.
        """
        self._build = build
        self._threads = threads
        self._work: Callable[[J], R] | None = None

    def run(self, jobs: Sequence[J]) -> Iterator[tuple[int, R]]:
        """Yield results as they finish."""
        if self._work is None:
            self._work = self._build()
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="vlmfail-draw")
        pending = {pool.submit(self._work, job): number for number, job in enumerate(jobs)}
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                # In order of their numbers: two that finish together come alike every time.
                for future in sorted(done, key=lambda future: pending[future]):
                    number = pending.pop(future)
                    yield number, future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            cancel = getattr(self._work, "cancel", None)
            # Again and again: a thread may be about to begin what it took from the queue.
            while callable(cancel) and any(future.running() for future in pending):
                cancel()
                wait(pending, timeout=0.05)

    def close(self) -> None:
        """Nothing to stop: threads end with each run."""
