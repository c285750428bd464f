"""What an audit's fresh trials say of reported modes (ours; see `analysis.audit`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core import Tally
from ..runs.run import RunData
from .fresh import AUDIT_TRIALS_META, listed_tallies
from .planted import AUDIT_RATE, is_planted
from .reported import holds_another, per_thousand, reported_modes
from .shares import Share

TRIALS = 20
"""Fresh trials of a reported mode (the search study's audit)."""

REMOVAL_TRIALS = 10
"""Fresh trials of a mode without one of its concepts (likewise)."""

VALID_SHARE = 0.5
"""Share of the trials wanted that must have passed or failed before they say anything (ours)."""

AUDIT_META = "audit"
"""Name of the store's state value that says what was to be tried."""


class AuditVerdict(StrEnum):
    """What an audit says of a reported mode.

    Attributes:
        GOOD: It fails at τ or more, holds no other report, and no concept can be removed.
        FALSE: It fails at less than τ.
        NON_MINIMAL: It holds another report, or fails in `AUDIT_RATE` or more without a concept.
        UNDECIDED: Too few trials passed or failed, its own or those of a removal that decides.
    """

    GOOD = "good"
    FALSE = "false"
    NON_MINIMAL = "not minimal"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class AuditedSet:
    """Fresh trials of a set.

    Attributes:
        candidate: Its concepts, in catalogue order.
        tally: Its trials in the audit.
        wanted: How many were to be put to the model.
        without: The concept that a reported mode lost, or "" for the mode itself.
    """

    candidate: tuple[str, ...]
    tally: Tally
    wanted: int
    without: str = ""

    @property
    def rate(self) -> float | None:
        """Failure rate; None when fewer than `VALID_SHARE` of the trials passed or failed."""
        return self.tally.rate if self.tally.n >= max(1, VALID_SHARE * self.wanted) else None

    def to_json(self) -> dict[str, Any]:
        """Return the trials as JSON values."""
        share = Share("", self.tally.failures, self.tally.n).to_json()
        return {
            **({"without": self.without} if self.without else {}),
            "candidate": list(self.candidate),
            "failure_rate": share.pop("rate"),
            **share,
            "wanted": self.wanted,
        }


@dataclass(frozen=True, slots=True)
class AuditedReport:
    """A reported mode with what its audit found.

    Attributes:
        key: Its key.
        own: Its own fresh trials; None when no audit has tried it.
        removals: Those of the valid sets that lack one of its concepts.
        holds: Whether it holds another reported mode.
        threshold: Failure rate τ.
    """

    key: str
    own: AuditedSet
    removals: tuple[AuditedSet, ...]
    holds: bool
    threshold: float

    @property
    def is_true(self) -> bool | None:
        """Whether it fails at τ or more; None with too few trials."""
        return None if self.own.rate is None else self.own.rate >= self.threshold

    @property
    def needless(self) -> AuditedSet | None:
        """The removal that fails most among those that fail in `AUDIT_RATE` (τ if that is more)."""
        bound = max(AUDIT_RATE, self.threshold)
        failing = [one for one in self.removals if one.rate is not None and one.rate >= bound]
        return max(failing, key=lambda one: one.rate or 0.0, default=None)

    @property
    def verdict(self) -> AuditVerdict:
        """What the trials say."""
        if self.is_true is None:
            return AuditVerdict.UNDECIDED
        if not self.is_true:
            return AuditVerdict.FALSE
        if self.holds or self.needless is not None:
            return AuditVerdict.NON_MINIMAL
        if any(one.rate is None for one in self.removals):
            return AuditVerdict.UNDECIDED
        return AuditVerdict.GOOD

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        needless = self.needless
        return {
            **self.own.to_json(),
            "key": self.key,
            "verdict": str(self.verdict),
            "holds_another": self.holds,
            "needless": None if needless is None else needless.without,
            "removals": [one.to_json() for one in self.removals],
        }


def audit_of(run: RunData, threshold: float | None = None) -> list[AuditedReport] | None:
    """Return the reported modes of a run as its audit found them; None before an audit.

    A mode that was reported after the audit has no trials in it, and is undecided.

    Args:
        run: A run over concept sets.
        threshold: Failure rate τ; the run's own by default.
    """
    text = run.store.meta(AUDIT_META)
    if text is None:
        return None
    plan = json.loads(text)
    known = {frozenset(map(str, one["candidate"])): one for one in plan["reports"]}
    tallies = listed_tallies(run, AUDIT_TRIALS_META)
    tau = run.threshold if threshold is None else threshold
    reports = reported_modes(run, threshold)

    def tried(one: dict[str, Any], wanted: int, without: str = "") -> AuditedSet:
        names = tuple(map(str, one["candidate"]))
        tally = tallies.get(one["key"], Tally((), run.count_as_fail))
        return AuditedSet(names, tally, wanted, without)

    found = []
    for report in reports:
        one = known.get(report)
        if one is None:
            names = sorted(report)
            one = {"candidate": names, "key": "+".join(names), "removals": []}
        removals = (
            tried(rest, plan["removal_trials"], str(rest["concept"])) for rest in one["removals"]
        )
        found.append(
            AuditedReport(
                key=str(one["key"]),
                own=tried(one, plan["trials"]),
                removals=tuple(removals),
                holds=holds_another(report, reports),
                threshold=tau,
            )
        )
    return found


def audit_metrics(run: RunData, threshold: float | None = None) -> dict[str, Any]:
    """Return the figures of reported modes by the run's audit; empty before one.

    ``modes_at_1k`` good reports per 1000 trials (`per_thousand` says of which; the audit's own are
    outside); ``false_reports`` and ``non_minimal_reports`` shares of the reports that are decided,
    None without any; ``audit`` the counts, those that are undecided beside. With reports all of
    which are undecided ``modes_at_1k`` is None: nothing is known, which is no 0.

    Args:
        run: The run.
        threshold: Failure rate τ; the run's own by default.
    """
    found = audit_of(run, threshold)
    if found is None:
        return {}
    counts = {verdict: sum(one.verdict is verdict for one in found) for verdict in AuditVerdict}
    undecided = counts[AuditVerdict.UNDECIDED]
    decided = len(found) - undecided
    good = counts[AuditVerdict.GOOD]
    charged = sum(tally.charged for tally in listed_tallies(run, AUDIT_TRIALS_META).values())
    return {
        "modes_at_1k": per_thousand(good, run) if decided or not found else None,
        "false_reports": _share(counts[AuditVerdict.FALSE], decided),
        "non_minimal_reports": _share(counts[AuditVerdict.NON_MINIMAL], decided),
        "audit": {
            "reports": len(found),
            "good_reports": good,
            "false_reports": counts[AuditVerdict.FALSE],
            "non_minimal_reports": counts[AuditVerdict.NON_MINIMAL],
            "undecided_reports": undecided,
            "trials": charged,
        },
    }


def is_audited(run: RunData, trials: int = TRIALS, removal_trials: int = REMOVAL_TRIALS) -> bool:
    """Whether an audit of what the run reports now was begun with at least so many trials."""
    text = run.store.meta(AUDIT_META)
    if text is None:
        return False
    plan = json.loads(text)
    known = {frozenset(map(str, one["candidate"])) for one in plan["reports"]}
    enough = plan["trials"] >= trials and plan["removal_trials"] >= removal_trials
    return bool(enough and plan.get("over") and set(reported_modes(run)) <= known)


def lacks_audit(run: RunData) -> bool:
    """Whether a run needs an audit and has none: of concept sets, and not on a landscape."""
    first = next(iter(run.evaluations), None)
    named = first is not None and all(isinstance(one, str) for one in first.candidate)
    return named and not is_planted(run) and not is_audited(run)


def _share(number: int, of: int) -> float | None:
    return number / of if of else None


def by_verdict(found: Sequence[AuditedReport]) -> list[AuditedReport]:
    """Return audited reports ordered by verdict: good ones first, undecided ones last."""
    order = list(AuditVerdict)
    return sorted(found, key=lambda one: order.index(one.verdict))
