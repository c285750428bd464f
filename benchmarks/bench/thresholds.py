"""PFM by several thresholds, from the same runs (Revelio, Figures 8 and 9)."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.comparison import Spread
from .arms import Bench
from .comparison import Arm
from .metrics import BY_KEY
from .tables import Table, spread_cell

NOTE = (
    "From the same runs: every searcher searched with the bench's τ = {tau:g}, whichever "
    "threshold its sets are judged by here. Searchers that give their sets different numbers of "
    "trials have no PFM."
)


def threshold_tables(bench: Bench, arms: Sequence[Arm]) -> list[Table]:
    """Return one table for each group of environments and model, a column a threshold."""
    tables = []
    metric = BY_KEY["pfm"]
    for group, model in dict.fromkeys((arm.group, arm.model) for arm in arms):
        mine = [arm for arm in arms if (arm.group, arm.model) == (group, model)]
        found = [
            [
                Spread.of((run.pfm_at.get(rate) for run in arm.runs), quartiles=True)
                for rate in bench.thresholds
            ]
            for arm in mine
        ]
        if not any(one is not None for row in found for one in row):
            continue
        rows = tuple(
            (arm.searcher, *(spread_cell(bench, metric, one, len(arm.runs)) for one in row))
            for arm, row in zip(mine, found, strict=True)
        )
        head = ("searcher", *(f"τ = {rate:g}" for rate in bench.thresholds))
        title = f"{metric.title} by threshold · {group} · {model}"
        tables.append(Table(title, head, rows, 1, NOTE.format(tau=bench.threshold)))
    return tables
