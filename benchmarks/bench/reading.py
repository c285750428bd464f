"""A bench's YAML file as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ...core import UsageError
from ...core.text import tamed

LARGEST = 1 << 20
"""Bytes of a file at most."""

MOST_VALUES = 100_000
"""Values of a file at most, those that an alias repeats included."""


class _Loader(yaml.SafeLoader):
    """Plain values alone, and no key twice: the first one's value would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            if name in seen and name != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name!r} is there twice", key.start_mark
                )
            seen.add(name)
        made: dict[Any, Any] = super().construct_mapping(node, deep)
        return made


def read_file(path: Path) -> dict[str, Any]:
    """Return what a YAML (or JSON) file says.

    Raises:
        UsageError: It cannot be read, or is no mapping of names to plain values.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from error
    if len(data) > LARGEST:
        raise UsageError(f"{path} is no bench: it has more than {LARGEST >> 20} MiB")
    try:
        value = yaml.load(data.decode("utf-8-sig"), _Loader)  # a SafeLoader
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text: {error.reason}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {_complaint(error)}") from error
    if not isinstance(value, dict):
        what = "is empty" if value is None else f"holds {_kind(value)}"
        raise UsageError(
            f"{path} {what}: a bench is a mapping, e.g. `envs: [VLMFail-Driving-v0]` and "
            "`searchers: [random, gpts]`, each on a line"
        )
    _count(path, value)
    return value


def _complaint(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    text = getattr(error, "problem", None) or str(error) or type(error).__name__
    where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
    return where + tamed(text, 200)


def _kind(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "a yes or no", int: "a number", float: "a number"}
    return names.get(type(value), f"a {type(value).__name__}")


def _count(path: Path, value: Any) -> None:
    """Refuse files whose aliases grow without end, and keys that are no names."""
    left = MOST_VALUES
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        one, depth = stack.pop()
        left -= 1
        if left < 0 or depth > 20:
            raise UsageError(f"{path} holds too many values for a bench, or too deep ones")
        if isinstance(one, dict):
            for key, inner in one.items():
                if not isinstance(key, str):
                    raise UsageError(f"{path}: {str(key)[:60]!r} is no name: put it in quotes")
                stack.append((inner, depth + 1))
        elif isinstance(one, list):
            stack += [(inner, depth + 1) for inner in one]
        elif one is not None and not isinstance(one, (str, bool, int, float)):
            raise UsageError(f"{path}: {str(one)[:60]!r} is {_kind(one)}: put it in quotes")
