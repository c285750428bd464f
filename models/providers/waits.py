"""How long a provider asks to wait: in headers, in the body, in words."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

_AGAIN = re.compile(
    r"(?:try again|retry)(?:ing)? (?:in|after) "
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?) ?(ms|milliseconds|s|seconds?|minutes?)\b)?",
    re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
LONGEST = 366 * 86400.0
"""Seconds beyond which it makes no difference how long a wait is."""

_UNITS = {"ms": 1e-3, "milliseconds": 1e-3, "minute": 60.0, "minutes": 60.0}


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Return how many seconds the provider asks to wait; None when it does not say.

    Reads ``retry-after-ms`` and ``retry-after`` (seconds or an HTTP date, counted from the
    response's own ``date``, so that a wrong clock here does no harm). The ``x-ratelimit-reset-*``
    headers are left alone: they tell when a limit is *whole* again, not when the next request may
    come.
    """
    if headers is None:
        return None
    known = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        seconds = _number(known.get(name))
        if seconds is not None:
            return _bounded(seconds * unit)
    until = _date(known.get("retry-after"))
    if until is None:
        return None
    now = _date(known.get("date"))
    return _bounded(until - (time.time() if now is None else now))


def asked_wait(error: Any, text: str) -> float | None:
    """Return the wait that an error asks for: Google's RetryInfo, or "try again in 20s"."""
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict):
            delay = detail.get("retryDelay")
            seconds = _number(delay.removesuffix("s")) if isinstance(delay, str) else None
            if seconds is not None:
                return _bounded(seconds)
    found = _AGAIN.search(text)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, amount, unit = found.groups()
    last = float(amount or 0) * _UNITS.get((unit or "s").lower(), 1.0)
    return _bounded(3600.0 * float(hours or 0) + 60.0 * float(minutes or 0) + last)


def _bounded(seconds: float) -> float:
    """Return a wait that can be waited: hundreds of digits make a float infinite."""
    return min(max(0.0, seconds), LONGEST)


def _number(text: str | None) -> float | None:
    """Return what a decimal number says, None for all else that Python would read as one."""
    value = float(text) if text and len(text) < 400 and _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except Exception:  # its own kinds of error differ by Python's version and by what is wrong
        return None
