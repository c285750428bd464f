"""Replies with status 200 as each provider sends them.

Shapes follow the providers' own SDKs: openai 3.57, anthropic 2.14, google-genai 3.6, botocore 1.44.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .provider_steps import Answer, Provider

FINISH: Mapping[Provider, Mapping[str, str]] = {
    "openai": {"stop": "stop", "length": "length", "filter": "content_filter"},
    "anthropic": {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"},
    "google": {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"},
    "bedrock": {"stop": "end_turn", "length": "max_tokens", "filter": "content_filtered"},
}
"""The providers' words for how a reply ended."""

CREATED = 1_750_000_000
"""The time that replies say they were made at: fixed, so that replies repeat exactly."""


def answer_body(provider: Provider, answer: Answer, model: str, n: int) -> dict[str, Any]:
    """Return `answer` as JSON values in the provider's format.

    Args:
        provider: Whose format.
        answer: What is said.
        model: The model that the reply names.
        n: The request's number, from which ids are made.
    """
    if provider == "openai":
        return openai_body(answer, model, n)
    if provider == "anthropic":
        return anthropic_body(answer, model, n)
    if provider == "google":
        return google_body(answer, model, n)
    return bedrock_body(answer)


def answer_headers(provider: Provider, n: int) -> dict[str, str]:
    """Return the headers that the provider puts beside every reply, errors too."""
    if provider == "openai":
        return {"x-request-id": f"req_{n:032x}", "openai-processing-ms": "1"}
    if provider == "anthropic":
        return {"request-id": f"req_{n:024d}"}
    if provider == "google":
        return {"server-timing": "gfet4t7; dur=1"}
    return {"x-amzn-requestid": f"00000000-0000-4000-8000-{n:012d}"}


def openai_body(answer: Answer, model: str, n: int) -> dict[str, Any]:
    """Return a chat completion; thinking is the ``reasoning_content`` of compatible servers."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if answer.refusal is not None else answer.text,
        "refusal": answer.refusal,
        "annotations": [],
    }
    if answer.thinking is not None:
        message["reasoning_content"] = answer.thinking
    body: dict[str, Any] = {
        "id": f"chatcmpl-{n:029d}",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": _finish("openai", answer),
            }
        ],
        "service_tier": "default",
        "system_fingerprint": None,
    }
    if answer.usage:
        body["usage"] = {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": answer.thinking_tokens,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }
    return body


def anthropic_body(answer: Answer, model: str, n: int) -> dict[str, Any]:
    """Return a message; cached tokens lie beside ``input_tokens``."""
    content: list[dict[str, Any]] = []
    if answer.thinking is not None:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": "EqQBCg=="})
    text = answer.refusal if answer.refusal is not None else answer.text
    if text is not None:
        content.append({"type": "text", "text": text})
    stop = _finish("anthropic", answer)
    body: dict[str, Any] = {
        "id": f"msg_{n:024d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
    }
    if stop == "refusal":
        body["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
    if answer.usage:
        body["usage"] = {
            "input_tokens": answer.input_tokens - answer.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": answer.cached,
            "output_tokens": answer.output_tokens,
            "service_tier": "standard",
        }
    return body


def google_body(answer: Answer, model: str, n: int) -> dict[str, Any]:
    """Return a ``GenerateContentResponse``; thoughts are counted beside the candidates' tokens."""
    parts: list[dict[str, Any]] = []
    if answer.thinking is not None:
        parts.append({"text": answer.thinking, "thought": True})
    text = answer.refusal if answer.refusal is not None else answer.text
    if text is not None:
        parts.append({"text": text})
    content: dict[str, Any] = {"role": "model"}
    if parts:
        content["parts"] = parts
    body: dict[str, Any] = {
        "candidates": [{"content": content, "finishReason": _finish("google", answer), "index": 0}],
        "modelVersion": model,
        "responseId": f"resp{n:018d}",
    }
    if answer.usage:
        usage = {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": answer.output_tokens - answer.thinking_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
        }
        if answer.cached:
            usage["cachedContentTokenCount"] = answer.cached
        if answer.thinking_tokens:
            usage["thoughtsTokenCount"] = answer.thinking_tokens
        body["usageMetadata"] = usage
    return body


def bedrock_body(answer: Answer) -> dict[str, Any]:
    """Return a ``ConverseResponse``; cached tokens lie beside ``inputTokens``."""
    content: list[dict[str, Any]] = []
    if answer.thinking is not None:
        block = {"text": answer.thinking, "signature": "EqQBCg=="}
        content.append({"reasoningContent": {"reasoningText": block}})
    text = answer.refusal if answer.refusal is not None else answer.text
    if text is not None:
        content.append({"text": text})
    body: dict[str, Any] = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _finish("bedrock", answer),
        "metrics": {"latencyMs": 1},
    }
    if answer.usage:
        body["usage"] = {
            "inputTokens": answer.input_tokens - answer.cached,
            "outputTokens": answer.output_tokens,
            "totalTokens": answer.input_tokens + answer.output_tokens,
            "cacheReadInputTokens": answer.cached,
            "cacheWriteInputTokens": 0,
        }
    return body


def _finish(provider: Provider, answer: Answer) -> str:
    """Return the provider's word; a refusal has its own, but at OpenAI, which says ``stop``."""
    if answer.refusal is not None and answer.finish == "stop" and provider != "openai":
        return FINISH[provider]["filter"]
    return FINISH[provider].get(answer.finish, answer.finish)
