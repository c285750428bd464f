"""The end of a search or a resumed one: re-run, report, result, exit code."""

from __future__ import annotations

import contextlib
import functools
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import UsageError
from ..models.spending import UNKEPT
from ..runs.caps import higher_cap, with_options
from ..runs.interruption import is_interruption
from .console import emit, note, reserved_stdout, say, wide_console

if TYPE_CHECKING:
    from .._facade import Run
    from ..runs.run import RunData
    from .console import SearchProgress

Audit = Annotated[
    bool,
    typer.Option(
        "--audit",
        help="Try at the end whether the reported modes are true and minimal: 20 fresh scenes "
        "each, 10 without each concept, outside the budget.",
    ),
]

FINDING = 1
FAULT = 3
INTERRUPTED = 130


def check_fail_on(modes: int | None) -> None:
    """Refuse a number of modes that every run would reach."""
    if modes is not None and modes < 1:
        raise UsageError(f"--fail-on-modes: expected at least 1, got {modes}")


def conclude(
    run: Run,
    *,
    report: bool,
    confirm: bool,
    fail_on_modes: int | None,
    as_json: bool,
    audit: bool = False,
    concurrency: int = 1,
    progress: SearchProgress | None = None,
) -> int:
    """Re-run the top modes and audit the reported ones if asked; report, result, exit code.

    The run is closed at the end.
    """
    try:
        return _conclude(run, report, confirm, audit, fail_on_modes, as_json, concurrency, progress)
    except BaseException as error:
        if not is_interruption(error):
            raise
        # The search itself is over: what is left to do can be done without it.
        if progress is not None:
            progress.__exit__()
        wanted = " --confirm" * confirm + " --audit" * audit
        wanted += "" if fail_on_modes is None else f" --fail-on-modes {fail_on_modes}"
        note(
            "interrupted; every trial is stored and none is run again: go on with "
            f"vlmfail resume {shlex.quote(str(run.path))}{wanted}"
        )
        run.close()
        return INTERRUPTED


def _conclude(
    run: Run,
    report: bool,
    confirm: bool,
    audit: bool,
    fail_on_modes: int | None,
    as_json: bool,
    concurrency: int,
    progress: SearchProgress | None,
) -> int:
    from ..analysis.metrics import is_fixed
    from ..analysis.modes import surest
    from ..analysis.summary import summarise
    from ..reports import wording

    interrupted = run.status == "interrupted"
    with reserved_stdout():
        if confirm and not surest(run, 1):
            note("there is no failure mode and no suspicion to try again")
        wanted = confirm or (fail_on_modes is not None and is_fixed(run))
        if wanted and not interrupted:
            told = None if progress is None else progress.rerun
            run = run.confirm(concurrency=concurrency, progress=told)
        if audit and not interrupted:
            run = _audited(run, concurrency, progress)
        page = None
        if report:
            from ..reports.html import write_report

            page = write_report(run)
        result = summarise(run)
        untried = wording.can_be_tried(run, run.failure_modes)
    result["report"] = None if page is None else str(page)
    if progress is not None:
        progress.__exit__()
    if as_json:
        emit(result)
    else:
        show(run, page)
    if interrupted:
        note(_stopped(run, result["calls"], result["unfinished"]))
        run.close()
        return INTERRUPTED
    unkept = f"{run.store.meta('reason')}; {to_go_on(run)}" if _is_unkept(run) else None
    run.close()
    confirmed = result["metrics"]["confirmed_modes"]
    if untried and not as_json:
        again = f"vlmfail resume {shlex.quote(str(run.path))} --confirm"
        say(f"try them on {wording.fresh_trials(run)}: {again}")
    if unkept and as_json:
        note(unkept)
    if fail_on_modes is not None and confirmed >= fail_on_modes:
        found = wording.plural(confirmed, "confirmed failure mode")
        note(f"{found}, --fail-on-modes {fail_on_modes}")
        return FINDING
    return FAULT if unkept else 0


def _audited(run: Run, concurrency: int, progress: SearchProgress | None) -> Run:
    """Audit a run, and say what there is to be said of it."""
    from ..analysis.audited import is_audited
    from ..analysis.planted import is_planted
    from ..analysis.reported import reported_modes, reports_of_its_own

    if is_planted(run):
        note("a planted landscape is audited by its true rates: that needs no trial")
        return run
    told = None
    if progress is not None:
        told = functools.partial(progress.rerun, description="auditing")
    run = run.audit(concurrency=concurrency, progress=told)
    if not reported_modes(run):
        note(
            "nothing to audit: no mode is reported"
            if reports_of_its_own(run)
            else "nothing to audit: the searcher reports no modes of its own, and none is "
            "confirmed; --confirm tries the surest"
        )
    elif not is_audited(run):
        again = f"vlmfail resume {shlex.quote(str(run.path))} --audit"
        note(f"a cap stopped the audit; with a higher one it goes on: {again}")
    return run


