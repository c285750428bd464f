"""Figures of runs on planted landscapes, on runs made by hand."""

from __future__ import annotations

import json

import pytest

from vlmfail.analysis import compute_metrics
from vlmfail.analysis.planted import audit, landscape_of
from vlmfail.analysis.reported import reported_modes
from vlmfail.core import RunFolderError
from vlmfail.envs.planted.domain import PlantedDomain
from vlmfail.testing.made_runs import make_run

DOMAIN = PlantedDomain("mixed", "hard", 8)
KNOWN = DOMAIN.landscape
MODES = [KNOWN.candidate(int(row)) for row in KNOWN.modes()]
MINIMAL = [KNOWN.candidate(int(row)) for row in KNOWN.minimal_modes()]
GREEDY = [KNOWN.candidate(row) for row in KNOWN.greedy_modes()]
FALSE = [KNOWN.candidate(row) for row in range(40) if KNOWN.rates[row] < 0.5]


def superset(one: frozenset[str]) -> frozenset[str]:
    """Return a true mode that holds `one`."""
    return next(mode for mode in MODES if one < mode)


def made(path, evaluations, *, reports=None, fixed=True, budget=100, status="finished"):
    config = {
        "env": "VLMFail-Planted-v0",
        "domain": "planted",
        "domain_data": DOMAIN.identity(),
        "searcher": {"name": "made", "spec": "made", "config": {}, "fixed_trials": fixed},
        "budget": budget,
    }
    named = [(DOMAIN.space.to_json(candidate), letters) for candidate, letters in evaluations]
    run = make_run(path, named, config=config, status=status)
    if reports is not None:
        run.store.set_meta("reports", json.dumps([DOMAIN.space.to_json(one) for one in reports]))
    return run


def test_pfm_and_oracle_share_go_by_the_true_rates(tmp_path):
    run = made(
        tmp_path / "run",
        [
            (MODES[0], "fffff"),
            (MODES[1], "ffpff"),
            (MODES[2], "pppff"),  # a true mode that the trials missed
            (FALSE[0], "fffff"),  # none, though it looks like one
            (FALSE[1], "ppppp"),
            (MODES[3], "ff"),  # the budget ended: not all trials
        ],
    )
    metrics = compute_metrics(run)
    assert metrics["pfm"] == pytest.approx(3 / 5)
    assert metrics["pfm_true"] == pytest.approx(3 / 5)
    assert metrics["planted"]["evaluated_true"] == 3
    assert metrics["planted"]["found"] == 2
    assert metrics["oracle_share"] == pytest.approx(2 / 20)
    assert metrics["planted"]["true_modes"] == len(MODES)
    assert metrics["planted"]["random_pfm"] == pytest.approx(0.02, abs=0.002)


def test_adaptive_runs_have_no_true_pfm_and_may_beat_the_oracle(tmp_path):
    evaluations = [(one, "fff") for one in MODES[:7]] + [(one, "f") for one in MODES[7:16]]
    run = made(tmp_path / "run", evaluations, fixed=False, budget=30)
    metrics = compute_metrics(run)
    assert metrics["pfm_true"] is None
    assert metrics["planted"]["found"] == 7  # single failures find nothing
    assert metrics["oracle_share"] == pytest.approx(7 / 6)


def test_reports_are_audited(tmp_path):
    good = GREEDY[:3]
    holding = superset(good[0])
    loose = next(
        one for one in MODES
        if not KNOWN.is_minimal(one, 0.8) and not any(g < one or one < g for g in good)
        and not one < holding
    )  # fmt: skip
    others = [*good, holding, loose]
    false = [one for one in FALSE if not any(one < other for other in others)][:2]
    reports = [*others, *false, good[0]]
    run = made(tmp_path / "run", [(FALSE[0], "p" * 50)], reports=reports, budget=50, fixed=False)
    metrics = compute_metrics(run)
    counts = metrics["planted"]
    assert (counts["reports"], counts["good_reports"]) == (7, 3)
    assert (counts["false_reports"], counts["non_minimal_reports"]) == (2, 2)
    assert metrics["false_reports"] == pytest.approx(2 / 7)
    assert metrics["non_minimal_reports"] == pytest.approx(2 / 7)
    assert metrics["modes_at_1k"] == pytest.approx(1000 / 50 * 3)
    assert metrics["recall"] == pytest.approx(3 / len(MINIMAL))


