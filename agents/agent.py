"""The agent contract: ask for candidates, be told evaluations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..core import CandidateSpace, Evaluation

C = TypeVar("C")


class SearchAgent(ABC, Generic[C]):
    """Proposes candidates over a space and learns from their evaluations.

    The loop calls `bind` once, then `ask` and `tell` in turn. An agent is deterministic for its
    seed and what it was told: a run is resumed by asking and telling again from its log. The
    agent draws from `self.rng` alone.

    Attributes:
        name: Registered name.
        fixed_trials: Whether every candidate gets exactly m trials, once. PFM is defined for
            such agents only.
        space: The bound space.
        rng: The agent's own generator.
        trials: Default number of trials a candidate, m.
        budget: Number of trials that the run may charge.
        threshold: Failure rate τ from which a candidate is a failure mode.
    """

    name: ClassVar[str] = "custom"
    fixed_trials: ClassVar[bool] = True

    space: CandidateSpace[C]
    rng: np.random.Generator
    trials: int
    budget: int
    threshold: float = 0.6

    def bind(self, space: CandidateSpace[C], *, seed: int, trials: int, budget: int) -> None:
        """Prepare for one search; override `setup` rather than this.

        Args:
            space: The candidates.
            seed: The agent's seed, derived from the run's: it does not tell the scenes of trials.
            trials: Default trials a candidate.
            budget: Trials that the run may charge.
        """
        self.space = space
        self.trials = trials
        self.budget = budget
        self.rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0xA6E27,)))
        self.setup()

    def setup(self) -> None:
        """Build the agent's state after `bind`."""

    @abstractmethod
    def ask(self, n: int) -> Sequence[C | tuple[C, int]]:
        """Return at most `n` candidates, or (candidate, trials) pairs; [] = nothing left."""

    @abstractmethod
    def tell(self, evaluations: Sequence[Evaluation[C]]) -> None:
        """Learn from evaluations, in ask order.

        Each has `.new` (this step's trials) and `.total` (all of the candidate's so far). A rate
        is None when no trial passed or failed; a candidate that the budget no longer reached, or
        that is invalid, has no new trials.
        """

    def reports(self) -> Sequence[C] | None:
        """Return the failure modes that the agent itself stands by, the surest first.

        The loop stores them when the search ends; figures of *reported* modes are of them. None:
        it reports none of its own, and the run's confirmed failure modes stand in their place.
        """
        return None

    def config(self) -> dict[str, Any]:
        """Return the agent's settings as JSON values, for the run's record."""
        return {}
