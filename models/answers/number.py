r"""A number: ``ANSWER: 1,250 m``, ``\boxed{\frac{1}{2}}``, "ANSWER: three".

What is read (ours): signs, ``1,000`` and LaTeX groups of thousands, decimal points, ``1.5e-3``,
``1.5 × 10^6``, fractions (``3/4``, ``1 1/2``, ``½``, ``\frac{3}{4}``), words from zero to twenty,
*million* and its like, the right side of an equation, "about 5". The value of ``42 %`` is 42, its
unit ``"%"``. What is no number: a decimal comma (``1,5`` may be a list), a range, a bound ("more
than 5"), an ordinal, a time or date, ``5k``, an expression without its result, *none*.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .cues import LONGEST_PAYLOAD, explicit, soft
from .marks import gentle
from .weighing import ABSTENTION, Declared, Parsed, Said, weigh

_FLAGS = re.IGNORECASE
_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen twenty"
)
_WORDS = {word: value for value, word in enumerate(_COUNTED.split())}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NUMBER = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?![0-9])|\.[0-9]+(?![0-9])"  # 1,000.5 · .5
)
_VALUE = re.compile(
    r"(?P<sign>[-+]|(?:minus|negative)\s+)?(?:"
    rf"(?P<whole>[0-9]{{1,9}})\s+(?P<top>[0-9]{{1,9}})\s*[/⁄]\s*(?P<bottom>[0-9]{{1,9}})"
    rf"|(?P<over>{_NUMBER})\s*[/⁄]\s*(?P<under>[0-9]+)(?!\s*[/⁄.])"
    rf"|(?P<base>{_NUMBER})(?:[eE](?P<exponent>[-+]?[0-9]{{1,4}})"
    r"|\s*[x×]\s*10\s*\^\s*\{?(?P<power>[-+]?[0-9]{1,4})\}?)?"
    rf"|(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b(?!\s+of\b|-)"
    r")",
    _FLAGS,
)
_SCALE = re.compile(rf"\s*(?P<scale>{'|'.join(_SCALES)})\b", _FLAGS)
_UNIT = re.compile(
    r"\s?(?P<unit>%|percent\b|per\s+cent\b|°\s?[CF]?|[€£$]|[^\W\d_]+(?:[/·^][\w²³]+)*[²³]?)", _FLAGS
)
_OTHER_WORDS = (
    "because since as and or but in on at of to with if for from plus minus times over is are was"
    " were not point half dozen hundred thousand million billion ago however that which where"
)
_NO_UNIT = frozenset(_OTHER_WORDS.split())
_NOT_AFTER = re.compile(
    r"\w|'[0-9]|\s*[+*/×÷^=<>:⁄]|\\[A-Za-z]|[.,][0-9]|\s*[-–—~]\s*[0-9]|\s*-[a-z]"
    r"|\s+(?:to|or|and|plus|minus|times|through|if|unless|x)\s"
    r"|\s+[0-9]|\s*\?+\s*\w|\s+(?:point|half|dozen|out\s+of)\b"
    rf"|\s+(?:{'|'.join(_WORDS)})\b|\s*(?:is|was)?\s+(?:not\b|wrong\b|incorrect\b)",
    _FLAGS,
)
_ABBREVIATED = re.compile(r"\s?(?:[kKMBXDx]|[bm]n|mio|st|nd|rd|th)(?![\w/])")
_ALSO = re.compile(r"[\s\"')\](\[]*[,;|&][\s\"'(\[]*(?:or\b|and\b)?\s*(?=[-+]?[0-9])", _FLAGS)
_FILLER = re.compile(
    r"^(?:(?:(?![-+.][0-9]|[-+]\.[0-9])[^\w!?¬≠✗✘❌✖🚫☒/<>])+"
    r"|(?:about|approximately|approx\.?|roughly|around|exactly|precisely|only|just|likely|probably"
    r"|clearly|simply|the|a\s+total\s+of|equal\s+to|there\s+(?:is|are)|I\s+(?:count|see)|it\s+is"
    r"|USD|EUR|answer(?:\s+is)?)(?=\W)"
    r"|[A-Za-z]{1,12}\s*=(?!=))",
    _FLAGS,
)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|no|correction|rather|sorry|make\s+that|I\s+mean)\b[\s,:;.!–—]*"
    r"(?:(?:it|that)(?:'s|\s+is)\s+)?",
    _FLAGS,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as declared.

    Attributes:
        value: Finite; the value of ``42 %`` is 42.
        unit: The word or sign after it, ``"%"`` for percent, ``""`` when there is none.
    """

    value: float
    unit: str = ""


def parse_number(text: str | None, finish_reason: str = "stop") -> Parsed[Number]:
    """Return the number that `text` declares, or that stands alone in it.

    Args:
        text: The model's reply.
        finish_reason: Why the reply ended; a cut reply without a declaration is ``truncated``.
    """
    levels = (
        lambda said: map(read_number, (item.text for item in explicit(said, _clean))),
        lambda said: map(read_number, (item.text for item in soft(said, _clean))),
    )
    return weigh(Said.of(text, finish_reason), levels, _alone, agreed=_agreed)


