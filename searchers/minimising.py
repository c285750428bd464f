"""NAME+min: any searcher for half the budget, then minimise and confirm what it found (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..agents.agent import SearchAgent
from ..core import AgentError, Evaluation, source_digest, wilson_interval
from . import _knobs
from ._confirmation import patient_plan
from ._investigation import Investigation, antichain, config_of, related
from ._set_table import require_sets

Set = frozenset[str]


class MinimisingSearch(SearchAgent[Set]):
    """Lets another agent search with a share of the budget, and spends the rest on what it found.

    The sets that the other agent measured at τ or more are suspects, the surest first. Each is
    verified on new trials, concepts without which it still fails are taken away, and what is left
    is confirmed on fresh trials by a plan fixed beforehand (`Investigation`). Suspects that hold a
    confirmed mode are passed over. When no suspect is left the other agent searches on. So every
    searcher can report minimal modes, and searchers are compared by how many.
    """

    name: ClassVar[str] = "min"
    fixed_trials: ClassVar[bool] = False

    #: Investigations under way at once.
    abreast = 4

    def __init__(self, inner: SearchAgent[Set], *, search_share: float = 0.5) -> None:
        """Wrap an agent.

        Args:
            inner: The agent that searches.
            search_share: Its share of the budget, in (0, 1).

        Raises:
            UsageError: When the share is out of range.
        """
        self.inner = inner
        self.search_share = _knobs.real("search_share", search_share, 0.01, 0.99)
        # The class names the stage, an agent the searcher that it wraps.
        self.name = f"{getattr(inner, 'name', 'custom')}+min"  # type: ignore[misc]

    def setup(self) -> None:
        """Bind the other agent to its share."""
        self._sets = require_sets(self.space, self.name)
        self._plan = patient_plan(self.threshold)
        self.inner.threshold = self.threshold
        self._search_left = max(1, int(self.search_share * self.budget + 1e-9))
        self.inner.bind(
            self.space,
            seed=int(self.rng.integers(2**32)),
            trials=self.trials,
            budget=self._search_left,
        )
        self._counts: dict[Set, tuple[int, int]] = {}
        self._suspects: dict[Set, None] = {}
        self._investigated: set[Set] = set()
        self._under_way: list[Investigation] = []
        self._modes: list[Set] = []
        # Whose trials the last batch holds, in order; None is the other agent.
        self._owners: list[Investigation | None] = []
        self._asked: list[Set] = []

    def ask(self, n: int) -> Sequence[Set | tuple[Set, int]]:
        """Return what the other agent asks for, or one trial of each investigation."""
        batch: list[tuple[Set, int]] = []
        self._owners = []
        if self._search_left <= 0:
            self._begin()
            batch = self._steps(n)
        if not batch:
            room = n
            if self._search_left > 0:  # its share to the set, not to the batch
                room = min(n, max(1, -(-self._search_left // self.trials)))
            batch = [self._as_pair(one) for one in self.inner.ask(room)]
            self._owners = [None] * len(batch)
            if not batch and self._search_left > 0:
                self._search_left = 0
                return self.ask(n)
        self._asked = [candidate for candidate, _ in batch]
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Set]]) -> None:
        """Pass evaluations on to whoever asked for them.

        Raises:
            AgentError: For a set that was not proposed.
        """
        told = [evaluation.candidate for evaluation in evaluations]
        if told != self._asked[: len(told)]:
            raise AgentError("tell() got other sets than ask() just proposed")
        own = []
        for evaluation, owner in zip(evaluations, self._owners, strict=False):
            total = evaluation.total
            self._counts[evaluation.candidate] = (total.failures, total.n)
            if owner is None:
                own.append(evaluation)
                self._search_left -= evaluation.new.charged
                self._suspect(evaluation)
            else:
                owner.told(evaluation.new.failures, evaluation.new.n - evaluation.new.failures)
        if own:
            self.inner.tell(own)
        self._asked = []
        for ended in [one for one in self._under_way if one.over]:
            if ended.result is not None:
                self._modes.append(ended.result)
        self._under_way = [one for one in self._under_way if self._worth(one)]

    def reports(self) -> list[Set]:
        """Return the confirmed modes that hold no other one."""
        return antichain(self._modes)

    def config(self) -> dict[str, Any]:
        """Return the share and the other agent's settings."""
        return {
            "search_share": self.search_share,
            "inner": config_of(self.inner),
            "inner_source": source_digest(self.inner),
        }

    def _as_pair(self, proposal: Any) -> tuple[Set, int]:
        if isinstance(proposal, tuple):
            candidate, trials = proposal
            return candidate, int(trials)
        return proposal, self.trials

    def _suspect(self, evaluation: Evaluation[Set]) -> None:
        rate, candidate = evaluation.rate, evaluation.candidate
        if rate is not None and rate >= self.threshold and candidate not in self._investigated:
            self._suspects[candidate] = None
        else:
            self._suspects.pop(candidate, None)

    def _worth(self, one: Investigation) -> bool:
        return not one.over and not any(mode <= one.current for mode in self._modes)

    def _begin(self) -> None:
        """Fill the places of ended investigations with the surest suspects."""
        while len(self._under_way) < self.abreast:
            left = [one for one in self._suspects if not any(mode <= one for mode in self._modes)]
            self._suspects = dict.fromkeys(left)
            # What is likely the same mode as one under way waits for how that ends.
            free = [
                one
                for one in left
                if not any(related(one, other.suspect) for other in self._under_way)
            ]
            if not free:
                return
            suspect = max(free, key=lambda one: wilson_interval(*self._counts[one])[0])
            del self._suspects[suspect]
            self._investigated.add(suspect)
            self._under_way.append(
                Investigation(
                    suspect,
                    plan=self._plan,
                    valid=lambda one: self._sets.validate(one) is None,
                    known=lambda one: self._counts.get(one, (0, 0)),
                )
            )

    def _steps(self, n: int) -> list[tuple[Set, int]]:
        batch: dict[Set, Investigation] = {}
        for one in self._under_way:
            if len(batch) < n:
                batch.setdefault(one.next, one)
        self._owners = list(batch.values())
        return [(candidate, 1) for candidate in batch]
