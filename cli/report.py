"""`vlmfail report`: write the HTML report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import emit, reserved_stdout
from .outcome import show


def report(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    out: Annotated[
        Path | None, typer.Option(help="The file; report.html in the run folder by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Write a run's report as one self-contained HTML page."""
    from ..analysis.summary import summarise
    from ..reports.html import write_report
    from ..runs.run import RunData

    data = RunData.open(run)
    with reserved_stdout():
        page = write_report(data, out)
    if as_json:
        emit({**summarise(data), "report": str(page)})
    else:
        show(data, page)
    return 0
