"""What tokens cost: a table that ships with the package, and the user's own before it."""

from __future__ import annotations

import datetime
import os
import re
import stat
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..core import UsageError
from .specs import ModelSpec, shown

BUILT_IN = Path(__file__).with_name("prices.json")
LOCAL = ("hf",)  # prefixes of models that run here and cost nothing
_MILLION = 1e6
_LARGEST = 4 << 20  # bytes of a table
_DEAREST = 1e6  # $ per million tokens: more is a slip, and a sum of it no number

# Where a provider's own prices hold. Its regional addresses may charge more.
_OWN_HOSTS = {
    "openai": r"api\.openai\.com",
    "anthropic": r"api\.anthropic\.com",
    "google": r"generativelanguage\.googleapis\.com",
    "bedrock": r"bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com",
}
# "gpt-5" prices gpt-5-2025-08-07, never gpt-5-pro.
_VERSION = re.compile(r"[-@](latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4})")


class Price(BaseModel):
    """One row of a price table: $ per million tokens.

    Attributes:
        provider: The spec's prefix, e.g. ``"openai"``.
        base_url: The server that asks this price, for compatible ones; only its host and port
            count. Without it the row holds at the provider's own address and nowhere else.
        model: The model's name, which prices its dated versions too; or a pattern with ``*`` and
            ``?``. An exact name wins over a dated version's, that over a pattern, a longer pattern
            over a shorter one.
        input: Prompt tokens.
        cached_input: Those that the provider read from its prompt cache; `input` if not given.
        cache_write: Those that it wrote there; `input` if not given.
        output: Generated tokens, reasoning included.
        up_to_input_tokens: Longer prompts have another price, which is unknown here.
        source: Where it stands.
        date: When it stood there; none where the day of reading is not known.
        note: Anything else, for people.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    provider: str = Field(min_length=1, max_length=100)
    base_url: str | None = Field(default=None, max_length=1000)
    model: str = Field(min_length=1, max_length=300)
    input: float = Field(ge=0, le=_DEAREST)
    cached_input: float | None = Field(default=None, ge=0, le=_DEAREST)
    cache_write: float | None = Field(default=None, ge=0, le=_DEAREST)
    output: float = Field(ge=0, le=_DEAREST)
    up_to_input_tokens: int | None = Field(default=None, ge=1)
    source: str = Field(default="", max_length=500)
    date: datetime.date | None = None
    note: str = Field(default="", max_length=500)

    def dollars(
        self,
        input_tokens: int | None,
        cached_tokens: int | None,
        cache_write_tokens: int | None,
        output_tokens: int | None,
    ) -> float | None:
        """Return what a reply costs, $; None when that is unknown, which is not zero.

        Args:
            input_tokens: Prompt tokens, cached and written ones included.
            cached_tokens: Those read from the provider's cache; None counts as none, which can
                only overstate the cost.
            cache_write_tokens: Those written to it, likewise.
            output_tokens: Generated tokens, reasoning included.
        """
        if input_tokens is None or output_tokens is None:
            return None
        if self.up_to_input_tokens is not None and input_tokens > self.up_to_input_tokens:
            return None
        read = min(max(cached_tokens or 0, 0), input_tokens)
        written = min(max(cache_write_tokens or 0, 0), input_tokens - read)
        read_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input if self.cache_write is None else self.cache_write
        total = (
            (input_tokens - read - written) * self.input
            + read * read_price
            + written * write_price
            + output_tokens * self.output
        )
        return total / _MILLION


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    unit: Literal["$ per million tokens"] = "$ per million tokens"
    prices: tuple[Price, ...]


_reader = TypeAdapter(_Table)


def price_of(spec: ModelSpec, base_url: str) -> Price | None:
    """Return the price of a model at an address, or None when it is unknown.

    The user's table, a JSON file named by $VLMFAIL_PRICES, wins over the one that ships. Local
    models cost nothing; a compatible server's price is known only if a row names its address.

    Args:
        spec: The model.
        base_url: Where requests go.

    Raises:
        UsageError: When the user's table cannot be read.
    """
    if spec.prefix in LOCAL:
        return Price(provider=spec.prefix, model=spec.model, input=0.0, output=0.0)
    asked = (spec.prefix, spec.model, base_url)
    named = os.environ.get("VLMFAIL_PRICES")
    # Not Path.expanduser, which raises for a user that does not exist.
    own = _find_in_own(Path(os.path.expanduser(named)), *asked) if named else None
    return own or _find(BUILT_IN, None, *asked)


@lru_cache(maxsize=256)
def _find(
    path: Path, changed: tuple[int, ...] | None, provider: str, model: str, base_url: str
) -> Price | None:
    """Return the row that fits best, if any does; searched anew when the file has changed."""
    rows = [
        row
        for row in _read(path, changed)
        if row.provider == provider and _fit(row.model, model) > (0, 0) and _holds(row, base_url)
    ]
    return max(rows, key=lambda row: _fit(row.model, model), default=None)


def _fit(pattern: str, name: str) -> tuple[int, int]:
    """Return how well a row's model fits: exact, dated, pattern, not at all."""
    if pattern == name:
        return 3, 0
    if "*" in pattern or "?" in pattern:
        fits = fnmatchcase(name, pattern.replace("[", "[[]"))
        return (1, len(pattern.replace("*", "").replace("?", ""))) if fits else (0, 0)
    if name.startswith(pattern) and _VERSION.fullmatch(name, len(pattern)):
        return 2, len(pattern)
    return 0, 0


