"""The metrics that a bench shows: their names, how they are written, which way is better."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a run.

    Attributes:
        key: Its name in `compute_metrics`.
        title: Its name in a table.
        meaning: What it is.
        scale: What it is multiplied by to be shown.
        digits: Decimals shown.
        better: 1 when more is better, -1 when less is, 0 when neither.
        compared: Whether searchers are compared by it.
    """

    key: str
    title: str
    meaning: str
    scale: float = 1.0
    digits: int = 1
    better: int = 1
    compared: bool = True

    @property
    def percent(self) -> bool:
        """Whether it is shown in percent."""
        return self.scale == 100.0


def _percent(key: str, title: str, meaning: str, better: int = 1, compared: bool = True) -> Metric:
    return Metric(key, f"{title} %", meaning, 100.0, 1, better, compared)


METRICS: tuple[Metric, ...] = (
    Metric("modes_at_1k", "modes at 1k", "confirmed, minimal failure modes per 1000 trials", 1, 1),
    _percent("pfm_true", "true PFM", "share of evaluated sets whose true rate is τ or more"),
    _percent("recall", "recall", "share of the planted minimal modes that were reported"),
    _percent("oracle_share", "of oracle", "true modes found, of those that an oracle would find"),
    _percent(
        "false_reports",
        "false reports",
        "reported modes that fail in less than τ",
        -1,
    ),
    _percent("non_minimal_reports", "not minimal", "reported modes that a part of explains", -1),
    _percent("pfm", "PFM", "share of evaluated candidates that failed in τ of m trials or more"),
    _percent("mfr", "MFR", "failing trials among those that passed or failed"),
    Metric("div", "Div", "mean Jaccard distance between the failure modes", 1, 2),
    Metric("modes", "modes", "candidates that failed in τ of their trials or more", 1, 1),
    Metric("confirmed_modes", "confirmed", "modes that fresh trials confirm", 1, 1),
    _percent(
        "failures_per_call", "failures / trial", "failing trials among those charged", 1, False
    ),
    _percent(
        "rerun_mean", "fresh rate", "failure rate of the re-run modes on fresh trials", 1, False
    ),
    _percent("rerun_share_80", "fresh ≥ 80", "re-run modes that fail in 80 % or more", 1, False),
    _percent("infeasible", "infeasible", "tried candidates without a valid scene", 0, False),
    _percent("fr", "FR", "failing episodes among those that passed or failed"),
    _percent("tc", "TC", "share of the table's bins that the object visited", 1),
    _percent("tcf", "TCF", "the same in failing episodes alone"),
    _percent("foc", "FOC", "share of the objects that failed at least once"),
)
"""In the order in which they are shown; the first with data is a bench's main metric."""

BY_KEY: Mapping[str, Metric] = {metric.key: metric for metric in METRICS}

SAME = {"fr": ("pfm", "mfr", "failures_per_call"), "mfr": ("failures_per_call",)}
"""Metrics that say the same as others where those are there."""


def numbers_of(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """Return those of a run's metrics that a bench knows, as numbers."""
    found: dict[str, float | None] = {}
    for metric in METRICS:
        value = metrics.get(metric.key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[metric.key] = float(value)
        elif metric.key in metrics:
            found[metric.key] = None
    return found


def shown(keys: Collection[str]) -> list[Metric]:
    """Return the metrics to show of those that have data, none twice under two names."""
    hidden = {other for key in keys for other in SAME.get(key, ())}
    return [metric for metric in METRICS if metric.key in keys and metric.key not in hidden]
