"""SimplerEnv's rule of a successful pick-up, apart from any engine."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

RAISED_FREE = 0.01
"""A grasped target that touches nothing but the robot must be raised by more than this, m."""

RAISED_HELD = 0.02
"""A held target counts as well up when it is raised by more than this, m."""

HELD_STEPS = 5
"""So many steps well up in an episode, in a row or not, make a success of one that touches
something (SimplerEnv's ``n_lift_significant``, which is a running total, too)."""

ROBOT_NAME = "robot"
"""Name of the robot in `State.touching`."""


@dataclass
class SuccessRule:
    """Judges an episode step by step; a new one for each episode.

    A step is a success when the target is grasped, raised by more than 0.01 m and touches nothing
    but the robot, or when it is grasped and raised by more than 0.02 m for at least the fifth time
    in the episode, whatever it touches. It is what is so at that step: a target that is dropped
    later is no success any more (``success_at_end``), though it was one (``success_once``).

    Attributes:
        well_up: In how many steps so far the target was grasped and raised by more than 0.02 m.
    """

    well_up: int = field(default=0)

    def update(self, *, grasped: bool, raised: float, touching: Set[str]) -> bool:
        """Take one step in and return whether it is a success.

        Args:
            grasped: Whether both fingers press on the target.
            raised: How far it is above its start, m.
            touching: Names of what it touches, as in `State.touching`.
        """
        if not grasped:
            return False
        high = raised > RAISED_HELD
        self.well_up += high
        free = touching <= {ROBOT_NAME}
        return (raised > RAISED_FREE and free) or (high and self.well_up >= HELD_STEPS)
