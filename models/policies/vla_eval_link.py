"""A connection to a vla-eval model server, driven from a thread of its own.

The messages and their exchange are the package's own ``Connection``; here are the limits that it
does not have.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from ...core import MissingDependencyError
from ...core.text import tamed

T = TypeVar("T")

LARGEST_REPLY = 4 * 2**20
"""Bytes of one message of the server."""

LONGEST_CONNECT = 60.0
"""Seconds until there is a connection and the server has said HELLO."""

CLOSING = 2.0
"""Seconds that a farewell may take."""

LONGEST_TEXT = 240
"""Characters kept of what a server or an exception says."""


class LinkError(Exception):
    """There is no connection, or it is of no use any more."""


class RefusedError(Exception):
    """The server answered with an error; the connection is still good."""


def require_package(purpose: str) -> None:
    """Raise `MissingDependencyError` where the package is not installed."""
    try:
        import vla_eval.connection  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("vla-eval", "vla-eval", purpose) from error


class Link:
    """One session with a server. Not thread-safe.

    Args:
        url: Address, ``ws://`` or ``wss://``.
        timeout: Seconds for one reply.

    Attributes:
        hello: What the server said of itself; empty before `open`.
    """

    def __init__(self, url: str, timeout: float) -> None:
        """Set it up; nothing is sent."""
        self.url = url
        self.timeout = timeout
        self.hello: Mapping[str, Any] = {}
        self._connection: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_open(self) -> bool:
        """Whether the session that `open` began is still there."""
        return self._connection is not None and bool(self._connection.is_connected)

    def open(self, attempts: int = 1) -> None:
        """Connect, with growing pauses between the attempts, and exchange HELLO.

        Raises:
            LinkError: Nobody is there, or what is there is no such server.
        """
        limit = min(self.timeout, LONGEST_CONNECT)
        self.close()
        self._connection = _connection_class()(self.url, timeout=limit, max_retries=attempts)
        try:
            self._run(self._connection.connect(benchmark="vlmfail"))
        except LinkError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise LinkError(_told(error)) from error
        said = self._connection.server_info
        if not isinstance(said, dict):
            self.close()
            raise LinkError("its HELLO holds nothing")
        self.hello = said

    def start(self, task: Mapping[str, Any]) -> None:
        """Begin an episode.

        Raises:
            LinkError: The connection is lost.
        """
        self._guarded(self._connection.start_episode({"task": dict(task)}))

    def end(self) -> None:
        """End an episode; what goes wrong shows at the next one."""
        if self.is_open:
            try:
                self._guarded(self._connection.end_episode({"metrics": {}}))
            except (LinkError, TimeoutError):
                self.close()

    def act(self, observation: Mapping[str, Any]) -> Any:
        """Send an observation and return the payload of the action that answers it.

        Raises:
            RefusedError: The server answers with an error.
            TimeoutError: It does not answer in time; the connection is closed.
            LinkError: The connection is lost, or brought what is no such message; it is closed.
        """
        return self._guarded(self._exchange(observation))

    def close(self) -> None:
        """Say farewell, if there is somebody to say it to; twice is fine."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._run(_farewell(connection))

    def stop(self) -> None:
        """Close, and end the thread; `open` starts another."""
        self.close()
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    async def _exchange(self, observation: Mapping[str, Any]) -> Any:
        from vla_eval.protocol.messages import MessageType

        connection = self._connection
        if not self.is_open:  # the package would connect anew, to a session without this episode
            raise LinkError("the server closed the connection")
        sent = await connection.send(MessageType.OBSERVATION, dict(observation))
        reply = await connection.recv(timeout=self.timeout)
        if reply.type == MessageType.ERROR:
            said = reply.payload.get("error") if isinstance(reply.payload, dict) else None
            text = tamed(said, LONGEST_TEXT) if isinstance(said, str) else "an error without a text"
            raise RefusedError(f"the server: {text}")
        if reply.type != MessageType.ACTION:
            raise LinkError(f"the server sent {reply.type.value!r} where an action was due")
        if reply.seq != sent:  # the package's act() takes another observation's action
            raise LinkError("the server's action answers another observation")
        return reply.payload

    def _guarded(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` within the limit of time; only a server's own error leaves the link open."""
        try:
            return self._run(_limited(work, self.timeout))
        except RefusedError:
            raise
        except TimeoutError as error:
            self.close()
            raise TimeoutError(f"the server did not answer in {self.timeout:g} s") from error
        except LinkError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise LinkError(_told(error)) from error
        except BaseException:
            self.close()  # Ctrl-C: a reply is still due, and nobody would wait for it
            raise

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        # A thread's loop works in a notebook too, where this thread has one that is running.
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(
                target=_drive, args=(self._loop,), name="vla-eval link", daemon=True
            ).start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _drive(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _limited(work: Coroutine[Any, Any, T], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await work


async def _farewell(connection: Any) -> None:
    try:
        async with asyncio.timeout(CLOSING):
            await connection.close()
    except Exception:
        return  # it is gone, or does not answer: there is nobody to tell


def _told(error: BaseException) -> str:
    """Return the exception that says most, in one line: the first of its causes."""
    deepest = error
    for _ in range(10):
        cause = deepest.__cause__
        if cause is None:
            break
        deepest = cause
    if isinstance(deepest, TimeoutError):
        return "it does not answer"
    said = tamed(str(deepest), LONGEST_TEXT)
    return f"{type(deepest).__name__}: {said}" if said else type(deepest).__name__


@functools.cache
def _connection_class() -> Any:
    """Return the package's connection, with a limit on what a server may send."""
    import anyio
    from vla_eval.connection import Connection
    from vla_eval.protocol.messages import unpack_message

    class BoundedConnection(Connection):  # type: ignore[misc]
        """Reads messages of `LARGEST_REPLY` bytes at most, and no pictures."""

        async def _connect_with_backoff(self) -> None:
            await super()._connect_with_backoff()
            protocol = self._ws.protocol
            # The name before and since websockets 16.
            protocol.max_size = protocol.max_message_size = LARGEST_REPLY

        async def recv(self, *, timeout: float | None = None) -> Any:
            with anyio.fail_after(timeout):
                data = await self._ws.recv()
            if not isinstance(data, bytes) or len(data) > LARGEST_REPLY:
                raise LinkError("the server sent what is no message of its protocol")
            if b"__image__" in data:  # the codec would open any file that Pillow knows
                raise LinkError("the server sent a picture where an action was due")
            try:
                return unpack_message(data)
            except Exception as error:
                raise LinkError("the server sent what is no message of its protocol") from error

    return BoundedConnection
