"""Compiling a function once for a machine."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import caching, serialize

from ...core.files import cache_folder, write_atomically
from ..baking import sources_digest

F = TypeVar("F", bound=Callable[..., object])

_HERE = Path(__file__).resolve().parent
# Everything that a kernel may have compiled in: numba itself looks at a function's own file alone,
# and would go on with a caller compiled around an older callee.
_SOURCES = (_HERE, *(_HERE.parent / f"{name}.py" for name in ("faces", "mesh", "noise", "sky")))

_PACKAGES = ("numba", "llvmlite", "numpy")


@cache
def _folder() -> str:
    """Return where compiled kernels of these very sources lie; empty when they cannot be kept."""
    base = cache_folder()
    if base is None:
        return ""
    folder = base / "kernels" / sources_digest(_SOURCES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        write_atomically(probe, b"yes")  # a byte too: a full disk takes empty files
        probe.unlink(missing_ok=True)
    except OSError:
        return ""
    return str(folder)


class _Files:
    """Machine code in one file for each kernel and signature, with a checksum.

    In place of numba's index and numbered files: of two processes that compile different
    signatures of a kernel at once, one would get the other's number, and code that was damaged on
    disk would be run.
    """

    def __init__(self, folder: str, name: str, stamp: object) -> None:
        self._folder = Path(folder)
        self._name = name
        self._stamp = (stamp, *(version(package) for package in _PACKAGES))

    def load(self, key: object) -> Any:
        with contextlib.suppress(OSError):
            data = self._path(key).read_bytes()
            if data[:32] == hashlib.sha256(data[32:]).digest():
                return pickle.loads(data[32:])  # noqa: S301  # the user's own, as numba's are
        return None

    def save(self, key: object, data: object) -> None:
        packed = serialize.dumps(data)  # type: ignore[no-untyped-call]
        write_atomically(self._path(key), hashlib.sha256(packed).digest() + packed)

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: object) -> Path:
        digest = hashlib.sha256(repr((self._stamp, key)).encode()).hexdigest()
        return self._folder / f"{self._name}.{digest}.nbc"


class _Cache(caching.FunctionCache):
    """numba's cache of a function; nothing that goes wrong with it ends a run."""

    def __init__(self, function: Callable[..., object], folder: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        if not Path(self._cache_path).is_relative_to(folder):
            # numba's next choice is beside the sources, under no digest of them all.
            raise OSError(f"{folder} cannot be used")
        locator, base = self._impl.locator, self._impl.filename_base
        Path(self._cache_path).mkdir(parents=True, exist_ok=True)
        kept = _Files(self._cache_path, base, locator.get_source_stamp())
        self._cache_file = kept  # type: ignore[assignment]

    def load_overload(self, sig: object, target_context: object) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # code of another numba, or of half a file: compiled anew
            return None

    def save_overload(self, sig: object, data: object) -> None:
        # A full disk costs time, never the run.
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel(function: F) -> F:
    """Compile a function of numbers and arrays, without Python's lock, kept on disk.

    No fast-math: a picture depends on the order of its operations.
    """
    compiled: Any = njit(nogil=True, error_model="numpy")(function)
    folder = _folder()
    if folder:
        before = config.CACHE_DIR  # type: ignore[attr-defined]
        config.CACHE_DIR = folder  # type: ignore[attr-defined]
        try:
            # numba has no public way to choose a cache of one's own.
            compiled._cache = _Cache(function, folder)
        except (OSError, RuntimeError):
            pass  # the folder went away since
        finally:
            config.CACHE_DIR = before  # type: ignore[attr-defined]
    return cast(F, compiled)
