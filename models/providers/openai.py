"""OpenAI's chat completions, and every server that speaks the same format.

vLLM, SGLang, Ollama, OpenRouter, NIM and others take ``openai:MODEL@http://host/v1``.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Any

from ...core import Usage, UsageError
from ..sent_pictures import OPENAI_LIMITS, SentPicture
from ..specs import ModelSpec
from .adapter import Fault, Words
from .endpoint import connect_timeout
from .faults import classify, connection_fault, retry_after
from .keys import key_names, need_key, present_keys
from .packages import need_package
from .reply_bodies import MOST_BYTES, bounded_client, parsed, wrong_shape
from .shards import Shards
from .taming import finish_word
from .tokens import count

ADDRESS = "https://api.openai.com/v1"
KEYS = ("OPENAI_API_KEY",)

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
    "detail",
    "max_side",
    "extra_body",
)

RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Names of one parameter: OpenAI's newer models refuse the old one, older servers the new one."""

LESS = {"none": "minimal", "minimal": "low"}
"""The least thinking beside one that a model does not know."""


class OpenAIAdapter:
    """Chat completions over the official SDK (`Adapter`)."""

    provider = "openai"
    limits = OPENAI_LIMITS
    most_bytes = MOST_BYTES

    def __init__(self, spec: ModelSpec) -> None:
        """Check the SDK and the options.

        Raises:
            MissingDependencyError: Without the package ``openai``.
            UsageError: For an option that it does not have.
        """
        need_package("openai", "openai", "openai", spec)
        spec.check_options(OPTIONS)
        if isinstance(spec.thinking, int):
            raise UsageError(
                f"model {spec.shown}: thinking in tokens is not known here; give a level: "
                "none, minimal, low, medium or high"
            )
        self.spec = spec
        self.base_url = spec.base_url or ADDRESS

    def parameters(self) -> dict[str, Any]:
        """Return what is sent beside model, prompt and pictures.

        The token limit has two names; OpenAI's own address takes the newer one. ``detail`` is
        sent with each picture.
        """
        spec = self.spec
        limit = "max_completion_tokens" if spec.base_url is None else "max_tokens"
        values = {
            limit: spec.max_tokens,
            "temperature": spec.temperature,
            "top_p": spec.top_p,
            "reasoning_effort": spec.thinking,
            "detail": spec.detail,
            "extra_body": dict(spec.extra_body) or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without the refused one, or under its other name."""
        name = fault.parameter
        if name is None or name not in parameters:
            return None
        rest = {key: value for key, value in parameters.items() if key != name}
        if name == "reasoning_effort" and parameters[name] in LESS:
            # Leaving it out would think more than was asked for, not less.
            return {**rest, name: LESS[parameters[name]]}
        other = RENAMED.get(name)
        # Only on the word of the service: a refused value is no refused name.
        if other is not None and other in fault.text:
            rest[other] = parameters[name]
        elif other is not None:
            return None  # a reply without a limit is not what was asked for
        return rest

    def secrets(self) -> tuple[str, ...]:
        """Return the key's present value."""
        return present_keys(key_names(self.spec, KEYS, ADDRESS))

    def connect(self, *, connections: int) -> Any:
        """Return `Shards` of `openai.AsyncOpenAI`.

        OpenAI's own key, organisation and project go to OpenAI alone: another address gets no key
        unless ``key_env`` names one.
        """
        import openai

        key = need_key(self.spec, KEYS, ADDRESS)
        # The SDK's own kind of limits: which library carries its requests is its business.
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
            max_connections=connections, max_keepalive_connections=connections
        )
        certificates = ssl.create_default_context()

        def make() -> Any:
            client = openai.AsyncOpenAI(
                api_key=key,
                base_url=self.base_url,
                max_retries=0,
                timeout=self.spec.timeout + 5,
                # A redirect is a request more than was counted, and carries the prompt elsewhere.
                http_client=bounded_client(openai.DefaultAsyncHttpxClient, self.most_bytes)(
                    connect=connect_timeout(self.spec.timeout),
                    limits=limits,
                    follow_redirects=False,
                    verify=certificates,
                ),
            )
            # $OPENAI_CUSTOM_HEADERS would be sent and not recorded.
            client._custom_headers = {}
            if not set(KEYS) & set(key_names(self.spec, KEYS, ADDRESS)):
                client.organization = client.project = client.admin_api_key = None
            return client

        return Shards(make)

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
        fields = dict(parameters)
        detail = fields.pop("detail", None)
        parts: list[dict[str, Any]] = []
        for picture in pictures:
            url: dict[str, Any] = {"url": f"data:{picture.media_type};base64,{picture.base64}"}
            if detail is not None:
                url["detail"] = detail
            parts.append({"type": "image_url", "image_url": url})
        parts.append({"type": "text", "text": prompt})
        extra = fields.pop("extra_body", {})
        body = {
            "model": self.spec.model,
            "messages": [{"role": "user", "content": parts}],
            **fields,
            **extra,
        }
        with client.lease() as one:
            # Below `chat.completions.create`, which copies and checks every field of the body.
            response = await one.post(
                "/chat/completions",
                cast_to=object,
                body=body,
                options={"timeout": timeout + 5, "headers": {"X-Stainless-Raw-Response": "raw"}},
            )
        return parsed(response.http_response.content)

    def fault(self, error: BaseException) -> Fault:
        """Classify an exception of the SDK."""
        import openai

        if isinstance(error, openai.APIStatusError):
            return classify(
                error.status_code,
                error.body if error.body is not None else error.response.text,
                retry_after=retry_after(error.response.headers),
                parameters=(*RENAMED, *self.parameters()),
            )
        return connection_fault(error)

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return what a chat completion says, whatever its shape."""
        usage, cached = _usage(raw.get("usage"))
        choices = raw.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        # OpenRouter puts what went wrong upstream into the choice.
        problem = raw.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
        if problem:
            fault = classify(None, {"error": problem})
            return Words(usage=usage, cached_tokens=cached, fault=fault)
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            text = "the response holds no choice: " + json.dumps(raw)[:200]
            return Words(usage=usage, cached_tokens=cached, fault=Fault("server", text))
        reason = finish_word(choice.get("finish_reason"))
        thinking = message.get("reasoning_content") or message.get("reasoning")
        text = _text(message.get("content"))
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            text, reason = text or refusal, "refusal"
        elif not text and _unknown(message.get("content")):
            said = "the message's content has an unknown form: " + json.dumps(message)[:200]
            return Words(usage=usage, cached_tokens=cached, fault=Fault("server", said))
        return Words(
            text=text,
            finish_reason=reason,
            usage=usage,
            cached_tokens=cached,
            thinking=thinking if isinstance(thinking, str) else "",
        )

    async def close(self, client: Any) -> None:
        """Close the connections."""
        for one in client.clients:
            await one.close()


def _text(content: Any) -> str:
    """Return a message's text: a string, or parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _unknown(content: Any) -> bool:
    return not isinstance(content, str) and wrong_shape(content)


def _usage(usage: Any) -> tuple[Usage, int | None]:
    """Return (usage, cached tokens); what is not said is unknown."""
    if not isinstance(usage, dict):
        return Usage(), None
    prompt = count(usage.get("prompt_tokens"))
    completion = count(usage.get("completion_tokens"))
    total = count(usage.get("total_tokens"))
    reasoning = count(_part(usage, "completion_tokens_details", "reasoning_tokens"))
    # Some services count reasoning beside the completion; the total tells which.
    beside = (prompt or 0) + (completion or 0) + (reasoning or 0)
    if reasoning and completion is not None and total == beside:
        completion += reasoning
    cached = count(_part(usage, "prompt_tokens_details", "cached_tokens"))
    if cached is None:
        cached = count(usage.get("prompt_cache_hit_tokens"))
    return Usage(0, prompt, completion), cached


def _part(usage: Mapping[str, Any], group: str, name: str) -> Any:
    part = usage.get(group)
    return part.get(name) if isinstance(part, dict) else None
