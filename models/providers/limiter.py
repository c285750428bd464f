"""How many requests to one service may be in flight, and when the next may start."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

BACK_OFF = 0.5
"""Share of the requests in flight that may stay in flight after the service said "too many"."""


class NoPlaceError(Exception):
    """The service had no room for a request in the time that there was."""


class Limiter:
    """Additive increase, multiplicative decrease, as TCP does it (Chiu and Jain, 1989).

    Without complaints nothing is held back: the caller's concurrency is the only bound. After a
    complaint the service's pace is halved and everything waits as long as it asked; every round
    of good replies then lets one more in flight, until nothing is held back again.

    Lives in one event loop: no locks.
    """

    def __init__(self) -> None:
        """Start unbounded."""
        self.limit: float | None = None
        self.in_flight = 0
        self._ceiling = 0
        self._until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @contextlib.asynccontextmanager
    async def slot(self, patience: float | None = None) -> AsyncIterator[float]:
        """Hold one of the places in flight; yields the seconds that were waited for it.

        Args:
            patience: Seconds to wait for it at most; None waits as long as it takes.

        Raises:
            NoPlaceError: When there was none in that time.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        if not self._free(start):
            try:
                async with asyncio.timeout(patience):
                    await self._place()
            except BaseException as error:
                # Its turn may have come, at this moment or before a pause: it is the next one's.
                self._wake()
                if isinstance(error, TimeoutError):
                    raise NoPlaceError from None
                raise
        self.in_flight += 1
        try:
            yield loop.time() - start
        finally:
            self.in_flight -= 1
            self._wake()

    def _free(self, now: float) -> bool:
        return now >= self._until and (self.limit is None or self.in_flight < int(self.limit))

    async def _place(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._free(loop.time()):
            pause = self._until - loop.time()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.append(turn)
            await turn

    def slow_down(self, seconds: float) -> None:
        """The service had too many: halve what is in flight, start nothing for `seconds`."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._until:
            # One complaint a pause: all that were in flight together complain together.
            self._ceiling = max(self._ceiling, self.in_flight)
            self.limit = max(1.0, self.in_flight * BACK_OFF)
        self._until = max(self._until, loop.time() + seconds)

    def went_well(self) -> None:
        """A good reply came."""
        if self.limit is None:
            return
        self.limit += 1 / self.limit
        if self.limit > self._ceiling:
            # As many as there ever were: the caller's own concurrency is the bound again.
            self.limit = None
            self._ceiling = 0
        self._wake()

    def _wake(self) -> None:
        room = len(self._waiting) if self.limit is None else int(self.limit) - self.in_flight
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1
