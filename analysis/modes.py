"""Failure modes: the candidates that fail consistently, ranked by how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import Tally, Trial, wilson_interval
from ..envs.shown_pictures import is_used_up
from ..runs.run import RunData
from .fresh import fresh_tallies, least_trials
from .verdicts import FreshBounds, Verdict


@dataclass(frozen=True, slots=True)
class FailureMode:
    """What fails at a rate of at least τ: a candidate, or where those are vectors a box of them.

    Attributes:
        candidate: The candidate as JSON values; concept ids for a concept set; of a box its limits
            by dimension, in units.
        key: Its canonical key; of a box its limits in words.
        failure_rate: Failures / (passes + failures) of the search's trials.
        failures: Number of failures.
        n: Number of passes and failures.
        interval: Wilson 95 % interval of the rate over all the search's trials.
        confirmed: Whether the one-sided 95 % Clopper-Pearson lower bound on fresh trials is at
            least τ; None when there are none ("not re-run").
        rule: Id of the truth rule that its failures broke most often.
        directions: Number of failures by direction of the error.
        expected: Option id that was right most often.
        answers: Number of failures by the option chosen.
        trials: The search's trials.
        fresh: Trials drawn after the candidate was selected.
        reason: The rule's finding on the first failing scene, in words.
        parts: A box's limits in words, one a dimension; none of a candidate.
        used_up: Whether all its pictures have been shown, so that no fresh trial can be had.
        threshold: Failure rate τ.
    """

    candidate: Any
    key: str
    failure_rate: float
    failures: int
    n: int
    interval: tuple[float, float]
    confirmed: bool | None
    rule: str | None
    directions: Mapping[str, int]
    expected: str | None
    answers: Mapping[str, int]
    trials: tuple[Trial, ...] = field(repr=False)
    fresh: Tally = field(default_factory=Tally, repr=False)
    reason: str = ""
    parts: tuple[str, ...] = ()
    used_up: bool = False
    threshold: float = 0.6

    @property
    def bounds(self) -> FreshBounds:
        """The one-sided bounds on the fresh trials, one of which decides."""
        return FreshBounds(self.fresh.failures, self.fresh.n, self.threshold)

    @property
    def verdict(self) -> Verdict:
        """What fresh trials say of it."""
        return self.bounds.verdict(self.used_up)

    @property
    def direction(self) -> str | None:
        """The most frequent direction of the error."""
        return most_frequent(self.directions)

    @property
    def fresh_rate(self) -> float | None:
        """Failure rate on fresh trials, free of selection; None without any."""
        return self.fresh.rate

    def to_json(self) -> dict[str, Any]:
        """Return the mode as JSON values."""
        fresh = None
        if self.fresh.trials or self.used_up:
            fresh = {
                "failure_rate": self.fresh.rate,
                "failures": self.fresh.failures,
                "n": self.fresh.n,
                "interval": list(self.fresh.interval()) if self.fresh.n else None,
                **self.bounds.to_json(),
            }
        return {
            "candidate": self.candidate,
            "key": self.key,
            "failure_rate": self.failure_rate,
            "failures": self.failures,
            "n": self.n,
            "interval": list(self.interval),
            "confirmed": self.confirmed,
            "verdict": str(self.verdict),
            "fresh": fresh,
            "rule": self.rule,
            "expected": self.expected,
            "direction": self.direction,
            "directions": dict(self.directions),
            "answers": dict(self.answers),
            **({"box": self.key} if self.parts else {}),
            **({"used_up": True} if self.used_up else {}),
        }


def failure_modes(run: RunData, threshold: float | None = None) -> list[FailureMode]:
    """Return the failure modes of a run, the surest first.

    They are ranked by the lower bound of the interval, then by n, then by key: 1/1 does not
    outrank 30/75. Where candidates are vectors, a mode is a box of them (`analysis.boxes`). A
    candidate with fewer than `least_trials` passes and failures is none, but one of `suspicions`.

    Args:
        run: The run.
        threshold: Failure rate τ; the run's own by default.
    """
    from .vector_modes import box_modes, is_vector_run

    tau = run.threshold if threshold is None else threshold
    if is_vector_run(run):
        return box_modes(run, tau)
    least = least_trials(run)
    return [mode for mode in _failing(run, tau) if not _is_suspicion(mode, least)]


def suspicions(run: RunData, threshold: float | None = None) -> list[FailureMode]:
    """Return what failed at a rate of at least τ in too few trials for a mode, the surest first.

    Once it has that many fresh trials, it is a failure mode and these judge it.

    Args:
        run: The run.
        threshold: Failure rate τ; the run's own by default.
    """
    from .vector_modes import is_vector_run

    if is_vector_run(run):
        return []
    tau = run.threshold if threshold is None else threshold
    least = least_trials(run)
    return [mode for mode in _failing(run, tau) if _is_suspicion(mode, least)]


def surest(run: RunData, top: int, threshold: float | None = None) -> list[FailureMode]:
    """Return what is tried on fresh scenes: the surest modes, then the surest suspicions."""
    return [*failure_modes(run, threshold), *suspicions(run, threshold)][:top]


def _is_suspicion(mode: FailureMode, least: int) -> bool:
    return mode.n < least and mode.fresh.n < least


def _failing(run: RunData, tau: float) -> list[FailureMode]:
    """Return every candidate with a rate of at least `tau`, ranked."""
    fresh = fresh_tallies(run, tau)
    used_up = {record.trial.key for record in run.records.values() if is_used_up(record)}
    modes = []
    for key, evaluation in run.candidates.items():
        tally = evaluation.total
        if tally.rate is not None and tally.rate >= tau:
            new = fresh.get(key, Tally((), run.count_as_fail))
            mode = _mode(run, evaluation.candidate, key, tally, new, tau)
            modes.append(replace(mode, used_up=True) if key in used_up else mode)
    return sorted(modes, key=lambda mode: (-mode.interval[0], -mode.n, mode.key))


def _mode(
    run: RunData, candidate: Any, key: str, tally: Tally, fresh: Tally, threshold: float
) -> FailureMode:
    failed = [trial for trial in tally.trials if tally.failed(trial)]
    rule = most_frequent(count(trial.rule for trial in failed))
    cited = next((trial for trial in failed if trial.rule == rule), failed[0])
    return FailureMode(
        candidate=candidate,
        key=key,
        failure_rate=tally.failures / tally.n,
        failures=tally.failures,
        n=tally.n,
        interval=wilson_interval(tally.failures, tally.n),
        confirmed=FreshBounds(fresh.failures, fresh.n, threshold).confirmed,
        rule=rule,
        directions=count(trial.direction for trial in failed),
        expected=most_frequent(count(trial.expected for trial in tally.trials)),
        answers=count(trial.answer or str(trial.outcome) for trial in failed),
        trials=tally.trials,
        fresh=fresh,
        reason=str(run.records[key, cited.index].scene.get("truth_reason") or ""),
        threshold=threshold,
    )


def count(values: Iterable[str | None]) -> dict[str, int]:
    """Count the values that are not None, the most frequent first, ties by name."""
    counter = Counter(value for value in values if value is not None)
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def most_frequent(counts: Mapping[str, int]) -> str | None:
    """Return the name with the highest count (ties: the first by name), or None."""
    return min(counts, key=lambda name: (-counts[name], name), default=None)
