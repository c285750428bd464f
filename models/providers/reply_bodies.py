"""A reply's body: how large it may be, how it is decoded and parsed, how much of it is kept."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from .taming import tamed

MOST_BYTES = 16 << 20
"""Bytes of one reply after decoding; more is no answer to a question, and none of it is used."""

MOST_PICTURE_BYTES = 160 << 20
"""The same of a reply with a picture: 36 million pixels that do not compress, as base64 text."""

ENCODINGS = "gzip, deflate"
"""What a server may compress a reply with; both can be decoded by steps of a known size."""

STEP = 1 << 18
"""Bytes decoded at once, before the event loop has its turn."""

MOST_CHARACTERS, MOST_VALUES, MOST_LEVELS = 1 << 20, 20_000, 64
"""Bounds of an ordinary reply; of a larger one a part is kept in records."""

CUT = "[cut]"


class ReplyTooLargeError(Exception):
    """A reply of more bytes than are read; reading it was given up there."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """Say the limit, `most` bytes."""
        super().__init__(f"the reply is larger than {most >> 20} MiB: it was not read to its end")


class UnreadableReplyError(Exception):
    """A reply that is no JSON, cut short, or compressed in a way that nobody asked for."""


def cut_off(said: str) -> UnreadableReplyError:
    """Return what to raise for a connection that ended within a reply's body."""
    return UnreadableReplyError(f"the reply was cut: {tamed(said, 200)}")


