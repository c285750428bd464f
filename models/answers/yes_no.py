"""Yes or no: ``ANSWER: yes``, ``{"answer": true}``, or a reply that opens or ends with the word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .cues import LONGEST_PAYLOAD, explicit, soft
from .marks import plain
from .weighing import ABSTENTION, Declared, Parsed, Said, weigh

_FLAGS = re.IGNORECASE
_WORD = r"(?P<word>yes|no|true|false)"
_YES = frozenset({"yes", "true", "y", "t"})
_FILLER = re.compile(
    r"^(?:[^\w!?¬≠✗✘❌✖🚫☒/]+"
    r"|(?:most\s+likely|therefore|clearly|definitely|certainly|probably|simply|obviously|so|a|an"
    r"|the\s+answer(?:\s+is)?)\b(?=\W))",
    _FLAGS,
)
_SAID = re.compile(
    _WORD + r"(?!\w|'\w)(?!\s*\?+\s*\w)(?!\.?\s*[#№]?\s*[0-9])"
    r"(?=\s*(?:$|[^\w\s]|(?:because|since|as|and|or|but|it|there)\b))",
    _FLAGS,
)
_INITIAL = re.compile(r"(?P<word>[ynYN])\W*$")
_OTHER = re.compile(
    r"[\s\"')\](\[]*(?:[/&|+]|,?\s*(?:or|and|but|maybe|perhaps)\b)+[\s(\[\"']*" + _WORD + r"\b"
    r"|[\s\"')\](\[]*[,;][\s\"'(\[]*" + _WORD.replace("word", "word_2") + r"(?=\s*(?:$|[^\w\s]))"
    r"|.{0,200}?\b(?:wait|actually|correction|rather|sorry|make\s+that|I\s+mean)\b[\s,:;.!\-–—]*"
    r"(?:(?:it|that)(?:'s|\s+is)\s+)?[(\[\"']*" + _WORD.replace("word", "word_3") + r"\b",
    _FLAGS,
)


def parse_yes_no(text: str | None, finish_reason: str = "stop") -> Parsed[bool]:
    """Return True for a declared yes, False for a declared no.

    English only; *true* and *false* count, *y* and *n* only as the whole declared answer. Without
    ``ANSWER:``, JSON, a tag or a box, a first or last line that opens with the word and goes on
    after a stop ("Yes, a cone is near") declares it too; "No car is near" does not. Ours.

    Args:
        text: The model's reply.
        finish_reason: Why the reply ended; a cut reply without a declaration is ``truncated``.
    """
    levels = (
        lambda said: map(read_yes_no, (item.text for item in explicit(said))),
        lambda said: map(read_yes_no, (item.text for item in soft(said))),
    )
    return weigh(Said.of(text, finish_reason), levels, _alone)


def read_yes_no(text: str) -> Declared[bool]:
    """Read what follows "ANSWER:"."""
    text = text[:LONGEST_PAYLOAD].strip()
    previous = None
    while previous != text:
        previous, text = text, _FILLER.sub("", text).lstrip()
    if ABSTENTION.match(text):
        return Declared("abstain")  # "no idea" is no "no"
    match = _SAID.match(text) or _INITIAL.match(text)
    if match is None:
        if ABSTENTION.search(text):
            return Declared("abstain")
        return Declared("foreign" if re.match(r"(?:not|never)\b", text, _FLAGS) else "nothing")
    value = match["word"].lower() in _YES
    other = _OTHER.match(text, match.end())
    if other is not None:
        word = next(word for word in other.groups() if word)
        if (word.lower() in _YES) != value:
            return Declared("conflict")
    return Declared("value", value)


def _alone(text: str) -> Iterator[Declared[bool]]:
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    for index, line in enumerate(lines):
        found = read_yes_no(line) if re.match(r"[^\w?]*[A-Za-z]", line[:60]) else None
        if found is None or found.kind not in ("value", "conflict"):
            continue
        if index in (0, len(lines) - 1) or re.fullmatch(r"\W*\w+\W*", line[:60]):
            yield found
