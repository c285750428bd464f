"""What a bench needs, how far each of its runs is, and whether a folder belongs to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import agents, envs, searchers
from ...analysis.audited import lacks_audit
from ...core import UsageError, VLMFailError, plays_episodes
from ...envs.options import EnvOptions
from ...envs.registry import make_domain
from ...models.policies.registry import make_policy
from ...models.registry import make_model
from ...rendering.picture_cache import drawing_digest
from ...runs.run import RunData
from ...runs.store import RunStore, dump_json
from ...searchers import make_searcher
from ..search_study.plan import DONE, State, is_confirmed
from ..studies.folders import read_provenance, write
from .arms import Bench, EnvArm, SearcherArm, Task

__all__ = ["DONE", "check", "keep_asked", "next_task", "state_of"]

ASKED = "bench.json"
"""Says what a bench is and by which code it was begun."""

SMALL = {"trials": 1, "budget": 8}
"""A search that a searcher is prepared for when it is only to be seen whether it can be."""


def domain_of(env: EnvArm) -> Any:
    """Return the domain of an environment.

    Raises:
        UsageError: It cannot be had, or not with these options.
    """
    return make_domain(env.id, **domain_args(env))


def domain_args(env: EnvArm) -> dict[str, Any]:
    """Return those of the options that are the domain's."""
    return {name: value for name, value in env.args.items() if name not in EnvOptions.names()}


def check(bench: Bench) -> None:
    """Check that every part of a bench can be had, and every searcher works where it is to.

    What cannot be is told now, before anything is written, not hours later.

    Raises:
        VLMFailError: With the first thing that cannot be.
    """
    groups: dict[str, EnvArm] = {}
    for env in bench.envs:
        groups.setdefault(env.group, env)
    for searcher in bench.searchers:
        make_searcher(searcher.name, **searcher.args)
    seen: set[tuple[str, str]] = set()
    fine: set[tuple[str, str]] = set()
    for env in groups.values():
        domain = domain_of(env)
        if plays_episodes(domain):
            domain.check()
        EnvOptions(**{k: v for k, v in env.args.items() if k not in domain_args(env)})
        for model in env.models:
            if (domain.name, model) not in seen:
                _check_model(domain, model)
            seen.add((domain.name, model))
        for searcher in bench.searchers:
            if (env.id, searcher.label) not in fine:
                _check_kind(env, domain.space, searcher)
            fine.add((env.id, searcher.label))


def _check_model(domain: Any, model: str) -> None:
    """Check that a model can be made, the way that the environment makes it."""
    if hasattr(domain, "make_model"):
        domain.make_model(model)
    elif plays_episodes(domain):
        make_policy(model)
    else:
        make_model(model)


def _check_kind(env: EnvArm, space: Any, searcher: SearcherArm) -> None:
    """Check that a searcher takes a space, on a small one of the same kind if that is enough."""
    from ...testing.toy import toy_space, toy_vector_space

    small: dict[str, Callable[[], Any]] = {"concept_set": toy_space, "vector": toy_vector_space}
    if space.kind in small:
        try:
            make_searcher(searcher.name, **searcher.args).bind(small[space.kind](), seed=0, **SMALL)
            return
        except Exception:
            pass  # it may need what the real one has
    try:
        make_searcher(searcher.name, **searcher.args).bind(space, seed=0, **SMALL)
    except VLMFailError as error:
        raise UsageError(f"{searcher.label} on {env.group}: {error}") from error
    except Exception as error:
        raise UsageError(
            f"{searcher.label} on {env.group}: {type(error).__name__}: {error}"
        ) from error


def state_of(bench: Bench, task: Task) -> State:
    """Return how far a run is.

    Raises:
        UsageError: Its folder holds a search with other settings.
    """
    folder = bench.folder(task)
    if not RunStore.is_run(folder):
        return State()
    run = RunData.open(folder)
    try:
        check_settings(bench, task, run)
        charged = sum(record.trial.outcome.charged for record in run.records.values())
        searched = run.status in DONE
        tried = not bench.confirm or (searched and is_confirmed(run, bench.top, bench.fresh))
        judged = not bench.audit or not lacks_audit(run)
        return State(searched, searched and tried and judged, charged)
    finally:
        run.close()


