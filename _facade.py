"""The façade: `search`, `resume` and `Run` with metrics and report wired in."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .agents.agent import SearchAgent
from .agents.loop import SearchLoop, open_store
from .agents.progress import ProgressCallback
from .analysis.metrics import compute_metrics
from .analysis.modes import FailureMode, failure_modes
from .core import (
    Domain,
    Logger,
    Outcome,
    RunFolderError,
    UsageError,
    VLMFailError,
    check_seed,
    plays_episodes,
    source_digest,
)
from .envs.episodes import make_tested
from .envs.failure_env import FailureEnv
from .envs.options import EnvOptions
from .envs.registry import domain_options, make_domain, make_env
from .models.registry import identity, make_model
from .models.spending import Caps
from .runs.caps import CAPS, raised_caps, store_caps
from .runs.executors import refuse_reimport
from .runs.loggers import make_logger
from .runs.run import RunData
from .runs.spending import is_unspent, keep_deleted
from .runs.store import RunStore, guard_disk
from .searchers.auto import Choice, choose, is_auto
from .searchers.registry import make_searcher

P = ParamSpec("P")
R = TypeVar("R")

OTHER_WORDS = {
    "searcher": "agent",
    "searcher_args": "agent_args",
    "env_options": "env_args",
    "logger": "loggers",
    "log": "loggers",
}
"""What the command line or a reader may call an argument of `search` and `resume`."""


def _told_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function raise `UsageError` for keywords that it does not take."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        for name, value in named.items():
            if name not in known:
                env = named.get("env", given[0] if given else None)
                raise UsageError(_unknown_keyword(function.__name__, name, value, known, env))
        return function(*given, **named)

    return call


def _unknown_keyword(function: str, name: str, value: Any, known: list[str], env: Any) -> str:
    takes = [one for one in known if one != "self"]
    options = [o for o in _env_options(env) if o not in takes] if "env_args" in takes else []
    said = f"{function}() takes no {name[:60]}="
    other = OTHER_WORDS.get(name)
    close = difflib.get_close_matches(name, [*takes, *options], n=1, cutoff=0.7)
    meant = other if other in takes else next(iter(close), None)
    if meant in takes:
        return f"{said}: did you mean {meant}=?"
    if meant in options:
        if not isinstance(env, str):
            return f"{said}, an option of environments: set {meant} on the one that you pass"
        # A value may be long, and it may be a secret that went to the wrong place.
        plain = isinstance(value, (bool, int, float, type(None)))
        shown = f'env_args={{"{meant}": {repr(value) if plain else "..."}}}'
        what = "an option" if meant == name else f"and {meant} is an option"
        return f"{said}, {what} of the environment: pass {shown}"
    beside = "; options of the env go into env_args=, of the searcher into agent_args="
    return f"{said}: it takes {', '.join(takes)}" + beside * bool(options)


def _env_options(env: Any) -> list[str]:
    """Return the names of the options that an environment takes beside `search`'s arguments."""
    try:
        return [*EnvOptions.names(), *(domain_options(env) if isinstance(env, str) else ())]
    except VLMFailError:
        return EnvOptions.names()


