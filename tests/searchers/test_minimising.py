from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from vlmfail.core import AgentError, UsageError, clopper_pearson_lower
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.planted.landscape import landscape
from vlmfail.searchers import make_searcher
from vlmfail.searchers._confirmation import ERROR, patient_plan, quick_plan
from vlmfail.searchers._investigation import Investigation, antichain
from vlmfail.searchers.minimising import MinimisingSearch
from vlmfail.testing.agent_suite import AgentContractSuite
from vlmfail.testing.simulated import Drive, SimulatedTrials
from vlmfail.testing.toy import toy_vector_space


def s(letters: str) -> frozenset[str]:
    return frozenset(letters)


# -- plans ------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.6, 0.8, 0.9])
def test_plans_hold_their_error_and_every_look_is_a_confirmation(threshold: float) -> None:
    for plan in (quick_plan(threshold), patient_plan(threshold)):
        assert plan.power([threshold])[0] <= ERROR
        assert (np.diff(plan.power(np.linspace(0, 1, 21))) >= 0).all()
        assert plan.power([1.0])[0] == pytest.approx(1.0)
        for n, passes in plan.looks:
            assert clopper_pearson_lower(n - passes, n) >= threshold


def test_power_is_what_all_courses_of_trials_add_up_to() -> None:
    plan = patient_plan(0.4)
    longest = plan.looks[-1][0]
    chance = 0.0
    for course in product((0, 1), repeat=longest):
        for n in range(1, longest + 1):
            verdict = plan.verdict(sum(course[:n]), n - sum(course[:n]))
            if verdict is not None:
                break
        chance += verdict * np.prod([0.7 if failed else 0.3 for failed in course])
    assert plan.power([0.7])[0] == pytest.approx(chance)


def test_a_plan_ends_as_soon_as_it_cannot_confirm() -> None:
    assert quick_plan(0.6).looks == ((6, 0),)
    assert quick_plan(0.6).verdict(5, 0) is None
    assert quick_plan(0.6).verdict(6, 0) is True
    assert quick_plan(0.6).verdict(3, 1) is False
    patient = patient_plan(0.6)
    assert patient.looks == ((7, 0), (12, 1), (15, 2))
    assert patient.verdict(7, 0) is True
    assert patient.verdict(6, 1) is None
    assert patient.verdict(11, 1) is True
    assert patient.verdict(2, 3) is False
    assert patient_plan(1.0).looks == ()
    assert patient_plan(1.0).verdict(0, 0) is False


# -- investigations ---------------------------------------------------------------------------


def investigate(rates: Any, suspect: str, **args: Any) -> tuple[Investigation, list[str]]:
    """Drive an investigation of sets that always fail or always pass."""
    args = {"plan": quick_plan(0.6), "valid": lambda _: True, **args}
    one = Investigation(s(suspect), **args)
    tried = []
    while not one.over:
        tried.append("".join(sorted(one.next)))
        failed = rates(one.next)
        one.told(int(failed), int(not failed))
        assert len(tried) < 200
    return one, tried


def test_it_finds_the_core_and_tries_each_of_its_removals() -> None:
    one, tried = investigate(lambda c: c >= s("bd"), "abcde")
    assert one.result == s("bd")
    assert tried[:3] == ["abcde"] * 3
    assert tried[-6:] == ["bd"] * 6
    assert {"b", "d"} <= set(tried)
    assert one.spent == len(tried)


def test_a_suspect_that_passes_again_is_dropped_and_one_that_is_confirmed_first_is_not() -> None:
    one, tried = investigate(lambda _: False, "abc")
    assert (one.result, tried) == (None, ["abc", "abc"])


def test_removals_that_are_no_valid_sets_are_not_tried() -> None:
    one, tried = investigate(lambda _: True, "abc", valid=lambda c: c in (s("abc"), s("ab")))
    assert one.result == s("ab")
    assert set(tried) == {"abc", "ab"}


