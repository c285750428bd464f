"""How the true failure rates of a landscape are drawn, family by family.

The families are those of the search study (see `docs/design.md`): *additive*, *pairwise*,
*needles*, *mixed*. Where it names no number the constant below is ours, and says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.seeding import key_words
from .table import Floats, Rows, SetMasks

FAMILIES = ("additive", "pairwise", "needles", "mixed")
LEVELS = ("easy", "hard")

TAU = 0.6
"""Failure rate from which a set is a failure mode (Revelio §4): landscapes are scaled for it."""

TARGETS = {"hard": 0.02, "easy": 0.26}
"""Random's true PFM at `TAU` (the study: about 2 % hard, 22-31 % easy; the middle of that)."""

BASE_RATES = {"hard": 0.10, "easy": 0.25}
"""Rate of a set without effects in the additive and pairwise families. Ours: with them the effects'
standard deviation comes out near 0.7 (hard) and 1.3 (easy) in log-odds, so that most sets fail
sometimes and rates spread over all of [0, 1].
"""

INTERACTING = 0.14
"""Share of the pairs that can occur together which interact (the study)."""

INTERACTION = (1.0, 3.0)
"""Size of a synergy or interference, uniform, in standard deviations of a single effect. Ours: an
interaction is at least what a concept does alone. Both signs are as likely.
"""

NOISE = 0.25
"""Standard deviation of a set's own noise, in standard deviations of a single effect. Ours for the
study's "small".
"""

NEEDLE_SIZES = (2, 3, 4)
"""Concepts of a conjunction, as likely each (the study; the equal shares are ours)."""

NEEDLE_RATES = (0.80, 0.95)
"""Rate of a set that holds a conjunction, uniform (the study)."""

BLOCKERS = 3
"""Concepts each of which switches a conjunction off (the study)."""

PARTIAL = 0.6
"""Of every second conjunction (the study: half) a set that holds j of its k concepts fails at
`PARTIAL` · f · j / k. Ours: at most .43, which is no failure mode and yet a trail.
"""

NEEDLE_BASE = {"hard": 0.05, "easy": 0.10}
"""Rate of a set with no conjunction in the needle family (the study: low). Ours."""

FEWEST_NEEDLES = 3
"""Needles that a landscape has at least: one alone would be no family. Ours."""

NEEDLE_TOLERANCE = 0.1
"""Relative distance to the target that the needles' coverage may have: a pair is worth 0.6 % at
once. Other draws are made until one comes that near. Ours.
"""

NEEDLE_SHARE = 0.5
"""Share of a mixed landscape's target that its needles cover; effects make up the rest. Ours."""

ATTEMPTS = 200
"""Draws at most; of needles that never come near enough, the nearest are taken."""


@dataclass(frozen=True, slots=True)
class Needle:
    """A conjunction of concepts that fails wherever it occurs and nothing blocks it.

    Attributes:
        concepts: Its concepts as bits.
        blockers: Concepts that switch it off, as bits.
        rate: Failure rate f of a set that holds it.
        partial: Whether a part of it fails a little, too.
    """

    concepts: int
    blockers: int
    rate: float
    partial: bool


def draw_rates(
    sets: SetMasks, family: str, level: str, seed: int
) -> tuple[Floats, tuple[Needle, ...]]:
    """Return the true failure rate of every set, `N`, and the needles among the causes.

    The same for the same arguments in every process. A set is a failure mode at `TAU` when its
    effects reach a bound that falls as they are scaled up, so that the scale which gives the
    target follows from one weighted quantile.

    Args:
        sets: The valid sets.
        family: One of `FAMILIES`.
        level: One of `LEVELS`.
        seed: The landscape's seed.
    """
    target = TARGETS[level]
    needles: tuple[Needle, ...] = ()
    rates = np.zeros(len(sets))
    if family in ("needles", "mixed"):
        wanted = target if family == "needles" else NEEDLE_SHARE * target
        needles = draw_needles(sets, wanted, family, level, seed)
        rates = needle_rates(sets, needles)
    if family == "needles":
        return np.maximum(rates, NEEDLE_BASE[level]), needles
    covered = rates >= TAU
    for attempt in range(ATTEMPTS):
        rng = _rng(family, level, seed, attempt, "effects")
        effects = additive(sets, rng) if family == "additive" else pairwise(sets, rng)
        scale = _scale(sets, effects, covered, target, _log_odds(BASE_RATES[level]))
        if scale is not None:
            odds = _log_odds(BASE_RATES[level]) + scale * effects
            return np.maximum(rates, 1.0 / (1.0 + np.exp(-odds))), needles
    raise ValueError(f"no {family} landscape of seed {seed} reaches the level {level}")


def additive(sets: SetMasks, rng: np.random.Generator) -> Floats:
    """Return the sum of one standard normal effect a concept, `N`."""
    effects = np.append(rng.standard_normal(len(sets.space.concepts)), 0.0)
    total = np.zeros(len(sets))
    for member in sets.members:  # in catalogue order: the same sum on every machine
        total += effects[member]
    return total


