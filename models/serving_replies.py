"""Replies and errors in OpenAI's chat format, whole or as server-sent events."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..core import Reply
from .serving_requests import ChatRequest, RequestError

FINISH = {"end_turn": "stop", "eos": "stop", "refusal": "stop", "max_tokens": "length"}
"""Finish reasons that OpenAI's format has another word for; others pass as they are."""


def completion(request: ChatRequest, reply: Reply, *, created: int) -> dict[str, Any]:
    """Return a reply as a ``chat.completion`` object.

    The id depends on request and reply alone. Tokens that the model does not count are left out:
    they are unknown, not zero.

    Args:
        request: What was asked.
        reply: What the model said.
        created: Unix time in s.
    """
    refused = reply.finish_reason == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else reply.text,
        "refusal": reply.text if refused else None,
    }
    out: dict[str, Any] = {
        "id": _id(request, reply),
        "object": "chat.completion",
        "created": created,
        "model": request.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": FINISH.get(reply.finish_reason, reply.finish_reason)[:40],
            }
        ],
    }
    tokens = _tokens(reply)
    if tokens is not None:
        out["usage"] = tokens
    return out


def events(whole: dict[str, Any], *, include_usage: bool) -> bytes:
    """Return a completion as a stream: one piece, the finish reason, tokens if asked for, the end.

    The model answers in one piece, so the stream has nothing to wait for.
    """
    choice = whole["choices"][0]
    common = {name: whole[name] for name in ("id", "created", "model")}
    common["object"] = "chat.completion.chunk"
    tokens = whole.get("usage")
    none_yet = {"usage": None} if include_usage and tokens is not None else {}

    def chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        part = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**common, "choices": [part], **none_yet}

    said = {name: text for name, text in choice["message"].items() if text is not None}
    chunks = [chunk(said, None), chunk({}, choice["finish_reason"])]
    if none_yet:
        chunks.append({**common, "choices": [], "usage": tokens})
    lines = [f"data: {json.dumps(each)}\n\n" for each in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode("ascii")


def error_body(error: RequestError) -> dict[str, Any]:
    """Return an error as OpenAI words it."""
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    return {
        "error": {
            "message": error.text,
            "type": kind,
            "param": error.param,
            "code": error.code,
        }
    }


def _id(request: ChatRequest, reply: Reply) -> str:
    digest = hashlib.sha256(f"{request.model}\0{request.prompt}\0{request.seed}\0".encode())
    for data in request.pictures:
        digest.update(hashlib.sha256(data).digest())
    digest.update(reply.text.encode())
    return f"chatcmpl-{digest.hexdigest()[:29]}"


def _tokens(reply: Reply) -> dict[str, int] | None:
    prompt, said = reply.usage.input_tokens, reply.usage.output_tokens
    if prompt is None or said is None:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
