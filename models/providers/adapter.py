"""What a provider's adapter offers: one request, read and classified; nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ...core import Usage
from ..sent_pictures import PictureLimits, SentPicture
from ..specs import ModelSpec

FaultKind = Literal[
    "rate_limit",
    "overload",
    "server",
    "connection",
    "timeout",
    "filtered",
    "unsupported",
    "quota",
    "auth",
    "not_found",
    "bad_request",
    "too_large",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request brought no reply.

    Attributes:
        kind: ``rate_limit`` and ``overload`` pass with patience; ``server``, ``connection``,
            ``timeout`` and ``unknown`` are tried again a few times; ``filtered`` is the model's
            refusal to look; ``unsupported`` names a parameter to adapt; ``bad_request`` is this
            request's error; ``too_large`` is a reply that was given up; ``quota``, ``auth`` and
            ``not_found`` stop the run.
        text: The provider's words.
        status: HTTP status, if there was a response.
        code: The provider's own code, if any.
        retry_after: Seconds that the provider asks to wait, if it does.
        parameter: With ``unsupported``: the parameter's name, as `Adapter.parameters` has it.
        sent: False when it is certain that nothing of the request left this machine.
    """

    kind: FaultKind
    text: str
    status: int | None = None
    code: str | None = None
    retry_after: float | None = None
    parameter: str | None = None
    sent: bool = True


@dataclass(frozen=True, slots=True)
class Words:
    """What a raw reply says.

    Attributes:
        text: The answer's text; a refusal's words when it is one.
        finish_reason: ``"stop"``, ``"length"``, ``"refusal"``, ``"content_filter"`` or the
            provider's own word in lower case.
        usage: Tokens of this reply (`requests` and `dollars` are filled in by the caller).
        cached_tokens: Input tokens that the provider read from its prompt cache, which are part of
            ``usage.input_tokens`` here whatever the provider's own convention; None if unsaid.
        cache_write_tokens: Input tokens that were written to it, part of them likewise.
        thinking: The reasoning text, if the provider shows it.
        fault: Set when a response with status 200 carries no reply: an error object, no choices.
    """

    text: str = ""
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    thinking: str = ""
    fault: Fault | None = None


class Adapter(Protocol):
    """One provider's format over its official SDK. Holds no key and pickles; clients do not.

    Attributes:
        provider: The spec's prefix, e.g. ``"openai"``.
        base_url: Where requests go; it names the service in records and cache keys.
        limits: What pictures the provider takes.
    """

    provider: str
    base_url: str
    limits: PictureLimits

    def __init__(self, spec: ModelSpec) -> None:
        """Read the spec; check that the SDK is there.

        Raises:
            MissingDependencyError: When it is not.
            UsageError: For options that the provider cannot take.
        """
        ...

    def parameters(self) -> dict[str, Any]:
        """Return everything that is sent beside model, prompt and pictures, as JSON values."""
        ...

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without (or with another name for) what `fault` complains of.

        None when there is nothing to adapt.
        """
        ...

    def connect(self, *, connections: int) -> Any:
        """Return a client of the SDK with its retries off and room for `connections` at once.

        Reads the key from the environment. Called once an event loop, in a thread beside it:
        loading an SDK takes longer than other requests can wait.

        Raises:
            ModelFault: When the key is not set; the text names the variable.
        """
        ...

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
        """Send exactly one request and return the response's JSON.

        `parameters` holds ``seed`` when the spec has it sent; `seed` itself is the trial's.

        The caller ends it after `timeout` seconds in all; the SDK's own timeout is set no shorter.
        Whatever the SDK raises passes.
        """
        ...

    def fault(self, error: BaseException) -> Fault:
        """Classify what `send` raised, from status, code and body."""
        ...

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return what a raw reply says; whatever its shape, never an exception.

        Pure: cached replies are read by it again.
        """
        ...

    def secrets(self) -> tuple[str, ...]:
        """Return the key's present value, so that it can be struck out of foreign texts."""
        ...

    async def close(self, client: Any) -> None:
        """Close the client's connections."""
        ...
