"""What one run of the study found, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...analysis.fresh import rerun_indices, rerun_tallies
from ...analysis.metrics import compute_metrics, constant_answer, full_evaluations
from ...analysis.modes import FailureMode, count, failure_modes
from ...analysis.summary import seconds
from ...core import Evaluation, Outcome, Trial
from ...runs.run import RunData
from .plan import DONE, Task, is_confirmed

MIXED = "mixed"
"""Group of the sets whose scenes have different right answers."""

NOTHING = "no valid scene"
"""Group of the sets that have no right answer."""


@dataclass(frozen=True, slots=True)
class SetFigures:
    """One evaluated set.

    Attributes:
        key: Its key.
        concepts: What it consists of.
        expected: The right answer of all its scenes, or `MIXED`, or `NOTHING`.
        counted: Whether PFM counts it.
        is_mode: Whether its failure rate is at least τ.
        scenes: Trials, those without a valid scene included.
        invalid: Trials without a valid scene.
        draws: Scenes drawn for the trials that have one; the surplus was drawn again.
    """

    key: str
    concepts: tuple[str, ...]
    expected: str
    counted: bool
    is_mode: bool
    scenes: int
    invalid: int
    draws: int

    @property
    def size(self) -> int:
        """Number of concepts."""
        return len(self.concepts)

    @property
    def infeasible(self) -> bool:
        """Whether no scene was valid."""
        return self.scenes > 0 and self.invalid == self.scenes


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """One failure mode.

    Attributes:
        mode: The mode.
        again: Whether it was among the surest, which are tried again.
        fresh_failures: Failures of the fresh trials.
        fresh_n: Passes and failures of the fresh trials.
        task: The run.
        shown: A failing trial with a picture, a fresh one if there is one.
        picture: File with its picture.
    """

    mode: FailureMode
    again: bool
    fresh_failures: int
    fresh_n: int
    task: Task
    shown: Trial | None
    picture: Path | None

    @property
    def fresh_rate(self) -> float | None:
        """Failure rate on fresh trials, None without any."""
        return self.fresh_failures / self.fresh_n if self.fresh_n else None

    @property
    def answer(self) -> str:
        """The wrong answer given most often."""
        return next(iter(self.mode.answers), "")


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run whose search is over.

    Attributes:
        task: Which run.
        pfm: Share of failure modes among the evaluated sets.
        mfr: Failing trials / valid trials.
        div: Mean pairwise Jaccard distance of the modes, None below two.
        sets: Its evaluated sets.
        modes: Its failure modes, the surest first.
        confirmed: Whether the surest modes had their fresh trials.
        calls: Charged trials of the search.
        trials: Trials that have records, fresh ones included.
        directions: Failing trials of the search by the error's direction.
        valid: Passes and failures of the search.
        seconds: Where the time went, s (`analysis.summary.seconds`).
        notice: A habit of the model that explains more than its failures, or None.
        model_identity: What the run says of the model.
    """

    task: Task
    pfm: float | None
    mfr: float | None
    div: float | None
    sets: tuple[SetFigures, ...]
    modes: tuple[ModeFigures, ...]
    confirmed: bool
    calls: int
    trials: int
    directions: Mapping[str, int]
    valid: int
    seconds: Mapping[str, float | None]
    notice: str | None
    model_identity: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the run's figures as JSON values, its sets left out."""
        return {
            "model": self.task.model,
            "searcher": self.task.searcher,
            "seed": self.task.seed,
            "pfm": self.pfm,
            "mfr": self.mfr,
            "div": self.div,
            "sets": len(self.sets),
            "modes": len(self.modes),
            "calls": self.calls,
            "confirmed": self.confirmed,
            "infeasible_sets": sum(one.infeasible for one in self.sets),
            "directions": dict(self.directions),
            "seconds": dict(self.seconds),
            "tried_again": [
                {
                    "candidate": one.mode.candidate,
                    "failures": one.mode.failures,
                    "n": one.mode.n,
                    "fresh_failures": one.fresh_failures,
                    "fresh_n": one.fresh_n,
                    "confirmed": one.mode.confirmed,
                    "expected": one.mode.expected,
                    "answer": one.answer,
                }
                for one in self.modes
                if one.again
            ],
        }


def read_run(folder: Path, task: Task, top: int, fresh: int) -> RunFigures | None:
    """Return the figures of a run, None while its search is not over."""
    run = RunData.open(folder)
    try:
        if run.status not in DONE:
            return None
        metrics = compute_metrics(run)
        counted = {evaluation.key for evaluation in full_evaluations(run)}
        told = [trial for evaluation in run.evaluations for trial in evaluation.new.trials]
        sets = tuple(
            _set(run, evaluation, evaluation.key in counted)
            for evaluation in run.candidates.values()
            if evaluation.total.trials
        )
        return RunFigures(
            task=task,
            pfm=metrics["pfm"],
            mfr=metrics["mfr"],
            div=metrics["div"],
            sets=sets,
            modes=_modes(run, task, top),
            confirmed=is_confirmed(run, top, fresh),
            calls=run.calls,
            trials=len(run.records),
            directions=count(trial.direction for trial in told),
            valid=sum(evaluation.new.n for evaluation in run.evaluations),
            seconds=seconds(run),
            notice=constant_answer(run),
            model_identity={k: v for k, v in run.config["model"].items() if k != "spec"},
        )
    finally:
        run.close()


def _set(run: RunData, evaluation: Evaluation[Any], counted: bool) -> SetFigures:
    trials = evaluation.total.trials
    expected = {trial.expected for trial in trials if trial.expected is not None}
    group = MIXED if len(expected) > 1 else next(iter(expected), NOTHING)
    invalid = sum(trial.outcome is Outcome.INVALID_SCENE for trial in trials)
    draws = sum(
        int(run.records[trial.key, trial.index].scene.get("attempts", 1))
        for trial in trials
        if trial.outcome is not Outcome.INVALID_SCENE
    )
    rate = evaluation.total.rate
    return SetFigures(
        key=evaluation.key,
        concepts=tuple(evaluation.candidate),
        expected=group,
        counted=counted,
        is_mode=rate is not None and rate >= run.threshold,
        scenes=len(trials),
        invalid=invalid,
        draws=draws,
    )


def _modes(run: RunData, task: Task, top: int) -> tuple[ModeFigures, ...]:
    tallies = rerun_tallies(run)
    listed = rerun_indices(run)
    found = []
    for place, mode in enumerate(failure_modes(run)):
        again = tallies.get(mode.key) if place < top and mode.key in listed else None
        trials = [*(again.trials if again else ()), *mode.trials]
        shown = next((t for t in trials if t.outcome is Outcome.FAIL and t.picture), None)
        found.append(
            ModeFigures(
                mode=mode,
                again=again is not None,
                fresh_failures=again.failures if again else 0,
                fresh_n=again.n if again else 0,
                task=task,
                shown=shown,
                picture=run.store.picture_path(shown.picture) if shown and shown.picture else None,
            )
        )
    return tuple(found)
