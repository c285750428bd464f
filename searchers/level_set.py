"""Level-set search: propose what most likely fails at a rate of τ or more (ours)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ..agents.agent import SearchAgent
from ..core import AgentError, Evaluation
from . import _knobs
from ._set_table import require_sets
from ._surrogates.interaction_gp import InteractionGP
from ._surrogates.shortlist import shortlist_of

Set = frozenset[str]
F64 = npt.NDArray[np.float64]

#: Log-odds of failure that the surrogate expects of a set it knows nothing of; its bias moves it.
PRIOR_LOG_ODDS = -1.0

#: By how much the observed sets grow before the surrogate's variances are chosen anew.
GROWTH = 1.2


class Observed:
    """What was told of sets, and the surrogate of it.

    Attributes:
        process: The surrogate.
    """

    def __init__(self, space: Any, most: int, order: int = 3) -> None:
        """Know nothing.

        Args:
            space: The candidates.
            most: Sets that the surrogate is fitted to at most; of more, random ones.
            order: Most concepts that have an effect together in it.
        """
        self.process = InteractionGP(mean=PRIOR_LOG_ODDS, order=order)
        self._space = space
        self._most = most
        self._counts: dict[Set, tuple[int, int]] = {}
        self._hot: dict[Set, npt.NDArray[np.int8]] = {}
        self._choose_at = 0.0
        self._stale = False

    def __len__(self) -> int:
        """Number of sets with data."""
        return len(self._counts)

    def add(self, candidate: Set, failures: int, n: int) -> None:
        """Take the counts of a set over all of its trials; without any it adds nothing."""
        if n and self._counts.get(candidate) != (failures, n):
            if candidate not in self._hot:
                self._hot[candidate] = self._space.encode(candidate)
            self._counts[candidate] = (failures, n)
            self._stale = True

    def counts(self, candidate: Set) -> tuple[int, int]:
        """Return failures and n of a set."""
        return self._counts.get(candidate, (0, 0))

    def fit(self, rng: np.random.Generator) -> None:
        """Bring the surrogate up to date."""
        if not self._stale:
            return
        sets = list(self._counts)
        if len(sets) > self._most:
            # Drawn whatever their outcomes were: choosing failures would raise every rate.
            sets = [sets[i] for i in np.sort(rng.choice(len(sets), self._most, replace=False))]
        self.process.observe(
            np.stack([self._hot[one] for one in sets]),
            [self._counts[one][0] for one in sets],
            [self._counts[one][1] for one in sets],
        )
        # The variances move slowly; choosing them costs some ten fits.
        if len(self) >= self._choose_at:
            self.process.choose()
            self._choose_at = max(len(self) + 8, GROWTH * len(self))
        else:
            self.process.fit()
        self._stale = False

    def chances(self, rows: npt.ArrayLike, rate: float) -> F64:
        """Return the posterior probability of multi-hot sets that their rate is at least `rate`."""
        mean, variance = self.process.predict(rows)
        bound = math.log(rate / (1.0 - rate))
        return np.asarray(ndtr((mean - bound) / np.sqrt(np.maximum(variance, 1e-12))))

    def failing(self, count: int) -> list[Set]:
        """Return the sets with the highest rates so far, as many as `count`."""
        return heapq.nlargest(
            count, self._counts, key=lambda one: self._counts[one][0] / self._counts[one][1]
        )


class LevelSetSearch(SearchAgent[Set]):
    """Proposes the unseen sets that are most likely failure modes, m trials each (ours).

    A Bernoulli surrogate with effects of concepts, pairs and triples is fitted to all outcomes
    (`InteractionGP`); of all unseen valid sets those come next whose failure rate is most likely
    at least τ. Thompson sampling of a mean (Revelio, Algorithm 2) hunts for one maximum; this
    collects everything beyond a level (level-set estimation, Bryan et al. 2005), and the
    likelihood of counts tells 0 of 5 from 2 of 5. Where the sets cannot be enumerated they are
    looked for in a pool of random sets and the neighbours of what fails most.
    """

    name: ClassVar[str] = "level-set"

    #: Sets with the highest rates whose neighbours join the pool.
    centres = 10

    def __init__(
        self,
        *,
        shortlist: int = 1000,
        pool: int = 3000,
        most: int = 1000,
        order: int = 3,
        pooled: bool = False,
    ) -> None:
        """Set the knobs.

        Args:
            shortlist: Sets with the highest mean among which the most likely are found.
            pool: Random sets in the pool, where a pool is needed.
            most: Sets that the surrogate is fitted to at most.
            order: Most concepts that have an effect together in the surrogate: 1 knows no pairs,
                2 no triples, 3 both.
            pooled: Look in the pool even where all sets can be enumerated.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.shortlist = _knobs.whole("shortlist", shortlist, 1)
        self.pool = _knobs.whole("pool", pool, 1)
        self.most = _knobs.whole("most", most, 1)
        self.order = _knobs.whole("order", order, 1, 3)
        self.pooled = _knobs.flag("pooled", pooled)

    def setup(self) -> None:
        """Start with an empty surrogate."""
        space = require_sets(self.space, self.name)
        self._left = shortlist_of(space, self.pool, pooled=self.pooled)
        self._observed = Observed(space, self.most, self.order)
        self._waiting: dict[Set, None] = {}

    def ask(self, n: int) -> Sequence[Set | tuple[Set, int]]:
        """Return the `n` likeliest unseen sets; random ones before anything is known."""
        batch = self._likeliest(n)
        self._waiting.update(dict.fromkeys(batch))
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Add the outcomes to the surrogate.

        Raises:
            AgentError: For a set that was not proposed, or was told already.
        """
        for evaluation in evaluations:
            if evaluation.candidate not in self._waiting:
                raise AgentError(
                    f"tell() got {{{evaluation.key}}}, which ask() did not just propose"
                )
            del self._waiting[evaluation.candidate]
            total = evaluation.total
            self._observed.add(evaluation.candidate, total.failures, total.n)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {
            "shortlist": self.shortlist,
            "pool": self.pool,
            "most": self.most,
            "order": self.order,
            "pooled": self.pooled,
        }

    def _likeliest(self, n: int) -> list[Set]:
        """Take the `n` unseen sets that are most likely failure modes."""
        if n < 1:
            return []
        if not len(self._observed):
            return self._left.draw(self.rng, n)
        self._observed.fit(self.rng)
        process = self._observed.process
        centres = self._observed.failing(self.centres)
        highest = self._left.highest(process, self.shortlist, self.rng, centres)
        chances = self._observed.chances(highest.rows, min(self.threshold, 1.0 - 1e-9))
        batch = [highest.at(int(i)) for i in np.argsort(-chances, kind="stable")[:n]]
        self._left.take(batch)
        return batch


class AdaptiveLevelSetSearch(LevelSetSearch):
    """The same with as many trials as a set needs: one at a time until it is clear (ours).

    A set is left at its first pass when nothing failed before, or at its second; it counts as
    found at its third failure. Most sets fail seldom and cost one trial, so that the same budget
    looks at about twice as many sets as m = 5 does.
    """

    name: ClassVar[str] = "level-set-adaptive"
    fixed_trials: ClassVar[bool] = False

    #: Passes at which a set is left, and failures at which it is found.
    passes = 2
    failures = 3

    def setup(self) -> None:
        """Start with nothing under way."""
        super().setup()
        self._open: dict[Set, None] = {}

    def ask(self, n: int) -> Sequence[tuple[Set, int]]:
        """Return one more trial of sets that are not clear yet, and the likeliest unseen ones."""
        batch = [one for one in self._open if one not in self._waiting][:n]
        batch += self._likeliest(n - len(batch))
        self._waiting.update(dict.fromkeys(batch))
        return [(one, 1) for one in batch]

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Add the outcomes, and leave the sets that are clear."""
        super().tell(evaluations)
        for evaluation in evaluations:
            failures, n = evaluation.total.failures, evaluation.total.n
            passes = n - failures
            clear = failures >= self.failures or passes >= self.passes or (passes and not failures)
            if clear or not evaluation.new.n:
                # Without a trial that passed or failed there is no sense in drawing more.
                self._open.pop(evaluation.candidate, None)
            else:
                self._open[evaluation.candidate] = None
