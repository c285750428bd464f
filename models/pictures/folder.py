"""The user's own pictures: one folder a concept set, or an index that names files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core import Picture, UsageError, VLMFailError
from ...core.seeding import key_words
from ..specs import shown
from .sources import (
    DescribedCatalogue,
    DrawnPicture,
    PictureRequest,
    UndrawnPictureError,
    implied_by,
)
from .specs import PictureSpec

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")

INDICES = ("pictures.json", "pictures.csv")
"""Files that name the pictures of sets; with one of them the folders' names say nothing."""

LARGEST_INDEX = 64 << 20  # bytes

MOST_PICTURES = 100_000


class FolderPictures:
    """Pictures of a folder (`PictureSource`).

    ``PATH/rain+night/*.png`` holds the pictures of the set {rain, night}, its ids in any order,
    with or without what every picture shows; ``pictures.json``
    (``[{"concepts": ["rain", "night"], "file": "a.jpg"}]``) or ``pictures.csv`` (columns
    ``concepts``, ids joined by ``+``, and ``file``) says the same of files anywhere below PATH.
    The trials of a set take its pictures in an order of the run's seed, each once: a picture is
    one observation however often it is shown. Files with the same pixels are one picture.
    """

    metered = False
    priced = True
    varies = False
    prompted = False

    def __init__(self, spec: PictureSpec, catalogue: DescribedCatalogue) -> None:
        """Read the index and every picture once, so that a bad one is told before the run.

        Raises:
            UsageError: The folder, the index or a picture is not what it should be.
        """
        spec.refuse_others({})
        self.spec = spec
        self.root = Path(os.path.expanduser(spec.place))
        _check_folder(spec, self.root)
        ids = _Ids(catalogue)
        self.pictures: dict[str, tuple[Path, ...]] = {}
        found: dict[str, list[Path]] = {}
        for key, path in self._listed(ids):
            found.setdefault(key, []).append(path)
        for key, paths in found.items():
            self.pictures[key] = tuple(sorted(dict.fromkeys(paths)))
        number = sum(map(len, self.pictures.values()))
        if not number:
            raise UsageError(
                f"renderer {spec.shown}: {_holding(self.root)}: put the pictures of each concept "
                f"set ({', '.join(SUFFIXES)}) into a folder of its own, named by its concepts "
                f"joined by '+' as in {'+'.join(ids.examples)}, or name them in a {INDICES[0]}; "
                "`vlmfail list --concepts` names the concepts"
            )
        if number > MOST_PICTURES:
            raise UsageError(
                f"renderer {spec.shown}: {number} pictures, of at most {MOST_PICTURES}"
            )
        sound = {
            path: _sound(path, *_state(path)) for paths in self.pictures.values() for path in paths
        }
        self._digests = {path: file for path, (file, _) in sound.items()}
        self._pixels = {path: pixels for path, (_, pixels) in sound.items()}

        self._dealt = {key: self._different(paths) for key, paths in self.pictures.items()}

    @property
    def supply(self) -> Mapping[tuple[str, ...], int]:
        """How many different pictures each set has."""
        return {tuple(key.split("+")): len(paths) for key, paths in self._dealt.items()}

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The sets that have pictures, each as ids in catalogue order."""
        return tuple(tuple(key.split("+")) for key in self.pictures)

    def identity(self) -> Mapping[str, Any]:
        """Return how many sets and pictures there are, and a digest of them all."""
        total = hashlib.sha256()
        for key in sorted(self.pictures):
            digests = sorted(self._digests[path] for path in self.pictures[key])
            total.update(f"{key}\0{' '.join(digests)}\n".encode())
        return {
            "sets": len(self.pictures),
            "pictures": len(self._digests),
            "sha256": total.hexdigest(),
        }

    def draw(self, request: PictureRequest) -> DrawnPicture:
        """Return the trial's picture.

        Raises:
            UndrawnPictureError: There is none of this set, earlier trials have taken all that
                there are, or it has changed since it was read.
        """
        paths = self._dealt.get(request.key)
        if not paths:
            raise UndrawnPictureError(
                f"{shown(self.root, 80)} holds no picture of {request.key} "
                f"(it has some of {len(self.pictures)} sets)",
                used_up=True,
            )
        if request.trial >= len(paths):
            number = "1 picture" if len(paths) == 1 else f"{len(paths)} different pictures"
            raise UndrawnPictureError(
                f"the folder holds {number} of this set, and each is shown once",
                used_up=True,
                record={"of": len(paths)},
            )
        sequence = np.random.SeedSequence(request.run_seed, spawn_key=key_words(request.key))
        order = np.random.default_rng(sequence).permutation(len(paths))
        path = paths[int(order[request.trial])]
        try:
            picture = Picture.from_file(path)
        except VLMFailError as error:
            raise UndrawnPictureError(f"{error} (it could be read when the run began)") from error
        if picture.sha256 != self._digests[path]:
            raise UndrawnPictureError(f"{shown(path, 120)} has changed since the run began")
        file = path.relative_to(self.root).as_posix()
        return DrawnPicture(picture, {"file": file, "of": len(paths)})

    def _different(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """Return one file a picture, of those that are alike the first."""
        first: dict[str, Path] = {}
        for path in paths:
            first.setdefault(self._pixels[path], path)
        return tuple(first.values())

    # -- what there is --------------------------------------------------------------------------

    def _listed(self, ids: _Ids) -> Iterator[tuple[str, Path]]:
        indices = [self.root / name for name in INDICES if os.path.lexists(self.root / name)]
        if len(indices) > 1:
            raise UsageError(f"{shown(self.root)} holds both {' and '.join(INDICES)}: leave one")
        inside = _Inside(self.root)
        if indices:
            inside.check(indices[0])
            for key, path in _indexed(indices[0], ids):
                inside.check(path)
                yield key, path
            return
        for folder in _entries(self.root):
            if folder.name.startswith(".") or not folder.is_dir():
                continue
            inside.check(folder)
            key = ids.key(folder.name.split("+"), f"the folder {shown(folder)}")
            for path in _entries(folder):
                if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
                    inside.check(path)
                    yield key, path


def _check_folder(spec: PictureSpec, root: Path) -> None:
    """Raise `UsageError` unless `root` is a folder, with what there is instead."""
    try:
        if root.is_dir():
            return
        beside = root if root.is_file() else None
        near = [entry.name for entry in root.parent.iterdir() if entry.is_dir()]
    except (OSError, ValueError):
        beside, near = None, []
    if beside is not None:
        raise UsageError(
            f"renderer {spec.shown}: {shown(root)} is a file: name the folder of pictures, as in "
            "--renderer folder:PATH"
        )
    import difflib

    close = difflib.get_close_matches(root.name, near, n=1)
    hint = "name one that exists: --renderer folder:PATH"
    if close:
        hint = f"did you mean --renderer {shown(f'folder:{root.parent / close[0]}')}?"
    raise UsageError(f"renderer {spec.shown}: there is no folder {shown(root)}: {hint}")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(
            f"the folder {shown(folder)} cannot be read ({error.strerror}): give yourself the "
            "right to read it, or name another"
        ) from error


def _holding(root: Path) -> str:
    """Return what a folder without pictures of sets holds, in words."""
    entries = [entry for entry in _entries(root) if not entry.name.startswith(".")]
    loose = sum(entry.suffix.lower() in SUFFIXES and entry.is_file() for entry in entries)
    folders = sum(entry.is_dir() for entry in entries)
    if any((root / name).is_file() for name in INDICES):
        return f"the index in {shown(root)} names no picture"
    if loose:
        number = "1 picture" if loose == 1 else f"{loose} pictures"
        return f"{shown(root)} holds {number}, of which no set is named"
    if folders:
        return f"no folder in {shown(root)} holds a picture"
    return f"{shown(root)} holds no pictures"


class _Inside:
    """Whether files lie in a folder, wherever links lead."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._real = Path(os.path.realpath(root))
        self._folders: dict[Path, bool] = {}

    def check(self, path: Path) -> None:
        """Raise `UsageError` for a path that leads out of the folder."""
        folder = path.parent
        try:
            if folder not in self._folders:
                self._folders[folder] = self._holds(folder)
            inside = self._folders[folder] and (not path.is_symlink() or self._holds(path))
        except (OSError, ValueError):
            return  # no file can have this name: reading it says so
        if not inside:
            raise UsageError(
                f"{shown(path)} is a link out of {shown(self._root)}: copy what it leads to there"
            )

    def _holds(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._real)


