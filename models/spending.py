"""Caps on what reaches a provider, and the ledger that keeps them under concurrency."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ..core import Usage, UsageError


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of one run; None = no limit. Retries and judge calls count too.

    Attributes:
        max_requests: Requests that may reach the wire: exact, whatever the concurrency.
        max_total_tokens: Input plus output tokens; no request starts at or above it.
        max_dollars: Money; no request starts at or above it.
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
                f"{model!r}. Cap --max-requests or --max-total-tokens instead, or give its price."
            )


class Ledger:
    """Counts what was spent and says when a cap is reached. Thread-safe.

    A request is reserved before it is sent, so that threads in flight together cannot overrun
    ``max_requests``. Tokens and money are known only after a reply: requests that were already in
    flight when such a cap was reached are still counted.
    """

    def __init__(self, caps: Caps | None = None) -> None:
        """Start at zero."""
        self.caps = caps or Caps()
        self._make_locks()
        self._reserved = 0
        self._requests = 0
        self._tokens = 0
        self._dollars = 0.0
        self._unknown_tokens = 0
        self._unknown_dollars = 0

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the counts; the lock is re-made and nothing is in flight."""
        with self._lock:
            unkept = ("_lock", "_settled", "_reserved")
            return {k: v for k, v in vars(self).items() if k not in unkept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the counts."""
        vars(self).update(state)
        self._reserved = 0
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
            while self._exhausted(n, self._reserved) is not None:
                if not wait or self._exhausted(n, 0) is not None:
                    return False
                self._settled.wait()
            self._reserved += n
            return True

    def release(self, n: int = 1) -> None:
        """Give back `n` reserved requests that were not sent."""
        with self._settled:
            self._reserved = max(0, self._reserved - n)
            self._settled.notify_all()

    def add(self, usage: Usage, reserved: int | None = None) -> None:
        """Count the usage of a finished request.

        Args:
            usage: What it cost. Tokens or dollars of None are counted as *unknown*, not as zero,
                when a request reached the wire.
            reserved: How many reserved requests this settles; by default ``usage.requests``.
        """
        with self._settled:
            settled = usage.requests if reserved is None else reserved
            self._reserved = max(0, self._reserved - settled)
            self._settled.notify_all()
            self._requests += usage.requests
            known = (usage.input_tokens, usage.output_tokens)
            self._tokens += sum(value for value in known if value is not None)
            self._dollars += usage.dollars or 0.0
            if usage.requests:
                self._unknown_tokens += None in known
                self._unknown_dollars += usage.dollars is None

    @property
    def exhausted(self) -> str | None:
        """Which cap stops the next request, in words, or None."""
        with self._lock:
            return self._exhausted(1, self._reserved)

    def _exhausted(self, n: int, reserved: int) -> str | None:
        caps = self.caps
        if caps.max_requests is not None:
            taken = self._requests + reserved
            if taken + n > caps.max_requests:
                return f"max_requests reached: {taken} of {caps.max_requests} requests"
        if caps.max_total_tokens is not None and self._tokens >= caps.max_total_tokens:
            return f"max_total_tokens reached: {self._tokens} of {caps.max_total_tokens} tokens"
        if caps.max_dollars is not None and self._dollars >= caps.max_dollars:
            return f"max_dollars reached: {self._dollars:.4f} of {caps.max_dollars:g} $"
        return None

    @property
    def spent(self) -> dict[str, Any]:
        """Requests, tokens and dollars so far as JSON values.

        ``unknown_tokens`` and ``unknown_dollars`` are the requests whose provider did not say;
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
