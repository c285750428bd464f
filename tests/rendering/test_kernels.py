from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import vlmfail
from vlmfail.rendering.kernels import compiled
from vlmfail.rendering.kernels.noise import smoothstep
from vlmfail.rendering.kernels.tracing import borrow, cull, edges

RUN = "from vlmfail.rendering.kernels.noise import smoothstep; print(smoothstep(0.0, 1.0, 0.25))"


def _answer(root: Path, cache: str) -> float:
    out = subprocess.run(
        [sys.executable, "-c", RUN],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "VLMFAIL_CACHE": cache},
    )
    return float(out.stdout)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return the parent of a copy of the package's renderer."""
    package = tmp_path / "root" / "vlmfail"
    source = Path(vlmfail.__file__).parent
    for room in ("core", "rendering"):
        shutil.copytree(source / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "__init__.py").write_text("")
    return package.parent


def test_kernels_are_kept_and_a_changed_source_is_never_met_by_an_old_one(
    copy: Path, tmp_path: Path
):
    cache = tmp_path / "cache"
    assert _answer(copy, str(cache)) == pytest.approx(0.15625)
    kept = sorted(path.name for path in (cache / "kernels").iterdir())
    assert len(kept) == 1
    assert list(cache.rglob("*.nbc"))
    callee = copy / "vlmfail" / "rendering" / "kernels" / "noise.py"
    text = callee.read_text()
    assert "(3.0 - 2.0 * y)" in text
    stat = callee.stat()
    callee.write_text(text.replace("(3.0 - 2.0 * y)", "(4.0 - 2.0 * y)"))
    os.utime(callee, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as some checkouts leave them
    assert _answer(copy, str(cache)) == pytest.approx(0.21875)


@pytest.mark.parametrize("cache", ["", "/proc/nowhere"])
def test_kernels_work_where_nothing_can_be_kept(copy: Path, cache: str):
    assert _answer(copy, cache) == pytest.approx(0.15625)
    assert not list(copy.rglob("*.nbc"))


def _doubled(x):
    return 2.0 * x


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where kernels that are made in this test are kept."""
    monkeypatch.setattr(compiled, "_folder", lambda: str(tmp_path))
    return tmp_path


def _hits(argument: object) -> int:
    """Call a new kernel; return how often it was read instead of compiled."""
    made = compiled.kernel(_doubled)
    assert made(argument) == 2.0 * argument
    return sum(made.stats.cache_hits.values())


@pytest.mark.parametrize("damage", ["nothing", "half", "foreign", "one bit", "folder"])
def test_damaged_code_is_compiled_anew_and_never_run(folder: Path, damage: str):
    assert _hits(1.5) == 0
    assert _hits(1.5) == 1
    [path] = folder.rglob("*.nbc")
    data = bytearray(path.read_bytes())
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        data[len(data) // 2] ^= 1
        path.write_bytes(
            {"nothing": b"", "half": data[: len(data) // 2], "foreign": b"PK" * 99}.get(
                damage, bytes(data)
            )
        )
    assert _hits(1.5) == 0
    assert _hits(1.5) == (0 if damage == "folder" else 1), "mended"


def test_signatures_of_a_kernel_do_not_share_a_file(folder: Path):
    """Two processes that compile different ones at once would mix them up."""
    for argument in (1.5, np.float32(1.5), 2):
        assert _hits(argument) == 0
    assert len(list(folder.rglob("*.nbc"))) == 3
    assert not list(folder.rglob("*.nbi"))
    assert [_hits(argument) for argument in (1.5, np.float32(1.5), 2)] == [1, 1, 1]


def test_a_disk_that_fills_up_costs_no_picture(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert _hits(1.5) == 0
    assert not [path for path in folder.rglob("*") if path.is_file()]
    shutil.rmtree(folder)
    folder.write_text("in the way")
    assert _hits(1.5) == 0


def test_numbas_own_settings_are_left_alone():
    before = numba.config.CACHE_DIR

    @compiled.kernel
    def doubled(x: float) -> float:
        return 2.0 * x

    assert doubled(1.5) == 3.0
    assert before == numba.config.CACHE_DIR
    assert smoothstep(0.25, 0.0, 0.0) == 1.0


def test_cull_keeps_every_ray_that_meets_the_box_and_turns_it_into_its_frame():
    rng = np.random.default_rng(3)
    yaw, place = 0.7, np.array([4.0, -1.0, 0.5])
    low, high = np.array([-0.6, -0.2, 0.0]), np.array([0.6, 0.2, 1.1])
    frame = np.array([*place, np.cos(yaw), np.sin(yaw), *low, *high])
    directions = rng.normal(size=(4000, 3)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = np.full(1, 1e4, dtype=np.float32)
    for origin in ([[0.0, 0.0, 1.0]], [[4.0, -1.0, 0.9]]):  # outside, inside
        start = np.array(origin, dtype=np.float32)
        at, starts, rays = cull(start, directions, reach, frame)
        turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        own = (start.astype(float) - place) @ turn
        own_rays = directions.astype(float) @ turn
        with np.errstate(divide="ignore"):
            one, other = (low - own) / own_rays, (high - own) / own_rays
        near, far = np.minimum(one, other).max(axis=1), np.maximum(one, other).min(axis=1)
        meets = (near <= far) & (far >= 0.0)
        assert 0 < meets.sum() < (4000 if origin[0][0] == 0.0 else 4001)
        np.testing.assert_array_equal(at, np.flatnonzero(meets))
        np.testing.assert_allclose(rays, own_rays[at], atol=1e-5)
        np.testing.assert_allclose(starts, np.repeat(own, len(at), axis=0), atol=1e-5)
    short = np.full(len(directions), 0.5, dtype=np.float32)
    assert len(cull(np.zeros((1, 3), np.float32), directions, short, frame)[0]) == 0


def test_edge_samples_borrow_from_the_pixel_that_shows_the_same_look():
    owner = np.zeros((3, 4), dtype=np.int16)
    looks = np.zeros((3, 4), dtype=np.int32)
    looks[:, 2:] = 7
    picture = np.zeros((3, 4, 3), dtype=np.float32)
    picture[:, 2:] = 200.0
    at, within = edges(picture, owner, looks, (5.0, 18.0, 42.0))
    assert sorted(at) == [1, 2, 5, 6, 9, 10]
    assert not within.any()
    grid = np.array([[0.3, 0.3]])
    sample_looks = np.full(len(at), 7, dtype=np.int32)
    sample_looks[0] = 99  # seen through the gap between two pixels alone
    shown = np.full((len(at), 3), -1.0, dtype=np.float32)
    left = borrow(
        at, within, owner, looks, picture, np.zeros(len(at), np.int16), sample_looks, grid, shown
    )
    assert left.tolist() == [0]
    assert (shown[1:] == 200.0).all()
    picture[1, 0] = 100.0  # a shadow within a look
    at, within = edges(picture, owner, looks, (5.0, 18.0, 42.0))
    assert 4 in at[within]
    everything = borrow(
        at, within, owner, looks, picture,
        np.zeros(len(at), np.int16), np.zeros(len(at), np.int32), grid,
        np.empty((len(at), 3), np.float32),
    )  # fmt: skip
    assert set(at[everything]) == set(at[within])