class _Ids:
    """The ids of a catalogue, and the keys of sets that are written with them."""

    def __init__(self, catalogue: DescribedCatalogue) -> None:
        self.all = tuple(concept.id for concept in catalogue.concepts)
        implied = implied_by(catalogue)
        self.free = tuple(name for name in self.all if name not in implied)

    @property
    def examples(self) -> tuple[str, ...]:
        """Two ids for a message to show."""
        return self.free[:2]

    def key(self, words: list[str], where: str) -> str:
        """Return the key of a set, which holds no implied concept.

        Raises:
            UsageError: For an id that is unknown or stands twice, and for implied ones alone.
        """
        import difflib

        for word in words:
            if word not in self.all:
                close = difflib.get_close_matches(word, self.all, n=1)
                hint = f"did you mean {close[0]}? " if close else ""
                raise UsageError(
                    f"{where} names a concept {shown(word, 60)}, which is unknown here: {hint}"
                    "`vlmfail list --concepts` names those that there are"
                )
        if len(set(words)) != len(words):
            raise UsageError(f"{where} names a concept twice")
        key = "+".join(name for name in self.free if name in words)
        if not key:
            raise UsageError(
                f"{where} names {'+'.join(words)} alone, which every picture shows: "
                f"name what it shows besides, e.g. {self.examples[0]}"
            )
        return key


