"""What all models of a process share about one service."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .adapter import Fault
from .limiter import Limiter
from .taming import tamed

LONGEST_CONNECT = 10.0
"""Seconds within which a server that is there takes a connection, wherever it is."""


class Endpoint:
    """One service: its pace, whether it ever answered, and which parameters it refused.

    Attributes:
        limiter: How many requests may be in flight.
        reached: Whether anything ever came back from it.
        went_well: Whether a reply ever came.
        malformed: Trials that it refused as malformed before that.
        lost: Trials in a row that found no server.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.limiter = Limiter()
        self.reached = False
        self.went_well = False
        self.malformed = 0
        self.lost = 0
        self._warned: set[tuple[str, str]] = set()

    def replied(self) -> None:
        """A good reply came."""
        self.reached = True
        self.went_well = True
        self.lost = 0
        self.limiter.went_well()

    def adapt(
        self, model: str, old: Mapping[str, Any], new: Mapping[str, Any], fault: Fault
    ) -> None:
        """Warn, once a model and parameter, that what is sent is not what was asked for."""
        changed = sorted(
            name
            for name in {*old, *new}
            if (name in old) != (name in new) or old.get(name) != new.get(name)
        )
        key = model, ",".join(changed)
        if key in self._warned:
            return
        self._warned.add(key)
        now = ", ".join(f"{name}={new[name]}" for name in changed if name in new)
        gone = ", ".join(name for name in changed if name not in new)
        said = (f"sends {now}" if now else "") + (" and " if now and gone else "")
        said += f"leaves out {gone}" if gone else ""
        warnings.warn(
            f"{model} refused what was to be sent ({tamed(fault.text, 200)}): vlmfail {said} "
            "from now on; records keep what was really sent",
            stacklevel=2,
        )


def connect_timeout(timeout: float) -> float:
    """Return how many seconds of an attempt's `timeout` may pass until there is a connection.

    Well within it: a host that drops packets is told from a reply that is late.
    """
    return min(LONGEST_CONNECT, timeout / 2)


def place(base_url: str) -> str:
    """Return an address's host and port."""
    there = urlsplit(base_url)
    host = there.hostname or base_url
    port = there.port or (80 if there.scheme == "http" else 443)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_lock = threading.Lock()
_endpoints: dict[tuple[int, str, str], Endpoint] = {}


def endpoint_of(provider: str, base_url: str) -> Endpoint:
    """Return the state of a service in this process."""
    key = os.getpid(), provider, base_url
    with _lock:
        return _endpoints.setdefault(key, Endpoint())


def forget_endpoints() -> None:
    """Begin anew, as a fresh process does."""
    with _lock:
        _endpoints.clear()
