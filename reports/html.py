"""The HTML report: one self-contained page of a run."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis.audited import audit_of, by_verdict
from ..analysis.episodes import PlayedEpisode, has_episodes, played, rates_by_object, reasons
from ..analysis.failing import failing_trials, numbers
from ..analysis.metrics import (
    compute_metrics,
    concept_rates,
    constant_answer,
    cumulative_failures,
    cumulative_modes,
    evaluated,
    outcome_counts,
)
from ..analysis.modes import FailureMode, failure_modes, suspicions
from ..analysis.planted import is_planted
from ..analysis.repeats import find_repeats
from ..analysis.shares import Share
from ..analysis.summary import seconds, spent
from ..analysis.tried import tried_of
from ..analysis.vector_modes import is_vector_run
from ..core import Outcome, RunFolderError, Trial
from ..core.files import write_atomically
from ..runs.run import RunData
from ..runs.spending import total_saved
from ..runs.store import dump_json
from . import wording
from .pictures import thumbnail

DETAILED_MODES = 12
"""Modes that are shown with pictures; the others stand in a table."""

LISTED_MODES = 200
PICTURES = 3

STRIPS = 12
"""Failing episodes whose strip is shown."""

STRIP_WIDTH = 1200
"""Width of a strip on the page, pixels."""

MANY_LOST = 0.1
"""Share of errors and timeouts among the trials from which the reader is told."""

LONG_REPLY = 280

LISTED_SUSPICIONS = 100
"""Candidates that failed in too few trials for a mode, in a collapsed table."""

LISTED_FAILURES = 300
"""Failing trials in the collapsed list of all."""

LISTED_REPLY = 240
"""Characters of a reply there."""

HERE = Path(__file__).parent


def write_report(run: RunData, path: str | os.PathLike[str] | None = None) -> Path:
    """Write the report of a run and return where it is.

    Args:
        run: The run.
        path: The file; ``report.html`` in the run's folder by default.

    Raises:
        RunFolderError: When the file cannot be written.
    """
    target = Path(path) if path is not None else run.path / "report.html"
    beside = target.resolve().parent == run.path.resolve()
    page = render_report(run, link_pictures=beside)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, page.encode("utf-8"))
        # Unlike the run's own files, a report is made to be handed on.
        target.chmod(0o644)
    except OSError as error:
        raise RunFolderError(
            f"cannot write the report {target} ({error.strerror}): choose another place with --out"
        ) from error
    return target


def render_report(run: RunData, *, link_pictures: bool = False) -> str:
    """Return the page as text.

    Everything that a model, a data set or a user wrote is escaped by the template engine; the
    page loads nothing from anywhere and runs no script.

    Args:
        run: The run.
        link_pictures: Whether pictures link to the exact files in ``images/`` beside the page.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        words=wording.words, clean=wording.clean, percent=wording.percent, place=_place
    )
    # Our own file, the only markup that is not escaped beside the plot.
    css = Markup((HERE / "report.css").read_text(encoding="utf-8"))
    page = environment.get_template("report.html.jinja").render(
        css=css, **view(run, link_pictures=link_pictures)
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def view(run: RunData, *, link_pictures: bool = False) -> dict[str, Any]:
    """Return what the template shows."""
    from markupsafe import Markup

    modes, suspected = failure_modes(run), suspicions(run)
    metrics = compute_metrics(run)
    fresh = wording.fresh_trials(run)
    place_numbers = numbers(run)
    failures = cumulative_failures(run)
    plot = None
    if any(evaluation.total.n for evaluation in run.candidates.values()):
        from .figures import progress_plot

        counted = None if is_vector_run(run) else cumulative_modes(run, run.threshold)
        svg = progress_plot(failures, counted)
        plot = Markup(svg)  # drawn by us from numbers alone
    config = run.config
    return {
        "title": f"{_text(config, 'env')} · {_name(config, 'model')}",
        "env": _text(config, "env"),
        # A model from a file is headed by the file's name; the settings give the whole path.
        "model": re.sub(r"^.*[/\\](?=[^/\\]*\.py:)", "", _name(config, "model")),
        "headline": wording.headline(run, modes),
        "notices": _notices(run),
        "facts": _facts(run, modes, len(suspected)),
        "threshold": run.threshold,
        "modes": [
            _mode(run, mode, rank, link_pictures, place_numbers)
            for rank, mode in enumerate(modes[:DETAILED_MODES], 1)
        ],
        "more_modes": [
            {**_row(mode, rank, fresh), "true_rate": _true_rate(run, mode)}
            for rank, mode in enumerate(
                modes[DETAILED_MODES:LISTED_MODES], min(len(modes), DETAILED_MODES) + 1
            )
        ],
        "hidden_modes": max(0, len(modes) - LISTED_MODES),
        "suspicions": [
            {**_row(mode, rank, fresh), "true_rate": _true_rate(run, mode)}
            for rank, mode in enumerate(suspected[:LISTED_SUSPICIONS], 1)
        ],
        "all_suspicions": len(suspected),
        "can_be_tried": wording.can_be_tried(run, modes),
        "what_confirms": wording.what_confirms(run.threshold, fresh),
        **_concepts(run),
        **_failures(run),
        "plot": plot,
        "episodes": _episodes(run, link_pictures) if has_episodes(run) else None,
        "planted": is_planted(run),
        "fresh_trials": fresh,
        "metrics": wording.explanations(run, metrics),
        "audited": _audited(run),
        "by_expected": _shares(metrics["pfm_by_expected"]),
        "by_direction": _shares(metrics["pfm_by_direction"]),
        "outcomes": _outcomes(run),
        "command": wording.clean(config.get("command") or ""),
        "place": wording.clean(run.path),
        "settings": _settings(config),
    }


def _text(config: Mapping[str, Any], name: str) -> str:
    return wording.clean(config.get(name, "?"))


def _name(config: Mapping[str, Any], name: str) -> str:
    part = config.get(name)
    if isinstance(part, Mapping):
        part = part.get("spec") or part.get("name")
    return wording.clean(part if part is not None else "?")


def _place(share: float) -> str:
    """Return a share in [0, 1] as a CSS percentage."""
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"


def _notices(run: RunData) -> list[str]:
    notices = []
    if run.status not in ("finished", "space exhausted"):
        reason = run.store.meta("reason")
        detail = f" ({wording.clean(reason)})" if reason else ""
        notices.append(
            f"This run is partial: {wording.clean(run.status)}{detail}, {run.calls} of "
            f"{run.budget} trials. {_how_to_go_on(run)}"
        )
    constant = constant_answer(run)
    if constant is not None:
        text = wording.clean(constant)
        notices.append(text[0].upper() + text[1:] + ".")
    repeats = find_repeats(list(run.records.values())).sentence
    if repeats is not None:
        notices.append(wording.clean(repeats))
    if run.calls:
        counts = outcome_counts(run)
        lost = {name: counts.get(name, 0) for name in ("error", "timeout")}
        if sum(lost.values()) >= MANY_LOST * run.calls:
            said = " and ".join(wording.plural(n, name) for name, n in lost.items() if n)
            notices.append(
                f"{said} among {run.calls} trials: the machine's or the service's faults, counted "
                "in no rate; the trials of a replay say what happened."
            )
    return notices


def _how_to_go_on(run: RunData) -> str:
    if run.status == "capped":
        return "To go on, repeat the search with a higher cap, into the same folder."
    return f"Continue it with: vlmfail resume {wording.clean(run.path)}"


def _concepts(run: RunData) -> dict[str, Any]:
    """Return the concepts that were put to the model, and what is to be said of the others."""
    tried = tried_of(run)
    shares = concept_rates(run)
    if tried is None:  # nothing was put to the model, or no concept sets
        return {"concepts": [], "untried": ""}
    shown = [share for share in shares if share.name in tried.concepts]
    known = tried.all_concepts
    left = len(shares) - len(shown) if known is None else known - len(shown)
    said = ""
    if left > 0:
        which = f"{left} of {known} concepts" if known else wording.plural(left, "further concept")
        said = f"{which} {'was' if left == 1 else 'were'} never put to the model."
    return {"concepts": [_share(share) for share in shown], "untried": said}


def _failures(run: RunData) -> dict[str, Any]:
    """Return the failing trials for the list of all."""
    found = failing_trials(run)
    rows = []
    for one in found[:LISTED_FAILURES]:
        trial, record = one.record.trial, one.record
        answered = trial.answer or str(trial.outcome)
        right = f", right is {wording.words(trial.expected)}" if trial.expected else ""
        reply = " ".join(wording.clean(trial.reply).split())
        if len(reply) > LISTED_REPLY:
            reply = reply[:LISTED_REPLY] + " …"
        named = run.candidate(trial.key)
        rows.append(
            {
                "number": one.number,
                "fresh": one.fresh,
                "parts": wording.candidate_parts([trial.key] if named is None else named),
                "said": f"{wording.words(answered)}{right}",
                "reason": wording.clean(record.scene.get("truth_reason") or trial.note),
                "reply": reply,
            }
        )
    return {"failures": rows, "all_failures": len(found)}


def _audited(run: RunData) -> list[dict[str, Any]]:
    """Return what an audit found of the reported modes, the good ones first."""
    rows = []
    for one in by_verdict(audit_of(run) or []):
        tally = one.own.tally
        rows.append(
            {
                "parts": wording.candidate_parts(one.own.candidate),
                "counted": wording.counted(tally.failures, tally.n, tally.interval()),
                "verdict": str(one.verdict),
                "reason": wording.audit_reason(one),
            }
        )
    return rows


def _facts(
    run: RunData, modes: Sequence[FailureMode], suspected: int
) -> list[tuple[str, str, str]]:
    failures = sum(evaluation.new.failures for evaluation in run.evaluations)
    n = sum(evaluation.new.n for evaluation in run.evaluations)
    tested = wording.put_to_test(run, modes)
    confirmed = sum(mode.confirmed is True for mode in tested)
    cost = spent(run)
    total = seconds(run)["total"]
    trials = Share("trials", failures, n)
    return [
        ("Searcher", _name(run.config, "searcher"), wording.clean(run.status)),
        ("Trials", str(run.calls), f"of {run.budget} · {len(evaluated(run))} candidates"),
        (
            # Searchers look where it fails: an interval would pass it off as the model's own rate.
            "Failing trials",
            wording.percent(trials.rate),
            f"{failures}/{n} · where this search looked; no rate of the model" if n else "",
        ),
        (
            "Failure modes",
            # Regions none of which is sure may still be there, unlike candidates that were tried.
            "—" if is_vector_run(run) and not modes else str(len(modes)),
            " · ".join(
                filter(
                    None,
                    (
                        f"{confirmed} of {len(tested)} tried confirmed"
                        if tested
                        else "none re-run"
                        if modes
                        else "",
                        wording.plural(suspected, "suspicion") if suspected else "",
                    ),
                )
            ),
        ),
        _landscape(run)
        if is_planted(run)
        else (
            "Cost",
            _money(cost),
            _requests(cost, total_saved(list(run.records.values()))),
        ),
        ("Time", "?" if total is None else _duration(total), f"seed {run.config.get('seed', '?')}"),
    ]


def _landscape(run: RunData) -> tuple[str, str, str]:
    data = run.config["domain_data"]
    named = wording.clean(f"{data['family']} {data['level']}")
    return "Landscape", named, wording.clean(f"landscape seed {data['landscape_seed']}")


def _requests(cost: Mapping[str, Any], saved: Mapping[str, Any]) -> str:
    text = wording.plural(int(cost["requests"] or 0), "request")
    if saved["requests"]:
        text += f" · {wording.plural(int(saved['requests']), 'answer')} from the cache"
        text += f" saved ${saved['dollars']:.2f}" if saved["dollars"] is not None else ""
    return text


def _money(cost: Mapping[str, float | int | None]) -> str:
    if cost["dollars"] is None:
        return "unknown" if cost["requests"] else "none"
    return f"${cost['dollars']:.2f}"


def _duration(total: float) -> str:
    minutes, rest = divmod(round(total), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{total:.1f} s"


def _bar(rate: float, interval: tuple[float, float], fresh: float | None = None) -> dict[str, Any]:
    return {"low": interval[0], "high": interval[1], "rate": rate, "fresh": fresh}


def _row(mode: FailureMode, rank: int, fresh_trials: str) -> dict[str, Any]:
    fresh = mode.fresh
    return {
        "rank": rank,
        "parts": wording.mode_parts(mode),
        "rate": wording.percent(mode.failure_rate),
        "counted": wording.counted(mode.failures, mode.n, mode.interval),
        "bar": _bar(mode.failure_rate, mode.interval, mode.fresh_rate),
        "confirmation": wording.confirmation(mode),
        "judgement": wording.judgement(mode, fresh_trials),
        "fresh": wording.counted(fresh.failures, fresh.n, fresh.interval()) if fresh.n else None,
        "direction": mode.direction,
        "expected": mode.expected,
        "answers": wording.tallied(mode.answers),
    }


def _mode(
    run: RunData,
    mode: FailureMode,
    rank: int,
    link: bool,
    place_numbers: Mapping[tuple[str, int], int],
) -> dict[str, Any]:
    shown = _shown_trials(run, mode)
    # A finding reads "rule's text: what holds in this scene"; the text is the same for the mode.
    rule_text = wording.clean(mode.reason).split(": ")[0]
    wide = has_episodes(run)
    if wide:
        shown = [trial for trial in shown if trial.picture is not None][:1] or shown[:1]
    return {
        **_row(mode, rank, wording.fresh_trials(run)),
        "true_rate": _true_rate(run, mode),
        "rule": mode.rule,
        "rule_text": rule_text,
        "directions": wording.tallied(mode.directions),
        "trials": [
            {
                **_trial(run, trial, link, rule_text, wide),
                "number": place_numbers.get((trial.key, trial.index)),
            }
            for trial in shown
        ],
    }


def _true_rate(run: RunData, mode: FailureMode) -> str | None:
    """Return the true failure rate of a mode on a planted landscape."""
    if not is_planted(run):
        return None
    first = mode.trials[0]
    return wording.percent(run.records[first.key, first.index].scene.get("rate"))


def _shown_trials(run: RunData, mode: FailureMode) -> list[Trial]:
    """Return three trials to show, those that failed first."""
    failing = run.count_as_fail | {Outcome.FAIL}
    return sorted(mode.trials, key=lambda t: (t.outcome not in failing, t.index))[:PICTURES]


def _trial(
    run: RunData, trial: Trial, link: bool, rule_text: str, wide: bool = False
) -> dict[str, Any]:
    picture = run.store.picture(trial.picture)
    reply = wording.clean(trial.reply).strip()
    reason = wording.clean(run.records[trial.key, trial.index].scene.get("truth_reason") or "")
    source = thumbnail(picture, STRIP_WIDTH) if wide else thumbnail(picture)
    return {
        "index": trial.index,
        "outcome": str(trial.outcome),
        "picture": source,
        "link": f"images/{trial.picture}.png" if link and source else None,
        "digest": trial.picture,
        "expected": trial.expected,
        "answer": trial.answer,
        "reply": reply,
        "long": len(reply) > LONG_REPLY,
        "start": reply[:LONG_REPLY].rsplit(" ", 1)[0] + " …",
        "reason": reason.removeprefix(f"{rule_text}: "),
        "note": wording.clean(trial.note),
    }


def _episodes(run: RunData, link: bool) -> dict[str, Any]:
    """Return what the template shows of a run of episodes."""
    from markupsafe import Markup

    from ..analysis.episodes import coverage
    from .paths import path_plot

    found = played(run)
    failing = [episode for episode in found if episode.failed]
    covered = coverage(found)
    return {
        "objects": [_share(share) for share in rates_by_object(found)],
        "reasons": [(wording.clean(n), k) for n, k in reasons(found).items()],
        "plot": Markup(path_plot(found)) if found else None,  # drawn by us from numbers alone
        "bins": f"{covered.grid[0]} x {covered.grid[1]} = {covered.bins}",
        "shown": [_strip(run, episode, link) for episode in _various(failing, STRIPS)],
        "failing": len(failing),
    }


def _various(failing: Sequence[PlayedEpisode], most: int) -> list[PlayedEpisode]:
    """Return failing episodes to show: of each object and reason in turn, then the rest."""
    groups: dict[tuple[str, str | None], list[PlayedEpisode]] = {}
    for episode in failing:
        groups.setdefault((episode.object, episode.trial.direction), []).append(episode)
    shown: list[PlayedEpisode] = []
    for depth in range(most):
        shown += [group[depth] for group in groups.values() if depth < len(group)]
    return shown[:most]


def _strip(run: RunData, episode: PlayedEpisode, link: bool) -> dict[str, Any]:
    trial = episode.trial
    record = run.records[trial.key, trial.index]
    source = thumbnail(run.store.picture(trial.picture), STRIP_WIDTH)
    pose = record.scene.get("target") or {}
    return {
        "instruction": wording.clean(record.prompt or record.scene.get("instruction") or "?"),
        "place": wording.clean(_place_of(pose)),
        "reason": wording.words(trial.direction or str(trial.outcome)),
        "why": wording.clean(record.scene.get("truth_reason") or trial.note),
        "steps": episode.record.get("steps", 0),
        "picture": source,
        "digest": trial.picture,
        "link": f"images/{trial.picture}.png" if link and source else None,
        "replay": wording.clean(f"{trial.key}#{trial.index}"),
    }


def _place_of(pose: Mapping[str, Any]) -> str:
    try:
        turned = "standing" if pose["standing"] else f"lying, {math.degrees(pose['yaw']):.0f}°"
        return f"x {pose['x']:.2f} m, y {pose['y']:.2f} m, {turned}"
    except (KeyError, TypeError, ValueError):
        return "?"


def _share(share: Share) -> dict[str, Any]:
    return {
        "name": wording.clean(share.name),
        "rate": wording.percent(share.rate),
        "counted": wording.counted(share.failures, share.n, share.interval),
        "bar": None if share.rate is None else _bar(share.rate, share.interval),
    }


def _shares(groups: Mapping[str, Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    if groups is None:
        return []
    return [_share(Share(name, g["failures"], g["n"])) for name, g in groups.items()]


def _outcomes(run: RunData) -> list[dict[str, Any]]:
    counts = outcome_counts(run)
    total = sum(counts.values())
    return [
        {"name": name, "number": number, "share": number / total}
        for name, number in counts.items()
        if number
    ]


def _settings(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the exact configuration as (name, JSON) rows, nested objects one level down."""
    rows: list[tuple[str, str]] = []
    for name, value in config.items():
        if name == "command":
            continue
        if isinstance(value, Mapping) and value:
            rows += [(f"{name}.{inner}", _plain(v)) for inner, v in value.items()]
        else:
            rows.append((name, _plain(value)))
    return [(wording.clean(name), wording.clean(text)) for name, text in rows]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value)
