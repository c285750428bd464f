"""A picture service of our own making on loopback, driven by the official SDKs.

```python
with PictureServer([PictureAnswer(), Failed(429)]) as server:
    spec = f"openai-image:m@{server.url}/v1"  # or f"google-image:m@{server.url}"
```

It speaks OpenAI's ``POST /v1/images/generations`` and Google's ``:generateContent`` with pictures.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np

from ..core import Picture
from ..core.seeding import key_words

PictureFormat = Literal["openai", "google"]


@dataclass(frozen=True)
class PictureOrder:
    """A request that reached the server.

    Attributes:
        n: Its number in order of arrival, from 0.
        format: Whose format it is in.
        model: The model it asks for.
        headers: Names in lower case.
        body: The bytes as they came.
    """

    n: int
    format: PictureFormat
    model: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @cached_property
    def json(self) -> Any:
        """The body as JSON values."""
        return json.loads(self.body)

    @property
    def prompt(self) -> str:
        """The words that it sends."""
        if self.format == "openai":
            return str(self.json["prompt"])
        return str(self.json["contents"][0]["parts"][-1]["text"])

    @property
    def seed(self) -> int | None:
        """The seed that it sends, if any."""
        found = self.json if self.format == "openai" else self.json.get("generationConfig", {})
        return found.get("seed") if isinstance(found.get("seed"), int) else None


@dataclass(frozen=True, slots=True)
class PictureAnswer:
    """A reply with a picture, in the format of whichever service is called.

    Attributes:
        data: The picture's file; None draws one of noise that is another for every request.
        text: Words beside the picture.
        finish: Google's finish reason.
        picture: Whether there is a picture at all.
        usage: Whether tokens are told: 40 in, 1290 out.
        delay: Seconds before the reply.
    """

    data: bytes | None = None
    text: str = ""
    finish: str = "STOP"
    picture: bool = True
    usage: bool = True
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Failed:
    """An error.

    Attributes:
        code: HTTP status.
        body: The body's JSON values; the provider's usual shape by default.
        headers: Sent beside the usual ones.
    """

    code: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Any body with status 200."""

    body: Any


PictureStep: TypeAlias = PictureAnswer | Failed | Verbatim
PictureScript: TypeAlias = Callable[[PictureOrder], PictureStep]


def noise_png(name: str, size: tuple[int, int] = (64, 48)) -> bytes:
    """Return a picture of noise that `name` decides."""
    rng = np.random.default_rng(key_words(name))
    width, height = size
    return Picture.from_pixels(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).png


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up: tests make them do it."""


class PictureServer:
    """Serves a script on 127.0.0.1, a thread a connection.

    Attributes:
        url: ``http://127.0.0.1:PORT``.
        orders: What has arrived so far.
        strays: Paths of requests that belong to no service, answered 404.
    """

    def __init__(self, script: PictureScript | Sequence[PictureStep] | PictureStep) -> None:
        """Start serving.

        Args:
            script: A function of the request, or steps in order of arrival, the last one for all
                that follow.
        """
        self._script = script
        self._lock = threading.Lock()
        self.orders: list[PictureOrder] = []
        self.strays: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                code, reply, more = outer._answer(self.path, headers, body)
                self.send_response(code)
                for name, value in {"Content-Type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    @property
    def count(self) -> int:
        """How many requests have arrived."""
        return len(self.orders)

    def close(self) -> None:
        """Stop; twice is fine."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> PictureServer:
        """Return the running server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _answer(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes, Mapping[str, str]]:
        plain = path.partition("?")[0]
        form: PictureFormat
        if plain.endswith("/images/generations"):
            form, model = "openai", ""
        elif plain.endswith(":generateContent"):
            form, model = "google", plain.rpartition("/")[2].partition(":")[0]
        else:
            self.strays.append(path)
            return 404, b'{"error": {"message": "nothing is served here"}}', {}
        with self._lock:
            order = PictureOrder(len(self.orders), form, model, headers, body)
            if form == "openai":
                order = PictureOrder(order.n, form, str(order.json.get("model")), headers, body)
            self.orders.append(order)
        script = self._script
        if callable(script):
            step = script(order)
        else:
            steps = (script,) if isinstance(script, PictureStep) else tuple(script)
            step = steps[min(order.n, len(steps) - 1)]
        if isinstance(step, Failed):
            wrong = step.body if step.body is not None else _error(form, step.code)
            return step.code, _encoded(wrong), step.headers
        if isinstance(step, Verbatim):
            return 200, _encoded(step.body), {}
        time.sleep(step.delay)
        return 200, _encoded(_reply(form, step, order)), {}


def _encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _reply(form: PictureFormat, step: PictureAnswer, order: PictureOrder) -> dict[str, Any]:
    data = step.data if step.data is not None else noise_png(f"{order.prompt}/{order.n}")
    text = base64.b64encode(data).decode()
    if form == "openai":
        reply: dict[str, Any] = {"created": 1, "data": [{"b64_json": text}] if step.picture else []}
        if step.usage:
            reply["usage"] = {
                "input_tokens": 40,
                "output_tokens": 1290,
                "total_tokens": 1330,
                "input_tokens_details": {"text_tokens": 40, "image_tokens": 0},
            }
        return reply
    parts: list[dict[str, Any]] = [{"text": step.text}] if step.text else []
    if step.picture:
        parts.append({"inlineData": {"mimeType": "image/png", "data": text}})
    reply = {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": step.finish, "index": 0}
        ],
        "modelVersion": order.model,
    }
    if step.usage:
        reply["usageMetadata"] = {
            "promptTokenCount": 40,
            "candidatesTokenCount": 1290,
            "totalTokenCount": 1330,
        }
    return reply


def _error(form: PictureFormat, code: int) -> dict[str, Any]:
    if form == "openai":
        return {"error": {"message": f"error {code}", "type": "server_error", "code": None}}
    return {"error": {"code": code, "message": f"error {code}", "status": "INTERNAL"}}
