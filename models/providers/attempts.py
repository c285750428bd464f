"""The attempts of one trial: a deadline each, what is tried again, and how long it waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import CapReachedError, ModelFault
from ..sent_pictures import SentPicture
from ..specs import ModelSpec
from ..spending import Ledger
from .adapter import Adapter, Fault, Words
from .endpoint import Endpoint, place
from .limiter import NoPlaceError
from .redaction import redacted
from .reply_bodies import ordinary
from .taming import tamed

PATIENT = frozenset({"rate_limit", "overload"})
"""Faults that pass with time: tried again until the spec's patience ends."""

AGAIN = frozenset({"server", "connection", "unknown"})
"""Faults that may be chance: tried again until the spec's attempts are used up."""

STOP = frozenset({"quota", "auth", "not_found"})
"""Faults that every later request would meet too."""

TIMEOUTS = 2
"""Attempts that may run into the deadline: each may have been paid for."""

LONGEST_WAIT = 120.0
"""Seconds waited at most for one attempt, whatever the service asks."""

HOPELESS = 10
"""Trials in a row refused as malformed before any went well, or without a server to be found:
then it is not the trials."""

MAX_TEXT = 500
"""Characters kept of a fault's text."""


class FailedAttemptError(Exception):
    """One attempt brought no reply."""

    def __init__(self, fault: Fault) -> None:
        """Keep the fault."""
        super().__init__(fault.text)
        self.fault = fault


@dataclass(slots=True)
class Attempts:
    """What was sent for one trial, and what came back.

    Attributes:
        requests: Requests that were tried.
        unsent: Those among them of which certainly nothing went out.
        reserved: Requests that were reserved for it; what was reserved for one that did not go
            out serves the next.
        faults: Those that brought no reply.
        unsure: Requests of which nobody knows whether they were billed: cut off or out of time.
        parameters: What the last request sent.
        raw: The reply's JSON, if one came.
        words: What it says.
        billed: Replies that came whole and were of no use: they cost what they say.
    """

    requests: int = 0
    unsent: int = 0
    reserved: int = 1
    faults: list[Fault] = field(default_factory=list)
    unsure: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    raw: dict[str, Any] | None = None
    words: Words | None = None
    billed: list[Words] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Requests that went out, or may have."""
        return self.requests - self.unsent

    def count(self, *kinds: str) -> int:
        """Return how many attempts failed in one of these ways."""
        return sum(fault.kind in kinds for fault in self.faults)

    def record(self) -> list[dict[str, Any]]:
        """Return the failed attempts for the trial's record."""
        rows = []
        for fault in self.faults:
            row = {"fault": fault.kind, "status": fault.status, "code": fault.code}
            row["text"] = fault.text[:MAX_TEXT]
            rows.append({key: value for key, value in row.items() if value is not None})
        return rows


async def ask(
    adapter: Adapter,
    spec: ModelSpec,
    endpoint: Endpoint,
    client: Any,
    prompt: str,
    pictures: tuple[SentPicture, ...],
    parameters: Mapping[str, Any],
    *,
    seed: int,
    ledger: Ledger,
    attempts: Attempts,
) -> Attempts:
    """Send until a reply comes, the attempts are used up, or trying is no use.

    The first request is reserved in `ledger` already; each further one is reserved here.
    `attempts` is filled as it happens, so that a cancelled trial still knows what it sent.
    The spec's patience is for all waiting on the service's pace, that for a place in flight
    included.

    Raises:
        CapReachedError: When a cap forbids the next attempt.
        ModelFault: When every later request would fail too.
    """
    from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

    attempts.parameters = dict(parameters)
    jitter = random.Random(seed)
    patience = 0.0
    clock = asyncio.get_running_loop().time
    began = clock()

    def tried() -> str:
        count = attempts.requests
        times = "once" if count == 1 else f"{count} times"
        return f"tried {times} in {clock() - began:.1f} s"

    def stop(state: RetryCallState) -> bool:
        kind = attempts.faults[-1].kind
        if kind == "unsupported":
            return False  # only raised when the parameters were adapted
        if kind in PATIENT:
            return patience >= spec.patience
        if kind == "timeout":
            return attempts.count("timeout") >= min(TIMEOUTS, spec.attempts)
        late = clock() - began + state.upcoming_sleep >= spec.timeout
        if late and not attempts.faults[-1].sent and not endpoint.reached:
            return True  # nobody may be there: that is said no later than that a reply is late
        return kind not in AGAIN or attempts.count(*AGAIN, "timeout") >= spec.attempts

    def wait(state: RetryCallState) -> float:
        nonlocal patience
        fault = attempts.faults[-1]
        if fault.kind == "unsupported":
            return 0.0
        seconds = min(LONGEST_WAIT, 0.5 * 2.0 ** min(attempts.count(fault.kind) - 1, 10))
        if fault.retry_after is not None:
            seconds = min(LONGEST_WAIT, max(0.0, fault.retry_after))
        if fault.kind in PATIENT:
            endpoint.limiter.slow_down(seconds)
            patience += max(seconds, 0.1)
        # Never earlier than asked; those that were refused together do not come back together.
        return seconds + jitter.uniform(0, 0.25 * seconds + 0.1)

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(FailedAttemptError), stop=stop, wait=wait, reraise=True
    )
    try:
        async for state in retrying:
            with state:
                async with endpoint.limiter.slot(max(0.0, spec.patience - patience)) as waited:
                    patience += waited
                    spare = attempts.reserved > attempts.sent
                    if not spare and not ledger.reserve_retry():
                        _stop_the_run(spec, adapter, endpoint, attempts.faults[-1], tried())
                        why = ledger.exhausted or "a cap is reached"
                        said = attempts.faults[-1].text[:200]
                        raise CapReachedError(f"{why}; the last one brought: {said}")
                    attempts.reserved += not spare
                    attempts.requests += 1
                    await _attempt(
                        adapter, spec, endpoint, client, prompt, pictures, attempts, seed
                    )
    except NoPlaceError:
        # What it waits for, if it was told; a trial that never had its turn was told nothing.
        if not attempts.faults:
            said = f"the service asks to slow down: no request could be sent in {spec.patience:g} s"
            attempts.faults.append(Fault("rate_limit", said))
    except FailedAttemptError as error:
        _stop_the_run(spec, adapter, endpoint, error.fault, tried())
    return attempts


