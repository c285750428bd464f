"""Validity rules of concept sets, as data, evaluated on many multi-hot rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.bool_]


class Rule(Protocol):
    """A validity rule.

    Attributes:
        id: Stable id, e.g. ``"D3"``; it lands in records and messages.
        text: The rule in words.
        prunes: Whether a set that breaks the rule stays broken whatever is added to it, so that
            an enumeration may drop it at once.
    """

    @property
    def id(self) -> str:
        """Stable id."""
        ...

    @property
    def text(self) -> str:
        """The rule in words."""
        ...

    @property
    def prunes(self) -> bool:
        """Whether nothing that is added mends a set that breaks the rule."""
        ...

    def broken(self, rows: Rows, column: Mapping[str, int]) -> Rows:
        """Return which of the `N x n` multi-hot rows break the rule."""
        ...

    def concepts_named(self) -> frozenset[str]:
        """Return the concepts that the rule names, for checking it against a catalogue."""
        ...


def _any_of(rows: Rows, column: Mapping[str, int], concepts: tuple[str, ...]) -> Rows:
    return np.asarray(rows[:, [column[concept] for concept in concepts]].any(axis=1))


@dataclass(frozen=True, slots=True)
class AtMostOne:
    """At most one of `concepts`."""

    id: str
    text: str
    concepts: tuple[str, ...]

    @property
    def prunes(self) -> bool:
        """Adding concepts never mends it."""
        return True

    def broken(self, rows: Rows, column: Mapping[str, int]) -> Rows:
        """Return which rows hold two or more of the concepts."""
        return np.asarray(rows[:, [column[c] for c in self.concepts]].sum(axis=1) > 1)

    def concepts_named(self) -> frozenset[str]:
        """Return the group."""
        return frozenset(self.concepts)


@dataclass(frozen=True, slots=True)
class NeedsAny:
    """If any of `when` is present (always, when empty), one conjunction of `any_of` must hold.

    Attributes:
        any_of: Alternatives, each a tuple of concepts that must all be present.
        when: Concepts that trigger the rule.
    """

    id: str
    text: str
    any_of: tuple[tuple[str, ...], ...]
    when: tuple[str, ...] = ()

    @property
    def prunes(self) -> bool:
        """Adding a needed concept mends it."""
        return False

    def broken(self, rows: Rows, column: Mapping[str, int]) -> Rows:
        """Return which triggered rows satisfy no alternative."""
        triggered = (
            _any_of(rows, column, self.when) if self.when else np.ones(len(rows), dtype=bool)
        )
        satisfied = np.zeros(len(rows), dtype=bool)
        for conjunction in self.any_of:
            satisfied |= rows[:, [column[c] for c in conjunction]].all(axis=1)
        return triggered & ~satisfied

    def concepts_named(self) -> frozenset[str]:
        """Return triggers and alternatives."""
        return frozenset(self.when).union(*self.any_of)


@dataclass(frozen=True, slots=True)
class Forbids:
    """If any of `when` is present, none of `concepts` may be."""

    id: str
    text: str
    when: tuple[str, ...]
    concepts: tuple[str, ...]

    @property
    def prunes(self) -> bool:
        """Adding concepts never mends it."""
        return True

    def broken(self, rows: Rows, column: Mapping[str, int]) -> Rows:
        """Return which rows hold one from each side."""
        return _any_of(rows, column, self.when) & _any_of(rows, column, self.concepts)

    def concepts_named(self) -> frozenset[str]:
        """Return both sides."""
        return frozenset(self.when) | frozenset(self.concepts)
