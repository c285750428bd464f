"""Kept renderings: the same as drawn ones, and never another world's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail.core import Rendering, UsageError
from vlmfail.rendering.embree import EmbreeRenderer
from vlmfail.rendering.mesh import Material
from vlmfail.rendering.picture_cache import (
    FOLDER_VARIABLE,
    LIMIT_VARIABLE,
    CachedRenderer,
    PictureCache,
    remembering,
)
from vlmfail.rendering.world import Instance, World

from .worlds import FOG, box, world


@pytest.fixture
def cube() -> World:
    return world(Instance("cube", box(), 6.0, 0.5))


def cached(folder: Path, source: str = "one") -> CachedRenderer:
    return CachedRenderer(EmbreeRenderer(), PictureCache(folder), lambda: source)


def same(a: Rendering, b: Rendering) -> bool:
    assert a.index is not None
    assert b.index is not None
    return (
        a.picture.png == b.picture.png
        and a.visible == b.visible
        and list(a.visible or ()) == list(b.visible or ())
        and a.extent == b.extent
        and np.array_equal(a.index, b.index)
        and a.index.dtype == b.index.dtype
    )


def test_kept_rendering_is_the_drawn_one(cube: World, tmp_path: Path) -> None:
    drawn = EmbreeRenderer().render(cube)
    writer, reader = cached(tmp_path), cached(tmp_path)
    assert same(writer.render(cube), drawn)
    assert same(reader.render(cube), drawn)
    assert (writer.hits, writer.misses) == (0, 1)
    assert (reader.hits, reader.misses) == (1, 0)


CHANGES: dict[str, Callable[[World], World]] = {
    "place": lambda w: replace(w, objects=(replace(w.objects[0], x=np.nextafter(6.0, 7.0)),)),
    "name": lambda w: replace(w, objects=(replace(w.objects[0], name="box"),)),
    "mesh": lambda w: replace(
        w, objects=(replace(w.objects[0], mesh=box(material=Material.METAL)),)
    ),
    "size": lambda w: replace(w, objects=(replace(w.objects[0], mesh=box(1.001)),)),
    "weather": lambda w: replace(w, atmosphere=FOG),
    "seed of the rain": lambda w: replace(w, atmosphere=replace(w.atmosphere, seed=1)),
    "camera": lambda w: replace(w, camera=replace(w.camera, yaw=1e-9)),
    "probes": lambda w: replace(w, probes=()),
    "backdrop": lambda w: replace(w, backdrop=box(90.0, 90.0, 0.1), backdrop_key="box"),
    "missing object": lambda w: replace(w, objects=()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_world_misses(cube: World, tmp_path: Path, change: str) -> None:
    renderer = cached(tmp_path)
    assert renderer.key(CHANGES[change](cube)) != renderer.key(cube)


def test_an_equal_world_of_other_objects_hits(cube: World, tmp_path: Path) -> None:
    again = world(Instance("cube", box(), 6.0, 0.5))
    assert again.objects[0].mesh is not cube.objects[0].mesh
    assert cached(tmp_path).key(again) == cached(tmp_path).key(cube)


def test_changed_code_misses(cube: World, tmp_path: Path) -> None:
    cached(tmp_path, "one").render(cube)
    changed = cached(tmp_path, "two")
    changed.render(cube)
    assert (changed.hits, changed.misses) == (0, 1)


def test_key_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Neither addresses nor hash seeds are in it: only so are kept pictures ever found again."""
    code = (
        "import numpy as np\n"
        "from vlmfail.envs.driving.domain import DrivingDomain\n"
        "from vlmfail.rendering.embree import EmbreeRenderer\n"
        "from vlmfail.rendering.picture_cache import CachedRenderer, PictureCache\n"
        "candidate, rng = frozenset({'cone', 'near'}), np.random.default_rng(1)\n"
        "scene = DrivingDomain().sample_scene(candidate, rng)\n"
        "print(CachedRenderer(EmbreeRenderer(), PictureCache('x')).key(scene.world()))\n"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(keys) == 1


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["*.png", "*.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_damage_is_drawn_anew(cube: World, tmp_path: Path, kind: str, damage: bytes | None) -> None:
    drawn = cached(tmp_path).render(cube)
    [path] = tmp_path.rglob(kind)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    renderer = cached(tmp_path)
    assert same(renderer.render(cube), drawn)
    assert renderer.misses == 1
    assert same(cached(tmp_path).render(cube), drawn)


def test_a_folder_that_cannot_be_written_costs_no_picture(cube: World, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert same(cached(blocked).render(cube), EmbreeRenderer().render(cube))


class Flat:
    """Renderings of a few hundred bytes, without tracing."""

    name = "flat"

    def render(self, scene: Any) -> Rendering:
        from vlmfail.core import Picture

        shade = np.random.default_rng(int(scene.camera.x)).integers(0, 256, (24, 24, 3))
        return Rendering(Picture.from_pixels(shade.astype(np.uint8)))


def test_size_stays_bounded_and_the_least_used_goes_first(cube: World, tmp_path: Path) -> None:
    renderer = CachedRenderer(Flat(), PictureCache(tmp_path, limit=20_000), lambda: "")
    worlds = [replace(cube, camera=replace(cube.camera, x=float(k))) for k in range(40)]
    for k, one in enumerate(worlds):
        renderer.render(one)
        if k % 2 == 0:
            renderer.render(worlds[0])
    size = sum(path.stat().st_size for path in _files(tmp_path))
    assert 10_000 < size < 24_000
    hits = renderer.hits
    renderer.render(worlds[0])
    assert renderer.hits == hits + 1, "used all the time"
    misses = renderer.misses
    renderer.render(worlds[1])
    assert renderer.misses == misses + 1, "not used since"


def test_off_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = EmbreeRenderer()
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert remembering(renderer) is renderer
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert remembering(renderer) is renderer
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert isinstance(remembering(renderer), CachedRenderer)
    other = Flat()
    assert remembering(other) is other, "which code decides its pictures is not known"
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(UsageError, match="expected a size in GiB, got 'much'"):
        remembering(renderer)


def test_a_search_finds_the_same_with_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vlmfail import search

    def outcome(name: str) -> list[Any]:
        run = search(
            "VLMFail-Driving-v0", "random", budget=4, trials=2, seed=3, out=tmp_path / name
        )
        records = [replace(r, seconds_render=0, seconds_model=0) for r in run.records.values()]
        pictures = {p.name: p.read_bytes() for p in (run.path / "images").iterdir()}
        run.close()
        return [records, pictures]

    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    without = outcome("without")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kept"))
    assert outcome("first") == without
    kept = _files(tmp_path / "kept")
    assert len(kept) == 2 * len(without[1])

    def refuse(*_: Any) -> Rendering:
        raise AssertionError("drawn although it was kept")

    monkeypatch.setattr(EmbreeRenderer, "render", refuse)
    assert outcome("second") == without
