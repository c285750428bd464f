"""A bench's tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.text import tamed
from ..studies.markdown import escaped, table
from .tables import Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def markdown(tables: Sequence[Table], lines: Sequence[str], command: str, machine: str) -> str:
    """Return tables and sentences as Markdown; nothing foreign in them is read as such.

    Args:
        tables: The tables.
        lines: Sentences above them.
        command: The command that made them.
        machine: The machine, in words.
    """
    fence = "`" * (1 + max((len(run) for run in _ticks(command)), default=0))
    parts = [f"{fence} {tamed(command)} {fence} ({machine})", *(escaped(line) for line in lines)]
    for one in tables:
        rows = [
            [_cell(text, (i, j) in one.best) for j, text in enumerate(row)]
            for i, row in enumerate(one.rows)
        ]
        parts.append(f"### {escaped(one.title)}")
        parts.append(table([escaped(name) for name in one.head], rows, one.left))
        if one.note:
            parts.append(escaped(one.note))
    return "\n\n".join(parts) + "\n"


def _ticks(text: str) -> list[str]:
    """Return the runs of backticks of a text."""
    return "".join(c if c == "`" else " " for c in text).split()


def _cell(text: str, best: bool) -> str:
    return f"**{escaped(text)}**" if best else escaped(text)


def terminal(one: Table) -> RichTable:
    """Return a table for the terminal; nothing in it is read as markup."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        title=Text(tamed(one.title)), title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False,
    )  # fmt: skip
    for i, name in enumerate(one.head):
        shown.add_column(
            Text(tamed(name)),
            justify="left" if i < one.left else "right",
            overflow="fold",
            no_wrap=i >= one.left,
            min_width=min(20, max(len(row[i]) for row in one.rows)) if i < one.left else None,
        )
    for i, row in enumerate(one.rows):
        cells = [
            Text(tamed(text), style="bold" if (i, j) in one.best else "")
            for j, text in enumerate(row)
        ]
        shown.add_row(*cells)
    return shown
