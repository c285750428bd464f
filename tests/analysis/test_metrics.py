from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from vlmfail.analysis import (
    compute_metrics,
    concept_rates,
    constant_answer,
    cumulative_failures,
    failure_modes,
    outcome_counts,
    summarise,
    suspicions,
)
from vlmfail.analysis.metrics import cumulative_modes
from vlmfail.reports.wording import headline
from vlmfail.runs import dump_json
from vlmfail.runs.run import RunData
from vlmfail.testing.made_runs import make_run

ADAPTIVE = {"searcher": {"name": "lse", "spec": "lse", "fixed_trials": False}}


def test_metrics_by_hand(tmp_path):
    run = make_run(
        tmp_path / "run",
        [
            (["a", "b"], "fffpp"),  # 3/5, a mode
            (["a", "c"], "ffffe"),  # 4/4, a mode
            (["b"], "ppppp"),
            (["c"], "eeeee"),  # no data: PFM does not count it
            (["d"], "fff"),  # fewer than m trials: PFM does not count it, yet a mode
        ],
    )
    m = compute_metrics(run)
    assert m["pfm"] == pytest.approx(2 / 3)
    assert m["mfr"] == pytest.approx(10 / 17)
    # {a,b}-{a,c}: 2/3, {a,b}-{d}: 1, {a,c}-{d}: 1
    assert m["div"] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert m["modes"] == 3
    assert m["failures_per_call"] == pytest.approx(10 / 23)
    assert m["infeasible"] == 0
    assert cumulative_failures(run)[:6] == [1, 2, 3, 3, 3, 4]
    assert len(cumulative_failures(run)) == run.calls == 23
    assert m["pfm_by_expected"]["emergency_stop"]["failures"] == 2
    assert m["pfm_by_direction"]["under_reaction"]["rate"] == pytest.approx(2 / 3)


def test_errors_are_counted_beside_the_rate(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "ffffppppee")], config={"trials": 10})
    (shares,) = concept_rates(run)
    assert (shares.failures, shares.n) == (4, 8)
    assert outcome_counts(run)["error"] == 2
    assert failure_modes(run) == []
    assert [mode.failure_rate for mode in failure_modes(run, 0.5)] == [0.5]


def test_invalid_scenes_are_neither_charged_nor_failures(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "iiiii"), (["b"], "iifffff"), (["c"], "iiipp")])
    m = compute_metrics(run)
    assert run.calls == 7
    assert m["infeasible"] == pytest.approx(1 / 3)
    # c was put to the model twice only: its invalid scenes do not count towards m.
    assert m["pfm"] == 1.0


def test_candidates_that_the_budget_left_without_trials_are_not_evaluated(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "iiiii"), (["b"], "fffff"), (["c"], "")])
    data = summarise(run)
    assert data["evaluations"] == 1
    assert data["metrics"]["infeasible"] == 0.5
    assert "in 1 evaluated candidate" in headline(run, failure_modes(run))


def test_ranked_by_lower_bound(tmp_path):
    run = make_run(
        tmp_path / "run",
        [(["one"], "f"), (["many"], "f" * 30 + "p" * 45), (["three"], "fff")],
        config={"threshold": 0.4},
    )
    modes = failure_modes(run)
    assert [mode.key for mode in modes] == ["three", "many"]
    assert [one.key for one in suspicions(run)] == ["one"]
    assert [round(x, 2) for x in modes[0].interval] == [0.44, 1.0]


def test_too_few_trials_are_a_suspicion_beside_the_modes(tmp_path):
    sets = [(["once"], "f"), (["twice"], "ff"), (["errors"], "feeee"), (["mode"], "fff")]
    run = make_run(tmp_path / "run", [*sets, (["pass"], "p")], config=ADAPTIVE)
    assert [mode.key for mode in failure_modes(run)] == ["mode"]
    assert [one.key for one in suspicions(run)] == ["twice", "errors", "once"]
    assert (compute_metrics(run)["modes"], compute_metrics(run)["suspicions"]) == (1, 3)
    assert cumulative_modes(run, 0.6)[-1][1] == 1
    said = headline(run, failure_modes(run))
    assert said.startswith("1 failure mode in 5 evaluated candidates")
    assert "Beside them are 3 suspicions: as many failures, but in fewer than 3 trials." in said
    data = summarise(run)
    assert [len(data[name]) for name in ("failure_modes", "suspicions")] == [1, 3]


def test_only_suspicions_are_no_failure_mode_yet(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "f"), (["b"], "p")], config=ADAPTIVE)
    said = headline(run, failure_modes(run))
    assert "No failure mode yet: none of 2 evaluated candidates failed in 60 % of 3 trials" in said
    assert "1 is a suspicion" in said


def test_the_only_candidate_passed_and_is_not_said_to_have_failed(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "ppppp")])
    said = headline(run, failure_modes(run))
    assert "the only evaluated candidate did not fail in 60 % of its trials or more" in said
    run = make_run(tmp_path / "few", [(["a"], "f")], config=ADAPTIVE)
    said = headline(run, failure_modes(run))
    assert "the only evaluated candidate did not fail in 60 % of 3 trials or more" in said


