r"""Multiple choice: from a model's words to the option it chose.

An explicit declaration (``ANSWER: B``, ``{"answer": "B"}``, ``\boxed{B}``) beats a choice in prose
("the best action is to slow down"), which beats an option that stands alone on a line. Letters
and option names that are merely mentioned choose nothing. Declarations that contradict each
other choose nothing either: the last one does not silently win.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...core import Outcome, Question, Reply
from .cues import LONGEST_PAYLOAD, explicit, soft
from .marks import plain, undecorated, words
from .weighing import ABSTENTION, REFUSALS, Declared, Said, weigh

_FLAGS = re.IGNORECASE
_FILLER = re.compile(
    r"^(?:(?:(?!-[0-9])[^\w!?¬≠✗✘❌✖🚫☒/])+"
    r"|(?:most\s+likely|therefore|clearly|definitely|probably|simply|to|the|option|choice|letter"
    r"|action|answer|(?:correct|best|right|safest|final)(?=\s+(?:option|choice|letter|action))"
    r"|(?:I|we|you)\s+(?:would|should|must|will|choose|pick|select)|choose|pick|select)\b(?=\W))",
    _FLAGS,
)
_LETTER = r"([A-Za-z])(?![A-Za-z0-9_\u00c0-\u024f\u0300-\u036f]|'\w)"
_MARKS = r"[\s\"')\](\[]*"
_JOIN = _MARKS + r"(?:[,;/&|+>]|or\b|and\b|to\b|then\b|until\b)+(?:\s*(?:or|and|maybe|perhaps)\b)*"
_JOINED = re.compile(_JOIN + r"[\s(\[\"']*", _FLAGS)
_JOINED_LETTER = re.compile(_JOIN + r"(?:\s*(?:option|choice)\b)?" + _MARKS + _LETTER, _FLAGS)
_WEAKLY_JOINED_LETTER = re.compile(r"[\s\"')\](\[]*[-–—]?[\s\"')\](\[]*" + _LETTER)
_REASON = re.compile(r"\s*(?:$|[^\w\s']|'(?!\w)|(?:because|since|as|or|and)\b)", _FLAGS)
_END = re.compile(r"\s*(?:$|[^\w\s'&/+]|'(?!\w)|(?:because|since|as)\b)", _FLAGS)
_MEANING = re.compile(
    r"[^\w]*(?:i\.?e\.?|that\s+is|which\s+(?:is|means)|meaning|namely)?[^\w]*", _FLAGS
)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|no|correction|rather|sorry|make\s+that|I\s+mean)\b[\s,:;.!\-–—]*"
    r"(?:(?:it|that)(?:'s|\s+is)\s+)?[(\[\"']*" + _LETTER,
    _FLAGS,
)
_TAKEN_BACK = re.compile(
    r"[\"')\]]*\s+(?:if|unless|when|(?:(?:is|was|would\s+be|seems)\s*)?(?:not\b|n't|wrong|incorrect"
    r"|false|excluded|ruled\s+out|unsafe|dangerous))",
    _FLAGS,
)
_NAME_AND_LETTER = re.compile(
    r"[\s\"',:\-–—]*(?:[(\[]\s*(?:option|choice|letter)?|(?:option|choice|letter)\b)\s*" + _LETTER,
    _FLAGS,
)
_KEY = re.compile(r"\s*,\s*([\"'])[^\"']{0,60}\1\s*:")
_BRIEF = frozenset({"yes", "no", "true", "false"})


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


def parse_choice(text: str | None, question: Question, finish_reason: str = "stop") -> ParsedAnswer:
    """Return the option that `text` declares.

    Args:
        text: The model's reply.
        question: The question with its options in the order that the model saw.
        finish_reason: Why the reply ended; a cut reply without a declaration is ``truncated``.
    """
    reader = Reader(question)
    levels = (
        lambda said: map(reader.payload, (item.text for item in explicit(said))),
        lambda said: map(reader.payload, (item.text for item in soft(said))),
    )
    parsed = weigh(Said.of(text, finish_reason), levels, reader.alone)
    return ParsedAnswer(parsed.value, parsed.outcome, parsed.note)


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


def option_names(question: Question) -> dict[str, str]:
    """Return name → option id: full text, title and id of every option, longest first.

    The title is the option's text up to its first punctuation or bracket: "Slow down" of
    "Slow down: brake at half intensity". Names that two options share are left out.
    """
    owners: dict[str, set[str]] = {}
    for option in question.options:
        title = re.split(r"\s*[(\[]|\s*[:;,.](?![0-9])|\s+[-–—]\s", option.text, maxsplit=1)[0]
        for name in {words(option.text), words(title), words(option.id)} - {""}:
            owners.setdefault(name, set()).add(option.id)
    names = {name: min(ids) for name, ids in owners.items() if len(ids) == 1}
    return dict(sorted(names.items(), key=lambda item: (-len(item[0]), item[0])))


class Reader:
    """Reads statements about the options of one question."""

    def __init__(self, question: Question) -> None:
        """Prepare the names of the options."""
        self.question = question
        self.names = option_names(question)
        self._patterns = [
            (name, option, _pattern(name), self._is_brief(name))
            for name, option in self.names.items()
        ]
        self._read: dict[str, Declared[str]] = {}

    def payload(self, text: str) -> Declared[str]:
        """Read what follows "ANSWER:"."""
        if text not in self._read:
            self._read[text] = self._payload(text[:LONGEST_PAYLOAD].strip())
        return self._read[text]

    def _payload(self, text: str) -> Declared[str]:
        close = text.find(text[0], 1) if text[:1] in {'"', "'"} else -1
        if close > 1:
            found = self._payload(text[1:close].strip())
            # '"A" or "B"', but not '"A", "reason": ...'
            rest = text[close + 1 :]
            if found.kind == "value" and not _KEY.match(rest) and self._joined(rest, found.value):
                return Declared("conflict")
            return found
        named = self._named(text)
        if named is not None:
            return Declared("value", named)
        previous = None
        while previous != text:
            previous, text = text, _FILLER.sub("", text).lstrip()
        if ABSTENTION.match(text) and self._named(text) is None:
            return Declared("abstain")  # "no idea" is no "no"
        return self._letter(text) or self._name(text) or _no_option(text)

    def alone(self, text: str) -> Iterator[Declared[str]]:
        """Yield the options that stand alone on a line, when the first or last line is one."""
        found = [self._line(line) for line in plain(text).splitlines() if line.strip()]
        if found and (found[0].kind == "value" or found[-1].kind == "value"):
            yield from (item for item in found if item.kind == "value")

    def _line(self, text: str) -> Declared[str]:
        """Read a line that is nothing but a letter, an option, or both."""
        if len(text) > LONGEST_PAYLOAD or re.match(r"\W*-[0-9]", text):
            return Declared("nothing")
        bare = undecorated(text)
        named = self._named(bare)
        if named is not None:
            return Declared("value", named)
        if re.fullmatch(r"(?:(?:option|choice)\s+)?[A-Za-z]", bare, _FLAGS):
            found = self._letter(bare[-1])
            return found if found is not None and found.kind == "value" else Declared("nothing")
        match = re.match(r"[^\w!?¬≠✗✘❌✖🚫☒\\/]*([A-Za-z])[)\].:]+\s*(.+)$", text)
        option = self.question.by_letter(match[1]) if match else None
        if match is None or option is None:
            return Declared("nothing")
        leading = self._leading_name(match[2])
        if leading is None or leading[0] != option.id or not _REASON.match(leading[1]):
            return Declared("nothing")
        return Declared("value", option.id)

    def _letter(self, text: str) -> Declared[str] | None:
        match = re.match(_LETTER, text)
        if match is None:
            return None
        letter, rest = match[1], text[1:]
        option = self.question.by_letter(letter)
        meaning = _MEANING.match(rest)
        named = self._leading_name(rest[meaning.end() :] if meaning else rest)
        own = option is not None and named is not None and named[0] == option.id
        if not own:
            run_on = re.match(r"[./\-‐‑&]" + _LETTER, rest)
            if run_on:  # "A.B" names two, "a.m." none
                other = self.question.by_letter(run_on[1])
                return Declared("conflict") if option and other and other != option else None
            if re.match(r"[/\-‐‑&][A-Za-z]", rest) and named is None:
                return None  # "T-junction", "A-pillar"
            # "a hard one", "A car is near": an article, not the option A; "I think": a pronoun.
            if not _REASON.match(rest) and (letter in "aAI" or letter.islower()):
                return None
        if option is None:
            return None if letter.upper() == "X" else Declared("foreign")
        if named is not None and not own:
            return Declared("conflict")
        if _TAKEN_BACK.match(rest) or re.match(r"[\"')\]]*\s*\?+\s*\w", rest):
            return None  # "B if the lamp is red", "B is wrong", "B? No"
        if self._joined(rest, option.id) or self._corrected(rest, option.id):
            return Declared("conflict")
        return Declared("value", option.id)

    def _joined(self, rest: str, chosen: str | None) -> bool:
        """Whether `rest` goes on with another option: "or B", ", slow down", "/C", " B"."""
        match = _JOINED_LETTER.match(rest)
        strong = match is not None and re.search(r"[/&|+>]|\w", match[0][: -len(match[1])])
        match = match or _WEAKLY_JOINED_LETTER.match(rest)
        if match is not None:
            other = self.question.by_letter(match[1])
            after = rest[match.end() :]
            certain = strong and match[1].isupper() and match[1] not in "AI"
            if other is not None and other.id != chosen and (certain or _REASON.match(after)):
                return True
        joined = _JOINED.match(rest)
        named = self._leading_name(rest[joined.end() :]) if joined else None
        return named is not None and named[0] != chosen

    def _corrected(self, rest: str, chosen: str) -> bool:
        """Whether `rest` takes another option instead: "B. No, wait: C"."""
        for match in _CORRECTION.finditer(rest[:200]):
            other = self.question.by_letter(match[1])
            after = rest[match.end() :]
            if other is not None and other.id != chosen and _REASON.match(after):
                return True
        return False

    def _name(self, text: str) -> Declared[str] | None:
        named = self._leading_name(text)
        if named is None:
            return None
        option, rest = named
        lettered = _NAME_AND_LETTER.match(rest)
        if lettered and (lettered[1].isupper() or _REASON.match(rest[lettered.end() :])):
            other = self.question.by_letter(lettered[1])
            if other is not None and other.id != option:
                return Declared("conflict")  # "slow down (A)" where A is another option
        if _TAKEN_BACK.match(rest) or re.match(r"[\"')\]]*\s*\?+\s*\w", rest):
            return None
        joined = _JOINED.match(rest)
        if joined:
            second = self._leading_name(rest[joined.end() :])
            if second is not None and second[0] != option:
                return Declared("conflict")
        return Declared("value", option)

    def _named(self, text: str) -> str | None:
        """Return the id of the option that `text` names and nothing else."""
        name = words(text)
        option = self.names.get(name)
        if option is None or (name[:1].isdigit() and not _same_number(text, name)):
            return None
        return option

    def _leading_name(self, text: str) -> tuple[str, str] | None:
        """Return (option id, text after its name) when `text` starts with an option's name."""
        for _, option, pattern, brief in self._patterns:
            match = pattern.match(text)
            if match:
                rest = text[match.end() :]
                if brief and not _END.match(rest):
                    # "No car is near" is no "no", "red and green" no "red"; "no or yes" is both.
                    joined = _JOINED.match(rest)
                    if not joined or self._leading_name(rest[joined.end() :]) is None:
                        return None
                return option, rest
        return None

    def _is_brief(self, name: str) -> bool:
        """Whether words after `name` may make it another statement."""
        own = self.names[name]
        longer = (o for n, o in self.names.items() if n.startswith(name + " "))
        return name in _BRIEF or any(option != own for option in longer)


def _pattern(name: str) -> re.Pattern[str]:
    body = r"[\W_]+".join(map(re.escape, name.split()))
    if name[:1].isdigit():  # neither "-2" nor "2.5" nor "2:30" nor "2/3" is "2"
        return re.compile(r"[^\w\-]*?" + body + r"(?![^\W_]|\s*[.,:/^%]\s*\d|%)", _FLAGS)
    return re.compile(r"\W*?" + body + r"(?![^\W_])", _FLAGS)


def _same_number(text: str, name: str) -> bool:
    bare = text.strip(" \t\"'()[]{}.,;:!")
    return " " in name or bare.lower() == name


def _no_option(text: str) -> Declared[str]:
    if ABSTENTION.search(text):
        return Declared("abstain")
    if re.match(r"(?:not|never|isn't)\b", text, _FLAGS):
        return Declared("foreign")
    return Declared("nothing")
