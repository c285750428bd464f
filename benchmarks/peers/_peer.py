"""What the adapters share: one candidate at a time, none twice, each told once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...agents.agent import SearchAgent
from ...core import AgentError, Evaluation
from ._numbers import Numbers, numbers_of


class Peer(SearchAgent[Any]):
    """A searcher of another library: proposes by `_propose`, learns by `_learn`.

    What a batch proposed and was not told yet is unknown to the library, unless its adapter says
    otherwise. A candidate without a pass or fail teaches nothing.
    """

    def setup(self) -> None:
        """Start with nothing proposed.

        Raises:
            UsageError: For candidates that the library cannot search.
            MissingDependencyError: When the library is not installed.
        """
        self._numbers: Numbers = numbers_of(self.space, self.name, self.rng)
        self._waiting: dict[str, Any] = {}
        self._proposed = 0
        self._start()

    def ask(self, n: int) -> Sequence[Any]:
        """Return at most `n` unseen candidates; fewer when the space runs out."""
        batch: list[Any] = []
        while len(batch) < n:
            candidate = self._propose()
            if candidate is None:
                break
            self._waiting[self.space.key(candidate)] = candidate
            self._proposed += 1
            batch.append(candidate)
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Hand the failure rates to the library.

        Raises:
            AgentError: For a candidate that was not proposed, or was told already.
        """
        for evaluation in evaluations:
            if evaluation.key not in self._waiting:
                raise AgentError(f"tell() got {evaluation.key}, which ask() did not just propose")
            self._learn(self._waiting.pop(evaluation.key), evaluation.rate)

    def _start(self) -> None:
        """Build the library's state."""

    @abstractmethod
    def _propose(self) -> Any | None:
        """Return an unseen candidate; None when nothing is left."""

    def _learn(self, candidate: Any, rate: float | None) -> None:
        """Take note of a failure rate; None when the candidate has no data."""
