"""What came instead of an answer: exceptions of the SDKs and of what they are built on."""

from __future__ import annotations

from collections.abc import Sequence

from .adapter import Fault
from .fault_tables import EXCEPTIONS, LONGEST_TEXT, PLAIN, UNSAID, UNSENT


def connection_fault(error: BaseException) -> Fault:
    """Classify an exception that came instead of an answer.

    A server that cannot be reached is ``connection`` also when reaching it took too long; a reply
    that does not come is ``timeout``; one that cannot be read is ``server``.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain and len(chain) < 10:
        chain.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    known = [(link, [base.__name__ for base in type(link).__mro__]) for link in reversed(chain)]
    for link, names in known:
        # Before all else: beneath it may be a mere TimeoutError.
        if not UNSENT.isdisjoint(names):
            return Fault("connection", _exception_text(error, link, names), sent=False)
    for link, names in known:
        for name in names:
            if name in EXCEPTIONS:
                return Fault(EXCEPTIONS[name], _exception_text(error, link, names))
    return Fault("unknown", _exception_text(error, error, []))


def _exception_text(error: BaseException, cause: BaseException, names: Sequence[str]) -> str:
    if UNSAID.intersection(names):
        return f"{type(cause).__name__}: a header holds characters that it must not hold"
    if PLAIN.intersection(names):
        return str(cause)
    parts = []
    for link in (error,) if cause is error else (error, cause):
        try:
            said = " ".join(str(link).split())
        except Exception:
            said = ""
        parts.append(f"{type(link).__name__}: {said}" if said else type(link).__name__)
    return " <- ".join(parts)[:LONGEST_TEXT]
