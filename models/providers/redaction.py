"""Strikes keys out of foreign texts: a service may echo the key that it was sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

STRUCK = "[key]"

SHORTEST = 6
"""Characters from which a key is one: shorter ones would strike out ordinary words."""

PART = 8
"""Characters of a key's beginning or end that are struck out, too."""


def redacted(value: T, secrets: Sequence[str]) -> T:
    """Return `value` (text, JSON values, a dataclass of them) with every secret struck out."""
    known = [secret for secret in secrets if len(secret) >= SHORTEST]
    result: T = _redacted(value, known) if known else value
    return result


def _redacted(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = _without_parts(value.replace(secret, STRUCK), secret)
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
    if len(secret) <= PART:
        return text
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
    return text
