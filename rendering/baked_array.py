"""Baked arrays: computed once, then read from the cache folder, as `baking` does with meshes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..core.files import cache_folder, write_atomically
from .baking import sources_digest

Halves = npt.NDArray[np.float16]


def baked_array(
    name: str, sources: Sequence[Path], build: Callable[[], Halves], shape: tuple[int, ...]
) -> Halves:
    """Return the array that `build` makes, from the cache if it was built before.

    Args:
        name: Its name, unique among those with the same sources.
        sources: Files whose code decides it.
        build: Makes it, deterministically.
        shape: What its shape must be: anything else in the cache is damage.
    """
    folder = cache_folder()
    if folder is None:
        return build()
    path = folder / "meshes" / sources_digest(tuple(sources)) / f"{name}.npy"
    kept = _read(path)
    if kept is None or kept.shape != shape:
        kept = build()
        # A cache that cannot be written costs time, never the run.
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            buffer = io.BytesIO()
            np.save(buffer, kept, allow_pickle=False)
            write_atomically(path, buffer.getvalue())
    return kept


def _read(path: Path) -> Halves | None:
    try:
        kept = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = isinstance(kept, np.ndarray) and kept.dtype == np.float16
    return kept if whole and bool(np.isfinite(kept).all()) else None
