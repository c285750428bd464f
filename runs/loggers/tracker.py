"""What a dashboard shows of a run: one row of numbers an evaluation, and the failing pictures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import Evaluation, TrialRecord
from ...core.text import tamed

LONGEST_TEXT = 1000
"""Characters of a model's words, a question or a candidate that leave for a dashboard."""

LARGEST_PICTURE = 8 * 2**20
"""Bytes of a picture that leaves for a dashboard."""

PICTURES_A_CANDIDATE = 2

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FailingTrial:
    """A failing trial as a row of a table; all texts are bounded and without control characters."""

    call: int
    candidate: str
    rate: str
    picture: str | None
    question: str
    reply: str
    answer: str
    truth: str
    rule: str

    @property
    def texts(self) -> dict[str, str]:
        """The row without its numbers and its picture, by column."""
        return {
            name: getattr(self, name) for name in ("question", "reply", "answer", "truth", "rule")
        }


class RunTracker:
    """Counts along with a run; the same evaluations give the same rows in any process."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Begin a run of this configuration."""
        self._trials = int(config.get("trials") or 1)
        self._budget = int(config.get("budget") or 0)
        self._threshold = float(config.get("threshold") or 1.0)
        searcher = config.get("searcher")
        fixed = searcher.get("fixed_trials", True) if isinstance(searcher, Mapping) else True
        self._fixed = bool(fixed)
        self._sets = True
        self._evaluations = 0
        self._failures = 0
        self._n = 0
        self._full = 0
        self._full_modes = 0
        self._modes: set[str] = set()
        self._seen: dict[str, Evaluation[Any]] = {}
        self._failing: dict[str, list[tuple[int, TrialRecord]]] = {}

    @property
    def evaluations(self) -> int:
        """Evaluations counted."""
        return self._evaluations

    def row(
        self, calls: int, evaluation: Evaluation[Any], records: Sequence[TrialRecord]
    ) -> dict[str, Any]:
        """Count one evaluation; return its numbers. What has no data is left out.

        PFM and modes so far are what the run's own metrics would be if it ended here; PFM is left
        out where candidates get other numbers of trials, modes where candidates are vectors. Where
        nothing was put to the model there is no ``call``: each number of trials comes once.
        """
        key, rate = evaluation.key, evaluation.rate
        is_mode = rate is not None and rate >= self._threshold
        candidate = evaluation.candidate
        self._sets = self._sets and not _is_vector(candidate)
        if key in self._seen or evaluation.new.charged > self._trials:
            self._fixed = False
        self._seen[key] = evaluation
        self._failures += evaluation.new.failures
        self._n += evaluation.new.n
        if evaluation.total.charged >= self._trials and evaluation.n > 0:
            self._full += 1
            self._full_modes += is_mode
        (self._modes.add if is_mode else self._modes.discard)(key)
        failing = self._failing.setdefault(key, [])
        for record in records:
            if len(failing) < PICTURES_A_CANDIDATE and evaluation.new.failed(record.trial):
                failing.append((calls, record))
        row = {
            "call": calls if evaluation.new.charged else None,
            "evaluation": self._evaluations,
            "candidate": bounded(key),
            "failure_rate": rate,
            "n": evaluation.n,
            "failures": self._failures,
            "modes": len(self._modes) if self._sets else None,
            "budget_share": calls / self._budget if self._budget else None,
            "mfr": self._failures / self._n if self._n else None,
            "pfm": self._full_modes / self._full if self._full and self._fixed else None,
        }
        self._evaluations += 1
        return {name: value for name, value in row.items() if value is not None}

    def failing(self, most: int) -> list[FailingTrial]:
        """Return at most `most` failing trials: of the candidates with most failures first."""
        order = sorted(
            (key for key, found in self._failing.items() if found),
            key=lambda key: (-self._seen[key].total.failures, self._seen[key].n),
        )
        # A second trial of a candidate comes after the first ones of all others.
        places = [
            (turn, key)
            for turn in range(PICTURES_A_CANDIDATE)
            for key in order
            if turn < len(self._failing[key])
        ]
        return [self._failing_trial(key, turn) for turn, key in places[:most]]

    def _failing_trial(self, key: str, turn: int) -> FailingTrial:
        call, record = self._failing[key][turn]
        trial, total = record.trial, self._seen[key].total
        return FailingTrial(
            call=call,
            candidate=bounded(key),
            rate=f"{total.failures}/{total.n}",
            picture=trial.picture,
            question=bounded(record.prompt),
            reply=bounded(trial.reply),
            answer=bounded(trial.answer or str(trial.outcome)),
            truth=bounded(trial.expected or ""),
            rule=bounded(trial.rule or ""),
        )


def bounded(text: str, most: int = LONGEST_TEXT) -> str:
    """Return foreign text as one line of at most `most` characters."""
    line = tamed(text, most + 1)
    return line if len(line) <= most else line[: most - 1] + "…"


def bounded_values(value: Any, depth: int = 6) -> Any:
    """Return JSON values with every text bounded, and what lies deeper than `depth` left out."""
    if isinstance(value, Mapping):
        if depth == 0:
            return "…"
        items = list(value.items())[:500]
        return {bounded(str(name), 200): bounded_values(one, depth - 1) for name, one in items}
    if isinstance(value, (list, tuple)):
        return [bounded_values(one, depth - 1) for one in value[:500]] if depth else "…"
    return bounded(value) if isinstance(value, str) else value


def picture_of(folder: Path | None, digest: str | None) -> Path | None:
    """Return where a run's picture lies; None when it is gone, too large or another one."""
    if folder is None or digest is None or not _DIGEST.fullmatch(digest):
        return None
    path = folder.absolute() / "images" / f"{digest}.png"
    try:
        small = path.stat().st_size <= LARGEST_PICTURE
        same = small and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return None
    return path if same else None


def _is_vector(candidate: Any) -> bool:
    if hasattr(candidate, "dtype"):
        return True
    if not isinstance(candidate, (list, tuple)) or not candidate:
        return False
    return all(isinstance(one, (int, float)) for one in candidate)
