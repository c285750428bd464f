"""The reference of the study: a searcher that knows which object it is, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...agents.agent import SearchAgent
from ...core import Evaluation, UsageError


class ObjectOnly(SearchAgent[Any]):
    """Thompson sampling over one choice of a scene vector, the rest at random.

    Ours. Every object has a Beta(1, 1) belief of its failure rate; a scene takes the object whose
    drawn rate is the highest, and everything else of it is random. What another searcher finds
    beyond this one is not explained by which object fails most.
    """

    name: ClassVar[str] = "object-only"

    #: Draws in a row that only repeat, after which an object counts as exhausted.
    patience = 1000

    def __init__(self, *, dimension: str = "object") -> None:
        """Set which dimension is the object."""
        self.dimension = dimension

    def setup(self) -> None:
        """Start with no belief.

        Raises:
            UsageError: When the space has no such choice.
        """
        dimensions = tuple(getattr(self.space, "dimensions", ()))
        kinds = {one.name: one.kind for one in dimensions}
        if kinds.get(self.dimension) != "choice":
            raise UsageError(
                f"{self.name} needs a choice named {self.dimension!r} in the scene vectors, which "
                f"have {', '.join(kinds) or 'no dimensions'}"
            )
        self._place = list(kinds).index(self.dimension)
        self._one = dimensions[self._place]
        count = len(self._one.choices)
        self._failures, self._passes = np.zeros(count), np.zeros(count)
        self._seen: set[str] = set()

    def ask(self, n: int) -> Sequence[Any]:
        """Return at most `n` unseen candidates; fewer when the space runs out."""
        batch: list[Any] = []
        while len(batch) < n:
            drawn = self.rng.beta(1.0 + self._failures, 1.0 + self._passes)
            found = (self._of(int(arm)) for arm in np.argsort(-drawn, kind="stable"))
            candidate = next((one for one in found if one is not None), None)
            if candidate is None:
                break
            batch.append(candidate)
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Count failures and passes of each object."""
        for evaluation in evaluations:
            arm = self._one.bin(float(evaluation.candidate[self._place]))
            self._failures[arm] += evaluation.new.failures
            self._passes[arm] += evaluation.new.n - evaluation.new.failures

    def config(self) -> dict[str, Any]:
        """Return the knob."""
        return {"dimension": self.dimension}

    def _of(self, arm: int) -> Any | None:
        """Draw an unseen scene with an object, None when none turns up."""
        space: Any = self.space
        for _ in range(self.patience):
            numbers = np.array(space.sample(self.rng), dtype=np.float64)
            numbers[self._place] = (arm + 0.5) / len(self._one.choices)
            candidate = space.canonical(numbers)
            key = space.key(candidate)
            if key not in self._seen:
                self._seen.add(key)
                return candidate
        return None
