"""Tree-structured Parzen estimators, by Optuna."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...core import MissingDependencyError
from ...searchers import _knobs
from ._numbers import SceneVectors
from ._peer import Peer


class OptunaTPE(Peer):
    """Optuna's TPE sampler: draws where good candidates are denser than the others.

    *Concept sets*: one parameter a concept, 0 or 1; the unseen valid set nearest to what Optuna
    suggests is evaluated. *Scene vectors*: a number in [0, 1] a dimension, a choice's and a flag's
    as a category. Optuna is told the numbers of what was evaluated, not those that it suggested.
    The study is in memory and maximises the failure rate; the first `startup` candidates are
    random ones, as `random` draws them.
    """

    name: ClassVar[str] = "optuna-tpe"

    def __init__(self, *, startup: int = 10, candidates: int = 24) -> None:
        """Set the knobs.

        Args:
            startup: Random candidates at first (Optuna's `n_startup_trials`).
            candidates: Draws among which the best is suggested (`n_ei_candidates`).

        Raises:
            UsageError: When a knob is out of range.
        """
        self.startup = _knobs.whole("startup", startup, 1)
        self.candidates = _knobs.whole("candidates", candidates, 1)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {"startup": self.startup, "candidates": self.candidates}

    def _start(self) -> None:
        try:
            import optuna
        except ImportError as error:
            raise MissingDependencyError("optuna", "optuna", f"searcher {self.name}") from error
        distributions: Any = optuna.distributions
        self._bins = [2] * self._numbers.width
        if isinstance(self._numbers, SceneVectors):
            vectors: Any = self.space
            self._bins = [len(one.choices) for one in vectors.dimensions]
        self._distributions = {
            str(i): distributions.CategoricalDistribution(list(range(count)))
            if count
            else distributions.FloatDistribution(0.0, 1.0)
            for i, count in enumerate(self._bins)
        }
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=1,
            n_ei_candidates=self.candidates,
            seed=int(self.rng.integers(2**31)),
        )
        # Else a line a study on the user's terminal; the setting is put back at once.
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            self._study = optuna.create_study(direction="maximize", sampler=sampler)
        finally:
            optuna.logging.set_verbosity(verbosity)
        self._create, self._failed = optuna.trial.create_trial, optuna.trial.TrialState.FAIL
        self._known = 0

    def _propose(self) -> Any | None:
        if self._proposed < self.startup or not self._known:
            return self._numbers.drawn()
        trial = self._study.ask(self._distributions)
        suggested = [trial.params[name] for name in self._distributions]
        # A failed trial is no observation: what is learnt is what was evaluated.
        self._study.tell(trial, state=self._failed)
        if not isinstance(self._numbers, SceneVectors):
            return self._numbers.nearest(np.array(suggested, dtype=np.float64))
        target = [
            (value + 0.5) / count if count else value
            for value, count in zip(suggested, self._bins, strict=True)
        ]
        return self._numbers.nearest(np.array(target))

    def _learn(self, candidate: Any, rate: float | None) -> None:
        if rate is None:
            return
        numbers = self._numbers.of(candidate)
        if isinstance(self._numbers, SceneVectors):
            numbers = np.array(
                [
                    min(int(number * count), count - 1) if count else number
                    for number, count in zip(numbers, self._bins, strict=True)
                ]
            )
        params = {
            name: int(value) if count else float(value)
            for name, value, count in zip(self._distributions, numbers, self._bins, strict=True)
        }
        self._study.add_trial(
            self._create(params=params, distributions=self._distributions, value=rate)
        )
        self._known += 1
