"""`vlmfail replay`: show one trial exactly as it was."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import UsageError
from .console import emit, facts, reserved_stdout, say

if TYPE_CHECKING:
    from ..core import TrialRecord
    from ..runs.run import RunData


def replay(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    trial: Annotated[
        str,
        typer.Argument(
            help="Number in log order, from 1 (trials of a batch that has not ended come last), "
            "or KEY#INDEX (rain+night#0)."
        ),
    ],
    rerender: Annotated[
        bool,
        typer.Option(
            help="Sample and render the scene again, or play the episode again, and compare."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show one trial: what the model was asked and shown, what it said, what was right."""
    from ..runs.run import RunData

    data = RunData.open(run)
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
        "rule": values["rule"],
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
