"""Jobs in processes that die."""

from __future__ import annotations

import multiprocessing
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from vlmfail.core import EnvironmentFault, UsageError
from vlmfail.runs.executors import GuardedExecutor, ProcessExecutor


class Work:
    """Squares numbers; negative ones kill the process, 13 does so the first time only."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def __call__(self, job: int) -> int:
        if job < 0:
            os._exit(1)
        if job == 99:
            raise UsageError("ninety-nine")
        mark = self.folder / "died"
        if job == 13 and not mark.exists():
            mark.touch()
            os._exit(1)
        return job * job


def executor(folder: Path, workers: int = 2) -> GuardedExecutor[int, int]:
    return GuardedExecutor(partial(Work, str(folder)), workers, lambda job: -1)


@pytest.mark.slow
def test_only_the_job_at_fault_is_lost(tmp_path: Path) -> None:
    guarded = executor(tmp_path)
    jobs = [1, 2, -3, 4, 13, 5]
    assert dict(guarded.run(jobs)) == {0: 1, 1: 4, 2: -1, 3: 16, 4: 169, 5: 25}
    assert dict(guarded.run([7])) == {0: 49}
    guarded.close()
    guarded.close()


@pytest.mark.slow
def test_errors_pass_and_hopeless_machines_are_told(tmp_path: Path) -> None:
    guarded = executor(tmp_path, workers=1)
    with pytest.raises(UsageError, match="ninety-nine"):
        list(guarded.run([99]))
    guarded.hopeless = 2
    with pytest.raises(EnvironmentFault, match="first 2 trials"):
        list(guarded.run([-1, -2, -3]))
    guarded.close()


class Asked:
    """Says whether it was asked to stop."""

    def __init__(self, stop: Any) -> None:
        self.stop = stop

    def __call__(self, job: int) -> bool:
        return bool(self.stop.is_set())


def test_an_event_is_handed_over_to_the_process_that_is_started() -> None:
    stop = multiprocessing.get_context("spawn").Event()
    executor: ProcessExecutor[int, bool] = ProcessExecutor(partial(Asked, stop), 1)
    try:
        assert dict(executor.run([0])) == {0: False}
        stop.set()
        assert dict(executor.run([0])) == {0: True}
    finally:
        executor.close()
