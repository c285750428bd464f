"""Oracles: nobody finds more, and nobody else may be one."""

from __future__ import annotations

import numpy as np
import pytest

import vlmfail
from vlmfail.core import UsageError
from vlmfail.envs.planted.domain import PlantedDomain
from vlmfail.searchers import make_searcher
from vlmfail.searchers.oracles import fewest_trials
from vlmfail.testing.simulated import Drive, SimulatedTrials
from vlmfail.testing.toy import toy_space, toy_vector_space

NEEDLES = {"family": "needles", "level": "hard", "landscape_seed": 2}


def drive(name: str, space, budget: int, seed: int = 0) -> tuple[Drive, object]:
    agent = make_searcher(name)
    agent.threshold = 0.6
    trials = SimulatedTrials(space, space.landscape.rate, seed=seed)
    return Drive(agent, space, trials, seed=seed, budget=budget), agent


def test_the_oracle_proposes_the_highest_rates_in_order():
    space = PlantedDomain("mixed", "hard", 8).space
    run, _ = drive("oracle", space, budget=500)
    rates = [space.landscape.rate(frozenset(key.split("+"))) for key in run.keys]
    assert len(set(run.keys)) == 100
    assert rates == sorted(space.landscape.rates.tolist(), reverse=True)[:100]


def test_the_oracle_beats_everything_and_has_all_of_its_own_yield(tmp_path):
    args = {"family": "mixed", "level": "hard", "landscape_seed": 8}
    shares = {}
    for name in ("oracle", "random", "gpts"):
        run = vlmfail.search(
            "VLMFail-Planted-v0", name, budget=150, env_args=args, out=tmp_path / name
        )
        shares[name] = run.metrics["oracle_share"]
        true = run.metrics["pfm_true"]
        assert 0.0 <= true <= 1.0
        assert name != "oracle" or true == 1.0
        run.close()
    assert 0.9 < shares["oracle"] <= 1.0
    assert max(shares["random"], shares["gpts"]) < shares["oracle"]


def test_the_greedy_oracle_confirms_by_failures_in_a_row():
    space = PlantedDomain(**NEEDLES).space
    run, agent = drive("greedy-oracle", space, budget=1000)
    reports = agent.reports()
    minimal = {space.landscape.candidate(int(r)) for r in space.landscape.minimal_modes()}
    assert set(reports) == minimal
    assert len(run.evaluations) < 1000  # all are confirmed: it ends by itself
    outcomes: dict[str, str] = {}
    for evaluation in run.evaluations:
        assert evaluation.new.n == 1
        outcomes[evaluation.key] = outcomes.get(evaluation.key, "") + "pf"[evaluation.new.failures]
    assert all(text.endswith("ffffff") for text in outcomes.values())
    assert not any("ffffff" in text[:-1] for text in outcomes.values())
    rates = [space.landscape.rate(one) for one in reports]
    assert rates == sorted(rates, reverse=True)


def test_the_greedy_oracle_reports_no_set_that_holds_another():
    space = PlantedDomain("pairwise", "hard", 8).space
    run, agent = drive("greedy-oracle", space, budget=1000)
    reports = agent.reports()
    assert len(reports) == pytest.approx(sum(1 for _ in _afforded(space.landscape, 1000.0)), abs=12)
    assert all(space.landscape.is_minimal(one) for one in reports)
    assert not any(a < b for a in reports for b in reports)
    assert len(run.evaluations) == 1000


def _afforded(landscape, budget: float):
    for row in landscape.greedy_modes():
        rate = float(landscape.rates[row])
        budget -= (1 - rate**6) / (1 - rate) / rate**6
        if budget < 0:
            return
        yield row


def test_fewest_trials_that_confirm():
    assert fewest_trials(0.6) == 6
    assert fewest_trials(0.5) == 5
    assert fewest_trials(0.9) == 29
    assert fewest_trials(0.01) == 1
    assert fewest_trials(1.0) is None


@pytest.mark.parametrize("name", ["oracle", "greedy-oracle"])
@pytest.mark.parametrize("space", [toy_space(), toy_vector_space()])
def test_without_a_landscape_it_refuses_in_a_line(name: str, space):
    with pytest.raises(UsageError, match="only a planted landscape has") as told:
        make_searcher(name).bind(space, seed=0, trials=5, budget=10)
    assert "\n" not in str(told.value)


def test_the_oracle_ends_when_nothing_is_left():
    class Known:
        rates = np.array([0.1, 0.9, 0.4, 0.9])

        def candidate(self, row):
            return frozenset({str(row)})

    space = toy_space()
    space.landscape = Known()
    agent = make_searcher("oracle")
    agent.bind(space, seed=0, trials=5, budget=100)
    assert [min(one) for one in agent.ask(3)] == ["1", "3", "2"]
    assert [min(one) for one in agent.ask(3)] == ["0"]
    assert agent.ask(3) == []


def test_what_the_greedy_oracle_reports_is_true_minimal_and_all(tmp_path):
    run = vlmfail.search(
        "VLMFail-Planted-v0", "greedy-oracle", env_args=NEEDLES, out=tmp_path / "run"
    )
    needles = PlantedDomain(**NEEDLES).landscape.needles
    metrics = run.metrics
    assert run.status == "space exhausted"
    assert metrics["planted"]["good_reports"] == len(needles)
    assert metrics["modes_at_1k"] == len(needles)  # the rest of its budget counts
    assert (metrics["recall"], metrics["false_reports"]) == (1.0, 0.0)
    assert metrics["non_minimal_reports"] == 0.0
    assert metrics["pfm_true"] is None
    run.close()
