"""Pictures that were paid for once: files by content, and a table of requests beside them.

The table is a reply cache of its own: its claims keep two processes from paying for one picture.
Nothing is ever deleted by itself. A picture whose file is gone or damaged is drawn anew.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import threading
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

from ...core import Picture, UsageError
from ...core.files import cache_folder, write_atomically
from ...core.picture_files import decode, png_size
from ..providers.taming import tamed
from ..reply_cache import CachedReply, ReplyCache

FOLDER_VARIABLE = "VLMFAIL_GENERATED"
TABLE = "generated.sqlite"
IN_MEMORY = 64
"""Pictures kept in memory, so that one that was just drawn is not read again."""

PICTURE = "vlmfail_picture"
"""The field of a kept reply that names its picture, in place of the picture's own text."""

MOST_PIXELS = 36_000_000
"""Pixels of a generated picture: twice what any service draws."""

LEAST_SIDE = 32
"""Pixels of its shorter side: less shows nothing that a question could be about."""

_DATA_URL = re.compile(r"\s*data:image/[^,;]{1,40}(;[^,;]{1,80}){0,4};base64,", re.IGNORECASE)

_PLAIN = str.maketrans("-_", "+/", " \t\r\n")
"""Google's JSON may use the URL's alphabet, and MIME breaks lines."""


def generated_folder() -> Path | None:
    """Return where generated pictures are kept; None when they are not.

    $VLMFAIL_GENERATED, else ``generated`` in the folder of vlmfail's caches; ``off`` keeps none.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return (
            None if named.strip().lower() == "off" else Path(os.path.expanduser(named)).absolute()
        )
    folder = cache_folder()
    return None if folder is None else folder.absolute() / "generated"


class Shelf:
    """Pictures by the digest of their bytes. Thread-safe; it pickles as its folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Name the folder; it is made when the first picture is kept. None keeps in memory."""
        self.folder = folder
        self._wake()

    def _wake(self) -> None:
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, Picture] = OrderedDict()
        self._warned = False

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the folder."""
        return {"folder": self.folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open it anew."""
        self.folder = state["folder"]
        self._wake()

    def path(self, sha256: str) -> Path | None:
        """Return where a picture lies, if it is kept."""
        if self.folder is None:
            return None
        return self.folder / "pictures" / sha256[:2] / f"{sha256}.png"

    def put(self, picture: Picture) -> None:
        """Keep a picture. A folder that cannot be written costs money later, never the run."""
        with self._lock:
            self._recent[picture.sha256] = Picture(picture.png)
            while len(self._recent) > IN_MEMORY:
                self._recent.popitem(last=False)
        path = self.path(picture.sha256)
        if path is None:
            return
        try:
            if self._read(picture.sha256) is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, picture.png)
        except OSError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"generated pictures cannot be kept in {self.folder} ({error.strerror}): "
                    "another run pays for them again",
                    stacklevel=2,
                )

    def get(self, sha256: object) -> Picture | None:
        """Return the picture of a digest; None when there is none, or it is damaged."""
        if not isinstance(sha256, str) or len(sha256) != 64 or not sha256.isalnum():
            return None
        with self._lock:
            found = self._recent.get(sha256)
        return self._read(sha256) if found is None else found

    def _read(self, sha256: str) -> Picture | None:
        path = self.path(sha256)
        if path is None:
            return None
        try:
            read = Picture(path.read_bytes())
        except OSError:
            return None
        return read if read.sha256 == sha256 else None


class PictureReplies(ReplyCache):
    """Replies that name pictures; one whose picture is gone counts as none."""

    def __init__(self, shelf: Shelf) -> None:
        """Keep the table beside the pictures of `shelf`."""
        self.shelf = shelf
        super().__init__("off" if shelf.folder is None else shelf.folder / TABLE)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the places."""
        return {**super().__getstate__(), "shelf": self.shelf}

    def get(self, key: str) -> CachedReply | None:
        """Return a kept reply whose picture, if it names one, is still there."""
        hit = super().get(key)
        named = None if hit is None else hit.raw.get(PICTURE)
        if isinstance(named, dict) and self.shelf.get(named.get("sha256")) is None:
            return None
        return hit


def sound_picture(data: bytes) -> Picture:
    """Return the picture in a service's bytes, with its pixels and nothing else.

    What files carry beside them (texts, profiles) is a stranger's and is left behind.

    Raises:
        UsageError: The bytes hold no whole picture of a usual size.
    """
    size = png_size(data)
    if size is not None and size[0] * size[1] > MOST_PIXELS:
        raise UsageError(f"the picture has {size[0]} x {size[1]} pixels, too many")
    pixels, _ = decode(data, "the picture of the reply")
    height, width = pixels.shape[:2]
    if height * width > MOST_PIXELS:
        raise UsageError(f"the picture has {width} x {height} pixels, too many")
    if min(height, width) < LEAST_SIDE:
        raise UsageError(
            f"the picture has {width} x {height} pixels, expected at least {LEAST_SIDE} a side"
        )
    return Picture.from_pixels(pixels)


def shelved(data: object, shelf: Shelf) -> dict[str, Any]:
    """Keep the picture in a service's base64 text; return its digest, or what is wrong with it.

    Line breaks and the head of a data URL are passed over.
    """
    if not isinstance(data, str) or not data:
        return {"problem": f"the picture is {type(data).__name__}, expected base64 text"}
    try:
        head = _DATA_URL.match(data)
        plain = (data if head is None else data[head.end() :]).translate(_PLAIN)
        picture = sound_picture(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError) as error:
        return {"problem": f"the picture is no base64 text ({tamed(str(error), 100)})"}
    except UsageError as error:
        return {"problem": tamed(str(error), 300)}
    shelf.put(picture)
    return {"sha256": picture.sha256, "size": list(picture.size), "bytes": len(picture.png)}
