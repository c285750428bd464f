"""Foreign text made fit for a terminal and a record."""

from __future__ import annotations

import re
import unicodedata

UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Control characters but tab and line breaks, lone surrogates, and what turns text around."""


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


def legible(text: object) -> str:
    """Return foreign text for a terminal, its line breaks and tabs kept.

    What a terminal would obey or hide (`UNPRINTABLE`, and a carriage return, which lets a line be
    written over) becomes U+FFFD.
    """
    return UNPRINTABLE.sub("\ufffd", str(text).replace("\r\n", "\n").replace("\r", "\x00"))
