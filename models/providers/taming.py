"""Foreign words made fit for a terminal and a record: one line, no controls, bounded."""

from __future__ import annotations

from typing import Any

from ...core.text import tamed as one_line
from .fault_tables import LONGEST_TEXT

LONGEST_WORD = 80
"""Characters kept of a finish reason."""


def tamed(text: str, most: int = LONGEST_TEXT) -> str:
    """Return foreign text as one line of at most `most` characters, see `core.text.tamed`."""
    return one_line(text, most)


def finish_word(said: Any) -> str:
    """Return a provider's word for how a reply ended, in lower case; ``"stop"`` if it has none."""
    return (tamed(said, LONGEST_WORD).lower() if isinstance(said, str) else "") or "stop"
