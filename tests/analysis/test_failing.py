from __future__ import annotations

from dataclasses import replace

from vlmfail.analysis.failing import failing_trials, numbered_trials, numbers
from vlmfail.runs.run import RunData
from vlmfail.testing.made_runs import make_run


def test_every_failing_trial_has_the_number_that_replay_knows(tmp_path):
    sets = [(["a"], "fff"), (["b"], "ppfpp"), (["c"], "eif")]
    run = make_run(tmp_path / "run", sets)
    found = failing_trials(run)
    assert [(one.number, one.record.trial.key) for one in found] == [
        (1, "a"), (2, "a"), (3, "a"), (6, "b"), (11, "c"),
    ]  # fmt: skip
    places = [(one.record.trial.key, one.record.trial.index) for one in found]
    assert [run.places[one.number - 1] for one in found] == places
    assert not any(one.fresh for one in found)
    assert [one.number for one in numbered_trials(run, "b")] == [4, 5, 6, 7, 8]
    assert numbers(run)["c", 2] == 11


def test_outcomes_that_count_as_failures_are_listed(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "uup")], config={"count_as_fail": ["unparsed"]})
    assert [one.number for one in failing_trials(run)] == [1, 2]


def test_re_run_trials_are_marked(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "fff")])
    first = run.records["a", 0]
    run.store.add(replace(first, trial=replace(first.trial, index=7)), None)
    run.store.set_meta("rerun", '{"a": [2, 7, 8]}')
    found = failing_trials(RunData(run.store))
    assert [(one.number, one.fresh) for one in found] == [
        (1, False), (2, False), (3, False), (4, True),
    ], "the search's own stay its own"  # fmt: skip
