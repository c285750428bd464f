"""The summary of a run: the object that the command line prints."""

from __future__ import annotations

from typing import Any

from ..runs.run import RunData
from ..runs.spending import total_saved, total_spent, unknown_cost, unrecorded
from .audited import audit_of
from .fresh import outside_search
from .metrics import compute_metrics, constant_answer, outcome_counts, short_of_pictures
from .modes import failure_modes, suspicions
from .repeats import find_repeats


def summarise(run: RunData, threshold: float | None = None) -> dict[str, Any]:
    """Return everything that a machine wants to know of a run, as JSON values.

    Args:
        run: The run.
        threshold: Failure rate τ; the run's own by default.
    """
    config, audited = run.config, audit_of(run, threshold)
    return {
        "env": config.get("env"),
        "searcher": _name(config.get("searcher")),
        "model": _name(config.get("model")),
        "seed": config.get("seed"),
        "budget": config.get("budget"),
        "trials": config.get("trials"),
        "threshold": run.threshold if threshold is None else threshold,
        "status": run.status,
        "reason": run.store.meta("reason"),
        "calls": run.calls,
        "unfinished": unfinished(run),
        "evaluations": sum(evaluation.new.charged > 0 for evaluation in run.evaluations),
        "short_of_pictures": len(short_of_pictures(run)),
        "outcomes": outcome_counts(run),
        "metrics": compute_metrics(run, threshold),
        "failure_modes": [mode.to_json() for mode in failure_modes(run, threshold)],
        "suspicions": [mode.to_json() for mode in suspicions(run, threshold)],
        "audit": None if audited is None else [one.to_json() for one in audited],
        "notice": " ".join(filter(None, (constant_answer(run), repeats(run)))) or None,
        "spent": spent(run),
        "unknown_cost": unknown_cost(list(run.records.values()), unrecorded(run.store)),
        "saved": total_saved(list(run.records.values())),
        "seconds": seconds(run),
        "run": str(run.path),
    }


def repeats(run: RunData) -> str | None:
    """Return what a reader must know of inputs that were asked more than once, or None."""
    return find_repeats(list(run.records.values())).sentence


def unfinished(run: RunData) -> int:
    """Return the trials that an interrupted batch finished: kept, and counted once resumed."""
    told = {(e.key, trial.index) for e in run.evaluations for trial in e.new.trials}
    told |= outside_search(run)
    return sum(r.trial.outcome.charged for place, r in run.records.items() if place not in told)


def _name(part: Any) -> Any:
    """Return what the user typed for a searcher or a model."""
    if isinstance(part, dict):
        return part.get("spec") or part.get("name")
    return part


def spent(run: RunData) -> dict[str, Any]:
    """Return requests, tokens and dollars, those of cut-off and re-run trials included."""
    return total_spent(list(run.records.values()), unrecorded(run.store))


def seconds(run: RunData) -> dict[str, float | None]:
    """Return where the time went, s: in total, rendering, in the model, in the searcher."""
    records = run.records.values()
    return {
        "total": _number(run.store.meta("seconds_total")),
        "render": sum(r.seconds_render for r in records),
        "model": sum(r.seconds_model for r in records),
        "search": _number(run.store.meta("seconds_search")),
    }


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