class Run(RunData):
    """A run with its failure modes, metrics and report."""

    @cached_property
    def failure_modes(self) -> list[FailureMode]:
        """Candidates whose failure rate is at least τ, ranked by the interval's lower end."""
        return failure_modes(self)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """PFM, MFR, Div and the rest, by lower-case name."""
        return compute_metrics(self)

    @_told_keywords
    def confirm(
        self,
        *,
        top: int = 10,
        trials: int = 20,
        model: Any = None,
        domain: Any = None,
        concurrency: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> Run:
        """Try the surest failure modes again on fresh scenes, outside the budget.

        A rate that picked a mode leans high; the fresh rate does not. Modes that were tried
        before get no further trials.

        Args:
            top: How many modes.
            trials: Fresh trials a mode.
            model: The model, when the run was made with a model object rather than a name.
            domain: The domain, when the run was made with an environment built by hand.
            concurrency: Requests to the model in flight; changes speed only.
            progress: Called with (trials done, trials in all).

        Returns:
            The run read anew; this one is closed.
        """
        from .analysis.rerun import rerun_modes

        work = functools.partial(rerun_modes, top=top, trials=trials)
        return self._with_fresh_trials(work, model, domain, concurrency, progress)

    @_told_keywords
    def audit(
        self,
        *,
        trials: int = 20,
        removal_trials: int = 10,
        model: Any = None,
        domain: Any = None,
        concurrency: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> Run:
        """Try whether the reported modes are true and minimal, on fresh trials of their own.

        Reported are the modes that the agent stands by, or of an agent that reports none the run's
        confirmed ones. Afterwards `metrics` has ``modes_at_1k``, ``false_reports`` and
        ``non_minimal_reports``; all else stays, and neither a budget nor those figures count the
        trials. Nothing is asked twice. On a planted landscape the true rates are the audit, and no
        trial is needed.

        Args:
            trials: Fresh trials a reported mode.
            removal_trials: Fresh trials of a mode without one of its concepts.
            model: The model, when the run was made with a model object rather than a name.
            domain: The domain, when the run was made with an environment built by hand.
            concurrency: Requests to the model in flight; changes speed only.
            progress: Called with (trials done, trials in all at most).

        Returns:
            The run read anew; this one is closed, except on a landscape, where it is returned.
        """
        from .analysis.audit import audit_reports
        from .analysis.planted import is_planted

        if is_planted(self):
            return self
        work = functools.partial(audit_reports, trials=trials, removal_trials=removal_trials)
        return self._with_fresh_trials(work, model, domain, concurrency, progress)

    def _with_fresh_trials(
        self,
        work: Callable[..., RunData],
        model: Any,
        domain: Any,
        concurrency: int,
        progress: Callable[[int, int], None] | None,
    ) -> Run:
        """Let `work` ask the run's own model for fresh trials; return the run read anew."""
        from .analysis.fresh_trials import check_same_system

        domain = domain_of(self) if domain is None else domain
        spec = self.config["model"]["spec"] if model is None else model
        if spec is None:
            raise UsageError(f"{self.path} was made with a model object: pass it as model=")
        made: Any = make_tested(domain, spec) if plays_episodes(domain) else make_model(spec)
        check_same_system(self, domain, made)
        self.close()
        store = RunStore.open(self.path, write=True)
        try:
            work(RunData(store), domain, made, concurrency=concurrency, progress=progress)
        except BaseException:
            store.close()
            raise
        store.unlock()
        return Run(store)

    def __repr__(self) -> str:
        """Return where the run is and what it found, for a reader."""
        try:
            modes = self.failure_modes
            confirmed = sum(mode.confirmed is True for mode in modes)
            found = f"{len(modes)} failure {'mode' if len(modes) == 1 else 'modes'}"
            said = f": {self.status}, {self.calls} of {self.budget} trials, {found}"
            said += f", {confirmed} of them confirmed" if modes else ""
        except Exception:  # closed, or damaged: a debugger shows it all the same
            said = ""
        return f"<vlmfail run {str(self.path)!r}{said}>"

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the HTML report (default: ``report.html`` in the run's folder)."""
        from .reports.html import write_report

        return write_report(self, path)


def domain_of(run: RunData) -> Domain[Any]:
    """Return the domain that a run was made in."""
    env = run.config["env"]
    if env is None:
        raise UsageError(f"{run.path} was made with an environment object: pass its domain")
    known = domain_options(env)
    options = {k: v for k, v in run.config.get("env_args", {}).items() if k in known}
    return make_domain(env, **options)


@_told_keywords
def search(
    env: str | FailureEnv | Any,
    agent: str | SearchAgent[Any] | type[SearchAgent[Any]] = "gpts",
    *,
    model: Any = None,
    budget: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    loggers: Sequence[str | Logger] = (),
    batch: int = 8,
    workers: int | None = None,
    concurrency: int | None = None,
    threshold: float = 0.6,
    renderer: str | None = None,
    env_args: Mapping[str, Any] | None = None,
    agent_args: Mapping[str, Any] | None = None,
    max_requests: int | None = None,
    max_total_tokens: int | None = None,
    max_dollars: float | None = None,
    command: str | None = None,
    progress: ProgressCallback | None = None,
) -> Run:
    """Search an environment for failure modes.

    Args:
        env: Env id, plugged-in domain, or an environment from `gymnasium.make`.
        agent: Searcher name, `module_or_file:Name`, agent class or agent; ``"auto"`` or
            ``"auto:rate"`` for the one that we recommend, which the run's ``chosen`` tells.
        model: Model under test (default ``"tiny-vlm"``), or policy (default ``"scripted"``) where a
            trial is an episode.
        budget: Trials that may be charged (default 1000).
        trials: Trials a candidate, m (default 5; where a trial is an episode, 1).
        seed: Run seed, 0 to 2^32 - 1.
        out: Run folder (default: a new temporary folder; `run.path` names it). A folder that
            already holds the same search is continued.
        loggers: Names or logger objects.
        batch: Candidates asked for at once; part of what defines the run.
        workers: Processes that sample and render, or play; changes speed only.
        concurrency: Requests to the model in flight.
        threshold: Failure rate τ from which a candidate is a failure mode.
        renderer: Renderer name (default ``"embree"``).
        env_args: Further options of the environment or its domain.
        agent_args: Arguments of the searcher.
        max_requests: Cap on requests that reach the wire.
        max_total_tokens: Cap on tokens.
        max_dollars: Cap on money.
        command: The command line to show in the report.
        progress: Called after every trial and every batch; see `Progress`.

    Raises:
        UsageError: For anything that cannot be, before the first trial.
        RunFolderError: When `out` is foreign, in use, or holds another search.
    """
    refuse_reimport()
    given = {
        "model": model,
        "budget": budget,
        "trials": trials,
        "renderer": renderer,
        "workers": workers,
        "concurrency": concurrency,
        "max_requests": max_requests,
        "max_total_tokens": max_total_tokens,
        "max_dollars": max_dollars,
    }
    given = {name: value for name, value in given.items() if value is not None}
    choice = choose_searcher(env, agent, env_args)
    agent = agent if choice is None else choice.spec
    searcher = make_searcher(agent, **dict(agent_args or {}))
    built = _environment(env, given, dict(env_args or {}))
    try:
        config = _config(
            env, built, agent, searcher, check_seed(seed), batch, threshold, env_args, agent_args
        )
        config["command"] = command
        if choice is not None:  # the run is that of the searcher that it became
            config["chosen"] = choice.line
        made = [make_logger(logger) for logger in loggers]
        folder = str(out) if out is not None else tempfile.mkdtemp(prefix="vlmfail-")
        made_here = [] if out is None else _missing(Path(out))
        store = open_store(folder, config)
    except BaseException:
        built.close()
        raise
    loop = SearchLoop(
        built,
        searcher,
        store,
        seed=config["seed"],
        batch=config["batch"],
        threshold=config["threshold"],
        loggers=made,
        progress=progress,
        metrics=_figures,
    )
    try:
        loop.run()
    except BaseException as error:
        # A search that cannot be, a searcher of another kind of candidates, say, is no run.
        forget = isinstance(error, UsageError) and is_unspent(store)
        store.close()
        if forget and (out is None or made_here):
            _remove_new(Path(folder), made_here)
        raise
    store.unlock()
    return Run(store)


def choose_searcher(
    env: Any, agent: Any, env_args: Mapping[str, Any] | None = None
) -> Choice | None:
    """Return which searcher `auto` stands for in an environment, and why; None for any other.

    Args:
        env: Env id, domain as ``module_or_file:Name``, or an environment.
        agent: What was given as the agent.
        env_args: Options of the environment or its domain.
    """
    if not is_auto(agent):
        return None
    if isinstance(env, str):
        known = domain_options(env)
        given = {k: v for k, v in (env_args or {}).items() if k in known}
        return choose(agent, make_domain(env, **given).space)
    built = getattr(env, "unwrapped", env)
    return choose(agent, getattr(built, "candidates", None))


def _missing(path: Path) -> list[Path]:
    """Return `path` and the folders above it that are not there, the innermost first."""
    return [each for each in (path, *path.parents) if not each.exists()]


def _remove_new(folder: Path, made_here: Sequence[Path]) -> None:
    """Remove a run folder without trials, and the folders that were made for it."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # another run may have come into one of them
        for each in made_here[1:]:
            each.rmdir()


@_told_keywords
def resume(
    path: str | os.PathLike[str],
    *,
    env: Any = None,
    agent: str | SearchAgent[Any] | type[SearchAgent[Any]] | None = None,
    model: Any = None,
    workers: int | None = None,
    concurrency: int | None = None,
    loggers: Sequence[str | Logger] = (),
    retry_errors: bool = False,
    fork: str | os.PathLike[str] | None = None,
    max_requests: int | None = None,
    max_total_tokens: int | None = None,
    max_dollars: float | None = None,
    progress: ProgressCallback | None = None,
) -> Run:
    """Continue a run from its folder; a finished one is returned as it is, or told to loggers.

    Args:
        path: The run folder.
        env: The environment (with its model), when the run was made with one that no registered
            id names.
        agent: The agent, when the run was made with an agent object rather than a name.
        model: The model, when the run was made with a model object rather than a name.
        workers: Processes that sample and render.
        concurrency: Requests to the model in flight.
        loggers: Names or logger objects.
        retry_errors: Run errored and timed-out trials again, in a copy of the run: from the
            first of them the search may take another way; good trials are kept.
        fork: Where to copy the run to before continuing (default with `retry_errors`:
            the folder's name with ``-retry``).
        max_requests: A higher cap on requests, which is the run's from then on.
        max_total_tokens: A higher cap on tokens, likewise.
        max_dollars: A higher cap on money, likewise.
        progress: Called after every trial and every batch; see `Progress`.

    Raises:
        UsageError: For a cap below the run's own, before anything is changed.
    """
    refuse_reimport()
    source = Path(path)
    higher = dict(zip(CAPS, (max_requests, max_total_tokens, max_dollars), strict=True))
    caps = _caps_of(source, higher)
    if retry_errors and fork is None:
        fork = _free_name(source.with_name(source.name + "-retry"))
    if fork is not None:
        source = _copy_run(source, Path(fork), retry_errors)
    run = RunData.open(source)
    try:
        status, config = run.store.meta("status"), run.config
    finally:
        run.close()
    if status in ("finished", "space exhausted") and not retry_errors and not loggers:
        if any(value is not None for value in higher.values()):  # a re-run of modes keeps to them
            finished = RunStore.open(source, write=True)
            try:
                store_caps(finished, caps)
            finally:
                finished.close()
        return Run(RunStore.open(source))
    spec = config["searcher"]["spec"] if agent is None else agent
    if spec is None:
        raise UsageError(f"{source} was made with an agent object: pass it as agent=")
    if env is not None:
        beside = {"model": model, "workers": workers, "concurrency": concurrency, **higher}
        named = ", ".join(name for name, value in beside.items() if value is not None)
        if named:
            raise UsageError(f"{named}: set it on the environment that you pass, not beside it")
        return search(
            env,
            spec,
            seed=config["seed"],
            out=source,
            loggers=loggers,
            batch=config["batch"],
            threshold=config["threshold"],
            agent_args=config["searcher"]["args"] if agent is None else None,
            command=config.get("command"),
            progress=progress,
        )
    if config["env"] is None:
        raise UsageError(f"{source} was made with an environment object: pass it as env=")
    model_spec = config["model"]["spec"] if model is None else model
    if model_spec is None:
        raise UsageError(f"{source} was made with a model object: pass it as model=")
    return search(
        config["env"],
        spec,
        model=model_spec,
        budget=config["budget"],
        trials=config["trials"],
        seed=config["seed"],
        out=source,
        loggers=loggers,
        batch=config["batch"],
        workers=workers,
        concurrency=concurrency,
        threshold=config["threshold"],
        renderer=config["renderer"],
        env_args={**config["env_args"], "count_as_fail": config["count_as_fail"]},
        agent_args=config["searcher"]["args"] if agent is None else None,
        max_requests=caps["max_requests"],
        max_total_tokens=caps["max_total_tokens"],
        max_dollars=caps["max_dollars"],
        progress=progress,
    )


def _caps_of(path: Path, higher: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run's caps, those that are given in place of its own."""
    Caps(**higher)  # a number that is no cap at all
    run = RunData.open(path)
    try:
        return raised_caps(run.config.get("caps", {}), higher)
    finally:
        run.close()


def _environment(env: Any, given: dict[str, Any], env_args: dict[str, Any]) -> FailureEnv:
    if isinstance(env, str):
        for name in given:
            if name in env_args:
                raise UsageError(f"{name} is given twice: as an argument and in env_args")
        return make_env(env, **given, **env_args)
    built = getattr(env, "unwrapped", env)
    if not isinstance(built, FailureEnv):
        raise UsageError(f"env: expected an env id or a FailureEnv, got {type(env).__name__}")
    if given or env_args:
        names = ", ".join([*given, *env_args])
        raise UsageError(f"{names}: set it on the environment that you pass, not beside it")
    return built


def _config(
    env: Any,
    built: FailureEnv,
    agent: Any,
    searcher: SearchAgent[Any],
    seed: int,
    batch: int,
    threshold: float,
    env_args: Mapping[str, Any] | None,
    agent_args: Mapping[str, Any] | None,
) -> dict[str, Any]:
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise UsageError(f"batch: expected a whole number of at least 1, got {batch!r}")
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
        raise UsageError(f"threshold: expected a rate, got {threshold!r}")
    if not 0.0 < threshold <= 1.0:
        raise UsageError(f"threshold: expected a rate above 0 and at most 1, got {threshold!r}")
    options = built.options
    # What `gymnasium.make` was given; an environment built by hand has no such record.
    made = getattr(built, "spec", None)
    env_id: str | None = getattr(made, "id", None)
    domain_args = dict(getattr(made, "kwargs", {}))
    if isinstance(env, str):
        env_id, domain_args = env.removeprefix("vlmfail:"), dict(env_args or {})
    model_spec = options.model if isinstance(options.model, str) else None
    return {
        "env": env_id,
        "env_args": {k: v for k, v in domain_args.items() if k not in EnvOptions.names()},
        "domain": built.domain.name,
        "domain_source": source_digest(built.domain),
        "domain_data": getattr(built.domain, "identity", dict)(),
        "searcher": {
            "name": getattr(searcher, "name", "custom"),
            "spec": agent if isinstance(agent, str) else None,
            "args": dict(agent_args or {}),
            "config": getattr(searcher, "config", dict)(),
            "fixed_trials": bool(getattr(searcher, "fixed_trials", True)),
            "source": source_digest(searcher),
        },
        "model": {
            "spec": model_spec,
            "name": getattr(built.state.model, "name", "custom"),
            **identity(built.state.model),
        },
        "renderer": options.renderer,
        "renderer_identity": built.state.renderer_identity,
        "seed": seed,
        "trials": options.trials,
        "batch": batch,
        "budget": options.budget,
        "threshold": float(threshold),
        "count_as_fail": sorted(str(o) for o in options.failing),
        "caps": {
            "max_requests": options.max_requests,
            "max_total_tokens": options.max_total_tokens,
            "max_dollars": options.max_dollars,
        },
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return versions of vlmfail, Python and the packages that decide numbers."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("vlmfail", "numpy", "scipy", "scikit-learn", "embreex", "onnxruntime"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def _figures(store: RunStore) -> dict[str, Any]:
    """Return a run's metrics for its loggers; none where the run cannot be read."""
    try:
        return compute_metrics(RunData(store))
    except VLMFailError:
        return {}


def _free_name(path: Path) -> Path:
    candidate, number = path, 2
    while candidate.exists():
        candidate = path.with_name(f"{path.name}{number}")
        number += 1
    return candidate


def _copy_run(source: Path, target: Path, retry_errors: bool) -> Path:
    # The lock keeps writers away; where nobody can write, none is needed.
    store = RunStore.open(source, write=os.access(source, os.W_OK))
    try:
        if target.exists():
            raise RunFolderError(f"{target} exists: choose another --fork")
        if target.resolve().is_relative_to(source.resolve()):
            raise RunFolderError(f"{target} is inside {source}: choose another --fork")
        part = target.with_name(f".{target.name}.part")
        with guard_disk(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(part, ignore_errors=True)
            left_out = shutil.ignore_patterns("run.lock", "report.html", "wandb", "tensorboard")
            shutil.copytree(source, part, ignore=left_out)
            # Under its own name only when whole: half a run would pass for one.
            part.rename(target)
    finally:
        store.close()
    copy = RunStore.open(target, write=True)
    try:
        if retry_errors:
            lost = (Outcome.ERROR, Outcome.TIMEOUT)
            # What they cost is spent all the same.
            keep_deleted(copy, [r for r in copy.records() if r.trial.outcome in lost])
            copy.delete_trials(lost)
        copy.set_meta("status", "running")
    finally:
        copy.close()
    return target
