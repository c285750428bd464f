"""What searching costs, summarised over searches and printed."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Overhead:
    """Time per evaluated candidate over several seeds, ms.

    Attributes:
        method: Searcher, or the reference.
        sets: Evaluated candidates a seed.
        seeds: Number of seeds.
        median: Median over seeds of the mean time.
        mean: Mean over seeds.
        min: Quickest seed.
        max: Slowest seed.
    """

    method: str
    sets: int
    seeds: int
    median: float
    mean: float
    min: float
    max: float

    @classmethod
    def of(cls, method: str, sets: int, per_set_ms: Sequence[float]) -> Overhead:
        """Summarise one figure a seed."""
        return cls(
            method,
            sets,
            len(per_set_ms),
            float(np.median(per_set_ms)),
            float(np.mean(per_set_ms)),
            float(np.min(per_set_ms)),
            float(np.max(per_set_ms)),
        )


def print_table(rows: Sequence[Overhead], title: str, target: float) -> None:
    """Print the figures as a table.

    Args:
        rows: The figures.
        title: What they are of.
        target: Milliseconds that none should exceed.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, caption=f"{machine()}; target ≤ {target:g} ms")
    table.add_column("method")
    for column in ("evaluated", "seeds", "median ms", "mean ms", "min ms", "max ms"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row.method,
            str(row.sets),
            str(row.seeds),
            *(f"{value:.2f}" for value in (row.median, row.mean, row.min, row.max)),
        )
    Console().print(table)


def machine() -> str:
    """Return the machine in words, and what it is doing: figures of a busy one lean high."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    said = f"{platform.machine()}, {cores} cores, Python {platform.python_version()}"
    return f"{said}, {load()}"


def load() -> str:
    """Return how many processes wanted a core in the last minute, this one included."""
    if not hasattr(os, "getloadavg"):
        return "load unknown"
    return f"load {os.getloadavg()[0]:.1f}"
