"""From a suspect to a confirmed minimal failure mode, by trials alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._confirmation import Plan

Set = frozenset[str]

FAILURES = 3
"""Failures after which a tested set counts as failing, unless it passed `PASSES` times before."""

PASSES = 2
"""Passes after which it does not."""


class Investigation:
    """Verifies a suspect, takes away what it fails without, and confirms what is left (ours).

    Verify: the suspect was selected by its rate, which leans high, so it must fail again, on
    trials of its own. Minimise: one concept after the other is left out for as long as what
    remains fails (delta debugging, Zeller & Hildebrandt 2002, one at a time); in the end every
    removal of the final set was tried itself. Confirm: by a plan, on trials drawn after that.

    It is driven by `next` and `told`. Trials of a removal that were made before count; those that
    verify and confirm are new.

    Attributes:
        suspect: The set that the investigation began with.
        current: The smallest failing set so far.
        result: The confirmed mode, once it is there.
        over: Whether nothing is left to do, with a result or without.
        spent: Trials that passed or failed here.
    """

    def __init__(
        self,
        suspect: Set,
        *,
        plan: Plan,
        valid: Callable[[Set], bool],
        order: Callable[[Sequence[Set]], Sequence[Set]] | None = None,
        known: Callable[[Set], tuple[int, int]] | None = None,
    ) -> None:
        """Begin.

        Args:
            suspect: The set.
            plan: How to confirm.
            valid: Whether a set can be tried.
            order: Returns removals in the order in which to try them; as given by default.
            known: Returns failures and n of a set so far.
        """
        self.suspect = self.current = suspect
        self.result: Set | None = None
        self.over = False
        self.spent = 0
        self._plan = plan
        self._valid = valid
        self._order = order or (lambda sets: sets)
        self._known = known or (lambda _: (0, 0))
        self._stage = "verify"
        self._counts = [0, 0]
        self._tested: dict[Set, tuple[int, int]] = {}
        self._needed: set[str] = set()
        self._asked: Set | None = None
        self._before = (0, 0)

    @property
    def next(self) -> Set:
        """The set that gets the next trial."""
        # Kept until the outcome is told: what is known may change in between.
        if self._asked is None:
            self._go_on()  # others' trials may have decided what was due
            self._asked = self._due()[0] if self._stage == "remove" else self.current
            self._before = self._so_far(self._asked)
        return self._asked

    def told(self, failures: int, passes: int) -> None:
        """Take the outcomes of new trials of `next`; none that passed or failed ends it."""
        asked, self._asked = self.next, None
        if not failures + passes:
            self.over = True
            return
        self.spent += failures + passes
        if self._stage == "remove":
            self._removed(asked, failures, passes)
        else:
            self._counts[0] += failures
            self._counts[1] += passes
            if self._stage == "verify":
                self._verify()
            else:
                self._confirm()

    def _verify(self) -> None:
        if self._counts[1] >= PASSES:
            self.over = True
        elif self._counts[0] >= FAILURES:
            self._stage = "remove"
            self._go_on()

    def _confirm(self) -> None:
        verdict = self._plan.verdict(*self._counts)
        if verdict is not None:
            self.over = True
            self.result = self.current if verdict else None

    def _removed(self, tried: Set, failures: int, passes: int) -> None:
        before = self._before
        self._tested[tried] = (before[0] + failures, before[1] + passes)
        (concept,) = self.current - tried
        k, p = self._tested[tried]
        if p >= PASSES or (concept in self._needed and p > k):
            self._needed.add(concept)
        elif k >= FAILURES:
            self.current = tried
            # Tested as a part of more, a concept may not be needed here: it is tried once again.
        self._go_on()

    def _go_on(self) -> None:
        if self._stage == "remove" and not self._due():
            self._stage, self._counts = "confirm", [0, 0]

    def _due(self) -> list[Set]:
        """Return the removals of the current set that are not decided, the first to try first."""
        open_ = []
        for concept in sorted(self.current):
            less = self.current - {concept}
            if less and self._valid(less) and not self._decided(concept, less):
                open_.append(less)
        return list(self._order(open_))

    def _decided(self, concept: str, less: Set) -> bool:
        failures, passes = self._so_far(less)
        if failures >= FAILURES and failures > passes:
            return False  # it fails: to be taken as the current set
        # A concept that was needed in a larger set passes with one pass more than failures.
        return passes >= PASSES or (concept in self._needed and passes > failures)

    def _so_far(self, candidate: Set) -> tuple[int, int]:
        if candidate in self._tested:
            return self._tested[candidate]
        failures, n = self._known(candidate)
        return failures, n - failures


def related(one: Set, other: Set) -> bool:
    """Whether two sets share half of what they hold together: likely one mode."""
    return 2 * len(one & other) >= len(one | other)


def antichain(modes: Sequence[Set]) -> list[Set]:
    """Return the modes that hold no other, in order."""
    return [one for one in modes if not any(other < one for other in modes)]


def config_of(agent: Any) -> dict[str, Any]:
    """Return an agent's settings, where it tells them."""
    config: Any = getattr(agent, "config", dict)()
    return dict(config) if isinstance(config, dict) else {}
