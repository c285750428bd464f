"""`vlmfail runs`: list runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import RunFolderError
from ..core.text import legible
from .console import emit, say, wide_console


def runs(
    folder: Annotated[Path, typer.Argument(help="Folder that holds run folders.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """List the runs in a folder with their state and what they found."""
    from ..runs.store import RunStore

    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder} is a file: give a folder that holds runs")
    if not folder.exists() and folder != Path("runs"):
        raise RunFolderError(f"there is no folder {folder}: give a folder that holds runs")
    places = [folder, *(sorted(folder.iterdir()) if folder.is_dir() else [])]
    rows = [_row(place) for place in places if RunStore.is_run(place)]
    if as_json:
        emit({"folder": str(folder), "runs": rows})
    elif rows:
        _print(rows)
    else:
        say(
            f"no runs in {folder}: name the folder that holds them (vlmfail runs results), "
            "or make one with vlmfail search"
        )
    return 0


def _row(place: Path) -> dict[str, Any]:
    from ..analysis.modes import failure_modes, suspicions
    from ..analysis.summary import unfinished
    from ..runs.run import RunData

    try:
        run = RunData.open(place)
    except RunFolderError as error:
        return {"run": str(place), "status": "unreadable", "problem": str(error)}
    modes = failure_modes(run)
    config = run.config
    row = {
        "run": str(place),
        "status": _status(place, run.status),
        "env": config.get("env"),
        "searcher": config["searcher"].get("spec") or config["searcher"].get("name"),
        "model": config["model"].get("spec") or config["model"].get("name"),
        "seed": config.get("seed"),
        "calls": run.calls,
        "unfinished": unfinished(run),
        "budget": run.budget,
        "failure_modes": len(modes),
        "suspicions": len(suspicions(run)),
        "confirmed_modes": sum(mode.confirmed is True for mode in modes),
    }
    run.close()
    return row


def _status(place: Path, status: str) -> str:
    """Return the status; a run that says *running* and whose lock is free was killed."""
    from ..runs.store import RunStore

    if status != "running":
        return status
    try:
        RunStore.open(place, write=True).close()
    except RunFolderError:
        return "running"
    return "killed"


def _print(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    found = ("modes", "suspicions", "confirmed")
    for name in ("run", "status", "searcher", "model", "trials", *found):
        table.add_column(name, overflow="fold", no_wrap=name == "run")
    for row in rows:
        trials = f"{row['calls']}/{row['budget']}" if "calls" in row else ""
        if row.get("unfinished"):  # finished trials of a batch that was not: resume counts them
            trials += f" (+{row['unfinished']})"
        cells = [
            row["run"],
            row["status"],
            row.get("searcher", ""),
            row.get("model", ""),
            trials,
            row.get("failure_modes", ""),
            row.get("suspicions", ""),
            row.get("confirmed_modes", ""),
        ]
        table.add_row(*(Text(legible(cell)) for cell in cells))
    wide_console().print(table)
