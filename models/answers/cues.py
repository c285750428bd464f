"""Where a reply declares something: ``ANSWER: B``, JSON, a tag, a box, a choice in prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .marks import plain, unescaped, unwrap

LONGEST_PAYLOAD = 1000
"""Characters read after "ANSWER:": a runaway reply must not cost the square of its length."""

LONGEST_BOX = 300
"""Characters in a box beyond which it is no answer."""

_FLAGS = re.IGNORECASE
_BOX = re.compile(r"(?:\\fboxed|\\?\bboxed|\x08oxed)\s{0,9}\{")  # \x08: "\b" read as an escape
_BRACE = re.compile(rf"(?P<box>{_BOX.pattern})|[{{}}]")
_OPEN_OR_CLOSE = re.compile(
    r"<(?:final_)?answer>|<\|begin_of_box\|>|(?P<close></(?:final_)?answer>|<\|end_of_box\|>)",
    _FLAGS,
)
_SAID = (
    r"(?:\s{0,9}\bis\b\s{0,9}:?|\s{0,9}[:=]|\s{0,9}(?:->|=>|→|➡|⇒)|\s{1,9}[-–—](?=\s)"
    r"|(?=\s{0,9}\())"
)
_ANSWER = re.compile(
    r"\b(?:(?:final|my|correct|best|selected)_?)?answer(?:_letter|_choice|_option)?\b[\"']?"
    r"(?:\s{1,9}(?:here|choice|option|letter|to\s{1,9}(?:the|this)\s{1,9}question)\b)?" + _SAID,
    _FLAGS,
)
_ANSWER_LINE = re.compile(
    r"^[^\w\n]{0,40}(?:final\s{1,9})?answer\s{1,8}(?=[^\w?!¬≠]{0,20}[A-Z][^\w\n?]{0,40}$)",
    _FLAGS | re.MULTILINE,
)
_SOFT = (
    re.compile(r"\banswer\s{1,9}(?:would|should|must)\s{1,9}be\b\s{0,9}:?", _FLAGS),
    re.compile(
        r"\b(?:best|correct|right|safest|final|appropriate|my)\s{1,9}"
        r"(?:choice|option|action|decision|selection|response)(?:\s{1,9}here)?"
        r"(?:\s{1,9}(?:is|would\s{1,9}be|should\s{1,9}be)\b\s{0,9}:?|\s{0,9}[:=])",
        _FLAGS,
    ),
    re.compile(
        r"\b(?:I|we)(?:\s{1,9}would|\s{1,9}will|'d|'ll)?\s{1,9}"
        r"(?:choose|pick|select|go\s{1,9}(?:with|for))\b",
        _FLAGS,
    ),
    re.compile(r"^[^\w\n]{0,40}(?:choice|selection|decision)[^\w\n:=]{0,3}[:=]", _FLAGS | re.M),
    re.compile(
        r"\b(?=\(?[A-Z]\)?\s{1,9}is\s{1,9}(?:the\s{1,9})?(?:correct|right|best|safest)"
        r"(?:\s{1,9}(?:answer|option|choice|action|one))?\s{0,9}(?:[.!,;]|$))",
        re.MULTILINE,
    ),
)
_CLAUSE = re.compile(
    r"[.,;:!?\n]|\b(?:so|thus|hence|therefore|then|but|and|because|since|as)\b", _FLAGS
)
_SENTENCE = re.compile(r"[.!?\n]")
_DENIED = re.compile(
    r"\b(?:not|never|neither|nor|cannot|no)\b|n't\b"  # "I do not think the answer is B"
    r"|\b(?:might|may|could|perhaps|maybe|possibly|whether|if)\b"  # "someone may say it"
    r"|\b(?:wrong|incorrect|worst|bad|false|other|alternative|possible|plausible|tempting|naive"
    r"|unsafe|dangerous|initial|previous|first|second)\s{1,9}$",
    _FLAGS,
)
_HYPOTHESIS = re.compile(
    r"^\W{0,20}(?:(?:and|but|so|or|else|otherwise|only|even)\s{1,9}){0,2}"
    r"(?:if|unless|suppose|supposing|assuming|imagine|were|had)\b",
    _FLAGS,
)
_BARE = r"[^\w\n?!.,\"'¬≠✗✘❌✖🚫☒/…]{0,9}"
_BLANK = re.compile(rf"(?:{_BARE}[\"']?{_BARE}\n)*\s*")


@dataclass(frozen=True, slots=True)
class Payload:
    """What follows a cue.

    Attributes:
        text: Rest of the line without marks, up to the next cue.
        by: ``"box"``, ``"tag"``, ``"label"`` (``ANSWER:``, JSON), ``"is"`` ("the answer is"),
            ``"soft"`` (a choice in prose).
    """

    text: str
    by: Literal["box", "tag", "label", "is", "soft"]


def explicit(text: str, clean: Callable[[str], str] = plain) -> Iterator[Payload]:
    """Yield what the reply declares as its answer: ``ANSWER: X``, JSON, a tag, a box.

    Args:
        text: A reply without its thinking.
        clean: Takes the marks out of a text.
    """
    text = unwrap(unescaped(text))
    boxes = list(_boxes(text))
    for begin, end in boxes:
        yield Payload(clean(text[begin:end])[:LONGEST_PAYLOAD], "box")
    text = _opened(text, boxes)
    tags = list(_tags(text))
    for begin, end in tags:
        yield Payload(clean(text[begin:end])[:LONGEST_PAYLOAD], "tag")
    bare = clean(_OPEN_OR_CLOSE.sub("", text))
    yield from _following(bare, [_ANSWER, _ANSWER_LINE], None)


def soft(text: str, clean: Callable[[str], str] = plain) -> Iterator[Payload]:
    """Yield what the reply calls its choice in prose: "the best action is to slow down"."""
    yield from _following(clean(text), list(_SOFT), "soft")


def _following(
    text: str, patterns: list[re.Pattern[str]], by: Literal["soft"] | None
) -> Iterator[Payload]:
    cues = sorted(
        ((match.start(), match.end()) for pattern in patterns for match in pattern.finditer(text)),
    )
    before = 0
    for index, (start, end) in enumerate(cues):
        limit = next((s for s, _ in cues[index + 1 : index + 4] if s >= end), len(text))
        if not _denied(text[max(before, start - 200) : start]):
            said = text[max(start, end - 3) : end]
            kind: Literal["is", "label"] = "is" if re.search(r"\bis\b", said, _FLAGS) else "label"
            yield Payload(_rest(text, end, max(limit, end)), by or kind)
        before = end


def _denied(before: str) -> bool:
    """Whether what stands before a cue takes it back, or makes it a mere supposition."""
    if _HYPOTHESIS.match(_SENTENCE.split(before)[-1]):
        return True
    return _DENIED.search(_CLAUSE.split(before)[-1]) is not None


def _rest(text: str, start: int, limit: int) -> str:
    """Return the rest of the line from `start`, or the next line when that is empty."""
    begin = _BLANK.match(text, start, limit)
    first = start if begin is None else begin.end()
    last = min(limit, first + LONGEST_PAYLOAD)
    end = text.find("\n", first, last)
    return text[first : last if end < 0 else end]


def _boxes(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the spans inside ``\boxed{...}``, braces in it balanced; of nested ones the inner."""
    opened: list[int | None] = []  # where the text of an open box begins, None for other braces
    last = -1
    for match in _BRACE.finditer(text):
        if match[0] != "}":
            opened.append(match.end() if match["box"] else None)
        elif opened:
            begin = opened.pop()
            if begin is not None and begin > last and match.start() - begin <= LONGEST_BOX:
                yield begin, match.start()
                last = begin


def _opened(text: str, boxes: list[tuple[int, int]]) -> str:
    """Return `text` with its boxes replaced by what they hold."""
    parts, position = [], 0
    for begin, end in boxes:
        parts += [_BOX.sub("", text[position:begin]), text[begin:end]]
        position = end + 1
    return "".join([*parts, text[position:]])


def _tags(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between ``<answer>`` and ``</answer>``."""
    begin = None
    for match in _OPEN_OR_CLOSE.finditer(text):
        if match["close"] is None:
            begin = match.end()
        elif begin is not None:
            yield begin, match.start()
            begin = None
