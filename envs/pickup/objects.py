"""The seven objects that are picked up (FATE-VLA §4): sizes, masses, friction; values are ours.

An object's own frame has its long axis along z (upright: standing), its origin in the middle of
that length; x is its broad, y its narrow side. Physics uses the convex parts; what is drawn keeps
within 3 mm of them.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

from ..data_files import Data, load_data

Shape = Literal["cylinder", "capsule", "ellipsoid", "box"]


class Part(Data):
    """One convex part.

    Attributes:
        shape: What it is; round ones have their axis along z.
        radius: Across the axis, m (of an ellipsoid: the half axis along x, and y unless told).
        radius_y: Half axis along y of a flat ellipsoid, m.
        half_length: Half of the length along z, m; of a capsule without its caps.
        half_size: Half sizes (x, y, z) of a box, m.
        z: Its middle in the object's frame, m.
    """

    shape: Shape
    radius: float = 0.0
    radius_y: float | None = None
    half_length: float = 0.0
    half_size: tuple[float, float, float] | None = None
    z: float = 0.0

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """Half sizes of its bounding box, m."""
        if self.half_size is not None:
            return self.half_size
        cap = self.radius if self.shape == "capsule" else 0.0
        return self.radius, self.radius_y or self.radius, self.half_length + cap


class PickUpObject(Data):
    """One object.

    Attributes:
        id: Its name in candidates and records.
        title: Its name in instructions.
        simpler_id: Its model id in SimplerEnv.
        simpler_title: Its name in SimplerEnv's instructions, where that is another.
        simpler_yaw: Direction of its long axis z in its model's frame in SimplerEnv, where all
            models lie on their broad sides: degrees about the model's z axis, from its x axis.
        mass: kg.
        friction: Sliding friction coefficient.
        parts: Convex parts.
    """

    id: str
    title: str
    simpler_id: str
    simpler_title: str | None = None
    simpler_yaw: float
    mass: float
    friction: float
    parts: tuple[Part, ...]

    @property
    def top(self) -> float:
        """Highest z of the upright object in its frame, m."""
        return max(part.z + part.half_extents[2] for part in self.parts)

    @property
    def bottom(self) -> float:
        """Lowest z of the upright object in its frame, m."""
        return min(part.z - part.half_extents[2] for part in self.parts)

    @property
    def thickness(self) -> float:
        """Largest half size along y, m: its height when it lies is twice that."""
        return max(part.half_extents[1] for part in self.parts)


class ObjectTable(Data):
    """All objects, in the order of the candidate's object bins."""

    version: str
    objects: tuple[PickUpObject, ...]

    def of(self, name: str) -> PickUpObject:
        """Return an object by id."""
        return next(one for one in self.objects if one.id == name)


@functools.cache
def objects() -> ObjectTable:
    """Return the packaged objects."""
    return load_data(ObjectTable, "objects.json", None, Path(__file__).parent)
