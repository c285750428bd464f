"""The first search on a machine says what it waits for."""

from __future__ import annotations

import pytest

from vlmfail.cli.search import is_cold


@pytest.mark.parametrize("env", ["VLMFail-Driving-v0", "vlmfail:VLMFail-Indoor-v0"])
def test_it_is_told_until_kernels_are_kept(env, tmp_path, monkeypatch):
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path))
    assert is_cold(env, None)
    assert is_cold(env, "embree")
    (tmp_path / "kernels" / "digest").mkdir(parents=True)
    assert is_cold(env, None), "the folder alone holds nothing"
    (tmp_path / "kernels" / "digest" / "one").write_bytes(b"code")
    assert not is_cold(env, None)
    monkeypatch.setenv("VLMFAIL_CACHE", "")
    assert is_cold(env, None), "nothing is kept: each search builds anew"


@pytest.mark.parametrize(
    ("env", "renderer"),
    [("VLMFail-Planted-v0", None), ("world.py:Small", None), ("VLMFail-Driving-v0", "folder:a")],
)
def test_what_our_ray_tracer_does_not_draw_never_waits(env, renderer, tmp_path, monkeypatch):
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path))
    assert not is_cold(env, renderer)
