"""The driving concepts (Revelio Table 4) and the distances that they stand for, as data.

Ids, categories and descriptions are the paper's; roles, kinds and the range of a bare "directly
ahead" are ours. A folder with files of the same names replaces the data
(`DrivingDomain(data=folder)`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ...core import UnknownNameError, UsageError

Role = Literal["town", "intersection", "light", "obstacle", "movable", "modifier", "weather"]
Range = Literal["near", "far", "ahead"]
M = TypeVar("M", bound="Data")

DATA = Path(__file__).parent


class Data(BaseModel):
    """A data file: immutable, unknown fields refused, so that a typing slip is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def load(model: type[M], name: str, folder: Path | None = None) -> M:
    """Return the data of `folder/name`, or of the packaged file when `folder` has none.

    Raises:
        UsageError: The file is not what `model` describes.
    """
    path = DATA / name
    if folder is not None:
        folder = Path(folder)
        if not folder.is_dir():
            raise UsageError(
                f"data: {folder} is not a folder; it may hold catalogue.json, rules.json and "
                f"prompt.json, copies to start from lie in {DATA}"
            )
        if (folder / name).exists():
            path = folder / name
    data: M = _read(model, path, path.stat().st_mtime_ns)
    return data


@lru_cache(maxsize=32)
def _read(model: type[M], path: Path, _changed: int) -> M:
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        where = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:3]
        )
        raise UsageError(f"{path}: {where}") from error


class Concept(Data):
    """One concept.

    Attributes:
        id: Bare id as in Table 4.
        category: Category as in Table 4.
        role: What the concept does to a scene.
        description: What it shows, in the paper's words.
        kind: Kind of the object that it places, if it places one.
        distance: The range at which the object stands, or to which a modifier moves one.
        place: Where a location modifier puts the movable entity.
    """

    id: str
    category: str
    role: Role
    description: str
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


class Catalogue(Data):
    """All concepts in canonical order, which is Table 4's."""

    version: str
    ranges: Ranges
    concepts: tuple[Concept, ...]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if len({concept.id for concept in self.concepts}) != len(self.concepts):
            raise ValueError("concept ids must differ")
        for concept in self.concepts:
            if concept.role in ("obstacle", "movable") and not (concept.kind and concept.distance):
                raise ValueError(f"{concept.id}: an {concept.role} needs a kind and a distance")
            if concept.role == "light" and not concept.kind:
                raise ValueError(f"{concept.id}: a light needs a kind")
        return self

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Concept ids in canonical order."""
        return tuple(concept.id for concept in self.concepts)

    def by_role(self, *roles: Role) -> tuple[Concept, ...]:
        """Return the concepts of the given roles, in canonical order."""
        return tuple(concept for concept in self.concepts if concept.role in roles)

    def select(self, candidate: Iterable[str]) -> tuple[Concept, ...]:
        """Return the concepts of a candidate in canonical order.

        Raises:
            UnknownNameError: For an id outside the catalogue.
        """
        wanted = set(candidate)
        for name in sorted(wanted - set(self.ids)):
            raise UnknownNameError("concept", name, self.ids, "See `vlmfail list --concepts`.")
        return tuple(concept for concept in self.concepts if concept.id in wanted)

    def expand(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return concept ids, with each ``role:NAME`` replaced by the ids of that role."""
        out: list[str] = []
        for name in names:
            role = name.removeprefix("role:")
            if role == name:
                out.append(name)
            else:
                out.extend(concept.id for concept in self.concepts if concept.role == role)
        return tuple(dict.fromkeys(out))


def catalogue(folder: Path | None = None) -> Catalogue:
    """Return the catalogue of `folder`, or the packaged one."""
    return load(Catalogue, "catalogue.json", folder)
