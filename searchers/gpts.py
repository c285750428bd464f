"""Beam search, then Gaussian-process Thompson sampling (Revelio, Algorithm 2)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, ClassVar

from ..agents.agent import SearchAgent
from ..core import AgentError, Evaluation
from . import _knobs
from ._set_table import SetTable, require_sets
from ._surrogates.linear_gp import LinearGP
from ._surrogates.rbf_gp import RBFGP
from ._surrogates.thompson import EnumeratedSets, SampledSets, Unseen
from .beam import BeamLevels

Set = frozenset[str]

DOT_PRODUCT = "dot-product"
KERNELS = (DOT_PRODUCT, "rbf")


class GPTS(SearchAgent[Set]):
    """Beam search for a share of the budget, then Thompson sampling with a Gaussian process.

    Revelio, Algorithm 2. The process is refitted after each told batch on all rates told so far;
    a set without data adds no point. A draw is one *latent* function (no White noise); the batch
    holds the arg max of one draw each. With the dot-product kernel the arg max is exact, over all
    unseen valid sets, wherever the space can be enumerated; else, and with the RBF kernel, it is
    over a pool of random sets and the neighbours of the best sets so far (the pool: ours). The
    process also takes over when the beam has no level left.
    """

    name: ClassVar[str] = "gpts"

    #: Sets with the highest rates whose neighbours join the pool.
    centres = 10

    def __init__(
        self,
        *,
        warm_share: float = 0.5,
        kernel: str = DOT_PRODUCT,
        width: int = 5,
        diversity: float = 0.3,
        pool: int = 1000,
    ) -> None:
        """Set the knobs.

        Args:
            warm_share: Share of the budget's sets that beam search proposes, in [0, 1]
                (Revelio, Appendix D.2).
            kernel: "dot-product" or "rbf", each with White noise (Revelio, Appendix D.5).
            width: Beam width k.
            diversity: Beam's weight λ of the similarity to the sets kept before.
            pool: Random sets in the pool, where a pool is needed.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.warm_share = _knobs.real("warm_share", warm_share, 0.0, 1.0)
        self.kernel = _knobs.choice("kernel", kernel, KERNELS)
        self.width = _knobs.whole("width", width, 1)
        self.diversity = _knobs.real("diversity", diversity, 0.0)
        self.pool = _knobs.whole("pool", pool, 1)

    def setup(self) -> None:
        """Start the beam; the surrogate is empty."""
        self._sets = require_sets(self.space, self.name)
        self._beam = BeamLevels(
            self._sets,
            self.rng,
            width=self.width,
            diversity=self.diversity,
            max_size=self._sets.max_size,
        )
        # The small addend keeps 0.3 * 1000 / 5 from rounding down to 59.
        self._warm_left = int(self.warm_share * self.budget / self.trials + 1e-9)
        features = len(self._sets.concepts)
        self._process = LinearGP(features) if self.kernel == DOT_PRODUCT else RBFGP(features)
        self._unfitted = False
        self._unseen: Unseen | None = None
        self._rates: dict[Set, float | None] = {}
        # Proposed and not yet told; the value says whether the beam waits for it too.
        self._waiting: dict[Set, bool] = {}

    def ask(self, n: int) -> Sequence[Set]:
        """Return at most `n` sets: of the beam's level, or one arg max a draw."""
        if self._warm_left > 0:
            batch = self._beam.propose(min(n, self._warm_left))
            self._waiting.update(dict.fromkeys(batch, True))
            self._warm_left = self._warm_left - len(batch) if batch else 0
            if batch:
                return batch
        batch = self._thompson(n)
        self._waiting.update(dict.fromkeys(batch, False))
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Add the rates to the surrogate and, during its share, to the beam.

        Raises:
            AgentError: For a set that was not proposed, or was told already.
        """
        for evaluation in evaluations:
            candidate, rate = evaluation.candidate, evaluation.rate
            if candidate not in self._waiting:
                raise AgentError(
                    f"tell() got {{{evaluation.key}}}, which ask() did not just propose"
                )
            if self._waiting.pop(candidate):
                self._beam.told(candidate, rate)
            self._rates[candidate] = rate
            if rate is not None:
                self._process.add(self._sets.encode(candidate)[None], [rate])
                self._unfitted = True

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {
            "warm_share": self.warm_share,
            "kernel": self.kernel,
            "width": self.width,
            "diversity": self.diversity,
            "pool": self.pool,
        }

    def _thompson(self, n: int) -> list[Set]:
        if self._unfitted:
            self._process.fit()
            self._unfitted = False
        if self._unseen is None:
            table = SetTable.of(self._sets)
            seen = [*self._rates, *self._waiting]
            self._unseen = (
                SampledSets(self._sets, seen, self.pool)
                if table is None
                else EnumeratedSets(table, seen, self.pool)
            )
        rates = {candidate: rate for candidate, rate in self._rates.items() if rate is not None}
        best = heapq.nlargest(self.centres, rates, key=rates.__getitem__)
        if isinstance(self._process, LinearGP):
            return self._unseen.linear_maxima(self._process, self.rng, n, best)
        return self._unseen.pool_maxima(self._process, self.rng, n, best)
