from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import vlmfail
from vlmfail.rendering.kernels import compiled
from vlmfail.rendering.kernels.noise import smoothstep

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


def test_numbas_own_settings_are_left_alone():
    before = numba.config.CACHE_DIR

    @compiled.kernel
    def doubled(x: float) -> float:
        return 2.0 * x

    assert doubled(1.5) == 3.0
    assert before == numba.config.CACHE_DIR
    assert smoothstep(0.25, 0.0, 0.0) == 1.0
