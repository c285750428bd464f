"""The plot of paths: what its legend counts."""

from __future__ import annotations

from typing import Any

import pytest

from vlmfail.analysis.episodes import PlayedEpisode
from vlmfail.core import Outcome, Trial
from vlmfail.reports import paths


def episodes(failures: int, passes: int) -> list[PlayedEpisode]:
    record = {"object_path": [[-0.3, 0.1, 0.9]], "gripper_path": [[-0.2, 0.1, 1.0]]}
    return [
        PlayedEpisode(Trial(f"k{i}", 0, Outcome.FAIL if i < failures else Outcome.PASS),
                      i < failures, "spoon", record)
        for i in range(failures + passes)
    ]  # fmt: skip


def legend(shown: list[PlayedEpisode], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    drawn: list[Any] = []
    monkeypatch.setattr(paths, "to_svg", lambda figure, name: drawn.append(figure) or "<svg/>")
    paths.path_plot(shown)
    (found,) = drawn[0].legends
    return [found.get_title().get_text(), *(text.get_text() for text in found.get_texts())]


def test_the_legend_counts_all_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST_PATHS", 4)
    assert legend(episodes(5, 2), monkeypatch) == [
        "paths of the first 4 of 7 episodes", "failed (5)", "passed (2)",
    ]  # fmt: skip
    assert legend(episodes(1, 3), monkeypatch) == ["", "failed (1)", "passed (3)"]
