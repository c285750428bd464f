"""Runs the application of a served model on loopback until a signal ends it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import EnvironmentFault, MissingDependencyError, UsageError

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"
"""The only address that is ever bound."""

GRACE = 3
"""Seconds that requests in flight get to end after a signal."""


def bind(port: int) -> socket.socket:
    """Return a socket bound to loopback; port 0 takes a free one.

    Raises:
        UsageError: For a number that is no port.
        EnvironmentFault: When the port is taken or not allowed.
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"a port is a number from 0 to 65535, got {port}")
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere the option would let two servers share a port
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error})"
        raise EnvironmentFault(
            f"port {port} of {HOST} {why}: give another with --port, or --port 0 for a free one"
        ) from error
    return sock


def run(
    app: Starlette,
    sock: socket.socket,
    on_ready: Callable[[], None],
    *,
    purpose: str = "serving a model",
) -> None:
    """Serve `app` on `sock` until SIGINT or SIGTERM; return then.

    Args:
        app: The application of `make_app`.
        sock: A bound socket; closed at the end.
        on_ready: Called once when requests are answered.
        purpose: What it is for, in the text of the error.

    Raises:
        MissingDependencyError: Without the package ``uvicorn``.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependencyError("uvicorn", "serve", purpose) from error

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_ready()

    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = Server(config)

    def stop(*_: Any) -> None:
        server.should_exit = True

    # uvicorn raises the signal again once it has shut down: with this handler that is the end of
    # it, and the caller returns.
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[sock])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        sock.close()
