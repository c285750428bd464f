"""Nobody takes statements that no reply marks for marks."""

from __future__ import annotations

from typing import Any

import pytest

from vlmfail.analysis.recognition_marks import unmarked_statements
from vlmfail.core import Outcome, Trial, TrialRecord


def record(marks: list[bool | None] | None, outcome: Outcome = Outcome.PASS) -> TrialRecord:
    trial = Trial(key="cone", index=0, outcome=outcome)
    scene: dict[str, Any] = {} if marks is None else {"recognition": {"marks": marks}}
    return TrialRecord(trial, prompt="", options=(), scene=scene)


def test_a_run_whose_replies_mark_nothing_is_told() -> None:
    told = unmarked_statements([record([None] * 8), record([None] * 4)])
    assert told is not None
    assert "12 in all" in told
    assert "any reply of 2 trials" in told
    assert "one trial" in (unmarked_statements([record([None])]) or "")


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record(None)],
        [record([])],
        [record([None] * 4), record([None, False])],
        [record([None] * 4, Outcome.ERROR), record([None] * 4, Outcome.REFUSED)],
    ],
    ids=["nothing", "not asked", "nothing to ask", "one mark", "no replies"],
)
def test_there_is_nothing_to_tell(records: list[TrialRecord]) -> None:
    assert unmarked_statements(records) is None
