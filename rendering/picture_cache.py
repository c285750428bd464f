"""Pictures that were drawn before: read from a folder instead of being traced again.

Off unless asked for: set $VLMFAIL_PICTURES to a folder ($VLMFAIL_PICTURES_GIB to its largest
size) or wrap a renderer in `CachedRenderer`. It pays where one run meets the scenes of another:
two models under the same seed, the same search anew with another surrogate.

A rendering is named by a digest of everything that decides it: the world down to the vertices
of its meshes, the renderer, the code that draws and encodes, the packages below it, the kind of
machine. What is read is therefore what would have been drawn, byte for byte.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import platform
import re
import stat
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Picture, Renderer, Rendering, UsageError
from ..core.files import write_atomically
from .baking import sources_digest
from .mesh import Mesh
from .world import World

FOLDER_VARIABLE = "VLMFAIL_PICTURES"
LIMIT_VARIABLE = "VLMFAIL_PICTURES_GIB"
DEFAULT_LIMIT_GIB = 20.0

SOURCES = (Path(__file__).parent, Path(__file__).parents[1] / "core" / "picture.py")
"""The code that turns a world into the bytes of a picture."""

PACKAGES = ("numpy", "embreex", "numba", "llvmlite", "pillow")

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A larger file in the folder is none of ours: a full-size street's picture has 0.3 MB."""

# Only what has these names is ever deleted: the folder may hold other things as well.
_OWN_FILES = re.compile(r"[0-9a-f]{64}\.(?:png|scene)|\.new-\w+")
_OWN_FOLDERS = re.compile(r"[0-9a-f]{2}")

_OWN_RENDERERS = __name__.rpartition(".")[0] + "."


@cache
def drawing_digest() -> str:
    """Return a digest of the code, packages and machine that turn a world into bytes."""
    from importlib.metadata import PackageNotFoundError, version

    parts = [sources_digest(SOURCES), platform.machine(), platform.python_version()]
    for package in PACKAGES:
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            parts.append(f"no {package}")
    return hashlib.sha256("; ".join(parts).encode()).hexdigest()


class PictureCache:
    """Renderings in a folder, at most `limit` bytes of them.

    A rendering is two files: the picture under its own digest, which other folders may hard-link,
    and what was measured in it, which names the picture. Both are written beside their place and
    renamed, so that any number of processes may share the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], limit: int | None = None) -> None:
        """Name the folder; it is made when the first rendering is kept.

        Args:
            folder: Where renderings lie.
            limit: Largest size, bytes; what was not used for longest goes first. None = no limit.
        """
        self.folder = Path(folder)
        self._limit = limit
        self._unchecked: int | None = None

    def get(self, key: str) -> Rendering | None:
        """Return the rendering of a key; None when it is not there, or damaged."""
        scene = self._scene_path(key)
        try:
            checksum, _, text = _read(scene).partition(b"\n")
            if checksum != _checksum(key, text):
                return None
            kept = json.loads(text)
            path = self.picture_path(kept["picture"])
            picture = Picture(_read(path))
            if picture.sha256 != kept["picture"]:
                return None
            found = Rendering(
                picture,
                _counts(kept["visible"]),
                _unpacked(kept["index"]),
                _counts(kept["extent"]),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
            return None
        with contextlib.suppress(OSError):
            os.utime(scene)
            os.utime(path)
        return found

    def put(self, key: str, rendering: Rendering) -> None:
        """Keep a rendering. A folder that cannot be written costs time, never the run."""
        picture = rendering.picture
        kept = {
            "picture": picture.sha256,
            "visible": _counts(rendering.visible),
            "extent": _counts(rendering.extent),
            "index": _packed(rendering.index),
        }
        with contextlib.suppress(OSError):
            # The picture first: a scene never names one that is not there.
            _write(self.picture_path(picture.sha256), picture.png)
            text = json.dumps(kept).encode()
            _write(self._scene_path(key), _checksum(key, text) + b"\n" + text)
            self._bound(len(picture.png) + len(text))

    def picture_path(self, sha256: str) -> Path:
        """Return where a picture lies, if it is kept."""
        return self.folder / "pictures" / sha256[:2] / f"{sha256}.png"

    def _scene_path(self, key: str) -> Path:
        return self.folder / "scenes" / key[:2] / f"{key}.scene"

    def _bound(self, written: int) -> None:
        if self._limit is None:
            return
        # Listing a large folder takes a while: once at first, then after every 2 % of the limit.
        if self._unchecked is not None:
            self._unchecked += written
        if self._unchecked is None or self._unchecked > self._limit // 50:
            self.trim(self._limit)
            self._unchecked = 0

    def trim(self, limit: int) -> None:
        """Delete what was not used for longest until `limit` bytes are left.

        Files of other names than a rendering's are neither counted nor touched.
        """
        files = []
        for path in (*self.folder.glob("pictures/*/*"), *self.folder.glob("scenes/*/*")):
            if not (_OWN_FILES.fullmatch(path.name) and _OWN_FOLDERS.fullmatch(path.parent.name)):
                continue
            with contextlib.suppress(OSError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode):
                    files.append((found.st_mtime_ns, path, found.st_size))
        excess = sum(size for _, _, size in files) - limit
        for _, path, size in sorted(files):
            if excess <= 0:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            excess -= size


class CachedRenderer:
    """A renderer of worlds that looks into a cache first; its pictures are the same bytes.

    Attributes:
        name: The inner renderer's.
        hits: Renderings that were read.
        misses: Renderings that were drawn.
    """

    def __init__(
        self,
        renderer: Renderer,
        kept: PictureCache,
        sources: Callable[[], str] = drawing_digest,
    ) -> None:
        """Wrap `renderer`.

        Args:
            renderer: A renderer of `World`s, or of scenes with ``world() -> World``.
            kept: Where renderings are kept.
            sources: Returns a digest of the code and packages that draw.
        """
        self.name = renderer.name
        self.hits = 0
        self.misses = 0
        self._renderer = renderer
        self._cache = kept
        kind = type(renderer)
        options = sorted(getattr(renderer, "__dict__", {}).items())
        self._drawn_by = (kind.__module__, kind.__qualname__, renderer.name, options, sources())

    def render(self, scene: Any) -> Rendering:
        """Return the rendering of a scene (anything with ``world() -> World``) or a `World`."""
        world: World = scene if isinstance(scene, World) else scene.world()
        key = self.key(world)
        found = self._cache.get(key)
        if found is not None:
            self.hits += 1
            return found
        self.misses += 1
        drawn = self._renderer.render(world)
        self._cache.put(key, drawn)
        return drawn

    def key(self, world: World) -> str:
        """Return the digest of everything that decides the rendering of `world`."""
        text = repr((self._drawn_by, _described(world)))
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def remembering(renderer: Renderer) -> Renderer:
    """Return `renderer`, behind a cache when $VLMFAIL_PICTURES names a folder.

    Renderers of other packages are left alone: which code decides their pictures is not known.

    Raises:
        UsageError: When $VLMFAIL_PICTURES_GIB is no size.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not type(renderer).__module__.startswith(_OWN_RENDERERS):
        return renderer
    return CachedRenderer(renderer, PictureCache(folder, _limit()))


