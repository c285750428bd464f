"""A short text: the declared word or phrase, trimmed of decoration; never prose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from .cues import LONGEST_PAYLOAD, Payload, explicit, soft
from .marks import gentle, words
from .weighing import ABSTENTION, Declared, Parsed, Said, weigh

_FLAGS = re.IGNORECASE
_QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'(?!\w)")
_AFTER_QUOTE = re.compile(r"\s*(?:$|[^\w\s])|\s+(?:because|since|as)\b", _FLAGS)
_UNCERTAIN = re.compile(r"\w[\"')]*\s*\?+\s*\w|\s(?:if|unless)\s", _FLAGS)
_OR = re.compile(r"[\s)\]]*(?:/|\bor\b)", _FLAGS)
_REASON = re.compile(
    r"[,;]?\s*[(–—-]?\s*\bbecause\b|[,;]\s*(?:since|as|so|which|but|although)\b", _FLAGS
)
_SENTENCE = re.compile(r"(?<!\S)(\S+?)[.!?](?=[\"')\]]*(?:\s+[A-Z\"'(]|\s*$))")
_ABBREVIATION = re.compile(
    r"(?:.*\.)?(?:[A-Za-z]|st|mt|dr|mr|mrs|ms|prof|no|vs|jr|sr|inc|ltd|co|ft|lt|sgt|gen|capt|ave)",
    _FLAGS,
)
_PLACEHOLDER = re.compile(
    r"X|<[^<>]*>|\[[^\[\]]*\]|(?:your|the)\s+(?:\w+\s+)?answer(?:\s+here)?|\.{2,}|…|_+|answer",
    _FLAGS,
)
_ASIDE = re.compile(
    r"(?:not|never|clear|unclear|obvious|simple|easy|hard|difficult|ambiguous|as|given|shown|found"
    r"|below|above|based|that|this|in|on|at|to|therefore|thus|because|since|if|when|what|which"
    r"|very|quite|likely|probably|possibly|maybe|either|neither|one|wrong|right|correct"
    r"|incorrect|also|still|always|usually|often|more|most|less|too)\b",
    _FLAGS,
)
_SENTENCE_WORDS = (
    "i you he she we they it there this that these those is are was were am be been can could would"
    " should may might will shall must do does did has have had see seems appears looks think"
    " hmm hm um uh well ok okay sure yeah maybe perhaps however because"
)
_PROSE = frozenset(_SENTENCE_WORDS.split())
_EDGES = " \t\"'“”*_:;,!?…«»|"
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("“", "”"), ("‘", "’"))


def parse_short_text(
    text: str | None,
    finish_reason: str = "stop",
    *,
    longest: int = 8,
    bare: int = 0,
) -> Parsed[str]:
    """Return the word or phrase that `text` declares, in its own case and spelling.

    ``ANSWER: X``, JSON, a tag or a box beats "the answer is X". Quotes, brackets, the final stop
    and a reason ("red, because ...") are trimmed; articles stay. Two declared texts contradict
    each other unless they differ in case, punctuation or an article alone. Ours.

    Args:
        text: The model's reply.
        finish_reason: Why the reply ended; a cut reply without a declaration is ``truncated``.
        longest: Words beyond which a declared text is prose.
        bare: Words up to which a reply of one line with no declaration at all is the answer, as
            long as it holds no verb or pronoun; 0 for questions that ask for a declaration.
    """

    def marked(said: str) -> Iterator[Declared[str]]:
        for item in explicit(said, gentle):
            if item.by != "is":
                yield read_short_text(item.text, longest)

    def mentioned(said: str) -> Iterator[Declared[str]]:
        items: list[Payload] = [item for item in explicit(said, gentle) if item.by == "is"]
        for item in items or soft(said, gentle):
            aside = _ASIDE.match(item.text.lstrip(" \"'(:"))
            found = read_short_text(item.text, min(longest, 5))
            yield Declared("nothing") if aside or found.kind == "prose" else found

    def alone(said: str) -> Iterator[Declared[str]]:
        lines = [line for line in gentle(said).splitlines() if line.strip()]
        if bare and len(lines) == 1 and len(lines[0]) <= LONGEST_PAYLOAD:
            found = read_short_text(lines[0], bare)
            said_words = words(found.value or "").split()
            if found.kind == "value" and not _PROSE.intersection(said_words):
                yield found

    levels: tuple[Callable[[str], Iterator[Declared[str]]], ...] = (marked, mentioned)
    return weigh(Said.of(text, finish_reason), levels, alone, agreed=_agreed)


def read_short_text(text: str, longest: int) -> Declared[str]:
    """Read what follows "ANSWER:"."""
    text = " ".join(text[:400].split()).lstrip("•→- :=" if text[1:2] == " " else ":=")
    text = text.strip()
    if re.match(r"[\"']?\?|null\b", text) or _UNCERTAIN.search(text):
        return Declared("nothing")
    quoted = _QUOTED.match(text)
    if quoted and _AFTER_QUOTE.match(text, quoted.end()):
        after = text[quoted.end() :]
        if _OR.match(after):
            return Declared("conflict")
        text = _unescaped(quoted)
    else:
        text = _REASON.split(text, maxsplit=1)[0]
        text = text.partition("}")[0] if text.count("{") < text.count("}") else text
    text = _trimmed(re.sub(r"\s+[.!?]+$", "", _first_sentence(_trimmed(text))))
    if not words(text) or _PLACEHOLDER.fullmatch(text):
        return Declared("nothing")
    if ABSTENTION.search(text) and words(text) != "neither":
        return Declared("abstain")
    if re.match(r"not\b", text, _FLAGS):
        return Declared("foreign")
    if re.search(r"\bor\b", text, _FLAGS):
        return Declared("conflict")
    if len(text.split()) > longest or len(text) > 200:
        return Declared("prose")
    return Declared("value", text)


def _unescaped(quoted: re.Match[str]) -> str:
    if quoted[1] is not None and "\\" in quoted[1]:
        try:
            return str(json.loads(quoted[0])).encode("utf-8", "replace").decode()
        except ValueError:
            return quoted[1]
    return quoted[1] if quoted[1] is not None else quoted[2]


def _first_sentence(text: str) -> str:
    for match in _SENTENCE.finditer(text):
        if not _ABBREVIATION.fullmatch(match[1]):
            return text[: match.end(1)]
    return text


def _trimmed(text: str) -> str:
    """Return `text` without marks and enclosing brackets at its ends."""
    previous = None
    while previous != text:
        previous, text = text, text.strip(_EDGES)
        if len(text.split()) == 1 and not _ABBREVIATION.fullmatch(text.rstrip(".")):
            text = text.rstrip(".")
        for left, right in _PAIRS:
            if text[:1] == left and text[-1:] == right and text.count(left) == 1:
                text = text[1:-1] if left != "<" else text
            elif text[-1:] == right and left not in text:
                text = text[:-1]
            elif text[:1] == left and right not in text:
                text = text[1:]
        if re.fullmatch(r"\([^()]*\)\.", text):
            text = text[:-1]
    return text


def _agreed(values: Sequence[str]) -> str | None:
    keys = {re.sub(r"^(?:a|an|the) ", "", words(value)) for value in values}
    return values[0] if len(keys) == 1 else None