def test_what_is_known_of_a_removal_is_not_asked_again() -> None:
    known = {s("bc"): (0, 2), s("ac"): (1, 3), s("ab"): (0, 1)}
    one, tried = investigate(lambda c: c == s("abc"), "abc", known=lambda c: known.get(c, (0, 0)))
    assert one.result == s("abc")
    assert tried.count("ab") == 1
    assert not {"bc", "ac"} & set(tried)


def test_removals_that_others_decide_in_between_are_passed_over() -> None:
    known: dict[frozenset[str], tuple[int, int]] = {}
    one = Investigation(
        s("ab"), plan=quick_plan(0.6), valid=lambda _: True, known=lambda c: known.get(c, (0, 0))
    )
    for _ in range(3):
        one.told(1, 0)
    known.update({s("a"): (0, 2), s("b"): (0, 2)})
    assert one.next == s("ab")
    for _ in range(6):
        one.told(1, 0)
    assert one.result == s("ab")


def test_a_concept_that_a_larger_set_needed_is_tried_again_in_the_smaller_one() -> None:
    # Without a the set needs b no more: {b, c} fails, {c} as well.
    def failing(c: frozenset[str]) -> bool:
        return c in (s("abc"), s("ac"), s("c"))

    one, tried = investigate(failing, "abc", order=lambda sets: sorted(sets, key=sorted))
    assert one.result == s("c")
    assert "c" in tried


def test_trials_without_data_end_it() -> None:
    one = Investigation(s("ab"), plan=quick_plan(0.6), valid=lambda _: True)
    assert one.next == s("ab")
    one.told(0, 0)
    assert one.over
    assert one.result is None


def test_antichain_keeps_what_holds_no_other() -> None:
    assert antichain([s("abc"), s("ab"), s("cd")]) == [s("ab"), s("cd")]


# -- the wrapper ------------------------------------------------------------------------------


class TestMinimisingSearchers(AgentContractSuite):
    @pytest.fixture(autouse=True, params=["random", "gpts", "level-set-adaptive"])
    def _inner(self, request: pytest.FixtureRequest) -> None:
        self._spec = request.param

    def make_agent(self) -> Any:
        return make_searcher(f"{self._spec}+min")


def drive(name: str, budget: int = 1000, seed: int = 4) -> tuple[Drive, Any, Any]:
    known = landscape("needles", "easy", 3)
    agent = make_searcher(name)
    evaluate = SimulatedTrials(known.space, known.rate, seed=seed)
    return Drive(agent, known.space, evaluate, seed=seed, budget=budget), agent, known


def test_it_reports_true_minimal_modes_of_any_searcher() -> None:
    for name in ("random+min", "beam+min"):
        run, agent, known = drive(name)
        reports = agent.reports()
        assert len(reports) >= 5
        assert sum(e.new.charged for e in run.evaluations) == 1000
        true = [one for one in reports if known.rate(one) >= 0.6]
        assert len(true) >= 0.8 * len(reports)
        assert sum(known.is_minimal(one, 0.8) for one in true) >= 0.8 * len(true)
        assert antichain(reports) == reports


def test_half_the_budget_is_the_other_searchers() -> None:
    run, agent, _ = drive("random+min")
    trials = [e.new.charged for e in run.evaluations]
    assert trials[:100] == [5] * 100
    assert trials[100] == 1
    assert agent.config()["search_share"] == 0.5
    assert agent.name == "random+min"
    assert not agent.fixed_trials


def test_names_and_bad_input(street: ConceptSetSpace) -> None:
    assert make_searcher("beam+min", width=3).inner.width == 3
    with pytest.raises(UsageError, match="search_share"):
        MinimisingSearch(make_searcher("random"), search_share=1.5)
    with pytest.raises(UsageError, match="nothing"):
        make_searcher("nothing+min")
    with pytest.raises(UsageError, match="random\\+min works on concept sets"):
        make_searcher("random+min").bind(toy_vector_space(), seed=0, trials=1, budget=10)
    agent = make_searcher("random+min")
    agent.bind(street, seed=0, trials=5, budget=100)
    with pytest.raises(AgentError, match="other sets"):
        agent.tell([SimulatedTrials(street, lambda _: 0.5)(frozenset({"child"}), 5)])
