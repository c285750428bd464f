"""What a run spent: in its records, and on trials that were cut off and left none."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..core import CutOff, TrialRecord, Usage
from .store import RunStore, dump_json

META = "spent_unrecorded"
BEGUN = "requests_begun"


@dataclass(frozen=True, slots=True)
class Unrecorded(CutOff):
    """What trials without a record cost.

    Attributes:
        unpriced: Trials among them whose tokens are known and whose price is not.
    """

    unpriced: int = 0

    def with_trial(self, usage: Usage, unsure: int = 0) -> Unrecorded:
        """Return this with another trial's cost, and `unsure` requests that may be billed."""
        # Not super(), which slots=True breaks on Python 3.11.
        cut = CutOff.with_trial(self, usage, unsure)
        known = None not in (usage.input_tokens, usage.output_tokens)
        silent = usage.requests > 0 and usage.dollars is None and known
        return Unrecorded(**dataclasses.asdict(cut), unpriced=self.unpriced + silent)


class SpendingLedger(Protocol):
    """What knows of spending that no record keeps."""

    on_begin: Callable[[int], None] | None

    def add(
        self,
        usage: Usage,
        reserved: int | None = None,
        *,
        recorded: bool = True,
        unsure: int = 0,
        unpriced: int = 0,
        among: int = 1,
    ) -> None:
        """Count a cost."""
        ...

    @property
    def unrecorded(self) -> CutOff:
        """What was spent on trials that left no record."""
        ...

    @property
    def unpriced(self) -> int:
        """Trials of them whose tokens are known and whose price is not."""
        ...


def unrecorded(store: RunStore) -> Unrecorded:
    """Return what the run spent on trials that a cap, an interruption or a kill cut off.

    Requests are written down before they are sent: what was begun and is neither in a record nor
    known to have been cut off was lost with a killed process, at a cost that nobody knows.
    """
    text = store.meta(META)
    known = Unrecorded(**json.loads(text)) if text else Unrecorded()
    begun = store.meta(BEGUN)
    if begun is None:
        return known
    recorded = sum(record.requests for record in store.records())
    lost = max(0, int(begun) - recorded - known.requests)
    return dataclasses.replace(known, requests=known.requests + lost, unknown=known.unknown + lost)


def is_unspent(store: RunStore) -> bool:
    """Whether the run has no trial, and nothing that it sent was, or may have been, billed."""
    if store.count():
        return False
    cut = unrecorded(store)
    return not (cut.tokens or cut.dollars or cut.unknown)


def load_spent(store: RunStore, ledger: SpendingLedger) -> None:
    """Count on `ledger` all that the run has spent so far."""
    for record in store.records():
        ledger.add(record.usage, reserved=0, unsure=maybe_billed(record))
    cut = unrecorded(store)
    if cut.requests:
        usage = Usage(cut.requests, cut.tokens, 0, cut.dollars)
        ledger.add(
            usage,
            reserved=0,
            recorded=False,
            unsure=cut.unknown,
            unpriced=cut.unpriced,
            among=cut.requests - cut.unknown,
        )


def write_ahead(store: RunStore, ledger: SpendingLedger, lock: threading.Lock) -> None:
    """Have every request written down before it is sent; `lock` guards the store."""

    def begun(total: int) -> None:
        with lock:
            store.set_meta(BEGUN, str(total))

    ledger.on_begin = begun


def keep_spent(store: RunStore, ledger: SpendingLedger) -> None:
    """Write what `ledger` knows of cut-off trials, earlier processes' included."""
    ledger.on_begin = None
    cut = ledger.unrecorded
    if cut.requests:
        kept = {**dataclasses.asdict(cut), "unpriced": ledger.unpriced}
        store.set_meta(META, dump_json(kept))
    if store.meta(BEGUN) is not None:
        recorded = sum(record.requests for record in store.records())
        store.set_meta(BEGUN, str(recorded + cut.requests))


def keep_deleted(store: RunStore, records: Iterable[TrialRecord]) -> None:
    """Keep what trials cost that are about to be deleted."""
    cut = unrecorded(store)
    for record in records:
        cut = cut.with_trial(record.usage, maybe_billed(record))
    if cut.requests:
        store.set_meta(META, dump_json(dataclasses.asdict(cut)))


def maybe_billed(record: TrialRecord) -> int:
    """Return how many of a trial's requests may have been billed unseen."""
    found = record.raw.get("maybe_billed")
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def total_spent(records: Sequence[TrialRecord], cut_off: CutOff | None = None) -> dict[str, Any]:
    """Return requests, tokens and dollars of trials, re-run ones included.

    None where nothing is known; while `unknown_cost` counts some, the sums are lower bounds.

    Args:
        records: The run's trials.
        cut_off: What trials without a record cost.
    """
    cut = cut_off or Unrecorded()
    costs = [record.usage for record in records]
    if cut.requests:
        # A sum of nothing is no zero while something is not known.
        tokens = None if cut.unknown and not cut.tokens else cut.tokens
        lost = cut.unknown or _unpriced(cut)
        dollars = None if lost and not cut.dollars else cut.dollars
        costs.append(Usage(cut.requests, tokens, None, dollars))
    return _sums(costs)


def unknown_cost(records: Sequence[TrialRecord], cut_off: CutOff | None = None) -> dict[str, int]:
    """Return of how many requests tokens and dollars are not known."""
    sure = [(record.usage, maybe_billed(record)) for record in records]
    beside = 0 if cut_off is None else cut_off.unknown
    return {
        "tokens": beside + sum(max(n, _lost(u, _tokens(u) is None)) for u, n in sure),
        "dollars": beside
        + _unpriced(cut_off)
        + sum(max(n, _lost(u, u.dollars is None)) for u, n in sure),
    }


def total_saved(records: Sequence[TrialRecord]) -> dict[str, Any]:
    """Return what the replies that came from the reply cache would have cost again."""
    found = []
    for record in records:
        saved = record.raw.get("saved")
        if record.raw.get("cached") is True and isinstance(saved, dict):
            found.append(Usage(1, saved.get("tokens"), 0, saved.get("dollars")))
    return _sums(found)


def _unpriced(cut: CutOff | None) -> int:
    return cut.unpriced if isinstance(cut, Unrecorded) else 0


def _lost(usage: Usage, unknown: bool) -> int:
    return int(usage.requests > 0 and unknown)


def _tokens(usage: Usage) -> int | None:
    counts = [n for n in (usage.input_tokens, usage.output_tokens) if n is not None]
    return sum(counts) if counts else None


def _sums(costs: Sequence[Usage]) -> dict[str, Any]:
    return {
        "requests": sum(cost.requests for cost in costs),
        "tokens": _sum([(cost, _tokens(cost)) for cost in costs]),
        "dollars": _sum([(cost, cost.dollars) for cost in costs]),
    }


def _sum(costs: Sequence[tuple[Usage, Any]]) -> Any:
    """Return the sum of what is known; None when that is nothing, which is not zero.

    A reply from the cache and an answer in error cost nothing by construction: they do not make
    the cost of the others known.
    """
    known = [value for _, value in costs if value is not None]
    unknown = any(cost.requests and value is None for cost, value in costs)
    if not known or (unknown and not any(known)):
        return None
    return sum(known)
