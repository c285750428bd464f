r"""From a model's words to the option it chose; never a guess.

An explicit declaration (``ANSWER: B``, ``{"answer": "B"}``, ``\boxed{B}``) beats a choice in prose
("the best action is to slow down"), which beats an option that stands alone on a line. Letters
and option names that are merely mentioned choose nothing. Declarations that contradict each
other choose nothing either: the last one does not silently win.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core import Outcome, Question, Reply
from .declarations import Declared, Reader, explicit, is_abstention, soft, standing_alone

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

_CLOSED = {
    name: re.compile(rf"<{name}>.*?</{name}>", re.IGNORECASE | re.DOTALL)
    for name in ("think", "thinking")
}
_LONE_CLOSE = re.compile(r"^.*</(?:think|thinking)>", re.IGNORECASE | re.DOTALL)
_OPEN = re.compile(r"<(?:think|thinking)>.*$", re.IGNORECASE | re.DOTALL)


LONGEST_REPLY = 500_000
"""Characters of a reply, thinking left out, beyond which it is no answer but a runaway."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What a reply chose.

    Attributes:
        option: Id of the chosen option, or None.
        outcome: ``unparsed`` or ``truncated`` when there is none, else None.
        note: Why there is none.
    """

    option: str | None
    outcome: Outcome | None = None
    note: str = ""


def strip_thinking(text: str) -> tuple[str, bool]:
    """Return (`text` without its thinking, whether the thinking was left open).

    Everything before a lone ``</think>`` is thinking: some chat templates swallow the opening tag.
    """
    for name, closed in _CLOSED.items():
        # Behind the last closing tag nothing is closed: opening tags there are not searched from.
        ends = [match.end() for match in re.finditer(f"</{name}>", text, re.IGNORECASE)]
        if ends:
            text = closed.sub(" ", text[: ends[-1]]) + text[ends[-1] :]
    text = _LONE_CLOSE.sub("", text)
    open_thinking = _OPEN.search(text)
    return _OPEN.sub("", text).strip(), open_thinking is not None


def parse_choice(text: str, question: Question, finish_reason: str = "stop") -> ParsedAnswer:
    """Return the option that `text` declares.

    Args:
        text: The model's reply.
        question: The question with its options in the order that the model saw.
        finish_reason: Why the reply ended; a cut reply without a declaration is ``truncated``.
    """
    said, unclosed = strip_thinking(text)
    cut = finish_reason.lower() in LENGTHS
    if len(said) > LONGEST_REPLY:
        return ParsedAnswer(None, Outcome.UNPARSED, f"the reply is {len(said)} characters long")
    reader = Reader(question)
    levels = [explicit, soft]
    if not cut:  # the last line of a cut reply may be the beginning of a sentence
        levels.append(standing_alone)
    for level in levels:
        declared = [item for item in level(said, reader) if item.kind != "nothing"]
        if declared:
            return _agreed(declared)
    if cut:
        where = "while thinking" if unclosed else "before an answer"
        return ParsedAnswer(None, Outcome.TRUNCATED, f"the reply was cut {where}")
    if not said:
        note = "the reply is empty" if not unclosed else "the thinking never ends"
    elif is_abstention(said):
        note = "the model abstains"
    else:
        note = "no answer is declared"
    return ParsedAnswer(None, Outcome.UNPARSED, note)


def _agreed(declared: list[Declared]) -> ParsedAnswer:
    options = {item.option for item in declared if item.kind == "option"}
    kinds = {item.kind for item in declared}
    if kinds == {"option"} and len(options) == 1:
        return ParsedAnswer(options.pop())
    if kinds == {"abstain"}:
        note = "the model abstains"
    elif kinds == {"foreign"}:
        note = "the declared answer is none of the options"
    else:
        note = "the declared answers contradict each other"
    return ParsedAnswer(None, Outcome.UNPARSED, note)


def classify(reply: Reply, question: Question) -> tuple[Outcome | None, str | None, str]:
    """Return (outcome, option id, note) of a reply.

    The outcome is None when an option was chosen: whether it is a ``pass`` or a ``fail`` is the
    truth's business. A refused or filtered reply is ``refused`` whatever its text says.
    """
    reason = reply.finish_reason.lower()
    if reason in REFUSALS:
        return Outcome.REFUSED, None, reply.text[:200] or f"finish reason {reply.finish_reason}"
    if reason in ("error", "timeout"):
        return Outcome(reason), None, reply.text[:500] or f"the model reported: {reason}"
    parsed = parse_choice(reply.text, question, reply.finish_reason)
    return parsed.outcome, parsed.option, parsed.note
