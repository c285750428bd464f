"""Spec strings of models behind an API or on disk: ``prefix:MODEL[@URL][?option=value&...]``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..core import UnknownNameError, UsageError

_ADDRESS = re.compile(r"@(?:localhost|[\w.-]+:\d+|\[[0-9a-fA-F:]+\])(?:[/:]|$)", re.IGNORECASE)

THINKING = ("none", "minimal", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed spec string.

    Attributes:
        text: The spec as the user wrote it; the model's name in records.
        prefix: E.g. ``"openai"``.
        model: The provider's name of the model, or a path.
        base_url: Where requests go instead of the provider's own address; no trailing slash.
        thinking: Reasoning level, one of `THINKING`, or a budget in tokens.
        max_tokens: Most tokens that a reply may have, thinking included where the provider counts
            so; None leaves it to the provider.
        temperature: Sampling temperature; None sends none.
        top_p: Nucleus sampling; None sends none.
        timeout: Seconds that one attempt may take in all.
        attempts: Requests a trial at most when servers fail; waiting for a rate limit does not
            count.
        patience: Seconds that a trial waits at most while the service says that it is busy.
        key_env: Environment variable of the key instead of the provider's own.
        send_seed: Send the trial's seed along, for servers that take one.
        detail: Picture detail of OpenAI's format (``low``, ``high``, ``auto``).
        max_side: Longest side in pixels to which pictures are scaled down before they are sent.
        region: AWS region (bedrock).
        device: ``cpu``, ``cuda``, ... (hf).
        dtype: ``auto``, ``float32``, ``bfloat16``, ... (hf).
        batch: Prompts generated together (hf).
        extra_body: Further fields of the request as a JSON object, for compatible servers.
    """

    text: str
    prefix: str
    model: str
    base_url: str | None = None
    thinking: str | int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    timeout: float = 120.0
    attempts: int = 5
    patience: float = 600.0
    key_env: str | None = None
    send_seed: bool = False
    detail: str | None = None
    max_side: int | None = None
    region: str | None = None
    device: str | None = None
    dtype: str | None = None
    batch: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that differ from their defaults."""
        return tuple(
            f.name
            for f in fields(self)
            if f.name not in ("text", "prefix", "model", "base_url")
            and getattr(self, f.name) != (f.default if f.name != "extra_body" else {})
        )

    def check_options(self, known: Sequence[str]) -> None:
        """Raise `UsageError` for an option that this kind of model does not have."""
        for name in self.given:
            if name not in known:
                raise UsageError(
                    f"model {self.text!r}: {self.prefix}: has no option {name!r}; it has "
                    + ", ".join(known)
                )


def _number(low: float, high: float = math.inf, *, whole: bool = False) -> Any:
    kind = "a whole number" if whole else "a number"

    def read(text: str) -> float | int:
        value = int(text) if whole else float(text)
        if not low <= value <= high or not math.isfinite(value):
            raise ValueError
        return value

    limits = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
    return read, f"{kind} {limits}"


def _choice(*names: str) -> Any:
    def read(text: str) -> str:
        if text.lower() not in names:
            raise ValueError
        return text.lower()

    return read, "one of " + ", ".join(names)


def _thinking(text: str) -> str | int:
    if text.lower() in THINKING:
        return text.lower()
    if int(text) < 1:
        raise ValueError
    return int(text)


def _flag(text: str) -> bool:
    values = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in values:
        raise ValueError
    return values[text.lower()]


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError
    return value


def _word(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError
    return text


_READERS: dict[str, Any] = {
    "thinking": (_thinking, "one of " + ", ".join(THINKING) + ", or a number of tokens"),
    "max_tokens": _number(1, whole=True),
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "timeout": _number(0.1, 3600),
    "attempts": _number(1, 20, whole=True),
    "patience": _number(0, 86400),
    "key_env": (_word, "the name of an environment variable"),
    "send_seed": (_flag, "true or false"),
    "detail": _choice("low", "high", "auto", "original"),
    "max_side": _number(16, whole=True),
    "region": (_word, "an AWS region"),
    "device": (_word, "a device such as cpu or cuda"),
    "dtype": (_word, "a dtype such as auto, float32 or bfloat16"),
    "batch": _number(1, whole=True),
    "extra_body": (_object, "a JSON object"),
}


def parse_spec(text: str) -> ModelSpec:
    """Return the parts of ``prefix:MODEL[@URL][?option=value&...]``.

    Raises:
        UsageError: For a spec without a model, a URL that is none or holds a password, an unknown
            option or a value that it cannot have.
    """
    prefix, _, rest = text.partition(":")
    rest, mark, query = rest.partition("?")
    model, base_url = rest, None
    for scheme in ("@http://", "@https://"):
        at = rest.lower().find(scheme)
        if at >= 0:
            model, base_url = rest[:at], rest[at + 1 :].rstrip("/")
            break
    if not model.strip():
        raise UsageError(f"model {text!r}: expected {prefix}:MODEL, for example {prefix}:NAME")
    if base_url is not None:
        _check_url(text, base_url)
    elif "://" in model or _ADDRESS.search(model):
        # Else the prompt, the pictures and the key would go to the provider itself.
        raise UsageError(
            f"model {text!r}: what follows '@' looks like an address without its scheme: write "
            "MODEL@http://HOST:PORT/v1"
        )
    values: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _READERS:
            raise UnknownNameError(f"option of model {text.partition('?')[0]!r}", name, _READERS)
        if name in values:
            raise UsageError(f"model {text!r}: option {name} is given twice")
        read, expected = _READERS[name]
        try:
            values[name] = read(value)
        except (ValueError, OverflowError, RecursionError) as error:
            raise UsageError(
                f"model {text!r}: {name}: expected {expected}, got {value!r}"
            ) from error
    if mark and not values:
        raise UsageError(
            f"model {text!r}: after '?' options are expected, for example ?max_tokens=1024"
        )
    return ModelSpec(text, prefix, model, base_url, **values)


def _check_url(text: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"model {text!r}: {url!r} is no address ({error})") from error
    if not host:
        raise UsageError(f"model {text!r}: {url!r} is no address: it names no host")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "a model's address must hold no user or password, since specs are recorded: put the "
            "key into an environment variable and name it with ?key_env=NAME"
        )