@contextlib.contextmanager
def going_on(folder: Path) -> Iterator[None]:
    """Say how a run goes on that was interrupted before it could be read, and pass that on."""
    try:
        yield
    except BaseException as error:
        from ..runs.store import RunStore

        if is_interruption(error) and RunStore.is_run(folder):
            again = f"vlmfail resume {shlex.quote(str(folder))}"
            note(f"what was stored in {folder} is kept; go on with: {again}")
        raise


def _stopped(run: RunData, calls: int, unfinished: int) -> str:
    """Return how far an interrupted run came, what is kept of it and how it goes on."""
    go_on = f"go on with: vlmfail resume {shlex.quote(str(run.path))}"
    stored = calls + unfinished
    if not stored:
        return f"interrupted before the first trial was stored; {go_on}"
    kept = "1 trial is" if stored == 1 else f"{stored} trials are"
    share = "" if not unfinished else f" ({_of_batch(calls, unfinished)})"
    return f"interrupted: {kept} stored{share}, and none is run again; {go_on}"


def _of_batch(calls: int, unfinished: int) -> str:
    which = f"{unfinished} of them" if calls else "all"
    return f"{which} of a batch that has not ended: the results count them when it has"


def to_go_on(run: RunData) -> str:
    """Return what to type so that a capped run goes on."""
    path, caps = shlex.quote(str(run.path)), run.config.get("caps") or {}
    if not _is_unkept(run):
        cap = higher_cap(caps, run.store.meta("reason") or "")
        return f"to go on, with this or another higher cap: vlmfail resume {path} {cap}".rstrip()
    # Neither tokens nor money can be counted where the usage is not told.
    requests = caps.get("max_requests") or run.budget
    others = {"--max-total-tokens": None, "--max-dollars": None, "--max-requests": requests}
    command = with_options(run.config.get("command"), {**others, "--out": run.path})
    again = command or f"the same search again, into {path}, with --max-requests alone"
    return f"to go on, capped by requests: {again}"


def _is_unkept(run: RunData) -> bool:
    return run.status == "capped" and UNKEPT in (run.store.meta("reason") or "")


def show(run: RunData, page: Path | None = None, limit: int = 10) -> None:
    """Print a run's findings for a reader."""
    from ..analysis.metrics import compute_metrics, constant_answer, is_fixed, outcome_counts
    from ..analysis.modes import failure_modes
    from ..analysis.summary import unfinished
    from ..reports import wording
    from ..reports.table import modes_table

    modes = failure_modes(run)
    metrics = compute_metrics(run)
    say(wording.headline(run, modes))
    if modes:
        console = wide_console()
        console.print()
        console.print(modes_table(modes, limit, wording.fresh_trials(run)))
        if len(modes) > limit:
            say(f"… and {len(modes) - limit} more")
        say(wording.what_confirms(run.threshold, wording.fresh_trials(run)))
    counts = [f"{number} {wording.words(name)}" for name, number in outcome_counts(run).items()]
    counts = [text for text in counts if not text.startswith("0 ")]
    div = "needs two modes" if metrics["div"] is None else f"{metrics['div']:.2f}"
    say("")
    left = unfinished(run)
    more = f" and {left} of a batch that has not ended" if left else ""
    parts = [
        f"{run.calls} of {run.budget} trials{more}, {run.status}",
        ", ".join(counts) or "no outcomes",
        f"PFM {wording.percent(metrics['pfm']) if is_fixed(run) else 'not defined'}",
        f"MFR {wording.percent(metrics['mfr'])}",
        f"Div {div}",
    ]
    if "tcf" in metrics:
        covered = metrics["coverage"]
        parts = [
            *parts[:2],
            f"FR {wording.percent(metrics['fr'])}",
            f"TC {wording.percent(metrics['tc'])}",
            f"TCF {wording.percent(metrics['tcf'])} of {covered['bins']} bins",
            f"FOC {covered['objects_failed']} of {covered['objects']} objects",
        ]
    say(" · ".join(parts))
    if "planted" in metrics:
        say(wording.by_true_rates(metrics))
    if "audit" in metrics:
        say(wording.by_audit(metrics))
    reason = wording.why_ended(run)
    if reason:
        say(f"{run.status}: {reason}")
    if run.status == "capped":
        say(to_go_on(run))
    notice = constant_answer(run)
    if notice:
        say(f"note: {notice}")
    if not is_fixed(run):
        say(
            f"note: PFM counts candidates that got {run.trials} trials, once; here some got "
            "another number, or came again"
        )
    say(f"run: {run.path}" + (f" · report: {page}" if page else ""))
