"""Run: everything one search did, read from its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core import Evaluation, Outcome, RunFolderError, Tally, TrialRecord
from .store import RunStore


class RunData:
    """A finished or partial run.

    Attributes:
        store: The run's folder.
    """

    def __init__(self, store: RunStore) -> None:
        """Wrap an open store."""
        self.store = store

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunData:
        """Open a run folder for reading."""
        return cls(RunStore.open(path))

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.store.path

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The run's configuration (`run.json`).

        Raises:
            RunFolderError: When it cannot be what a search wrote.
        """
        config = self.store.config
        try:
            sound = (
                int(config["trials"]) >= 1
                and int(config["budget"]) >= 1
                and 0 < float(config["threshold"]) <= 1
                and all(
                    Outcome(name) not in (Outcome.PASS, Outcome.INVALID_SCENE)
                    for name in config.get("count_as_fail", ())
                )
                and all(isinstance(config.get(n, {}), dict) for n in ("searcher", "model", "caps"))
            )
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            raise RunFolderError(
                f"{self.path / 'run.json'} is not what a search wrote: restore it, or search anew"
            )
        return config

    @property
    def status(self) -> str:
        """``running``, ``finished``, ``interrupted``, ``space exhausted``, ``capped`` ..."""
        return self.store.meta("status") or "running"

    @property
    def trials(self) -> int:
        """Default trials a candidate, m."""
        return int(self.config["trials"])

    @property
    def budget(self) -> int:
        """Trials that the run might charge."""
        return int(self.config["budget"])

    @property
    def threshold(self) -> float:
        """Failure rate τ from which a candidate is a failure mode."""
        return float(self.config["threshold"])

    @property
    def count_as_fail(self) -> frozenset[Outcome]:
        """Outcomes that the user wants counted as failures."""
        return frozenset(Outcome(name) for name in self.config.get("count_as_fail", ()))

    @cached_property
    def records(self) -> Mapping[tuple[str, int], TrialRecord]:
        """All trials by (candidate key, trial index)."""
        return {(r.trial.key, r.trial.index): r for r in self.store.records()}

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """(candidate key, trial index) of all trials, in the order in which they are numbered.

        Those of the log come first. What it does not hold follows as it was stored: trials of a
        batch that has not ended, which get their place in the log when it does, and re-run ones.
        """
        logged = [(entry.key, i) for entry in self.store.evaluation_log() for i in entry.indices]
        return tuple(dict.fromkeys([*logged, *self.store.places()]))

    def candidate(self, key: str) -> Any:
        """Return the candidate of a key as JSON values, or None when the run does not name it."""
        told = self.candidates.get(key)
        return self.store.asked().get(key) if told is None else told.candidate

    @cached_property
    def evaluations(self) -> tuple[Evaluation[Any], ...]:
        """Evaluations in the order in which they were told; candidates as JSON values."""
        totals: dict[str, Tally] = {}
        result = []
        for entry in self.store.evaluation_log():
            trials = tuple(
                self.records[entry.key, i].trial
                for i in entry.indices
                if (entry.key, i) in self.records
            )
            new = Tally(trials, self.count_as_fail)
            total = totals.get(entry.key, Tally((), self.count_as_fail)).extended(trials)
            totals[entry.key] = total
            result.append(Evaluation(_frozen(entry.candidate), entry.key, new, total))
        return tuple(result)

    @property
    def candidates(self) -> Mapping[str, Evaluation[Any]]:
        """The last evaluation of every candidate, by key, in order of first evaluation."""
        last: dict[str, Evaluation[Any]] = {}
        for evaluation in self.evaluations:
            last[evaluation.key] = evaluation
        return last

    @property
    def calls(self) -> int:
        """Charged trials."""
        return sum(evaluation.new.charged for evaluation in self.evaluations)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
