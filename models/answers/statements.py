"""True or false, statement by statement: "1. True", "S3: false", JSON, a table's rows.

The list may stand in one reply with the answer to another question (``ANSWER: B``): lines that
declare an answer mark no statement, unless every statement is marked that way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...core import Outcome
from .embedded_json import embedded
from .marks import plain
from .weighing import Parsed, Said

_FLAGS = re.IGNORECASE
_TRUE = frozenset({"true", "t", "yes", "y", "correct", *"✓✔✅☑"})
_WORDS = r"(?:true|false|yes|no|correct|incorrect)(?!\w|'\w)|[✓✔✅☑✗✘❌✖☒]"
_LETTERS = r"[TtFfYyNn](?!\w|'\w)"
_MARK = (
    rf"(?:{_WORDS})(?!\s*/)(?=\s*(?:$|[^\w\s?]|(?:because|since|as)\b|[0-9]|answer\b))"
    rf"|{_LETTERS}(?=\s*(?:$|[,;|:()\]}}\"]|\.(?:\s|$)|\s[-–—]|\s[0-9]|\s+answer\b))"
)
_NUMBER = (
    r"(?:(?:statement|claim|question|item|nr|no|s|q)\.?\s{0,3}[#_\-]?\s{0,3}){0,2}"
    r"(?P<number>[0-9]{1,3})(?![0-9A-Za-z]|[.,:][0-9])"
)
_STOP = r"\s{0,9}(?:[)\].:|,;\-–—=>→\"'}(]{1,9}\s{0,9}|is\b\s{0,9}){1,4}"
_LABEL = re.compile(rf"[^\w✓✔✅☑✗✘❌✖☒]{{0,20}}{_NUMBER}(?:{_STOP}|\s{{1,9}}(?={_MARK}))", _FLAGS)
_PAIR = re.compile(
    rf"[\s,;.|/(\[\"'{{]{{0,20}}{_NUMBER}(?:{_STOP}|\s{{1,9}})(?P<mark>{_MARK})"
    r"[)\]\"']{0,3}(?:\s{0,9}\([^()]{0,200}\))?",
    _FLAGS,
)
_MEMBER = _NUMBER.replace("?P<number>", "?:")
_GROUP = (
    rf"{_MEMBER}(?:[)\].]{{0,2}}\s{{0,9}}(?:[-–—‐‑−,;&/+]|\.{{2,3}}|(?:and|or|to|through|thru|until)\b)"
    rf"\s{{0,9}}(?:(?:and|or)\s{{1,9}})?[(\[]?{_MEMBER}){{1,99}}+"
)
_GROUP_PAIR = re.compile(
    rf"[\s,;.|/(\[\"'{{]{{0,20}}{_GROUP}(?:{_STOP}|\s{{1,9}})(?:{_MARK})"
    r"[)\]\"']{0,3}(?:\s{0,9}\([^()]{0,200}\))?",
    _FLAGS,
)
_GROUP_LABEL = re.compile(
    rf"[^\w✓✔✅☑✗✘❌✖☒]{{0,20}}{_GROUP}\s{{0,9}}(?:[)\].:|=>→]|$|(?:is|are)\b)", _FLAGS
)
_PREFIX = re.compile(r"[^:\n0-9]{0,60}:\s{0,9}(?=\W{0,9}[sq]?[0-9])", _FLAGS)
_IT_IS = (
    r"(?:(?:this|it|that|the)(?:\s(?:statement|claim))?\s{1,3}is\s{1,3}|answer\s{0,3}[:=]\s{0,3})?"
)
_BEGIN = re.compile(rf"[\s|:>\-–—→=\"'(\[]{{0,20}}{_IT_IS}(?P<mark>{_MARK})", _FLAGS)
_END = re.compile(
    rf"(?:[:|.!?;,>\-–—→=(\[\"]\s{{0,9}}[\"'(\[]{{0,3}})(?:(?:so|thus|therefore|hence|actually|rather|really|but|no|wait)[,:]?\s{{1,3}}){{0,3}}{_IT_IS}"
    rf"(?P<mark>(?:{_WORDS}|{_LETTERS}))[\s)\]\"'.!|;,}}]{{0,20}}$",
    _FLAGS,
)
_NEXT = re.compile(
    rf"[^\w✓✔✅☑✗✘❌✖☒]{{0,20}}(?P<cue>(?:final\s)?(?:answer|verdict|mark|judge?ment|response|label)"
    rf"\s{{0,3}}(?:[:=]|is\b)\s{{0,3}})?[\"'(\[]{{0,3}}(?P<mark>{_MARK})",
    _FLAGS,
)
_BARE = re.compile(rf"(?P<mark>{_WORDS}|{_LETTERS})[\s,;.|]{{0,9}}", _FLAGS)
_KEY = re.compile(
    r"\s*(?:(?:statement|claim|question|item|s|q)[\s_#\-]{0,3}){0,2}([0-9]{1,3})\s*", _FLAGS
)
_NUMBER_KEYS = ("id", "number", "statement", "index", "no", "n", "statement_id", "item")
_MARK_KEYS = ("answer", "value", "verdict", "label", "mark", "truth", "is_true", "true", "result",
              "response", "judgment", "judgement", "correct")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParsedStatements:
    """How a reply marks numbered statements.

    Attributes:
        marks: True, False or None, one a statement, the first first.
        contradicted: Numbers (from 1) of statements marked both ways; their mark is None.
        outcome: ``unparsed`` or ``truncated`` when no statement is marked, else None.
        note: Why marks are missing.
    """

    marks: tuple[bool | None, ...]
    contradicted: tuple[int, ...] = ()
    outcome: Outcome | None = None
    note: str = ""

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers (from 1) of the statements without a mark, contradicted ones included."""
        return tuple(i for i, mark in enumerate(self.marks, 1) if mark is None)


