"""What pictures cost: counted on the run's ledger and under its caps, though in no trial's record.

A record's cost is what the model under test cost; pictures stand beside it in the run's totals.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core import Usage
from ..spending import Ledger, current_ledger, metering


class PictureLedger(Ledger):
    """Passes everything on to another ledger and says that no record keeps it."""

    def __init__(self, inner: Ledger) -> None:
        """Wrap the run's ledger."""
        super().__init__(inner.caps)
        self.inner = inner
        self._usages: list[Usage] = []
        self._usages_lock = threading.Lock()

    def reserve(self, n: int = 1, *, wait: bool = False) -> bool:
        """As `Ledger.reserve`."""
        return self.inner.reserve(n, wait=wait)

    def reserve_retry(self) -> bool:
        """As `Ledger.reserve_retry`."""
        return self.inner.reserve_retry()

    def release(self, n: int = 1) -> None:
        """As `Ledger.release`."""
        self.inner.release(n)

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
        """As `Ledger.add`, of what no record keeps."""
        with self._usages_lock:
            self._usages.append(usage)
        self.inner.add(
            usage, reserved, recorded=False, unsure=unsure, unpriced=unpriced, among=among
        )

    @property
    def exhausted(self) -> str | None:
        """As `Ledger.exhausted`."""
        return self.inner.exhausted

    def record(self) -> dict[str, Any]:
        """Return what was spent through this one as JSON values; None where it is not known."""
        with self._usages_lock:
            # What sent no request cost nothing, whatever it does not say.
            usages = [usage for usage in self._usages if usage.requests]
        tokens = [
            None
            if usage.input_tokens is None or usage.output_tokens is None
            else usage.input_tokens + usage.output_tokens
            for usage in usages
        ]
        dollars = [usage.dollars for usage in usages]
        return {
            "requests": sum(usage.requests for usage in usages),
            "tokens": _sum(tokens),
            "dollars": _sum(dollars),
        }


def _sum(values: list[Any]) -> Any:
    return None if None in values else sum(values)


@contextmanager
def picture_metering() -> Iterator[PictureLedger]:
    """Have what is asked meanwhile, in this thread, count as cost of a picture."""
    ledger = PictureLedger(current_ledger() or Ledger())
    with metering(ledger):
        yield ledger
