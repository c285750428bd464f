"""Trial, tally and evaluation: what a search learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .outcomes import Outcome
from .question import Usage
from .statistics import wilson_interval

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Trial:
    """One scene put to one model, as agents see it. Holds no clock and no cost.

    Attributes:
        key: The candidate's canonical key.
        index: The trial's index for this candidate, from 0.
        outcome: What came of it.
        answer: Option id that the model chose, if one was parsed.
        expected: Option id of the right answer.
        accepted: Option ids that count as right.
        rule: Id of the truth rule that decided (``"A1"`` ...).
        direction: Direction of the error (``"under_reaction"`` ...), on failures only.
        picture: SHA-256 of the picture that the model saw.
        reply: The model's own words.
        note: Why a trial is ``invalid_scene``, ``error`` or ``unparsed``.
        repeats: Index of the trial of this candidate that it repeats bit for bit, or None: a
            deterministic policy in a deterministic world does the same again, which is charged and
            tells nothing.
    """

    key: str
    index: int
    outcome: Outcome
    answer: str | None = None
    expected: str | None = None
    accepted: tuple[str, ...] = ()
    rule: str | None = None
    direction: str | None = None
    picture: str | None = None
    reply: str = ""
    note: str = ""
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A trial with everything that the run keeps of it.

    Attributes:
        trial: The deterministic part.
        prompt: The text put to the model.
        options: Option ids in the shown order (A first).
        scene: The scene as JSON values: objects, poses, weather, visible pixels, attempts; and
            under ``"recognition"`` how statements were marked, when they were asked.
        raw: The provider's raw reply as JSON values.
        requests: Requests that reached the wire.
        input_tokens: Prompt tokens, if known.
        output_tokens: Generated tokens, if known.
        dollars: Price, if known.
        seconds_render: Time to sample and render the scene, s.
        seconds_model: Time that the model took, s.
    """

    trial: Trial
    prompt: str = ""
    options: tuple[str, ...] = ()
    scene: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)
    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    dollars: float | None = None
    seconds_render: float = 0.0
    seconds_model: float = 0.0

    @property
    def usage(self) -> Usage:
        """What the trial cost."""
        return Usage(self.requests, self.input_tokens, self.output_tokens, self.dollars)


@dataclass(frozen=True, slots=True)
class Tally:
    """Trials of one candidate with their counts.

    Attributes:
        trials: The trials in index order.
        count_as_fail: Outcomes besides ``fail`` that the user wants counted as failures.
    """

    trials: tuple[Trial, ...] = ()
    count_as_fail: frozenset[Outcome] = frozenset()

    @property
    def counts(self) -> dict[Outcome, int]:
        """Number of trials by outcome."""
        return dict(Counter(trial.outcome for trial in self.trials))

    @property
    def failures(self) -> int:
        """Number of failures."""
        return sum(self.failed(trial) for trial in self.trials)

    @property
    def n(self) -> int:
        """Number of trials that a rate uses: passes and failures, repeats left out."""
        passes = sum(t.outcome is Outcome.PASS and t.repeats is None for t in self.trials)
        return self.failures + passes

    @property
    def charged(self) -> int:
        """Number of trials put to the model."""
        return sum(trial.outcome.charged for trial in self.trials)

    @property
    def rate(self) -> float | None:
        """Failure rate, or None when no trial passed or failed: no data is not 0 %."""
        n = self.n
        return self.failures / n if n else None

    def failed(self, trial: Trial) -> bool:
        """Whether `trial` counts as a failure here; a repeat counts as nothing."""
        failing = trial.outcome is Outcome.FAIL or trial.outcome in self.count_as_fail
        return failing and trial.repeats is None

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson score interval of the failure rate; (0, 1) without data."""
        return wilson_interval(self.failures, self.n, confidence)

    def extended(self, trials: Iterable[Trial]) -> Tally:
        """Return a tally with `trials` added."""
        return Tally((*self.trials, *trials), self.count_as_fail)


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[C]):
    """A candidate with its trials.

    Attributes:
        candidate: The candidate; two evaluations are compared by its key.
        key: Its canonical key.
        new: The trials of this step.
        total: All trials so far, this step's included.
    """

    candidate: C = field(compare=False)
    key: str
    new: Tally
    total: Tally

    @property
    def rate(self) -> float | None:
        """Failure rate over all trials so far, or None without data."""
        return self.total.rate

    @property
    def n(self) -> int:
        """Passes and failures so far."""
        return self.total.n
