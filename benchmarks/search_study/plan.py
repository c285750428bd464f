"""Which runs a study consists of, in which order, and how far each of them is."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import envs
from ...analysis.fresh import rerun_indices
from ...analysis.modes import failure_modes
from ...core import UsageError
from ...envs.registry import make_domain
from ...rendering.baking import sources_digest
from ...rendering.picture_cache import drawing_digest
from ...runs.run import RunData
from ...runs.store import RunStore, dump_json
from ..studies.folders import PROVENANCE, Task, read_provenance, slug, write

__all__ = [
    "DONE", "PROVENANCE", "State", "Study", "Task", "keep_provenance", "next_task", "slug",
    "state_of", "write",
]  # fmt: skip

DONE = ("finished", "space exhausted")
"""Statuses of a run whose search is over."""

RETRIES = 5
"""Scenes that a re-run draws for each trial that it wants, at most (`analysis.rerun`)."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study does.

    Attributes:
        out: Its folder; a run lies in ``out/model/searcher/seed``.
        models: Models under test.
        searchers: Searchers; `baseline` is what the others are compared with.
        seeds: Seeds of a searcher, from 0.
        random_seeds: Seeds of the baseline.
        budget: Trials that a search may charge.
        trials: Trials a set, m.
        top: Modes of a run that are tried again.
        fresh: Fresh trials of such a mode.
        cache: Folder of kept pictures, None = none is kept.
        cache_gib: Its largest size, GiB.
        env: Environment.
        baseline: The searcher that the others are compared with.
    """

    out: Path
    models: tuple[str, ...] = ("tiny-vlm", "tiny-vlm-s")
    searchers: tuple[str, ...] = ("random", "beam", "gpts")
    seeds: int = 10
    random_seeds: int = 20
    budget: int = 1000
    trials: int = 5
    top: int = 10
    fresh: int = 20
    cache: Path | None = None
    cache_gib: float = 10.0
    env: str = "VLMFail-Driving-v0"
    baseline: str = "random"

    @property
    def full(self) -> int:
        """Trials of a run, as if it had all of its modes to try again."""
        return self.budget + self.top * self.fresh

    def seeds_of(self, searcher: str) -> int:
        """Return the number of seeds of a searcher."""
        return self.random_seeds if searcher == self.baseline else self.seeds

    def tasks(self) -> list[Task]:
        """Return all runs, seed by seed: whenever it is stopped, what is there is balanced."""
        return [
            Task(model, searcher, seed)
            for seed in range(max(self.seeds, self.random_seeds))
            for model in self.models
            for searcher in self.searchers
            if seed < self.seeds_of(searcher)
        ]

    def folder(self, task: Task) -> Path:
        """Return where a run lies."""
        return self.out / slug(task.model) / slug(task.searcher) / str(task.seed)


def keep_provenance(study: Study) -> None:
    """Write which code draws the pictures of a study; a study goes on with that code alone.

    Raises:
        UsageError: The study was begun by other code, or nothing says by which, or its folder
            cannot be written.
    """
    domain = make_domain(study.env)
    identity = domain.identity() if hasattr(domain, "identity") else {}
    here = {
        "pictures": drawing_digest(),
        "envs": sources_digest((Path(envs.__file__).parent,)),
        "domain": dict(identity),
    }
    there = read_provenance(study.out)
    if there is None:
        write(study.out, PROVENANCE, dump_json(here, indent=1).encode())
    elif there != json.loads(dump_json(here)):
        raise UsageError(
            f"{study.out} was begun by other code of the domain or the renderer, and its runs "
            "would not be alike: choose another --out, or go back to that code"
        )


@dataclass(frozen=True, slots=True)
class State:
    """How far a run is.

    Attributes:
        searched: Whether the search is over.
        confirmed: Whether its surest modes had their fresh trials.
        charged: Trials put to the model, fresh ones included.
    """

    searched: bool = False
    confirmed: bool = False
    charged: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.searched and self.confirmed


def state_of(study: Study, task: Task) -> State:
    """Return how far a run is.

    Raises:
        UsageError: The folder holds a search with other settings.
    """
    folder = study.folder(task)
    if not RunStore.is_run(folder):
        return State()
    run = RunData.open(folder)
    try:
        check_settings(study, task, run)
        charged = sum(record.trial.outcome.charged for record in run.records.values())
        searched = run.status in DONE
        return State(searched, searched and is_confirmed(run, study.top, study.fresh), charged)
    finally:
        run.close()


def check_settings(study: Study, task: Task, run: RunData) -> None:
    """Check that a run is the one that a study means.

    Raises:
        UsageError: It is a search with other settings.
    """
    there = {
        "env": run.config.get("env"),
        "model": run.config["model"].get("spec"),
        "searcher": run.config["searcher"].get("spec"),
        "seed": run.config.get("seed"),
        "budget": run.budget,
        "trials": run.trials,
    }
    here = {
        "env": study.env,
        "model": task.model,
        "searcher": task.searcher,
        "seed": task.seed,
        "budget": study.budget,
        "trials": study.trials,
    }
    for name, value in here.items():
        if there[name] != value:
            raise UsageError(
                f"{run.path} was made with {name} {there[name]!r}, this study has {value!r}: "
                "choose another --out"
            )


def is_confirmed(run: RunData, top: int, fresh: int) -> bool:
    """Whether the surest modes have their fresh trials, or have no more valid scenes."""
    listed = rerun_indices(run)
    for mode in failure_modes(run)[:top]:
        places = [(mode.key, index) for index in listed.get(mode.key, ())]
        records = [run.records[place] for place in places if place in run.records]
        charged = sum(record.trial.outcome.charged for record in records)
        if charged < fresh and len(records) < RETRIES * fresh:
            return False
    return True


def next_task(pending: Sequence[Task], running: Collection[Task]) -> Task:
    """Return the task to start: the first that draws no scenes which are being drawn now.

    Two models under the same seed meet the same scenes. One after the other, the second reads
    the first one's pictures; side by side, both would draw all of them.
    """
    busy = {(task.searcher, task.seed) for task in running}
    return next((t for t in pending if (t.searcher, t.seed) not in busy), pending[0])
