"""`vlmfail search`: find failure modes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .console import SearchProgress, default_model, default_out, note, pairs, reserved_stdout
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

DRAWN = ("VLMFail-Driving-", "VLMFail-Indoor-")
"""Beginnings of the ids of environments whose pictures our ray tracer draws."""


def search(
    ctx: typer.Context,
    env: Annotated[str, typer.Argument(help="Env id, or a domain as module_or_file:Name.")],
    searcher: Annotated[
        str,
        typer.Option(
            "--searcher",
            "-s",
            help="Search algorithm, module_or_file:Name, or auto: the one that we recommend for "
            "the env (auto:rate: for a high share of failing candidates).",
        ),
    ] = "gpts",
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Model or policy under test, or module_or_file:Name; by default the env's own "
            "(tiny-vlm, or scripted where trials are episodes).",
        ),
    ] = None,
    budget: Annotated[int, typer.Option(help="Trials that may be put to the model.")] = 1000,
    trials: Annotated[
        int | None,
        typer.Option(help="Trials a candidate; by default 5, or 1 where trials are episodes."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Candidates asked for at once.")] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; the same search in it is continued.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Failure rate from which a candidate is a failure mode.")
    ] = 0.6,
    renderer: Annotated[str | None, typer.Option(help="Renderer of the scenes.")] = None,
    env_arg: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Option of the env.")
    ] = None,
    searcher_arg: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Argument of the searcher.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that render, or play episodes; changes speed only.")
    ] = 1,
    concurrency: Annotated[int, typer.Option(help="Requests to the model in flight.")] = 1,
    max_requests: Annotated[
        int | None, typer.Option(help="Cap on requests that reach the wire, retries included.")
    ] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="Cap on tokens.")] = None,
    max_dollars: Annotated[float | None, typer.Option(help="Cap on money.")] = None,
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
        int | None,
        typer.Option(
            metavar="N",
            help="Exit with 1 at N confirmed failure modes; a fixed-trials searcher's top modes "
            "are re-run on fresh scenes for that, outside the budget.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Search an environment for the combinations of concepts, or the scenes, that fail a model."""
    check_fail_on(fail_on_modes)
    loggers = chosen_loggers(log, wandb_project, wandb_entity, wandb_group, wandb_mode, wandb_dir)
    env_args = pairs("--env-arg", env_arg or [])
    searcher_args = pairs("--searcher-arg", searcher_arg or [])
    from .._facade import choose_searcher
    from .._facade import search as run_search

    with reserved_stdout():
        choice = choose_searcher(env, searcher, env_args)
    if choice is not None:
        note(choice.line)
    folder = out
    if folder is None:
        with reserved_stdout():
            tested = model or default_model(env)
        named = searcher if choice is None else choice.spec
        folder = default_out(env, named, tested, seed)
    words = ctx.obj if isinstance(ctx.obj, list) else []
    if is_cold(env, renderer):
        note(
            "the first pictures on this machine: kernels are compiled and meshes built once, which "
            "takes about a minute before the first trial"
        )
    with SearchProgress() as progress:
        with going_on(folder), reserved_stdout():
            run = run_search(
                env,
                searcher,
                model=model,
                budget=budget,
                trials=trials,
                seed=seed,
                out=folder,
                loggers=loggers,
                batch=batch,
                workers=workers,
                concurrency=concurrency,
                threshold=threshold,
                renderer=renderer,
                env_args=env_args,
                agent_args=searcher_args,
                max_requests=max_requests,
                max_total_tokens=max_total_tokens,
                max_dollars=max_dollars,
                command=shlex.join(["vlmfail", *words]),
                progress=progress,
            )
        return conclude(
            run,
            report=report,
            confirm=confirm,
            audit=audit,
            fail_on_modes=fail_on_modes,
            as_json=as_json,
            concurrency=concurrency,
            progress=progress,
        )


def is_cold(env: str, renderer: str | None) -> bool:
    """Whether a search's first picture waits for what every later one finds in the cache."""
    from ..core.files import cache_folder

    own = env.removeprefix("vlmfail:").startswith(DRAWN)
    if not own or renderer not in (None, "embree"):
        return False
    folder = cache_folder()
    return folder is None or not any((folder / "kernels").glob("*/*"))
