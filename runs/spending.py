"""What a run spent: in its records, and on trials that were cut off and left none."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..core import TrialRecord, Usage
from .store import RunStore, dump_json

META = "spent_unrecorded"


class SpendingLedger(Protocol):
    """What knows of spending that no record keeps."""

    @property
    def unrecorded(self) -> Usage:
        """What was spent on trials that left no record."""
        ...


def unrecorded(store: RunStore) -> Usage:
    """Return what the run spent on trials that a cap or an interruption cut off."""
    text = store.meta(META)
    return Usage(**json.loads(text)) if text else Usage(0, 0, 0, 0.0)


def keep_unrecorded(store: RunStore, ledger: SpendingLedger) -> None:
    """Write what `ledger` knows of such spending, earlier processes' included."""
    usage = ledger.unrecorded
    if usage.requests:
        store.set_meta(META, dump_json(dataclasses.asdict(usage)))


def total_spent(records: Sequence[TrialRecord], cut_off: Usage | None = None) -> dict[str, Any]:
    """Return requests, tokens and dollars of trials, re-run ones included.

    None where no provider said; what some did not say is not added, so that a number is a lower
    bound then.

    Args:
        records: The run's trials.
        cut_off: What trials without a record cost.
    """
    costs = [record.usage for record in records]
    if cut_off is not None and cut_off.requests:
        costs.append(cut_off)
    return _sums(costs)


def total_saved(records: Sequence[TrialRecord]) -> dict[str, Any]:
    """Return what the replies that came from the reply cache would have cost again."""
    found = []
    for record in records:
        saved = record.raw.get("saved")
        if record.raw.get("cached") is True and isinstance(saved, dict):
            found.append(Usage(1, saved.get("tokens"), None, saved.get("dollars")))
    return _sums(found)


def _sums(costs: Iterable[Usage]) -> dict[str, Any]:
    costs = list(costs)
    tokens = [
        (c.input_tokens or 0) + (c.output_tokens or 0)
        for c in costs
        if c.input_tokens is not None or c.output_tokens is not None
    ]
    dollars = [c.dollars for c in costs if c.dollars is not None]
    return {
        "requests": sum(c.requests for c in costs),
        "tokens": sum(tokens) if tokens else None,
        "dollars": sum(dollars) if dollars else None,
    }
