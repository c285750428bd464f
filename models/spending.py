"""Caps on what reaches a provider, and the ledger that keeps them under concurrency."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..core import CutOff, Usage, UsageError
from .specs import shown_model

ALLOWANCE = 1.5
"""How much dearer than the dearest request so far the next one may be under a cap."""

SILENT = 3
"""Requests of unknown cost, none of known cost among them, after which a cap stops the run."""

UNKEPT = "cannot be kept"
"""What is said of a cap that no higher value would help: the service does not tell its usage."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of one run; None = no limit. Retries and judge calls count too.

    Attributes:
        max_requests: Requests that may reach the wire: exact, whatever the concurrency.
        max_total_tokens: Input plus output tokens; no request starts that may lead above it.
        max_dollars: Money; no request starts that may lead above it.
    """

    max_requests: int | None = None
    max_total_tokens: int | None = None
    max_dollars: float | None = None

    def __post_init__(self) -> None:
        """Refuse negative limits."""
        for name in ("max_requests", "max_total_tokens", "max_dollars"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise UsageError(f"{name}: expected a number of at least 0, got {value!r}")

    def check_priced(self, model: str, priced: bool) -> None:
        """Refuse a money cap on a model without a price, before its first call.

        Args:
            model: The model's name, for the text.
            priced: Whether its price is known; local models cost nothing and are priced.

        Raises:
            UsageError: When the cap could not be kept.
        """
        if self.max_dollars is not None and not priced:
            raise UsageError(
                f"max_dollars={self.max_dollars:g} cannot be kept: no price is known for "
                f"{shown_model(model)}. Cap --max-requests or --max-total-tokens instead, or give "
                "its price in a file named by $VLMFAIL_PRICES."
            )


class Ledger:
    """Counts what was spent and says when a cap is reached. Thread-safe.

    A request is reserved before it is sent, so that threads in flight together cannot overrun
    ``max_requests``. Tokens and money are known only after a reply, so each request in flight is
    taken to cost `ALLOWANCE` times the dearest one so far, and until the first is known only one
    is in flight: the cap holds unless a reply is that much dearer than all before it.
    """

    def __init__(self, caps: Caps | None = None) -> None:
        """Start at zero."""
        self.caps = caps or Caps()
        self._make_locks()
        self._reserved = 0
        self._in_flight = 0
        self._requests = 0
        self._tokens = 0
        self._dollars = 0.0
        self._unknown_tokens = 0
        self._unknown_dollars = 0
        self._known = {"tokens": False, "$": False}
        self._dearest_tokens = 0
        self._dearest_dollars = 0.0
        self._unrecorded = CutOff()
        self._unpriced = 0
        self.on_begin: Callable[[int], None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the counts; the lock is re-made and nothing is in flight."""
        with self._lock:
            unkept = ("_lock", "_settled", "_reserved", "_in_flight", "on_begin")
            return {k: v for k, v in vars(self).items() if k not in unkept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the counts."""
        vars(self).update(state)
        self._reserved = 0
        self._in_flight = 0
        self.on_begin = None
        self._make_locks()

    def _make_locks(self) -> None:
        self._lock = threading.Lock()
        self._settled = threading.Condition(self._lock)

    def reserve(self, n: int = 1, *, wait: bool = False) -> bool:
        """Reserve `n` requests; False, and nothing reserved, when a cap forbids them.

        Args:
            n: How many.
            wait: While only requests in flight stand in the way, wait for them: what they cost
                is known when they end, and a local model's cost nothing.
        """
        with self._settled:
            while self._exhausted(n, self._reserved, self._in_flight) is not None:
                if not wait or self._exhausted(n, 0, 0) is not None:
                    return False
                if not self._in_flight and not self._reserved:
                    return False
                self._settled.wait()
            self._reserved += n
            self._in_flight += n
            self._begun()
            return True

    def reserve_retry(self) -> bool:
        """Reserve one request more for a trial that has one reserved already."""
        with self._lock:
            if self._exhausted(1, self._reserved, self._in_flight - 1) is not None:
                return False
            self._reserved += 1
            self._begun()
            return True

    def _begun(self) -> None:
        """Tell of requests before they are sent, so that a kill does not make them forgotten."""
        if self.on_begin is not None:
            self.on_begin(self._requests + self._reserved)

    def release(self, n: int = 1) -> None:
        """Give back `n` reserved requests that were not sent."""
        with self._settled:
            self._reserved = max(0, self._reserved - n)
            self._in_flight = max(0, self._in_flight - n)
            self._settled.notify_all()

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
        """Count the usage of a finished trial.

        Args:
            usage: What it cost. Tokens or dollars of None are counted as *unknown*, not as zero,
                when a request reached the wire.
            reserved: How many reserved requests this settles; by default ``usage.requests``.
            recorded: Whether a trial's record keeps it; what none keeps is in `unrecorded`.
            unsure: Requests beside it of which nobody knows whether they were billed.
            unpriced: Trials in it whose tokens are known and whose price is not.
            among: Requests of known cost that it is the sum of; each is taken to have cost their
                mean.
        """
        with self._settled:
            settled = usage.requests if reserved is None else reserved
            self._reserved = max(0, self._reserved - settled)
            self._in_flight = max(0, self._in_flight - (settled > 0))
            self._requests += usage.requests
            known = (usage.input_tokens, usage.output_tokens)
            tokens = sum(value for value in known if value is not None)
            self._tokens += tokens
            self._dollars += usage.dollars or 0.0
            if usage.requests:
                self._unknown_tokens += None in known
                self._unknown_dollars += usage.dollars is None
            self._unknown_tokens += unsure
            self._unknown_dollars += unsure + unpriced
            if settled:  # each by itself: a service may tell tokens that nothing is priced by
                self._known["tokens"] |= not usage.requests or None not in known
                self._known["$"] |= not usage.requests or usage.dollars is not None
            among = max(1, among)
            self._dearest_tokens = max(self._dearest_tokens, -(-tokens // among))
            each = (usage.dollars or 0.0) / among
            self._dearest_dollars = max(self._dearest_dollars, each)
            if not recorded:
                self._unrecorded = self._unrecorded.with_trial(usage, unsure)
                silent = usage.requests > 0 and usage.dollars is None and None not in known
                self._unpriced += unpriced + silent
            self._settled.notify_all()

    @property
    def unrecorded(self) -> CutOff:
        """What was spent on trials that were cut off and left no record."""
        with self._lock:
            return self._unrecorded

    @property
    def unpriced(self) -> int:
        """Trials of `unrecorded` whose tokens are known and whose price is not."""
        with self._lock:
            return self._unpriced

    @property
    def exhausted(self) -> str | None:
        """Which cap stops the next request, in words, or None."""
        with self._lock:
            return self._exhausted(1, self._reserved, self._in_flight)

    def _exhausted(self, n: int, reserved: int, in_flight: int) -> str | None:
        caps = self.caps
        if caps.max_requests is not None:
            taken = self._requests + reserved
            if taken + n > caps.max_requests:
                return f"max_requests reached: {taken} of {caps.max_requests} requests"
        for cap, limit, spent, dearest, unit in (
            (
                "max_total_tokens",
                caps.max_total_tokens,
                self._tokens,
                self._dearest_tokens,
                "tokens",
            ),
            ("max_dollars", caps.max_dollars, self._dollars, self._dearest_dollars, "$"),
        ):
            if limit is None:
                continue
            amount = f"{cap} reached: {spent:.6g} of {limit:.6g} {unit}"
            if spent >= limit:
                return amount
            unknown = self._unknown_tokens if unit == "tokens" else self._unknown_dollars
            if unknown >= SILENT and not self._known[unit]:
                return (
                    f"{cap} {UNKEPT}: the service does not say what a request costs; "
                    "cap --max-requests instead"
                )
            spent += ALLOWANCE * dearest * unknown
            if in_flight and not self._known[unit]:
                return f"{amount}, and what a request costs is not known yet"
            if spent + ALLOWANCE * dearest * (in_flight + n) > limit:
                return f"{amount}, and one request more may cost {ALLOWANCE * dearest:.6g}"
        return None

    @property
    def spent(self) -> dict[str, Any]:
        """Requests, tokens and dollars so far as JSON values.

        ``unknown_tokens`` and ``unknown_dollars`` are the trials whose provider did not say;
        while there are any, the sums are lower bounds.
        """
        with self._lock:
            return {
                "requests": self._requests,
                "tokens": self._tokens,
                "dollars": self._dollars,
                "unknown_tokens": self._unknown_tokens,
                "unknown_dollars": self._unknown_dollars,
            }


_metering: ContextVar[Ledger | None] = ContextVar("vlmfail_ledger", default=None)


@contextlib.contextmanager
def metering(ledger: Ledger) -> Iterator[None]:
    """Have the models that are asked meanwhile, in this thread, count on `ledger`."""
    token = _metering.set(ledger)
    try:
        yield
    finally:
        _metering.reset(token)


def current_ledger() -> Ledger | None:
    """Return the ledger that `metering` set, if any."""
    return _metering.get()