def parse_statements(text: str | None, n: int, finish_reason: str = "stop") -> ParsedStatements:
    """Return how `text` marks statements 1 to `n`.

    A mark is true, false, yes, no, T, F, Y, N, correct, incorrect or a tick or cross, right after
    the statement's number or at the end of its line. Words inside a statement mark nothing, nor
    does "not true", nor a mark of several statements at once ("1-2: true"). Marks without
    numbers count only when there are exactly `n` of them, alone on their lines or in one line or
    JSON list; numbers from 0 are not ours and mark nothing. Ours.

    Args:
        text: The model's reply.
        n: Number of statements asked.
        finish_reason: Why the reply ended; the unfinished last line of a cut reply is not read.
    """
    said = Said.of(text, finish_reason)
    nothing = (None,) * n
    if said.runaway:
        return ParsedStatements(nothing, outcome=Outcome.UNPARSED, note=said.runaway)
    body = said.text
    if said.cut and not (text or "").endswith("\n"):
        body = body[: body.rfind("\n") + 1]
    marked = [*_from_json(said.text, n), *_from_lines(_without_json(body))]
    if not marked:
        marked = list(_positional(_without_json(body), n))
    if any(number == 0 for number, _ in marked):
        note = "the statements are numbered from 0"
        return ParsedStatements(nothing, outcome=Outcome.UNPARSED, note=note)
    seen: dict[int, set[bool]] = {}
    for number, mark in marked:
        seen.setdefault(number, set()).add(mark)
    marks = [seen.get(i, set()) for i in range(1, n + 1)]
    if not any(marks):
        silent: Parsed[bool] = said.silence("no statement is marked", "a mark")
        return ParsedStatements(nothing, outcome=silent.outcome, note=silent.note)
    contradicted = tuple(i for i, found in enumerate(marks, 1) if len(found) == 2)
    values = tuple(next(iter(found)) if len(found) == 1 else None for found in marks)
    notes = [
        f"{what}: statements {', '.join(map(str, numbers))}"
        for what, numbers in (
            ("not marked", [i for i, found in enumerate(marks, 1) if not found]),
            ("marked both ways", contradicted),
        )
        if numbers
    ]
    return ParsedStatements(values, contradicted, note="; ".join(notes))


def _is_true(mark: str) -> bool:
    return mark.lower() in _TRUE


