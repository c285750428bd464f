"""The planted world: a trial is one draw with the true failure rate of its set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn

from ...core import (
    Outcome,
    Picture,
    Policy,
    Stream,
    Trial,
    TrialRecord,
    UsageError,
    trial_rng,
)
from ..concept_sets import ConceptSetSpace
from ..set_rules import Rows
from .landscape import Landscape, checked, landscape
from .table import driving_space

MODEL = "planted"
"""Name of the only thing that a landscape tests: itself."""


class PlantedSpace(ConceptSetSpace):
    """The driving catalogue's concept sets, with the landscape for those searchers that know it.

    Attributes:
        landscape: The true rates. Reference searchers (`oracle`, `greedy-oracle`) read it; a
            searcher that is compared with others must not.
    """

    def __init__(self, family: str, level: str, seed: int) -> None:
        """Keep which landscape it is; it is drawn when it is asked for."""
        base = driving_space()
        super().__init__(base.concepts, base.rules, base.max_size)
        self._drawn_by = family, level, seed

    @property
    def landscape(self) -> Landscape:
        """The true rates."""
        return landscape(*self._drawn_by)

    @cached_property
    def _rows_by_size(self) -> list[Rows] | None:
        # Enumerated once a process, whatever the number of landscapes.
        return driving_space()._rows_by_size


class PlantedModel:
    """What stands in a run where a model under test does: the landscape answers by itself."""

    name = MODEL


class NoWorld:
    """A world with nothing in it: a draw needs none."""

    deterministic = False

    def close(self) -> None:
        """Free nothing."""


class PlantedDomain:
    """Concept sets whose true failure rates are known (ours); implements `core.EpisodeDomain`.

    A trial fails with its set's rate. It has no scene, no picture and no engine; the true rate
    stands in its record, for an audit, and in nothing that an agent is told.

    Args:
        family: ``"additive"``, ``"pairwise"``, ``"needles"`` or ``"mixed"``.
        level: ``"easy"`` (random's true PFM about 26 %) or ``"hard"`` (2 %).
        landscape_seed: Which landscape; below 1000 for development, from 1000 on for tables.
    """

    name = "planted"
    defaults: Mapping[str, Any] = {"trials": 5, "model": MODEL}

    def __init__(self, family: str = "mixed", level: str = "hard", landscape_seed: int = 0) -> None:
        self.family, self.level, self.landscape_seed = checked(family, level, landscape_seed)
        self.space = PlantedSpace(self.family, self.level, self.landscape_seed)

    @property
    def landscape(self) -> Landscape:
        """The true rates."""
        return self.space.landscape

    def identity(self) -> dict[str, Any]:
        """Return which landscape it is, and a digest of its rates, for a run's record."""
        return {
            "family": self.family,
            "level": self.level,
            "landscape_seed": self.landscape_seed,
            "rates": self.landscape.digest,
        }

    def make_model(self, spec: object) -> PlantedModel:
        """Return what is tested.

        Raises:
            UsageError: For anything but ``"planted"``.
        """
        if spec == MODEL or isinstance(spec, PlantedModel):
            return PlantedModel()
        raise UsageError(
            "model: a planted landscape draws its outcomes itself and tests no model: leave it "
            f"out, or give {MODEL!r}, got {spec!r:.60}"
        )

    def check(self) -> None:
        """Nothing forbids a draw."""

    def make_world(self, policy: Policy | None = None) -> NoWorld:
        """Return a world with nothing in it."""
        return NoWorld()

    def run_episode(
        self, world: Any, policy: Any, candidate: frozenset[str], index: int, *, run_seed: int
    ) -> tuple[TrialRecord, None]:
        """Draw one trial's outcome.

        Raises:
            InvalidCandidateError: The set breaks a rule: it has no rate.
        """
        rate = self.landscape.rate(candidate)
        if rate is None:
            self.space.check(candidate)  # says which rule is broken
            raise AssertionError("the landscape and the space disagree on what is valid")
        key = self.space.key(candidate)
        drawn = float(trial_rng(run_seed, key, index, Stream.MODEL).random())
        outcome = Outcome.FAIL if drawn < rate else Outcome.PASS
        return TrialRecord(Trial(key, index, outcome), scene={"rate": rate}), None

    def preview(self, world: Any, candidate: Any) -> tuple[Mapping[str, Any], Picture]:
        """Refuse: there is nothing to look at.

        Raises:
            UsageError: Always.
        """
        self._nothing_to_see(candidate)

    def _nothing_to_see(self, candidate: frozenset[str]) -> NoReturn:
        raise UsageError(
            "a planted landscape has no pictures: a trial of a set is one draw with its failure "
            f"rate, which for {{{self.space.key(candidate)}}} is "
            f"{self.landscape.rate(candidate):.3f}"
        )
