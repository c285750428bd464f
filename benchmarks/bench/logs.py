"""The loggers of a bench's runs."""

from __future__ import annotations

import os
from pathlib import Path

from ...core import Logger
from ...runs.loggers import make_logger
from ...runs.loggers.wandb_logger import WandbLogger
from .arms import Bench, Task

RUN_NAME = "WANDB_NAME"
"""Variable by which Weights & Biases names a run."""


def loggers_of(bench: Bench, task: Task) -> list[Logger]:
    """Return the loggers of a run; no two runs write into one file.

    In Weights & Biases the runs of a bench are one group, each named by its task.
    """
    os.environ[RUN_NAME] = str(task)[:128]
    return [_logger(bench, task, spec) for spec in bench.loggers]


def _logger(bench: Bench, task: Task, spec: str) -> Logger:
    name, _, argument = spec.partition("=")
    folder = bench.folder(task)
    if name == "wandb":
        return WandbLogger(argument or None, group=bench.name[:128])
    if name == "jsonl":
        return make_logger(f"{name}={folder / (Path(argument).name or 'log.jsonl')}")
    if name == "tensorboard" and argument:
        # The run's own folder is named by its seed alone.
        place = Path(argument) / folder.parent.relative_to(bench.out)
        return make_logger(f"{name}={place}")
    return make_logger(spec)
