"""All runs of a searcher on a policy: medians over seeds, and how far it is from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from ...analysis.shares import Share
from ..studies.comparison import Against, against, holm
from .figures import METRICS, RunFigures
from .plan import BASELINES, OBJECT_ONLY


@dataclass(frozen=True, slots=True)
class Middle:
    """A figure over seeds.

    Attributes:
        median: Its median.
        low, high: Quartiles.
        n: Number of seeds.
    """

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Middle | None:
        """Summarise the values that are not None; None when there are none."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        low, high = (float(end) for end in np.percentile(known, [25, 75]))
        return cls(float(median(known)), low, high, len(known))

    def to_json(self) -> dict[str, float | int]:
        """Return it as JSON values."""
        return {"median": self.median, "q1": self.low, "q3": self.high, "n": self.n}


@dataclass(frozen=True, slots=True)
class Gain:
    """A metric of a searcher against another's.

    Attributes:
        medians: Difference of the medians.
        paired: The two under the same seeds; None with fewer than two common ones.
    """

    medians: float
    paired: Against | None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        paired = None if self.paired is None else self.paired.to_json()
        if paired is not None:
            paired["mean_difference"] = paired.pop("difference")
            del paired["ratio"]
        return {"difference_of_medians": self.medians, "paired": paired}


@dataclass(frozen=True, slots=True)
class Arm:
    """All complete runs of a searcher on a policy.

    Attributes:
        model: The policy.
        searcher: The searcher.
        runs: Its runs, by seed.
        gains: By metric and searcher that it is compared with.
        mix: FR that the first baseline's rates by object give with this searcher's share of
            each object; None without that baseline, or where it met an object not once.
    """

    model: str
    searcher: str
    runs: tuple[RunFigures, ...]
    gains: Mapping[tuple[str, str], Gain]
    mix: float | None = None

    def middle(self, metric: str) -> Middle | None:
        """Return a metric over seeds."""
        return Middle.of([run.metrics[metric] for run in self.runs])

    def by_seed(self, metric: str) -> dict[int, float]:
        """Return a metric by seed, without those that have no data."""
        found = {run.task.seed: run.metrics[metric] for run in self.runs}
        return {seed: value for seed, value in found.items() if value is not None}

    def objects(self) -> dict[str, Share]:
        """Return the failing episodes of each object's, all seeds together, by name."""
        return _together([run.objects for run in self.runs])

    def orientations(self) -> dict[str, Share]:
        """Return the failing episodes with the object standing and lying, all seeds together."""
        return _together([run.orientations for run in self.runs])

    def pooled(self) -> Share:
        """Return the failing episodes of all seeds together."""
        shares = self.objects().values()
        return Share("episodes", sum(s.failures for s in shares), sum(s.n for s in shares))

    def to_json(self) -> dict[str, Any]:
        """Return the arm's figures as JSON values."""
        middles = {metric: self.middle(metric) for metric in METRICS}
        others = dict.fromkeys(other for _, other in self.gains)
        return {
            "model": self.model,
            "searcher": self.searcher,
            "seeds": [run.task.seed for run in self.runs],
            **{k: None if v is None else v.to_json() for k, v in middles.items()},
            "against": {
                other: {
                    metric: gain.to_json()
                    for (metric, name), gain in self.gains.items()
                    if name == other
                }
                for other in others
            },
            "fr_by_object": {name: share.to_json() for name, share in self.objects().items()},
            "fr_by_orientation": {n: share.to_json() for n, share in self.orientations().items()},
            "fr_of_object_mix": self.mix,
            "runs": [run.to_json() for run in self.runs],
        }


def _together(runs: Sequence[Mapping[str, Share]]) -> dict[str, Share]:
    """Return shares of several runs as one each, by name."""
    names = sorted({name for run in runs for name in run})
    found = {name: [run[name] for run in runs if name in run] for name in names}
    return {
        name: Share(name, sum(s.failures for s in shares), sum(s.n for s in shares))
        for name, shares in found.items()
    }


def compare(runs: Sequence[RunFigures], baselines: Sequence[str] = BASELINES) -> list[Arm]:
    """Return an arm for each policy and searcher, in order of appearance.

    Every searcher is compared with each baseline and with `OBJECT_ONLY`; p-values are corrected
    (Holm) over all comparisons of a metric with the baselines, and over all of it with the last.

    Args:
        runs: The complete runs.
        baselines: Names of the baselines; the first is random.
    """
    groups: dict[tuple[str, str], list[RunFigures]] = {}
    for run in runs:
        groups.setdefault((run.task.model, run.task.searcher), []).append(run)
    arms = {
        group: Arm(*group, tuple(sorted(found, key=lambda run: run.task.seed)), {})
        for group, found in groups.items()
    }
    gains: dict[tuple[str, str], dict[tuple[str, str], Gain]] = {group: {} for group in arms}
    for metric in METRICS:
        for others in (tuple(baselines), (OBJECT_ONLY,)):
            for (group, other), gain in _gains(arms, metric, others).items():
                gains[group][metric, other] = gain
    return [
        replace(arm, gains=gains[group], mix=_mix(arm, arms.get((group[0], baselines[0]))))
        if baselines
        else replace(arm, gains=gains[group])
        for group, arm in arms.items()
    ]


def _gains(
    arms: Mapping[tuple[str, str], Arm], metric: str, others: Sequence[str]
) -> dict[tuple[tuple[str, str], str], Gain]:
    """Return by arm and other how far they are apart, p-values corrected over all of these."""
    found: dict[tuple[tuple[str, str], str], Gain] = {}
    for group, arm in arms.items():
        for other in others:
            theirs = arms.get((group[0], other))
            # Of two baselines, the later is compared with the earlier, and not again.
            before = group[1] in others and others.index(group[1]) <= others.index(other)
            if before or theirs is None:
                continue
            mine, base = arm.middle(metric), theirs.middle(metric)
            if mine is None or base is None:
                continue
            paired = against(arm.by_seed(metric), theirs.by_seed(metric))
            found[group, other] = Gain(mine.median - base.median, paired)
    tested = [(place, gain.paired) for place, gain in found.items() if gain.paired is not None]
    corrected = holm([paired.p for _, paired in tested])
    for (place, paired), p in zip(tested, corrected, strict=True):
        found[place] = replace(found[place], paired=replace(paired, p_holm=p))
    return found


def _mix(arm: Arm, baseline: Arm | None) -> float | None:
    if baseline is None:
        return None
    rates = {name: share.rate for name, share in baseline.objects().items()}
    mine = arm.objects()
    total = sum(share.n for share in mine.values())
    if not total:
        return None
    mixed = 0.0
    for name, share in mine.items():
        rate = rates.get(name)
        if rate is None:
            return None
        mixed += rate * share.n / total
    return mixed
