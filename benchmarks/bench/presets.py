"""Benches that come with the package, one for each published table that a bench can make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...core import UnknownNameError
from .reading import read_file
from .values import sentence

FOLDER = Path(__file__).parents[1] / "presets"

PREFIX = "preset:"
"""What stands before a preset's name where a file's could be."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A bench of the package.

    Attributes:
        name: Its name.
        about: What it makes, and what of the published table is the same and what is not.
        path: Its file, to be copied and changed.
    """

    name: str
    about: str
    path: Path


def presets() -> list[Preset]:
    """Return all of them by name."""
    paths = sorted(FOLDER.glob("*.yaml"))
    return [Preset(p.stem, sentence("about", read_file(p)["about"]), p) for p in paths]


def preset_name(file: Path | str) -> str | None:
    """Return the name of the preset that is meant in place of a file, None when a file is."""
    text = str(file)
    return text.removeprefix(PREFIX).strip() if text.startswith(PREFIX) else None


def preset_path(name: str) -> Path:
    """Return the file of a preset.

    Raises:
        UnknownNameError: There is none of this name.
    """
    known = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
    if name not in known:
        hint = "`vlmfail bench --list-presets` says what each of them makes."
        raise UnknownNameError("preset", name, known, hint)
    return known[name]
