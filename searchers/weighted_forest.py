"""A forest's probability of failure and diversity in one score (FATE-VLA, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..core import Evaluation
from . import _knobs
from ._kinds import require_vectors
from .adaptive_random import F64
from .sorted_surrogate import ForestSearch


class WeightedForest(ForestSearch):
    """The best of k scenes, half of them near known failures, by forest and diversity.

    FATE-VLA, Algorithm 2: score = α p + (1 - α) d, with p a random forest's probability of failure,
    d the distance to the nearest executed scene, scaled to [0, 1] over the candidates (0 when all
    are equal), and α = min(0.85, i/N) at scene i of N, those that could not be set up left out
    since they take nothing of the budget. Until both outcomes are known: FSCS-ART. Half of the
    candidates are perturbed from random known failures, half are random (ours).
    """

    name: ClassVar[str] = "weighted-rf"

    #: Repeats in a row after which a place near a failure is filled at random.
    near_patience = 100

    def __init__(
        self,
        *,
        candidates: int = 10,
        trees: int = 150,
        max_depth: int = 12,
        near_share: float = 0.5,
        scale: float = 0.1,
        max_weight: float = 0.85,
    ) -> None:
        """Set the knobs.

        Args:
            candidates: Candidates an iteration, k.
            trees: Trees in the forest.
            max_depth: Depth of a tree.
            near_share: Share of the candidates drawn near known failures, in [0, 1].
            scale: Size of the perturbations, see `VectorSpace.perturb`, in [0, 1].
            max_weight: Largest weight α of the probability, in [0, 1].

        Raises:
            UsageError: When a knob is out of range.
        """
        super().__init__(candidates=candidates, trees=trees, max_depth=max_depth)
        self.near_share = _knobs.real("near_share", near_share, 0.0, 1.0)
        self.scale = _knobs.real("scale", scale, 0.0, 1.0)
        self.max_weight = _knobs.real("max_weight", max_weight, 0.0, 1.0)

    def setup(self) -> None:
        """Start with no failure known."""
        require_vectors(self.space, self.name, "perturb")
        super().setup()
        self._failures: list[Any] = []
        self._scenes = max(1, self.budget // self.trials)
        self._charged = 0

    def tell(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Keep the outcomes; see `CandidateSetSearch.tell`."""
        super().tell(evaluations)
        self._charged += sum(evaluation.total.charged > 0 for evaluation in evaluations)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {
            **super().config(),
            "near_share": self.near_share,
            "scale": self.scale,
            "max_weight": self.max_weight,
        }

    def _learn(self, candidate: Any, failed: bool) -> None:
        if failed:
            self._failures.append(candidate)

    def _draw(self, place: int, misses: int) -> Any:
        near = place < int(self.near_share * self.candidates) and misses < self.near_patience
        if not (near and self._guided):
            return super()._draw(place, misses)
        member = self._failures[int(self.rng.integers(len(self._failures)))]
        return self._vectors.perturb(member, self.rng, self.scale)

    def _guided_pick(self, failing: F64, distances: F64) -> int:
        played = self._charged + len(self._waiting)
        weight = min(self.max_weight, played / self._scenes)
        spread = float(np.ptp(distances))
        diversity = (distances - distances.min()) / spread if spread > 0 else 0.0 * distances
        return int(np.argmax(weight * failing + (1.0 - weight) * diversity))
