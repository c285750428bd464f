"""One concrete kitchen: what stands where, the light, the camera.

Room coordinates as in `layout`: x into the picture, the back wall at 0, y left, z up, m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...rendering.mesh import Mesh
from ...rendering.world import Atmosphere, Camera, Instance, World
from . import assets, room
from .layout import Layout
from .matching import Match

F64 = npt.NDArray[np.float64]
Point = tuple[float, float, float]

DOORS: Mapping[str, str] = {
    "sink_doors_open": "open",
    "sink_doors_closed": "closed",
}
"""Kinds that belong to the room: their variant is the palette."""

PARTS: Mapping[str, str] = {
    "pan_handle": "handle",
    "steam_small": "steam",
    "steam_wide": "steam",
    "steam_front": "steam",
}
"""Kinds that are seen apart from the rest of their concept: a handle, because answers hang on it,
and steam, because it is not the thing that it rises from.
"""

MEASURED = ("handle",)
"""Parts whose visible pixels are measured."""


def part_name(concept: str, part: str) -> str:
    """Return the name under which a part of a concept is measured."""
    return f"{concept}:{part}"


def mesh_of(kind: str, variant: int) -> Mesh:
    """Return the mesh of a thing, the same one each time."""
    if kind in DOORS:
        return room.sink_doors(DOORS[kind], variant)
    return assets.build(kind, variant)


@lru_cache(maxsize=512)
def bounds_of(kind: str, variant: int) -> tuple[Point, Point]:
    """Return (lowest, highest) corner of a thing's box in its own frame, m."""
    low, high = mesh_of(kind, variant).bounds
    return tuple(float(v) for v in low), tuple(float(v) for v in high)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Placed:
    """A thing in the room.

    Attributes:
        name: Id of the concept that it shows a part of.
        kind: Asset kind.
        variant: Asset variant.
        x, y, z: Of the mesh's origin, m.
        yaw: Radians, counter-clockwise from above; at pi it faces the camera's side.
    """

    name: str
    kind: str
    variant: int
    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0

    @property
    def seen_as(self) -> str:
        """Name under which its pixels are counted: the concept's, or that of a part of it."""
        part = PARTS.get(self.kind)
        return self.name if part is None else part_name(self.name, part)

    def corners(self) -> F64:
        """Return the corners of its own box in the room, `8 x 3`, m."""
        low, high = bounds_of(self.kind, self.variant)
        pairs = zip(low, high, strict=True)
        own = np.stack(np.meshgrid(*pairs, indexing="ij"), axis=-1).reshape(-1, 3)
        return self.to_room(own)

    def box(self) -> F64:
        """Return its axis-parallel box in the room, `2 x 3`, m."""
        corners = self.corners()
        return np.stack([corners.min(axis=0), corners.max(axis=0)])

    def to_room(self, points: npt.ArrayLike) -> F64:
        """Return points `n x 3` of its own frame in the room, m."""
        own = np.asarray(points, dtype=np.float64).reshape(-1, 3)
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        moved: F64 = own @ turn.T + (self.x, self.y, self.z)
        return moved

    def point(self, anchor: str) -> Point:
        """Return a named point of the asset in the room, m."""
        x, y, z = self.to_room([assets.anchor(self.kind, self.variant, anchor)])[0]
        return float(x), float(y), float(z)


@dataclass(frozen=True)
class IndoorScene:
    """A scene; the picture is drawn from it, the truth was decided by its match.

    Attributes:
        candidate: The concepts, in catalogue order, without the implied ones.
        match: The rule that decides, of `matching.match_with_best_fit`; None for a set that no
            rule fits.
        layout: The kitchen's plan.
        palette: Its colours, an index into `room.PALETTES`.
        camera: The camera.
        atmosphere: The light.
        things: Everything that is placed; several may show one concept.
    """

    candidate: tuple[str, ...]
    match: Match | None
    layout: Layout
    palette: int
    camera: Camera
    atmosphere: Atmosphere
    things: tuple[Placed, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The concepts that are there to be seen, in catalogue order."""
        shown = {thing.name for thing in self.things}
        return tuple(name for name in self.candidate if name in shown)

    def of(self, name: str) -> tuple[Placed, ...]:
        """Return the things that show a concept."""
        return tuple(thing for thing in self.things if thing.name == name)

    def record(self) -> Mapping[str, Any]:
        """Return the scene as JSON values: lengths in m, angles in radians, to 0.1 mm."""
        value = {
            "layout": self.layout.key,
            "palette": self.palette,
            "camera": asdict(self.camera),
            "atmosphere": asdict(self.atmosphere),
            "things": [asdict(thing) for thing in self.things],
            "match": None if self.match is None else self.match.record(),
        }
        rounded: dict[str, Any] = _rounded(value)
        return rounded

    def world(self) -> World:
        """Return what a ray tracer draws."""
        backdrop = room.backdrop(self.layout, self.palette)
        return World(
            backdrop=backdrop.mesh,
            backdrop_key=backdrop.key,
            objects=tuple(
                Instance(
                    thing.seen_as,
                    mesh_of(thing.kind, thing.variant),
                    thing.x,
                    thing.y,
                    thing.z,
                    thing.yaw,
                )
                for thing in self.things
            ),
            camera=self.camera,
            atmosphere=self.atmosphere,
            probes=(*self.names, *self._parts()),
        )

    def _parts(self) -> tuple[str, ...]:
        measured = [thing for thing in self.things if PARTS.get(thing.kind) in MEASURED]
        return tuple(dict.fromkeys(thing.seen_as for thing in measured))


@dataclass(frozen=True, slots=True)
class DescribedScene:
    """What is known of a picture that was not drawn here: the set, and the rule that decides.

    Attributes:
        candidate: The concepts, in catalogue order, without the implied ones.
        match: The rule that decides; None for a set that no rule fits.
    """

    candidate: tuple[str, ...]
    match: Match | None

    @property
    def absent(self) -> tuple[str, ...]:
        """Concepts that would make the right answer wrong, if the picture showed one."""
        rule = None if self.match is None else self.match.rule
        return rule.forbids if rule is not None and rule.accepted == "safe" else ()

    def record(self) -> Mapping[str, Any]:
        """Return it as JSON values."""
        return {"match": None if self.match is None else self.match.record()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
