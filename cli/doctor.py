"""`vlmfail doctor`: what works here, and which models answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import emit, note, reserved_stdout, say, tame, wide_console

if TYPE_CHECKING:
    from ..models.probe import Probe

LONGEST_NOTE = 600
"""Characters shown of what went wrong with a model; ``--json`` has it whole."""


def doctor(
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            "--model",
            "-m",
            help="Ask this model one cheap question; may be repeated. @FILE: one spec a line.",
        ),
    ] = None,
    simpler_env: Annotated[
        str | None,
        typer.Option(
            help="Try SimplerEnv in this interpreter, with each object.", metavar="PYTHON"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Check this machine, that models answer and see pictures, and that SimplerEnv works.

    Exit code 3 if one does not, 2 if a spec cannot be one.
    """
    from ..envs.diagnosis import diagnose, try_simpler_env

    specs = _specs(models or [])
    with reserved_stdout():
        checks = [] if specs or simpler_env else diagnose()
        if simpler_env:
            note(f"starting SimplerEnv in {tame(simpler_env)} ...")
            checks.append(try_simpler_env(simpler_env))
    probes = [_probe(spec) for spec in specs]
    fine = all(check.fine or not check.needed for check in checks) and all(
        probe.fine for probe in probes
    )
    code = 2 if any(probe.mistaken for probe in probes) else 0 if fine else 3
    if as_json:
        emit(
            {
                "fine": fine,
                "checks": [check.to_json() for check in checks],
                "models": [probe.to_json() for probe in probes],
            }
        )
        return code
    if checks:
        _print_checks(checks)
    if checks and not simpler_env:
        note("To ask models: vlmfail doctor --models tiny-vlm --models openai:MODEL")
    if probes:
        _print_probes(probes)
    return code


def _specs(given: list[str]) -> list[str]:
    from ..core.errors import UsageError

    specs: list[str] = []
    for item in given:
        if not item.startswith("@"):
            specs.append(item)
            continue
        try:
            lines = Path(item[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--models {item}: the file cannot be read ({error})") from error
        found = [line.strip() for line in lines]
        specs += [line for line in found if line and not line.startswith("#")]
    return list(dict.fromkeys(specs))


def _probe(spec: str) -> Probe:
    from ..envs.diagnosis import road_questions
    from ..models.probe import probe_model

    note(f"asking {tame(spec)} ...")
    with reserved_stdout():
        return probe_model(spec, further=road_questions)


def _print_checks(checks: list[Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "check", "finding", box=None)
    for check in checks:
        mark = "[green]ok[/]" if check.fine else "[red]no[/]"
        table.add_row(
            mark if check.needed or check.fine else "[dim]-[/]",
            escape(tame(check.name)),
            escape(tame(check.text)),
        )
    wide_console().print(table)


def _print_probes(probes: list[Probe]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("model", "answers", "sees the picture", "seconds", "tokens", "$", box=None)
    for probe in probes:
        sees = {True: "yes", False: "[red]no[/]", None: "-"}[probe.sees]
        cost = "unpriced" if probe.priced is False else "?"
        table.add_row(
            escape(tame(probe.model)),
            "yes" if probe.answers else f"[red]{probe.outcome}[/]",
            sees,
            f"{probe.seconds:.1f}",
            "?" if probe.tokens is None else str(probe.tokens),
            cost if probe.dollars is None else f"{probe.dollars:.4f}",
        )
    wide_console().print(table)
    for probe in probes:
        said = tame(probe.note)
        if said:
            # Below the table and not by it: neither is cut to a column's width.
            short = said if len(said) <= LONGEST_NOTE else said[: LONGEST_NOTE - 4] + " ..."
            say(f"{tame(probe.model)}: {short}")
