"""SimplerEnv's rule of a successful pick-up, apart from any engine."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

RAISED_FREE = 0.01
"""A grasped target that touches nothing but the robot must be raised by more than this, m."""

RAISED_HELD = 0.02
"""A target that is held for `HELD_STEPS` in a row must be raised by more than this, m."""

HELD_STEPS = 5
"""So many steps in a row make a lasting grasp (SimplerEnv's ``consecutive_grasp``)."""

ROBOT_NAME = "robot"
"""Name of the robot in `State.touching`."""


@dataclass
class SuccessRule:
    """Judges an episode step by step; a new one for each episode.

    A step is a success when the target is grasped, raised by more than 0.01 m and touches nothing
    but the robot, or when it was grasped and raised by more than 0.02 m in each of the last five
    steps, whatever it touched. It is what is so at that step: a target that is dropped later is no
    success any more (``success_at_end``), though it was one (``success_once``).

    Attributes:
        held: For how many steps in a row the target was grasped and raised by more than 0.02 m.
    """

    held: int = field(default=0)

    def update(self, *, grasped: bool, raised: float, touching: Set[str]) -> bool:
        """Take one step in and return whether it is a success.

        Args:
            grasped: Whether both fingers press on the target.
            raised: How far it is above its start, m.
            touching: Names of what it touches, as in `State.touching`.
        """
        self.held = self.held + 1 if grasped and raised > RAISED_HELD else 0
        free = touching <= {ROBOT_NAME}
        return (grasped and raised > RAISED_FREE and free) or self.held >= HELD_STEPS
