"""Kept renderings: the same as drawn ones, and never another world's."""

from __future__ import annotations

import errno
import hashlib
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
    MAX_FILE_BYTES,
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


@pytest.mark.parametrize("kind", ["*.png", "*.scene"])
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


def flat(k: int = 0) -> Rendering:
    from vlmfail.core import Picture

    shade = np.random.default_rng(k).integers(0, 256, (24, 24, 3)).astype(np.uint8)
    index = np.zeros((24, 24), np.int16)
    return Rendering(Picture.from_pixels(shade), {"cube": 120}, index, {"cube": 3})


KEY, OTHER = "ab" * 32, "cd" * 32


def _scene(folder: Path) -> Path:
    [path] = folder.rglob("*.scene")
    return path


def test_a_changed_count_is_damage(tmp_path: Path) -> None:
    """It decides whether a scene is valid: a wrong one would be a wrong result."""
    kept = PictureCache(tmp_path)
    kept.put(KEY, flat())
    assert kept.get(KEY) is not None
    path = _scene(tmp_path)
    text = path.read_bytes()
    assert text.count(b"120") == 1
    path.write_bytes(text.replace(b"120", b"920"))
    assert kept.get(KEY) is None


def test_another_scene_under_the_name_is_not_taken_for_it(tmp_path: Path) -> None:
    kept = PictureCache(tmp_path)
    kept.put(KEY, flat())
    path = tmp_path / "scenes" / OTHER[:2] / f"{OTHER}.scene"
    path.parent.mkdir()
    path.write_bytes(_scene(tmp_path).read_bytes())
    assert kept.get(OTHER) is None


def _forged(text: bytes) -> bytes:
    return hashlib.sha256(KEY.encode() + b"\n" + text).hexdigest().encode() + b"\n" + text


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000, b"\xff\xfe", b"NaN", b"[]", b'{"picture": 3}', _forged(b"NaN"), _forged(b"[]"),
     _forged(b'{"picture": "a\\u0000b"}'), _forged(b'{"picture": "../../x"}')],
    ids=range(9),
)  # fmt: skip
def test_foreign_text_is_a_miss(tmp_path: Path, text: bytes) -> None:
    kept = PictureCache(tmp_path)
    kept.put(KEY, flat())
    _scene(tmp_path).write_bytes(text)
    assert kept.get(KEY) is None
    kept.put(KEY, flat())
    assert kept.get(KEY) is not None


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)


def test_what_is_no_plain_file_of_a_rendering_is_neither_waited_for_nor_read(
    tmp_path: Path,
) -> None:
    """In a process of its own, which can be given up."""
    folders = []
    for suffix in ("png", "scene"):
        for put in (_pipe, _endless, _huge, Path.mkdir):
            folder = tmp_path / f"{suffix}-{len(folders)}"
            PictureCache(folder).put(KEY, flat())
            [path] = folder.rglob(f"*.{suffix}")
            path.unlink()
            put(path)
            folders.append(str(folder))
    code = (
        "import sys; from vlmfail.rendering.picture_cache import PictureCache\n"
        f"print([PictureCache(folder).get({KEY!r}) for folder in sys.argv[1:]])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, *folders],
        check=True, timeout=60, capture_output=True, text=True,
    )  # fmt: skip
    assert out.stdout.strip() == str([None] * 8)


def test_a_full_disk_costs_no_picture_and_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = PictureCache(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        kept.put(KEY, flat())
    assert not _files(tmp_path)
    assert kept.get(KEY) is None
    kept.put(KEY, flat())
    assert kept.get(KEY) is not None


def test_files_of_others_in_the_folder_are_not_deleted(tmp_path: Path) -> None:
    """A limit bounds the cache, whatever else lies in the folder that was named."""
    names = ["Documents/work/thesis.txt", "pictures/2024/holiday.png", f"pictures/ab/{KEY}.jpg",
             f"scenes/notes/{KEY}.scene", f"other/ab/{KEY}.png"]  # fmt: skip
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(100_000))
        os.utime(path, (1, 1))
    kept = PictureCache(tmp_path, limit=10_000)
    for k in range(8):
        kept.put(f"{k:064x}", flat(k))
    assert all((tmp_path / name).exists() for name in names)
    assert kept.get(f"{7:064x}") is not None
    assert kept.get(f"{0:064x}") is None


def test_numbers_of_any_kind_are_kept(tmp_path: Path) -> None:
    kept = PictureCache(tmp_path)
    kept.put(KEY, replace(flat(), visible={"cube": np.int64(4)}))
    found = kept.get(KEY)
    assert found is not None
    assert found.visible == {"cube": 4}


def test_what_a_killed_writer_left_is_cleared(tmp_path: Path) -> None:
    kept = PictureCache(tmp_path, limit=10_000)
    left = tmp_path / "pictures" / "00" / ".new-abc_1x2y"
    left.parent.mkdir(parents=True)
    left.write_bytes(bytes(50_000))
    os.utime(left, (1, 1))
    kept.put(KEY, flat())
    assert not left.exists()
    assert kept.get(KEY) is not None


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
