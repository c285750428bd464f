"""Which runs a study of policies consists of, how far each of them is, and which code began it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import agents, envs, models, searchers
from ...analysis.episodes import GRID, Area, Source
from ...core import UsageError, plays_episodes
from ...envs.options import EnvOptions
from ...envs.registry import domain_options, make_domain
from ...models.policies.registry import POLICIES, make_policy
from ...models.registry import identity
from ...rendering.picture_cache import drawing_digest
from ...runs.run import RunData
from ...runs.store import RunStore, dump_json
from ..studies.folders import PROVENANCE, Task, read_provenance, slug, write

DONE = ("finished", "space exhausted")
"""Statuses of a run whose search is over."""

OBJECT_ONLY = "object-only"

SPECS = {OBJECT_ONLY: "vlmfail.benchmarks.policy_study.object_only:ObjectOnly"}
"""Searchers of the study that nobody else can name."""

SEARCHERS = (
    "random", "fscs-art", "fscsart-dt", "sorting-rf", "sorting-dt", "weighted-rf", OBJECT_ONLY,
)  # fmt: skip

BASELINES = ("random", "fscs-art")
"""FATE-VLA's B1 and B2."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study does.

    Attributes:
        out: Its folder; a run lies in ``out/model/searcher/seed``.
        models: Policies under test.
        searchers: Searchers.
        seeds: Seeds of each, from 0.
        budget: Episodes of a search.
        batch: Scenes that a searcher proposes before it is told how they ended; FATE-VLA's learn
            after each.
        env: Environment.
        env_args: Its further options.
        grid: Bins of the coverage along x and y.
        source: Whose path counts.
        area: What is divided.
    """

    out: Path
    models: tuple[str, ...] = ("tiny-vla",)
    searchers: tuple[str, ...] = SEARCHERS
    seeds: int = 10
    budget: int = 200
    batch: int = 1
    env: str = "VLMFail-PickUp-v0"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, int] = GRID
    source: Source = "object"
    area: Area = "table"

    @property
    def full(self) -> int:
        """Episodes of a run."""
        return self.budget

    @property
    def baselines(self) -> tuple[str, ...]:
        """The searchers that the others are compared with."""
        return tuple(name for name in BASELINES if name in self.searchers)

    def tasks(self) -> list[Task]:
        """Return all runs, seed by seed: whenever it is stopped, what is there is balanced."""
        return [
            Task(model, searcher, seed)
            for seed in range(self.seeds)
            for model in self.models
            for searcher in self.searchers
        ]

    def folder(self, task: Task) -> Path:
        """Return where a run lies."""
        return self.out / slug(task.model) / slug(task.searcher) / str(task.seed)

    def options(self) -> dict[str, Any]:
        """Return the environment's options: no strips of pictures unless they are asked for."""
        given = dict(self.env_args)
        if "keep_frames" in domain_options(self.env):
            given.setdefault("keep_frames", "none")
        return given


def spec_of(searcher: str) -> str:
    """Return what `search` makes a searcher of."""
    return SPECS.get(searcher, searcher)


@dataclass(frozen=True, slots=True)
class State:
    """How far a run is.

    Attributes:
        complete: Whether the search is over.
        charged: Episodes played.
    """

    complete: bool = False
    charged: int = 0


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
        return State(run.status in DONE, charged)
    finally:
        run.close()


def check_settings(study: Study, task: Task, run: RunData) -> None:
    """Check that a run is the one that a study means.

    Raises:
        UsageError: It is a search with other settings.
    """
    config = run.config
    own = domain_args(study)
    pairs = {
        "env": (config.get("env"), study.env),
        "options": (config.get("env_args"), json.loads(dump_json(own))),
        "model": (config["model"].get("spec"), task.model),
        "searcher": (config["searcher"].get("spec"), spec_of(task.searcher)),
        "seed": (config.get("seed"), task.seed),
        "budget": (run.budget, study.budget),
        "batch": (config.get("batch"), study.batch),
    }
    for name, (there, here) in pairs.items():
        if there != here:
            raise UsageError(
                f"{run.path} was made with {name} {there!r}, this study has {here!r}: "
                "choose another --out"
            )


def domain_args(study: Study) -> dict[str, Any]:
    """Return those of the options that are the domain's."""
    return {k: v for k, v in study.options().items() if k not in EnvOptions.names()}


def domain_of(study: Study) -> Any:
    """Return the domain.

    Raises:
        UsageError: Its trials are no episodes, or the options do not fit.
    """
    domain: Any = make_domain(study.env, **domain_args(study))
    if not plays_episodes(domain):
        raise UsageError(f"{study.env} plays no episodes: this study is of policies")
    return domain


def keep_provenance(study: Study) -> None:
    """Write which code and weights a study was begun with; it goes on with those alone.

    Policies may join a study later.

    Raises:
        UsageError: The study was begun by other code, or nothing says by which, or its folder
            cannot be written.
    """
    domain = domain_of(study)
    code = {
        "pictures": drawing_digest(),
        "world": _digest(
            Path(envs.__file__).parent,
            "pickup/**/*.*",
            "vector_*.py",
            "episodes.py",
            "evaluator.py",
        ),
        "searchers": _digest(Path(searchers.__file__).parent, "**/*.py")
        + _digest(Path(agents.__file__).parent, "*.py")
        + _digest(Path(__file__).parent, "object_only.py"),
        "policies": _digest(Path(models.__file__).parent, "policies/**/*.*", *_weights()),
        "domain": dict(getattr(domain, "identity", dict)()),
    }
    policies = {name: identity(make_policy(name)) for name in study.models}
    here = json.loads(dump_json({"code": code, "models": policies}))
    there = read_provenance(study.out)
    if there is None:
        write(study.out, PROVENANCE, dump_json(here, indent=1).encode())
        return
    other = _differences(there, here)
    if other:
        raise UsageError(
            f"{study.out} was begun with other code or weights ({', '.join(other)}), and its runs "
            "would not be alike: choose another --out, or go back to those"
        )
    joined = {**here, "models": {**there["models"], **here["models"]}}
    if joined != there:
        write(study.out, PROVENANCE, dump_json(joined, indent=1).encode())


def _differences(there: Any, here: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of what a study was begun with and what is not so any more."""
    parts = [there.get(name) if isinstance(there, dict) else None for name in ("code", "models")]
    code, known = (part if isinstance(part, dict) else None for part in parts)
    if code is None or known is None:
        return [PROVENANCE]
    other = [name for name in here["code"] if code.get(name) != here["code"][name]]
    return other + [name for name, one in here["models"].items() if known.get(name, one) != one]


def _weights() -> list[str]:
    """Return patterns of the weights of the built-in policies."""
    return [f"weights/{name}*" for name in POLICIES.names()]


def _digest(folder: Path, *patterns: str) -> str:
    """Return a digest of the files that match, names and contents."""
    digest = hashlib.sha256()
    for path in sorted(_matching(folder, patterns)):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:20]


def _matching(folder: Path, patterns: Iterable[str]) -> set[Path]:
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    return {path for path in found if path.is_file() and path.suffix != ".pyc"}
