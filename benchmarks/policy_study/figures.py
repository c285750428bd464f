"""What one run of the study found, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...analysis.episodes import episode_metrics, played, rates_by_orientation, reasons
from ...analysis.metrics import cumulative_failures, outcome_counts
from ...analysis.shares import Share
from ...analysis.summary import seconds
from ...runs.run import RunData
from ..studies.folders import Task
from .plan import DONE, Study, check_settings

METRICS = ("fr", "tc", "tcf", "foc")


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run whose search is over.

    Attributes:
        task: Which run.
        metrics: FR, TC, TCF and FOC, by lower-case name.
        coverage: What TC, TCF and FOC refer to.
        objects: Failing episodes of each object's, by object.
        orientations: Failing episodes of those with a standing and with a lying object.
        failures: Cumulative failures after each charged episode.
        reasons: Failures by reason.
        outcomes: Episodes by outcome.
        calls: Charged episodes.
        seconds: Where the time went, s (`analysis.summary.seconds`).
        model_identity: What the run says of the policy.
        knobs: The searcher's settings.
    """

    task: Task
    metrics: Mapping[str, float | None]
    coverage: Mapping[str, Any]
    objects: Mapping[str, Share]
    failures: tuple[int, ...]
    reasons: Mapping[str, int]
    outcomes: Mapping[str, int]
    calls: int
    seconds: Mapping[str, float | None]
    model_identity: Mapping[str, Any]
    orientations: Mapping[str, Share] = field(default_factory=dict)
    knobs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Episodes that passed or failed."""
        return sum(share.n for share in self.objects.values())

    def to_json(self) -> dict[str, Any]:
        """Return the run's figures as JSON values."""
        return {
            "seed": self.task.seed,
            **self.metrics,
            "coverage": dict(self.coverage),
            "fr_by_object": {name: share.to_json() for name, share in self.objects.items()},
            "fr_by_orientation": {n: share.to_json() for n, share in self.orientations.items()},
            "cumulative_failures": list(self.failures),
            "reasons": dict(self.reasons),
            "outcomes": {name: count for name, count in self.outcomes.items() if count},
            "calls": self.calls,
            "seconds": dict(self.seconds),
        }


def read_run(study: Study, task: Task) -> RunFigures | None:
    """Return the figures of a run, None while its search is not over.

    Raises:
        UsageError: The folder holds a search with other settings.
    """
    run = RunData.open(study.folder(task))
    try:
        check_settings(study, task, run)
        if run.status not in DONE:
            return None
        return _figures(run, study, task)
    finally:
        run.close()


def _figures(run: RunData, study: Study, task: Task) -> RunFigures:
    episodes = played(run)
    found = episode_metrics(run, study.grid, study.source, study.area)
    return RunFigures(
        task=task,
        metrics={name: found[name] for name in METRICS},
        coverage=found["coverage"],
        objects={
            name: Share(name, share["failures"], share["n"])
            for name, share in found["fr_by_object"].items()
        },
        failures=tuple(cumulative_failures(run)),
        reasons=reasons(episodes),
        outcomes=outcome_counts(run),
        calls=run.calls,
        seconds=seconds(run),
        model_identity={k: v for k, v in run.config["model"].items() if k != "spec"},
        orientations={share.name: share for share in rates_by_orientation(episodes)},
        knobs=dict(run.config["searcher"].get("config") or {}),
    )
