from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vlmfail.core import AgentError, Evaluation, Outcome, UsageError
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.searchers import make_searcher
from vlmfail.searchers._set_table import SetTable
from vlmfail.searchers._surrogates.linear_gp import LinearGP
from vlmfail.searchers._surrogates.rbf_gp import RBFGP
from vlmfail.searchers._surrogates.thompson import EnumeratedSets, SampledSets, neighbours
from vlmfail.testing.simulated import AdditiveRates, Drive, SimulatedTrials

Factors = Callable[[int, int], ConceptSetSpace]


def search(name: str, space: ConceptSetSpace, seed: int = 0, **settings: Any) -> Drive:
    args = settings.pop("args", {})
    evaluate = SimulatedTrials(space, AdditiveRates(space, seed=seed), seed=seed)
    return Drive(make_searcher(name, **args), space, evaluate, seed=seed, **settings)


def test_beats_beam_and_random_on_additive_landscapes(street: ConceptSetSpace) -> None:
    shares = {
        name: np.mean(
            [search(name, street, seed, budget=1000).share_of_modes() for seed in range(5)]
        )
        for name in ("random", "beam", "gpts")
    }
    assert shares["beam"] > 1.3 * shares["random"]
    assert shares["gpts"] > 1.3 * shares["beam"]


@pytest.mark.parametrize(("share", "warm"), [(0.5, 20), (0.25, 10), (0.33, 13), (0.0, 0)])
def test_beam_gets_its_share_of_the_sets(street: ConceptSetSpace, share: float, warm: int) -> None:
    beam = search("beam", street, budget=200).keys
    gpts = search("gpts", street, budget=200, args={"warm_share": share}).keys
    assert gpts[:warm] == beam[:warm]
    assert gpts[warm] != beam[warm]


def test_whole_share_is_beam(street: ConceptSetSpace) -> None:
    gpts = search("gpts", street, budget=200, args={"warm_share": 1.0}).keys
    assert gpts == search("beam", street, budget=200).keys


def test_process_takes_over_from_an_exhausted_beam(factors: Factors) -> None:
    space = factors(1, 3)
    run = search("gpts", ConceptSetSpace(space.concepts, [], 2), budget=1000)
    assert len(set(run.keys)) == 6


def test_arg_max_is_exact(small: ConceptSetSpace) -> None:
    rows = small.valid_sets()
    assert rows is not None
    seen: set[frozenset[str]] = set()
    process = LinearGP(len(small.concepts))
    process.add(rows[:40], np.random.default_rng(0).random(40))
    unseen = EnumeratedSets(SetTable(small, rows), seen, 10)
    for step in range(10):
        weights = process.draw(np.random.default_rng(step), 4)[0]
        found = unseen.linear_maxima(process, np.random.default_rng(step), 4, [])
        for w, best in zip(weights, found, strict=True):
            left = [one for one in map(small.from_multi_hot, rows) if one not in seen]
            assert best == max(left, key=lambda one: float(small.encode(one) @ w))
            seen.add(best)


def test_table_agrees_with_the_space(small: ConceptSetSpace) -> None:
    rows = small.valid_sets()
    assert rows is not None
    table = SetTable(small, rows)
    assert len(table) == len(rows)
    np.testing.assert_array_equal(table.multi_hot(np.arange(len(rows))), rows)
    weights = np.random.default_rng(0).normal(size=rows.shape[1])
    np.testing.assert_allclose(table.scores(weights), rows @ weights, atol=1e-5)
    for i in (0, 7, len(rows) - 1):
        candidate = small.from_multi_hot(rows[i])
        assert table.candidate(i) == candidate
        assert table.find(candidate) == i
        around = {table.candidate(int(row)) for row in table.neighbours(candidate)}
        assert around == set(neighbours(small, candidate))
        brute = {
            other
            for other in map(small.from_multi_hot, rows)
            if {len(candidate - other), len(other - candidate)} in ({0, 1}, {1})
        }
        assert around == brute
    with pytest.raises(UsageError, match="not a valid set"):
        table.find(frozenset({"near"}))


def test_a_pool_climbs_to_the_maximum_of_a_drawn_function(endless: ConceptSetSpace) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=60)
    # So many exact observations that every draw is nearly this function.
    process = LinearGP(60, noise_level=1e-4)
    inputs = rng.random((2000, 60)) < 0.1
    process.add(inputs, inputs @ weights)
    unseen = SampledSets(endless, [], 20)
    found = unseen.linear_maxima(process, np.random.default_rng(4), 3, [])
    # The best of each pair, one of them out of the first ten concepts, is the maximum.
    best = sorted(weights[i : i + 2].max() for i in range(0, 60, 2))
    anchor = max(weights[:10])
    bound = sum(sorted([*best[-6:]])[1:]) + anchor
    values = [float(endless.encode(one) @ weights) for one in found]
    assert max(values) >= bound - 0.05
    assert len(set(found)) == 3
    assert min(values) > max(
        float(endless.encode(endless.sample(rng)) @ weights) for _ in range(200)
    )


