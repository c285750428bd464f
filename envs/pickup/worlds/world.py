"""What a physics engine offers: a scene is set up, seen, and acted upon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core import Picture
from ..scene import PickUpScene

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]

CONTROL_HZ = 3.0
"""Actions a second (SimplerEnv's pick-up tasks)."""

ACTION_SIZE = 7
"""dx, dy, dz in m and an axis-angle rotation in radians, both in the frame of the robot's base
(x ahead, y left, z up), and the gripper: +1 is fully open, -1 closed.
"""


@dataclass(frozen=True, slots=True)
class State:
    """What is so after a step; nothing of it is shown to a policy but `gripper` and `opening`.

    Attributes:
        object: The target's middle (x, y, z) in the scene's frame, m.
        turn: Its orientation, unit quaternion (w, x, y, z).
        gripper: Point between the finger tips (x, y, z), m.
        turn_of_gripper: Its orientation, unit quaternion (w, x, y, z).
        opening: Distance between the fingers, m.
        raised: How far the target is above where it lay at the start, m.
        grasped: Whether both fingers press on it.
        touching: Names of what the target touches: object ids, ``"table"``, ``"robot"``,
            ``"floor"``.
        held: Name of the object that both fingers press on, or "".
        success: SimplerEnv's rule, see `success.SuccessRule`; an engine that judges itself says
            what it found.
        also_raised: Ids of other objects that are more than 1 cm above where they lay at the start
            and touch nothing but the robot, held or not.
    """

    object: tuple[float, float, float]
    turn: tuple[float, float, float, float]
    gripper: tuple[float, float, float]
    turn_of_gripper: tuple[float, float, float, float]
    opening: float
    raised: float
    grasped: bool
    touching: frozenset[str]
    held: str
    success: bool
    also_raised: frozenset[str] = frozenset()


Observation: TypeAlias = Mapping[str, Any]
"""What a policy sees: ``image`` (`height x width x 3` uint8), ``instruction`` (str), ``state`` (8
float32: gripper x, y, z in the base frame, m, its quaternion w, x, y, z, opening in m).
"""


class World(Protocol):
    """A physics engine with one scene in it. Not thread-safe: one for each worker.

    Attributes:
        name: E.g. ``"mujoco"``.
        deterministic: Whether the same scene and actions give the same states, bit for bit.
    """

    name: str
    deterministic: bool

    def start(self, scene: PickUpScene) -> State:
        """Set a scene up and let it settle.

        Raises:
            SceneError: Its start pose is invalid: off the table, inside something, or raised.
        """
        ...

    def observe(self) -> Observation:
        """Return what the policy sees now."""
        ...

    def step(self, action: F32) -> State:
        """Carry out one action of `ACTION_SIZE` numbers."""
        ...

    def picture(self) -> Picture:
        """Return a picture for people of what is so now."""
        ...

    def close(self) -> None:
        """Free the engine; twice is fine."""
        ...
