"""What became of the true/false statements of a run (Revelio App. G): whether any was marked."""

from __future__ import annotations

from collections.abc import Iterable

from ..core import Outcome, TrialRecord
from ..envs.recognition import RECORD

SILENT = frozenset({Outcome.ERROR, Outcome.TIMEOUT, Outcome.REFUSED, Outcome.INVALID_SCENE})
"""Outcomes of trials without a reply in which something could be marked."""


def unmarked_statements(records: Iterable[TrialRecord]) -> str | None:
    """Return a sentence for the reader when statements were asked and no reply marked any.

    Args:
        records: The run's trials; those without a reply are passed over.

    Returns:
        None when no statement was asked, no trial has a reply, or a single one was marked.
    """
    trials = statements = 0
    for record in records:
        if RECORD not in record.scene or record.trial.outcome in SILENT:
            continue
        marks = record.scene[RECORD].get("marks", [])
        if any(mark is not None for mark in marks):
            return None
        trials += bool(marks)
        statements += len(marks)
    if not trials:
        return None
    where = "the reply of the one trial" if trials == 1 else f"any reply of {trials} trials"
    return (
        f"true/false statements were asked ({statements} in all) and none is marked in {where}: "
        "nothing is known of what the model sees. Read a reply: vlmfail replay shows it; a model "
        'marks them in lines such as "S1: T"'
    )
