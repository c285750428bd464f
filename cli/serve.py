"""`vlmfail serve`: a model behind an OpenAI-compatible endpoint on this machine."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from .console import emit, reserved_stdout, say


def serve(
    model: Annotated[
        str, typer.Argument(help="Model: a name of `vlmfail list`, prefix:MODEL or file.py:Name.")
    ],
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 8000,
    concurrency: Annotated[
        int, typer.Option(min=1, max=1024, help="Requests answered at a time; others wait.")
    ] = 4,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object once it listens.")
    ] = False,
) -> int:
    """Serve a model to other programs in OpenAI's format, on 127.0.0.1 alone, until Ctrl-C."""
    from ..models.registry import make_model
    from ..models.serving import make_app
    from ..models.serving_server import HOST, bind, run

    with reserved_stdout():
        made = make_model(model)
        app = make_app(made, name=made.name, concurrency=concurrency)
    sock = bind(port)
    url = f"http://{HOST}:{sock.getsockname()[1]}/v1"
    with contextlib.ExitStack() as stack:

        def ready() -> None:
            if as_json:
                emit({"url": url, "model": made.name})
            else:
                say(
                    f"{made.name} answers at {url}, until Ctrl-C. "
                    f"Try: curl {url}/models, or OPENAI_BASE_URL={url} OPENAI_API_KEY=none"
                )
            # From here on the model may print: stdout has said what it had to say.
            stack.enter_context(reserved_stdout())

        run(app, sock, ready)
    return 0
