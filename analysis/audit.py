"""Audit: are reported modes true, and minimal? On fresh trials of a real model, outside the budget.

On a planted landscape the true rates say so (`analysis.planted`); here 20 fresh trials a mode and
10 for each removal of one concept stand in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core import VLM, Domain, EpisodeDomain, Policy, SetSpace, UsageError
from ..runs.run import RunData
from ..runs.store import dump_json
from .audited import AUDIT_META, REMOVAL_TRIALS, TRIALS, audit_of
from .fresh import AUDIT_TRIALS_META
from .fresh_trials import FreshTrials, Wanted
from .reported import reported_modes


def audit_reports(
    run: RunData,
    domain: Domain[Any] | EpisodeDomain[Any],
    model: VLM | Policy,
    *,
    trials: int = TRIALS,
    removal_trials: int = REMOVAL_TRIALS,
    concurrency: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> RunData:
    """Try what a run reports, and its parts, on fresh trials; return the run read anew.

    Every reported mode first; then, of those that are true and hold no other one, each set that is
    left when one concept is taken away, if it is valid: what a modifier applies to may have
    changed, and the set is judged as what it is now. How fresh trials are drawn: `FreshTrials`;
    they belong neither to the search nor to a re-run, so that all figures of these stay. An audit
    that was stopped goes on where it was, and of one that is over nothing is asked again.

    Args:
        run: The run, opened for writing.
        domain: Its domain.
        model: Its model, or its policy.
        trials: Fresh trials a reported mode, put to the model.
        removal_trials: Fresh trials of a mode without one of its concepts.
        concurrency: Requests to the model in flight.
        progress: Called with (trials done, trials in all at most).

    Raises:
        UsageError: The run's candidates are no concept sets, or a number is below 1.
    """
    space = domain.space
    if getattr(space, "kind", None) != "concept_set" or not isinstance(space, SetSpace):
        kind = getattr(space, "kind", type(space).__name__)
        raise UsageError(
            f"an audit takes concepts away from reported modes, and the candidates of {run.path} "
            f"are of kind {kind}: --confirm tries its modes on fresh trials"
        )
    for name, value in (("trials", trials), ("removal_trials", removal_trials)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{name}: expected a whole number of at least 1, got {value!r}")
    store = run.store
    reports = [_plan(space, one) for one in reported_modes(run)]
    plan = {"trials": trials, "removal_trials": removal_trials, "reports": reports}
    with FreshTrials(run, domain, model, concurrency, AUDIT_TRIALS_META) as fresh:
        # Named beforehand: a replay must know sets that the search never proposed.
        sets = [one for report in reports for one in (report, *report["removals"])]
        store.ask({one["key"]: one["candidate"] for one in sets})
        store.set_meta(AUDIT_META, dump_json({**plan, "over": False}))
        whole = _wanted(reports, trials)
        parts = _wanted((one for report in reports for one in report["removals"]), removal_trials)
        most = len(whole) * trials + len(parts) * removal_trials
        told = 0
        for told in fresh.draw(whole):
            if progress:
                progress(told, most)
        due = _open(RunData(store))
        parts = _wanted(
            (one for report in reports if report["key"] in due for one in report["removals"]),
            removal_trials,
        )
        for done in fresh.draw(parts) if fresh.stopped is None else ():
            if progress:
                progress(told + done, told + len(parts) * removal_trials)
        if fresh.stopped is None:
            store.set_meta(AUDIT_META, dump_json({**plan, "over": True}))
    return RunData(store)


def _open(run: RunData) -> set[str]:
    """Return the keys of the reported modes that only their removals can judge."""
    return {one.key for one in audit_of(run) or () if one.is_true and not one.holds}


def _wanted(sets: Iterable[dict[str, Any]], trials: int) -> list[Wanted]:
    """Return what is to be tried, each set once."""
    once = {one["key"]: one["candidate"] for one in sets}
    return [Wanted(candidate, key, trials) for key, candidate in once.items()]


def _plan(space: SetSpace, report: frozenset[str]) -> dict[str, Any]:
    """Return a reported mode with the valid sets that lack one of its concepts."""
    removals = []
    for concept in space.to_json(report):
        rest = report - {concept}
        if rest and space.validate(rest) is None:
            removals.append(
                {"concept": concept, "candidate": space.to_json(rest), "key": space.key(rest)}
            )
    return {"candidate": space.to_json(report), "key": space.key(report), "removals": removals}
