from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from vlmfail.core import AgentError, Outcome, UsageError
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.planted.landscape import landscape
from vlmfail.searchers import make_searcher
from vlmfail.searchers._set_table import SetTable
from vlmfail.searchers._surrogates.interaction_gp import STEPS, InteractionGP, Variances
from vlmfail.searchers._surrogates.shortlist import EnumeratedShortlist, SampledShortlist
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials

Factors = Callable[[int, int], ConceptSetSpace]
NAMES = ("level-set", "level-set-adaptive")


def some_sets(rng: np.random.Generator, count: int, concepts: int = 8) -> np.ndarray:
    every = [
        [i in chosen for i in range(concepts)]
        for size in range(1, 5)
        for chosen in combinations(range(concepts), size)
    ]
    return np.array(every, dtype=float)[rng.permutation(len(every))[:count]]


def fitted(variances: Variances, seed: int = 0, count: int = 30) -> tuple[InteractionGP, Any]:
    rng = np.random.default_rng(seed)
    sets = some_sets(rng, count)
    n = rng.integers(1, 6, count)
    fails = rng.binomial(n, 1 / (1 + np.exp(1.0 - sets @ np.linspace(-2, 2, 8))))
    process = InteractionGP(variances, mean=-0.5)
    process.observe(sets, fails, n)
    process.fit()
    return process, (sets, fails, n)


def test_the_posterior_is_scikit_learns_where_that_has_one() -> None:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, WhiteKernel

    rng = np.random.default_rng(3)
    sets = some_sets(rng, 60)
    fails = rng.random(60) < 1 / (1 + np.exp(1.0 - sets @ np.linspace(-2, 2, 8)))
    kernel = ConstantKernel(0.7) * DotProduct(np.sqrt(4.0 / 0.7)) + WhiteKernel(0.1)
    reference = GaussianProcessClassifier(kernel, optimizer=None).fit(sets, fails)
    process = InteractionGP(Variances(4.0, 0.7, 0.0, 0.0, 0.1))
    process.observe(sets, fails, np.ones(60))
    assert process.fit() == pytest.approx(reference.log_marginal_likelihood_value_, abs=1e-3)
    new = some_sets(rng, 40)
    latent = reference.base_estimator_
    cross = latent.kernel_.k1(latent.X_train_, new)  # without the sets' own part
    mean = cross.T @ (latent.y_train_ - latent.pi_)
    assert process.means(new) == pytest.approx(mean, abs=1e-3)


@pytest.mark.parametrize("triple", [0.0, 0.5])
def test_terms_add_up_to_the_mean_of_every_set(street: ConceptSetSpace, triple: float) -> None:
    table = SetTable.of(street)
    rng = np.random.default_rng(1)
    rows = rng.choice(len(table), 50, replace=False)
    process = InteractionGP(Variances(4.0, 1.0, 0.6, triple, 0.2), mean=-1.0)
    process.observe(table.multi_hot(rows), rng.integers(0, 6, 50), np.full(50, 5))
    process.fit()
    bias, *terms = process.terms()
    some = rng.choice(len(table), 300, replace=False)
    expected = process.means(table.multi_hot(some))
    assert bias + table.interaction_scores(*terms)[some] == pytest.approx(expected, abs=1e-3)


def test_the_mode_is_where_the_log_posterior_is_largest() -> None:
    from scipy.optimize import minimize
    from scipy.special import log_expit

    process, (sets, fails, n) = fitted(Variances(4.0, 1.0, 0.5, 0.3, 0.2))
    v = process.variances
    s = sets @ sets.T
    kernel = v.bias + v.single * s + v.pair * s * (s - 1) / 2 + v.own * np.eye(len(s))
    kernel += v.triple * s * (s - 1) * (s - 2) / 6

    def loss(alpha: np.ndarray) -> float:
        f = kernel @ alpha
        value = fails @ log_expit(f - 0.5) + (n - fails) @ log_expit(0.5 - f) - 0.5 * alpha @ f
        return -float(value)

    found = minimize(loss, np.zeros(len(s)), method="BFGS", options={"gtol": 1e-8})
    mean, variance = process.predict(sets)
    assert mean == pytest.approx(kernel @ found.x - 0.5, abs=1e-3)
    chance = 1 / (1 + np.exp(-mean))
    weight = np.diag(n * chance * (1 - chance))
    exact = np.linalg.inv(np.linalg.inv(kernel) + weight)
    assert variance == pytest.approx(np.diag(exact), abs=1e-3)


