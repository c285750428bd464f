"""`match_with_best_fit`: which rule of the library a concept set calls for (Revelio App. B.2).

The paper states the idea: of the rules whose preconditions hold, the one whose elements the set
covers most specifically. Fit and ties are ours (`Library`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...core import Truth, UnknownNameError
from ..set_rules import Rows

if TYPE_CHECKING:
    from .rules import HazardRule

CHUNK = 20_000
"""Sets matched at once: bounds memory."""


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """A rule that matched too.

    Attributes:
        rule: The rule.
        fit: Share of its elements that the set covers.
        covered: How many those are.
    """

    rule: HazardRule
    fit: float
    covered: int


@dataclass(frozen=True, slots=True)
class Match:
    """The rule that decides a set's question and answer.

    Attributes:
        rule: The rule, over ids of the catalogue.
        fit: Share of its elements that the set covers, in (0, 1].
        covered: One group an element covered: the concepts of the set that cover it.
        deciding: One group a thing that must be seen: the concepts of the set that show it. One
            of each group is enough.
        runners_up: The other rules that match, the next best first.
    """

    rule: HazardRule
    fit: float
    covered: tuple[tuple[str, ...], ...]
    deciding: tuple[tuple[str, ...], ...]
    runners_up: tuple[RunnerUp, ...] = field(default=())

    @property
    def reason(self) -> str:
        """The rule's finding, and why this rule was chosen, in words."""
        shown = ", ".join("/".join(group) for group in self.covered)
        text = f"{self.rule.text}: {self.rule.family}, by {shown}; fit {self.fit:.2f}"
        if self.runners_up:
            text += f", before {self.runners_up[0].rule.id}"
        return text

    def truth(self) -> Truth:
        """Return the right answer; its deciding things are the first of each group."""
        accepted = self.rule.accepted
        deciding = tuple(dict.fromkeys(group[0] for group in self.deciding))
        return Truth(accepted, frozenset({accepted}), self.rule.id, self.reason, deciding)

    def record(self) -> dict[str, Any]:
        """Return the choice as JSON values for the trial's record."""
        return {
            "rule": self.rule.id,
            "family": self.rule.family,
            "accepted": self.rule.accepted,
            "fit": round(self.fit, 4),
            "covered": [list(group) for group in self.covered],
            "deciding": [list(group) for group in self.deciding],
            "runners_up": [
                {"rule": other.rule.id, "fit": round(other.fit, 4), "covered": other.covered}
                for other in self.runners_up
            ],
        }


class Library:
    """The hazard rules, matched with many sets at once.

    A rule matches a set that holds one concept of each required group and none that it forbids.
    Of the rules that match, the one of the highest fit is chosen: covered elements over all
    elements; then the one with more covered elements; then a hazard before a safe one; then the
    lowest id.
    """

    def __init__(self, rules: Iterable[HazardRule], ids: Sequence[str]) -> None:
        """Take rules over catalogue ids.

        Args:
            rules: The rules, expanded.
            ids: All concept ids in catalogue order: the columns of multi-hot rows.
        """
        # In the order in which ties are decided, so that the first of equals is the one.
        self.rules = tuple(sorted(rules, key=lambda rule: (rule.accepted != "hazard", rule.id)))
        self.ids = tuple(ids)
        self._column = {name: i for i, name in enumerate(self.ids)}

    def match_with_best_fit(self, candidate: Iterable[str]) -> Match | None:
        """Return the rule that a set calls for, or None when none matches.

        Raises:
            UnknownNameError: For an id outside the catalogue.
        """
        present = set(candidate)
        for name in sorted(present - set(self.ids)):
            raise UnknownNameError("concept", name, self.ids, "See `vlmfail list --concepts`.")
        row = np.array([[name in present for name in self.ids]])
        fits, covered = (values[0] for values in self._scores(row))
        matching = np.flatnonzero(fits >= 0)
        order = [int(i) for i in sorted(matching, key=lambda i: (-fits[i], -covered[i], i))]
        if not order:
            return None
        best, *others = order
        rule = self.rules[best]
        return Match(
            rule,
            float(fits[best]),
            self._present(rule.elements, present),
            self._present(rule.deciding, present),
            tuple(RunnerUp(self.rules[i], float(fits[i]), int(covered[i])) for i in others),
        )

    def best(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return the index in `rules` of each row's rule, `N`; -1 where none matches.

        Args:
            rows: Multi-hot sets, `N x n` in catalogue order.
        """
        out = np.empty(len(rows), dtype=np.int64)
        for begin in range(0, len(rows), CHUNK):
            part = slice(begin, begin + CHUNK)
            fits, covered = self._scores(rows[part])
            # The count only separates equal fits, which differ by far more than 1e-6 otherwise.
            choice = np.argmax(fits + 1e-6 * covered, axis=1)
            found = fits[np.arange(len(choice)), choice] >= 0
            out[part] = np.where(found, choice, -1)
        return out

    def matches(self, rows: Rows, column: Mapping[str, int] | None = None) -> Rows:
        """Return which of the `N x n` rows match some rule.

        Args:
            rows: Multi-hot sets.
            column: Concept → column, when it is not the catalogue's.
        """
        out = np.zeros(len(rows), dtype=bool)
        for rule in self.rules:
            out |= self._holds(rule, rows, column or self._column)
        return out

    def _holds(self, rule: HazardRule, rows: Rows, column: Mapping[str, int]) -> Rows:
        out = np.ones(len(rows), dtype=bool)
        for group in rule.requires:
            out &= _any(rows, group, column)
        return out & ~_any(rows, rule.forbids, column) if rule.forbids else out

    def _scores(self, rows: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return (fit, covered elements), each `N x rules`; the fit is -1 where none matches."""
        fits = np.full((len(rows), len(self.rules)), -1.0)
        counts = np.zeros((len(rows), len(self.rules)), dtype=np.int64)
        for i, rule in enumerate(self.rules):
            holds = self._holds(rule, rows, self._column)
            if holds.any():
                shown = [_any(rows[holds], group, self._column) for group in rule.elements]
                counts[holds, i] = np.sum(shown, axis=0)
                fits[holds, i] = counts[holds, i] / len(rule.elements)
        return fits, counts

    def _present(
        self, groups: Sequence[Sequence[str]], present: set[str]
    ) -> tuple[tuple[str, ...], ...]:
        found = (tuple(n for n in self.ids if n in group and n in present) for group in groups)
        return tuple(group for group in found if group)


@dataclass(frozen=True, slots=True)
class MatchesARule:
    """Validity rule: some rule of the library matches."""

    id: str
    text: str
    library: Library

    @property
    def prunes(self) -> bool:
        """A concept more may call for a rule."""
        return False

    def broken(self, rows: Rows, column: Mapping[str, int]) -> Rows:
        """Return which rows match none."""
        return ~self.library.matches(rows, column)

    def concepts_named(self) -> frozenset[str]:
        """Return every concept that a rule names."""
        return frozenset[str]().union(*(rule.concepts_named() for rule in self.library.rules))


def direction(truth: Truth, answer: str) -> str | None:
    """Return the direction of an answer's error, None when it is right.

    | answered | right | direction |
    |---|---|---|
    | safe | hazard | ``missed_hazard`` |
    | hazard | safe | ``over_caution`` |
    """
    if answer in truth.accepted or answer not in ("hazard", "safe"):
        return None
    return "missed_hazard" if answer == "safe" else "over_caution"


def _any(rows: Rows, group: Sequence[str], column: Mapping[str, int]) -> Rows:
    return np.asarray(rows[:, [column[name] for name in group]].any(axis=1))
