"""What a scripted provider does with one request: answer, refuse, hang, break off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

Provider = Literal["openai", "anthropic", "google", "bedrock"]
"""The four wire formats. ``openai`` is chat completions, whoever serves it."""

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "google", "bedrock")


@dataclass(frozen=True)
class ServedRequest:
    """A request that reached the server in full.

    Attributes:
        n: Its number in order of arrival, from 0.
        provider: Whose format its path belongs to.
        model: The model it asks for.
        path: The path, with the query.
        headers: Names in lower case.
        body: The bytes as they came; empty when the server keeps no bodies.
        at: `time.monotonic` at arrival, s.
    """

    n: int
    provider: Provider
    model: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    at: float = 0.0

    @cached_property
    def json(self) -> Any:
        """The body as JSON values, parsed when first asked for."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with status 200, in the format of whichever provider is called.

    Attributes:
        text: The answer; None leaves the content out, as providers do when they cut or filter.
        delay: Seconds before the reply is sent.
        input_tokens: All tokens of the prompt, those read from a cache included.
        output_tokens: All tokens of the reply, its thinking included.
        cached: Tokens of the prompt that came from the provider's cache. Each provider counts them
            in its own way: within the prompt's tokens (OpenAI, Google) or beside them.
        thinking_tokens: Tokens of thinking, counted within the reply's or (Google) beside them.
        usage: False leaves the usage out.
        finish: ``stop``, ``length`` or ``filter``, put in the provider's words; any other word is
            sent as it is.
        thinking: Reasoning text that is shown beside the answer.
        refusal: OpenAI: the message's ``refusal``. Elsewhere the text of a reply whose finish
            reason is the provider's own for a refusal.
    """

    text: str | None = "ok"
    delay: float = 0.0
    input_tokens: int = 120
    output_tokens: int = 8
    cached: int = 0
    thinking_tokens: int = 0
    usage: bool = True
    finish: str = "stop"
    thinking: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """An error with the provider's own body and headers.

    Attributes:
        code: HTTP status; None takes the one that `kind` has at the provider.
        kind: What went wrong, one of `provider_errors.kinds`; empty takes what `code` means there.
        body: Sent instead of the provider's body: JSON values, text or bytes.
        headers: Sent beside the provider's, or instead of those of the same name.
        delay: Seconds before the reply is sent.
        retry_after: Seconds that the provider asks to wait, said in its own way: the headers
            Retry-After (whole seconds) and, OpenAI, retry-after-ms; Google's RetryInfo detail.
            None leaves it out, but for Google's ``quota``, which asks for 41 s as the real one.
    """

    code: int | None = None
    kind: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    retry_after: float | None = None

    def __post_init__(self) -> None:
        """Check that there is something to send."""
        if self.code is None and not self.kind:
            raise ValueError("Status needs a code or a kind")


@dataclass(frozen=True, slots=True)
class Raw:
    """Any reply: JSON values, text or bytes as they are.

    Attributes:
        body: What is sent.
        status: HTTP status.
        headers: Sent beside Content-Type and Content-Length, or instead of them.
        delay: Seconds before the reply is sent.
    """

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


Sent: TypeAlias = Answer | Status | Raw
"""Steps that are a whole reply."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Takes the request and sends nothing; after `seconds` the connection closes.

    Attributes:
        seconds: How long; the server's own end cuts it short.
    """

    seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Trickle:
    """Sends the headers at once, unless told otherwise, and the body one byte at a time.

    Attributes:
        reply: What is sent.
        bytes_per_second: How fast.
        head: The headers come as slowly.
    """

    reply: Sent = field(default_factory=Answer)
    bytes_per_second: float = 10.0
    head: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """Announces a whole body and closes the connection within it.

    Attributes:
        after_bytes: Bytes of the body that are sent.
        reply: What was to be sent.
    """

    after_bytes: int = 10
    reply: Sent = field(default_factory=Answer)


@dataclass(frozen=True, slots=True)
class Reset:
    """Resets the connection (RST) before any byte of a reply.

    Attributes:
        delay: Seconds before that.
    """

    delay: float = 0.0


Step: TypeAlias = Answer | Status | Raw | Hang | Trickle | Cut | Reset
