"""Reads a request in OpenAI's chat format: one prompt, pictures, a seed. Trusts nothing in it."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core import Picture, UsageError, check_seed

MOST_PICTURES = 64
"""Pictures of one request."""

MOST_PIXELS = 64_000_000
"""Pixels of one request's pictures together: a small file can unpack to gigabytes."""

_DATA_URL = re.compile(r"data:[^,;]*(?:;[^,;]*)*?;base64,", re.IGNORECASE)
_LONGEST_HEAD = 200  # characters in which the comma of a data URL must come

UNSERVED: Mapping[str, tuple[object, ...]] = {
    "tools": (None, []),
    "functions": (None, []),
    "response_format": (None, {"type": "text"}),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "audio": (None,),
    "modalities": (None, ["text"]),
}
"""Fields that would change the shape of the reply, with the values that ask for nothing. Any other
field (temperature, max_tokens, stop, ...) is accepted and has no effect."""


class RequestError(Exception):
    """A request that is answered with an error in OpenAI's format.

    Attributes:
        status: HTTP status.
        text: What is wrong, and what would be right.
        param: The field at fault.
        code: OpenAI's code of the error, if it has one.
    """

    def __init__(
        self, text: str, param: str | None = None, *, status: int = 400, code: str | None = None
    ) -> None:
        """Keep the parts."""
        super().__init__(text)
        self.status = status
        self.text = text
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a chat request asks.

    Attributes:
        model: Name of the model.
        prompt: System messages, then the user's texts, a blank line between messages.
        pictures: The files of the pictures in their order, still encoded.
        seed: The model's seed.
        stream: Whether the reply comes as server-sent events.
        include_usage: Whether a stream ends with the token counts.
    """

    model: str
    prompt: str
    pictures: tuple[bytes, ...]
    seed: int
    stream: bool
    include_usage: bool


def read_request(body: bytes) -> ChatRequest:
    """Return what a request's body asks.

    Raises:
        RequestError: For anything that is no request, or that cannot be served.
    """
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the body is not JSON: {brief(error)}") from None
    if not isinstance(value, dict):
        raise RequestError(f"the body must be a JSON object, not {_kind(value)}")
    model = value.get("model")
    if not isinstance(model, str) or not model:
        raise RequestError("'model' must be the name of a model", "model")
    n = value.get("n")
    if n is not None and (isinstance(n, bool) or n != 1):
        raise RequestError("'n' must be 1: send a request for each reply", "n")
    for field, empty in UNSERVED.items():
        if value.get(field) not in empty:
            raise RequestError(f"{field!r} is not served here: a reply is plain text", field)
    prompt, pictures = _read_messages(value.get("messages"))
    stream, options = value.get("stream"), value.get("stream_options")
    if stream is not None and not isinstance(stream, bool):
        raise RequestError(f"'stream' must be true or false, not {_kind(stream)}", "stream")
    if options is not None and not isinstance(options, dict):
        raise RequestError("'stream_options' must be an object", "stream_options")
    include = (options or {}).get("include_usage") is True
    return ChatRequest(model, prompt, pictures, _seed(value.get("seed")), bool(stream), include)


def to_pictures(files: Sequence[bytes]) -> list[Picture]:
    """Return the pictures of a request. A plain RGB PNG keeps its bytes, and so its digest.

    Raises:
        RequestError: For a file that is no picture, is damaged, or unpacks to too many pixels.
    """
    out: list[Picture] = []
    pixels = 0
    for i, data in enumerate(files):
        try:
            picture = Picture.from_bytes(data, name=f"picture {i + 1}")
        except UsageError as error:
            raise RequestError(brief(error), "messages", code="invalid_image") from None
        pixels += picture.size[0] * picture.size[1]
        if pixels > MOST_PIXELS:
            raise RequestError(
                f"the pictures have more than {MOST_PIXELS} pixels: scale them down",
                "messages",
                code="invalid_image",
            )
        out.append(picture)
    return out


def brief(value: object, length: int = 200) -> str:
    """Return foreign text on one line, cut to `length` characters."""
    text = " ".join(str(value)[: 4 * length].split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _read_messages(messages: object) -> tuple[str, tuple[bytes, ...]]:
    if not isinstance(messages, list) or not messages:
        raise RequestError("'messages' must be a list of at least one message", "messages")
    system: list[str] = []
    user: list[str] = []
    pictures: list[bytes] = []
    for i, message in enumerate(messages):
        where = f"messages[{i}]"
        if not isinstance(message, dict):
            raise RequestError(f"{where} must be an object, not {_kind(message)}", where)
        role = message.get("role")
        if role not in ("system", "developer", "user"):
            raise RequestError(
                f"{where}: the role {brief(repr(role), 40)} is not served: the model answers one "
                "question and keeps no conversation; send system and user messages only",
                f"{where}.role",
            )
        texts = _read_content(message.get("content"), f"{where}.content", pictures)
        if texts is not None:
            (user if role == "user" else system).append(texts)
    if not user and not pictures:
        raise RequestError("there is no message of the user", "messages")
    return "\n\n".join([*system, *user]), tuple(pictures)


def _read_content(content: object, where: str, pictures: list[bytes]) -> str | None:
    """Return a message's text, None without any; its pictures are appended to `pictures`."""
    if isinstance(content, str):
        return _text(content, where)
    if not isinstance(content, list) or not content:
        raise RequestError(f"{where} must be text or a list of parts, not {_kind(content)}", where)
    texts: list[str] = []
    for i, part in enumerate(content):
        spot = f"{where}[{i}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            texts.append(_text(part.get("text"), f"{spot}.text"))
        elif kind == "image_url":
            if len(pictures) == MOST_PICTURES:
                raise RequestError(f"at most {MOST_PICTURES} pictures are taken", spot)
            pictures.append(_picture_bytes(part.get("image_url"), f"{spot}.image_url"))
        else:
            raise RequestError(
                f"{spot}: expected a part of type 'text' or 'image_url', got "
                f"{brief(repr(kind), 40)}",
                spot,
            )
    return "\n".join(texts) if texts else None


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{where} must be text, not {_kind(value)}", where)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError(f"{where} holds half a surrogate pair", where) from None
    return value


def _picture_bytes(value: object, where: str) -> bytes:
    url = value.get("url") if isinstance(value, dict) else None
    if not isinstance(url, str):
        raise RequestError(f'{where} must be an object {{"url": "data:..."}}', where)
    match = _DATA_URL.match(url, 0, _LONGEST_HEAD)
    if match is None:
        raise RequestError(
            f"{where}: only data URLs are taken (data:image/png;base64,...), got "
            f"{brief(repr(url[:60]), 60)}; nothing is fetched from an address or a file",
            f"{where}.url",
            code="invalid_image_url",
        )
    try:
        return base64.b64decode("".join(url[match.end() :].split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(
            f"{where}: the data URL is not base64: {brief(error)}",
            f"{where}.url",
            code="invalid_image_url",
        ) from None


def _seed(value: object) -> int:
    if value is None:
        return 0
    try:
        return check_seed(value)
    except UsageError as error:
        raise RequestError(brief(error), "seed") from None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value"}
    return "null" if value is None else names.get(type(value), "a number")
