"""One concrete driving scene: the ego, what stands around it, light and weather.

Plan coordinates: x ahead of the ego's front bumper, y left of the ego lane's centre, m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from ...rendering.world import Atmosphere, Camera, Instance, World
from . import assets, street, town
from .catalogue import Range
from .footprint import Corners, Footprint, footprint, nearest_in_strip
from .sight import Thing

EGO_WIDTH = 1.85
"""Width of the ego, mirrors excluded, m. Ours: a compact car."""

CAMERA_BEHIND_BUMPER = 0.9
"""From the front bumper back to the camera, m. Ours: a camera behind the windscreen of a short
bonnet, so that the ground is in view from 2 m ahead on.
"""

CAMERA_HEIGHT = 1.45
CAMERA_PITCH = math.radians(-3.5)
CAMERA_FIELD_OF_VIEW = math.radians(62.0)
PICTURE_SIZE = (512, 384)

SIGNAL_SETBACK = 0.8
"""From the stop line on to the mast of the traffic light, m. Ours: a near-side signal."""

SIGNAL_Y = -2.75
"""Lateral place of the mast, on the right sidewalk, m."""


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """A named object of a scene.

    Attributes:
        name: Its concept's id, unique in a scene.
        kind: Asset kind.
        variant: Asset variant.
        x: Of the mesh's origin, ahead of the front bumper, m.
        y: Of the mesh's origin, left of the lane's centre, m.
        z: Height of the ground that it stands on, m.
        yaw: Radians, counter-clockwise from above; 0 faces away from the ego.
        corners: The box of the mesh on the ground, four (x, y), m.
        height: Of the mesh, m.
        gap: From the front bumper's plane to the nearest corner, m.
        distance: The range at which it was placed.
        on_sidewalk: Whether it was placed on the sidewalk.
    """

    name: str
    kind: str
    variant: int
    x: float
    y: float
    z: float
    yaw: float
    corners: Corners
    height: float
    gap: float
    distance: Range
    on_sidewalk: bool


@dataclass(frozen=True, slots=True)
class Signal:
    """The traffic light at the junction ahead.

    Attributes:
        name: Its concept's id; names the lit lamp.
        kind: Asset kind of the lit lamp.
        colour: ``"red"`` or ``"green"``.
        variant: Asset variant of the body and the lamp.
        x: Of the mast, ahead of the front bumper, m.
        y: Of the mast, m.
    """

    name: str
    kind: str
    colour: Literal["red", "green"]
    variant: int
    x: float
    y: float = SIGNAL_Y

    @property
    def mast(self) -> Corners:
        """The box of the mast on the ground, m."""
        return footprint("traffic_light_body", self.variant).corners(math.pi, self.x, self.y)

    @property
    def heads(self) -> tuple[Thing, ...]:
        """The lit lamps, on the mast and over the lane."""
        return tuple(
            Thing(
                box.corners(math.pi, self.x, self.y),
                street.SIDEWALK_HEIGHT + base,
                street.SIDEWALK_HEIGHT + box.height,
                solid=False,
            )
            for box, base in _heads(self.kind, self.variant)
        )


@dataclass(frozen=True)
class DrivingScene:
    """A scene; the truth is computed from it, the picture is drawn from it.

    Attributes:
        town: Town of the backdrop.
        backdrop: Backdrop variant.
        ego_x: Of the front bumper in town coordinates, m.
        ego_y: The ego's offset from the lane's centre, m.
        camera_yaw: Radians.
        weather: Weather concept, or None for unnamed daylight.
        atmosphere: Its light and weather.
        objects: Named objects in catalogue order.
        signal: The traffic light, if any.
        junction_gap: From the front bumper to the stop line, m, if a junction is named.
    """

    town: str
    backdrop: int
    ego_x: float
    ego_y: float
    camera_yaw: float
    weather: str | None
    atmosphere: Atmosphere
    objects: tuple[PlacedObject, ...]
    signal: Signal | None = None
    junction_gap: float | None = None

    @property
    def corridor(self) -> tuple[float, float]:
        """(right, left) edge of the strip that the ego sweeps, m."""
        return self.ego_y - EGO_WIDTH / 2, self.ego_y + EGO_WIDTH / 2

    def contact_gap(self, placed: PlacedObject) -> float | None:
        """Return how far the ego may roll before it touches an object, None = never, m."""
        return nearest_in_strip(placed.corners, *self.corridor)

    @cached_property
    def in_lane(self) -> tuple[tuple[float, PlacedObject], ...]:
        """(contact gap, object) of everything in the ego's corridor, nearest first."""
        pairs = [(self.contact_gap(placed), placed) for placed in self.objects]
        touched = [(gap, placed) for gap, placed in pairs if gap is not None]
        return tuple(sorted(touched, key=lambda pair: (pair[0], pair[1].name)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all visible things: the nearest in lane, the lamp, then by distance."""
        nearest = [placed.name for _, placed in self.in_lane[:1]]
        lamp = [self.signal.name] if self.signal else []
        others = sorted(self.objects, key=lambda placed: (placed.gap, placed.name))
        return tuple(dict.fromkeys([*nearest, *lamp, *(placed.name for placed in others)]))

    def record(self) -> Mapping[str, Any]:
        """Return the scene as JSON values: lengths in m, angles in radians, to 0.1 mm."""
        contact = {placed.name: gap for gap, placed in self.in_lane}
        objects = [
            {
                **asdict(placed),
                "in_lane": placed.name in contact,
                "contact_gap": contact.get(placed.name),
            }
            for placed in self.objects
        ]
        value = {
            "town": self.town,
            "backdrop": self.backdrop,
            "weather": self.weather,
            "ego": {"x": self.ego_x, "y": self.ego_y, "camera_yaw": self.camera_yaw},
            "junction_gap": self.junction_gap,
            "signal": asdict(self.signal) if self.signal else None,
            "objects": objects,
            "atmosphere": asdict(self.atmosphere),
        }
        rounded: dict[str, Any] = _rounded(value)
        return rounded

    def world(self) -> World:
        """Return what a ray tracer draws, in town coordinates."""
        scenery = town.backdrop(self.town, self.backdrop)
        instances = [
            Instance(
                placed.name,
                assets.build(placed.kind, placed.variant),
                self.ego_x + placed.x,
                placed.y,
                placed.z,
                placed.yaw,
            )
            for placed in self.objects
        ]
        if self.signal:
            for name, kind in (
                ("traffic_light", "traffic_light_body"),
                (self.signal.name, self.signal.kind),
            ):
                mesh = assets.build(kind, self.signal.variant)
                where = (self.ego_x + self.signal.x, self.signal.y, street.SIDEWALK_HEIGHT)
                instances.append(Instance(name, mesh, *where, yaw=math.pi))
        return World(
            backdrop=scenery.mesh,
            backdrop_key=scenery.key,
            objects=tuple(instances),
            camera=Camera(
                x=self.ego_x - CAMERA_BEHIND_BUMPER,
                y=self.ego_y,
                z=CAMERA_HEIGHT,
                yaw=self.camera_yaw,
                pitch=CAMERA_PITCH,
                hfov=CAMERA_FIELD_OF_VIEW,
                width=PICTURE_SIZE[0],
                height=PICTURE_SIZE[1],
            ),
            atmosphere=self.atmosphere,
            probes=self.names,
        )


@lru_cache(maxsize=16)
def _heads(kind: str, variant: int) -> tuple[tuple[Footprint, float], ...]:
    """Return the box and the height of the lower end of each lamp of a traffic light's colour."""
    vertices = assets.build(kind, variant).vertices
    order = vertices[np.argsort(vertices[:, 1], kind="stable")]
    # Lamps hang more than a metre apart; the vertices of one lie within decimetres.
    cuts = np.flatnonzero(np.diff(order[:, 1]) > 0.5) + 1
    parts = []
    for part in np.split(order, cuts):
        low, high = part.min(axis=0), part.max(axis=0)
        box = Footprint(*(float(v) for v in (low[0], high[0], low[1], high[1], high[2])))
        parts.append((box, float(low[2])))
    return tuple(parts)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
