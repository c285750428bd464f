"""What a bench consists of: environments, searchers, models, seeds, and the runs of them all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..studies.comparison import Statistic
from ..studies.folders import slug

LONGEST_PART = 80
"""Characters of a folder's name; longer ones end in a digest instead."""


@dataclass(frozen=True, slots=True)
class EnvArm:
    """An environment with its options.

    Attributes:
        label: Its name in the bench, unlike any other's.
        group: Name of the row that it belongs to: environments that differ in a seed of their own
            (landscapes) are repetitions of each other.
        unit: What tells it from the others of its group, or "".
        id: Env id, or a domain as ``module_or_file:Name``.
        args: Options of the env and its domain.
        models: Models under test.
    """

    label: str
    group: str
    unit: str
    id: str
    args: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearcherArm:
    """A searcher with its arguments.

    Attributes:
        label: Its name in the bench, unlike any other's.
        name: Registered name, or ``module_or_file:Name``.
        args: Its arguments.
    """

    label: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """One run, by labels.

    Attributes:
        env: Label of the environment.
        model: Spec of the model.
        searcher: Label of the searcher.
        seed: Seed of the run.
    """

    env: str
    model: str
    searcher: str
    seed: int

    def __str__(self) -> str:
        """Name it in a line."""
        return f"{self.env} {self.model} {self.searcher} seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Bench:
    """What a bench does. Every run may charge the same number of trials.

    Attributes:
        out: Its folder; a run lies in ``out/env/model/searcher/seed``.
        envs: Environments.
        searchers: Searchers.
        seeds: Seeds of every searcher.
        budget: Trials that a run may charge.
        trials: Trials a candidate, m; None = the env's own.
        batch: Candidates asked for at once.
        threshold: Failure rate τ of a failure mode.
        renderer: Renderer; None = the env's own.
        baseline: Label of the searcher that the others are compared with.
        confirm: Whether the surest modes of every run are tried again, outside the budget.
        top: How many of them.
        fresh: Fresh trials of such a mode.
        audit: Whether the reported modes of concept sets are audited, outside the budget, where no
            true rates are known.
        statistic: What stands for the runs of a searcher.
        loggers: Loggers of every run.
        concurrency: Requests of a run in flight; changes speed only.
        caps: Caps of every run (`max_requests`, `max_total_tokens`, `max_dollars`).
        cache: Folder of kept pictures; None = none is kept beside the runs'.
        cache_gib: Its largest size, GiB.
        name: The bench's name, by which loggers group its runs.
        about: What it is for, in a sentence or two, shown above its tables.
        thresholds: Failure rates by which PFM is told beside τ; no search knows them.
    """

    out: Path
    envs: tuple[EnvArm, ...]
    searchers: tuple[SearcherArm, ...]
    seeds: tuple[int, ...]
    budget: int = 1000
    trials: int | None = None
    batch: int = 8
    threshold: float = 0.6
    renderer: str | None = None
    baseline: str = "random"
    confirm: bool = False
    top: int = 10
    fresh: int = 20
    audit: bool = False
    statistic: Statistic = "mean"
    loggers: tuple[str, ...] = ()
    concurrency: int = 1
    caps: Mapping[str, float] = field(default_factory=dict)
    cache: Path | None = None
    cache_gib: float = 10.0
    name: str = "bench"
    about: str = ""
    thresholds: tuple[float, ...] = ()

    @property
    def full(self) -> int:
        """Trials of a run, as if it had all of its modes to try again."""
        return self.budget + (self.top * self.fresh if self.confirm else 0)

    def env(self, label: str) -> EnvArm:
        """Return the environment of a label."""
        return next(env for env in self.envs if env.label == label)

    def searcher(self, label: str) -> SearcherArm:
        """Return the searcher of a label."""
        return next(one for one in self.searchers if one.label == label)

    def tasks(self) -> list[Task]:
        """Return all runs, seed by seed: whenever it is stopped, what is there is balanced."""
        return [
            Task(env.label, model, searcher.label, seed)
            for seed in self.seeds
            for env in self.envs
            for model in env.models
            for searcher in self.searchers
        ]

    def folder(self, task: Task) -> Path:
        """Return where a run lies."""
        names = (part(name) for name in (task.env, task.model, task.searcher))
        return self.out.joinpath(*names, str(task.seed))


def part(label: str) -> str:
    """Return a label as one part of a path, of a length that every disk takes."""
    name = slug(label)
    if len(name) <= LONGEST_PART:
        return name
    return f"{name[: LONGEST_PART - 9]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
