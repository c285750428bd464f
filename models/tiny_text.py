"""How tiny-vlm reads text: words hashed into a bag, a prompt split into question and options."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .answers.marks import words

BUCKETS = 1024
"""Length of a bag. Words are hashed, so that any wording has a bag; few collide at this size."""

_OPTION = re.compile(r"^\s*\(?([A-Z])[).:]\s+(\S.*)$")


@lru_cache(maxsize=4096)
def bag(text: str) -> npt.NDArray[np.float32]:
    """Return the bag of words of `text`, `BUCKETS` float32, read-only, of length (norm) 1.

    A word counts once however often it occurs: a long prompt says its common words often.
    """
    out = np.zeros(BUCKETS, dtype=np.float32)
    for word in set(words(text).split()):
        out[zlib.crc32(word.encode()) % BUCKETS] = 1.0
    norm = float(np.linalg.norm(out))
    if norm:
        out /= norm
    out.flags.writeable = False
    return out


def split_prompt(prompt: str) -> tuple[str, list[tuple[str, str]]]:
    """Return (question text, [(letter, option text), ...]) of a multiple-choice prompt.

    The options are the last run of lines ``A) ...``, ``B) ...`` that starts at A; the question is
    what stands before them. Without such a run the list is empty.
    """
    lines = prompt.splitlines()
    start, options = 0, []
    for i, line in enumerate(lines):
        match = _OPTION.match(line)
        if match and match[1] == "A":
            start, options = i, [("A", match[2].strip())]
        elif match and match[1] == chr(ord("A") + len(options)) and i == start + len(options):
            options.append((match[1], match[2].strip()))
    if len(options) < 2:
        return prompt.strip(), []
    question = re.sub(r"\n\s*options:\s*$", "", "\n".join(lines[:start]).rstrip(), flags=re.I)
    return question.strip(), options


def title(option: str) -> str:
    """Return an option's text up to its first punctuation: "Slow down" of "Slow down: brake"."""
    return re.split(r"\s*[:;,.(\[]|\s+[-–—]\s", option, maxsplit=1)[0].strip() or option
