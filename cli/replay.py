"""`vlmfail replay`: show one trial exactly as it was."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import UsageError
from ..core.text import legible, tamed
from .console import emit, facts, reserved_stdout, say, wide_console

if TYPE_CHECKING:
    from ..analysis.failing import NumberedTrial
    from ..core import TrialRecord
    from ..runs.run import RunData

LISTED_TEXT = 160
"""Characters of a reason and of a reply in a list."""


def replay(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    trial: Annotated[
        str | None,
        typer.Argument(
            help="Number in log order, from 1 (trials of a batch that has not ended come last), "
            "KEY#INDEX (rain+night#0), or a candidate's KEY, which lists its trials."
        ),
    ] = None,
    rerender: Annotated[
        bool,
        typer.Option(
            help="Sample and render the scene again, or play the episode again, and compare."
        ),
    ] = False,
    failures: Annotated[
        bool,
        typer.Option("--failures", help="List all failing trials, or those of KEY, with numbers."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show one trial: what the model was asked and shown, what it said, what was right."""
    from ..runs.run import RunData

    data = RunData.open(run)
    listed = _listed_key(data, trial, failures)
    if failures or listed is not None or trial is None:
        if trial is None and not failures:
            raise UsageError("name a trial, by its number or KEY#INDEX, or give --failures")
        if rerender:
            raise UsageError("--rerender draws one trial again: give its number or KEY#INDEX")
        return _list(data, listed, failures, as_json)
    record = find_trial(data, trial)
    path = None
    if record.trial.picture:
        path = data.store.picture_path(record.trial.picture)
    values: dict[str, Any] = {
        "run": str(data.path),
        **asdict(record.trial),
        **{k: v for k, v in asdict(record).items() if k != "trial"},
        "picture": None if path is None else str(path),
        "picture_sha256": record.trial.picture,
        "picture_missing": path is not None and not path.is_file(),
    }
    if rerender:
        with reserved_stdout():
            values["rerender"] = _rerender(data, record)
    if as_json:
        emit(values)
    else:
        _print(values)
    return 0 if not rerender or values["rerender"]["same"] else 1


def _listed_key(run: RunData, name: str | None, failures: bool) -> str | None:
    """Return the key of the candidate whose trials are to be listed; None for one trial or all."""
    if name is None:
        return None
    key, _, index = name.rpartition("#")
    if name.isdigit() or (key and index.isdigit()):
        if failures:
            raise UsageError("--failures lists trials: give no trial, or a candidate's KEY")
        return None
    return _known_key(run, name)


def _list(run: RunData, key: str | None, failures: bool, as_json: bool) -> int:
    """Print the trials of a candidate, or the failing ones, with their numbers."""
    from ..analysis.failing import numbered_trials

    found = [one for one in numbered_trials(run, key) if one.failed or not failures]
    rows = [_listed_row(run, one) for one in found]
    if as_json:
        emit({"run": str(run.path), "key": key, "failures_only": failures, "trials": rows})
    elif rows:
        _print_list(rows, named=key is None)
        say(f"show one: vlmfail replay {run.path} NUMBER")
    else:
        say(f"no failing trial{'' if key is None else f' of {legible(key)}'} in {run.path}")
    return 0


def _listed_row(run: RunData, one: NumberedTrial) -> dict[str, Any]:
    trial = one.record.trial
    return {
        "number": one.number,
        "key": trial.key,
        "index": trial.index,
        "candidate": run.candidate(trial.key),
        "outcome": str(trial.outcome),
        "failed": one.failed,
        "fresh": one.fresh,
        "answer": trial.answer,
        "expected": trial.expected,
        "rule": trial.rule,
        "reason": str(one.record.scene.get("truth_reason") or trial.note),
        "reply": trial.reply,
    }


