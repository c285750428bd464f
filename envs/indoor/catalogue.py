"""The indoor concepts (Revelio Table 5), as data.

Ids, categories and descriptions are the paper's; roles are ours. A folder with a file of the same
name replaces the data (`IndoorDomain(data=folder)`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import model_validator

from ..catalogues import BaseCatalogue, BaseConcept
from ..data_files import Data, load_data

Role = Literal["scene", "thing", "child", "adult"]
M = TypeVar("M", bound=Data)

DATA = Path(__file__).parent


def load(model: type[M], name: str, folder: Path | None = None) -> M:
    """Return the data of `folder/name`, or of the packaged file when `folder` has none.

    Raises:
        UsageError: The file is not what `model` describes.
    """
    return load_data(model, name, folder, DATA)


class Concept(BaseConcept):
    """One concept of Table 5; the role ``scene`` is implied by every scene."""

    role: Role


class Catalogue(BaseCatalogue[Concept]):
    """All concepts in canonical order, which is Table 5's."""

    concepts: tuple[Concept, ...]

    @model_validator(mode="after")
    def _one_scene(self) -> Self:
        if len(self.by_role("scene")) > 1:
            raise ValueError("at most one concept has the role scene")
        return self

    @property
    def implied(self) -> tuple[str, ...]:
        """Ids that every scene shows and no set holds: the kitchen."""
        return tuple(concept.id for concept in self.by_role("scene"))


def catalogue(folder: Path | None = None) -> Catalogue:
    """Return the catalogue of `folder`, or the packaged one."""
    return load(Catalogue, "catalogue.json", folder)
