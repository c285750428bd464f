"""Coverage of episodes with grids that are said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vlmfail.analysis.episodes import (
    PlayedEpisode,
    coverage,
    episode_metrics,
    played,
    rates_by_object,
    rates_by_orientation,
)
from vlmfail.analysis.metrics import compute_metrics
from vlmfail.core import Outcome, Trial, TrialRecord
from vlmfail.runs.run import RunData
from vlmfail.runs.store import LoggedEvaluation
from vlmfail.testing.made_runs import make_run

Row = tuple[str, Outcome, list[tuple[float, float]], int | None]

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


def made(
    path: Path, rows: Sequence[Row], *, standing: Sequence[bool] = (), **config: Any
) -> RunData:
    """Episodes of (object, outcome, object path, trial that it repeats), one a candidate."""
    config = {
        "domain": "pickup",
        "trials": 1,
        "domain_data": {"targets": ["a", "b", "c"]},
        **config,
    }
    run = make_run(path, [], config=config)
    for step, (name, outcome, path_, repeats) in enumerate(rows):
        trial = Trial(f"k{step}", 0, outcome, direction="slipped" if outcome is FAIL else None,
                      repeats=repeats)  # fmt: skip
        scene: dict[str, Any] = {"target": {"object": name}}
        if standing:
            scene["target"]["standing"] = standing[step]
        if outcome is not ERROR:
            scene["episode"] = {
                "object_path": [[x, y, 0.9] for x, y in path_],
                "gripper_path": [[-0.6, -0.25, 1.0]],
            }
        run.store.add(TrialRecord(trial, scene=scene), None)
        run.store.log_evaluation(LoggedEvaluation(step, 0, f"k{step}", [0.5], (0,)))
    return RunData(run.store)


def test_bins_visited_during_episodes(tmp_path: Path) -> None:
    run = made(
        tmp_path / "r",
        [
            ("a", PASS, [(-0.64, -0.29), (-0.64, -0.21), (-0.56, -0.21)], None),
            ("b", FAIL, [(0.149, 0.699), (0.5, 0.9)], None),
            ("b", FAIL, [(0.15, 0.7), (-0.64, -0.29)], None),
            ("c", ERROR, [], None),
        ],
    )
    metrics = episode_metrics(run)
    # The bin at the table's upper corner holds the corner; what fell off it visits nothing.
    assert metrics["tc"] == pytest.approx(3 / 100)
    assert metrics["tcf"] == pytest.approx(2 / 100)
    assert metrics["fr"] == pytest.approx(2 / 3)
    assert metrics["foc"] == pytest.approx(1 / 3)
    assert metrics["coverage"] == {
        "grid": [10, 10], "bins": 100, "visited": 3, "visited_failing": 2,
        "source": "object", "area": "table", "objects": 3, "objects_failed": 1,
    }  # fmt: skip
    assert [(s.name, s.failures, s.n) for s in rates_by_object(played(run))] == [
        ("b", 2, 2), ("a", 0, 1),
    ]  # fmt: skip


def test_grid_source_and_area_are_parameters(tmp_path: Path) -> None:
    run = made(tmp_path / "r", [("a", FAIL, [(-0.45, 0.05), (-0.06, 0.39), (0.1, 0.5)], None)])
    episodes = played(run)
    assert coverage(episodes, grid=(1, 1)).tc == 1.0
    assert coverage(episodes, grid=(2, 4)).bins == 8
    assert coverage(episodes, source="gripper").visited == {(0, 0)}
    targets = coverage(episodes, grid=(2, 2), area="targets")
    assert targets.visited == {(0, 0), (1, 1)}
    assert episode_metrics(run, (2, 2), area="targets")["coverage"]["area"] == "targets"


def test_a_repeat_is_no_episode(tmp_path: Path) -> None:
    run = made(tmp_path / "r", [("a", FAIL, [(-0.3, 0.1)], None), ("a", FAIL, [(-0.1, 0.1)], 0)])
    assert len(played(run)) == 1
    assert compute_metrics(run)["fr"] == 1.0


def test_errors_that_count_as_failures_are_episodes_without_a_path(tmp_path: Path) -> None:
    rows: list[Row] = [("a", ERROR, [], None), ("b", PASS, [(-0.3, 0.1)], None)]
    metrics = compute_metrics(made(tmp_path / "r", rows, count_as_fail=["error"]))
    assert (metrics["fr"], metrics["mfr"], metrics["pfm"]) == (0.5, 0.5, 0.5)
    assert (metrics["tc"], metrics["tcf"], metrics["foc"]) == (0.01, 0.0, pytest.approx(1 / 3))
    assert metrics["fr_by_object"]["a"]["failures"] == 1
    uncounted = compute_metrics(made(tmp_path / "s", rows))
    assert (uncounted["fr"], uncounted["mfr"], uncounted["foc"]) == (0.0, 0.0, 0.0)


def test_the_floor_below_the_table_is_not_visited() -> None:
    path = [[0.1, 0.2, 0.88], [0.0, 0.2, 0.5], [-0.3, 0.5, 0.03]]
    fallen = PlayedEpisode(Trial("k", 0, FAIL), True, "a", {"object_path": path})
    assert coverage([fallen]).visited == {(9, 5)}


def test_rates_by_orientation(tmp_path: Path) -> None:
    rows: list[Row] = [("a", outcome, [(-0.3, 0.1)], None) for outcome in (FAIL, FAIL, PASS)]
    run = made(tmp_path / "r", rows, standing=(True, False, False))
    shares = [(s.name, s.failures, s.n) for s in rates_by_orientation(played(run))]
    assert sorted(shares) == [("lying", 1, 2), ("standing", 1, 1)]
    unknown = rates_by_orientation(played(made(tmp_path / "s", rows)))
    assert [(s.name, s.n) for s in unknown] == [("?", 3)]


def test_no_data(tmp_path: Path) -> None:
    metrics = compute_metrics(made(tmp_path / "r", []))
    assert [metrics[name] for name in ("fr", "tc", "tcf", "foc")] == [None] * 4
    assert metrics["coverage"]["bins"] == 100


def test_other_domains_have_none(tmp_path: Path) -> None:
    assert "tc" not in compute_metrics(make_run(tmp_path / "r", [(("dog",), "pf")]))