async def _attempt(
    adapter: Adapter,
    spec: ModelSpec,
    endpoint: Endpoint,
    client: Any,
    prompt: str,
    pictures: tuple[SentPicture, ...],
    attempts: Attempts,
    seed: int,
) -> None:
    attempts.unsure += 1  # until something comes back
    try:
        async with asyncio.timeout(spec.timeout):
            raw = await adapter.send(
                client, prompt, pictures, attempts.parameters, seed=seed, timeout=spec.timeout
            )
        if ordinary(raw):
            raw, words = _read(adapter, raw)
        else:  # other requests go on meanwhile
            raw, words = await asyncio.to_thread(_read, adapter, raw)
        fault = words.fault
    except TimeoutError:
        fault = Fault("timeout", f"no whole reply within {spec.timeout:g} s")
    except Exception as error:
        fault = _fault(adapter, error)
    else:
        if fault is None:
            attempts.raw, attempts.words = raw, words
            attempts.unsure -= 1
            endpoint.replied()
            return
        if words.usage.input_tokens is not None:
            attempts.billed.append(words)
            attempts.unsure -= 1
        endpoint.reached = True
        fault = replace(fault, status=None)
    fault = _plain(fault, adapter)
    if fault.kind in ("too_large", "server"):
        endpoint.reached = True  # something came, if no more than its beginning
    if fault.kind != "connection":
        endpoint.lost = 0
    if fault.status is not None:
        # An answer in error is not billed; a cut or late one may have been.
        attempts.unsure -= 1
        endpoint.reached = True
    elif not fault.sent:
        attempts.unsure -= 1
        attempts.unsent += 1
    attempts.faults.append(fault)
    if fault.kind == "filtered":
        endpoint.reached = True
        return
    if fault.kind == "unsupported":
        changed = adapter.adapted(attempts.parameters, fault)
        if changed is None or changed == attempts.parameters or attempts.count("unsupported") > 4:
            attempts.faults[-1] = Fault("bad_request", fault.text, fault.status, fault.code)
        else:
            endpoint.adapt(spec.model, attempts.parameters, changed, fault)
            attempts.parameters = changed
    raise FailedAttemptError(attempts.faults[-1])


def _read(adapter: Adapter, raw: dict[str, Any]) -> tuple[dict[str, Any], Words]:
    raw = redacted(raw, adapter.secrets())
    return raw, adapter.read(raw)


def _fault(adapter: Adapter, error: Exception) -> Fault:
    """Return what an exception means; one that cannot even be read is an error like others."""
    try:
        return adapter.fault(error)
    except Exception as unread:
        kinds = f"{type(error).__name__}, and {type(unread).__name__} when it was read"
        return Fault("unknown", f"an error that vlmfail cannot read: {kinds}")


def _plain(fault: Fault, adapter: Adapter) -> Fault:
    """Return a fault whose words are the service's no more than on one line, without keys."""
    fault = redacted(fault, adapter.secrets())
    code = None if fault.code is None else tamed(fault.code, 200)
    return replace(fault, text=tamed(fault.text) or "no words", code=code)


def _stop_the_run(
    spec: ModelSpec, adapter: Adapter, endpoint: Endpoint, fault: Fault, tried: str
) -> None:
    """Raise `ModelFault` when the fault is the model's or the account's, not the trial's."""
    where = f"{spec.prefix}:{spec.model} at {adapter.base_url}"
    said = fault.text[:300]
    if fault.kind == "quota":
        raise ModelFault(f"{where}: the quota is used up ({said}); refill it, then resume the run")
    if fault.kind == "auth":
        raise ModelFault(f"{where}: the key was not accepted ({said})")
    if fault.kind == "not_found":
        raise ModelFault(f"{where}: there is no such model or address ({said})")
    if fault.kind == "connection":
        endpoint.lost += 1
        if not endpoint.reached:
            raise ModelFault(
                f"{where}: no server answers at {place(adapter.base_url)}, {tried} ({said}); "
                "start it, or check the address after '@'"
            )
        if endpoint.lost >= HOPELESS:
            raise ModelFault(
                f"{where}: the server has gone ({said}), {HOPELESS} trials in a row found none; "
                "start it again, then resume the run"
            )
    if fault.kind == "bad_request" and not endpoint.went_well:
        endpoint.malformed += 1
        if endpoint.malformed >= HOPELESS:
            raise ModelFault(f"{where}: the first {HOPELESS} requests were all refused ({said})")
