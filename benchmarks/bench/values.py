"""Checks of what a user wrote: names, labels, folders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import UnknownNameError, UsageError
from ...core.text import tamed
from .arms import part

LONGEST_LABEL = 200
"""Characters of a label."""

LONGEST_SENTENCE = 2000
"""Characters of what is said of a bench."""


def known_keys(
    what: str, given: Mapping[str, Any], keys: Sequence[str], others: Mapping[str, str]
) -> dict[str, Any]:
    """Return what is given by its key's own name, without what is None.

    Raises:
        UnknownNameError: For a key that is none of them.
        UsageError: For one that is there under two names.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        key = name.replace("-", "_")
        key = others.get(key, key)
        if key not in keys:
            raise UnknownNameError(f"{what} of a bench", name, keys)
        if value is None:
            continue
        if key in values:
            raise UsageError(f"{key} and {name} are the same {what}: keep one of them")
        values[key] = value
    return values


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts, or the parts of a text with commas.

    Raises:
        UsageError: It is something else, or names one twice.
    """
    found = tuple(text(name, item) for item in items(name, value))
    for i, item in enumerate(found):
        if item in found[:i]:
            raise UsageError(f"{name}: {item!r} is named twice")
    return found


def items(name: str, value: Any) -> list[Any]:
    """Return a list, or the parts of a text with commas, or one mapping.

    Raises:
        UsageError: It is something else.
    """
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{name}: expected names, got {tamed(repr(value), 80)}")
    return list(value)


def text(name: str, value: Any) -> str:
    """Return a name.

    Raises:
        UsageError: It is none, or holds what cannot be shown.
    """
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name}: expected a name, got {tamed(repr(value), 80)}")
    if len(value) > LONGEST_LABEL:
        raise UsageError(f"{name}: {value[:40]!r}... has more than {LONGEST_LABEL} characters")
    if tamed(value) != " ".join(value.split()):
        raise UsageError(f"{name}: {value!r} holds what no name can hold")
    return value.strip()


def sentence(name: str, value: Any) -> str:
    """Return what somebody says in a few lines, as one.

    Raises:
        UsageError: It is no text, or a long one.
    """
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name}: expected a text, got {tamed(repr(value), 80)}")
    if len(value) > LONGEST_SENTENCE:
        raise UsageError(f"{name}: it has more than {LONGEST_SENTENCE} characters")
    return tamed(value)


def rates(name: str, value: Any) -> tuple[float, ...]:
    """Return failure rates above 0 and at most 1, lowest first, from a list or a text with commas.

    Raises:
        UsageError: One is something else, or there twice.
    """
    listed = [value] if isinstance(value, (int, float)) else items(name, value)
    found = []
    for item in listed:
        try:
            rate = float(item)
        except (TypeError, ValueError):
            rate = math.nan
        if isinstance(item, bool) or not 0.0 < rate <= 1.0:
            raise UsageError(
                f"{name}: expected rates above 0 and at most 1, got {tamed(repr(item), 80)}"
            )
        if rate in found:
            raise UsageError(f"{name}: {rate:g} is named twice")
        found.append(rate)
    return tuple(sorted(found))


def check_labels(name: str, labels: Sequence[str], how: str) -> None:
    """Check that no two labels are alike, or would share a folder.

    Raises:
        UsageError: With the two.
    """
    folders: dict[str, str] = {}
    for label in labels:
        # Compared as disks do that know no upper case.
        key = part(label).lower()
        if key in folders:
            other = folders[key]
            alike = f"{label!r} is there twice" if other == label else (
                f"{other!r} and {label!r} would share a folder"
            )  # fmt: skip
            raise UsageError(f"{name}: {alike}: {how}")
        folders[key] = label


def folder(value: Any, name: str = "out") -> Path:
    """Return a path at which a folder can be.

    Raises:
        UsageError: No folder can have this name.
    """
    if not isinstance(value, (str, Path)) or not str(value).strip():
        raise UsageError(f"{name}: expected a folder, got {tamed(repr(value), 80)}")
    path = Path(value)
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # to be made, or refused when it is to be written
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{name}: {str(path)!r:.120} can be no folder ({why})") from error
    return path