def _limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT_GIB)
    try:
        gibibytes = float(text)
    except ValueError:
        gibibytes = -1.0
    if not 0.0 < gibibytes < 1e9:
        raise UsageError(f"${LIMIT_VARIABLE}: expected a size in GiB, got {text!r}")
    return int(gibibytes * 2**30)


def _described(value: Any) -> Any:
    """Return a value whose `repr` tells two worlds apart whenever their pictures may differ."""
    if isinstance(value, Mesh):
        return _mesh_digest(value)
    if isinstance(value, tuple):
        return tuple(_described(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        # Field by field, so that one that is added to a world later counts by itself.
        inner = [(f.name, _described(getattr(value, f.name))) for f in fields(value)]
        return type(value).__qualname__, inner
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    return value


# Meshes never change and are equal by identity, which is what the table goes by.
@lru_cache(maxsize=128)
def _mesh_digest(mesh: Mesh) -> str:
    digest = hashlib.sha256()
    for field in fields(Mesh):
        array = np.ascontiguousarray(getattr(mesh, field.name))
        digest.update(f"{field.name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _checksum(key: str, text: bytes) -> bytes:
    """Return what a scene's file begins with: neither damage nor another scene's file fits it."""
    return hashlib.sha256(key.encode() + b"\n" + text).hexdigest().encode()


def _read(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no plain file, or too large.
    """
    # A pipe would be waited for, perhaps for ever.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE_BYTES:
            raise ValueError(f"{path} is no kept rendering")
        return file.read(MAX_FILE_BYTES)


def _counts(value: Any) -> dict[str, int] | None:
    return None if value is None else {str(name): int(n) for name, n in value.items()}


def _packed(index: Any) -> dict[str, Any] | None:
    if index is None:
        return None
    data = zlib.compress(np.ascontiguousarray(index, dtype="<i2").tobytes(), 1)
    return {"shape": list(index.shape), "data": base64.b64encode(data).decode()}


def _unpacked(value: Any) -> Any:
    if value is None:
        return None
    data = zlib.decompress(base64.b64decode(value["data"]))
    return np.frombuffer(data, dtype="<i2").astype(np.int16).reshape(value["shape"])


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, data)
