"""Files that are complete or absent."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def cache_folder() -> Path | None:
    """Return the folder of vlmfail's caches: $VLMFAIL_CACHE, else the user's cache folder.

    None when $VLMFAIL_CACHE is empty, which turns caches off, or when the user has no home, as in
    some containers.
    """
    named = os.environ.get("VLMFAIL_CACHE")
    if named is not None:
        return Path(named) if named else None
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "vlmfail"


def write_atomically(target: Path, data: bytes) -> None:
    """Write a file so that it is either complete or absent, whoever else writes it too.

    Raises:
        OSError: The folder is missing or cannot be written.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            # mkstemp makes private files; these are for whoever may read the folder. Some disks
            # (FAT, network shares) know no modes and refuse.
            with contextlib.suppress(OSError):
                os.fchmod(file.fileno(), 0o644)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