def read_number(text: str) -> Declared[Number]:
    """Read what follows "ANSWER:"."""
    text = text[:LONGEST_PAYLOAD].strip()
    previous = None
    while previous != text:
        previous, text = text, _FILLER.sub("", text).lstrip()
    if re.match(r"(?:not|never)\b", text, _FLAGS):
        return Declared("foreign")
    left, equals, right = text.partition("=")
    if equals and not re.match(r"[<>=!]", right) and left[-1:] not in tuple("<>!"):
        return read_number(text.rsplit("=", 1)[1])
    found = _value(text)
    if found is None:
        if re.match(
            _VALUE.pattern + r"\s*(?:[-–—~/|&]|(?:to|or|and)\b)\s*[-+]?[0-9]", text, _FLAGS
        ):
            return Declared("conflict")  # "5 or 6", "5-6"
        return Declared("abstain" if ABSTENTION.search(text) else "nothing")
    number, rest = found
    also = _ALSO.match(rest)
    second = _value(rest[also.end() :]) if also else None
    if second is not None and second[0].value != number.value:
        return Declared("conflict")
    spelled = re.match(r"\s*\(([^()]{1,40})\)", rest)
    again = _value(spelled[1].strip()) if spelled else None
    if again is not None and not again[1].strip() and again[0].value != number.value:
        return Declared("conflict")  # "five (6)"
    for match in _CORRECTION.finditer(rest[:200]):
        other = _value(rest[match.end() :])
        if other is not None and other[0].value != number.value:
            return Declared("conflict")
    return Declared("value", number)


def _value(text: str) -> tuple[Number, str] | None:
    """Return (number at the start of `text`, what follows its unit)."""
    match = _VALUE.match(text)
    value = None if match is None else _computed(match)
    if match is None or value is None:
        return None
    end = match.end()
    scale = _SCALE.match(text, end)
    if scale is not None:
        value, end = value * _SCALES[scale["scale"].lower()], scale.end()
    unit = _UNIT.match(text, end)
    named = ""
    if _ABBREVIATED.match(text, end):
        return None
    if unit is not None and unit["unit"].lower() not in _NO_UNIT:
        named, end = unit["unit"], unit.end()
        named = "%" if named.lower().startswith("per") and "/" not in named else named
    rest = text[end:]
    if _NOT_AFTER.match(rest) or not math.isfinite(value):
        return None
    return Number(value, named), rest


def _computed(match: re.Match[str]) -> float | None:
    def number(digits: str) -> float:
        return float(digits.replace(",", ""))

    if match["word"]:
        value = float(_WORDS[match["word"].lower()])
    elif match["whole"]:
        if int(match["bottom"]) == 0:
            return None
        value = int(match["whole"]) + int(match["top"]) / int(match["bottom"])
    elif match["over"]:
        under = number(match["under"])
        if under == 0:
            return None
        value = number(match["over"]) / under
    else:
        exponent = match["exponent"] or match["power"] or "0"
        value = float(f"{match['base'].replace(',', '')}e{exponent}")
    negative = (match["sign"] or "").strip().lower() in {"-", "minus", "negative"}
    return -value if negative else value


def _clean(text: str) -> str:
    """Return `text` in plain signs; what compatibility form would join to a number stays apart."""
    text = re.sub(
        r"(?<=[0-9])[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,6}", lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text
    )
    text = re.sub(r"(?<=[0-9])(?=[¼½¾⅐-⅞])", " ", text)
    text = re.sub(r"(?<=[0-9])(?:\{,\}|\\,|[\u00a0\u2009\u202f])(?=[0-9]{3}(?![0-9]))", ",", text)
    text = re.sub(
        r"\\[dt]?frac\s{0,9}\{([0-9.,]{1,30})\}\s{0,9}\{([0-9.,]{1,30})\}", r"\1/\2", text
    )
    text = re.sub(r"(?<=[0-9])\s{0,9}(?:\\times|\\cdot|[*·])\s{0,9}(?=[0-9])", "×", text)
    text = text.replace("\\%", "%").replace("\\$", "$").replace("\\approx", "").replace("\\sim", "")
    text = re.sub(r"[–‒﹣](?=[0-9.])", "−", text)
    return gentle(text)


def _alone(text: str) -> Iterator[Declared[Number]]:
    """Yield numbers alone on a line, when the first or last line is one."""
    lines = [line for line in _clean(text).splitlines() if line.strip()]
    found = [_line(line) for line in lines]
    if found and (found[0].kind == "value" or found[-1].kind == "value"):
        yield from (item for item in found if item.kind == "value")


def _line(line: str) -> Declared[Number]:
    text = line.strip(" \t\"'“”()[]{}<>#_,;!")
    if len(text) > 60 or re.match(r"[0-9]{1,3}[.)]$", line.strip()):
        return Declared("nothing")  # "3." is a number of a list
    found = _value(text.rstrip("."))
    if found is None or found[1].strip(" .!\"')]}"):
        return Declared("nothing")
    return Declared("value", found[0])


def _agreed(values: Sequence[Number]) -> Number | None:
    """Return the number when all values are equal and no two units differ."""
    units = {value.unit.lower() for value in values if value.unit}
    if len(units) > 1 or len({value.value for value in values}) > 1:
        return None
    return next((value for value in values if value.unit), values[0])
