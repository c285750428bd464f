"""Audits of reported modes, on toy runs whose model fails at known rates."""

from __future__ import annotations

import json
import threading
import time

import pytest

from vlmfail.analysis import (
    audit_of,
    audit_reports,
    compute_metrics,
    failure_modes,
    rerun_modes,
    summarise,
)
from vlmfail.analysis.audited import AuditVerdict, is_audited
from vlmfail.analysis.failing import failing_trials
from vlmfail.core import UsageError
from vlmfail.reports.html import render_report
from vlmfail.reports.wording import by_audit
from vlmfail.runs.run import RunData
from vlmfail.testing.made_runs import make_run
from vlmfail.testing.toy import ToyDomain, ToyModel, ToyVector

GOOD = ["cat", "night"]
FALSE = ["dog", "rain"]
LOOSE = ["bird", "red", "tiny"]  # {bird, red} fails as often
HOLDING = ["cat", "night", "red"]
REFUSED = ["dog", "blue"]
UNSURE = ["bird", "blue"]  # {bird} alone is mostly refused
REPORTS = [GOOD, FALSE, LOOSE, HOLDING, REFUSED, UNSURE]
FAILING = [set(GOOD), {"bird", "red"}, {"bird", "blue"}]


class Model(ToyModel):
    """Fails on supersets of `FAILING`; refuses {dog, blue} and, mostly, {bird}."""

    def __init__(self, stop_at: int = 0) -> None:
        super().__init__(requests=1)
        self.sets: list[frozenset[str]] = []
        self.stop_at, self.lock, self.now, self.most = stop_at, threading.Lock(), 0, 0

    def answer(self, images, prompt, *, seed):
        concepts = frozenset(json.loads(prompt.split("Concepts: ")[1].split("\n")[0]))
        with self.lock:
            self.sets.append(concepts)
            self.now += 1
            self.most = max(self.most, self.now)
            mostly = concepts == {"bird"} and self.sets.count(concepts) > 4
            self.outcomes = (
                {"dog" if concepts == set(REFUSED) else "bird": "refusal"}
                if (mostly or concepts == set(REFUSED))
                else {}
            )
            if self.stop_at and len(self.sets) == self.stop_at:
                raise KeyboardInterrupt
            reply = super().answer(images, prompt, seed=seed)
        time.sleep(0.001)
        with self.lock:
            self.now -= 1
        return reply

    @staticmethod
    def failure_rate(concepts):
        return float(any(one <= set(concepts) for one in FAILING))


def made(path, reports=REPORTS, **config):
    run = make_run(path, [(one, "fffff") for one in REPORTS], config={"trials": 5, **config})
    if reports is not None:
        run.store.set_meta("reports", json.dumps(reports))
    return run


def verdicts(run):
    return {one.own.candidate: one.verdict for one in audit_of(run)}


def test_reports_are_judged_on_fresh_trials_and_the_search_stays_as_it_was(tmp_path):
    run = made(tmp_path / "run")
    before = summarise(run)
    assert "modes_at_1k" not in before["metrics"]
    assert before["audit"] is None
    model = Model()
    after = audit_reports(run, ToyDomain(), model)
    assert verdicts(after) == {
        tuple(GOOD): AuditVerdict.GOOD,
        tuple(FALSE): AuditVerdict.FALSE,
        tuple(LOOSE): AuditVerdict.NON_MINIMAL,
        tuple(HOLDING): AuditVerdict.NON_MINIMAL,
        tuple(REFUSED): AuditVerdict.UNDECIDED,
        tuple(UNSURE): AuditVerdict.UNDECIDED,
    }
    asked = {one: model.sets.count(one) for one in model.sets}
    # Whole, then without a concept: {night} and {red, tiny} need an animal, what is false,
    # refused or holds another report needs no more, and {bird} is the part of two.
    parts = [{"cat"}, {"bird", "red"}, {"bird", "tiny"}, {"bird"}]
    assert asked == {
        **{frozenset(one): 20 for one in REPORTS},
        **{frozenset(one): 10 for one in parts},
    }
    now = summarise(after)
    metrics = now["metrics"]
    assert metrics["modes_at_1k"] == pytest.approx(1000 / 30), "of the search's 30 trials"
    assert metrics["false_reports"] == pytest.approx(1 / 4), "of those that are decided"
    assert metrics["non_minimal_reports"] == pytest.approx(2 / 4)
    assert metrics["audit"]["undecided_reports"] == 2
    assert metrics["audit"]["trials"] == 6 * 20 + 4 * 10
    added = ("modes_at_1k", "false_reports", "non_minimal_reports", "audit")
    assert {k: v for k, v in metrics.items() if k not in added} == before["metrics"]
    for same in ("calls", "outcomes", "failure_modes", "suspicions", "evaluations", "unfinished"):
        assert now[same] == before[same], same
    assert now["spent"]["requests"] == 30 + 160
    loose = next(one for one in now["audit"] if one["candidate"] == LOOSE)
    assert (loose["needless"], loose["failures"], loose["n"]) == ("tiny", 20, 20)
    assert [index for key, index in after.records if key == "cat"] == list(range(10))
    assert [index for key, index in after.records if key == "cat+night"] == list(range(25))
    fresh = [one for one in failing_trials(after) if one.fresh]
    assert len(fresh) == 20 * 4 + 10, "four that fail, and the part of one that does"
    assert after.candidate("bird+tiny") == ["bird", "tiny"], "a replay knows what it was"