def _print_list(rows: list[dict[str, Any]], named: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("trial", justify="right", no_wrap=True)
    columns = ("candidate", "outcome", "answered", "right", "reason", "reply")
    for name in columns if named else columns[1:]:
        table.add_column(name, overflow="fold", no_wrap=name == "candidate")
    for row in rows:
        cells = [
            row["key"],
            row["outcome"] + (" (fresh)" if row["fresh"] else ""),
            row["answer"] or "",
            row["expected"] or "",
            tamed(row["reason"], LISTED_TEXT),
            tamed(row["reply"], LISTED_TEXT),
        ]
        shown = cells if named else cells[1:]
        table.add_row(str(row["number"]), *(Text(legible(cell)) for cell in shown))
    wide_console().print(table)


def find_trial(run: RunData, name: str) -> TrialRecord:
    """Return the trial of a number (from 1, see `RunData.places`) or of ``KEY#INDEX``.

    Raises:
        UsageError: When there is none, with what there is.
    """
    if name.isdigit():
        number = int(name)
        if not 1 <= number <= len(run.places):
            raise UsageError(
                f"there is no trial {number}: {run.path} holds {len(run.places)}, from 1"
            )
        place = run.places[number - 1]
    else:
        key, _, index = name.rpartition("#")
        if not key or not index.isdigit():
            raise UsageError(f"{name!r} is no trial: give its number, from 1, or KEY#INDEX")
        place = (_known_key(run, key), int(index))
    record = run.records.get(place)
    if record is None:
        indices = sorted(i for k, i in run.records if k == place[0])
        raise UsageError(
            f"there is no trial {place[0]}#{place[1]}: "
            + (f"its trials are {indices[0]} to {indices[-1]}" if indices else "unknown candidate")
        )
    return record


def _known_key(run: RunData, key: str) -> str:
    """Return the run's own key of a set whose concepts are written in any order."""
    from ..core import UnknownNameError

    keys = {k for k, _ in run.records}
    wanted = frozenset(key.split("+"))
    for known in sorted(keys):
        if known == key or frozenset(known.split("+")) == wanted:
            return known
    raise UnknownNameError("candidate", key, keys)


def _rerender(run: RunData, record: TrialRecord) -> dict[str, Any]:
    from .._facade import domain_of
    from ..core import plays_episodes
    from ..envs.trials import prepare_trial

    domain = domain_of(run)
    key = record.trial.key
    named = run.candidate(key)
    if named is None:
        raise UsageError(f"the run does not name {key}: its scene cannot be sampled again")
    candidate = domain.space.from_json(named)
    if plays_episodes(domain):
        return _play_again(run, domain, candidate, record)
    prepared = prepare_trial(
        domain,
        domain.make_renderer(str(run.config["renderer"])),
        candidate,
        record.trial.index,
        int(run.config["seed"]),
    )
    digest = None if prepared.picture is None else prepared.picture.sha256
    return {"same": digest == record.trial.picture, "picture_sha256": digest}


def _play_again(run: RunData, domain: Any, candidate: Any, record: TrialRecord) -> dict[str, Any]:
    from ..envs.episodes import DIGEST, Player

    spec = run.config["model"]["spec"]
    if spec is None:
        raise UsageError(f"{run.path} was made with a policy object: it cannot be made again here")
    player = Player(domain, spec)
    try:
        again, _ = player((candidate, record.trial.index, int(run.config["seed"])))
    finally:
        player.close()
    alike = (
        again.trial.outcome is record.trial.outcome
        and again.trial.picture == record.trial.picture
        and again.scene.get(DIGEST) == record.scene.get(DIGEST)
    )
    return {
        "same": alike,
        "picture_sha256": again.trial.picture,
        "outcome": again.trial.outcome,
        "digest": again.scene.get(DIGEST),
    }


def _print(values: dict[str, Any]) -> None:
    spoken = {
        "trial": f"{values['key']}#{values['index']}",
        "outcome": values["outcome"],
        "right": _right(values),
        "answered": values["answer"],
        "error": values["direction"],
        "deciding rule": values["rule"],
        "truth": values["scene"].get("truth_reason"),
        "note": values["note"],
        **_episode(values),
        "true rate": _true_rate(values),
        "picture": (values["picture"] or "none")
        + (" (missing)" if values["picture_missing"] else ""),
    }
    if spoken["true rate"] is not None:  # a planted landscape has no pictures
        del spoken["picture"]
    if "rerender" in values:
        same, what = values["rerender"]["same"], "picture"
        if "digest" in values["rerender"]:
            what = "episode" if spoken["true rate"] is None else "outcome"
        spoken["rerendered"] = f"the same {what}" if same else f"another {what}"
    facts(spoken)
    for title, name in (("request", "prompt"), ("reply", "reply")):
        if values[name]:
            say(f"\n--- {title} ---\n{values[name]}")


def _episode(values: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be said of an episode."""
    episode = values["scene"].get("episode")
    if not isinstance(episode, dict):
        return {}
    contacts = ", ".join(f"{name} from step {n}" for name, n in episode["contacts"].items())
    return {
        "steps": episode["steps"],
        "success": f"once {_yes(episode['success_once'])}, at the end "
        f"{_yes(episode['success_at_end'])}",
        "contacts": contacts or "none but the table",
    }


def _true_rate(values: dict[str, Any]) -> str | None:
    """Return the true failure rate of a set on a planted landscape."""
    rate = values["scene"].get("rate")
    return f"{rate:.3f}" if isinstance(rate, float) else None


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _right(values: dict[str, Any]) -> str:
    """Return the accepted options, the preferred one first."""
    others = [option for option in values["accepted"] if option != values["expected"]]
    return " or ".join([*filter(None, [values["expected"]]), *others])
