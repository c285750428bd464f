"""Metrics and statistics of a run: what failed, how sure that is.

Start at `summarise`, which gives a run's metrics and failure modes; `compute_metrics` and
`failure_modes` are its halves, `rerun_modes` tries the modes on fresh scenes.
"""

from __future__ import annotations

from .metrics import (
    Share,
    compute_metrics,
    concept_rates,
    constant_answer,
    cumulative_failures,
    outcome_counts,
)
from .modes import FailureMode, failure_modes, suspicions
from .rerun import rerun_modes
from .summary import summarise

__all__ = [
    "FailureMode",
    "Share",
    "concept_rates",
    "constant_answer",
    "cumulative_failures",
    "failure_modes",
    "compute_metrics",
    "outcome_counts",
    "rerun_modes",
    "summarise",
    "suspicions",
]
