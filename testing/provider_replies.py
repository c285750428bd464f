"""Odd replies that providers really send, by name: what a client must not take for an answer.

```python
server = ProviderServer([odd("openai", "length_without_content")])
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..core import UsageError
from .provider_error_tables import google_error, openai_error
from .provider_formats import answer_body
from .provider_steps import Answer, Provider, Raw, Status

Odd: TypeAlias = Answer | Status | Raw

MODEL = "odd-model"
"""The model that odd replies name."""


def odd(provider: Provider, name: str) -> Odd:
    """Return the odd reply `name` of `provider`.

    Raises:
        UsageError: When the provider has no such reply; the text names those it has.
    """
    replies = ODD_REPLIES[provider]
    if name not in replies:
        known = ", ".join(sorted(replies))
        raise UsageError(f"{provider} has no odd reply {name!r}: there is {known}")
    return replies[name]


def _altered(provider: Provider, answer: Answer, alter: Callable[[Any], None]) -> Raw:
    body = answer_body(provider, answer, MODEL, 0)
    alter(body)
    return Raw(body)


def _with(provider: Provider, answer: Answer | None = None, **fields: Any) -> Raw:
    return _altered(provider, answer or Answer(), lambda body: body.update(fields))


def _without(provider: Provider, *keys: str) -> Raw:
    def drop(body: dict[str, Any]) -> None:
        for key in keys:
            del body[key]

    return _altered(provider, Answer(), drop)


def _openai_message(answer: Answer | None = None, **fields: Any) -> Raw:
    return _altered(
        "openai",
        answer or Answer(),
        lambda body: body["choices"][0]["message"].update(fields),
    )


def _candidate(answer: Answer | None = None, **fields: Any) -> Raw:
    return _altered("google", answer or Answer(), lambda body: body["candidates"][0].update(fields))


def _blocked(reason: str) -> Raw:
    usage = {"promptTokenCount": 120, "totalTokenCount": 120}
    return Raw(
        {
            "promptFeedback": {"blockReason": reason},
            "usageMetadata": usage,
            "modelVersion": MODEL,
        }
    )


def _content(provider: Provider, blocks: list[dict[str, Any]], **fields: Any) -> Raw:
    def put(body: dict[str, Any]) -> None:
        holder = body["output"]["message"] if provider == "bedrock" else body
        holder["content"] = blocks
        body.update(fields)

    return _altered(provider, Answer(), put)


_REFUSAL = "I'm sorry, I can't help with that."

_RATED = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}

_OPENAI: dict[str, Odd] = {
    "content_filter": Answer(None, finish="filter"),
    "refusal": Answer(refusal=_REFUSAL),
    "length_without_content": Answer(None, finish="length", output_tokens=16, thinking_tokens=16),
    "length": Answer("The car ahead is", finish="length"),
    "empty_content": Answer(""),
    "null_content": Answer(None),
    "empty_choices": _with("openai", choices=[]),
    "null_choices": _with("openai", choices=None),
    "no_choices": _without("openai", "choices"),
    "null_message": _altered(
        "openai", Answer(), lambda body: body["choices"][0].update(message=None)
    ),
    "null_finish": _altered(
        "openai", Answer("B"), lambda body: body["choices"][0].update(finish_reason=None)
    ),
    "error_object": Raw({**openai_error("Provider returned error", None, code=502)}),
    "error_in_choice": _altered(
        "openai",
        Answer(None, finish="error"),
        lambda body: body["choices"][0].update(
            error={"code": 429, "message": "Rate limit exceeded upstream"}
        ),
    ),
    "rate_limit_object": Raw({**openai_error("Rate limit exceeded", None, code=429)}),
    "reasoning_content": Answer("B", thinking="The lane is blocked.", thinking_tokens=5),
    "reasoning": _openai_message(Answer("B"), reasoning="The lane is blocked."),
    "think": Answer("<think>A looks right, but it is B.</think>\n\nB"),
    "lone_think_end": Answer("A looks right, but it is B.</think>\n\nB"),
    "unclosed_think": Answer("<think>A looks right, but", finish="length"),
    "unknown_finish": Answer("B", finish="eos_token_reached"),
    "content_parts": _openai_message(content=[{"type": "text", "text": "B"}]),
    "no_usage": Answer("B", usage=False),
    "null_usage": _with("openai", Answer("B"), usage=None),
    "not_json": Raw("<html><body>It works!</body></html>", headers={"content-type": "text/html"}),
    "empty_body": Raw(b""),
    "json_list": Raw([]),
    "json_null": Raw("null"),
    "malformed_prompt": Status(
        400,
        body=openai_error("Invalid prompt: the schema is malformed.", code="invalid_prompt"),
    ),
}
_ANTHROPIC: dict[str, Odd] = {
    "refusal": Answer(refusal=_REFUSAL),
    "empty_refusal": Answer(None, finish="filter"),
    "max_tokens": Answer("The car ahead is", finish="length"),
    "max_tokens_in_thinking": Answer(None, finish="length", thinking="The lane", thinking_tokens=8),
    "context_exceeded": Answer("The car", finish="model_context_window_exceeded"),
    "thinking": Answer("B", thinking="The lane is blocked.", thinking_tokens=5),
    "redacted_thinking": _content(
        "anthropic",
        [{"type": "redacted_thinking", "data": "EmwKAhgB"}, {"type": "text", "text": "B"}],
    ),
    "empty_content": Answer(None),
    "two_texts": _content(
        "anthropic", [{"type": "text", "text": "Answer: "}, {"type": "text", "text": "B"}]
    ),
    "unknown_block": _content(
        "anthropic", [{"type": "novelty", "value": 1}, {"type": "text", "text": "B"}]
    ),
    "unknown_stop": Answer("B", finish="novel_reason"),
    "no_usage": Answer("B", usage=False),
    "error_object": Raw(
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    ),
    "not_json": Raw("<html><body>It works!</body></html>", headers={"content-type": "text/html"}),
}

_GOOGLE: dict[str, Odd] = {
    **{
        f"blocked_{reason.lower()}": _blocked(reason)
        for reason in ("SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY")
    },
    "safety": _altered(
        "google",
        Answer(None, finish="filter"),
        lambda body: body["candidates"][0].update(safetyRatings=[_RATED], content={}),
    ),
    "recitation": Answer(None, finish="RECITATION"),
    "prohibited_content": Answer(None, finish="PROHIBITED_CONTENT"),
    "spii": Answer(None, finish="SPII"),
    "max_tokens_without_parts": Answer(None, finish="length", output_tokens=16, thinking_tokens=16),
    "max_tokens": Answer("The car ahead is", finish="length"),
    "no_content": _altered(
        "google", Answer(finish="OTHER"), lambda body: body["candidates"][0].pop("content")
    ),
    "empty_stop": Answer(None),
    "thought_parts": Answer("B", thinking="The lane is blocked.", thinking_tokens=5),
    "two_parts": _candidate(
        content={"role": "model", "parts": [{"text": "Answer: "}, {"text": "B"}]}
    ),
    "empty_candidates": _with("google", candidates=[]),
    "no_candidates": _without("google", "candidates"),
    "no_finish": _altered(
        "google", Answer("B"), lambda body: body["candidates"][0].pop("finishReason")
    ),
    "unknown_finish": Answer("B", finish="NOVEL_REASON"),
    "no_usage": Answer("B", usage=False),
    "error_object": Raw(google_error(503, "UNAVAILABLE", "The model is overloaded.")),
    "not_json": Raw("<html><body>It works!</body></html>", headers={"content-type": "text/html"}),
}

_BEDROCK: dict[str, Odd] = {
    "guardrail_intervened": Answer(_REFUSAL, finish="guardrail_intervened"),
    "content_filtered": Answer(None, finish="filter"),
    "max_tokens": Answer("The car ahead is", finish="length"),
    "max_tokens_in_thinking": Answer(None, finish="length", thinking="The lane", thinking_tokens=8),
    "context_exceeded": Answer("The car", finish="model_context_window_exceeded"),
    "malformed_model_output": Answer(None, finish="malformed_model_output"),
    "reasoning_content": Answer("B", thinking="The lane is blocked.", thinking_tokens=5),
    "redacted_reasoning": _content(
        "bedrock", [{"reasoningContent": {"redactedContent": "RW13S0Fo"}}, {"text": "B"}]
    ),
    "empty_content": Answer(None),
    "two_texts": _content("bedrock", [{"text": "Answer: "}, {"text": "B"}]),
    "unknown_stop": Answer("B", finish="novel_reason"),
    "no_usage": Answer("B", usage=False),
    "no_output": _without("bedrock", "output"),
}

ODD_REPLIES: Mapping[Provider, Mapping[str, Odd]] = {
    "openai": _OPENAI,
    "anthropic": _ANTHROPIC,
    "google": _GOOGLE,
    "bedrock": _BEDROCK,
}
"""Every odd reply, by provider and name. Answers are rendered for the provider when served."""