def _from_lines(text: str) -> Iterator[tuple[int, bool]]:
    # "1~3" is a range; as a mark of deletion the tilde would go, and leave "13".
    text = re.sub(r"(?<=[0-9])\s{0,9}[~～〜]\s{0,9}(?=s?[0-9])", "-", text, flags=_FLAGS)
    lines = [line for line in plain(text).splitlines() if line.strip()]
    waiting: list[tuple[int, re.Match[str]]] = []  # marks that stand on the next line
    labels = 0
    for index, line in enumerate(lines):
        prefix = _PREFIX.match(line)
        pairs, grouped = _pairs(line, 0)
        if prefix and not pairs and not grouped:
            pairs, grouped = _pairs(line, prefix.end())
        label = _LABEL.match(line)
        if grouped or len(pairs) > 1 or (pairs and label is None):
            yield from pairs
        elif _GROUP_LABEL.match(line):
            labels += 1
        elif label is not None:
            labels += 1
            ends = _BEGIN.match(line, label.end()), _END.search(line[label.end() :][-120:])
            marks = {_is_true(match["mark"]) for match in ends if match}
            yield from ((int(label["number"]), mark) for mark in sorted(marks))
            follows = lines[index + 1] if index + 1 < len(lines) and not marks else ""
            match = None if _LABEL.match(follows) else _NEXT.match(follows)
            if match:
                waiting.append((int(label["number"]), match))
    answers = [match for _, match in waiting if "answer" in (match["cue"] or "").lower()]
    for number, match in waiting:
        # "ANSWER: no" after the last of several statements answers another question.
        if match not in answers or (len(answers) == labels > 1):
            yield number, _is_true(match["mark"])


def _pairs(line: str, position: int) -> tuple[list[tuple[int, bool]], bool]:
    """Return what a line of nothing but numbers and marks says: "1. True, 2. False".

    The second value says whether a mark of several numbers at once ("3-4: True") was passed over.
    """
    pairs: list[tuple[int, bool]] = []
    grouped = False
    while True:
        if match := _PAIR.match(line, position):
            pairs.append((int(match["number"]), _is_true(match["mark"])))
        elif match := _GROUP_PAIR.match(line, position):
            grouped = True
        else:
            return pairs, grouped
        position = match.end()


def _positional(text: str, n: int) -> Iterator[tuple[int, bool]]:
    alone: list[bool] = []
    rows: list[list[bool]] = []
    for line in plain(text).splitlines():
        row, position = [], len(line) - len(line.lstrip(" \t-•(["))
        while match := _BARE.match(line, position):
            row.append(_is_true(match["mark"]))
            position = match.end()
        if row and not line[position:].strip(" )]"):
            rows.append(row)
            alone += row if len(row) == 1 else []
    whole = [row for row in rows if len(row) == n]
    if len(alone) == n and len(alone) == sum(map(len, rows)):
        yield from enumerate(alone, 1)
    elif n > 1 and len(whole) == len(rows) == 1:
        yield from enumerate(whole[0], 1)


def _from_json(text: str, n: int) -> Iterator[tuple[int, bool]]:
    stack = [value for value, _, _ in embedded(text)]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            marks = [_json_mark(item) for item in value]
            if len(marks) == n and None not in marks:
                yield from ((i, mark) for i, mark in enumerate(marks, 1) if mark is not None)
            stack += [item for item in value if isinstance(item, dict | list)]
        elif isinstance(value, dict):
            numbers = [_json_number(value[key]) for key in _NUMBER_KEYS if key in value]
            marks = [_json_mark(value[key]) for key in _MARK_KEYS if key in value]
            number = next((item for item in numbers if item is not None), None)
            if number is not None:
                yield from ((number, mark) for mark in marks if mark is not None)
            for key, item in value.items():
                keyed, mark = _KEY.fullmatch(key), _json_mark(item)
                if keyed and isinstance(item, dict):
                    for name in _MARK_KEYS:
                        inner = _json_mark(item.get(name))
                        if inner is not None:
                            yield int(keyed[1]), inner
                elif keyed and mark is not None:
                    yield int(keyed[1]), mark
                elif isinstance(item, dict | list):
                    stack.append(item)


def _json_mark(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    match = _BARE.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 30 else None
    return _is_true(match["mark"]) if match else None


def _json_number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < 1000 else None
    match = _KEY.fullmatch(value) if isinstance(value, str) and len(value) < 30 else None
    return int(match[1]) if match else None


def _without_json(text: str) -> str:
    parts, position = [], 0
    for value, start, end in embedded(text):
        if isinstance(value, list) and len(value) < 2:
            continue  # "[1] True" is a numbered line
        parts.append(text[position:start])
        position = end
    return "\n".join([*parts, text[position:]])