class Decoder:
    """Undoes ``Content-Encoding`` by steps of at most `STEP` bytes, however small their source."""

    def __init__(self, encoding: str) -> None:
        """Take the header's value.

        Raises:
            UnreadableReplyError: For an encoding that was not asked for, several in a row included.
        """
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise UnreadableReplyError(
                f"the reply's encoding is {tamed(name, 40)!r}, asked for were {ENCODINGS}"
            )
        # 32 + the window's bits: with either header.
        self._inflate = None if name in ("", "identity") else zlib.decompressobj(32 + 15)
        self._begun = False

    def parts(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to.

        Raises:
            UnreadableReplyError: When it is not in the encoding.
        """
        if self._inflate is None:
            yield data
            return
        part = b""
        # A full step may have left more inside although its source is used up.
        while data or len(part) == STEP:
            try:
                part = self._inflate.decompress(data, STEP)
            except zlib.error as error:
                if self._begun:
                    raise UnreadableReplyError(f"the reply cannot be decoded: {error}") from error
                # Some servers send deflated data without its header.
                self._begun, self._inflate = True, zlib.decompressobj(-15)
                continue
            self._begun = True
            data = self._inflate.unconsumed_tail
            yield part


@functools.cache
def bounded_client(kind: Any, most: int = MOST_BYTES) -> Any:
    """Return a class of HTTP client like `kind` whose replies are never above `most` bytes.

    Args:
        kind: An asynchronous client of httpx or of its fork, whichever the SDK is built on.
        most: Bytes of a good reply after decoding; words about a fault have `MOST_BYTES`.
    """

    class BoundedClient(kind):  # type: ignore[misc]
        """Reads each reply itself, and hands it over whole, decoded and closed."""

        def __init__(self, *, connect: float, **options: Any) -> None:
            """Make a client like `kind`.

            Args:
                connect: Seconds until there is a connection, whatever timeout a request has.
                **options: As `kind` takes them.
            """
            super().__init__(**options)
            self._connect = connect

        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            """Send `request`.

            Raises:
                ReplyTooLargeError: The connection is closed then.
                UnreadableReplyError: When the body ends too early or, in a good reply, cannot be
                    decoded.
            """
            request.headers["Accept-Encoding"] = ENCODINGS
            timeouts = request.extensions.get("timeout", {})
            request.extensions["timeout"] = {**timeouts, "connect": self._connect}
            response = await super().send(request, stream=True, **options)
            try:
                bound = most if response.status_code < 400 else min(most, MOST_BYTES)
                body = await _whole(response, bound)
            except UnreadableReplyError as error:
                if response.status_code < 400:
                    raise
                body = json.dumps({"error": {"message": str(error)}}).encode()  # the status counts
            except Exception as error:
                kinds = {base.__name__ for base in type(error).__mro__}
                if "TransportError" not in kinds or "TimeoutException" in kinds:
                    raise
                # Without its cause, by which it would pass for a server that is not there.
                raise cut_off(str(error)) from None
            finally:
                await response.aclose()
            plain = type(response)(
                response.status_code,
                headers=[
                    (name, value)
                    for name, value in response.headers.raw
                    if name.lower()
                    not in (b"content-encoding", b"content-length", b"transfer-encoding")
                ],
                content=body if response.status_code < 400 else told(body),
                request=response.request,
                extensions=response.extensions,
                history=response.history,
            )
            # JSON is UTF-8. The header's charset may name a codec that unpacks, as zlib does.
            plain.encoding = "utf-8"
            plain.elapsed = response.elapsed
            return plain

    return BoundedClient


async def _whole(response: Any, most: int) -> bytes:
    decoder = Decoder(response.headers.get("content-encoding", ""))
    body, came = bytearray(), 0
    async for data in response.aiter_raw():
        came += len(data)  # which may decode to nothing
        for part in decoder.parts(data):
            body += part
            if max(came, len(body)) > most:
                raise ReplyTooLargeError(most)
            if len(part) >= STEP:
                await asyncio.sleep(0)
    return bytes(body)


def told(body: bytes) -> bytes:
    """Return an error's body, as words in JSON where it breaks whoever parses it.

    The SDKs expect JSON or other text; over what is too deep or no text they lose the status.
    """
    try:
        json.loads(body)
    except json.JSONDecodeError:
        return body
    except (ValueError, RecursionError):  # bytes that are no text among them
        message = tamed(body[:8000].decode("utf-8", "replace"))
        return json.dumps({"error": {"message": message}}).encode()
    return body


def parsed(content: bytes | str | None) -> dict[str, Any]:
    """Return a body's JSON; what is no object is put into one as ``reply``.

    Raises:
        UnreadableReplyError: For what is no JSON.
    """
    if not content:
        raise UnreadableReplyError("the reply is empty")
    try:
        raw = json.loads(content)
    except (ValueError, RecursionError) as error:
        said = tamed(str(error), 200)
        raise UnreadableReplyError(f"the reply is no JSON: {said}") from error
    return raw if isinstance(raw, dict) else {"reply": raw}


def ordinary(raw: Any) -> bool:
    """Return whether JSON values are no larger and no deeper than an answer's ever are.

    Takes no longer than such a reply, however large `raw` is.
    """
    characters = values = 0
    waiting: list[tuple[Any, int]] = [(raw, 0)]
    while waiting:
        value, level = waiting.pop()
        values += 1
        inner: Any = ()
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, int):
            characters += value.bit_length() // 3
        elif isinstance(value, Mapping):
            characters += sum(len(name) for name in itertools.islice(value, MOST_VALUES))
            inner = value.values()
        elif isinstance(value, (list, tuple)):
            inner = value
        if inner and (level >= MOST_LEVELS or len(inner) + values > MOST_VALUES):
            return False
        if characters > MOST_CHARACTERS or values > MOST_VALUES:
            return False
        waiting.extend((item, level + 1) for item in inner)
    return True


def kept(raw: Any) -> Any:
    """Return JSON values as records keep them: the same, or a part of those beyond all measure."""
    return raw if ordinary(raw) else _cut(raw, 0, [MOST_CHARACTERS // 4])


def _cut(value: Any, level: int, room: list[int]) -> Any:
    room[0] -= 8
    if room[0] <= 0 or level > MOST_LEVELS // 2:
        return CUT
    if isinstance(value, str):
        piece = value[: min(20_000, room[0])]
        room[0] -= len(piece)
        return piece if len(piece) == len(value) else piece + CUT
    if isinstance(value, int):
        return value if value.bit_length() <= 64 else CUT
    if isinstance(value, Mapping):
        some = itertools.islice(value.items(), 200)
        result = {str(name)[:200]: _cut(item, level + 1, room) for name, item in some}
        return result if len(value) <= 200 else {**result, CUT: len(value) - 200}
    if isinstance(value, (list, tuple)):
        items = [_cut(item, level + 1, room) for item in itertools.islice(value, 200)]
        return items if len(value) <= 200 else [*items, CUT]
    return value


def wrong_shape(content: Any, name: str = "text") -> bool:
    """Return whether what should be a list of blocks is not: None and an empty list are one.

    Args:
        content: As the reply has it.
        name: The field of a block that holds its text.
    """
    if content is None:
        return False
    if not isinstance(content, list):
        return True
    return any(
        not isinstance(block, dict) or not isinstance(block.get(name, ""), str) for block in content
    )
