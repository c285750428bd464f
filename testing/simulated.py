"""A model that is only a failure rate: drives an agent in microseconds a trial."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..agents.agent import SearchAgent
from ..core import CandidateSpace, Evaluation, Outcome, Stream, Tally, Trial, trial_rng

RateFunction = Callable[[Any], float]
OutcomeFunction = Callable[[str, int], Outcome]


class AdditiveRates:
    """Failure rates whose log-odds are a base plus one normal effect a feature.

    The simplest landscape on which a searcher can be better than chance; ours.
    """

    def __init__(
        self, space: CandidateSpace[Any], *, seed: int, base: float = -3.0, scale: float = 1.2
    ) -> None:
        """Draw the effects.

        Args:
            space: The candidates.
            seed: Seed of the effects.
            base: Log-odds of a candidate without effects.
            scale: Standard deviation of the effects.
        """
        self._space = space
        self._base = base
        self._effects = np.random.default_rng(seed).normal(0.0, scale, len(space.features))

    def __call__(self, candidate: Any) -> float:
        """Return the true failure rate of a candidate."""
        odds = self._base + float(self._space.featurise(candidate) @ self._effects)
        return 1.0 / (1.0 + math.exp(-odds))


class SimulatedTrials:
    """Evaluates candidates whose true failure rate is known.

    A trial's outcome depends on the seed, the candidate's key and the trial's index alone, as in
    a real run. A candidate that comes again gets the next indices.
    """

    def __init__(
        self,
        space: CandidateSpace[Any],
        rate: RateFunction | None = None,
        *,
        outcome: OutcomeFunction | None = None,
        seed: int = 0,
    ) -> None:
        """Set what the model does.

        Args:
            space: The candidates.
            rate: True failure rate of a candidate, in [0, 1].
            outcome: Instead of `rate`: the outcome of a trial by key and index.
            seed: Seed of the outcomes.
        """
        if (rate is None) == (outcome is None):
            raise ValueError("give either rate or outcome")
        self._space = space
        self._rate = rate
        self._outcome = outcome
        self._seed = seed
        self._totals: dict[str, Tally] = {}

    def __call__(self, candidate: Any, trials: int) -> Evaluation[Any]:
        """Return the evaluation of `trials` more trials of `candidate`."""
        key = self._space.key(candidate)
        before = self._totals.get(key, Tally())
        first = len(before.trials)
        if self._outcome is not None:
            outcomes = [self._outcome(key, first + i) for i in range(trials)]
        else:
            assert self._rate is not None
            rng = trial_rng(self._seed, key, first, Stream.MODEL)
            fails = rng.random(trials) < self._rate(candidate)
            outcomes = [Outcome.FAIL if failed else Outcome.PASS for failed in fails]
        new = Tally(tuple(Trial(key, first + i, o) for i, o in enumerate(outcomes)))
        self._totals[key] = before.extended(new.trials)
        return Evaluation(candidate, key, new, self._totals[key])


class Drive:
    """One search without an env: asks, evaluates, tells, and keeps what came of it.

    Attributes:
        batches: What each `ask` proposed, as (candidate, trials).
        evaluations: What was told, in order.
        exhausted: Whether the agent had nothing left before the budget was spent.
        seconds: Time spent in `bind`, `ask` and `tell`, s.
    """

    def __init__(
        self,
        agent: SearchAgent[Any],
        space: CandidateSpace[Any],
        evaluate: Callable[[Any, int], Evaluation[Any]],
        *,
        seed: int = 0,
        trials: int = 5,
        budget: int = 200,
        batch: int = 8,
    ) -> None:
        """Bind the agent and search until the budget (in trials) is spent.

        Args:
            agent: A fresh agent.
            space: The candidates.
            evaluate: Returns the evaluation of a candidate and a number of trials.
            seed: The agent's seed.
            trials: Default trials a candidate, m.
            budget: Trials to charge.
            batch: The n of `ask(n)`.
        """
        self.batches: list[list[tuple[Any, int]]] = []
        self.evaluations: list[Evaluation[Any]] = []
        self.exhausted = False
        started = time.perf_counter()
        agent.bind(space, seed=seed, trials=trials, budget=budget)
        self.seconds = time.perf_counter() - started
        left = budget
        # As in a run: steps that charge nothing are bounded too.
        for _ in range(1000 + budget):
            if left <= 0:
                break
            started = time.perf_counter()
            asked = with_trials(agent.ask(batch), trials)
            self.seconds += time.perf_counter() - started
            self.batches.append(asked)
            if not asked:
                self.exhausted = True
                break
            told = []
            for candidate, count in asked:
                evaluation = evaluate(candidate, min(count, left))
                left -= evaluation.new.charged
                told.append(evaluation)
            started = time.perf_counter()
            agent.tell(told)
            self.seconds += time.perf_counter() - started
            self.evaluations.extend(told)

    @property
    def keys(self) -> list[str]:
        """Keys of the sets that got trials, in order: the last batch may outrun the budget."""
        return [evaluation.key for evaluation in self.evaluations if evaluation.new.trials]

    def share_of_modes(self, threshold: float = 0.6) -> float:
        """Return the share of evaluated sets with a rate of at least `threshold`."""
        rates = [evaluation.rate for evaluation in self.evaluations]
        with_data = [rate for rate in rates if rate is not None]
        return sum(rate >= threshold for rate in with_data) / max(1, len(with_data))


def with_trials(asked: Iterable[Any], trials: int) -> list[tuple[Any, int]]:
    """Return what an `ask` gave as (candidate, trials) pairs."""
    pairs = []
    for item in asked:
        is_pair = isinstance(item, tuple) and len(item) == 2 and not np.isscalar(item[0])
        pairs.append((item[0], int(item[1])) if is_pair else (item, trials))
    return pairs


def repeats(keys: Sequence[str]) -> list[str]:
    """Return the keys that occur more than once."""
    return [key for key, count in Counter(keys).items() if count > 1]
