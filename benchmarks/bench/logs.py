"""The loggers of a bench's runs."""

from __future__ import annotations

import os
from pathlib import Path

from .arms import Bench, Task

GROUP, NAME = "WANDB_RUN_GROUP", "WANDB_NAME"
"""Variables by which Weights & Biases names a run and what it belongs to."""

FILES = {"jsonl": "log.jsonl"}
"""Loggers that write one file, and its name in the run's folder."""


def loggers_of(bench: Bench, task: Task) -> list[str]:
    """Return the loggers of a run, each of which has its own file, and name the run for them."""
    os.environ[GROUP] = bench.name
    os.environ[NAME] = str(task)
    return [_own(bench, task, spec) for spec in bench.loggers]


def _own(bench: Bench, task: Task, spec: str) -> str:
    name, _, value = spec.partition("=")
    if name not in FILES:
        return spec
    # Several runs would write over each other's file.
    return f"{name}={bench.folder(task) / (Path(value).name or FILES[name])}"
