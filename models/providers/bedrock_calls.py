"""boto3's blocking calls: each in a thread of its own, cut off at the deadline, bounded in size."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .reply_bodies import MOST_BYTES, ReplyTooLargeError

_thread = threading.local()


class Call:
    """One request, made in a thread, whose connection can be closed from outside."""

    def __init__(self) -> None:
        """Begin without a connection."""
        self.socket: socket.socket | None = None
        self.over = False

    def took(self, connection: socket.socket) -> None:
        """Note the connection that the request goes over.

        Raises:
            ConnectionAbortedError: When the call's time was over before it was sent.
        """
        self.socket = connection
        if self.over:
            raise ConnectionAbortedError("the request's time is over")

    def end(self) -> None:
        """Send nothing any more, and wait for nothing: the thread ends at once."""
        # In this order: a connection that is made at this moment sees either this or the other.
        self.over = True
        if self.socket is not None:
            with contextlib.suppress(OSError):
                # TLS's own way of ending would change what the other thread reads from.
                socket.socket.shutdown(self.socket, socket.SHUT_RDWR)


class _Noted:
    """Beside a connection's class: tells the thread's call which socket it uses."""

    sock: Any

    def connect(self) -> Any:
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
            call.took(self.sock)


class _Whole:
    """A body that has been read, in the form in which botocore takes one."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._body


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
        except BaseException:
            response.raw.close()
            raise
        headers = response.headers
        return type(response)(response.url, response.status_code, headers, _Whole(bytes(body)))

    def close(self) -> None:
        self._session.close()


def bound(client: Any) -> None:
    """Make a boto3 client's calls end at `Call.end`, and above `MOST_BYTES` of a reply."""
    client._endpoint.http_session = _Session(client._endpoint.http_session)


async def in_thread(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run a blocking call in a thread that outlives neither the process nor its deadline.

    A pool's threads would: they are waited for at exit, and a hung request cannot be ended.
    Cancelled, it closes the request's connection, so that never more requests are in flight than
    there are calls waited for.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[dict[str, Any]] = loop.create_future()
    call = Call()

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
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="vlmfail-bedrock", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        call.end()
        raise