@pytest.mark.parametrize("m", [1, 2])
def test_searches_of_one_or_two_trials_a_set_have_modes(tmp_path, m):
    run = make_run(tmp_path / "run", [(["a"], "f" * m), (["b"], "p" * m)], config={"trials": m})
    assert [mode.key for mode in failure_modes(run)] == ["a"]
    assert suspicions(run) == []


def test_fresh_trials_make_a_suspicion_a_mode_that_they_judge(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "f"), (["b"], "fffff")], config=ADAPTIVE)
    for index in range(1, 21):
        made = replace(run.records["a", 0].trial, index=index)
        run.store.add(replace(run.records["a", 0], trial=made), None)
    run.store.set_meta("rerun", json.dumps({"a": list(range(1, 21))}))
    again = RunData(run.store)
    modes = {mode.key: mode for mode in failure_modes(again)}
    assert (modes["a"].n, modes["a"].fresh.n, modes["a"].confirmed) == (1, 20, True)
    assert suspicions(again) == []


def test_pfm_is_null_for_adaptive_runs(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "fffff")], config=ADAPTIVE)
    m = compute_metrics(run)
    assert m["pfm"] is None
    assert m["pfm_by_expected"] is None
    assert m["mfr"] == 1.0
    assert m["div"] is None


def test_confirmed_on_trials_after_selection_only(tmp_path):
    run = make_run(
        tmp_path / "run",
        [
            (["sure"], "fff"),
            (["five"], "fff"),
            (["once"], "f" * 20),
            (["drop"], "fff"),
            (["errors"], "fff"),
            (["sure"], "ffffff"),
            (["five"], "fffff"),
            (["drop"], "fffppppp"),
            (["errors"], "eeeeee"),
        ],
        config={**ADAPTIVE, "threshold": 0.6},
    )
    confirmed = {mode.key: mode.confirmed for mode in failure_modes(run)}
    # 6/6 has the lower bound .607, 5/5 only .549; 20/20 in one go has no fresh trial.
    assert confirmed == {"sure": True, "five": False, "once": None, "errors": None}
    assert {m.key: m.confirmed for m in failure_modes(run, 0.5)}["drop"] is False


def test_one_failure_selects_nothing(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "f")] * 8, config=ADAPTIVE)
    (mode,) = failure_modes(run)
    assert mode.fresh.n == 5
    assert mode.confirmed is False


def test_count_as_fail(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "uuuup")], config={"count_as_fail": ["unparsed"]})
    (mode,) = failure_modes(run)
    assert (mode.failures, mode.n) == (4, 5)
    assert mode.answers == {"unparsed": 4}


@pytest.mark.parametrize("evaluations", [[], [(["a"], "eeeee")], [(["a"], "iii")]])
def test_without_data_everything_is_null_and_strict_json(tmp_path, evaluations):
    data = json.loads(dump_json(summarise(make_run(tmp_path / "run", evaluations))))
    assert data["metrics"]["pfm"] is None
    assert data["metrics"]["mfr"] is None
    assert data["failure_modes"] == []


def test_summary_has_the_documented_keys(tmp_path):
    data = summarise(make_run(tmp_path / "run", [(["a"], "fffff"), (["b"], "ffffp")]))
    assert {
        "env", "searcher", "model", "seed", "calls", "evaluations", "outcomes", "metrics",
        "failure_modes", "spent", "seconds", "run",
    } <= set(data)  # fmt: skip
    assert (data["searcher"], data["model"]) == ("random", "made-model")
    mode = data["failure_modes"][0]
    assert mode["candidate"] == ("a",)
    assert {"failure_rate", "n", "interval", "confirmed", "rule"} <= set(mode)
    assert data["spent"] == {"requests": 10, "tokens": 1100, "dollars": pytest.approx(0.01)}
    assert data["seconds"]["total"] == 12.5
    assert data["seconds"]["model"] == pytest.approx(0.3)


def test_unknown_cost_is_null_not_zero(tmp_path):
    unknown = {"input_tokens": None, "output_tokens": None, "dollars": None}
    run = make_run(tmp_path / "run", [(["a"], "fffff")], record=unknown)
    assert summarise(run)["spent"] == {"requests": 5, "tokens": None, "dollars": None}


def test_vector_candidates_have_no_div(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "fffff"), (["b"], "fffff")])
    run.store._db.execute("UPDATE evaluations SET candidate = '[0.5, 0.25]'")
    m = compute_metrics(run)
    assert m["div"] is None
    assert concept_rates(run) == []


def test_constant_answers_are_noticed(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "f" * 12)])
    assert constant_answer(run) is None, "one right answer throughout: no habit can be seen"
    data = run.store._db
    data.execute("UPDATE trials SET expected = 'slow_down' WHERE idx < 6")
    del run.records
    del run.evaluations
    assert "'continue' in 12 of 12" in (constant_answer(run) or "")


def test_a_constant_letter_is_noticed(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "f" * 12)])
    for index in range(6):
        run.store._db.execute(
            "UPDATE trials SET answer = 'slow_down', expected = 'slow_down',"
            ' options = \'["slow_down", "continue"]\' WHERE idx = ?',
            (index,),
        )
    assert "letter A in 12 of 12" in (constant_answer(run) or "")


def test_no_nan_reaches_json():
    assert json.loads(dump_json({"x": math.nan})) == {"x": None}
