"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent

TOGETHER = {
    "driving": ("envs/driving",),
    "indoor": ("envs/indoor", "scripts/test_naming_test_indoor.py"),
    "planted": ("envs/planted", "analysis/test_planted.py"),
}
"""Tests by what a process makes once for them: backdrops and meshes, tables of landscapes."""

WORLDS = {"VLMFail-Driving-v0": "driving", "VLMFail-Indoor-v0": "indoor"}

PLACES = {HERE / place: group for group, places in TOGETHER.items() for place in places}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together, in one of several processes, tests that share what is slow to make."""
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            continue
        shared = [PLACES.get(place) for place in (item.path, *item.path.parents)]
        shared += [group for world, group in WORLDS.items() if f"[{world}]" in item.name]
        group = next((name for name in shared if name is not None), None)
        if group is None and _shares_a_fixture(item):
            group = item.path.relative_to(HERE).as_posix()
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def _shares_a_fixture(item: pytest.Item) -> bool:
    info = getattr(item, "_fixtureinfo", None)
    found = {} if info is None else info.name2fixturedefs
    return any(
        made.scope == "module" and made.func.__module__ == item.module.__name__
        for several in found.values()
        for made in several
    )