def pairwise(sets: SetMasks, rng: np.random.Generator) -> Floats:
    """Return single effects, interactions of some pairs and a set's own noise, summed, `N`."""
    n = len(sets.space.concepts)
    total = additive(sets, rng)
    together = np.zeros((n + 1, n + 1), dtype=bool)
    depth = len(sets.members)
    places = [(i, j) for i in range(depth) for j in range(i + 1, depth)]
    for i, j in places:
        together[sets.members[i], sets.members[j]] = True
    first, second = np.nonzero(together[:n, :n])
    chosen = rng.permutation(len(first))[: round(INTERACTING * len(first))]
    sign = 2.0 * rng.integers(2, size=len(chosen)) - 1.0
    interaction = np.zeros((n + 1, n + 1))
    interaction[first[chosen], second[chosen]] = sign * rng.uniform(*INTERACTION, len(chosen))
    for i, j in places:
        total += interaction[sets.members[i], sets.members[j]]
    return total + NOISE * rng.standard_normal(len(sets))


def needle_rates(sets: SetMasks, needles: Sequence[Needle]) -> Floats:
    """Return the rate that the needles alone give every set, `N`: that of the strongest."""
    rates = np.zeros(len(sets))
    held_by = [sets.touching(1 << bit) for bit in range(len(sets.space.concepts))]
    for needle in needles:
        open_ = ~sets.touching(needle.blockers)
        own = np.where(sets.holding(needle.concepts) & open_, needle.rate, 0.0)
        if needle.partial:
            bits = [bit for bit in range(32) if needle.concepts >> bit & 1]
            held = np.zeros(len(sets), dtype=np.int8)
            for bit in bits:
                held += held_by[bit]
            part = PARTIAL * needle.rate * held / len(bits)
            own = np.where(open_ & (own == 0.0), part, own)
        np.maximum(rates, own, out=rates)
    return rates


def draw_needles(
    sets: SetMasks, target: float, family: str, level: str, seed: int
) -> tuple[Needle, ...]:
    """Return as many needles as make random's share of sets that hold one the target.

    None holds another. Draws that are few or whose share jumps past the target are made anew.
    """
    best: tuple[Needle, ...] = ()
    gap = math.inf
    of_size = {size: np.flatnonzero(sets.sizes == size) for size in NEEDLE_SIZES}
    for attempt in range(ATTEMPTS):
        rng = _rng(family, level, seed, attempt, "needles")
        needles: list[Needle] = []
        covered = np.zeros(len(sets), dtype=bool)
        share = 0.0
        while share < target:
            needle = _draw_needle(sets, of_size, needles, rng)
            new = sets.holding(needle.concepts) & ~sets.touching(needle.blockers) & ~covered
            covered |= new
            before, share = share, share + float(sets.weights[new].sum())
            if share >= target and target - before < share - target:
                share = before
                break
            needles.append(needle)
        if len(needles) >= FEWEST_NEEDLES and abs(share - target) < gap:
            best, gap = tuple(needles), abs(share - target)
        if gap <= NEEDLE_TOLERANCE * target:
            break
    return best


def _draw_needle(
    sets: SetMasks,
    of_size: Mapping[int, Rows],
    others: Sequence[Needle],
    rng: np.random.Generator,
) -> Needle:
    while True:
        rows = of_size[int(rng.choice(NEEDLE_SIZES))]
        concepts = int(sets.masks[rows[int(rng.integers(len(rows)))]])
        if not any(concepts & o.concepts in (concepts, o.concepts) for o in others):
            break
    beside = int(np.bitwise_or.reduce(sets.masks[sets.holding(concepts)])) & ~concepts
    companions = [bit for bit in range(32) if beside >> bit & 1]
    blockers = sum(1 << companions[i] for i in rng.permutation(len(companions))[:BLOCKERS])
    return Needle(concepts, blockers, float(rng.uniform(*NEEDLE_RATES)), bool(rng.integers(2)))


def _scale(
    sets: SetMasks, effects: Floats, covered: npt.NDArray[np.bool_], target: float, base: float
) -> float | None:
    """Return the scale at which the sets not yet covered bring random's PFM to the target.

    None when even boundless effects would not: too few sets have any that raise their rate.
    """
    free = np.flatnonzero(~covered)
    order = free[np.argsort(-effects[free], kind="stable")]
    reached = float(sets.weights[covered].sum()) + np.cumsum(sets.weights[order])
    bound = float(effects[order[int(np.argmin(np.abs(reached - target)))]])
    # Half a unit: effects scaled further would make nearly every rate 0 or 1.
    return (_log_odds(TAU) - base) / bound if bound >= 0.5 else None


def _log_odds(rate: float) -> float:
    return math.log(rate / (1.0 - rate))


def _rng(family: str, level: str, seed: int, attempt: int, part: str) -> np.random.Generator:
    words = key_words(f"planted {family} {level} {part}")
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(*words, attempt)))
