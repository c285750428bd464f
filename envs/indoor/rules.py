"""The indoor rules as data: which sets are valid (K1-K12), and the library of hazard rules (I...).

The paper gives examples of its preconditions and says that a set is matched with a library of
safety rules, but prints neither list: both tables are ours, every entry has an id, and entries
that the paper states say so. A folder with a file of the same name replaces them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from ...core import UnknownNameError, UsageError
from ..catalogues import BaseCatalogue
from ..concept_sets import ConceptSetSpace
from ..data_files import Data
from ..set_rules import Forbids, Rule
from ..validity import ValidityRule
from .catalogue import Catalogue, load
from .matching import Library, MatchesARule

Answer = Literal["hazard", "safe"]
Groups = tuple[tuple[str, ...], ...]

MAX_SET_SIZE = 5
"""Largest concept set D (Revelio §4); the kitchen does not count."""


class IndoorValidityRule(ValidityRule):
    """One validity rule.

    Attributes:
        forbids: None of these may be present if any of `when` is.
        matches_rule: Some rule of the library must match.
    """

    forbids: tuple[str, ...] = ()
    matches_rule: bool = False

    def forms(self) -> int:
        """Number of forms that the entry has; it must be one."""
        return super().forms() + bool(self.forbids) + self.matches_rule

    def conditional(self) -> bool:
        """Whether the entry's form reads `when`."""
        return super().conditional() or bool(self.forbids)

    @model_validator(mode="after")
    def _forbids_beside_something(self) -> Self:
        if self.forbids and not self.when:
            raise ValueError("forbids: name in `when` what it must not stand beside")
        return self

    def build(self, catalogue: BaseCatalogue[Any]) -> Rule:
        """Return the rule over the ids of `catalogue`; ``matches_rule`` is `Rules.space`'s."""
        if self.forbids:
            when, never = catalogue.expand(self.when), catalogue.expand(self.forbids)
            return Forbids(self.id, self.text, when, never)
        return super().build(catalogue)


class HazardRule(Data):
    """One rule of the library. A group is a tuple of concepts of which any one will do.

    Concepts may be written as ``role:NAME``.

    Attributes:
        id: ``I``, the family's number, the rule's number in it.
        family: Hazard family; it names the question.
        accepted: The right answer.
        requires: Groups that must all be present: the rule's preconditions.
        forbids: Concepts of which none may be present.
        elements: Groups that the rule shows; as `requires` when absent.
        deciding: Groups that must be seen for the question to be fair, one concept of each; as
            `elements` when absent.
        parts: Parts of the deciding things that must be seen as well (``"handle"``).
        text: The finding in words.
    """

    id: str
    family: str
    accepted: Answer
    requires: Groups
    forbids: tuple[str, ...] = ()
    elements: Groups = ()
    deciding: Groups = ()
    parts: tuple[str, ...] = ()
    text: str

    @model_validator(mode="after")
    def _shows_something(self) -> Self:
        if not self.requires or not all((*self.requires, *self.elements, *self.deciding)):
            raise ValueError("a rule requires at least one group, and no group is empty")
        return self

    def expanded(self, catalogue: BaseCatalogue[Any]) -> HazardRule:
        """Return the rule over the ids of `catalogue`, with nothing left to default.

        Raises:
            UnknownNameError: For an id outside the catalogue.
        """

        def ids(groups: Groups) -> Groups:
            return tuple(catalogue.expand(group) for group in groups)

        elements = ids(self.elements or self.requires)
        rule = self.model_copy(
            update={
                "requires": ids(self.requires),
                "forbids": catalogue.expand(self.forbids),
                "elements": elements,
                "deciding": ids(self.deciding) or elements,
            }
        )
        for name in sorted(rule.concepts_named() - set(catalogue.ids)):
            raise UnknownNameError(f"concept in rule {self.id}", name, catalogue.ids)
        return rule

    def concepts_named(self) -> frozenset[str]:
        """Return every concept that the rule names."""
        groups = (*self.requires, *self.elements, *self.deciding)
        return frozenset(self.forbids).union(*groups)

    def excludes(self, other: HazardRule) -> bool:
        """Whether this rule forbids something that `other` cannot match without."""
        return any(set(group) <= set(self.forbids) for group in other.requires)


class Rules(Data):
    """All rules.

    Attributes:
        version: Changes with every change of the rules.
        families: Hazard families in the order of their rules.
        validity: Preconditions and exclusive concepts.
        library: The hazard rules.
    """

    version: str
    families: tuple[str, ...]
    validity: tuple[IndoorValidityRule, ...]
    library: tuple[HazardRule, ...]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        ids = [rule.id for rule in self.library]
        if len(set(ids)) != len(ids):
            raise ValueError("library: rule ids must differ")
        for family in self.families:
            answers = {rule.accepted for rule in self.library if rule.family == family}
            if answers != {"hazard", "safe"}:
                raise ValueError(f"library: {family} needs a hazard rule and a safe one")
        for rule in self.library:
            if rule.family not in self.families:
                raise ValueError(f"library: {rule.id} is of no family of `families`")
        return self

    def matcher(self, catalogue: Catalogue) -> Library:
        """Return the library over the ids of `catalogue`.

        Raises:
            UsageError: When a safe rule could match beside a hazard of its own family.
        """
        library = [rule.expanded(catalogue) for rule in self.library]
        for safe in library:
            for hazard in library:
                beside = hazard.family == safe.family and hazard.accepted == "hazard"
                if safe.accepted == "safe" and beside and not safe.excludes(hazard):
                    raise UsageError(
                        f"rules.json: the safe rule {safe.id} may match although the hazard "
                        f"{hazard.id} is there: let it forbid what {hazard.id} requires"
                    )
        return Library(library, catalogue.ids)

    def space(self, catalogue: Catalogue, max_size: int = MAX_SET_SIZE) -> ConceptSetSpace:
        """Return the space of concept sets that these rules leave."""
        library = self.matcher(catalogue)
        rules = [
            MatchesARule(rule.id, rule.text, library)
            if rule.matches_rule
            else rule.build(catalogue)
            for rule in self.validity
        ]
        return ConceptSetSpace(catalogue.ids, rules, max_size, catalogue.implied)


def rules(folder: Path | None = None) -> Rules:
    """Return the rules of `folder`, or the packaged ones."""
    return load(Rules, "rules.json", folder)
