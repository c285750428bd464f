"""Baked meshes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vlmfail.rendering.baked_array import baked_array
from vlmfail.rendering.baking import baked
from vlmfail.rendering.mesh import Mesh


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "builder.py"
    path.write_text("one")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def counting() -> tuple[Callable[[], Mesh], list[int]]:
    calls: list[int] = []

    def build() -> Mesh:
        calls.append(1)
        return Mesh.build([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], (0.1, 0.2, 0.3))

    return build, calls


def same(a: Mesh, b: Mesh) -> bool:
    return all(
        np.array_equal(getattr(a, n), getattr(b, n)) and getattr(a, n).dtype == getattr(b, n).dtype
        for n in ("vertices", "faces", "colours", "materials", "normals")
    )


def test_built_once_and_read_back_as_it_was(cache: Path, source: Path) -> None:
    build, calls = counting()
    first = baked("m", [source], build)
    assert same(baked("m", [source], build), first)
    assert len(calls) == 1
    baked("other", [source], build)
    assert len(calls) == 2


def test_a_changed_builder_never_meets_an_old_mesh(cache: Path, tmp_path: Path) -> None:
    build, calls = counting()
    for number in range(2):
        source = tmp_path / f"version{number}.py"
        source.write_text(str(number))
        baked("m", [source], build)
    assert len(calls) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 half a file", b"no zip"])
def test_a_damaged_file_is_built_again(cache: Path, source: Path, damage: bytes) -> None:
    build, calls = counting()
    first = baked("m", [source], build)
    (path,) = cache.rglob("m.npz")
    path.write_bytes(damage)
    assert same(baked("m", [source], build), first)
    assert same(baked("m", [source], build), first)
    assert len(calls) == 2


def test_a_file_with_wrong_shapes_is_built_again(cache: Path, source: Path) -> None:
    build, calls = counting()
    baked("m", [source], build)
    (path,) = cache.rglob("m.npz")
    arrays = dict(np.load(path))
    arrays["faces"] = arrays["faces"] + 99
    np.savez(path, **arrays)
    baked("m", [source], build)
    assert len(calls) == 2


def test_a_folder_that_cannot_be_written_costs_time_only(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "file"))
    build, calls = counting()
    baked("m", [source], build)
    baked("m", [source], build)
    assert len(calls) == 2


def test_an_empty_setting_turns_it_off(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLMFAIL_CACHE", "")
    build, calls = counting()
    baked("m", [source], build)
    baked("m", [source], build)
    assert len(calls) == 2


def test_arrays_are_built_once_and_damage_is_built_anew(cache: Path, source: Path) -> None:
    calls: list[int] = []

    def build() -> np.ndarray:
        calls.append(1)
        return np.linspace(0, 1, 6, dtype=np.float16).reshape(2, 3)

    first = baked_array("a", [source], build, (2, 3))
    assert np.array_equal(baked_array("a", [source], build, (2, 3)), first)
    assert len(calls) == 1
    path = next(cache.rglob("*.npy"))
    for damage in (b"", path.read_bytes()[:-3], b"no array"):
        path.write_bytes(damage)
        assert np.array_equal(baked_array("a", [source], build, (2, 3)), first)
    assert len(calls) == 4
