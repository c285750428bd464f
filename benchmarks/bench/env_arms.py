"""The environments of a bench: entries with lists of values become one environment each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import UnknownNameError, UsageError
from ...core.text import tamed
from ...envs.options import EnvOptions
from ...envs.registry import domain_class, domain_defaults, domain_options
from .arms import EnvArm
from .seeds import is_range, parse_seeds
from .values import check_labels, items, known_keys, texts

ENTRY_KEYS = ("id", "label", "args", "models")

OWN = ("trials", "count_as_fail")
"""Options of every environment that may differ from one to the other; the rest is the bench's."""

MOST = 10_000
"""Environments of a bench at most."""


def read_envs(
    value: Any, models: Sequence[str], shared: Mapping[str, Any], *, with_trials: bool = False
) -> tuple[EnvArm, ...]:
    """Return the environments.

    Args:
        value: Names, or mappings with `id` and perhaps `label`, `args`, `models`. A list in `args`
            is one value each, so is a text such as ``"1000-1011"`` for a seed.
        models: Models where an entry names none.
        shared: Options for every environment that knows them.
        with_trials: Whether the bench says how many trials a candidate gets.

    Raises:
        UsageError: For the first thing that cannot be.
    """
    entries = [_entry(item) for item in items("envs", () if value is None else value)]
    if not entries:
        raise UsageError(
            "envs: none is named, e.g. --env VLMFail-Driving-v0; `vlmfail list` lists them"
        )
    if not isinstance(shared, Mapping):
        raise UsageError(f"env_args: expected names with values, got {tamed(repr(shared), 80)}")
    known = {entry["id"]: _options(entry["id"]) for entry in entries}
    for name in shared:
        if not any(name in options for options in known.values()):
            raise UnknownNameError("env option", name, sorted(set().union(*known.values())))
    found: list[EnvArm] = []
    for entry in entries:
        options = known[entry["id"]]
        args = {name: one for name, one in shared.items() if name in options} | entry["args"]
        for name in args:
            _check_option(entry["id"], name, options, with_trials)
        tested = entry["models"] or _tested(entry["id"], models)
        found += _expanded(entry, args, tested)
        if len(found) > MOST:
            raise UsageError(f"envs: more than {MOST} of them")
    check_labels("envs", [env.label for env in found], "give one of them another label")
    for env in found:
        check_labels(f"models of {env.label}", env.models, "leave one out")
    return tuple(found)


def _entry(item: Any) -> dict[str, Any]:
    given = item if isinstance(item, Mapping) else {"id": item}
    others = {"env": "id", "name": "id", "model": "models"}
    entry = known_keys("env's key", given, ENTRY_KEYS, others)
    ((name),) = texts("envs", [entry.get("id")])
    args = entry.get("args", {})
    if not isinstance(args, Mapping):
        raise UsageError(f"envs: args of {name}: expected names with values")
    label = None
    if "label" in entry:
        (label,) = texts("label", [entry["label"]])
    return {
        "id": name.removeprefix("vlmfail:"),
        "label": label,
        "args": dict(args),
        "models": texts("models", entry.get("models", ())),
    }


def _options(env: str) -> set[str]:
    return {*OWN, *(set(domain_options(env)) - set(EnvOptions.names()))}


def _check_option(env: str, name: str, options: set[str], with_trials: bool) -> None:
    if name == "trials" and with_trials:
        raise UsageError(f"trials: given for the whole bench and for {env}: keep one of them")
    if name in options:
        return
    if name in EnvOptions.names():
        where = "models: beside the env's id" if name == "model" else "give it for the whole bench"
        raise UsageError(f"{name}: {where}, not among the options of {env}")
    raise UnknownNameError(f"option of {env}", name, options)


def _tested(env: str, models: Sequence[str]) -> tuple[str, ...]:
    """Return the models of an environment that names none itself: the bench's, else its own."""
    # A landscape draws its outcomes itself, whatever models the other environments test.
    if models and not hasattr(domain_class(env), "make_model"):
        return tuple(models)
    return (str(EnvOptions(**domain_defaults(env)).model),)


def _expanded(
    entry: Mapping[str, Any], args: Mapping[str, Any], models: tuple[str, ...]
) -> list[EnvArm]:
    """Return an entry once for every combination of the values in its lists."""
    choices: dict[str, Sequence[Any]] = {}
    for name, value in args.items():
        if name.endswith("seed") and is_range(value):
            value = list(parse_seeds(value, name))
        several = isinstance(value, list) and name != "count_as_fail"
        choices[name] = value if several else [value]
        if several and not value:
            raise UsageError(f"{entry['id']}: {name} has no value")
        if len(choices[name]) > MOST:
            raise UsageError(f"envs: more than {MOST} of them")
    many = [name for name in choices if len(choices[name]) > 1]
    repeated = [name for name in many if name.endswith("seed")]
    arms = []
    for values in itertools.islice(itertools.product(*choices.values()), MOST + 1):
        chosen = dict(zip(choices, values, strict=True))
        # A label of its own stands for what all have in common.
        named = [n for n in choices if n not in repeated and (n in many or not entry["label"])]
        words = [_shown(chosen[n]) if entry["label"] else f"{n}={_shown(chosen[n])}" for n in named]
        group = " ".join([entry["label"] or entry["id"], *words])
        unit = " ".join(f"{n}={_shown(chosen[n])}" for n in repeated)
        label = f"{group} {unit}".strip()
        arms.append(EnvArm(label, group, unit, entry["id"], chosen, models))
    return arms


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return tamed(text, 60)
