"""What the verbs share: one JSON object on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..core.errors import UsageError
from ..core.text import UNPRINTABLE, legible, tamed

if TYPE_CHECKING:
    from rich.console import Console

    from ..agents.progress import Progress


STEADY_SHARE = 0.05
"""Share of the budget that must have been drawn before the time left is told."""

STEADY_SECONDS = 20.0
"""Seconds of steady drawing before it is told."""


def emit(value: Any) -> None:
    """Print one strict JSON object on stdout, whatever the terminal's encoding.

    What a terminal would obey stands in it as an escape, which any reader of JSON undoes.
    """
    from ..runs.store import dump_json, to_plain

    text = dump_json(value, indent=1)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(to_plain(value), allow_nan=False, indent=1)
    typer.echo(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def tame(text: str) -> str:
    """Return foreign text as one line without what a terminal would obey or hide."""
    return tamed(text)


def say(text: object, *, err: bool = False) -> None:
    """Print text on stdout, or stderr, without what a terminal would obey: see `legible`."""
    typer.echo(legible(text), err=err)


def note(text: str) -> None:
    """Print a line on stderr."""
    say(text, err=True)


@contextlib.contextmanager
def reserved_stdout() -> Iterator[None]:
    """Send whatever models, plug-ins and native code print to stderr meanwhile.

    Stdout is then left to the one JSON object, whoever else likes to talk.
    """
    with contextlib.redirect_stdout(sys.stderr):
        try:
            saved = os.dup(1)
        except OSError:
            yield
            return
        try:
            os.dup2(2, 1)
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)


def worded(
    message: Warning | str,
    category: type[Warning],
    filename: str = "",
    lineno: int = 0,
    line: str | None = None,
) -> str:
    """Return a warning as one line for a terminal: what it says, not where in the code it is.

    It has the signature of `warnings.formatwarning`, in whose place it is put.
    """
    kind = "" if category is UserWarning else f" ({category.__name__})"
    return f"warning: {tame(str(message))}{kind}\n"


def pairs(option: str, items: Sequence[str]) -> dict[str, Any]:
    """Return the values of repeated ``KEY=VALUE`` options; values are JSON, else text.

    Raises:
        UsageError: For an item without a key or a key given twice.
    """
    values: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise UsageError(f"{option}: expected KEY=VALUE, got {item!r}")
        if key in values:
            raise UsageError(f"{option}: {key} is given twice")
        try:
            values[key] = json.loads(text)
        except ValueError:
            values[key] = text
    return values


def default_out(env: str, searcher: str, model: str, seed: int) -> Path:
    """Return a new folder ``runs/<domain>-<searcher>-<model>-s<seed>``, with a number if taken."""
    domain = re.sub(r"^VLMFail-(.+)-v\d+$", r"\1", env.removeprefix("vlmfail:")).lower()
    name = "-".join([*(_slug(part) for part in (domain, searcher, model)), f"s{seed}"])
    number = 1
    while True:
        path = Path("runs") / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return path
        number += 1


def default_model(env: str) -> str:
    """Return the spec of what an env tests when nothing is named."""
    from ..envs.options import EnvOptions
    from ..envs.registry import domain_defaults

    return str(EnvOptions(**domain_defaults(env)).model)


def _slug(text: str) -> str:
    last = text.replace("\\", "/").rsplit("/", 1)[-1].replace(".py:", "-")
    return re.sub(r"[^A-Za-z0-9._]+", "-", last).strip("-.")[:60] or "custom"


class Lines:
    """Says how far a search is in plain lines, at most one every `pause` seconds."""

    def __init__(self, pause: float = 20.0) -> None:
        """Say nothing before the first pause is over: short searches stay silent."""
        self._pause = pause
        self._last = time.monotonic()

    def say(self, text: str) -> None:
        """Say `text` on stderr, if it is time."""
        if time.monotonic() - self._last >= self._pause:
            self._last = time.monotonic()
            note(text)


class SearchProgress:
    """A bar on stderr: trials, failure rate, failure modes, time left.

    Where stderr is no terminal, a plain line now and then. Use as a context manager; call it with
    every `Progress`.
    """

    def __init__(self, console: Console | None = None) -> None:
        """Prepare the bar on `console` (default: stderr)."""
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        console = console or Console(stderr=True)
        self._lines = None if console.is_terminal else Lines()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[found]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._since: Progress | None = None
        self._task = self._bar.add_task("searching", total=None, found="starting")

    def __enter__(self) -> SearchProgress:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def __call__(self, state: Progress) -> None:
        """Show a search's state."""
        if self._since is None and state.calls > state.resumed:
            self._since = state
        found = f"{state.calls}/{state.budget} trials · {describe(state, self._since)}"
        self._bar.update(self._task, completed=state.calls, total=state.budget, found=found)
        self._say(found)

    def rerun(self, done: int, total: int, description: str = "re-running") -> None:
        """Show the state of a re-run, or of what else asks for fresh trials."""
        found = f"{done}/{total} fresh trials"
        self._bar.update(
            self._task, description=description, completed=done, total=total, found=found
        )
        self._say(found)

    def _say(self, text: str) -> None:
        if self._lines is not None:
            self._lines.say(text)


def describe(state: Progress, since: Progress | None = None) -> str:
    """Return a search's state in words.

    Args:
        state: The state.
        since: The state after the first trial, when kernels were compiled and connections stood:
            what is left is judged by what was drawn since then, once that is enough.
    """
    rate = f"{100 * state.failures / state.n:.0f} % fail" if state.n else "no data yet"
    modes = (
        "" if state.modes is None else f" · {state.modes} {'mode' if state.modes == 1 else 'modes'}"
    )
    drawn = 0 if since is None else state.calls - since.calls
    steady = 0.0 if since is None else state.seconds - since.seconds
    if drawn < max(1.0, STEADY_SHARE * state.budget) or steady < STEADY_SECONDS:
        return f"{rate}{modes}"
    minutes, seconds = divmod(round(steady / drawn * (state.budget - state.calls)), 60)
    return f"{rate}{modes} · {minutes}:{seconds:02d} left"


def wide_console() -> Console:
    """Return a console on stdout for tables; into a file or a pipe they are not squeezed."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=140)


def facts(values: Mapping[str, Any]) -> None:
    """Print aligned ``name  value`` lines on stdout; None is left out."""
    shown = {name: value for name, value in values.items() if value not in (None, "")}
    width = max((len(name) for name in shown), default=0)
    for name, value in shown.items():
        lines = legible(value).split("\n")
        say(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            say(f"{'':<{width}}  {line}")