def test_the_audit_takes_a_removal_below_80_percent_and_strict_recall_does_not():
    strict = set(MINIMAL)
    lenient = next(one for one in MODES if one not in strict and KNOWN.is_minimal(one, 0.8))
    verdict = audit(KNOWN, [lenient], 0.6)
    assert verdict.good == (lenient,)
    invalid = frozenset({"weather_wet", "weather_foggy", "cone"})
    assert audit(KNOWN, [invalid, FALSE[0]], 0.6).false == (invalid, FALSE[0])


def test_of_two_reports_the_larger_is_the_one_too_many():
    small = GREEDY[0]
    large = superset(small)
    verdict = audit(KNOWN, [large, small], 0.6)
    assert verdict.good == (small,)
    assert verdict.non_minimal == (large,)


def test_without_reports_confirmed_modes_count_and_their_fresh_trials_are_paid(tmp_path):
    small, other = GREEDY[0], GREEDY[1]
    large = superset(small)
    run = made(
        tmp_path / "run",
        [
            (small, "fffff"), (large, "fffff"), (other, "fffff"),
            (small, "f" * 10), (large, "f" * 10), (other, "p" * 10),
        ],
        fixed=False,
    )  # fmt: skip
    assert reported_modes(run) == [small]
    metrics = compute_metrics(run)
    assert metrics["planted"]["reports"] == 1
    assert metrics["modes_at_1k"] == pytest.approx(1000 / 45)
    assert metrics["false_reports"] == 0.0


def test_trials_of_a_rerun_are_in_modes_at_1k(tmp_path):
    run = made(tmp_path / "run", [(GREEDY[0], "f" * 15)])
    key = DOMAIN.space.key(GREEDY[0])
    # As if the last ten had been run outside the budget.
    log = run.store.evaluation_log()[0]
    run.store.log_evaluation(type(log)(0, 0, log.key, log.candidate, tuple(range(5))))
    run.store.set_meta("rerun", json.dumps({key: list(range(5, 15))}))
    metrics = compute_metrics(run)
    assert run.calls == 5
    assert metrics["planted"]["good_reports"] == 1
    assert metrics["modes_at_1k"] == pytest.approx(1000 / 15)


def test_a_searcher_that_ends_early_has_had_its_budget(tmp_path):
    kwargs = {"reports": [GREEDY[0]], "budget": 500, "fixed": False}
    ended = made(tmp_path / "a", [(GREEDY[0], "f" * 6)], status="space exhausted", **kwargs)
    cut = made(tmp_path / "b", [(GREEDY[0], "f" * 6)], status="interrupted", **kwargs)
    assert compute_metrics(ended)["modes_at_1k"] == pytest.approx(2.0)
    assert compute_metrics(cut)["modes_at_1k"] == pytest.approx(1000 / 6)


def test_no_reports_are_no_false_ones(tmp_path):
    metrics = compute_metrics(made(tmp_path / "run", [(FALSE[0], "ppppp")], reports=[]))
    assert metrics["modes_at_1k"] == 0.0
    assert metrics["recall"] == 0.0
    assert metrics["false_reports"] is None
    assert metrics["non_minimal_reports"] is None


def test_other_runs_have_none_of_it(tmp_path):
    metrics = compute_metrics(make_run(tmp_path / "run", [(["cone"], "fff")]))
    assert not {"pfm_true", "recall", "planted", "modes_at_1k"} & set(metrics)


def test_a_landscape_that_is_drawn_otherwise_now_is_told(tmp_path):
    run = made(tmp_path / "run", [(FALSE[0], "p")])
    run.config["domain_data"]["rates"] = "0" * 64
    with pytest.raises(RunFolderError, match="draws otherwise"):
        landscape_of(run)
