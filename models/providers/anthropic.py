"""Anthropic's Messages API, and every server that speaks the same format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ...core import Usage
from ..sent_pictures import ANTHROPIC_LIMITS, SentPicture
from ..specs import ModelSpec
from .adapter import Fault, Words
from .claude import NAMES, claude_adapted, claude_parameters
from .endpoint import connect_timeout
from .faults import classify, connection_fault, error_text, retry_after
from .keys import key_names, need_key, present_keys
from .packages import need_package
from .reply_bodies import bounded_client, parsed, wrong_shape
from .taming import finish_word
from .tokens import count, whole_input

ADDRESS = "https://api.anthropic.com"
KEYS = ("ANTHROPIC_API_KEY",)

OPTIONS = (
    "thinking",
    "max_tokens",
    "temperature",
    "top_p",
    "timeout",
    "attempts",
    "patience",
    "key_env",
    "max_side",
    "extra_body",
)

REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""Stop reasons under our names; others, ``refusal`` among them, keep their own."""


class AnthropicAdapter:
    """The Messages API over the official SDK (`Adapter`)."""

    provider = "anthropic"
    limits = ANTHROPIC_LIMITS

    def __init__(self, spec: ModelSpec) -> None:
        """Check the SDK and the options.

        Raises:
            MissingDependencyError: Without the package ``anthropic``.
            UsageError: For an option that it does not have, or thinking that the model cannot do.
        """
        need_package("anthropic", "anthropic", "anthropic", spec)
        spec.check_options(OPTIONS)
        claude_parameters(spec)
        self.spec = spec
        self.base_url = spec.base_url or ADDRESS

    def parameters(self) -> dict[str, Any]:
        """Return what is sent beside model, prompt and pictures.

        The API demands ``max_tokens``: 4096 by default, and room for the thinking beside it
        (`claude.claude_parameters`).
        """
        values = claude_parameters(self.spec)
        if self.spec.extra_body:
            values["extra_body"] = dict(self.spec.extra_body)
        return values

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without, or with another form of, the refused one."""
        return claude_adapted(parameters, fault.parameter, fault.text)

    def secrets(self) -> tuple[str, ...]:
        """Return the key's present value."""
        return present_keys(key_names(self.spec, KEYS, ADDRESS))

    def connect(self, *, connections: int) -> Any:
        """Return an `anthropic.AsyncAnthropic`.

        Another address than Anthropic's is sent no key unless ``key_env`` names one. Base URL,
        tokens and headers that the SDK would take from the environment are not taken.
        """
        import anthropic

        key = need_key(self.spec, KEYS, ADDRESS)
        kind = type(anthropic.DEFAULT_CONNECTION_LIMITS)  # of whichever httpx the SDK is built on
        limits = kind(max_connections=connections, max_keepalive_connections=connections)
        return anthropic.AsyncAnthropic(
            api_key=key,
            base_url=self.base_url.removesuffix("/v1"),
            max_retries=0,
            timeout=self.spec.timeout + 5,
            default_headers=_unasked_headers(key),
            # A redirect would carry the key to wherever it leads.
            http_client=bounded_client(anthropic.DefaultAsyncHttpxClient)(
                connect=connect_timeout(self.spec.timeout), limits=limits, follow_redirects=False
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
        """Send one request: the pictures first, then the prompt. The API takes no seed."""
        parts: list[dict[str, Any]] = [
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": picture.media_type,
                    "data": picture.base64,
                },
            }
            for picture in pictures
        ]
        parts.append({"type": "text", "text": prompt})
        # The SDK's own arguments come and go with its versions; fields of the body do not.
        fields = {name: parameters[name] for name in parameters if name != "extra_body"}
        limit = fields.pop("max_tokens")
        response = await client.messages.with_raw_response.create(
            model=self.spec.model,
            messages=[{"role": "user", "content": parts}],
            max_tokens=limit,
            timeout=timeout + 5,
            extra_body={**fields, **parameters.get("extra_body", {})},
        )
        return parsed(response.http_response.content)

    def fault(self, error: BaseException) -> Fault:
        """Classify an exception of the SDK."""
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            return classify(
                error.status_code,
                error.body if error.body is not None else error.response.text,
                retry_after=retry_after(error.response.headers),
                parameters=NAMES,
            )
        return connection_fault(error)

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return what a message says, whatever its shape."""
        usage, cached, written = _usage(raw.get("usage"))
        if raw.get("error") or raw.get("type") == "error":
            fault = classify(None, dict(raw))
            return Words(usage=usage, cached_tokens=cached, fault=fault)
        reason = finish_word(raw.get("stop_reason"))
        content = raw.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            if reason != "refusal":
                text = "the response holds no content: " + error_text(dict(raw))[:200]
                return Words(usage=usage, cached_tokens=cached, fault=Fault("server", text))
            content = []
        text = _joined(content, "text", "text")
        if not text and reason != "refusal" and wrong_shape(content):
            form = "the response's content has an unknown form: " + error_text(dict(raw))[:200]
            return Words(usage=usage, cached_tokens=cached, fault=Fault("server", form))
        details = raw.get("stop_details")
        if not text and reason == "refusal" and isinstance(details, dict):
            said = details.get("explanation")
            text = said if isinstance(said, str) else ""
        return Words(
            text=text,
            finish_reason=REASONS.get(reason, reason),
            usage=usage,
            cached_tokens=cached,
            cache_write_tokens=written,
            thinking=_joined(content, "thinking", "thinking"),
        )

    async def close(self, client: Any) -> None:
        """Close the connections."""
        await client.close()


def _unasked_headers(key: str) -> dict[str, Any]:
    """Undo the headers that the SDK takes from the environment: they may hold other keys."""
    import anthropic

    lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    names = [line.partition(":")[0].strip() for line in lines if ":" in line]
    if not names:
        return {}
    # Which header carries the key is the SDK's business, and it has changed.
    with anthropic.Anthropic(api_key=key, base_url=ADDRESS) as probe:
        known = {name.lower(): value for name, value in probe.auth_headers.items()}
    return {name: known.get(name.lower(), anthropic.Omit()) for name in names}


def _joined(content: list[Any], kind: str, name: str) -> str:
    """Return the texts of all blocks of a kind."""
    texts = [
        block.get(name)
        for block in content
        if isinstance(block, dict) and block.get("type", "text") == kind
    ]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(usage: Any) -> tuple[Usage, int | None, int | None]:
    """Return (usage, cached, written): the API counts both beside ``input_tokens``."""
    if not isinstance(usage, dict):
        return Usage(), None, None
    plain = count(usage.get("input_tokens"))
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    whole = whole_input(plain, cached, written)
    return Usage(0, whole, count(usage.get("output_tokens"))), cached, written