def test_what_nothing_is_known_of_has_the_prior() -> None:
    process = InteractionGP(Variances(4.0, 1.0, 0.5, 0.3, 0.1), mean=-1.0)
    mean, variance = process.predict(np.array([[1, 0, 0, 0], [1, 1, 1, 0]]))
    assert mean.tolist() == [-1.0, -1.0]
    assert variance == pytest.approx([5.1, 4 + 3 + 1.5 + 0.3 + 0.1])
    assert process.fit() == 0.0


def test_evidence_chooses_pairs_where_there_are_pairs() -> None:
    rng = np.random.default_rng(2)
    sets = some_sets(rng, 150)
    pair = sets[:, 0] * sets[:, 1]
    for effect, expected in ((pair * 8.0, True), (sets[:, 0] * 6.0, False)):
        process = InteractionGP(mean=-1.0)
        fails = rng.binomial(5, 1 / (1 + np.exp(3.0 - effect)))
        process.observe(sets, fails, np.full(150, 5))
        before = process.fit()
        process.choose()
        assert process.fit() >= before
        ratio = process.variances.pair / process.variances.single
        assert (ratio >= 1.0) == expected
        assert process.variances.pair in STEPS["pair"]


@pytest.mark.parametrize("fails", [0, 5])
def test_constant_outcomes_and_huge_counts_are_fitted(fails: int) -> None:
    sets = some_sets(np.random.default_rng(0), 60)
    for scale in (1, 100_000):
        process = InteractionGP(mean=-1.0)
        process.observe(sets, np.full(60, fails * scale), np.full(60, 5 * scale))
        process.choose()
        mean, variance = process.predict(sets)
        assert np.isfinite(mean).all()
        assert (variance > 0).all()
        assert (np.sign(mean) == (1 if fails else -1)).all()


@pytest.mark.parametrize("family", ["additive", "pairwise", "needles", "mixed"])
def test_beats_thompson_sampling_on_landscapes(family: str) -> None:
    shares = {}
    for name in ("gpts", "level-set"):
        known = landscape(family, "hard", 7)
        evaluate = SimulatedTrials(known.space, known.rate, seed=7)
        run = Drive(make_searcher(name), known.space, evaluate, seed=7, budget=600)
        shares[name] = np.mean([known.rate(e.candidate) >= 0.6 for e in run.evaluations])
    assert shares["level-set"] > 1.3 * shares["gpts"]


def test_trials_of_their_own_number_find_more() -> None:
    found = {}
    for name in NAMES:
        known = landscape("pairwise", "hard", 7)
        evaluate = SimulatedTrials(known.space, known.rate, seed=7)
        run = Drive(make_searcher(name), known.space, evaluate, seed=7, budget=1000)
        last = {e.key: e for e in run.evaluations}
        found[name] = sum(
            e.n >= 3 and e.rate >= 0.6 and known.rate(e.candidate) >= 0.6 for e in last.values()
        )
    assert found["level-set-adaptive"] > 1.2 * found["level-set"]


def told(agent: Any, outcomes: dict[int, list[Outcome]]) -> list[tuple[Any, int]]:
    """Tell the n-th set of the first batch these outcomes, one a round; others pass."""
    table: dict[Any, list[Outcome]] = {}
    evaluate = SimulatedTrials(
        agent.space, outcome=lambda key, i: (*table.get(key, ()), *[Outcome.PASS] * 9)[i]
    )
    for _ in range(4):
        asked = agent.ask(4)
        if not table:
            keys = [agent.space.key(candidate) for candidate, _ in asked]
            table.update({keys[i]: told for i, told in outcomes.items()})
        agent.tell([evaluate(*one) for one in asked])
    return [(key, len(evaluate._totals[key].trials)) for key in keys]


