"""Data files of a domain: packaged beside its code, replaceable by those of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..core import UsageError

M = TypeVar("M", bound="Data")


class Data(BaseModel):
    """A data file: immutable, unknown fields refused, so that a typing slip is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def load_data(model: type[M], name: str, folder: Path | None, packaged: Path) -> M:
    """Return the data of `folder/name`, or of `packaged/name` when `folder` has none.

    Raises:
        UsageError: The file is not what `model` describes.
    """
    path = packaged / name
    if folder is not None:
        folder = Path(folder)
        if not folder.is_dir():
            names = sorted(file.name for file in packaged.glob("*.json"))
            raise UsageError(
                f"data: {folder} is not a folder; it may hold {', '.join(names[:-1])} and "
                f"{names[-1]}, copies to start from lie in {packaged}"
            )
        if (folder / name).exists():
            path = folder / name
    data: M = _read(model, path, path.stat().st_mtime_ns)
    return data


def data_identity(parts: Mapping[str, BaseModel]) -> dict[str, str]:
    """Return the versions of a domain's data by name, and a digest of it, for a run's record."""
    text = "".join(part.model_dump_json() for part in parts.values())
    versions = {name: str(getattr(part, "version", "")) for name, part in parts.items()}
    return {**versions, "sha256": hashlib.sha256(text.encode()).hexdigest()}


@lru_cache(maxsize=64)
def _read(model: type[M], path: Path, _changed: int) -> M:
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        where = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:3]
        )
        raise UsageError(f"{path}: {where}") from error
