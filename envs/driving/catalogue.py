"""The driving concepts (Revelio Table 4) and the distances that they stand for, as data.

Ids, categories and descriptions are the paper's; roles, kinds and the range of a bare "directly
ahead" are ours. A folder with files of the same names replaces the data
(`DrivingDomain(data=folder)`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import model_validator

from ..catalogues import BaseCatalogue, BaseConcept
from ..data_files import Data, load_data

Role = Literal["town", "intersection", "light", "obstacle", "movable", "modifier", "weather"]
Range = Literal["near", "far", "ahead"]
M = TypeVar("M", bound=Data)

DATA = Path(__file__).parent


def load(model: type[M], name: str, folder: Path | None = None) -> M:
    """Return the data of `folder/name`, or of the packaged file when `folder` has none.

    Raises:
        UsageError: The file is not what `model` describes.
    """
    return load_data(model, name, folder, DATA)


class Concept(BaseConcept):
    """One concept of Table 4.

    Attributes:
        kind: Kind of the object that it places, if it places one.
        distance: The range at which the object stands, or to which a modifier moves one.
        place: Where a location modifier puts the movable entity.
    """

    role: Role
    kind: str | None = None
    distance: Range | None = None
    place: Literal["lane", "sidewalk"] | None = None


class Ranges(Data):
    """Gaps from the ego's front bumper to the nearest point of an object, m.

    Attributes:
        near: Near obstacles and the modifier `near` (stated).
        far: Far obstacles and the modifier `far` (stated).
        ahead: Movable entities without a distance modifier (ours).
        junction: To the stop line (stated).
    """

    near: tuple[float, float]
    far: tuple[float, float]
    ahead: tuple[float, float]
    junction: tuple[float, float]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for name in type(self).model_fields:
            low, high = getattr(self, name)
            if not 0 < low < high:
                raise ValueError(f"{name}: expected 0 < low < high, got {low}, {high}")
        return self

    def of(self, distance: Range) -> tuple[float, float]:
        """Return (least, greatest) gap of a distance bucket, m."""
        return {"near": self.near, "far": self.far, "ahead": self.ahead}[distance]


class Catalogue(BaseCatalogue[Concept]):
    """All concepts in canonical order, which is Table 4's, and the distances of their names."""

    ranges: Ranges
    concepts: tuple[Concept, ...]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for concept in self.concepts:
            if concept.role in ("obstacle", "movable") and not (concept.kind and concept.distance):
                raise ValueError(f"{concept.id}: an {concept.role} needs a kind and a distance")
            if concept.role == "light" and not concept.kind:
                raise ValueError(f"{concept.id}: a light needs a kind")
        return self


def catalogue(folder: Path | None = None) -> Catalogue:
    """Return the catalogue of `folder`, or the packaged one."""
    return load(Catalogue, "catalogue.json", folder)
