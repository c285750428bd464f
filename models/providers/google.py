"""Google's Gemini API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core import Usage, UsageError
from ..sent_pictures import GOOGLE_LIMITS, SentPicture
from ..specs import ModelSpec
from .adapter import Fault, Words
from .endpoint import connect_timeout
from .faults import classify, connection_fault, error_text, retry_after
from .keys import key_names, need_key, present_keys
from .packages import need_package
from .reply_bodies import MOST_BYTES, bounded_client, parsed, wrong_shape
from .taming import finish_word
from .tokens import count

ADDRESS = "https://generativelanguage.googleapis.com"
VERSION = "v1beta"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

OPTIONS = (
    "thinking",
    "max_tokens",
    "temperature",
    "top_p",
    "timeout",
    "attempts",
    "patience",
    "key_env",
    "send_seed",
    "max_side",
    "extra_body",
)

REASONS = {
    "max_tokens": "length",
    "finish_reason_unspecified": "stop",
    "model_armor": "content_filter",
    "escalation": "content_filter",
    "image_prohibited_content": "content_filter",
}
"""Finish reasons under our names; others (``safety``, ``recitation``, ...) keep their own."""

BUDGETS = {"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24576}
"""Thinking budgets of the levels for models before Gemini 3, within all their ranges; ours."""

NEXT_LEVEL = {"minimal": "low", "medium": "high"}
"""What is asked for instead of a level that a model lacks: Pro models lack these two."""

NAMES = {
    "thinking_config": "thinking_config",
    "thinkingConfig": "thinking_config",
    "thinking_budget": "thinking_config",
    "thinkingBudget": "thinking_config",
    "thinking_level": "thinking_config",
    "thinkingLevel": "thinking_config",
    "thinking": "thinking_config",
    "budget": "thinking_config",
    "max_output_tokens": "max_output_tokens",
    "maxOutputTokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "topP": "top_p",
    "seed": "seed",
}
"""The names by which an error may speak of a parameter, and ours."""

_RANGE = re.compile(r"between (\d{1,9}) and (\d{1,9})\b")
_TOP = re.compile(r"\bto (\d{1,9}) \(exclusive\)")


class GoogleAdapter:
    """``generateContent`` over the official SDK (`Adapter`); safety settings are the service's."""

    provider = "google"
    largest_seed = 0x7FFFFFFF  # 32 bits with a sign
    limits = GOOGLE_LIMITS
    most_bytes = MOST_BYTES

    def __init__(self, spec: ModelSpec) -> None:
        """Check the SDK and the options.

        Raises:
            MissingDependencyError: Without the package ``google-genai``.
            UsageError: For an option that it does not have, or thinking that the model cannot do.
        """
        need_package("google.genai", "google-genai", "google", spec)
        spec.check_options(OPTIONS)
        _thinking(spec)
        self.spec = spec
        self.base_url = spec.base_url or ADDRESS

    def parameters(self) -> dict[str, Any]:
        """Return what is sent beside model, prompt and pictures.

        Thinking counts as output: a ``max_tokens`` within the thinking budget is raised by it.
        """
        spec = self.spec
        thinking = _thinking(spec)
        limit = spec.max_tokens
        budget = (thinking or {}).get("thinking_budget", 0)
        if limit is not None and budget and limit <= budget:
            limit += budget
        values = {
            "max_output_tokens": limit,
            "temperature": spec.temperature,
            "top_p": spec.top_p,
            "thinking_config": thinking,
            "extra_body": dict(spec.extra_body) or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without, or with another value of, the refused one."""
        name = fault.parameter
        if name is None or name not in parameters:
            return None
        rest = {key: value for key, value in parameters.items() if key != name}
        if name == "thinking_config":
            changed = _other_thinking(parameters[name], fault.text)
            return {**rest, name: changed} if changed is not None else rest
        if name == "max_output_tokens":
            found = _TOP.search(fault.text)
            if found is None or not 1 <= int(found[1]) - 1 < parameters[name]:
                return None
            return {**rest, name: int(found[1]) - 1}
        return rest

    def secrets(self) -> tuple[str, ...]:
        """Return the key's present value."""
        return present_keys(key_names(self.spec, KEYS, ADDRESS))

    def connect(self, *, connections: int) -> Any:
        """Return a `google.genai.Client` for the Gemini API.

        Another address than Google's is sent no key unless ``key_env`` names one. Vertex AI, base
        URL and API version are not taken from the environment.
        """
        from google import genai
        from google.genai import _api_client, types

        key = need_key(self.spec, KEYS, ADDRESS)
        address, _, last = self.base_url.rpartition("/")
        versioned = re.fullmatch(r"v\d\w*", last) is not None
        # The HTTP library that this version of the SDK is built on.
        carrier: Any = getattr(_api_client, "httpx2", None) or vars(_api_client)["httpx"]
        limits = carrier.Limits(max_connections=connections, max_keepalive_connections=connections)
        patience = self.spec.timeout + 5
        return genai.Client(
            vertexai=False,
            api_key=key,
            http_options=types.HttpOptions(
                base_url=address if versioned else self.base_url,
                api_version=last if versioned else VERSION,
                timeout=round(1000 * patience),
                retry_options=types.HttpRetryOptions(attempts=1),
                # A client of our own: it is never aiohttp's, which tries again by itself, and
                # follows no redirect, which would carry the key to wherever it leads.
                httpx_async_client=bounded_client(carrier.AsyncClient, self.most_bytes)(
                    connect=connect_timeout(self.spec.timeout), limits=limits, timeout=patience
                ),
            ),
        )

    async def send(
        self,
        client: Any,
        prompt: str,
        pictures: tuple[SentPicture, ...],
        parameters: Mapping[str, Any],
        *,
        seed: int,
        timeout: float,
    ) -> dict[str, Any]:
        """Send one request: the pictures first, then the prompt."""
        from google.genai import types

        config = dict(parameters)
        http_options: dict[str, Any] = {"timeout": round(1000 * (timeout + 5))}
        if "extra_body" in config:
            http_options["extra_body"] = config.pop("extra_body")
        config["http_options"] = http_options
        config["should_return_http_response"] = True
        config["automatic_function_calling"] = {"disable": True}
        if "automatic_continuation" in types.GenerateContentConfig.model_fields:
            config["automatic_continuation"] = False  # it would send further requests
        parts = [
            types.Part(inline_data=types.Blob(data=picture.data, mime_type=picture.media_type))
            for picture in pictures
        ]
        parts.append(types.Part(text=prompt))
        response = await client.aio.models.generate_content(
            model=self.spec.model,
            contents=types.Content(role="user", parts=parts),
            config=types.GenerateContentConfig(**config),
        )
        return parsed(response.sdk_http_response.body)

    def fault(self, error: BaseException) -> Fault:
        """Classify an exception of the SDK."""
        from google.genai import errors

        if not isinstance(error, errors.APIError):
            return connection_fault(error)
        fault = classify(
            error.code if isinstance(error.code, int) else None,
            error.details,
            retry_after=retry_after(getattr(error.response, "headers", None)),
            parameters=tuple(NAMES),
        )
        name = fault.parameter
        return fault if name is None else replace(fault, parameter=NAMES.get(name, name))

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return what a response says, whatever its shape; a blocked prompt is a filtered reply."""
        usage, cached = _usage(raw.get("usageMetadata"))
        if raw.get("error"):
            return Words(usage=usage, cached_tokens=cached, fault=classify(None, dict(raw)))
        candidates = raw.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(candidate, dict):
            feedback = raw.get("promptFeedback")
            if isinstance(feedback, dict) and feedback.get("blockReason"):
                return Words("", "content_filter", usage, cached)
            text = "the response holds no candidate: " + error_text(dict(raw))[:200]
            return Words(usage=usage, cached_tokens=cached, fault=Fault("server", text))
        reason = finish_word(candidate.get("finishReason"))
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        said: list[str] = []
        thought: list[str] = []
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                (thought if part.get("thought") is True else said).append(part["text"])
        unknown = content is not None and not isinstance(content, dict)
        unknown = unknown or not {"content", "finishReason"} & candidate.keys()
        if not said and (unknown or wrong_shape(parts)):
            text = "the candidate's content has an unknown form: " + error_text(candidate)[:200]
            return Words(usage=usage, cached_tokens=cached, fault=Fault("server", text))
        return Words(
            text="".join(said),
            finish_reason=REASONS.get(reason, reason),
            usage=usage,
            cached_tokens=cached,
            thinking="".join(thought),
        )

    async def close(self, client: Any) -> None:
        """Close the connections."""
        # The SDK leaves a client that it was given open.
        own = client._api_client._http_options.httpx_async_client
        await client.aio.aclose()
        client.close()
        await own.aclose()


def _version(model: str) -> tuple[int, int] | None:
    found = re.search(r"gemini-(\d+)(?:\.(\d+))?(?![\d.])", model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else None


def _thinking(spec: ModelSpec) -> dict[str, Any] | None:
    """Return the thinking that the spec asks for: a budget up to 2.5, a level from 3 on."""
    wanted, version = spec.thinking, _version(spec.model)
    if wanted is None:
        return None
    if version is not None and version < (2, 5):
        if wanted == "none":
            return None
        raise UsageError(f"model {spec.shown}: {spec.model} cannot think: leave out thinking")
    always = "2.5-pro" in spec.model or (version is not None and version >= (3, 0))
    if wanted == "none" and always:
        raise UsageError(
            f"model {spec.shown}: {spec.model} always thinks; the least is thinking="
            + ("minimal" if "pro" not in spec.model or version == (2, 5) else "low")
        )
    if isinstance(wanted, int):
        return {"thinking_budget": wanted}
    if wanted == "none" or (version is not None and version < (3, 0)):
        return {"thinking_budget": BUDGETS[wanted]}
    return {"thinking_level": wanted.upper()}


def _other_thinking(refused: Any, text: str) -> dict[str, Any] | None:
    """Return what to ask for instead of refused thinking; None for the model's own."""
    refused = refused if isinstance(refused, Mapping) else {}
    level = str(refused.get("thinking_level", "")).lower()
    if level:
        other = NEXT_LEVEL.get(level)
        if other is not None and level in text.lower():
            return {"thinking_level": other.upper()}
        # Levels are unknown to the model, not only this one.
        budget = BUDGETS.get(level)
        return {"thinking_budget": budget} if budget is not None else None
    budget = refused.get("thinking_budget")
    found = _RANGE.search(text)
    if found and isinstance(budget, int) and not int(found[1]) <= budget <= int(found[2]):
        return {"thinking_budget": min(max(budget, int(found[1])), int(found[2]))}
    return None


def _usage(usage: Any) -> tuple[Usage, int | None]:
    """Return (usage, cached): thoughts are counted beside the answer, zeros are left out."""
    if not isinstance(usage, dict):
        return Usage(), None
    prompt = count(usage.get("promptTokenCount"))
    tools = count(usage.get("toolUsePromptTokenCount")) or 0
    answer = count(usage.get("candidatesTokenCount"))
    thoughts = count(usage.get("thoughtsTokenCount"))
    total = count(usage.get("totalTokenCount"))
    whole = None if prompt is None else prompt + tools
    output = None
    if answer is not None or thoughts is not None:
        output = (answer or 0) + (thoughts or 0)
    elif total is not None and whole is not None and total >= whole:
        output = total - whole
    return Usage(0, whole, output), count(usage.get("cachedContentTokenCount"))
