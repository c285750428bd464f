"""A landscape: the true failure rate of every valid set, and what follows from it exactly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...core import UnknownNameError, UsageError
from ...core.seeding import MAX_SEED
from ..concept_sets import ConceptSetSpace
from .families import FAMILIES, LEVELS, TAU, Needle, draw_rates
from .table import Floats, Rows, SetMasks, driving_sets

HELD_OUT = 1000
"""Landscape seeds from here on are for tables; those below are for development."""


class Landscape:
    """True failure rates over the driving catalogue's 110 650 valid sets.

    Attributes:
        family: One of `FAMILIES`.
        level: One of `LEVELS`.
        seed: The landscape's seed.
        sets: The valid sets, in the order of `ConceptSetSpace.valid_sets`.
        rates: Their true failure rates, `N`, read-only.
        needles: The conjunctions planted, none in the additive and pairwise families.
    """

    def __init__(self, family: str, level: str, seed: int) -> None:
        """Draw the rates; `landscape` remembers them."""
        self.family = family
        self.level = level
        self.seed = seed
        self.sets: SetMasks = driving_sets()
        self.rates: Floats
        self.needles: tuple[Needle, ...]
        self.rates, self.needles = draw_rates(self.sets, family, level, seed)
        self.rates.setflags(write=False)

    @property
    def space(self) -> ConceptSetSpace:
        """The candidates."""
        return self.sets.space

    @property
    def digest(self) -> str:
        """SHA-256 of the rates to nine decimals: another version's landscape has another."""
        rounded = np.round(self.rates * 1e9).astype("<i8")
        return hashlib.sha256(rounded.tobytes()).hexdigest()

    def rate(self, candidate: frozenset[str]) -> float | None:
        """Return the true failure rate of a set of ids, None when it is not valid."""
        row = self.sets.row(candidate)
        return None if row < 0 else float(self.rates[row])

    def candidate(self, row: int) -> frozenset[str]:
        """Return the set at `row`."""
        return self.sets.candidate(row)

    def modes(self, tau: float = TAU) -> Rows:
        """Return the rows of the true failure modes, by decreasing rate, ties by row."""
        rows = np.flatnonzero(self.rates >= tau)
        return rows[np.argsort(-self.rates[rows], kind="stable")]

    def minimal_modes(self, tau: float = TAU) -> Rows:
        """Return the rows of the 1-minimal true modes, by decreasing rate, ties by row.

        1-minimal: removing any one concept leaves an invalid set or one with a rate below `tau`.
        """
        rows = self.modes(tau)
        minimal = np.ones(len(rows), dtype=bool)
        masks, failing = self.sets.masks[rows], self.rates >= tau
        for member in self.sets.members[:, rows]:
            there = member < len(self.space.concepts)
            less = masks[there] & ~(np.uint32(1) << member[there].astype(np.uint32))
            found = self.sets.find(less)
            minimal[there] &= ~((found >= 0) & failing[found])
        return rows[minimal]

    def is_minimal(self, candidate: frozenset[str], accept: float = TAU) -> bool:
        """Whether no removal of one concept leaves a valid set with a rate of `accept` or more."""
        rates = (self.rate(candidate - {concept}) for concept in candidate)
        return all(rate is None or rate < accept for rate in rates)

    def greedy_modes(self, tau: float = TAU) -> Iterator[int]:
        """Yield the rows of minimal modes by decreasing rate; none holds or is part of another.

        A mode is left out when an earlier one is its subset or superset: a report must not have
        both.
        """
        kept: list[int] = []
        for row in self.minimal_modes(tau):
            mask = int(self.sets.masks[row])
            if not any(mask & other in (mask, other) for other in kept):
                kept.append(mask)
                yield int(row)

    def mode_share(self, tau: float = TAU) -> float:
        """Return the share of the valid sets that are true failure modes."""
        return float(np.mean(self.rates >= tau))

    def random_pfm(self, tau: float = TAU) -> float:
        """Return random search's expected true PFM: sizes uniform, then uniform within a size."""
        failing: npt.NDArray[np.bool_] = self.rates >= tau
        return float(self.sets.weights[failing].sum())


def landscape(family: str = "mixed", level: str = "hard", seed: int = 0) -> Landscape:
    """Return a landscape, drawn once a process.

    Args:
        family: ``"additive"``, ``"pairwise"``, ``"needles"`` or ``"mixed"``.
        level: ``"easy"`` (random's true PFM about 26 %) or ``"hard"`` (2 %).
        seed: 0 to 2^32 - 1; below 1000 for development, from 1000 on for tables.

    Raises:
        UnknownNameError: For another family or level.
        UsageError: For a seed out of range.
    """
    return _drawn(*checked(family, level, seed))


def checked(family: object, level: object, seed: object) -> tuple[str, str, int]:
    """Return the three as `landscape` takes them, or raise what is wrong with one."""
    for name, value, known in (("family", family, FAMILIES), ("level", level, LEVELS)):
        if value not in known:
            raise UnknownNameError(name, str(value), known)
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) <= MAX_SEED:  # type: ignore[call-overload]  # it is whole
        raise UsageError(
            f"landscape_seed: expected a whole number from 0 to {MAX_SEED}, got {seed!r:.60}"
        )
    return str(family), str(level), int(seed)  # type: ignore[call-overload]


@lru_cache(maxsize=8)
def _drawn(family: str, level: str, seed: int) -> Landscape:
    return Landscape(family, level, seed)
