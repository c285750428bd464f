"""A model behind an OpenAI-compatible endpoint: the web application of ``vlmfail serve``."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from ..core import VLM, MissingDependencyError
from .replies import checked_reply, fault
from .serving_replies import completion, error_body, events
from .serving_requests import ChatRequest, RequestError, brief, read_request, to_pictures

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_BODY = 64 * 2**20
"""Bytes of one request."""

LARGEST_HELD = 512 * 2**20
"""Bytes of all requests that are being read or answered."""

SILENCE = 60.0
"""Seconds after which a client that stopped in the middle of its request is given up."""

_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
_LOOPBACK_ORIGIN = re.compile(rf"https?://{_LOOPBACK.pattern}", re.IGNORECASE)


def make_app(
    model: VLM, *, name: str, concurrency: int = 4, largest_body: int = LARGEST_BODY
) -> Starlette:
    """Return `model` as a web application in OpenAI's format.

    ``POST /v1/chat/completions``, ``GET /v1/models``, ``GET /v1/models/NAME``, ``GET /health``.
    It answers requests to a loopback host only, and none of a web page from elsewhere.

    Args:
        model: What answers; thread-safe when `concurrency` is above 1.
        name: The model's name in requests.
        concurrency: Requests that the model answers at a time; others wait.
        largest_body: Bytes that a request may have.

    Raises:
        MissingDependencyError: Without the package ``starlette``.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.middleware import Middleware
        from starlette.responses import JSONResponse
        from starlette.routing import Route
    except ImportError as error:
        raise MissingDependencyError("starlette", "serve", "serving a model") from error

    chat = _Chat(model, name, concurrency, largest_body)
    row = {"id": name, "object": "model", "created": 0, "owned_by": "vlmfail"}

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [row]})

    async def one_model(request: Request) -> Response:
        chat.check_name(request.path_params["name"])
        return JSONResponse(row)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "model": name})

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, RequestError):
            return JSONResponse(error_body(error), status_code=error.status)
        if not isinstance(error, HTTPException):
            bug = RequestError("the server failed", status=500)
            return JSONResponse(error_body(bug), status_code=500)
        text = (
            f"{request.method} {brief(request.url.path)} is not served here: there is "
            "POST /v1/chat/completions, GET /v1/models and GET /health"
        )
        unserved = RequestError(text, status=error.status_code)
        return JSONResponse(error_body(unserved), status_code=error.status_code)

    app = Starlette(
        routes=[
            Route("/v1/chat/completions", chat.answer, methods=["POST"]),
            Route("/v1/models", models),
            Route("/v1/models/{name:path}", one_model),
            Route("/health", health),
        ],
        middleware=[Middleware(LoopbackOnly)],
        exception_handlers={RequestError: refused, HTTPException: refused, Exception: refused},
    )
    app.router.redirect_slashes = False
    return app


