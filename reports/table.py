"""The surest failure modes as a table for the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..analysis.modes import FailureMode
from . import wording

if TYPE_CHECKING:
    from rich.table import Table


def modes_table(
    modes: Sequence[FailureMode], limit: int = 10, fresh_trials: str = "fresh scenes"
) -> Table:
    """Return a table of the first `limit` modes; nothing in it is read as markup.

    Args:
        modes: Ranked failure modes.
        limit: Rows.
        fresh_trials: What modes are tried on again, in words.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("failure mode", overflow="fold")
    table.add_column("failures", no_wrap=True)
    # A landscape's outcomes have no reason.
    reasons = any(mode.rule or mode.direction for mode in modes)
    if reasons:
        table.add_column("deciding rule")
        table.add_column("error")
    table.add_column(fresh_trials, no_wrap=True)
    for rank, mode in enumerate(modes[:limit], 1):
        fresh = wording.confirmation(mode)
        if mode.fresh.n:
            fresh += f" {mode.fresh.failures}/{mode.fresh.n}"
        why = [Text(wording.clean(mode.rule or "")), Text(wording.words(mode.direction))]
        table.add_row(
            str(rank),
            Text(" + ".join(wording.mode_parts(mode))),
            wording.counted(mode.failures, mode.n, mode.interval),
            *(why if reasons else ()),
            fresh,
        )
    return table
