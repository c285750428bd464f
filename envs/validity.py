"""Validity rules as data, the form that all domains share."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from .catalogues import BaseCatalogue
from .data_files import Data
from .set_rules import AtMostOne, NeedsAny, Rule

Source = Literal["stated", "ours"]
"""Whether the paper states a rule, or this project decided it where the paper is silent."""


class ValidityRule(Data):
    """One validity rule; concepts may be written as ``role:NAME``.

    Attributes:
        id: E.g. ``"D3"``; a rule with several parts has several entries.
        source: Whether the paper states it.
        text: The rule in words.
        at_most_one: No two of these together.
        needs_any: One of these must be present (``"a+b"``: both of a and b) ...
        when: ... if any of these is (always, when empty).
    """

    id: str
    source: Source
    text: str
    at_most_one: tuple[str, ...] = ()
    needs_any: tuple[str, ...] = ()
    when: tuple[str, ...] = ()

    def forms(self) -> int:
        """Number of forms that the entry has; it must be one."""
        return bool(self.at_most_one) + bool(self.needs_any)

    def conditional(self) -> bool:
        """Whether the entry's form reads `when`; of another form it would be passed over."""
        return bool(self.needs_any)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.forms() != 1:
            raise ValueError("a rule has exactly one form, e.g. at_most_one or needs_any")
        if self.when and not self.conditional():
            raise ValueError("a rule of this form holds always: it takes no `when`")
        return self

    def build(self, catalogue: BaseCatalogue[Any]) -> Rule:
        """Return the rule over the ids of `catalogue`."""
        if self.at_most_one:
            return AtMostOne(self.id, self.text, catalogue.expand(self.at_most_one))
        needed = tuple(tuple(name.split("+")) for name in catalogue.expand(self.needs_any))
        return NeedsAny(self.id, self.text, needed, catalogue.expand(self.when))
