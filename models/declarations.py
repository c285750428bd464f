"""How a reply declares an option: letters and option names inside any decoration."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..core import Question

LONGEST_PAYLOAD = 1000
"""Characters read after "ANSWER:": a runaway reply must not cost the square of its length."""

Kind = Literal["option", "abstain", "conflict", "foreign", "nothing"]

_FLAGS = re.IGNORECASE
_INVISIBLE = re.compile(
    "\x1b\\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u2069\ufeff\ufffd\ud800-\udfff]"
)
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|rm|fbox)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_TAG = re.compile(r"<(?:final_)?answer>(.{0,2000}?)</(?:final_)?answer>", _FLAGS | re.DOTALL)
_SAID = r"(?:\s*\bis\b\s*:?|\s*[:=]|\s*(?:->|→)|\s+[-–—](?=\s)|(?=\s*\())"
_ANSWER = re.compile(
    r"\b(?:final_)?answer\b[\"']?"
    r"(?:\s+(?:here|choice|option|letter|to\s+(?:the|this)\s+question)\b)?" + _SAID,
    _FLAGS,
)
_ANSWER_LINE = re.compile(
    r"^[^\w\n]*(?:final\s+)?answer\s{1,8}(?=\W{0,20}[A-Z][^\w\n]*$)", _FLAGS | re.MULTILINE
)
_SOFT = (
    re.compile(r"\banswer\s+(?:would|should|must)\s+be\b\s*:?", _FLAGS),
    re.compile(
        r"\b(?:best|correct|right|safest|final|appropriate|my)\s+"
        r"(?:choice|option|action|decision|selection|response)(?:\s+here)?"
        r"(?:\s+(?:is|would\s+be|should\s+be)\b\s*:?|\s*[:=])",
        _FLAGS,
    ),
    re.compile(
        r"\b(?:I|we)(?:\s+would|\s+will|'d|'ll)?\s+(?:choose|pick|select|go\s+(?:with|for))\b",
        _FLAGS,
    ),
    re.compile(
        r"\b(?=\(?[A-Z]\)?\s+is\s+(?:the\s+)?(?:correct|right|best|safest)"
        r"(?:\s+(?:answer|option|choice|action|one))?\s*(?:[.!,;]|$))",
        re.MULTILINE,
    ),
)
_BLANK = re.compile(r"\s*")
_QUOTES = re.compile(r"[\"' \t]*\s*")
_FILLER = re.compile(
    r"^(?:[\s\"'“”‘’(\[{<>:=\-–—•.,]+"
    r"|(?:most\s+likely|therefore|clearly|definitely|probably|simply|to|the|option|choice|letter"
    r"|action|answer|(?:I|we|you)\s+(?:would|should|must|will))\b(?=\W))",
    _FLAGS,
)
_ABSTAIN = re.compile(
    r"\b(?:none\s+of\s+(?:the\s+(?:above|options|these)|these|them)|neither|not\s+sure|unsure"
    r"|(?:do\s+not|don'?t|cannot|can\s*not|can'?t)\s+(?:know|tell|say|determine|answer|decide"
    r"|help|see|assist)|unable\s+to|no\s+(?:idea|answer)|unknown|n/a|impossible\s+to)\b",
    _FLAGS,
)
_NEGATED = re.compile(r"\b(?:not|never|neither|nor|cannot|no)\b|n't\b", _FLAGS)
_CLAUSE = re.compile(r"[.,;:!?\n]")
_JOINED = r"^\s*(?:[,;/&|+]|or\b|and\b|to\b|then\b|until\b)+(?:\s*(?:or|and|maybe|perhaps)\b)*\s*"
_REASON = re.compile(
    r"^\s*(?:$|[,;:.!()\[\]{}<>\"'“”’–—\-/&|+=]|(?:because|since|as|or|and)\b)", _FLAGS
)


@dataclass(frozen=True, slots=True)
class Declared:
    """What one declaration says.

    Attributes:
        kind: ``"option"`` one option; ``"abstain"``; ``"conflict"`` several options at once, or a
            letter with another option's name; ``"foreign"`` a letter that no option has or a
            negation; ``"nothing"`` no statement at all.
        option: The option's id.
    """

    kind: Kind
    option: str | None = None


NOTHING = Declared("nothing")


def plain(text: str) -> str:
    """Return `text` without Markdown and LaTeX marks, in compatibility form (NFKC).

    Terminal colours and characters that are not seen (zero-width, direction marks, NUL) go too.
    """
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    text = unwrap(text.replace("’", "'"))
    text = re.sub(r"\\[()\[\]]", "", text)
    text = re.sub(r"(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])", "", text)
    return re.sub(r"[*`$#~]+", "", text)


def unwrap(text: str) -> str:
    """Return `text` with LaTeX font commands replaced by what they set."""
    for _ in range(3):
        text = _LATEX.sub(r"\1", text)
    return text


def words(text: str) -> str:
    """Return the lower-case words of `text`, joined by single spaces."""
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower()))


def option_names(question: Question) -> dict[str, str]:
    """Return name → option id: full text, title and id of every option, longest first.

    The title is the option's text up to its first punctuation or bracket: "Slow down" of
    "Slow down: brake at half intensity". Names that two options share are left out.
    """
    owners: dict[str, set[str]] = {}
    for option in question.options:
        title = re.split(r"\s*[:;,.(\[]|\s+[-–—]\s", option.text, maxsplit=1)[0]
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
        self._read: dict[str, Declared] = {}

    def payload(self, text: str) -> Declared:
        """Read what follows "ANSWER:"."""
        if text not in self._read:
            self._read[text] = self._payload(text[:LONGEST_PAYLOAD].strip())
        return self._read[text]

    def _payload(self, text: str) -> Declared:
        if text[:1] in {'"', "'"} and text[1:].find(text[0]) > 0:
            text = text[1 : 1 + text[1:].find(text[0])]
        if words(text) in self.names:
            return Declared("option", self.names[words(text)])
        previous = None
        while previous != text:
            previous, text = text, _FILLER.sub("", text).lstrip()
        if _ABSTAIN.match(text) and words(text) not in self.names:
            return Declared("abstain")  # "no idea" is no "no"
        return self._letter(text) or self._name(text) or self._no_option(text)

    def line(self, text: str) -> Declared:
        """Read a line that is nothing but a letter, an option, or both."""
        bare = text.strip(" \t-•>\"'“”()[]{}.,:;!")
        if words(bare) in self.names:
            return Declared("option", self.names[words(bare)])
        if re.fullmatch(r"(?:(?:option|choice)\s+)?[A-Za-z]", bare, _FLAGS):
            found = self._letter(bare[-1])
            return found if found is not None and found.kind == "option" else NOTHING
        match = re.match(r"[\s\-•>(\[]*([A-Za-z])[)\].:]+\s*(.+)$", text)
        option = self.question.by_letter(match[1]) if match else None
        if match is None or option is None:
            return NOTHING
        named = self._leading_name(match[2])
        if named is None or named[0] != option.id or not _REASON.match(named[1]):
            return NOTHING
        return Declared("option", option.id)

    def _letter(self, text: str) -> Declared | None:
        match = re.match(r"([A-Za-z])(?![A-Za-z0-9_'])", text)
        if match is None:
            return None
        letter, rest = match[1], text[1:]
        option = self.question.by_letter(letter)
        named = self._leading_name(rest.lstrip(" )].:;,-–—(\"'"))
        own = option is not None and named is not None and named[0] == option.id
        # "a hard one", "A car is near": an article, not the option A; "I think": a pronoun.
        if not own and not _REASON.match(rest) and (letter in "aAI" or letter.islower()):
            return None
        if option is None:
            return None if letter.upper() == "X" else Declared("foreign")
        if named is not None and not own:
            return Declared("conflict")
        run_on = re.match(r"\.([A-Za-z])(?![A-Za-z0-9_'])", rest)
        if run_on and self.question.by_letter(run_on[1]) not in (None, option):
            return Declared("conflict")  # "A.B"
        joined = re.match(_JOINED + r"(?:option\s+)?[(\[\"']*([A-Z])(?![A-Za-z0-9_'])", rest)
        other = self.question.by_letter(joined[1]) if joined else None
        if joined and other is not None and other.id != option.id:
            after = rest[joined.end() :]
            if letter.isupper() and (joined[1] not in "AI" or _REASON.match(after)):
                return Declared("conflict")
        return Declared("option", option.id)

    def _name(self, text: str) -> Declared | None:
        named = self._leading_name(text)
        if named is None:
            return None
        joined = re.match(_JOINED, named[1], _FLAGS)
        if joined:
            other = self._leading_name(named[1][joined.end() :])
            if other is not None and other[0] != named[0]:
                return Declared("conflict")
        return Declared("option", named[0])

    def _no_option(self, text: str) -> Declared:
        if _ABSTAIN.search(text):
            return Declared("abstain")
        if re.match(r"(?:not|never|isn't)\b", text, _FLAGS):
            return Declared("foreign")
        return NOTHING

    def _leading_name(self, text: str) -> tuple[str, str] | None:
        """Return (option id, text after its name) when `text` starts with an option's name."""
        for name, option in self.names.items():
            pattern = r"\W*?" + r"[\W_]+".join(map(re.escape, name.split())) + r"(?![^\W_])"
            match = re.match(pattern, text, _FLAGS)
            if match:
                return option, text[match.end() :]
        return None