def test_an_audit_and_a_re_run_have_fresh_trials_of_their_own(tmp_path):
    for order in ("audit first", "re-run first"):
        run = made(tmp_path / order, [GOOD])
        if order == "audit first":
            run = audit_reports(run, ToyDomain(), Model())
            run = rerun_modes(run, ToyDomain(), Model(), top=6)
        else:
            run = rerun_modes(run, ToyDomain(), Model(), top=6)
            run = audit_reports(run, ToyDomain(), Model())
        (mode,) = [mode for mode in failure_modes(run) if mode.key == "cat+night"]
        assert (mode.fresh.failures, mode.fresh.n, mode.n) == (20, 20, 5)
        audited = audit_of(run)[0].own.tally
        assert (audited.failures, audited.n) == (20, 20)
        assert not {t.index for t in audited.trials} & {t.index for t in mode.fresh.trials}
        assert len([place for place in run.records if place[0] == "cat+night"]) == 45
        # What confirms is paid in this figure, what audits is not.
        spent = 30 + 6 * 20
        assert compute_metrics(run)["modes_at_1k"] == pytest.approx(1000 / spent)


def test_nothing_is_asked_twice_however_often_it_is_stopped(tmp_path):
    reports = [GOOD, FALSE, LOOSE]
    whole = audit_reports(made(tmp_path / "whole", reports), ToyDomain(), Model())
    run = made(tmp_path / "stopped", reports)
    for stop in (7, 48):
        with pytest.raises(KeyboardInterrupt):
            audit_reports(run, ToyDomain(), Model(stop), concurrency=4)
        run = RunData(run.store)
        assert not is_audited(run)
    model = Model()
    after = audit_reports(run, ToyDomain(), model, concurrency=4)
    assert 1 < model.most <= 4
    assert {p: r.trial for p, r in after.records.items()} == {
        p: r.trial for p, r in whole.records.items()
    }
    assert is_audited(after)
    assert not is_audited(after, trials=21)
    silent = Model()
    audit_reports(after, ToyDomain(), silent)
    assert silent.sets == []


def test_at_a_cap_the_rest_is_undecided_and_a_higher_one_goes_on(tmp_path):
    caps = {"max_requests": 30 + 25, "max_total_tokens": None, "max_dollars": None}
    run = made(tmp_path / "run", [GOOD, LOOSE], caps=caps)
    run = audit_reports(run, ToyDomain(), Model())
    assert [one.own.tally.n for one in audit_of(run)] == [20, 5]
    assert set(verdicts(run).values()) == {AuditVerdict.UNDECIDED}
    assert compute_metrics(run)["modes_at_1k"] is None, "nothing is known, which is no 0"
    assert compute_metrics(run)["false_reports"] is None
    assert not is_audited(run)
    run.store.replace_config({**run.config, "caps": {**caps, "max_requests": 200}})
    run = audit_reports(RunData(run.store), ToyDomain(), Model())
    assert list(verdicts(run).values()) == [AuditVerdict.GOOD, AuditVerdict.NON_MINIMAL]


def test_scenes_that_cannot_be_are_drawn_again_and_then_say_nothing(tmp_path):
    run = audit_reports(made(tmp_path / "run", [GOOD]), ToyDomain(unplaceable="cat"), Model())
    (one,) = audit_of(run)
    assert (one.verdict, one.own.tally.n) == (AuditVerdict.UNDECIDED, 0)


def test_an_agent_without_reports_reports_what_a_re_run_confirmed(tmp_path):
    run = audit_reports(made(tmp_path / "run", None), ToyDomain(), Model())
    assert audit_of(run) == []
    assert compute_metrics(run)["modes_at_1k"] == 0.0
    assert compute_metrics(run)["false_reports"] is None
    run = rerun_modes(run, ToyDomain(), Model(), top=6)
    assert not is_audited(run)
    assert AuditVerdict.UNDECIDED in verdicts(run).values(), "confirmed since, and not audited"
    run = audit_reports(run, ToyDomain(), Model())
    assert verdicts(run)[tuple(GOOD)] is AuditVerdict.GOOD
    assert tuple(HOLDING) not in verdicts(run), "what holds another is not reported at all"


def test_the_page_says_what_the_audit_found(tmp_path):
    run = made(tmp_path / "run")
    assert "audited" not in render_report(run)
    page = render_report(audit_reports(run, ToyDomain(), Model()))
    assert "Reported modes, audited" in page
    assert "without tiny, too, 10 of 10 failed" in page
    assert "another reported mode is a part of it" in page
    assert "only 0 of 20 trials passed or failed" in page
    assert "0 of 20 failed, less than 60 %" in page
    assert "too few trials without blue passed or failed" in page
    assert "without one of its concepts 0 of 10 failed at most (night)" in page


@pytest.mark.parametrize(("name", "value"), [("trials", 0), ("removal_trials", True)])
def test_numbers_that_cannot_be_are_refused(tmp_path, name, value):
    with pytest.raises(UsageError, match=f"^{name}: expected a whole number"):
        audit_reports(made(tmp_path / "run"), ToyDomain(), Model(), **{name: value})


def test_vectors_have_no_concepts_to_take_away(tmp_path):
    with pytest.raises(UsageError, match="of kind vector: --confirm"):
        audit_reports(made(tmp_path / "run"), ToyVector(), Model())


def test_without_reports_no_count_of_false_ones_reads_as_good() -> None:
    counts = ("reports", "good_reports", "false_reports", "non_minimal_reports")
    audit = {**dict.fromkeys(counts, 0), "undecided_reports": 0, "trials": 0}
    said = by_audit({"modes_at_1k": 0.0, "audit": audit})
    assert "nothing to audit" in said
    assert "0 false" not in said