def _holds(row: Price, base_url: str) -> bool:
    place = _host(base_url)
    if place is None:
        return False
    if row.base_url is not None:
        return _host(row.base_url) == place
    own = _OWN_HOSTS.get(row.provider)
    return own is not None and place[1] == 443 and re.fullmatch(own, place[0]) is not None


def _host(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return None
    return None if not parts.hostname or port is None else (parts.hostname, port)


def _find_in_own(path: Path, provider: str, model: str, base_url: str) -> Price | None:
    name = f"VLMFAIL_PRICES={shown(path, 300)}"
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe or a terminal would be waited for
            raise UsageError(f"{name}: the price table cannot be read (it is no regular file)")
        changed = found.st_mtime_ns, found.st_size, found.st_ino
        return _find(path, changed, provider, model, base_url)
    except OSError as error:
        raise UsageError(
            f"{name}: the price table cannot be read ({error.strerror}); "
            "give a JSON file or unset the variable"
        ) from error


def _bytes_of(path: Path) -> bytes:
    """Return what a table holds; never more than one may hold, and without waiting."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        text = file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    if len(text) > _LARGEST:
        raise UsageError(f"{_at(path, ())}: larger than 4 MiB, which is no price table")
    return text


@lru_cache(maxsize=8)
def _read(path: Path, changed: tuple[int, ...] | None) -> tuple[Price, ...]:
    """Return the rows of a table; anew when the file has changed."""
    text = _bytes_of(path)
    try:
        rows = _reader.validate_json(text).prices
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        problem = " ".join(str(first["msg"]).split())[:200]
        raise UsageError(
            f"{_at(path, first['loc'])}: {problem}{more}; expected "
            '{"prices": [{"provider": "openai", "model": "NAME", "input": 2.0, "output": 8.0}]}'
        ) from error
    for i, row in enumerate(rows):
        if row.base_url is not None and _host(row.base_url) is None:
            raise UsageError(
                f"{_at(path, ('prices', i, 'base_url'))}: {shown(row.base_url)} is no "
                "address; expected http://HOST or https://HOST"
            )
    return rows


def _at(path: Path, location: tuple[int | str, ...]) -> str:
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{_plain(part)}" for part in location
    )
    return f"price table {shown(path, 300)}" + (f", {place.lstrip('.')}" if place else "")


def _plain(name: str) -> str:
    """Return a name from the file, quoted unless it is an ordinary one."""
    return name if re.fullmatch(r"\w{1,40}", name, re.ASCII) else shown(name, 40)
