"""Checks of searchers' settings, so that a wrong one is told before the first trial is paid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core import UsageError


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or raise `UsageError`."""
    expected = f"of at least {low}" if high is None else f"from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise UsageError(f"{name}: expected a whole number {expected}, got {value!r}")
    if value < low or (high is not None and value > high):
        raise UsageError(f"{name}: expected a whole number {expected}, got {value!r}")
    return int(value)


def flag(name: str, value: object) -> bool:
    """Return `value` when it is True or False, or raise `UsageError`."""
    if not isinstance(value, bool):
        raise UsageError(f"{name}: expected true or false, got {value!r}")
    return value


def real(name: str, value: object, low: float, high: float = math.inf) -> float:
    """Return `value` as a finite float in [low, high], or raise `UsageError`."""
    expected = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise UsageError(f"{name}: expected a number {expected}, got {value!r}")
    if not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{name}: expected a number {expected}, got {value!r}")
    return float(value)


def choice(name: str, value: object, known: Sequence[str]) -> str:
    """Return `value` when it is one of `known`, or raise `UsageError`."""
    if value not in known:
        raise UsageError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    return str(value)
