"""Adaptive random testing over scene vectors: of a few random scenes, the farthest one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..agents.agent import SearchAgent
from ..core import AgentError, Evaluation
from . import _knobs
from ._kinds import require_vectors

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


class Rows:
    """Feature vectors that grow in number."""

    def __init__(self, width: int, dtype: type[np.floating] = np.float32) -> None:
        """Start empty."""
        self._rows: npt.NDArray[Any] = np.empty((64, width), dtype)
        self._count = 0

    def __len__(self) -> int:
        """Number of vectors."""
        return self._count

    @property
    def array(self) -> npt.NDArray[Any]:
        """The vectors, `n x f`."""
        return self._rows[: self._count]

    def add(self, row: F32) -> None:
        """Add a vector."""
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._count] = row
        self._count += 1


class CandidateSetSearch(SearchAgent[Any]):
    """Draws k candidates an iteration and proposes one of them: what these searchers share.

    Within one `ask`, later picks treat earlier ones as executed, their outcomes unknown. A scene
    counts as a failure when its failure rate reaches τ (ours; with one trial a scene: when it
    failed); one without a pass or fail stays executed and teaches nothing.
    """

    #: Draws in a row that only repeat, after which no more are tried.
    patience = 10_000

    def __init__(self, *, candidates: int = 10) -> None:
        """Set the knobs.

        Args:
            candidates: Random candidates an iteration, k (FSCS's classic value).

        Raises:
            UsageError: When a knob is out of range.
        """
        self.candidates = _knobs.whole("candidates", candidates, 1)

    def setup(self) -> None:
        """Start with nothing executed.

        Raises:
            UsageError: When the space holds no vectors.
        """
        self._vectors = require_vectors(self.space, self.name, "sample", "key", "featurise")
        width = len(self._vectors.features)
        self._seen: set[str] = set()
        self._executed = Rows(width, np.float64)
        self._waiting: dict[str, tuple[Any, F32]] = {}
        self._told = Rows(width)
        self._failed: list[bool] = []

    def ask(self, n: int) -> Sequence[Any]:
        """Return at most `n` unseen candidates; fewer when the space runs out."""
        batch: list[Any] = []
        while len(batch) < n:
            pool = self._pool()
            if not pool:
                break
            features = self._features(pool)
            picked = self._pick(features, self._distances(features))
            key = self._vectors.key(pool[picked])
            self._seen.add(key)
            self._executed.add(features[picked])
            self._waiting[key] = pool[picked], features[picked]
            batch.append(pool[picked])
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Keep the outcomes.

        Raises:
            AgentError: For a candidate that was not proposed, or was told already.
        """
        for evaluation in evaluations:
            if evaluation.key not in self._waiting:
                raise AgentError(f"tell() got {evaluation.key}, which ask() did not just propose")
            candidate, features = self._waiting.pop(evaluation.key)
            if evaluation.rate is not None:
                self._told.add(features)
                self._failed.append(evaluation.rate >= self.threshold)
                self._learn(candidate, self._failed[-1])

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {"candidates": self.candidates}

    @abstractmethod
    def _pick(self, features: F32, distances: F64) -> int:
        """Return which candidate to execute.

        Args:
            features: Of the candidates, `k x f`.
            distances: To the nearest executed scene, `k`; all 0 before the first.
        """

    def _learn(self, candidate: Any, failed: bool) -> None:
        """Take note of an outcome."""

    def _pool(self) -> list[Any]:
        """Return the iteration's candidates: distinct, none proposed before."""
        return self._unseen(self.candidates, set())

    def _draw(self, place: int, misses: int) -> Any:
        """Draw a candidate for a place of the pool, after `misses` repeats in a row."""
        return self._vectors.sample(self.rng)

    def _unseen(self, count: int, taken: set[str]) -> list[Any]:
        """Draw up to `count` unseen candidates with keys outside `taken`, which they join."""
        size = getattr(self._vectors, "size", None)
        if size is not None:
            count = min(count, size - len(self._seen) - len(taken))
        pool: list[Any] = []
        misses = 0
        while len(pool) < count and misses < self.patience:
            candidate = self._draw(len(pool), misses)
            key = self._vectors.key(candidate)
            if key in self._seen or key in taken:
                misses += 1
                continue
            misses = 0
            taken.add(key)
            pool.append(candidate)
        return pool

    def _features(self, pool: Sequence[Any]) -> F32:
        return np.stack([self._vectors.featurise(candidate) for candidate in pool])

    def _distances(self, features: F32) -> F64:
        """Return Euclidean distances to the nearest executed scene."""
        from scipy.spatial.distance import cdist

        if not len(self._executed):
            return np.zeros(len(features))
        nearest: F64 = cdist(features, self._executed.array).min(axis=1)
        return nearest


class AdaptiveRandom(CandidateSetSearch):
    """Of k random scenes, the one farthest from its nearest executed scene (FSCS-ART).

    Chen et al.'s adaptive random testing with a fixed-size candidate set, the diversity baseline
    of FATE-VLA (B2). Distances are Euclidean, over the space's features.
    """

    name: ClassVar[str] = "fscs-art"

    def _pick(self, features: F32, distances: F64) -> int:
        return int(np.argmax(distances))