def evaluation(space: ConceptSetSpace, candidate: frozenset[str], fails: str) -> Evaluation[Any]:
    outcomes = {"f": Outcome.FAIL, "p": Outcome.PASS, "e": Outcome.ERROR}
    evaluate = SimulatedTrials(space, outcome=lambda key, index: outcomes[fails[index]])
    return evaluate(candidate, len(fails))


@pytest.mark.parametrize("kernel", ["dot-product", "rbf"])
@pytest.mark.parametrize("fails", ["fffff", "ppppp", "eeeee"])
def test_one_observation(street: ConceptSetSpace, kernel: str, fails: str) -> None:
    agent = make_searcher("gpts", kernel=kernel, warm_share=0.01, pool=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.bind(street, seed=0, trials=5, budget=500)
        [first] = agent.ask(8)
        agent.tell([evaluation(street, first, fails)])
        assert len(set(agent.ask(8))) == 8


@pytest.mark.parametrize("process", [LinearGP(30), RBFGP(30)])
def test_contradictory_repeats_of_one_candidate(
    street: ConceptSetSpace, process: LinearGP | RBFGP
) -> None:
    one = street.encode(frozenset({"walker", "near"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process.add(np.repeat(one[None], 50, axis=0), np.arange(50) % 2)
        process.fit()
        mean, covariance = process.predict(one[None].astype(float))
    assert 0.3 < mean[0] < 0.7
    assert np.isfinite(covariance).all()


def test_rbf_draws_exclude_the_noise(street: ConceptSetSpace) -> None:
    process = RBFGP(30)
    one = street.encode(frozenset({"walker", "near"}))[None].astype(float)
    process.add(np.repeat(one, 50, axis=0), np.arange(50) % 2)
    process.fit()
    draws = process.draw(np.repeat(one, 2, axis=0), np.random.default_rng(0), 2000)
    # The noise has a standard deviation of .5, the latent value one of about .5 / √50.
    assert draws.std() < 0.15
    np.testing.assert_allclose(draws[:, 0], draws[:, 1], atol=0.02)


def test_rbf_equals_scikit_learn_at_its_optimum(street: ConceptSetSpace) -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    rng = np.random.default_rng(0)
    x = (rng.random((60, 6)) < 0.4).astype(float)
    y = np.clip(x @ rng.normal(0, 0.3, 6) + rng.normal(0, 0.1, 60), 0, 1)
    process = RBFGP(6)
    process.add(x, y)
    process.fit()
    reference = GaussianProcessRegressor(RBF() + WhiteKernel()).fit(x, y)
    new = (rng.random((20, 6)) < 0.4).astype(float)
    mean, covariance = reference.predict(new, return_cov=True)
    noise = reference.kernel_.k2.noise_level
    np.testing.assert_allclose(process.predict(new)[0], mean, atol=1e-6)
    np.testing.assert_allclose(process.predict(new)[1], covariance - noise * np.eye(20), atol=1e-6)


def test_46656_candidates(factors: Factors) -> None:
    space = factors(6, 6)
    started = time.process_time()
    run = search("gpts", space, budget=60 * 5, batch=1)
    assert time.process_time() - started < 20
    assert len(run.keys) == len(set(run.keys)) == 60
    rates = [evaluation.rate or 0.0 for evaluation in run.evaluations]
    assert np.mean(rates[30:]) > 1.5 * np.mean(rates[:30])


def test_memory_of_46656_candidates(factors: Factors) -> None:
    space = factors(6, 6)
    tracemalloc.start()
    search("gpts", space, budget=2 * 5, batch=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20


def test_tell_of_what_was_not_asked(street: ConceptSetSpace) -> None:
    agent = make_searcher("gpts")
    agent.bind(street, seed=0, trials=5, budget=500)
    with pytest.raises(AgentError, match="did not just propose"):
        agent.tell([evaluation(street, frozenset({"walker"}), "fffff")])


@pytest.mark.parametrize(
    "args",
    [{"warm_share": 1.1}, {"warm_share": -0.1}, {"kernel": "matern"}, {"pool": 0}, {"width": 0}],
)
def test_wrong_knobs(args: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(args))):
        make_searcher("gpts", **args)


@pytest.mark.parametrize("name", ["beam", "gpts"])
def test_other_spaces_are_refused(name: str) -> None:
    class Triples:
        kind = "tuple"
        features = ("x",)

    with pytest.raises(UsageError, match=r"works on concept sets.*of kind 'tuple': choose random"):
        make_searcher(name).bind(Triples(), seed=0, trials=5, budget=10)  # type: ignore[arg-type]
