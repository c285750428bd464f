"""Spec strings of models behind an API or on disk: ``prefix:MODEL[@URL][?option=value&...]``."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl

from ..core import UnknownNameError, UsageError
from .spec_addresses import address_fault

_ADDRESS = re.compile(
    r"@(?:localhost|[\w.-]+:\d+|\[[0-9a-fA-F:.%]+\])(?:[/:]|$)|@(?:https?:|//)", re.IGNORECASE
)

THINKING = ("none", "minimal", "low", "medium", "high")

LEVELS_ONLY = ("openai",)
"""Prefixes whose services take no number of thinking tokens."""

LONGEST_SPEC = 8192
"""Characters of a spec: it is kept in every record and repeated in texts."""

DEEPEST = 32
"""Levels of an option's JSON value."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def shown(text: object, length: int = 120) -> str:
    """Return foreign text for an error's text: quoted, on one line, cut to `length` characters."""
    whole = str(text)
    if len(whole) <= length:
        return repr(whole)
    return f"{whole[:length]!r} ... ({len(whole)} characters)"


def shown_model(text: str, length: int = 120) -> str:
    """Return a spec for an error's text: without its options, and without a password.

    A spec that is refused may hold a secret where none belongs: in its address or an option.
    """
    first, at, rest = text.partition("@")
    if at and ("@" in rest or "%40" in rest):
        return shown(f"{first.partition('?')[0]}@...", length)
    return shown(text.partition("?")[0], length)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


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
    def shown(self) -> str:
        """The spec for an error's text: quoted, bounded, without its options."""
        return shown_model(self.text)

    @property
    def shown_model(self) -> str:
        """The model's name or path for an error's text."""
        return shown(self.model)

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
                    f"model {self.shown}: {self.prefix}: has no option {name!r}; it has "
                    + ", ".join(known)
                )


class _Refused(ValueError):
    """A value that is refused for a reason that its kind does not tell."""


def _plain_digits(text: str) -> str:
    """Refuse what Python reads as a number and nobody writes: "1_000", other scripts' digits."""
    if not text.isascii() or "_" in text:
        raise ValueError
    return text


def _number(low: float, high: float = math.inf, *, whole: bool = False) -> Any:
    kind = "a whole number" if whole else "a number"

    def read(text: str) -> float | int:
        value = int(_plain_digits(text)) if whole else float(_plain_digits(text))
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
    value = int(_plain_digits(text))
    if value < 1:
        raise ValueError
    return value


def _flag(text: str) -> bool:
    values = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in values:
        raise ValueError
    return values[text.lower()]


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object that every JSON reader reads alike."""
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        raise _Refused(f"{error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise _Refused(f"it is nested more than {DEEPEST} levels deep") from error
    if not isinstance(value, dict):
        raise ValueError
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        for part in level:
            if isinstance(part, str) and _has_surrogate(part):
                raise _Refused("a text in it holds half a character (a lone surrogate)")
            if isinstance(part, float) and not math.isfinite(part):
                raise _Refused("a number in it is too large")
        level = [inner for part in level for inner in _parts(part)]
        if not level:
            return value
    raise _Refused(f"it is nested more than {DEEPEST} levels deep")


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _no_constant(name: str) -> None:
    raise _Refused(f"{name} is no JSON")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Refused("a name in it is given twice")
    return value


def _word(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError
    return text


def _variable(text: str) -> str:
    # A key that was put here by mistake must be neither recorded nor repeated.
    if not _VARIABLE.fullmatch(text):
        raise ValueError
    return text


_READERS: dict[str, Any] = {
    "thinking": (
        _thinking,
        "one of " + ", ".join(THINKING) + ", or a number of tokens where the model takes one",
    ),
    "max_tokens": _number(1, whole=True),
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "timeout": _number(0.1, 3600),
    "attempts": _number(1, 20, whole=True),
    "patience": _number(0, 86400),
    "key_env": (_variable, "the name of an environment variable"),
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
    name = shown_model(text)
    if len(text) > LONGEST_SPEC:
        raise UsageError(f"model {name}: a spec has at most {LONGEST_SPEC} characters")
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text):
        raise UsageError(
            f"model {name}: it holds line breaks or other characters that cannot be printed"
        )
    prefix, _, rest = text.partition(":")
    rest, mark, query = rest.partition("?")
    model, base_url = rest, None
    for scheme in ("@http://", "@https://"):
        at = rest.lower().find(scheme)
        if at >= 0:
            model, base_url = rest[:at], rest[at + 1 :].rstrip("/")
            break
    if not model.strip():
        raise UsageError(
            f"model {name}: expected {prefix[:40]}:MODEL, for example {prefix[:40]}:NAME"
        )
    if base_url is not None:
        fault = address_fault(base_url)
        if fault is not None:
            raise UsageError(f"model {name}: {fault}")
    elif "://" in model or _ADDRESS.search(model):
        # Else the prompt, the pictures and the key would go to the provider itself.
        raise UsageError(
            f"model {name}: what follows '@' looks like an address without its scheme: write "
            "MODEL@http://HOST:PORT/v1"
        )
    values = _read_options(name, query, prefix)
    if mark and not values:
        raise UsageError(
            f"model {name}: after '?' options are expected, for example ?max_tokens=1024"
        )
    return ModelSpec(text, prefix, model, base_url, **values)


def _read_options(model: str, query: str, prefix: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise UsageError(
            f"model {model}: an option holds a percent escape that stands for no character"
        ) from error
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name not in _READERS:
            raise UnknownNameError(f"option of model {model}", name[:60], _READERS)
        if name in values:
            raise UsageError(f"model {model}: option {name} is given twice")
        read, expected = _READERS[name]
        if name == "thinking" and prefix in LEVELS_ONLY:
            expected = "one of " + ", ".join(THINKING)
        try:
            values[name] = read(value)
        except (ValueError, OverflowError, RecursionError) as error:
            got = "something else" if name == "key_env" else shown(value)
            why = f" ({error})" if isinstance(error, _Refused) else ""
            raise UsageError(f"model {model}: {name}: expected {expected}, got {got}{why}") from (
                None if name == "key_env" else error
            )
    return values
