"""World: what the ray tracer draws. Domains build one from a scene."""

from __future__ import annotations

from dataclasses import dataclass, field

from .mesh import Mesh
from .turning import turned


@dataclass(frozen=True, slots=True)
class Instance:
    """A mesh standing in the world.

    Attributes:
        name: Unique name of the object within the world.
        mesh: The mesh in its own frame.
        x: Forward position, m.
        y: Leftward position, m.
        z: Height of the mesh's origin, m.
        yaw: Turn about z, radians, counter-clockwise seen from above.
        turn: Any other orientation, unit quaternion (w, x, y, z); then `yaw` is not looked at.
    """

    name: str
    mesh: Mesh
    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0
    turn: tuple[float, float, float, float] | None = None

    def placed(self) -> Mesh:
        """Return the mesh in world coordinates."""
        place = (self.x, self.y, self.z)
        if self.turn is not None:
            return turned(self.mesh, self.turn, place)
        return self.mesh.transformed(place, yaw=self.yaw)


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera that looks along +x at yaw = pitch = 0.

    Attributes:
        x, y, z: Position, m.
        yaw: Radians, counter-clockwise from above.
        pitch: Radians, positive looks up.
        hfov: Horizontal field of view, radians.
        width, height: Pixels.
        roll: Radians about the viewing direction, positive leans the camera to its right.
    """

    x: float
    y: float
    z: float
    yaw: float = 0.0
    pitch: float = 0.0
    hfov: float = 1.0821  # 62 degrees
    width: int = 512
    height: int = 384
    roll: float = 0.0


@dataclass(frozen=True, slots=True)
class Lamp:
    """A ball that lights the room; it is not seen itself.

    Attributes:
        x, y, z: Middle, m.
        colour: Radiant intensity, linear RGB: what a surface that faces the lamp at 1 m gets.
        radius: Of the ball, m: the larger, the softer its shadows.
    """

    x: float
    y: float
    z: float
    colour: tuple[float, float, float] = (2.0, 1.9, 1.7)
    radius: float = 0.08


@dataclass(frozen=True, slots=True)
class Atmosphere:
    """Light and weather. Colours are linear RGB radiance.

    Attributes:
        sun_direction: Unit vector towards the sun.
        sun: Sun radiance; 0 = overcast, no shadows.
        zenith: Sky colour overhead.
        horizon: Sky colour at the horizon (and of fog).
        ground: Light bounced up from the ground.
        fog: Extinction, 1/m.
        wetness: 0 dry ... 1 wet road with mirror and puddles.
        rain: 0 none ... 1 heavy: streaks, spray, haze.
        exposure: Factor before the tone curve.
        seed: For cloud and rain patterns.
        lamps: Lamps of a room; none outdoors.
    """

    sun_direction: tuple[float, float, float] = (0.3, 0.4, 0.87)
    sun: tuple[float, float, float] = (2.6, 2.45, 2.2)
    zenith: tuple[float, float, float] = (0.25, 0.45, 0.85)
    horizon: tuple[float, float, float] = (0.75, 0.85, 0.95)
    ground: tuple[float, float, float] = (0.25, 0.24, 0.22)
    clouds: float = 0.2
    fog: float = 0.0
    wetness: float = 0.0
    rain: float = 0.0
    exposure: float = 1.0
    seed: int = 0
    lamps: tuple[Lamp, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """Everything to draw.

    Attributes:
        backdrop: Surroundings, one mesh in world coordinates; index 0 in the index pass.
        backdrop_key: Equal keys mean equal backdrops, so that a tracer may keep its BVH.
        objects: The scene's objects; index k in the index pass is the k-th, from 1.
        camera: The camera.
        atmosphere: Light and weather.
        probes: Names of objects whose visible pixels are to be measured.
        occlusion_reach: How far a room's ambient occlusion looks for what is close, m; its faces
            are cut as fine as that needs. None: as suits a kitchen where there are lamps, a
            street where there are none.
    """

    backdrop: Mesh
    backdrop_key: str
    objects: tuple[Instance, ...]
    camera: Camera
    atmosphere: Atmosphere = field(default_factory=Atmosphere)
    probes: tuple[str, ...] = ()
    occlusion_reach: float | None = None
