"""`vlmfail resume`: continue a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import SearchProgress, reserved_stdout
from .log_options import (
    Log,
    WandbDir,
    WandbEntity,
    WandbGroup,
    WandbMode,
    WandbProject,
    chosen_loggers,
)
from .outcome import Audit, check_fail_on, conclude, going_on


def resume(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    retry_errors: Annotated[
        bool, typer.Option(help="Run errored trials again, in a copy of the run.")
    ] = False,
    fork: Annotated[
        Path | None, typer.Option(help="Copy the run to this folder and continue there.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that render; changes speed only.")] = 1,
    concurrency: Annotated[int, typer.Option(help="Requests to the model in flight.")] = 1,
    max_requests: Annotated[
        int | None, typer.Option(help="A higher cap on requests than the run's own.")
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(help="A higher cap on tokens than the run's own.")
    ] = None,
    max_dollars: Annotated[
        float | None, typer.Option(help="A higher cap on money than the run's own.")
    ] = None,
    log: Log = None,
    wandb_project: WandbProject = None,
    wandb_entity: WandbEntity = None,
    wandb_group: WandbGroup = None,
    wandb_mode: WandbMode = None,
    wandb_dir: WandbDir = None,
    report: Annotated[bool, typer.Option(help="Write report.html into the run folder.")] = True,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Try the top 10 modes on 20 fresh scenes each at the end."),
    ] = False,
    audit: Audit = False,
    fail_on_modes: Annotated[
        int | None, typer.Option(metavar="N", help="Exit with 1 at N confirmed failure modes.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Continue an interrupted run exactly where it stopped; a finished one is only reported."""
    check_fail_on(fail_on_modes)
    loggers = chosen_loggers(log, wandb_project, wandb_entity, wandb_group, wandb_mode, wandb_dir)
    from .._facade import resume as run_resume

    with SearchProgress() as progress:
        with going_on(fork or run), reserved_stdout():
            data = run_resume(
                run,
                workers=workers,
                concurrency=concurrency,
                loggers=loggers,
                retry_errors=retry_errors,
                fork=fork,
                max_requests=max_requests,
                max_total_tokens=max_total_tokens,
                max_dollars=max_dollars,
                progress=progress,
            )
        return conclude(
            data,
            report=report,
            confirm=confirm,
            audit=audit,
            fail_on_modes=fail_on_modes,
            as_json=as_json,
            concurrency=concurrency,
            progress=progress,
        )
