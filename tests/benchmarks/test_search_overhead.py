from __future__ import annotations

import json

import pytest

from vlmfail.benchmarks import factor_overhead, search_overhead
from vlmfail.searchers._kinds import KINDS


def test_command_prints_figures(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sets", "24", "--seeds", "1", "--searchers", "random", "gpts"]
    assert search_overhead.main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["milliseconds_per_set"]
    assert [row["method"] for row in rows] == [
        "random, the searcher alone",
        "random, the whole search",
        "gpts, the searcher alone",
        "gpts, the whole search",
        search_overhead.REFERENCE,
    ]
    assert all(0 < row["median"] <= row["max"] for row in rows)
    assert {row["sets"] for row in rows} == {24}


def test_overhead_stays_near_its_target() -> None:
    """Ten times the target: a busy machine passes, a surrogate that grows with n does not."""
    [row] = search_overhead.measure(["gpts"], sets=100, seeds=1)[:1]
    assert row.median < 10 * search_overhead.TARGET_MS


def test_search_uses_the_whole_budget() -> None:
    run = search_overhead.searcher_run("gpts", 40, seed=0)
    assert len(set(run.keys)) == 40
    assert run.seconds > 0


def test_vector_searchers_are_measured_apart(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sets", "24", "--seeds", "1", "--searchers", "fscs-art", "weighted-rf"]
    assert search_overhead.main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["milliseconds_per_set"] == []
    rows = document["milliseconds_per_scene"]
    assert [row["method"] for row in rows] == [
        "fscs-art, scene vectors",
        "fscs-art, the last tenth",
        "weighted-rf, scene vectors",
        "weighted-rf, the last tenth",
    ]
    assert all(0 < row["median"] <= row["max"] for row in rows)
    assert search_overhead.main([*arguments[:4], "--searchers", "fscs-art"]) == 0
    assert "per evaluated scene" in capsys.readouterr().out


def test_forest_searchers_stay_near_their_target() -> None:
    """Ten times the target: a busy machine passes, a slow surrogate does not."""
    [_, late] = search_overhead.measure_vectors(["sorting-rf"], scenes=60, seeds=1)
    assert late.median < 10 * search_overhead.VECTOR_TARGET_MS


def test_many_candidates_are_measured_as_sets_and_as_vectors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(factor_overhead.factor_sets().valid_sets()) == 46_656
    arguments = ["--space", "factors", "--sets", "12", "--seeds", "2", "--searchers"]
    assert search_overhead.main([*arguments, "random", "level-set", "sorting-dt", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["milliseconds_per_iteration"]
    assert [(row["method"], row["candidates"]) for row in rows] == [
        ("random", "concept sets"),
        ("level-set", "concept sets"),
        ("random", "scene vectors"),
        ("sorting-dt", "scene vectors"),
    ]
    assert all((row["iterations"], row["seeds"]) == (12, 2) for row in rows)
    for row in rows:
        for median, least, most in (row["iteration"], row["late"], row["slowest"]):
            assert 0 < least <= median <= most
    assert "load" in document["machine"]
    assert search_overhead.main([*arguments, "random"]) == 0
    assert "46 656 candidates" in capsys.readouterr().out


def test_all_searchers_of_sets_and_vectors_are_measured_by_default() -> None:
    rows = factor_overhead.measure_factors(iterations=1, seeds=1)
    assert [row.method for row in rows] == [name for _, names in KINDS.values() for name in names]
