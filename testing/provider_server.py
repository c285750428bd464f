"""A provider of our own making on loopback: speaks four wire formats, follows a script, counts.

```python
with ProviderServer([Status(429, retry_after=0.2), Answer("B")]) as server:
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0)
```

Base URLs: OpenAI ``url + "/v1"``, the others ``url``. For a benchmark it runs as a process of its
own, ``python -m vlmfail.testing.provider_server --delay 0.2``, which prints its URL as one line of
JSON; ``GET /stats`` tells its counts, ``POST /reset`` zeroes them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, TypeAlias
from urllib.parse import unquote

from ..core import MissingDependencyError
from .provider_errors import encoded, error_reply
from .provider_formats import answer_body, answer_headers
from .provider_steps import (
    Answer,
    Cut,
    Hang,
    Provider,
    Raw,
    Reset,
    Sent,
    ServedRequest,
    Status,
    Step,
    Trickle,
)

__all__ = [
    "Answer",
    "Cut",
    "Hang",
    "Provider",
    "ProviderServer",
    "Raw",
    "Reset",
    "Script",
    "ServedRequest",
    "Status",
    "Step",
    "Trickle",
    "provider_process",
    "steady",
]

Script: TypeAlias = Callable[[ServedRequest], Step]

_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]+)"')
_GOOGLE = re.compile(r"/models/([^/:]+):generateContent$")
_BEDROCK = re.compile(r"/model/([^/]+)/converse$")


def endpoint(path: str) -> tuple[Provider, str] | None:
    """Return the provider whose path this is, with the model if the path names it."""
    plain = path.partition("?")[0]
    if plain.endswith("/chat/completions"):
        return "openai", ""
    if plain.endswith("/v1/messages"):
        return "anthropic", ""
    if found := _GOOGLE.search(plain):
        return "google", unquote(found[1])
    if found := _BEDROCK.search(plain):
        return "bedrock", unquote(found[1])
    return None


def steady(
    *, delay: float = 0.0, error_share: float = 0.0, seed: int = 0, error: Step | None = None
) -> Script:
    """Return a script that always answers, but for a share of requests.

    Whether a request errs depends on `seed` and its number alone.

    Args:
        delay: Seconds before each reply.
        error_share: Share of errors, 0 to 1.
        seed: Which requests err.
        error: What they get; HTTP 500 after `delay` if None.
    """
    answer = Answer(delay=delay)
    wrong = error if error is not None else Status(500, delay=delay)

    def script(request: ServedRequest) -> Step:
        drawn = random.Random(f"{seed}:{request.n}").random() if error_share else 1.0
        return wrong if drawn < error_share else answer

    return script


class ProviderServer:
    """Serves a script on 127.0.0.1, on an event loop in a thread of its own.

    Attributes:
        url: ``http://127.0.0.1:PORT``.
        strays: Method and path of requests that belong to no provider, answered 404.
    """

    def __init__(
        self,
        script: Script | Sequence[Step] | Step,
        *,
        port: int = 0,
        keep_bodies: bool = True,
        gather: int = 0,
    ) -> None:
        """Start serving.

        Args:
            script: What each request gets: a function of the request, called in the server's
                thread; or steps in order of arrival, the last one for all that follow.
            port: 0 takes a free one.
            keep_bodies: False drops each body once the script has seen it.
            gather: The first replies wait until so many requests are in flight, however slow the
                machine is; a minute at most.

        Raises:
            MissingDependencyError: Without httptools.
        """
        try:
            import httptools
        except ImportError as error:
            raise MissingDependencyError("httptools", "serve", "the scripted provider") from error
        self._parser = httptools
        self._script = _in_order(script)
        self._keep_bodies = keep_bodies
        self._gather = gather
        self._gathered = asyncio.Event()
        self._stopping = asyncio.Event()
        self._error: Exception | None = None
        self._arrived = threading.Condition()
        self._connections: set[_Connection] = set()
        self.strays: list[str] = []
        self._zero()
        self._in_flight = 0
        self._loop = asyncio.new_event_loop()
        self._closed = False
        listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._thread = threading.Thread(
            target=self._run, args=(listener,), name="provider-server", daemon=True
        )
        self._thread.start()

    @property
    def requests(self) -> tuple[ServedRequest, ...]:
        """What has arrived in full so far, in order."""
        return tuple(self._requests)

    @property
    def count(self) -> int:
        """How many requests have arrived in full so far."""
        return len(self._requests)

    @property
    def in_flight(self) -> int:
        """Requests begun and neither answered nor given up at present."""
        return self._in_flight

    @property
    def max_in_flight(self) -> int:
        """The highest number of requests that were in flight at once.

        One whose client hung up stops counting then, even where the server notices the end of one
        connection after the start of the next.
        """
        return self._max_in_flight

    @property
    def hung_up(self) -> int:
        """Requests whose client closed the connection before the reply was out."""
        return self._hung_up

    def stats(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "requests": self.count,
            "in_flight": self._in_flight,
            "max_in_flight": self._max_in_flight,
            "hung_up": self._hung_up,
            "statuses": {str(code): n for code, n in sorted(self._statuses.items())},
        }

    def wait_for(self, count: int, timeout: float = 10.0) -> None:
        """Wait until `count` requests have arrived in full.

        Raises:
            TimeoutError: When they have not within `timeout` seconds.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: self.count >= count, timeout):
                raise TimeoutError(f"{self.count} of {count} requests arrived in {timeout} s")

    def close(self) -> None:
        """Stop at once, hanging requests too; then raise what the script raised, if it did.

        Twice is fine: the second time does nothing.
        """
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> ProviderServer:
        """Return the running server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; the script's error is raised unless another one is on its way."""
        try:
            self.close()
        except Exception:
            if error is None:
                raise

    def _zero(self) -> None:
        self._requests: list[ServedRequest] = []
        self._statuses: Counter[int] = Counter()
        self._max_in_flight = 0
        self._hung_up = 0

    def _run(self, listener: socket.socket) -> None:
        # A listener that nobody accepts from would let its clients wait for ever: it is closed even
        # when `close` comes before the loop's first turn.
        with listener, asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        server = await self._loop.create_server(
            lambda: _Connection(self), sock=listener, backlog=1024
        )
        try:
            await self._stopping.wait()
        finally:
            server.close()
            for connection in tuple(self._connections):
                connection.abort()
            # A turn of the loop more, in which the aborted sockets close.
            await asyncio.sleep(0)

    def _begin(self) -> Callable[[], None]:
        self._in_flight += 1
        seen, hung_up = self._in_flight, self._hung_up
        if seen >= self._gather:
            self._gathered.set()

        def settle() -> None:
            # Ends of connections that came with this request have been read by now.
            counted = seen - (self._hung_up - hung_up)
            self._max_in_flight = max(self._max_in_flight, counted)

        self._loop.call_soon(self._loop.call_soon, settle)
        return settle

    def _end(self, *, hung_up: bool) -> None:
        self._in_flight -= 1
        self._hung_up += hung_up

    def _arrive(
        self, provider: Provider, model: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, Step]:
        request = ServedRequest(
            n=len(self._requests),
            provider=provider,
            model=model,
            path=path,
            headers=headers,
            body=body,
            at=time.monotonic(),
        )
        try:
            step = self._script(request)
            if not isinstance(step, Step):
                raise TypeError(f"the script returned {step!r}, which is no step")
        except Exception as error:
            self._error = self._error or error
            step = Status(500)
        kept = request
        if not self._keep_bodies:
            kept = ServedRequest(request.n, provider, model, path, headers, b"", request.at)
        with self._arrived:
            self._requests.append(kept)
            self._arrived.notify_all()
        return request.n, step

    def _render(self, step: Sent, request: ServedRequest) -> tuple[int, bytes, dict[str, str]]:
        headers = answer_headers(request.provider, request.n)
        try:
            if isinstance(step, Status):
                code, body, own = error_reply(step, request)
            elif isinstance(step, Raw):
                code, body = step.status, encoded(step.body)
                own = {name.lower(): value for name, value in step.headers.items()}
            else:
                reply = answer_body(request.provider, step, request.model, request.n)
                code, body, own = 200, encoded(reply), {}
        except Exception as error:
            self._error = self._error or error
            code, body, own = error_reply(Status(500), request)
        return code, body, {"content-type": "application/json", **headers, **own}


