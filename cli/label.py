"""`vlmfail label`: a person flags pictures, questions and expected answers of a run."""

from __future__ import annotations

import contextlib
import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import UsageError
from ..core.text import legible
from .console import emit, facts, reserved_stdout, say, wide_console


def label(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    reviewer: Annotated[
        str | None, typer.Option(help="Your name; your account's by default.")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Trials to label.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Which trials; the same for all reviewers.")] = 0,
    failures: Annotated[bool, typer.Option(help="Only trials that failed.")] = False,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    summary: Annotated[
        bool, typer.Option(help="Print what has been labelled; serve nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Label a sample of a run's trials on a page of this machine, until Ctrl-C."""
    from ..analysis.planted import is_planted
    from ..runs.run import RunData
    from ..ui.label.labels import LabelStore, reviewer_name
    from ..ui.label.summary import label_summary, sample_trials

    data = RunData.open(run)
    if summary:
        found = label_summary(data)
        emit(found) if as_json else _print(found)
        return 0
    if any("episode" in record.scene for record in data.records.values()):
        raise UsageError(
            f"{run} holds episodes, which have no question to label: `vlmfail report` shows them"
        )
    if is_planted(data):
        raise UsageError(f"{run} searched a planted landscape, which has nothing to label")
    from ..models.serving_server import HOST, bind
    from ..models.serving_server import run as serve
    from ..ui.label.server import make_label_app

    name = reviewer_name(_account() if reviewer is None else reviewer)
    places = sample_trials(data, sample, seed, failures=failures)
    with reserved_stdout():
        app = make_label_app(data, places, name)
    own = LabelStore(data.path).of(name)
    done = sum(place in own for place in places)
    sock = bind(port)
    url = f"http://{HOST}:{sock.getsockname()[1]}/"
    with contextlib.ExitStack() as stack:

        def ready() -> None:
            if as_json:
                emit({"url": url, "reviewer": name, "trials": len(places), "labelled": done})
            else:
                say(
                    f"{name}, open {url} in a browser: {done} of {len(places)} trials are "
                    "labelled. Ctrl-C ends; the same command goes on."
                )
            stack.enter_context(reserved_stdout())

        serve(app, sock, ready, purpose="the labelling page")
    return 0


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without an entry
        return "reviewer"


def _print(found: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ..reports.wording import plural
    from ..ui.label.labels import FLAGS

    if found["unreadable"]:
        rows = plural(found["unreadable"], "row")
        say(f"passed over {rows} of labels.sqlite that cannot be read as a label", err=True)
    if not found["labels"]:
        say(f"no labels in {found['run']}: vlmfail label {found['run']}")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("flag")
    for name in found["reviewers"]:
        table.add_column(Text(legible(name)), justify="right")
    table.add_column("all", justify="right")
    for flag in FLAGS:
        cells = [str(own["flags"][flag.id]) for own in found["reviewers"].values()]
        table.add_row(flag.text, *cells, str(found["flags"][flag.id]))
    wide_console().print(table)
    failed = found["failures"]
    facts(
        {
            "labelled": f"{found['trials']} trials, {found['labels']} labels",
            **{
                f"agreement {' / '.join(pair['reviewers'])}": _agreement(pair)
                for pair in found["agreement"]
            },
            "failures blamed on picture or label": (
                f"{failed['blamed_by_any']} of {failed['labelled']} labelled failures by anybody "
                f"({_percent(failed['share_by_any'])}), {failed['blamed_by_all']} by everybody "
                f"({_percent(failed['share_by_all'])})"
                if failed["labelled"]
                else "no failure is labelled"
            ),
        }
    )


def _agreement(pair: dict[str, Any]) -> str:
    if not pair["trials"]:
        return "no trial in common"
    kappa = "not defined" if pair["kappa"] is None else f"{pair['kappa']:.2f}"
    return f"{_percent(pair['share'])} ({pair['equal']} of {pair['trials']}), Cohen's kappa {kappa}"


def _percent(share: float | None) -> str:
    return "no data" if share is None else f"{100 * share:.0f} %"
