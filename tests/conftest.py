"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent

WORLDS = (HERE / "envs" / "driving", HERE / "envs" / "indoor")
"""Tests of these folders draw with the same backdrops and meshes, which a process makes once."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together, in one of several processes, tests that share what is slow to make."""
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            continue
        group = next((folder for folder in WORLDS if folder in item.path.parents), None)
        if group is None and _shares_a_fixture(item):
            group = item.path
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group.relative_to(HERE).as_posix()))


def _shares_a_fixture(item: pytest.Item) -> bool:
    info = getattr(item, "_fixtureinfo", None)
    found = {} if info is None else info.name2fixturedefs
    return any(
        made.scope == "module" and made.func.__module__ == item.module.__name__
        for several in found.values()
        for made in several
    )
