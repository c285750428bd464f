"""The study's figures, by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from vlmfail.benchmarks.search_study.comparison import Rerun, against, compare, holm
from vlmfail.benchmarks.search_study.families import failure_sheet, families
from vlmfail.benchmarks.search_study.figures import MIXED, NOTHING, RunFigures, read_run
from vlmfail.benchmarks.search_study.plan import Study, Task
from vlmfail.benchmarks.search_study.tables import markdown
from vlmfail.core import Outcome, Trial, TrialRecord
from vlmfail.testing.made_runs import make_run


def figures(
    folder: Path, sets: Any, searcher: str = "random", seed: int = 0, **more: Any
) -> RunFigures:
    make_run(folder / searcher / str(seed), sets, **more).close()
    found = read_run(folder / searcher / str(seed), Task("m", searcher, seed), top=2, fresh=4)
    assert found is not None
    return found


def test_sets_of_a_run(tmp_path: Path) -> None:
    run = figures(
        tmp_path,
        [(["a"], "fffpp"), (["a", "b"], "ppppp"), (["c"], "iiiii"), (["d", "e"], "ppiii")],
        record={"scene": {"attempts": 2}},
    )
    by_key = {one.key: one for one in run.sets}
    assert [by_key[k].size for k in ("a", "a+b")] == [1, 2]
    assert [k for k, one in by_key.items() if one.infeasible] == ["c"]
    assert [k for k, one in by_key.items() if one.is_mode] == ["a"]
    assert [k for k, one in by_key.items() if one.counted] == ["a", "a+b"], "m trials, some valid"
    assert (by_key["a"].expected, by_key["c"].expected) == ("emergency_stop", NOTHING)
    [arm] = compare([run], "random")
    infeasible, invalid, drawn = arm.infeasible(), arm.invalid(), arm.drawn_again(8)
    assert {size: (s.failures, s.n) for size, s in infeasible.items()} == {1: (1, 2), 2: (0, 2)}
    assert {size: (s.failures, s.n) for size, s in invalid.items()} == {1: (5, 10), 2: (3, 10)}
    # Size 1: five trials took 2 draws each, five had 8 in vain.
    assert (drawn[1].failures, drawn[1].n) == (5 + 40, 10 + 40)


def test_right_answers_that_differ_are_mixed(tmp_path: Path) -> None:
    made = make_run(tmp_path / "run", [(["a"], "fff"), (["b"], "ppp")], config={"trials": 3})
    record = made.records["a", 1]
    changed = Trial("a", 1, Outcome.FAIL, answer="x", expected="continue", picture=None)
    made.store.add(TrialRecord(changed, scene=record.scene), None)
    made.close()
    run = read_run(tmp_path / "run", Task("m", "random", 0), 2, 4)
    assert run is not None
    [arm] = compare([run], "random")
    shares = {name: (s.failures, s.n) for name, s in arm.by_expected().items()}
    assert shares == {MIXED: (1, 1), "emergency_stop": (0, 1)}


def test_a_search_that_is_not_over_is_left_out(tmp_path: Path) -> None:
    make_run(tmp_path / "run", [(["a"], "fffff")], status="interrupted").close()
    assert read_run(tmp_path / "run", Task("m", "random", 0), 2, 4) is None


def test_differences_are_paired_by_seed() -> None:
    base = {seed: 0.01 * seed for seed in range(10)}
    ours = {seed: 0.01 * seed + 0.1 for seed in range(2, 12)}
    found = against(ours, base)
    assert found is not None
    assert found.seeds == 8
    # Unpaired, the spread of the seeds would be in the interval.
    assert found.difference.value == pytest.approx(0.1)
    assert found.difference.low == pytest.approx(0.1)
    assert found.difference.high == pytest.approx(0.1)
    assert found.p == pytest.approx(2 / 2**8), "exact: all signs alike"
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(0.155 / 0.055)
    assert found.ratio.low < found.ratio.value < found.ratio.high


def test_nothing_is_compared_with_a_single_seed_nor_divided_by_nothing() -> None:
    assert against({0: 0.1}, {0: 0.2}) is None
    assert against({0: 0.1, 1: 0.1}, {1: 0.1, 2: 0.1}) is None
    none = against({0: 0.1, 1: 0.2}, {0: 0.0, 1: 0.0})
    assert none is not None
    assert none.ratio is None
    some = against({0: 0.1, 1: 0.2}, {0: 0.0, 1: 0.1})
    assert some is not None
    assert some.ratio is not None
    assert some.ratio.to_json()["high"] is None, "a resample of zeros has no ratio"


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_arms_are_compared_with_the_same_models_baseline(tmp_path: Path) -> None:
    few, many = [(["a"], "fffff"), (["b"], "ppppp")], [(["a"], "fffff"), (["b"], "fffpp")]
    runs = [figures(tmp_path, few, "random", seed) for seed in range(3)]
    runs += [figures(tmp_path, many, "gpts", seed) for seed in range(2)]
    random, gpts = compare(runs, "random")
    assert random.against is None
    assert gpts.against is not None
    assert gpts.against.seeds == 2
    assert gpts.against.difference.value == pytest.approx(0.5)
    assert gpts.against.ratio is not None
    assert gpts.against.ratio.value == pytest.approx(2.0)
    assert random.pfm is not None
    assert (random.pfm.mean, random.pfm.sd, random.pfm.n) == (0.5, 0.0, 3)
    assert (random.pooled().failures, random.pooled().n) == (1, 2), "distinct sets"


def _rerun(folder: Path, letters: dict[str, str], sets: Any) -> RunFigures:
    run = make_run(folder, sets)
    listed = {}
    for key, outcomes in letters.items():
        listed[key] = list(range(5, 5 + len(outcomes)))
        for index, letter in zip(listed[key], outcomes, strict=True):
            outcome = Outcome.FAIL if letter == "f" else Outcome.PASS
            run.store.add(TrialRecord(Trial(key, index, outcome)), None)
    run.store.set_meta("rerun", str(listed).replace("'", '"'))
    run.close()
    found = read_run(folder, Task("m", "random", 0), top=2, fresh=20)
    assert found is not None
    return found


def test_fresh_rates_of_the_surest_modes(tmp_path: Path) -> None:
    sets = [(["a"], "fffff"), (["b"], "ffffp"), (["c"], "fffpp")]
    again = {"a": "f" * 18 + "pp", "b": "f" * 12 + "p" * 8, "c": "f" * 20}
    run = _rerun(tmp_path / "run", again, sets)
    assert run.confirmed
    found = Rerun.of([run])
    assert found.fresh is not None
    assert found.search is not None
    assert (found.fresh.n, found.fresh.mean) == (2, pytest.approx(0.75)), "c is third"
    assert found.search.mean == pytest.approx(0.9)
    assert (found.high.failures, found.still.failures) == (1, 2)
    assert found.confirmed.failures == 1, "12/20 has its lower bound below 0.6"


def test_a_run_without_all_its_fresh_trials_waits(tmp_path: Path) -> None:
    run = _rerun(tmp_path / "run", {"a": "f" * 19}, [(["a"], "fffff")])
    assert not run.confirmed
    assert Rerun.of([run]).high.n == 0


def test_families_are_named_by_what_explains_failures(tmp_path: Path) -> None:
    failing = [["bin", "far", w] for w in ("fog", "rain", "sun")] + [["bin", "far"]]
    passing = [[k, "far"] for k in ("cat", "cone", "dog")] + [["bin", "near"], ["bin", "sun"]]
    sets = [(s, "fffff") for s in failing] + [(s, "ppppp") for s in passing]
    sets += [(["cone", "rain"], "fffff"), (["rain"], "ppppp")]
    arms = compare([figures(tmp_path, sets, pictures=True)], "random")
    first, second = families(arms)
    assert first.core == ("bin", "far")
    assert (first.modes, first.failing, first.sets) == (4, 4, 4)
    assert second.core == ("cone", "rain")
    assert "right: emergency_stop; answered: continue" in first.caption
    assert len(families(arms, most=1)) == 1
    sheet = failure_sheet([first, second])
    assert sheet is not None
    assert failure_sheet([]) is None


def test_tables_hold_the_figures(tmp_path: Path) -> None:
    few, many = [(["a"], "fffff"), (["b"], "ppppp")], [(["a"], "fffff"), (["b"], "fffpp")]
    runs = [figures(tmp_path, few, "random", seed) for seed in range(2)]
    runs += [figures(tmp_path, many, "gpts", seed) for seed in range(2)]
    arms = compare(runs, "random")
    text = markdown(
        Study(tmp_path), arms, {"m": families(arms)}, command="COMMAND", attempts=8, unfinished=3
    )
    assert "`COMMAND`" in text
    assert "3 runs of the study are not over" in text
    assert "| m | random | 2 | 50.0 ± 0.0 |" in text
    assert "+50.0 [50.0, 50.0]" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("gpts" in row for row in rows)
    for head, rule in pairwise(rows):
        if rule.startswith("| ---"):
            assert head.count("|") == rule.count("|")


def test_two_versions_of_a_model_are_told(tmp_path: Path) -> None:
    one = figures(tmp_path, [(["a"], "fffff")], seed=0)
    model = {"spec": "made-model", "name": "made-model", "sha256": "another"}
    other = figures(tmp_path, [(["a"], "fffff")], seed=1, config={"model": model})
    arms = compare([one, other], "random")
    text = markdown(Study(tmp_path), arms, {}, command="", attempts=8)
    assert "made with 2 versions" in text
