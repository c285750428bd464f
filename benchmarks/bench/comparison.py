"""All runs of a searcher on an environment and a model, and how far it is from the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from ..studies.comparison import Against, Spread, against, holm
from .arms import Bench
from .figures import RunFigures
from .metrics import METRICS, Metric, shown

Unit = tuple[str, int]
"""Environment and seed of a run, by which two searchers are paired."""


@dataclass(frozen=True, slots=True)
class Arm:
    """All complete runs of a searcher on the environments of a group and a model.

    Attributes:
        group: The group of environments.
        model: The model.
        searcher: The searcher's label.
        runs: Its runs, by environment and seed.
        against: How far it is from the baseline, by metric; empty for the baseline.
    """

    group: str
    model: str
    searcher: str
    runs: tuple[RunFigures, ...]
    against: Mapping[str, Against] = field(default_factory=dict)

    def spread(self, key: str) -> Spread | None:
        """Return a metric over the runs that have data."""
        return Spread.of((run.metrics.get(key) for run in self.runs), quartiles=True)

    def values(self, key: str) -> dict[Unit, float]:
        """Return a metric by environment and seed, where it has data."""
        return {
            (run.task.env, run.task.seed): value
            for run in self.runs
            if (value := run.metrics.get(key)) is not None
        }

    def to_json(self) -> dict[str, Any]:
        """Return the arm's figures as JSON values."""
        spreads = {metric.key: self.spread(metric.key) for metric in METRICS}
        return {
            "env": self.group,
            "model": self.model,
            "searcher": self.searcher,
            "metrics": {k: one.to_json() for k, one in spreads.items() if one is not None},
            "against_baseline": {key: one.to_json() for key, one in self.against.items()},
            "runs": [run.to_json() for run in self.runs],
        }


def compare(bench: Bench, runs: Sequence[RunFigures]) -> list[Arm]:
    """Return the arms in the bench's order, compared with the baseline.

    Runs are paired by seed; where a group has several environments (landscapes), by environment,
    each of which counts once however many seeds it has. Holm's correction is over all comparisons
    by one metric, which are the rows of one table.
    """
    groups = {env.label: env.group for env in bench.envs}
    found: dict[tuple[str, str, str], list[RunFigures]] = {}
    for env in bench.envs:
        for model in env.models:
            for searcher in bench.searchers:
                found.setdefault((env.group, model, searcher.label), [])
    for run in runs:
        found[groups[run.task.env], run.task.model, run.task.searcher].append(run)
    arms = {
        key: Arm(*key, tuple(sorted(members, key=lambda run: (run.task.env, run.task.seed))))
        for key, members in found.items()
        if members
    }
    for metric in METRICS:
        if metric.compared:
            _compare_by(bench, metric, arms)
    return list(arms.values())


def _compare_by(bench: Bench, metric: Metric, arms: dict[tuple[str, str, str], Arm]) -> None:
    compared: dict[tuple[str, str, str], Against] = {}
    if not any(any(arm.values(metric.key).values()) for arm in arms.values()):
        return
    told = {
        (group, model)
        for group, model, _ in arms
        if metric in metrics_of([a for a in arms.values() if (a.group, a.model) == (group, model)])
    }
    for key, arm in arms.items():
        if key[:2] not in told:
            continue
        base = arms.get((arm.group, arm.model, bench.baseline))
        if base is None or arm is base:
            continue
        one = against(*paired(arm.values(metric.key), base.values(metric.key)), bench.statistic)
        if one is not None:
            compared[key] = one
    corrected = holm([one.p for one in compared.values()])
    for (key, one), p in zip(compared.items(), corrected, strict=True):
        known = {**arms[key].against, metric.key: replace(one, p_holm=p)}
        arms[key] = replace(arms[key], against=known)


def paired(
    ours: Mapping[Unit, float], theirs: Mapping[Unit, float]
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Return the figures of the runs that both have, by what makes a pair."""
    common = sorted(ours.keys() & theirs.keys())
    if len({env for env, _ in common}) < 2:
        return {unit: ours[unit] for unit in common}, {unit: theirs[unit] for unit in common}
    # Seeds on one landscape are not independent of each other: a landscape is one pair.
    names = dict.fromkeys(env for env, _ in common)
    ours_by, theirs_by = (
        {name: fmean(side[unit] for unit in common if unit[0] == name) for name in names}
        for side in (ours, theirs)
    )
    return ours_by, theirs_by


def metrics_of(arms: Sequence[Arm]) -> list[Metric]:
    """Return the metrics that some run has data for, each group's and model's by itself."""
    groups: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        groups.setdefault((arm.group, arm.model), []).append(arm)
    found = {metric.key for members in groups.values() for metric in _metrics_of(members)}
    return [metric for metric in METRICS if metric.key in found]


def _metrics_of(arms: Sequence[Arm]) -> list[Metric]:
    known = [
        (key, value)
        for arm in arms
        for run in arm.runs
        for key, value in run.metrics.items()
        if value is not None
    ]
    keys, some = {key for key, _ in known}, {key for key, value in known if value}
    # Where nothing was tried again, that nothing is confirmed says nothing.
    if "rerun_mean" not in keys:
        keys -= {"confirmed_modes"} - some
    return shown(keys - ({"infeasible"} - some))


def main_metric(arms: Sequence[Arm]) -> Metric | None:
    """Return the metric that stands for a bench: the first compared that is not always 0."""
    compared = [metric for metric in metrics_of(arms) if metric.compared]
    some = (m for m in compared if any(any(arm.values(m.key).values()) for arm in arms))
    return next(some, compared[0] if compared else None)
