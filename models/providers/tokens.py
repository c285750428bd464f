"""Counts of tokens as providers report them."""

from __future__ import annotations

from typing import Any

MOST = 10**9
"""Tokens of one reply beyond which a count is an error of the service's, and not known."""


def count(value: Any) -> int | None:
    """Return a provider's count; None for what is no whole number of tokens."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
    return value if whole else None


def whole_input(plain: int | None, cached: int | None, written: int | None) -> int | None:
    """Return all input tokens where the provider counts those of its cache beside the others."""
    return None if plain is None else plain + (cached or 0) + (written or 0)