def check_settings(bench: Bench, task: Task, run: RunData) -> None:
    """Check that a run is the one that a bench means.

    Raises:
        UsageError: It is a search with other settings.
    """
    env, searcher = bench.env(task.env), bench.searcher(task.searcher)
    config = run.config
    trials = env.args.get("trials") if bench.trials is None else bench.trials
    failing = env.args.get("count_as_fail", ())
    compared = {
        "env": (config.get("env"), env.id),
        "env_args": (config.get("env_args") or {}, domain_args(env)),
        "model": (config["model"].get("spec"), task.model),
        "searcher": (config["searcher"].get("spec"), searcher.name),
        "searcher args": (config["searcher"].get("args") or {}, dict(searcher.args)),
        "seed": (config.get("seed"), task.seed),
        "budget": (run.budget, bench.budget),
        "trials": (run.trials, run.trials if trials is None else trials),
        "batch": (config.get("batch"), bench.batch),
        "threshold": (run.threshold, bench.threshold),
        "renderer": (config.get("renderer"), bench.renderer or config.get("renderer")),
        "count_as_fail": (
            sorted(config.get("count_as_fail") or ()),
            sorted([failing] if isinstance(failing, str) else failing),
        ),
    }
    for name, (there, here) in compared.items():
        if _plain(there) != _plain(here):
            raise UsageError(
                f"{run.path} was made with {name} {_short(there)}, this bench has {_short(here)}: "
                "choose another --out"
            )


def next_task(pending: Sequence[Task], running: Collection[Task]) -> Task:
    """Return the task to start: the first that draws no scenes which are being drawn now.

    Two models under the same seed meet the same scenes: the second reads the first one's pictures.
    """
    busy = {(task.env, task.searcher, task.seed) for task in running}
    free = (t for t in pending if (t.env, t.searcher, t.seed) not in busy)
    return next(free, pending[0])


def keep_asked(bench: Bench, *, dry: bool = False) -> None:
    """Write what a bench is, or check that the folder's is the same; it may have grown.

    Args:
        bench: The bench.
        dry: Write nothing.

    Raises:
        UsageError: It is another one, or was begun by other code, or its folder cannot be written.
    """
    there = read_provenance(bench.out, ASKED)
    here = json.loads(dump_json(_asked(bench)))
    if there is None:
        if not dry:
            write(bench.out, ASKED, dump_json(here, indent=1).encode())
        return
    parts = ("settings", "code", "envs", "searchers")
    known: dict[str, dict[str, Any]] = {}
    for part in parts:
        value = there.get(part, {}) if isinstance(there, dict) else None
        if not isinstance(value, dict):
            raise UsageError(f"{bench.out / ASKED} is not what a bench wrote: choose another --out")
        known[part] = value
    _refuse_other(bench, known, here)
    joined = {**here, **{part: {**known[part], **here[part]} for part in ("envs", "searchers")}}
    if joined != there and not dry:
        write(bench.out, ASKED, dump_json(joined, indent=1).encode())


def _refuse_other(bench: Bench, known: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    other = [
        f"{name}: {_short(known[part].get(name))} there, {_short(value)} here"
        for part in ("settings", "envs", "searchers")
        for name, value in here[part].items()
        if known[part].get(name, value) != value
    ]
    if other:
        raise UsageError(
            f"{bench.out} holds another bench ({'; '.join(other)}): choose another --out, or "
            "repeat the command that began it"
        )
    changed = [name for name, one in here["code"].items() if known["code"].get(name) != one]
    if changed:
        raise UsageError(
            f"{bench.out} was begun with other code ({', '.join(changed)}), and its runs would not "
            "be alike: choose another --out, or go back to that code; --report-only shows what is "
            "there"
        )


def _asked(bench: Bench) -> dict[str, Any]:
    return {
        "settings": {
            "budget": bench.budget,
            "trials": bench.trials,
            "batch": bench.batch,
            "threshold": bench.threshold,
            "renderer": bench.renderer,
        },
        "envs": {env.label: {"id": env.id, "args": dict(env.args)} for env in bench.envs},
        "searchers": {
            one.label: {"name": one.name, "args": dict(one.args)} for one in bench.searchers
        },
        "code": code_of(),
    }


def code_of() -> dict[str, str]:
    """Return digests of the code that decides what a run finds."""
    peers = Path(__file__).parents[1] / "peers"
    searching = (Path(searchers.__file__).parent, Path(agents.__file__).parent, peers)
    return {
        "vlmfail.envs": _digest(Path(envs.__file__).parent),
        "vlmfail.searchers": "".join(_digest(folder) for folder in searching),
        "the renderer": drawing_digest(),
    }


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".json"):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:20]


def _plain(value: Any) -> Any:
    return json.loads(dump_json(value))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