def explicit(text: str, reader: Reader) -> Iterator[Declared]:
    """Yield what the reply declares as its answer: ``ANSWER: X``, JSON, a tag, a box."""
    text = unwrap(text)
    for pattern in (_BOXED, _TAG):
        for match in pattern.finditer(text):
            yield reader.payload(plain(match[1]))
    bare = plain(_TAG.sub(r"\1", _BOXED.sub(r"\1", text)))
    for pattern in (_ANSWER, _ANSWER_LINE):
        for match in pattern.finditer(bare):
            if not _negated(bare, match.start()):
                yield reader.payload(_rest(bare, match.end()))


def soft(text: str, reader: Reader) -> Iterator[Declared]:
    """Yield what the reply calls its choice in prose: "the best action is to slow down"."""
    bare = plain(text)
    for pattern in _SOFT:
        for match in pattern.finditer(bare):
            if not _negated(bare, match.start()):
                yield reader.payload(_rest(bare, match.end()))


def _negated(text: str, start: int) -> bool:
    """Whether the clause before `start` negates: "I do not think that the answer is B"."""
    clause = _CLAUSE.split(text[max(0, start - 200) : start])[-1]
    return _NEGATED.search(clause) is not None


def standing_alone(text: str, reader: Reader) -> Iterator[Declared]:
    """Yield the options that stand alone on a line, when the first or last line is one."""
    found = [reader.line(line) for line in plain(text).splitlines() if line.strip()]
    if found and (found[0].kind == "option" or found[-1].kind == "option"):
        yield from (item for item in found if item.kind == "option")


def is_abstention(text: str) -> bool:
    """Whether the reply says that it cannot or will not choose."""
    return bool(_ABSTAIN.search(plain(text)))


def _rest(text: str, start: int) -> str:
    """Return the rest of the line from `start`, or the next line when that is empty."""
    begin = _BLANK.match(text, start)
    first = start if begin is None else begin.end()
    if text[first : first + 1] not in {'"', "'"}:
        quotes = _QUOTES.match(text, start)
        first = start if quotes is None else quotes.end()
    end = text.find("\n", first, first + LONGEST_PAYLOAD)
    return text[first : first + LONGEST_PAYLOAD if end < 0 else end]
