"""Data files of a domain: packaged beside its code, replaceable by those of a folder."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from ..core import UsageError
from ..core.text import tamed

M = TypeVar("M", bound="Data")

LONGEST_FINDING = 200
"""Characters of a finding on a data file that are told: the file's own words may be in it."""


class Data(BaseModel):
    """A data file: immutable, unknown fields refused, so that a typing slip is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def load_data(model: type[M], name: str, folder: Path | None, packaged: Path) -> M:
    """Return the data of `folder/name`, or of `packaged/name` when `folder` has none.

    Raises:
        UsageError: The folder replaces nothing, or holds a JSON file of another name than the
            packaged ones; or the file cannot be read, or is not what `model` describes.
    """
    path = packaged / name
    if folder is not None:
        known = sorted(file.name for file in packaged.glob("*.json"))
        # A link that leads nowhere is in the list: its file is missed, not replaced by ours.
        if name in _replaced(Path(folder), known, packaged):
            path = Path(folder) / name
    data: M = _parsed(model, path, _text(path))
    return data


def data_folder(data: str | Path | None) -> Path | None:
    """Return the folder that a domain's option ``data`` names, None for the packaged data.

    Raises:
        UsageError: It is no path.
    """
    if data is None or isinstance(data, Path):
        return data
    if not isinstance(data, str) or not data:
        raise UsageError(f"data: expected the path of a folder, got {tamed(repr(data), 80)}")
    return Path(data)


def _replaced(folder: Path, known: list[str], packaged: Path) -> list[str]:
    """Return which of the known files a folder has."""
    may = (
        f"it may hold {', '.join(known[:-1])} and {known[-1]}, copies to start from lie in "
        f"{packaged}"
    )
    shown = tamed(str(folder), LONGEST_FINDING)
    try:
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else None
    except OSError as error:
        raise UsageError(f"data: {shown} cannot be read: {error.strerror}") from error
    if names is None:
        raise UsageError(f"data: {shown} is not a folder; {may}")
    for name in names:
        if name.lower().endswith(".json") and name not in known and not name.startswith("."):
            raise UsageError(f"data: {shown} holds {tamed(name, 80)}, which is none of them; {may}")
    found = [name for name in known if name in names]
    if not found:
        raise UsageError(f"data: {shown} holds none of the files that it may replace; {may}")
    return found


def data_identity(parts: Mapping[str, BaseModel]) -> dict[str, str]:
    """Return the versions of a domain's data by name, and a digest of it, for a run's record."""
    text = "".join(part.model_dump_json() for part in parts.values())
    versions = {name: str(getattr(part, "version", "")) for name, part in parts.items()}
    return {**versions, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: byte {error.start} is no text") from error


# By the text itself: an edit may leave a file's time and size as they were.
@lru_cache(maxsize=64)
def _parsed(model: type[M], path: Path, text: str) -> M:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        where = "; ".join(
            tamed(f"{'.'.join(map(str, item['loc']))}: {item['msg']}", LONGEST_FINDING)
            for item in error.errors(include_input=False, include_url=False)[:3]
        )
        raise UsageError(f"{path}: {where}") from error


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("the text is empty")
    return text


def _one_line(text: str) -> str:
    if not _said(text).isprintable():
        raise ValueError("expected one line of printable characters")
    return text


Text = Annotated[str, AfterValidator(_said)]
"""A text that is not blank."""

Line = Annotated[str, AfterValidator(_one_line)]
"""One line that is not blank. An option with a line break in it would be read as two."""


def same_words(texts: Iterable[str]) -> str | None:
    """Return a text that differs from an earlier one in case, blanks or form alone, or None."""
    seen: set[str] = set()
    for text in texts:
        words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        if words in seen:
            return text
        seen.add(words)
    return None
