"""Pictures that the runs of a study share."""

from __future__ import annotations

import contextlib
import filecmp
import os
from pathlib import Path

from ...rendering.picture_cache import FOLDER_VARIABLE, LIMIT_VARIABLE, PictureCache


def keep_pictures(folder: Path | None, gib: float) -> None:
    """Have this process read and keep pictures in `folder`, at most `gib` GiB; None = in none."""
    os.environ[FOLDER_VARIABLE] = "" if folder is None else str(folder.absolute())
    os.environ[LIMIT_VARIABLE] = str(gib)


def link_pictures(folder: Path, kept: PictureCache) -> int:
    """Make a run's pictures links to the cache's equal ones; return how many became links.

    A disk without hard links keeps two copies. A kept picture that is damaged replaces none.
    """
    count = 0
    for path in sorted((folder / "images").glob("*.png")):
        twin = kept.picture_path(path.stem)
        beside = path.with_name(f".link-{path.name}")
        with contextlib.suppress(OSError):
            if twin.samefile(path) or not filecmp.cmp(twin, path, shallow=False):
                continue
            beside.unlink(missing_ok=True)
            os.link(twin, beside)
            os.replace(beside, path)
            count += 1
    return count
