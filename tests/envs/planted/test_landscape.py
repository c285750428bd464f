"""Landscapes: exact against slow computations of their own, and scaled as they promise."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.planted import families
from vlmfail.envs.planted.landscape import landscape
from vlmfail.envs.planted.table import driving_sets, driving_space
from vlmfail.envs.registry import make_domain

TAU = 0.6
KINDS = [(family, level) for family in families.FAMILIES for level in families.LEVELS]


def some_rows(seed: int, number: int) -> list[int]:
    return [int(r) for r in np.random.default_rng(seed).integers(len(driving_sets()), size=number)]


def bits(mask: int) -> frozenset[str]:
    concepts = driving_space().concepts
    return frozenset(concepts[i] for i in range(len(concepts)) if mask >> i & 1)


def slow_random_pfm(found, tau: float) -> float:
    """Draw as random search does, on average: a size first, then a set of that size."""
    sizes: dict[int, list[bool]] = {}
    for row in found.space.valid_sets():
        sizes.setdefault(int(row.sum()), [])
    for size, rate in zip(found.sets.sizes, found.rates, strict=True):
        sizes[int(size)].append(bool(rate >= tau))
    return float(np.mean([np.mean(one) for one in sizes.values()]))


def test_rows_masks_and_weights_are_those_of_the_driving_space():
    sets = driving_sets()
    rows = make_domain("VLMFail-Driving-v0").space.valid_sets()
    assert len(sets) == 110_650
    space = driving_space()
    for row in some_rows(1, 300):
        candidate = space.from_multi_hot(rows[row])
        assert sets.candidate(row) == candidate
        assert bits(int(sets.masks[row])) == candidate
        assert sets.row(candidate) == row
    assert sets.weights.sum() == pytest.approx(1.0)
    for size in range(1, 6):
        assert sets.weights[sets.sizes == size].sum() == pytest.approx(0.2)


def test_sets_that_are_invalid_have_no_rate():
    found = landscape("pairwise", "hard", 1)
    space = found.space
    rng = np.random.default_rng(0)
    invalid = 0
    for _ in range(300):
        candidate = frozenset(rng.choice(space.concepts, size=int(rng.integers(0, 7))).tolist())
        assert (found.rate(candidate) is None) == (space.validate(candidate) is not None)
        invalid += found.rate(candidate) is None
    assert 50 < invalid < 300


@pytest.mark.parametrize(("family", "level"), KINDS)
def test_random_search_meets_its_target(family: str, level: str):
    low, high = (0.018, 0.022) if level == "hard" else (0.22, 0.31)
    for seed in (0, 1000, 2**32 - 1):
        found = landscape(family, level, seed)
        assert low <= found.random_pfm(TAU) <= high
        assert 0.0 <= found.rates.min() < 0.2
        assert 0.8 < found.rates.max() <= 1.0


def test_random_pfm_is_that_of_drawing_a_size_first():
    for tau in (0.3, TAU):
        found = landscape("mixed", "easy", 5)
        assert found.random_pfm(tau) == pytest.approx(slow_random_pfm(found, tau))


def test_random_search_draws_as_the_target_says():
    found = landscape("mixed", "easy", 5)
    space, rng = found.space, np.random.default_rng(3)
    drawn = [found.rate(space.sample(rng)) >= TAU for _ in range(1500)]
    assert np.mean(drawn) == pytest.approx(found.random_pfm(TAU), abs=4 * math.sqrt(0.25 / 1500))


def test_additive_log_odds_are_a_base_and_one_effect_a_concept():
    found = landscape("additive", "hard", 4)
    single = {}
    base = math.log(0.1 / 0.9)
    hot = found.space.valid_sets().astype(float)
    odds = np.log(found.rates / (1 - found.rates))
    fitted, *_ = np.linalg.lstsq(hot, odds - base, rcond=None)
    single = dict(zip(found.space.concepts, fitted, strict=True))
    for row in some_rows(2, 200):
        total = base + sum(single[one] for one in found.candidate(row))
        assert found.rates[row] == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-9)


def test_pairs_interact_as_often_and_as_strongly_as_said():
    found = landscape("pairwise", "hard", 4)
    sets, n = found.sets, len(found.space.concepts)
    together = sorted(
        {pair for row in range(len(sets)) if sets.sizes[row] == 3
         for pair in combinations(sets.members[:3, row].tolist(), 2)}
    )  # fmt: skip
    column = {pair: n + i for i, pair in enumerate(together)}
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(sets))[:6000]
    design = np.zeros((len(rows), n + len(together)))
    for i, row in enumerate(rows):
        members = sets.members[: sets.sizes[row], row].tolist()
        design[i, members] = 1.0
        for pair in combinations(members, 2):
            design[i, column[pair]] = 1.0
    odds = np.log(found.rates / (1 - found.rates))[rows] - math.log(0.1 / 0.9)
    fitted, *_ = np.linalg.lstsq(design, odds, rcond=None)
    noise = float(np.std(odds - design @ fitted))
    assert noise > 0.05  # a set's own part, which no effect explains
    scale = noise / families.NOISE
    strong = np.abs(fitted[n:]) / scale > 0.5
    assert strong.mean() == pytest.approx(families.INTERACTING, abs=0.02)
    size = np.abs(fitted[n:][strong]) / scale
    assert size.min() > 0.7
    assert size.max() < 3.5
    assert 0.25 < (fitted[n:][strong] > 0).mean() < 0.75


@pytest.mark.parametrize("level", families.LEVELS)
def test_needles_fail_where_nothing_blocks_them(level: str):
    found = landscape("needles", level, 12)
    known = [(bits(one.concepts), bits(one.blockers), one) for one in found.needles]
    for concepts, blockers, one in known:
        assert 2 <= len(concepts) <= 4
        assert len(blockers) == 3
        assert not concepts & blockers
        assert 0.8 <= one.rate <= 0.95
        assert found.space.validate(concepts) is None
        assert found.rate(concepts) >= one.rate
    for (one, _, _), (other, _, _) in combinations(known, 2):
        assert not one <= other
        assert not other <= one
    rows = [*some_rows(5, 300), *(int(row) for row in found.modes()[:200])]
    for row in rows:
        candidate = found.candidate(row)
        rates = [families.NEEDLE_BASE[level]]
        for concepts, blockers, one in known:
            if candidate & blockers:
                continue
            if concepts <= candidate:
                rates.append(one.rate)
            elif one.partial:
                share = len(concepts & candidate) / len(concepts)
                rates.append(0.6 * one.rate * share)
        assert found.rates[row] == pytest.approx(max(rates), abs=1e-12)
    blocked = [c | {min(b)} for c, b, _ in known if found.rate(c | {min(b)}) is not None]
    assert min(found.rate(one) for one in blocked) < TAU


def test_mixed_is_the_larger_of_effects_and_needles():
    found = landscape("mixed", "hard", 3)
    alone = families.needle_rates(found.sets, found.needles)
    covered = float(found.sets.weights[alone >= TAU].sum())
    assert len(found.needles) >= 3
    assert 0.008 <= covered <= 0.012
    assert (found.rates >= alone).all()
    assert ((found.rates >= TAU) & (alone < TAU)).sum() > 100


@pytest.mark.parametrize("family", families.FAMILIES)
def test_minimal_modes_are_those_of_brute_force(family: str):
    found = landscape(family, "hard", 21)
    minimal = {found.candidate(int(row)) for row in found.minimal_modes()}
    rng = np.random.default_rng(1)
    modes = found.modes()
    checked = [found.candidate(int(row)) for row in rng.choice(modes, 100)]
    checked += [found.candidate(int(row)) for row in found.minimal_modes()[::7]]
    for candidate in checked:
        less = [found.rate(candidate - {one}) for one in candidate]
        holds = found.rate(candidate) >= TAU and all(r is None or r < TAU for r in less)
        assert (candidate in minimal) == holds
        assert found.is_minimal(candidate) == holds
    assert minimal
    rates = found.rates[found.minimal_modes()]
    assert (np.diff(rates) <= 0).all()


def test_the_greedy_order_holds_no_set_beside_its_part():
    found = landscape("pairwise", "hard", 21)
    picked = [found.candidate(row) for row in found.greedy_modes()]
    minimal = [found.candidate(int(row)) for row in found.minimal_modes()]
    assert not any(a < b or b < a for a, b in combinations(picked, 2))
    left_out = set(minimal) - set(picked)
    assert left_out
    for one in left_out:
        assert any(one < other or other < one for other in picked)
    rates = [found.rate(one) for one in picked]
    assert rates == sorted(rates, reverse=True)


def test_an_audit_accepts_a_removal_that_fails_less():
    found = landscape("mixed", "hard", 1)
    strict = {found.candidate(int(row)) for row in found.minimal_modes()}
    modes = [found.candidate(int(row)) for row in found.modes()]
    accepted = {one for one in modes if found.is_minimal(one, 0.8)}
    assert strict < accepted


def test_landscapes_differ_by_seed_family_and_level_and_not_by_process():
    kinds = [
        ("mixed", "hard", 0),
        ("mixed", "hard", 1),
        ("mixed", "easy", 0),
        ("needles", "easy", 0),
    ]
    digests = [landscape(*kind).digest for kind in kinds]
    assert len(set(digests)) == len(kinds)
    code = (
        "import json; from vlmfail.envs.planted.landscape import landscape;"
        f"print(json.dumps([landscape(*k).digest for k in {kinds!r}]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(told.stdout) == digests


def test_a_landscape_is_drawn_once_and_cannot_be_written():
    found = landscape("additive", "easy", 2)
    assert landscape("additive", "easy", 2) is found
    with pytest.raises(ValueError, match="read-only"):
        found.rates[0] = 1.0


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"family": "pairwize"}, UnknownNameError, "unknown family 'pairwize': did you mean"),
        ({"level": "medium"}, UnknownNameError, "easy, hard"),
        ({"landscape_seed": -1}, UsageError, "landscape_seed: expected a whole number from 0"),
        ({"landscape_seed": 1.5}, UsageError, "got 1.5"),
        ({"landscape_seed": True}, UsageError, "got True"),
        ({"landscape_seed": "x"}, UsageError, "got 'x'"),
        ({"landscape_seed": 2**32}, UsageError, "4294967295"),
    ],
)
def test_bad_values_are_told_in_one_line(given, error, said):
    with pytest.raises(error) as told:
        make_domain("VLMFail-Planted-v0", **given)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
