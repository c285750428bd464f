"""Which part of a reply is thinking and no answer."""

from __future__ import annotations

import re

_NAMES = r"(?:seed:)?think(?:ing)?|thought|reasoning"
_MARK = re.compile(
    rf"<(?P<close>/)?(?:{_NAMES})>|◁(?P<close_2>/)?think▷|\[(?P<close_3>/)?THINK\]", re.IGNORECASE
)
"""Marks of thinking: most open models', Seed's, Kimi's ``◁think▷``, Magistral's ``[THINK]``."""


def strip_thinking(text: str | None) -> tuple[str, bool]:
    """Return (`text` without its thinking, whether the thinking was left open).

    Everything before a lone ``</think>`` is thinking: some chat templates swallow the opening tag.
    """
    if not text:
        return "", False
    kept: list[str] = []
    opened, position = False, 0
    for mark in _MARK.finditer(text):
        closes = any(mark.groups())
        if closes and not opened:
            kept.clear()
        elif not closes and not opened:
            kept.append(text[position : mark.start()])
        opened = not closes
        position = mark.end()
    if not opened:
        kept.append(text[position:])
    return " ".join(kept).strip(), opened
