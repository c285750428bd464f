"""Foreign words made fit for a terminal and a record: one line, no controls, bounded."""

from __future__ import annotations

import unicodedata
from typing import Any

from .fault_tables import LONGEST_TEXT

LONGEST_WORD = 80
"""Characters kept of a finish reason."""


def tamed(text: str, most: int = LONGEST_TEXT) -> str:
    """Return foreign text as one line of at most `most` characters.

    What a terminal would obey or hide (escapes, marks of direction, lone surrogates) becomes a
    space.
    """
    # Cut first, so that a text of megabytes is not looked at whole.
    text = text[: 4 * most]
    kept = (" " if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in text)
    return " ".join("".join(kept).split())[:most]


def finish_word(said: Any) -> str:
    """Return a provider's word for how a reply ended, in lower case; ``"stop"`` if it has none."""
    return (tamed(said, LONGEST_WORD).lower() if isinstance(said, str) else "") or "stop"
