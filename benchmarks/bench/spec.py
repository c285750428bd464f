"""A bench from what a user wrote, in a file or as options; mistakes are one line each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from ..._facade import choose_searcher
from ...core import UnknownNameError, UsageError
from ...core.text import tamed
from ...rendering.picture_cache import FOLDER_VARIABLE, LIMIT_VARIABLE
from ...runs.loggers import LOGGERS
from ...searchers._knobs import choice, flag, real, whole
from ...searchers.auto import is_auto
from ..studies.comparison import Statistic
from ..studies.folders import slug
from .arms import Bench, EnvArm, SearcherArm
from .env_arms import read_envs
from .presets import preset_name, preset_path
from .reading import read_file
from .seeds import parse_seeds
from .values import check_labels, folder, items, known_keys, rates, sentence, text, texts

CAPS = ("max_requests", "max_total_tokens", "max_dollars")

KEYS = (
    "envs", "env_args", "searchers", "models", "seeds", "budget", "trials", "batch", "threshold",
    "renderer", "baseline", "confirm", "top", "fresh", "audit", "statistic", "log", "concurrency",
    *CAPS, "cache", "cache_gib", "name", "out", "processes", "about", "thresholds",
)  # fmt: skip

OTHER_WORDS = {
    "env": "envs",
    "searcher": "searchers",
    "model": "models",
    "seed": "seeds",
    "loggers": "log",
    "set": "env_args",
}
"""What else a user may write for a key."""

SEARCHER_KEYS = ("name", "label", "args")


def merged(file: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a bench's file, those that are given in place of its own.

    Args:
        file: The file, if there is one, or ``preset:NAME`` for one of the package's; a bench
            without a folder goes into ``runs/bench-FILE``.
        given: Values by key; what is None is not given. Options of envs replace those of the
            same name alone.
    """
    values: dict[str, Any] = {}
    if file is not None:
        preset = preset_name(file)
        file = file if preset is None else preset_path(preset)
        values = known_keys("key", read_file(file), KEYS, OTHER_WORDS)
        values.setdefault("out", Path("runs") / f"bench-{slug(file.stem)}")
    given = known_keys("key", given, KEYS, OTHER_WORDS)
    shared, own = given.get("env_args"), values.get("env_args")
    if isinstance(shared, Mapping) and isinstance(own, Mapping):
        given["env_args"] = {**own, **shared}
    if isinstance(values.get("confirm"), Mapping):
        nested = {name: given[name] for name in ("top", "fresh") if name in given}
        values["confirm"] = {**values["confirm"], **nested}
    return {**values, **given}


def with_processes(values: Mapping[str, Any]) -> tuple[Bench, int]:
    """Return the bench that values describe, and how many runs go on at once."""
    return make_bench(values), whole("processes", values.get("processes", 1), 1)


def make_bench(given: Mapping[str, Any]) -> Bench:
    """Return the bench that values describe.

    Args:
        given: Values by key: see `KEYS`. What is None is not given.

    Raises:
        UsageError: For the first thing that cannot be.
    """
    values = known_keys("key", given, KEYS, OTHER_WORDS)
    trials = values.get("trials")
    models = texts("models", values.get("models", ()))
    envs = read_envs(
        values.get("envs"), models, values.get("env_args") or {}, with_trials=trials is not None
    )
    searchers = _chosen(_searchers(values.get("searchers")), envs)
    confirm, top, fresh = _confirm(values)
    out = folder(values.get("out", "runs/bench"))
    threshold = real("threshold", values.get("threshold", 0.6), 0.0, 1.0)
    if threshold == 0.0:
        raise UsageError("threshold: expected a rate above 0 and at most 1, got 0")
    return Bench(
        out=out,
        envs=envs,
        searchers=searchers,
        seeds=parse_seeds(values.get("seeds", 1)),
        budget=whole("budget", values.get("budget", 1000), 1),
        trials=None if trials is None else whole("trials", trials, 1),
        batch=whole("batch", values.get("batch", 8), 1),
        threshold=threshold,
        renderer=None if values.get("renderer") is None else text("renderer", values["renderer"]),
        baseline=_baseline(values.get("baseline"), searchers),
        confirm=confirm,
        top=top,
        fresh=fresh,
        audit=flag("audit", values.get("audit", False)),
        statistic=_statistic(values.get("statistic", "mean")),
        loggers=_loggers(values.get("log", ())),
        concurrency=whole("concurrency", values.get("concurrency", 1), 1),
        caps=_caps(values),
        cache=_cache(values.get("cache"), out),
        cache_gib=_cache_gib(values.get("cache_gib")),
        name=text("name", values.get("name") or out.absolute().name or "bench"),
        about=sentence("about", values["about"]) if "about" in values else "",
        thresholds=rates("thresholds", values.get("thresholds", ())),
    )


