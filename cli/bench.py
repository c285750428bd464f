"""`vlmfail bench`: searchers side by side."""

from __future__ import annotations

import json
import shlex
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from .console import emit, note, pairs, reserved_stdout, say, wide_console

FAULT = 3
INTERRUPTED = 130


def bench(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE|preset:NAME]",
            help="YAML file that describes the bench, or one of the package's; options override.",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", help="Env ids, or domains as module_or_file:Name: A,B."),
    ] = None,
    searchers: Annotated[
        list[str] | None,
        typer.Option("--searchers", "-s", help="Searchers, or module_or_file:Name: a,b,gpts+min."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--models", "-m", help="Models under test: m1,m2; by default the env's own."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds: 0,1 or 0-9, or 10 for the ten from 0 [default: 1].")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Trials that every run may charge [default: 1000].")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials a candidate; by default the env's own.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder; the same bench in it is continued [default: runs/bench]."),
    ] = None,
    env_arg: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "--env-arg",
            metavar="KEY=VALUE",
            help="Option of every env that knows it; a list is one env for each value.",
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Searcher that the others are compared with.")
    ] = None,
    confirm: Annotated[
        bool | None,
        typer.Option("--confirm/--no-confirm", help="Try the surest modes on fresh scenes."),
    ] = None,
    audit: Annotated[
        bool | None,
        typer.Option(
            "--audit/--no-audit",
            help="Audit the reported modes on fresh scenes; landscapes are audited by true rates.",
        ),
    ] = None,
    top: Annotated[int | None, typer.Option(help="How many of a run's [default: 10].")] = None,
    fresh: Annotated[int | None, typer.Option(help="Fresh trials of each [default: 20].")] = None,
    statistic: Annotated[
        str | None, typer.Option(help="What stands for the runs: mean or median [default: mean].")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Candidates asked for at once.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Failure rate from which a candidate is a failure mode.")
    ] = None,
    thresholds: Annotated[
        list[str] | None, typer.Option(help="Also tell PFM by these rates: 0.4,0.6,0.8.")
    ] = None,
    renderer: Annotated[str | None, typer.Option(help="Renderer of the scenes.")] = None,
    processes: Annotated[int | None, typer.Option(help="Runs at once [default: 1].")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Requests of a run in flight.")] = None,
    max_requests: Annotated[int | None, typer.Option(help="Cap on a run's requests.")] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="Cap on a run's tokens.")] = None,
    max_dollars: Annotated[float | None, typer.Option(help="Cap on a run's money.")] = None,
    log: Annotated[
        list[str] | None, typer.Option(help="Logger of every run, grouped by the bench's name.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The bench's name; by default its folder's.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of pictures that runs share [default: in --out].")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep no pictures beside the runs'.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: tables of what is there.")
    ] = False,
    list_presets: Annotated[
        bool, typer.Option("--list-presets", help="Say which benches the package has, and end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run searchers side by side: the same budget, the same seeds, tables and a page of all."""
    if list_presets:
        return _list_presets(as_json)
    given: dict[str, Any] = {
        "envs": _split(env),
        "searchers": _split(searchers),
        "models": _split(models),
        "env_args": _settings(env_arg),
        "seeds": seeds,
        "budget": budget,
        "trials": trials,
        "out": out,
        "baseline": baseline,
        "confirm": confirm,
        "audit": audit,
        "top": top,
        "fresh": fresh,
        "statistic": statistic,
        "batch": batch,
        "threshold": threshold,
        "thresholds": _split(thresholds),
        "renderer": renderer,
        "processes": processes,
        "concurrency": concurrency,
        "max_requests": max_requests,
        "max_total_tokens": max_total_tokens,
        "max_dollars": max_dollars,
        "log": log or None,
        "name": name,
        "cache": False if no_cache else cache,
    }
    words = ctx.obj if isinstance(ctx.obj, list) else []
    command = shlex.join(["vlmfail", *(w for w in words if w not in ("--json", "--report-only"))])
    from ..benchmarks.bench.command import run_bench
    from ..benchmarks.bench.spec import merged, with_processes

    values = merged(file, given)
    with reserved_stdout():
        made, at_once = with_processes(values)
        try:
            result = run_bench(made, processes=at_once, report_only=report_only, command=command)
        except KeyboardInterrupt:
            note(f"interrupted; every trial is stored and none is run again: {command} goes on")
            return INTERRUPTED
    if as_json:
        emit(result.document)
    else:
        _show(result, made.out)
    for task, why in result.failed.items():
        note(f"{task} failed: {why}")
    return 0 if result.complete else FAULT


def _list_presets(as_json: bool) -> int:
    """Print the package's benches: what each makes, and how it is run."""
    from ..benchmarks.bench.presets import PREFIX, presets

    found = presets()
    if as_json:
        rows = [{"name": p.name, "about": p.about, "path": str(p.path)} for p in found]
        emit({"presets": rows})
        return 0
    console = wide_console()
    for one in found:
        say(f"{PREFIX}{one.name}")
        for line in textwrap.wrap(one.about, min(console.width, 100) - 4):
            say(f"    {line}")
    folder = found[0].path.parent
    say(f"\nRun one: vlmfail bench {PREFIX}{found[0].name}. Files to copy and change: {folder}")
    return 0


def _split(items: list[str] | None) -> list[str] | None:
    """Return the parts of options that may be repeated and may name several things each."""
    if items is None:
        return None
    return [part.strip() for item in items for part in item.split(",") if part.strip()]


def _settings(items: list[str] | None) -> dict[str, Any] | None:
    """Return ``KEY=VALUE`` options; text with commas is a list, as it is for the other options."""
    if not items:
        return None
    found = pairs("--set", items)
    return {
        key: [_plain(part.strip()) for part in value.split(",") if part.strip()]
        if isinstance(value, str) and "," in value and not key.endswith("seed")
        else value
        for key, value in found.items()
    }


def _plain(text: str) -> Any:
    """Return a number, or true or false, where text is one: as an option's single value is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _show(result: Any, out: Path) -> None:
    """Print the tables for a reader."""
    from ..benchmarks.bench.text import terminal

    console = wide_console()
    for one in result.short:
        console.print()
        console.print(terminal(one))
    say("")
    for line in result.lines:
        if not any(line.startswith(f"{task} failed") for task in result.failed):
            say(line)
    say(f"page: {out / 'bench.html'} · all tables: {out / 'table.md'}")
