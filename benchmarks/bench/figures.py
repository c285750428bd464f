"""What one run of a bench found, read from its folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...analysis.metrics import compute_metrics, constant_answer, cumulative_failures, pfm
from ...analysis.metrics import cumulative_modes as modes_by_call
from ...analysis.summary import seconds, spent
from ...analysis.vector_modes import is_vector_run
from ...runs.run import RunData
from .arms import Bench, Task
from .metrics import numbers_of, shown
from .plan import DONE, check_settings


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run whose search is over.

    Attributes:
        task: Which run.
        status: ``"finished"`` or ``"space exhausted"``.
        metrics: Its metrics by key; None where one has no data.
        failures: Cumulative failures after each charged trial.
        modes: Failure modes after each charged trial; None where a candidate is none.
        calls: Charged trials.
        evaluations: Candidates evaluated.
        seconds: Where the time went, s (`analysis.summary.seconds`).
        spent: Requests, tokens and dollars.
        model_identity: What the run says of the model.
        notice: A warning about the run as a whole, or None.
        pfm_at: PFM by the bench's further thresholds; None where it has no data.
    """

    task: Task
    status: str
    metrics: Mapping[str, float | None]
    failures: tuple[int, ...]
    modes: tuple[int, ...] | None
    calls: int
    evaluations: int
    seconds: Mapping[str, float | None] = field(default_factory=dict)
    spent: Mapping[str, Any] = field(default_factory=dict)
    model_identity: Mapping[str, Any] = field(default_factory=dict)
    notice: str | None = None
    pfm_at: Mapping[float, float | None] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the run's figures as JSON values."""
        return {
            "seed": self.task.seed,
            "env": self.task.env,
            "status": self.status,
            "metrics": dict(self.metrics),
            "calls": self.calls,
            "evaluations": self.evaluations,
            "seconds": dict(self.seconds),
            "spent": dict(self.spent),
            "notice": self.notice,
            **({"pfm_at": {f"{t:g}": v for t, v in self.pfm_at.items()}} if self.pfm_at else {}),
        }


def read_run(bench: Bench, task: Task) -> RunFigures | None:
    """Return the figures of a run, None while its search is not over.

    Raises:
        UsageError: The folder holds a search with other settings.
    """
    run = RunData.open(bench.folder(task))
    try:
        check_settings(bench, task, run)
        return figures_of(run, task, bench.thresholds) if run.status in DONE else None
    finally:
        run.close()


def figures_of(run: RunData, task: Task, thresholds: Iterable[float] = ()) -> RunFigures:
    """Return the figures of a run, PFM also by `thresholds`."""
    failures = cumulative_failures(run)
    counted = None if is_vector_run(run) else modes_by_call(run, run.threshold)
    return RunFigures(
        task=task,
        status=run.status,
        metrics=numbers_of(compute_metrics(run)),
        failures=tuple(failures),
        modes=None if counted is None else _by_call(counted, len(failures)),
        calls=run.calls,
        evaluations=sum(evaluation.new.charged > 0 for evaluation in run.evaluations),
        seconds=seconds(run),
        spent=spent(run),
        model_identity={k: v for k, v in run.config["model"].items() if k != "spec"},
        notice=constant_answer(run),
        pfm_at={rate: pfm(run, rate) for rate in thresholds},
    )


def words_of(run: RunData) -> str:
    """Return the first two metrics that a run has, in words."""
    found = numbers_of(compute_metrics(run))
    named = []
    for metric in shown([key for key, value in found.items() if value is not None])[:2]:
        value = found[metric.key] or 0.0
        unit = " %" if metric.percent else ""
        title = metric.title.removesuffix(" %")
        named.append(f"{title} {metric.scale * value:.{metric.digits}f}{unit}")
    return ", ".join(named) or "no data"


def _by_call(counted: list[tuple[int, int]], calls: int) -> tuple[int, ...]:
    """Return the number of modes after each charged trial, from that after each evaluation."""
    series: list[int] = []
    last = 0
    for call, number in counted:
        series += [last] * (call - 1 - len(series))
        last = number
        if len(series) < call:
            series.append(number)
        elif series:
            series[-1] = number
    return tuple((series + [last] * calls)[:calls])
