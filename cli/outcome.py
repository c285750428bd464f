"""The end of a search or a resumed one: re-run, report, result, exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..core.errors import UsageError
from .console import emit, note, reserved_stdout, wide_console

if TYPE_CHECKING:
    from ..runs.run import RunData
    from .console import SearchProgress

FINDING = 1
INTERRUPTED = 130


def check_fail_on(modes: int | None) -> None:
    """Refuse a number of modes that every run would reach."""
    if modes is not None and modes < 1:
        raise UsageError(f"--fail-on-modes: expected at least 1, got {modes}")


def conclude(
    run: RunData,
    *,
    report: bool,
    fail_on_modes: int | None,
    as_json: bool,
    progress: SearchProgress | None = None,
) -> int:
    """Re-run the top modes if asked, write the report, print the result, return the exit code.

    The run is closed at the end.
    """
    from ..analysis.metrics import is_fixed
    from ..analysis.summary import summarise

    interrupted = run.status == "interrupted"
    with reserved_stdout():
        if fail_on_modes is not None and is_fixed(run) and not interrupted:
            run = _rerun(run, progress)
        page = None
        if report:
            from ..reports.html import write_report

            page = write_report(run)
        result = summarise(run)
    result["report"] = None if page is None else str(page)
    if progress is not None:
        progress.__exit__()
    if as_json:
        emit(result)
    else:
        show(run, page)
    run.close()
    if interrupted:
        kept = f" ({result['unfinished']} more in an unfinished batch)" * bool(result["unfinished"])
        note(
            f"interrupted after {result['calls']} trials{kept}; "
            f"continue with: vlmfail resume {run.path}"
        )
        return INTERRUPTED
    confirmed = result["metrics"]["confirmed_modes"]
    if fail_on_modes is not None and confirmed >= fail_on_modes:
        note(f"{confirmed} confirmed failure modes, --fail-on-modes {fail_on_modes}")
        return FINDING
    return 0


def _rerun(run: RunData, progress: SearchProgress | None) -> RunData:
    from ..analysis.rerun import check_same_system, rerun_modes
    from ..models.registry import make_model
    from ..runs.run import RunData
    from ..runs.store import RunStore

    domain, model = domain_of(run), make_model(run.config["model"]["spec"])
    check_same_system(run, domain, model)
    run.close()
    writable = RunData(RunStore.open(run.path, write=True))
    step = None if progress is None else progress.rerun
    return rerun_modes(writable, domain, model, progress=step)


def domain_of(run: RunData) -> Any:
    """Return the domain that a run was made in."""
    from ..envs.registry import domain_options, make_domain

    env = str(run.config["env"])
    known = domain_options(env)
    options = {k: v for k, v in run.config.get("env_args", {}).items() if k in known}
    return make_domain(env, **options)


def show(run: RunData, page: Path | None = None, limit: int = 10) -> None:
    """Print a run's findings for a reader."""
    from ..analysis.metrics import compute_metrics, constant_answer, outcome_counts
    from ..analysis.modes import failure_modes
    from ..reports import wording
    from ..reports.table import modes_table

    modes = failure_modes(run)
    metrics = compute_metrics(run)
    typer.echo(wording.headline(run, modes))
    if modes:
        console = wide_console()
        console.print()
        console.print(modes_table(modes, limit))
        if len(modes) > limit:
            typer.echo(f"… and {len(modes) - limit} more")
    counts = [f"{number} {wording.words(name)}" for name, number in outcome_counts(run).items()]
    counts = [text for text in counts if not text.startswith("0 ")]
    div = "no data" if metrics["div"] is None else f"{metrics['div']:.2f}"
    typer.echo("")
    parts = [
        f"{run.calls} of {run.budget} trials, {run.status}",
        ", ".join(counts) or "no outcomes",
        f"PFM {wording.percent(metrics['pfm'])}",
        f"MFR {wording.percent(metrics['mfr'])}",
        f"Div {div}",
    ]
    typer.echo(" · ".join(parts))
    reason = run.store.meta("reason")
    if run.status not in ("finished", "interrupted") and reason:
        typer.echo(f"{run.status}: {reason}")
    notice = constant_answer(run)
    if notice:
        typer.echo(f"note: {notice}")
    typer.echo(f"run: {run.path}" + (f" · report: {page}" if page else ""))