def test_sets_get_trials_until_they_are_clear(street: ConceptSetSpace) -> None:
    agent = make_searcher("level-set-adaptive")
    agent.bind(street, seed=0, trials=5, budget=1000)
    fail, no = Outcome.FAIL, Outcome.PASS
    counts = told(agent, {1: [fail, fail, fail], 2: [fail, no, no], 3: [Outcome.UNPARSED]})
    assert [n for _, n in counts] == [1, 3, 3, 1]


def test_surrogate_of_many_sets_is_fitted_to_some(street: ConceptSetSpace) -> None:
    agent = make_searcher("level-set", most=20)
    evaluate = SimulatedTrials(street, AdditiveRates(street, seed=0), seed=0)
    Drive(agent, street, evaluate, budget=300)
    assert len(agent._observed) == 60
    assert len(agent._observed.process) == 20


@pytest.mark.parametrize("name", NAMES)
def test_knobs_and_foreign_evaluations(street: ConceptSetSpace, name: str) -> None:
    for knob in ("shortlist", "pool", "most"):
        with pytest.raises(UsageError, match=knob):
            make_searcher(name, **{knob: 0})
    agent = make_searcher(name, shortlist=7)
    assert agent.config() == {
        "shortlist": 7, "pool": 3000, "most": 1000, "order": 3, "pooled": False,
    }  # fmt: skip
    for knob, wrong in (("order", 4), ("pooled", 1)):
        with pytest.raises(UsageError, match=knob):
            make_searcher(name, **{knob: wrong})
    agent.bind(street, seed=0, trials=5, budget=100)
    foreign = SimulatedTrials(street, lambda _: 0.5)(frozenset({"child"}), 5)
    with pytest.raises(AgentError, match="did not just propose"):
        agent.tell([foreign])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_surrogate_knows_no_effect_of_more_than_its_order(
    street: ConceptSetSpace, order: int
) -> None:
    agent = make_searcher("level-set", order=order)
    pair = {"child", "far"}
    evaluate = SimulatedTrials(street, lambda one: 0.95 if pair <= one else 0.05, seed=0)
    Drive(agent, street, evaluate, budget=400)
    process = agent._observed.process
    _, singles, pairs, triples = process.terms()
    assert singles.any()
    assert pairs.any() == (order > 1)
    assert process.variances.triple == 0.0 or order == 3
    assert not triples.size or order == 3


def test_a_pool_may_be_asked_for_where_all_sets_are_known(street: ConceptSetSpace) -> None:
    agent = make_searcher("level-set", pooled=True, pool=50)
    Drive(agent, street, SimulatedTrials(street, lambda _: 0.3, seed=0), budget=100)
    assert isinstance(agent._left, SampledShortlist)


def test_shortlists_agree_and_bans_hold(small: ConceptSetSpace) -> None:
    table = SetTable.of(small)
    rng = np.random.default_rng(0)
    process = InteractionGP(mean=-1.0)
    rows = rng.choice(len(table), 40, replace=False)
    process.observe(table.multi_hot(rows), rng.integers(0, 6, 40), np.full(40, 5))
    process.fit()
    exact, pool = EnumeratedShortlist(table), SampledShortlist(small, 5000)
    core = frozenset({"child", "far"})
    for one in (exact, pool):
        one.ban(core)
    first = exact.highest(process, 30, rng, [])
    second = pool.highest(process, 30, rng, [])
    assert process.means(second.rows) == pytest.approx(process.means(first.rows), abs=1e-4)
    for ranked in (first, second):
        sets = [ranked.at(i) for i in range(30)]
        assert not any(one >= core or one <= core for one in sets)
        hot = np.stack([small.encode(one) for one in sets])
        assert (hot == ranked.rows).all()
    taken = exact.draw(rng, 10_000)
    assert len(taken) == len(set(taken)) == len(table) - 2  # {far} alone is no valid set
    assert not len(exact.highest(process, 5, rng, []).rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_candidates_take_seconds(factors: Factors, name: str) -> None:
    space = factors(6, 6)
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=0), seed=0)
    tracemalloc.start()
    start = time.process_time()
    run = Drive(make_searcher(name), space, evaluate, budget=30 * 8 * 5)
    assert time.process_time() - start < 60.0
    assert tracemalloc.get_traced_memory()[1] < 2 * 2**30
    tracemalloc.stop()
    assert len(run.batches) >= 30
