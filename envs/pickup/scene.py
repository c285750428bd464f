"""One pick-up scene: what stands where, and what the policy is told.

Coordinates are SimplerEnv's of its pick-up tasks: x and y on the table, z up, m; the robot stands
at x = 0.35, y = 0.20 and looks along -x. Yaw is counter-clockwise seen from above, radians.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

TABLE_TOP = 0.87
"""Height of the table's surface, m."""

TABLE = (-0.65, 0.15, -0.30, 0.70)
"""Extent of the table: x from, x to, y from, y to, m."""

ROBOT = (0.35, 0.20)
"""Where the robot's base stands; it looks along -x."""


@dataclass(frozen=True, slots=True)
class Pose:
    """Where an object is put down.

    Attributes:
        object: Its id (`objects`).
        x: m.
        y: m.
        standing: Whether its long axis points up; else it lies on its broad side.
        yaw: Direction of the long axis of a lying object, radians in [-pi, pi]; 0 is along +x. A
            standing one is turned by it about the vertical.
    """

    object: str
    x: float
    y: float
    standing: bool
    yaw: float


@dataclass(frozen=True, slots=True)
class CameraOffset:
    """How far the camera is off its place (VLATest: up to 0.05 m and 5 degrees).

    Attributes:
        x: m.
        y: m.
        z: m.
        roll: Degrees.
        pitch: Degrees.
        yaw: Degrees.
    """

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class PickUpScene:
    """One scene.

    Attributes:
        target: The object to pick up.
        instruction: What the policy is told.
        distractors: Other objects on the table, up to three.
        light: Factor on all lights.
        camera: How far the camera is off.
    """

    target: Pose
    instruction: str
    distractors: tuple[Pose, ...] = ()
    light: float = 1.0
    camera: CameraOffset = field(default_factory=CameraOffset)

    def record(self) -> Mapping[str, Any]:
        """Return the scene as JSON values."""
        return asdict(self)