def _indexed(index: Path, ids: _Ids) -> Iterator[tuple[str, Path]]:
    """Yield (set's key, file) of an index, whose files lie below its folder."""
    for number, row in enumerate(_rows(index), 1):
        where = f"{shown(index)}, entry {number},"
        concepts, file = row.get("concepts"), row.get("file")
        if isinstance(concepts, str):
            concepts = concepts.split("+")
        if (
            not isinstance(concepts, list)
            or not concepts
            or not all(isinstance(word, str) for word in concepts)
        ):
            raise UsageError(f"{where} has no concepts: expected ids, e.g. {list(ids.examples)}")
        if not isinstance(file, str) or not file.strip():
            raise UsageError(f"{where} has no file: expected a path such as 'a.png'")
        path = Path(file)
        if path.is_absolute() or ".." in path.parts or "\0" in file:
            raise UsageError(
                f"{where} names {shown(file)}: a file lies below {shown(index.parent)}"
            )
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"{where} names {shown(file)}: expected {', '.join(SUFFIXES)}")
        yield ids.key([word.strip() for word in concepts], where), index.parent / path


def _rows(index: Path) -> list[dict[str, Any]]:
    try:
        if not index.is_file() or index.stat().st_size > LARGEST_INDEX:
            raise UsageError(f"{shown(index)} is no file of at most {LARGEST_INDEX >> 20} MiB")
        text = index.read_text(encoding="utf-8-sig")
        if index.suffix == ".csv":
            rows: Any = list(csv.DictReader(io.StringIO(text)))
        else:
            rows = json.loads(text)
    except OSError as error:
        raise UsageError(f"{shown(index)} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError, csv.Error) as error:
        raise UsageError(f"{shown(index)} cannot be read: {shown(error, 200)[1:-1]}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(
            f'{shown(index)}: expected a list of {{"concepts": [...], "file": "a.png"}}'
        )
    return rows


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise UsageError(f"the picture file {shown(path)} cannot be read ({why})") from error
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{shown(path)} is no regular file: expected a picture")
    return found.st_size, found.st_mtime_ns


# A renderer is made several times a run; a file that did not change is read once a process.
@lru_cache(maxsize=MOST_PICTURES)
def _sound(path: Path, size: int, mtime: int) -> tuple[str, str]:
    """Return the digests of a picture that can be read, and of its pixels.

    Raises:
        UsageError: It cannot.
    """
    try:
        picture = Picture.from_file(path)
    except UsageError as error:
        raise UsageError(f"{error}; replace it, or take it out of the folder") from error
    pixels = hashlib.sha256(repr(picture.size).encode())
    pixels.update(picture.pixels.tobytes())
    return picture.sha256, pixels.hexdigest()
