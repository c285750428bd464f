"""JSON objects and lists inside other text: fenced, with prose around, several, broken ones."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ..replies import printable

BROKEN = object()
"""Stands in a decoded value for what strict JSON lacks: NaN, 1e999, a key said twice."""

_START = re.compile(r"\{(?=\s{0,99}[\"}])|\[(?=\s{0,99}[\[{\"\]0-9tfn-])")
_TRAILING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|,(?=\s{0,99}[}\]])")

LONGEST_OBJECT = 50_000
"""Characters of an object or list beyond which it is not looked at."""


def embedded(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield (value, start, end) of each outermost JSON object or list in `text`.

    A comma before a closing bracket is forgiven, as it has one meaning; nothing else is. The work
    on broken ones is bounded by the length of `text`: hostile text ends the search early.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_object,
        parse_constant=lambda _: BROKEN,
        parse_int=_int,
        parse_float=_float,
    )
    position, work = 0, 4 * len(text) + 100_000
    while work > 0:
        match = _START.search(text, position)
        if match is None:
            return
        start = match.start()
        piece = text[start : start + LONGEST_OBJECT]
        value, length = None, 0
        try:
            value, length = decoder.raw_decode(piece)
        except json.JSONDecodeError as error:
            work -= error.pos + 200
            around = piece[max(0, error.pos - 100) : error.pos + 100]
            if re.search(r",\s{0,99}[}\]]", around):
                work -= len(piece)
                with suppress(ValueError, RecursionError):
                    value, length = decoder.raw_decode(_TRAILING.sub(_blank, piece))
        except (ValueError, RecursionError):
            work -= 20_000
        end = start + length
        if end > start:
            yield value, start, end
        position = max(end, start + 1)


def is_sound(value: Any) -> bool:
    """Whether a decoded value is strict JSON through and through."""
    stack = [value]
    while stack:
        item = stack.pop()
        if item is BROKEN:
            return False
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return True


def _blank(match: re.Match[str]) -> str:
    return " " if match[0] == "," else match[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        name = printable(key)
        said = printable(value) if isinstance(value, str) else value
        out[name] = said if name not in out or _same(out[name], said) else BROKEN
    return out


def _same(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except RecursionError:
        return False


def _int(digits: str) -> Any:
    return int(digits) if len(digits) <= 300 else BROKEN


def _float(digits: str) -> Any:
    value = float(digits)
    return value if math.isfinite(value) else BROKEN