def _searchers(value: Any) -> tuple[SearcherArm, ...]:
    entries = items("searchers", () if value is None else value)
    if not entries:
        raise UsageError(
            "searchers: none is named, e.g. --searchers random,gpts; `vlmfail list` lists them"
        )
    found: list[SearcherArm] = []
    for item in entries:
        if isinstance(item, Mapping):
            entry = known_keys("searcher's key", item, SEARCHER_KEYS, {"searcher": "name"})
            name = text("searchers", entry.get("name"))
            args = entry.get("args", {})
            if not isinstance(args, Mapping):
                raise UsageError(f"searchers: args of {name}: expected names with values")
            label = text("label", entry.get("label", name))
        else:
            name, args = text("searchers", item), {}
            label = name
        found.append(SearcherArm(label, name, {str(k): v for k, v in args.items()}))
    check_labels("searchers", [one.label for one in found], "give one of them another label")
    return tuple(found)


def _chosen(searchers: Sequence[SearcherArm], envs: Sequence[EnvArm]) -> tuple[SearcherArm, ...]:
    """Return the searchers, the real one in place of `auto`, which is the same in every env."""
    firsts: dict[str, EnvArm] = {}
    for env in envs:
        firsts.setdefault(env.id, env)
    found = []
    for one in searchers:
        if is_auto(one.name):
            choices = [choose_searcher(env.id, one.name, env.args) for env in firsts.values()]
            names = dict.fromkeys(choice.spec for choice in choices if choice is not None)
            if len(names) > 1:
                raise UsageError(
                    f"searchers: {one.name} is {' and '.join(names)} in these environments: name "
                    "them, or bench the environments apart"
                )
            (name,) = names
            one = replace(one, name=name, label=name if one.label == one.name else one.label)
        found.append(one)
    check_labels("searchers", [one.label for one in found], "auto is one of the others here")
    return tuple(found)


def _baseline(value: Any, searchers: Sequence[SearcherArm]) -> str:
    labels = [one.label for one in searchers]
    if value is None:
        return "random" if "random" in labels else labels[0]
    name = text("baseline", value)
    if name not in labels:
        raise UnknownNameError("baseline", name, labels, "It is one of the bench's searchers.")
    return name


def _confirm(values: Mapping[str, Any]) -> tuple[bool, int, int]:
    wanted = values.get("confirm", False)
    given: Mapping[str, Any] = values
    if isinstance(wanted, Mapping):
        given = {**values, **known_keys("key of confirm", wanted, ("top", "fresh"), {})}
        wanted = True
    if not isinstance(wanted, bool):
        raise UsageError(f"confirm: expected yes or no, got {tamed(repr(wanted), 80)}")
    top, fresh = given.get("top", 10), given.get("fresh", 20)
    return wanted, whole("top", top, 1), whole("fresh", fresh, 1)


def _statistic(value: Any) -> Statistic:
    known: tuple[Statistic, ...] = get_args(Statistic)
    choice("statistic", value, known)
    return next(one for one in known if one == value)


def _loggers(value: Any) -> tuple[str, ...]:
    found = texts("log", value)
    for spec in found:
        LOGGERS.load(spec.partition("=")[0])
    return found


def _caps(values: Mapping[str, Any]) -> dict[str, float]:
    caps: dict[str, float] = {}
    for name in CAPS:
        value = values.get(name)
        if value is not None:
            caps[name] = real(name, value, 1e-9) if name == "max_dollars" else whole(name, value, 1)
    return caps


def _cache(value: Any, out: Path) -> Path | None:
    if value is None and FOLDER_VARIABLE in os.environ:
        value = os.environ[FOLDER_VARIABLE] or False
    if value is None or isinstance(value, bool):
        return None if value is False else out / "pictures"
    return folder(value, "cache")


def _cache_gib(value: Any) -> float:
    if value is None:
        with contextlib.suppress(ValueError):
            value = float(os.environ.get(LIMIT_VARIABLE, ""))
    return real("cache_gib", 10.0 if value is None else value, 0.001, 1e9)
