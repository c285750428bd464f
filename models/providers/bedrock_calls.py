"""boto3's blocking calls: each in a thread of its own, cut off at the deadline, bounded in size."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .reply_bodies import MOST_BYTES, ReplyTooLargeError, cut_off

_thread = threading.local()
_lock = threading.Lock()


class ConnectTimeoutError(Exception):
    """There was no connection in time: no request was sent, and none will be."""


class Call:
    """One request, made in a thread, whose connection can be closed from outside."""

    def __init__(self, connecting: Callable[[], None] | None = None) -> None:
        """Begin without a connection.

        Args:
            connecting: Called when it begins to make one.
        """
        self.connection: Any = None
        self.connected = False
        self.over = False
        self.connecting = connecting or (lambda: None)

    def took(self, connection: Any) -> None:
        """Note the connection that the request goes over, from now on this call's alone.

        Raises:
            ConnectionAbortedError: When the call's time was over before it was sent.
        """
        with _lock:
            if self.over:
                raise ConnectionAbortedError("the request's time is over")
            self.connection = connection
            self.connected = True
            connection.call = self

    def gave_back(self) -> None:
        """Forget the connection: the pool has it again, and the next request may use it."""
        with _lock:
            self.connection = None

    def unconnected(self) -> bool:
        """Return whether it never had a connection; it will get none any more then."""
        with _lock:
            self.over = self.over or not self.connected
            return not self.connected

    def end(self) -> None:
        """Send nothing any more, and wait for nothing: the thread ends at once."""
        with _lock:
            self.over = True
            # It may be another call's already, which took it while this thread was finishing.
            mine = self.connection is not None and self.connection.call is self
            held = self.connection.sock if mine else None
            if held is not None:
                with contextlib.suppress(OSError):
                    # TLS's own way of ending would change what the other thread reads from.
                    socket.socket.shutdown(held, socket.SHUT_RDWR)


class _Noted:
    """Beside a connection's class: tells the thread's call which it uses."""

    sock: Any
    call: Call | None = None

    def connect(self) -> Any:
        call = getattr(_thread, "call", None)
        if call is not None:
            call.connecting()
        result = super().connect()  # type: ignore[misc]
        self._note()
        return result

    def request(self, *parts: Any, **options: Any) -> Any:
        if self.sock is not None:  # kept from an earlier request
            self._note()
        return super().request(*parts, **options)  # type: ignore[misc]

    def _note(self) -> None:
        call = getattr(_thread, "call", None)
        if call is not None:
            call.took(self)


class _Whole:
    """A body that has been read, in the form in which botocore takes one."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._body


CUT = ("ProtocolError", "IncompleteRead", "InvalidChunkLength", "SSLError")
"""urllib3's exceptions for a connection that ends within a body."""


class _Session:
    """In place of botocore's HTTP session: the same requests, replies of a bounded size."""

    def __init__(self, session: Any) -> None:
        self._session = session
        pools = session._pool_classes_by_scheme
        for scheme, pool in list(pools.items()):
            kind = pool.ConnectionCls
            noted = type("Noted" + kind.__name__, (_Noted, kind), {})
            pools[scheme] = type("Noted" + pool.__name__, (pool,), {"ConnectionCls": noted})

    def send(self, request: Any) -> Any:
        request.stream_output = True  # so that the body is left to be read here
        response = self._session.send(request)
        body = bytearray()
        try:
            for part in response.raw.stream(1 << 16):
                body += part
                if len(body) > MOST_BYTES:
                    raise ReplyTooLargeError
        except BaseException as error:
            response.raw.close()
            if type(error).__name__ in CUT:
                raise cut_off(str(error)) from None
            raise
        if response.raw.length_remaining:
            raise cut_off(f"{response.raw.length_remaining} bytes are missing")
        headers = response.headers
        return type(response)(response.url, response.status_code, headers, _Whole(bytes(body)))

    def close(self) -> None:
        self._session.close()


def bound(client: Any) -> None:
    """Make a boto3 client's calls end at `Call.end`, and above `MOST_BYTES` of a reply."""
    client._endpoint.http_session = _Session(client._endpoint.http_session)


async def in_thread(work: Callable[[], dict[str, Any]], connect: float) -> dict[str, Any]:
    """Run a blocking call in a thread that outlives neither the process nor its deadline.

    A pool's threads would: they are waited for at exit, and a hung request cannot be ended.
    Cancelled, it closes the request's connection, so that never more requests are in flight than
    there are calls waited for.

    Args:
        work: The call.
        connect: Seconds until there is a connection, however many addresses are tried for it.

    Raises:
        ConnectTimeoutError: When there was none by then.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[dict[str, Any]] = loop.create_future()
    timers: list[asyncio.TimerHandle] = []

    def no_connection() -> None:
        if not future.done() and call.unconnected():
            said = f"there was no connection within {connect:g} s"
            future.set_exception(ConnectTimeoutError(said))

    def begin() -> None:
        timers.append(loop.call_later(connect, no_connection))

    def connecting() -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(begin)

    call = Call(connecting)

    def settle(result: dict[str, Any] | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result or {})

    def run() -> None:
        _thread.call = call
        result, error = None, None
        try:
            result = work()
        except Exception as raised:
            error = raised
        call.gave_back()
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="vlmfail-bedrock", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        call.end()
        raise
    finally:
        for timer in timers:
            timer.cancel()
