"""What the policy sees: the table from over the robot's shoulder.

The view is that of SimplerEnv's pick-up tasks in kind (a camera on the robot that looks down on
the table, the arm coming in from the side); place, lens and light are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ...core import UnknownNameError
from ...rendering.embree import EmbreeRenderer
from ...rendering.mesh import Mesh
from ...rendering.world import Atmosphere, Camera, Instance, Lamp, World
from .arm import arm
from .assets import BUILDERS, object_mesh, robot, room
from .scene import CameraOffset, PickUpScene

PICTURE_SIZE = (160, 128)
"""Width and height of what a policy sees, pixels."""

PEOPLE_SIZE = (512, 384)
"""Width and height of a picture for people, pixels."""

EYE = (0.38, -0.20, 1.58)
"""Where the camera stands, m: at the robot's left shoulder."""

AIM = (-0.262, 0.212, 0.918)
"""What it looks at, m: just above the middle of the target area."""

FIELD = math.radians(46.0)
"""Its horizontal field of view, radians."""

_LAMP = Lamp(-0.55, -0.75, 2.55, (4.3, 4.2, 3.95), 0.16)
_CEILING, _WALLS, _GROUND = (0.58, 0.59, 0.60), (0.34, 0.345, 0.35), (0.33, 0.325, 0.31)

RGB: TypeAlias = tuple[float, float, float]
Poses: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Position (x, y, z), m, and orientation (w, x, y, z) by the name of a link or an object."""


def camera(offset: CameraOffset, width: int, height: int) -> Camera:
    """Return the camera, moved and turned by an offset."""
    ahead = [to - at for to, at in zip(AIM, EYE, strict=True)]
    yaw = math.atan2(ahead[1], ahead[0])
    pitch = math.atan2(ahead[2], math.hypot(ahead[0], ahead[1]))
    return Camera(
        EYE[0] + offset.x,
        EYE[1] + offset.y,
        EYE[2] + offset.z,
        yaw=yaw + math.radians(offset.yaw),
        pitch=pitch + math.radians(offset.pitch),
        hfov=FIELD,
        width=width,
        height=height,
        roll=math.radians(offset.roll),
    )


def light(factor: float) -> Atmosphere:
    """Return the lab's light, all of it multiplied by a factor: one lamp and what walls shed."""

    def scaled(colour: RGB) -> RGB:
        return factor * colour[0], factor * colour[1], factor * colour[2]

    return Atmosphere(
        sun=(0.0, 0.0, 0.0),
        zenith=scaled(_CEILING),
        horizon=scaled(_WALLS),
        ground=scaled(_GROUND),
        clouds=0.0,
        lamps=(replace(_LAMP, colour=scaled(_LAMP.colour)),),
    )


class Painter:
    """Draws one scene, however its things lie; the same poses give the same bytes.

    Table and room are indexed once for the process, an object or link when it is first drawn.
    """

    def __init__(self, scene: PickUpScene, size: tuple[int, int] = PICTURE_SIZE) -> None:
        """Prepare for a scene.

        Args:
            scene: Gives the light and how far the camera is off.
            size: Width and height of the pictures, pixels.
        """
        self._size = size
        self._offset = scene.camera
        self._light = light(scene.light)
        self._renderer = EmbreeRenderer()

    def draw(self, poses: Poses, size: tuple[int, int] | None = None) -> npt.NDArray[np.uint8]:
        """Return a picture, `height x width x 3` uint8.

        Args:
            poses: Of everything that moves: an entry for each link of `arm` and each object.
            size: Width and height, pixels, where they are not those of the painter.

        Raises:
            UnknownNameError: A name is none of a link or an object.
        """
        return self._renderer.pixels(self.world(poses, size))

    def world(self, poses: Poses, size: tuple[int, int] | None = None) -> World:
        """Return what is drawn; arguments and errors are those of `draw`."""
        things = []
        for name, (place, turn) in poses.items():
            x, y, z = (float(number) for number in place)
            a, b, c, d = (float(number) for number in turn)
            things.append(Instance(name, mesh(name), x, y, z, turn=(a, b, c, d)))
        return World(
            room.backdrop(),
            room.KEY,
            tuple(things),
            camera(self._offset, *(size or self._size)),
            self._light,
            occlusion_reach=room.REACH,
        )


def mesh(name: str) -> Mesh:
    """Return the mesh of a link or an object.

    Raises:
        UnknownNameError: There is neither of that name.
    """
    if name in BUILDERS:
        return object_mesh(name)
    links = [link.name for link in arm().links]
    if name not in links:
        raise UnknownNameError("thing to draw", name, (*BUILDERS, *links))
    return robot.link_mesh(name)
