"""Spec strings of picture models: ``prefix:MODEL[@URL][?option=value&...]``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ...core import UnknownNameError, UsageError
from ..specs import LONGEST_SPEC, ModelSpec, parse_spec, shown, shown_model

DEFAULT_TRIES = 2
"""Pictures drawn for one trial at most, each under a seed of its own. Ours."""

MOST_TRIES = 10

Reader = tuple[Callable[[str], Any], str]
"""Turns an option's text into its value, or raises ValueError; and what it expects, in words."""


@dataclass(frozen=True, slots=True)
class PictureSpec:
    """A parsed spec.

    Attributes:
        text: As the user wrote it; the renderer's name in records.
        prefix: E.g. ``"google-image"``.
        place: What stands between the prefix and the options: a model with its address, a path.
        check: Spec of the model that checks pictures, if one does.
        tries: Pictures drawn for one trial at most, when one is refused or does not pass.
        options: All other options as they were written.
    """

    text: str
    prefix: str
    place: str
    check: str | None = None
    tries: int = DEFAULT_TRIES
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def shown(self) -> str:
        """The spec for an error's text: quoted, bounded, without its options."""
        return shown_model(self.text)

    def read(self, readers: Mapping[str, Reader]) -> dict[str, Any]:
        """Return the values of the options that `readers` know; the others are left.

        Raises:
            UsageError: For a value that an option cannot have.
        """
        values: dict[str, Any] = {}
        for name, (reader, expected) in readers.items():
            if name not in self.options:
                continue
            try:
                values[name] = reader(self.options[name])
            except (ValueError, OverflowError) as error:
                raise UsageError(
                    f"renderer {self.shown}: {name}: expected {expected}, "
                    f"got {shown(self.options[name], 60)}"
                ) from error
        return values

    def refuse_others(self, known: Iterable[str]) -> None:
        """Raise `UnknownNameError` for an option that is not among `known`."""
        names = ["check", "tries", *known]
        for name in self.options:
            if name not in names:
                raise UnknownNameError(f"option of renderer {self.shown}", name[:60], names)

    def model_spec(self, own: Mapping[str, Reader]) -> ModelSpec:
        """Return the model behind the API, with every option that is not among `own`.

        Raises:
            UsageError: As `models.specs.parse_spec`.
        """
        rest = {name: text for name, text in self.options.items() if name not in own}
        query = f"?{urlencode(rest)}" if rest else ""
        # Its name in texts is the whole spec: that is what the user can look for and mend.
        return replace(parse_spec(f"{self.prefix}:{self.place}{query}"), text=self.text)


def parse_picture_spec(text: str) -> PictureSpec:
    """Return the parts of a spec.

    ``check`` takes a model's spec whole. What it holds of ``&``, ``%`` and ``+`` is written as
    in any URL (``%26``, ``%25``, ``%2B``).

    Raises:
        UsageError: For a spec without a model or path, or an option given twice.
    """
    name = shown_model(text)
    if len(text) > LONGEST_SPEC or not text.isprintable():
        raise UsageError(
            f"renderer {name}: a spec is one line of at most {LONGEST_SPEC} printable characters"
        )
    prefix, _, rest = text.partition(":")
    place, mark, query = rest.partition("?")
    if not place.strip():
        what = {"folder": "PATH", "diffusers": "PATH_OR_ID"}.get(prefix, "MODEL")
        raise UsageError(
            f"renderer {name}: nothing stands after the colon: expected {prefix[:40]}:{what}"
        )
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise UsageError(
            f"renderer {name}: an option holds a percent escape that stands for no character"
        ) from error
    if mark and not pairs:
        raise UsageError(f"renderer {name}: after '?' options are expected, e.g. ?check=tiny-vlm")
    options: dict[str, str] = {}
    for key, value in pairs:
        if key in options:
            raise UsageError(f"renderer {name}: option {key[:60]} is given twice")
        options[key] = value
    spec = PictureSpec(text, prefix, place, options=options)
    common: dict[str, Reader] = {"check": word(), "tries": whole(1, MOST_TRIES)}
    values = spec.read(common)
    left = {key: value for key, value in options.items() if key not in common}
    return replace(spec, **values, options=left)


# -- readers --------------------------------------------------------------------------------------


def word() -> Reader:
    """Return a reader of any text that says something."""

    def read(text: str) -> str:
        if not text.strip() or not text.isprintable():
            raise ValueError
        return text

    return read, "a text"


def choice(*names: str) -> Reader:
    """Return a reader of one of some words."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return read, "one of " + ", ".join(names)


def whole(low: int, high: int) -> Reader:
    """Return a reader of whole numbers."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not low <= int(text) <= high:
            raise ValueError
        return int(text)

    return read, f"a whole number from {low} to {high}"


def number(low: float, high: float) -> Reader:
    """Return a reader of finite numbers."""

    def read(text: str) -> float:
        value = float(text) if text.isascii() and "_" not in text else math.nan
        if not low <= value <= high:
            raise ValueError
        return value

    return read, f"a number from {low:g} to {high:g}"


def side_lengths(low: int, high: int) -> Reader:
    """Return a reader of ``WIDTHxHEIGHT`` in pixels."""

    def read(text: str) -> tuple[int, int]:
        found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text, re.ASCII)
        if found is None or not all(low <= int(part) <= high for part in found.groups()):
            raise ValueError
        return int(found[1]), int(found[2])

    return read, f"WIDTHxHEIGHT in pixels, each from {low} to {high}"
