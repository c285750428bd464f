"""What a model hands back, made safe to judge and to keep."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import Reply, Usage

_SURROGATE = re.compile("[\ud800-\udfff]")

MOST_TOKENS = 2 * 10**10
"""Count of one trial beyond which it is an error, and not known."""


def checked_reply(said: object) -> Reply:
    """Return what a model said as a `Reply` that can be judged, stored and printed.

    Bare text is a reply. Lone surrogates, which no file may hold, are replaced; counts
    that are no numbers are unknown.

    Raises:
        TypeError: When it is neither text nor a `Reply` with text: no answer was given, which is
            an error of the model's side and never a failure.
    """
    if isinstance(said, str):
        return Reply(printable(said))
    if not isinstance(said, Reply):
        raise TypeError(f"the model returned {type(said).__name__}, expected text or a Reply")
    if not isinstance(said.text, str):
        raise TypeError(f"the reply's text is {type(said.text).__name__}, expected str")
    reason = "stop" if said.finish_reason is None else str(said.finish_reason)
    raw: Mapping[str, Any] = said.raw if isinstance(said.raw, Mapping) else {"raw": said.raw}
    return Reply(printable(said.text), printable(reason), _usage(said.usage), dict(raw))


def printable(text: str) -> str:
    """Return `text` as plain str with U+FFFD in place of lone surrogates."""
    return _SURROGATE.sub("\ufffd", str.__str__(text))


def fault(error: BaseException) -> str:
    """Return an exception in words, also one that cannot be printed."""
    name = type(error).__name__
    try:
        return printable(f"{name}: {error}")
    except (Exception, SystemExit):
        return name


def _usage(usage: object) -> Usage:
    if not isinstance(usage, Usage):
        return Usage()
    dollars = usage.dollars
    known = isinstance(dollars, numbers.Real) and math.isfinite(dollars) and dollars >= 0
    return Usage(
        requests=_count(usage.requests) or 0,
        input_tokens=_count(usage.input_tokens),
        output_tokens=_count(usage.output_tokens),
        dollars=float(dollars) if known and dollars is not None else None,
    )


def _count(value: object) -> int | None:
    if not isinstance(value, (int, np.integer)) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value)
