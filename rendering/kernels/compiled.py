"""Compiling a function once for a machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

from numba import config, njit

from ..baking import cache_folder, sources_digest

F = TypeVar("F", bound=Callable[..., object])

_HERE = Path(__file__).resolve().parent
# Everything that a kernel may have compiled in: numba itself looks at a function's own file alone,
# and would go on with a caller compiled around an older callee.
_SOURCES = (_HERE, *(_HERE.parent / f"{name}.py" for name in ("faces", "mesh", "noise", "sky")))


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
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return ""
    return str(folder)


def kernel(function: F) -> F:
    """Compile a function of numbers and arrays, without Python's lock, kept on disk.

    No fast-math: a picture depends on the order of its operations.
    """
    folder = _folder()
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = folder  # type: ignore[attr-defined]
    try:
        compiled = njit(cache=bool(folder), nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
    return cast(F, compiled)
