"""Metrics and statistics of a run: what failed, how sure that is.

Start at `summarise`, which gives a run's metrics and failure modes; `compute_metrics` and
`failure_modes` are its halves, `rerun_modes` tries the modes on fresh scenes, `audit_reports`
whether those that a run reports are true and minimal.
"""

from __future__ import annotations

from .audit import audit_reports
from .audited import AuditedReport, AuditVerdict, audit_of
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
    "AuditVerdict",
    "AuditedReport",
    "FailureMode",
    "Share",
    "audit_of",
    "audit_reports",
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
