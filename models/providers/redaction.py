"""Strikes keys out of foreign texts: a service may echo the key that it was sent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

T = TypeVar("T")

STRUCK = "[key]"

SHORTEST = 6
"""Characters from which a key is one: shorter ones would strike out ordinary words."""

PART = 8
"""Characters of a key's beginning or end that are struck out, too."""

EDGE = 4
"""Characters of a key that are struck out where a text was cut, at its end or beginning."""

_MARKS = " \t\r\n.\u2026\"')]}>\\"
"""What stands behind a cut: an ellipsis, closing quotes and brackets."""


def redacted(value: T, secrets: Sequence[str]) -> T:
    """Return `value` (text, JSON values, a dataclass of them) with every secret struck out."""
    known = [form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)]
    result: T = _redacted(value, known) if known else value
    return result


def _forms(secret: str) -> list[str]:
    """Return a secret as it may be written: as it is, in a URL, in JSON within a text."""
    escaped = json.dumps(secret)[1:-1]
    forms = [secret, quote(secret, safe=""), quote_plus(secret), escaped]
    return list(dict.fromkeys([*forms, escaped.replace("/", "\\/")]))


def _redacted(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, STRUCK)
        for secret in secrets:
            value = _without_parts(value, secret)
        return value
    if isinstance(value, dict):
        return {_redacted(k, secrets): _redacted(v, secrets) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_redacted(item, secrets) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {
            part.name: _redacted(getattr(value, part.name), secrets)
            for part in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **parts)
    return value


def _without_parts(text: str, secret: str) -> str:
    """Strike beginnings and ends of a secret: services echo keys in part, and texts are cut."""
    if len(secret) > PART:
        while (start := text.find(secret[:PART])) >= 0:
            stop = start + PART
            while stop < len(text) and text[stop] == secret[stop - start : stop - start + 1]:
                stop += 1
            text = text[:start] + STRUCK + text[stop:]
        while (found := text.find(secret[-PART:])) >= 0:
            stop, start = found + PART, found
            while start > 0 and text[start - 1] == secret[-(stop - start) - 1 : -(stop - start)]:
                start -= 1
            text = text[:start] + STRUCK + text[stop:]
    return _without_edges(text, secret)


def _without_edges(text: str, secret: str) -> str:
    """Strike what is left of a secret where a text was cut."""
    for end in dict.fromkeys((len(text), len(text.rstrip(_MARKS)))):
        start = text.find(secret[:EDGE], max(0, end - len(secret) + 1), end)
        while start >= 0 and not secret.startswith(text[start:end]):
            start = text.find(secret[:EDGE], start + 1, end)
        if start >= 0:
            text = text[:start] + STRUCK + text[end:]
            break
    stop = text.find(secret[-EDGE:], 0, len(secret) - 1) + EDGE
    while stop >= EDGE and not secret.endswith(text[:stop]):
        stop = text.find(secret[-EDGE:], stop - EDGE + 1, len(secret) - 1) + EDGE
    return STRUCK + text[stop:] if stop >= EDGE else text
