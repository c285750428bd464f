"""Several clients of one service, each with few connections."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

EACH = 8
"""Requests in flight a client, before there is another one."""


class Shards:
    """Clients that are made as they are needed.

    A connection pool looks at every connection it has for every request it sends, so that one
    pool with 64 in flight spends more time on looking than on sending. Lives in one event loop.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        """Keep how a client is made, and make the first."""
        self._make = make
        self.clients = [make()]
        self._busy = [0]

    @contextlib.contextmanager
    def lease(self) -> Iterator[Any]:
        """Yield a client that has room for a request more."""
        # The first with room, so that idle ones stay idle and their connections close.
        place = next((i for i, busy in enumerate(self._busy) if busy < EACH), len(self._busy))
        if place == len(self.clients):
            self.clients.append(self._make())
            self._busy.append(0)
        self._busy[place] += 1
        try:
            yield self.clients[place]
        finally:
            self._busy[place] -= 1
