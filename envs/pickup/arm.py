"""The robot arm: six turning joints and a parallel gripper; sizes and masses are ours.

A chain of links, each with its own frame at its joint. With every joint at 0 the arm points
straight up and all frames are turned as the base's: x ahead (the scene's -x), y left (the scene's
-y), z up. A positive turn about y bends the arm ahead. The hand's z points from the palm to the
finger tips; its fingers close along its y. Physics and pictures use the same solids.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

from ..data_files import Data, load_data
from .scene import ROBOT

Axis = Literal["x", "y", "z", "-y"]

BASE_POSITION = (*ROBOT, 0.0)
"""Origin of the base's frame in the scene, m."""

BASE_TURN = (0.0, 0.0, 0.0, 1.0)
"""The base's orientation in the scene, quaternion (w, x, y, z): half a turn about z."""

AXES: dict[Axis, tuple[float, float, float]] = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-y": (0.0, -1.0, 0.0),
}
"""Unit vectors by name."""


class Solid(Data):
    """One convex solid of a link.

    Attributes:
        shape: What it is; round ones have their axis along `axis`.
        radius: Across the axis, m.
        half_length: Half of the length along the axis, m; of a capsule without its caps.
        half_size: Half sizes (x, y, z) of a box, m.
        at: Its middle in the link's frame, m.
        axis: Direction of its axis in the link's frame.
        finish: How it looks: light shell, dark joint or rubber pad. Pads are what grasps.
    """

    shape: Literal["cylinder", "capsule", "box"]
    radius: float = 0.0
    half_length: float = 0.0
    half_size: tuple[float, float, float] | None = None
    at: tuple[float, float, float]
    axis: Literal["x", "y", "z"] = "z"
    finish: Literal["shell", "dark", "pad"]


class Joint(Data):
    """How a link moves against its parent, about or along an axis of its own frame.

    Attributes:
        kind: A turn (radians) or a slide (m).
        axis: Its axis.
        low: Lower limit, radians or m.
        high: Upper limit, radians or m.
    """

    kind: Literal["turn", "slide"]
    axis: Axis
    low: float
    high: float


class Link(Data):
    """One link.

    Attributes:
        name: Its name in poses.
        parent: The link that carries it; None for the base.
        offset: Its frame's place along the parent's z, m.
        joint: How it moves; None for the base.
        mass: kg.
        solids: What it is made of.
    """

    name: str
    parent: str | None = None
    offset: float = 0.0
    joint: Joint | None = None
    mass: float
    solids: tuple[Solid, ...]


class Home(Data):
    """Where the gripper is when an episode starts, in the scene's frame, m."""

    x: float
    y: float
    z: float


class Arm(Data):
    """The whole arm.

    Attributes:
        grip_point: The point between the finger tips, along the hand's z, m.
        finger_mount: Where the fingers begin, along the hand's z, m.
        opening: Distance between the pads of the open gripper, m.
        home: Where the gripper is at the start: open, pointing down, closing along y.
        home_joints: Joint angles near it, from which it is found, radians.
        links: From the base to the fingers; parents come first.
    """

    version: str
    grip_point: float
    finger_mount: float
    opening: float
    home: Home
    home_joints: tuple[float, float, float, float, float, float]
    links: tuple[Link, ...]

    @property
    def turning(self) -> tuple[Link, ...]:
        """The six links that turn, from the base on."""
        return tuple(link for link in self.links if link.joint and link.joint.kind == "turn")

    @property
    def fingers(self) -> tuple[Link, ...]:
        """The two fingers: left, right."""
        return tuple(link for link in self.links if link.joint and link.joint.kind == "slide")

    def link(self, name: str) -> Link:
        """Return a link by name."""
        return next(link for link in self.links if link.name == name)


@functools.cache
def arm() -> Arm:
    """Return the packaged arm."""
    return load_data(Arm, "arm.json", None, Path(__file__).parent)
