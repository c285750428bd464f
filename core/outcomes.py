"""The outcome of a trial."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What came of one trial. Rates use ``PASS`` and ``FAIL`` only; the rest is counted beside."""

    PASS = "pass"
    FAIL = "fail"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    ERROR = "error"
    TIMEOUT = "timeout"
    INVALID_SCENE = "invalid_scene"

    @property
    def charged(self) -> bool:
        """Whether the trial was put to the model and therefore counts towards the budget."""
        return self is not Outcome.INVALID_SCENE
