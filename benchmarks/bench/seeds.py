"""Seeds as a user writes them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ...core import UsageError, check_seed

MOST = 100_000
"""Seeds of a bench at most."""

HOW = "write 0-9 or 0,3,7, or 10 for the ten seeds from 0"


def parse_seeds(value: Any, name: str = "seeds") -> tuple[int, ...]:
    """Return the seeds that a number, a text or a list means.

    ``10`` are the ten seeds from 0, ``"0-9"`` and ``"0,3,7"`` (mixed, too) and ``[0, 3, 7]`` say
    which.

    Args:
        value: What the user wrote.
        name: What to call it in an error.

    Raises:
        UsageError: It means none, or a seed twice, or something else.
    """
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST:
            raise UsageError(f"{name}: {value} seeds: {HOW}")
        return tuple(range(value))
    if isinstance(value, str):
        value = [item for item in value.split(",") if item.strip()]
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{name}: {str(value)[:60]!r} is no seeds: {HOW}")
    found: list[int] = []
    for item in value:
        found += _range(item, name)
        if len(found) > MOST:
            raise UsageError(f"{name}: more than {MOST} seeds")
    if not found:
        raise UsageError(f"{name}: none is named: {HOW}")
    if len(set(found)) < len(found):
        twice = next(seed for seed, count in Counter(found).items() if count > 1)
        raise UsageError(f"{name}: {twice} is named twice")
    return tuple(found)


def is_range(value: Any) -> bool:
    """Whether a value is text that means several numbers, such as ``"1000-1011"``."""
    return (
        isinstance(value, str)
        and set(value) <= set("0123456789,- ")
        and value[:1].isdigit()
        and ("-" in value or "," in value)
    )


def _range(item: Any, name: str) -> list[int]:
    if isinstance(item, int) and not isinstance(item, bool):
        return [check_seed(item)]
    found = re.fullmatch(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?", str(item))
    if isinstance(item, bool) or found is None:
        raise UsageError(f"{name}: {str(item)[:60]!r} is no seed: {HOW}")
    first = check_seed(int(found[1]))
    last = first if found[2] is None else check_seed(int(found[2]))
    if last < first:
        raise UsageError(f"{name}: {str(item).strip()!r} runs backwards: {HOW}")
    if last - first >= MOST:
        raise UsageError(f"{name}: more than {MOST} seeds")
    return list(range(first, last + 1))
