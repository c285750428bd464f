"""Errors as each provider sends them: status, body and headers."""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import Any

from .provider_error_tables import (
    ERROR_TYPE,
    ERRORS,
    KIND_OF_STATUS,
    RPC,
    Body,
    anthropic_error,
    bedrock_error,
    google_error,
    openai_error,
)
from .provider_steps import Provider, ServedRequest, Status

BEDROCK_NAMESPACE = ":http://internal.amazon.com/coral/com.amazon.bedrock/"
"""What AWS puts behind an error's code in its header."""


def kinds(provider: Provider) -> tuple[str, ...]:
    """Return the kinds of error that `provider` has."""
    return tuple(ERRORS[provider])


def error_reply(status: Status, request: ServedRequest) -> tuple[int, bytes, dict[str, str]]:
    """Return HTTP status, body and headers of an error at the request's provider.

    Raises:
        ValueError: When the provider has no error of this kind.
    """
    provider = request.provider
    table = ERRORS[provider]
    kind = status.kind or KIND_OF_STATUS[provider].get(status.code or 0, "")
    if kind and kind not in table:
        raise ValueError(f"{provider} has no error {kind!r}: there is {', '.join(table)}")
    headers = {"content-type": "application/json"}
    content: Any
    if kind:
        usual, make = table[kind]
        code, content = status.code or usual, make(request)
    else:
        code = status.code or 500
        content = _unlisted(provider, code)
    if isinstance(content, str):
        headers["content-type"] = "text/html"
    else:
        if provider == "anthropic":
            content["request_id"] = f"req_{request.n:024d}"
        if ERROR_TYPE in content:
            headers[ERROR_TYPE] = content.pop(ERROR_TYPE) + BEDROCK_NAMESPACE
    if status.retry_after is not None:
        _say_retry_after(provider, status.retry_after, content, headers)
    body = encoded(content if status.body is None else status.body)
    return code, body, {**headers, **{k.lower(): v for k, v in status.headers.items()}}


def encoded(body: Any) -> bytes:
    """Return JSON values, text or bytes as the bytes that are sent."""
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _unlisted(provider: Provider, code: int) -> Body | str:
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else "Unknown"
    if code >= 500 or code == 413:
        # Answered by the gateway in front of the service, which knows no JSON.
        return f"<html><head><title>{code} {phrase}</title></head></html>"
    if provider == "openai":
        return openai_error(phrase)
    if provider == "anthropic":
        return anthropic_error("invalid_request_error", phrase)
    if provider == "google":
        return google_error(code, "UNKNOWN", phrase)
    return bedrock_error("ValidationException", phrase)


def _say_retry_after(
    provider: Provider, seconds: float, content: Any, headers: dict[str, str]
) -> None:
    if provider == "google" and isinstance(content, dict):
        details = content["error"].setdefault("details", [])
        details[:] = [detail for detail in details if detail["@type"] != RPC + "RetryInfo"]
        details.append({"@type": RPC + "RetryInfo", "retryDelay": f"{seconds:g}s"})
        return
    headers["retry-after"] = str(math.ceil(seconds))
    if provider == "openai":
        headers["retry-after-ms"] = str(round(seconds * 1000))
