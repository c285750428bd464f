"""Metrics and statistics of a run: what failed, how sure that is."""

from __future__ import annotations

from .metrics import (
    Share,
    concept_rates,
    constant_answer,
    cumulative_failures,
    metrics,
    outcome_counts,
)
from .modes import FailureMode, failure_modes
from .rerun import rerun_modes
from .summary import summary

__all__ = [
    "FailureMode",
    "Share",
    "concept_rates",
    "constant_answer",
    "cumulative_failures",
    "failure_modes",
    "metrics",
    "outcome_counts",
    "rerun_modes",
    "summary",
]