def _in_order(script: Script | Sequence[Step] | Step) -> Script:
    if isinstance(script, Step):
        step = script
        return lambda request: step
    if callable(script):
        return script
    steps = tuple(script)
    if not steps:
        raise ValueError("a script needs at least one step")
    return lambda request: steps[min(request.n, len(steps) - 1)]


def _head(code: int, headers: dict[str, str], length: int) -> bytes:
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else "Unknown"
    lines = [f"HTTP/1.1 {code} {phrase}"]
    named = {"content-length": str(length), **headers}
    lines += [f"{name}: {value}" for name, value in named.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class _Connection(asyncio.Protocol):
    """One connection: requests one after another, each ended before the next is read."""

    def __init__(self, server: ProviderServer) -> None:
        self._server = server
        self._parser: Any = server._parser.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._task: asyncio.Task[None] | None = None
        self._counted = False
        self._settle: Callable[[], None]
        self._clear()

    def _clear(self) -> None:
        self._path = ""
        self._headers: dict[str, str] = {}
        self._chunks: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server._connections.add(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (
            self._server._parser.HttpParserError,
            self._server._parser.HttpParserUpgrade,
        ):
            self._transport.write(_head(400, {"connection": "close"}, 0))
            self._transport.close()

    def eof_received(self) -> bool:
        self._hang_up()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._hang_up()
        self._server._connections.discard(self)
        if self._task is not None:
            self._task.cancel()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def on_url(self, url: bytes) -> None:
        self._path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if endpoint(self._path) is not None:
            self._counted = True
            self._settle = self._server._begin()

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode("latin-1")
        path, headers, body = self._path, self._headers, b"".join(self._chunks)
        keep_alive = self._parser.should_keep_alive()
        self._clear()
        found = endpoint(path)
        if found is None or method != "POST":
            self._end()
            self._aside(method, path)
            return
        provider, model = found
        if not model and (named := _MODEL.search(body)):
            model = named[1].decode("utf-8", "replace")
        n, step = self._server._arrive(provider, model, path, headers, body)
        request = ServedRequest(n, provider, model, path, headers, b"")
        self._task = self._server._loop.create_task(self._perform(step, request, keep_alive))

    def _aside(self, method: str, path: str) -> None:
        server = self._server
        code, reply = 200, server.stats()
        if (method, path) == ("POST", "/reset"):
            server._zero()
        elif (method, path) != ("GET", "/stats"):
            server.strays.append(f"{method} {path}")
            code, reply = 404, {"error": {"message": f"nothing is served at {method} {path}"}}
        body = json.dumps(reply).encode()
        self._transport.write(_head(code, {"content-type": "application/json"}, len(body)) + body)

    async def _perform(self, step: Step, request: ServedRequest, keep_alive: bool) -> None:
        transport = self._transport
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._server._gathered.wait(), 60)
        if isinstance(step, Hang):
            await asyncio.sleep(step.seconds)
            self._end()
            transport.abort()
            return
        if isinstance(step, Reset):
            await asyncio.sleep(step.delay)
            self._end()
            sock = transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
            return
        sent = step.reply if isinstance(step, Trickle | Cut) else step
        if sent.delay:
            await asyncio.sleep(sent.delay)
        code, body, headers = self._server._render(sent, request)
        if not keep_alive:
            headers["connection"] = "close"
        self._server._statuses[code] += 1
        head = _head(code, headers, len(body))
        if isinstance(step, Trickle):
            slow = head + body if step.head else body
            transport.write(head[: len(head) + len(body) - len(slow)])
            for at in range(len(slow)):
                await asyncio.sleep(1 / step.bytes_per_second)
                if at == len(slow) - 1:
                    self._end()
                transport.write(slow[at : at + 1])
            self._end()
        elif isinstance(step, Cut):
            self._end()
            transport.write(head + body[: step.after_bytes])
            transport.close()
        else:
            # Counted as done first: the client may send its next request at once.
            self._end()
            transport.write(head + body)
        if not keep_alive:
            transport.close()

    def _end(self) -> None:
        if self._counted:
            self._counted = False
            # Before the reply is out: whoever reads it may ask for the count at once.
            self._settle()
            self._server._end(hung_up=False)

    def _hang_up(self) -> None:
        if self._counted:
            self._counted = False
            self._server._end(hung_up=True)


@contextlib.contextmanager
def provider_process(
    *, delay: float = 0.0, error_share: float = 0.0, seed: int = 0
) -> Iterator[str]:
    """Run a `steady` server as a process of its own and yield its URL; it ends with the block.

    It also ends when this process does, however that ends. Bodies are not kept.
    """
    command = [sys.executable, "-m", "vlmfail.testing.provider_server", "--until-stdin-ends"]
    command += ["--delay", str(delay), "--error-share", str(error_share), "--seed", str(seed)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield str(json.loads(process.stdout.readline())["url"])
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=10)


def _watch_input(done: threading.Event) -> None:
    # Without sys.stdin: its lock, held by a daemon thread, would spoil the interpreter's end.
    while os.read(0, 4096):
        pass
    done.set()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until a signal ends it; the first line printed is the URL as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m vlmfail.testing.provider_server",
        description="Answer as OpenAI, Anthropic, Google and Bedrock do, on 127.0.0.1.",
    )
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--error-share", type=float, default=0.0, help="share of HTTP 500")
    parser.add_argument("--seed", type=int, default=0, help="which requests err")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--until-stdin-ends", action="store_true", help="stop when standard input closes"
    )
    options = parser.parse_args(arguments)
    script = steady(delay=options.delay, error_share=options.error_share, seed=options.seed)
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    if options.until_stdin_ends:
        # Ctrl-C goes to the whole group; whoever holds the input decides when this ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_watch_input, args=(done,), daemon=True).start()
    else:
        signal.signal(signal.SIGINT, lambda *_: done.set())
    with ProviderServer(script, port=options.port, keep_bodies=False) as server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        done.wait()


if __name__ == "__main__":
    main()
