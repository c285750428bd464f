"""The options of loggers, which `search` and `resume` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import UsageError

if TYPE_CHECKING:
    from ..core import Logger

Log = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        help="Logger: jsonl=FILE, wandb[=PROJECT], tensorboard[=FOLDER] or a plug-in's name; "
        "may be repeated.",
    ),
]
WandbProject = Annotated[
    str | None, typer.Option(help="W&B project; this and the next four imply --log wandb.")
]
WandbEntity = Annotated[str | None, typer.Option(help="W&B user or team.")]
WandbGroup = Annotated[str | None, typer.Option(help="W&B group, such as one bench's runs.")]
WandbMode = Annotated[str | None, typer.Option(help="online, offline or disabled.")]
WandbDir = Annotated[
    Path | None, typer.Option(help="Where W&B's folder goes; by default the run's folder.")
]


def chosen_loggers(
    log: Sequence[str] | None,
    project: str | None = None,
    entity: str | None = None,
    group: str | None = None,
    mode: str | None = None,
    directory: Path | None = None,
) -> list[str | Logger]:
    """Return the loggers of a command line.

    Raises:
        UsageError: When W&B's project is given twice.
    """
    names = list(log or ())
    given: dict[str, Any] = {"entity": entity, "group": group, "mode": mode, "directory": directory}
    if project is None and all(value is None for value in given.values()):
        return [*names]
    projects = {project} - {None}
    projects |= {name.partition("=")[2] for name in names if name.startswith("wandb=")} - {""}
    if len(projects) > 1:
        raise UsageError("two W&B projects are given, with --wandb-project and with --log wandb=")
    from ..runs.loggers.wandb_logger import WandbLogger

    others = [name for name in names if name.partition("=")[0] != "wandb"]
    return [*others, WandbLogger(next(iter(projects), None), **given)]
