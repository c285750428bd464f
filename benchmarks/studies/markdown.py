"""Figures as cells of Markdown tables."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence

from ...analysis.metrics import Share
from ...core.text import tamed
from .comparison import Estimate, Spread

EMPTY = "–"


def machine() -> str:
    """Return the machine in a few words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """Return a table whose first `left` columns are text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def escaped(text: str) -> str:
    """Return foreign text as one cell, none of which is read as Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]()<>#|!~&$])", r"\\\1", tamed(text))


def spread(value: Spread | None, scale: float = 100.0, digits: int = 1) -> str:
    """Return mean ± sd, by default in percent."""
    if value is None:
        return EMPTY
    text = f"{scale * value.mean:.{digits}f}"
    return text if value.sd is None else f"{text} ± {scale * value.sd:.{digits}f}"


def estimate(value: Estimate, scale: float, sign: bool = False, digits: int = 1) -> str:
    """Return an effect with its interval."""
    low, high = (
        f"{scale * end:.{digits}f}" if end < float("inf") else "∞"
        for end in (value.low, value.high)
    )
    return f"{scale * value.value:{'+' if sign else ''}.{digits}f} [{low}, {high}]"


def share(value: Share | None, bounds: bool = True) -> str:
    """Return a share with its counts, and its interval if wanted."""
    if value is None or value.rate is None:
        return EMPTY
    text = f"{100 * value.rate:.1f} % ({value.failures}/{value.n})"
    if bounds:
        low, high = value.interval
        text += f" [{100 * low:.1f}, {100 * high:.1f}]"
    return text


def p_value(p: float | None) -> str:
    """Return a p-value."""
    if p is None:
        return EMPTY
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"
