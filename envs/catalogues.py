"""What the concept catalogues of all domains share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

from pydantic import StringConstraints, model_validator

from ..core import UnknownNameError
from ..core.text import tamed
from .concept_sets import misread_id
from .data_files import Data

ConceptId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
"""Ids are joined by ``+``, written in commands and files, and ``role:NAME`` stands for several."""


class BaseConcept(Data):
    """One concept.

    Attributes:
        id: Bare id, as in the paper's table.
        category: Category, as in the paper's table.
        role: What the concept does to a scene.
        description: What it shows, in the paper's words.
    """

    id: ConceptId
    category: str
    role: str
    description: str


K = TypeVar("K", bound=BaseConcept)


class BaseCatalogue(Data, Generic[K]):
    """All concepts of a domain in canonical order, which is the paper's table's."""

    version: str
    if TYPE_CHECKING:  # the field is the subclass's, which knows its place among the others
        concepts: tuple[K, ...]

    @model_validator(mode="after")
    def _distinct(self) -> BaseCatalogue[K]:
        if len({concept.id for concept in self.concepts}) != len(self.concepts):
            raise ValueError("concept ids must differ")
        finding = misread_id(self.ids)
        if finding:
            raise ValueError(finding)
        return self

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Concept ids in canonical order."""
        return tuple(concept.id for concept in self.concepts)

    @property
    def implied(self) -> tuple[str, ...]:
        """Ids that every scene shows and no set holds."""
        return ()

    def by_role(self, *roles: str) -> tuple[K, ...]:
        """Return the concepts of the given roles, in canonical order."""
        return tuple(concept for concept in self.concepts if concept.role in roles)

    def select(self, candidate: Iterable[str]) -> tuple[K, ...]:
        """Return the concepts of a candidate in canonical order.

        Raises:
            UnknownNameError: For an id outside the catalogue.
        """
        wanted = set(candidate)
        for name in sorted(wanted - set(self.ids)):
            raise UnknownNameError("concept", name, self.ids, "See `vlmfail list --concepts`.")
        return tuple(concept for concept in self.concepts if concept.id in wanted)

    def expand(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return concept ids, with each ``role:NAME`` replaced by the ids of that role.

        Raises:
            UnknownNameError: No concept has the role. A rule that names it would say nothing, or
                hold always, and right answers would change without a word.
        """
        roles = sorted({concept.role for concept in self.concepts})
        out: list[str] = []
        for name in names:
            role = name.removeprefix("role:")
            if role == name:
                out.append(name)
            elif role not in roles:
                raise UnknownNameError("role", tamed(role, 60), roles)
            else:
                out.extend(concept.id for concept in self.concepts if concept.role == role)
        return tuple(dict.fromkeys(out))
