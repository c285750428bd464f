"""Baked meshes: built once, then read from a cache folder.

People are blended surfaces and streets have 50 000 triangles: building all of a domain's meshes
takes a process half a minute, reading them a second. A baked mesh is named by a digest of the
source files that build it, so a changed builder never meets an old mesh.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np

from ..core.files import cache_folder, write_atomically
from .mesh import Mesh


@cache
def sources_digest(folders: tuple[Path, ...]) -> str:
    """Return a digest of the Python files below `folders` (files may be named too)."""
    digest = hashlib.sha256(np.__version__.encode())
    for folder in folders:
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def baked(name: str, sources: Sequence[Path], build: Callable[[], Mesh]) -> Mesh:
    """Return the mesh that `build` makes, from the cache if it was built before.

    Args:
        name: The mesh's name, unique among those with the same sources.
        sources: Files and folders whose code decides the mesh.
        build: Makes the mesh, deterministically.
    """
    folder = cache_folder()
    if folder is None:
        return build()
    path = folder / "meshes" / sources_digest(tuple(sources)) / f"{name}.npz"
    mesh = _read(path)
    if mesh is None:
        mesh = build()
        # A cache that cannot be written costs time, never the run.
        with contextlib.suppress(OSError):
            _write(path, mesh)
    return mesh


def _read(path: Path) -> Mesh | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            mesh = Mesh(*(arrays[field.name] for field in fields(Mesh)))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return mesh if _is_whole(mesh) else None


def _is_whole(mesh: Mesh) -> bool:
    count = len(mesh.faces)
    return (
        mesh.vertices.shape[1:] == (3,)
        and mesh.faces.shape == mesh.colours.shape == (count, 3)
        and mesh.materials.shape == (count,)
        and mesh.normals.shape == (count, 3, 3)
        and (count == 0 or 0 <= mesh.faces.min() <= mesh.faces.max() < len(mesh.vertices))
    )


def _write(path: Path, mesh: Mesh) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, **{field.name: getattr(mesh, field.name) for field in fields(Mesh)})
    write_atomically(path, buffer.getvalue())
