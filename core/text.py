"""Foreign text made fit for a terminal and a record."""

from __future__ import annotations

import unicodedata


def tamed(text: str, most: int | None = None) -> str:
    """Return foreign text as one line, of at most `most` characters.

    What a terminal would obey or hide (escapes, marks of direction, lone surrogates) becomes a
    space.
    """
    if most is not None:
        # Cut first, so that a text of megabytes is not looked at whole.
        text = text[: 4 * most]
    kept = (" " if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in text)
    return " ".join("".join(kept).split())[:most]
