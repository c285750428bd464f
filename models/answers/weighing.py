"""How declarations are weighed against each other, and what is said when none holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from ...core import Outcome
from .marks import plain, unescaped
from .thinking import strip_thinking

T = TypeVar("T")

REFUSALS = frozenset(
    {
        "refusal",
        "refused",
        "content_filter",
        "content_filtered",
        "safety",
        "blocked",
        "blocklist",
        "prohibited_content",
        "recitation",
        "spii",
        "image_safety",
        "guardrail_intervened",
        "data_inspection_failed",
    }
)
"""Finish reasons, in lower case, by which providers say that a reply was refused or filtered."""

LENGTHS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Finish reasons, in lower case, of a reply that was cut at the token limit."""

LONGEST_REPLY = 500_000
"""Characters of a reply, thinking left out, beyond which it is no answer but a runaway."""

ABSTENTION = re.compile(
    r"\b(?:none\s{1,9}of\s{1,9}(?:the\s{1,9}(?:above|options|these)|these|them)|neither|not\s{1,9}sure"
    r"|unsure|(?:do\s{1,9}not|don'?t|cannot|can\s{0,9}not|can'?t)\s{1,9}(?:know|tell|say|determine"
    r"|answer|decide|help|see|assist)|unable\s{1,9}to|no\s{1,9}(?:idea|answer)|unknown|n/a"
    r"|impossible\s{1,9}to)\b",
    re.IGNORECASE,
)

Kind = Literal["value", "abstain", "conflict", "foreign", "prose", "nothing"]

_NOTES: dict[str, str] = {
    "abstain": "the model abstains",
    "foreign": "the declared answer is none of those asked for",
    "prose": "what is declared as the answer is prose",
}
CONTRADICTION = "the declared answers contradict each other"


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What a reply declared.

    Attributes:
        value: What was declared, or None.
        outcome: ``unparsed`` or ``truncated`` when there is no value, else None.
        note: Why there is none.
    """

    value: T | None
    outcome: Outcome | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Declared(Generic[T]):
    """What one declaration says.

    Attributes:
        kind: ``"value"``; ``"abstain"``; ``"conflict"`` several values at once; ``"foreign"`` none
            of those asked for, or a denial; ``"prose"``; ``"nothing"`` no statement at all.
        value: The value.
    """

    kind: Kind
    value: T | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A reply made ready to be read.

    Attributes:
        text: Its text without thinking.
        cut: Whether it was cut at the token limit.
        unclosed: Whether it ends in the middle of thinking.
    """

    text: str
    cut: bool
    unclosed: bool

    @classmethod
    def of(cls, text: str | None, finish_reason: str | None) -> Said:
        """Return the reply with its thinking left out."""
        said, unclosed = strip_thinking(text)
        return cls(said, (finish_reason or "").lower() in LENGTHS, unclosed)

    @property
    def runaway(self) -> str:
        """A note when the reply is longer than any answer, else empty.

        A reader asks this first: its work grows with the text in compatibility form (NFKC), in
        which one character can be 18.
        """
        length = len(self.text)
        if length > LONGEST_REPLY:
            return f"the reply is {length} characters long"
        plain_signs = self.text.isascii() and "\\u" not in self.text
        if plain_signs or _fits(unescaped(self.text)):
            return ""
        return f"the reply is over {LONGEST_REPLY} characters long in compatibility form"

    def silence(
        self, nothing: str = "no answer is declared", sought: str = "an answer"
    ) -> Parsed[T]:
        """Return why a reply that declares nothing gives no value.

        Args:
            nothing: What to say of a reply that is whole and declares nothing.
            sought: What was looked for.
        """
        if self.cut:
            where = "while thinking" if self.unclosed else f"before {sought}"
            return Parsed(None, Outcome.TRUNCATED, f"the reply was cut {where}")
        if not self.text:
            note = "the thinking never ends" if self.unclosed else "the reply is empty"
        elif ABSTENTION.search(plain(self.text)):
            note = "the model abstains"
        else:
            note = nothing
        return Parsed(None, Outcome.UNPARSED, note)


def _fits(text: str) -> bool:
    """Whether `text` is short enough in compatibility form; counted until it is not."""
    left = LONGEST_REPLY
    for start in range(0, len(text), 10_000):
        left -= len(unicodedata.normalize("NFKC", text[start : start + 10_000]))
        if left < 0:
            return False
    return True


def first_if_equal(values: Sequence[T]) -> T | None:
    """Return the first value when all are equal, else None."""
    return values[0] if all(value == values[0] for value in values) else None


def weigh(
    said: Said,
    levels: Iterable[Callable[[str], Iterable[Declared[T]]]],
    alone: Callable[[str], Iterable[Declared[T]]],
    *,
    agreed: Callable[[Sequence[T]], T | None] = first_if_equal,
) -> Parsed[T]:
    """Return what a reply declares on the strongest level that declares anything.

    Args:
        said: The reply.
        levels: Readers, strongest first.
        alone: Reader of what stands alone on a line, the weakest level; it is not asked of a cut
            reply, whose last line may be the beginning of a sentence.
        agreed: Returns the one value that several declarations mean, or None.
    """
    if said.runaway:
        return Parsed(None, Outcome.UNPARSED, said.runaway)
    for level in [*levels, *([] if said.cut else [alone])]:
        declared = [item for item in level(said.text) if item.kind != "nothing"]
        if not declared:
            continue
        kinds = {item.kind for item in declared}
        values = [item.value for item in declared if item.value is not None]
        value = agreed(values) if kinds == {"value"} else None
        if value is not None:
            return Parsed(value)
        note = _NOTES.get(kinds.pop(), CONTRADICTION) if len(kinds) == 1 else CONTRADICTION
        return Parsed(None, Outcome.UNPARSED, note)
    return said.silence()
