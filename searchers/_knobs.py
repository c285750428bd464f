"""Checks of searchers' settings, so that a wrong one is told before the first trial is paid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core import UsageError


def whole(name: str, value: object, low: int) -> int:
    """Return `value` as an int of at least `low`, or raise `UsageError`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise UsageError(f"{name}: expected a whole number of at least {low}, got {value!r}")
    return int(value)


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
