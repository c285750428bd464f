"""``python -m vlmfail.models.policies.serve_vla_eval``: a policy behind vla-eval's protocol."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any

from ...core import EnvironmentFault, UsageError, VLMFailError
from .registry import make_policy
from .vla_eval_link import require_package

HOST = "127.0.0.1"


def serve(policy: str, port: int = 0, as_json: bool = False) -> None:
    """Serve `policy` on 127.0.0.1 until Ctrl-C or SIGTERM.

    Args:
        policy: A name, ``prefix:REST`` or ``file.py:Name``, of which each session gets its own.
        port: Port; 0 takes a free one.
        as_json: Print one JSON object, ``{"url": ..., "policy": ...}``, once it listens.

    Raises:
        MissingDependencyError: Without the package ``vla-eval``.
        UsageError: The policy needs what no picture shows, or a wrong port.
        EnvironmentFault: The port is taken.
    """
    require_package("serving a policy")
    if not 0 <= port <= 65535:
        raise UsageError(f"port: expected a number from 0 to 65535, got {port}")
    first = make_policy(policy)
    if getattr(first, "privileged", False):
        raise UsageError(
            f"{policy!r} needs the world's true state, which no server gets: serve a policy that "
            "looks at pictures"
        )
    import anyio

    from .vla_eval_server import PolicyServer

    server = PolicyServer(lambda: make_policy(policy), first.name)
    try:
        anyio.run(_until_told, server, port, as_json)
    except* OSError as group:
        raise EnvironmentFault(f"port {port} cannot be served: {group.exceptions[0]}") from group


async def _until_told(server: Any, port: int, as_json: bool) -> None:
    import anyio
    from vla_eval.model_servers.serve import serve_async

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            bound = await group.start(serve_async, server, HOST, port)
            url = f"ws://{HOST}:{bound}"
            said = f"{server.name} acts at {url}, until Ctrl-C. Try: --model vla-eval:{url}"
            line = json.dumps({"url": url, "policy": server.name}) if as_json else said
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            async for _ in signals:
                group.cancel_scope.cancel()
                break


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m vlmfail.models.policies.serve_vla_eval",
        description="Serve a policy to vla-eval's clients on 127.0.0.1, until Ctrl-C.",
    )
    parser.add_argument("--policy", required=True, help="a name or path/to/file.py:Name")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 takes a free one")
    parser.add_argument("--json", action="store_true", help="print one JSON object once it listens")
    given = parser.parse_args(arguments)
    try:
        serve(given.policy, given.port, given.json)
    except VLMFailError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
