"""Loggers: where a run's evaluations also go. Only the driver process logs."""

from __future__ import annotations

from ...core import Logger, Registry, UsageError
from .jsonl import JsonLinesLogger

LOGGERS = Registry(
    "logger",
    "vlmfail.loggers",
    {
        "jsonl": "vlmfail.runs.loggers.jsonl:JsonLinesLogger",
        "wandb": "vlmfail.runs.loggers.wandb_logger:WandbLogger",
        "tensorboard": "vlmfail.runs.loggers.tensorboard_logger:TensorBoardLogger",
    },
)

__all__ = ["LOGGERS", "JsonLinesLogger", "make_logger"]


def make_logger(logger: str | Logger) -> Logger:
    """Return a logger by name, or the object itself.

    A name may bring one argument: ``jsonl=FILE``, ``wandb=PROJECT``, ``tensorboard=FOLDER``.
    """
    if not isinstance(logger, str):
        return logger
    name, _, argument = logger.partition("=")
    made = LOGGERS.load(name)
    try:
        built: Logger = made(argument) if argument else made()
    except TypeError as error:
        raise UsageError(f"logger {logger!r}: {error}") from error
    return built