class LoopbackOnly:
    """Refuses what a web page could send: foreign Host (DNS rebinding), foreign Origin."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        """Guard `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None
        error = _foreign(scope["headers"])
        if error is None:
            return await self.app(scope, receive, send)
        from starlette.responses import JSONResponse

        await JSONResponse(error_body(error), status_code=error.status)(scope, receive, send)
        return None


def _foreign(headers: list[tuple[bytes, bytes]]) -> RequestError | None:
    """Return why a request with these headers is refused, if it is."""
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(hosts) != 1 or _LOOPBACK.fullmatch(hosts[0]) is None:
        said = brief(repr(hosts[0]), 80) if hosts else "nothing"
        return RequestError(
            f"the Host header says {said}: this server answers to 127.0.0.1 and localhost only",
            status=403,
            code="foreign_host",
        )
    for name, value in headers:
        if name == b"origin" and _LOOPBACK_ORIGIN.fullmatch(value.decode("latin-1")) is None:
            return RequestError(
                "requests of web pages from elsewhere are refused",
                status=403,
                code="foreign_origin",
            )
    return None


class _Chat:
    """``POST /v1/chat/completions``."""

    def __init__(self, model: VLM, name: str, concurrency: int, largest_body: int) -> None:
        self.model = model
        self.name = name
        self.largest = largest_body
        self.held = 0
        self.threads = _Threads(concurrency)

    def check_name(self, name: str) -> None:
        if name != self.name:
            raise RequestError(
                f"there is no model {brief(repr(name), 80)} here: there is {self.name!r}",
                "model",
                status=404,
                code="model_not_found",
            )

    async def answer(self, request: Request) -> Response:
        from starlette.responses import JSONResponse, Response

        asked, size = await self._read(request)
        try:
            self.check_name(asked.model)
            whole = await self._ask(request, asked)
        finally:
            self.held -= size
        if asked.stream:
            told = events(whole, include_usage=asked.include_usage)
            return Response(told, media_type="text/event-stream")
        # ASCII alone, so that any text of a model can be sent.
        return Response(json.dumps(whole), media_type=JSONResponse.media_type)

    async def _read(self, request: Request) -> tuple[ChatRequest, int]:
        """Return the request and the bytes it counts for in `held`."""
        said = request.headers.get("content-length", "")
        if said.isdigit() and (len(said) > 15 or int(said) > self.largest):
            raise self._too_large()
        body = bytearray()
        try:
            async for piece in _pieces(request):
                if len(body) + len(piece) > self.largest:
                    raise self._too_large()
                if self.held + len(piece) > LARGEST_HELD:
                    raise RequestError(
                        "too many large requests at once: try again", status=503, code="overloaded"
                    )
                self.held += len(piece)
                body += piece
            asked = await asyncio.to_thread(read_request, bytes(body))
        except BaseException:
            self.held -= len(body)
            raise
        return asked, len(body)

    def _too_large(self) -> RequestError:
        return RequestError(
            f"the request is larger than {self.largest} bytes", status=413, code="too_large"
        )

    async def _ask(self, request: Request, asked: ChatRequest) -> dict[str, Any]:
        """Ask in a thread of the model's; a client that left while it waited is not answered."""
        future = self.threads.submit(lambda: _answer(self.model, asked))
        work = asyncio.wrap_future(future)
        gone = asyncio.create_task(_disconnected(request))
        try:
            either: list[asyncio.Future[Any]] = [work, gone]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                raise RequestError("the client has gone", status=499)
            return work.result()
        except asyncio.CancelledError:
            raise RequestError("the server is ending", status=503) from None
        finally:
            gone.cancel()
            future.cancel()


def _answer(model: VLM, asked: ChatRequest) -> dict[str, Any]:
    """Return the model's reply in OpenAI's format.

    Raises:
        RequestError: For pictures that cannot be read (400) or a model that fails (500).
    """
    pictures = to_pictures(asked.pictures)
    try:
        reply = checked_reply(model.answer(pictures, asked.prompt, seed=asked.seed))
    except BaseException as error:
        raise RequestError(
            f"the model failed: {brief(fault(error), 300)}", status=500, code="model_error"
        ) from None
    if reply.finish_reason in ("error", "timeout"):
        raise RequestError(
            f"the model gave no answer ({reply.finish_reason}): {brief(reply.text, 300)}",
            status=504 if reply.finish_reason == "timeout" else 500,
            code="model_error",
        )
    return completion(asked, reply, created=int(time.time()))


async def _pieces(request: Request) -> Any:
    """Yield a body as it comes.

    Raises:
        RequestError: When the client stops in the middle.
    """
    from starlette.requests import ClientDisconnect

    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(SILENCE):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise RequestError("the request did not come to its end", status=408) from None
        except ClientDisconnect:
            raise RequestError("the client has gone", status=499) from None
        yield piece


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Threads:
    """A pool of daemon threads: a model that hangs cannot keep the process from ending."""

    def __init__(self, number: int) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        for i in range(number):
            threading.Thread(target=self._run, name=f"vlmfail-serve-{i}", daemon=True).start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Return the future of `work`; cancelled before its turn it is not begun."""
        future: Future[T] = Future()
        self._work.put((future, work))
        return future

    def _run(self) -> None:
        while True:
            future, work = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, work
