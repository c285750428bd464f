"""A world of points: deterministic, quick, and wrong on request."""

from __future__ import annotations

import os

import numpy as np

from vlmfail.core import Picture, SceneError
from vlmfail.envs.pickup.scene import ROBOT, TABLE_TOP, PickUpScene
from vlmfail.envs.pickup.worlds.world import State

HOME = (-0.1, 0.2, 1.1)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


class FakeWorld:
    """A point moves; it takes hold of the target when it closes within 2 cm of it.

    A spoon slips out of it once it is 5 mm up, a sponge at 5 cm; an apple cannot be set up.
    """

    name = "fake"
    deterministic = True

    def __init__(self, picture_size: tuple[int, int] | None = None) -> None:
        self.size = picture_size
        self.closed = 0

    def start(self, scene: PickUpScene) -> State:
        if scene.target.object == "apple":
            raise SceneError("the apple rolled off the table")
        self.scene = scene
        self.tips = np.array(HOME)
        self.target = np.array([scene.target.x, scene.target.y, TABLE_TOP + 0.03])
        self.grasped = self.lost = False
        self.opening = 0.09
        return self._state()

    def observe(self) -> dict[str, object]:
        ahead = np.array([ROBOT[0] - self.tips[0], ROBOT[1] - self.tips[1], self.tips[2]])
        state = np.array([*ahead, *UPRIGHT, self.opening], np.float32)
        seen: dict[str, object] = {"instruction": self.scene.instruction, "state": state}
        if self.size is not None:
            seen["image"] = np.zeros((self.size[1], self.size[0], 3), np.uint8)
        return seen

    def step(self, action: np.ndarray) -> State:
        move = np.clip(action[:3], -0.1, 0.1) * (-1.0, -1.0, 1.0)
        self.tips = self.tips + move
        self.opening = 0.09 if action[6] > 0 else 0.0
        near = np.linalg.norm(self.tips - self.target) < 0.02
        self.grasped = not self.lost and action[6] < 0 and (self.grasped or bool(near))
        if self.grasped:
            self.target = self.tips.copy()
            limit = {"spoon": 0.005, "sponge": 0.05}.get(self.scene.target.object, 9.0)
            if self._raised > limit:
                self.grasped, self.lost = False, True
        return self._state()

    @property
    def _raised(self) -> float:
        return float(self.target[2] - TABLE_TOP - 0.03)

    def _state(self) -> State:
        target = self.scene.target.object
        return State(
            object=tuple(self.target.tolist()),
            turn=UPRIGHT,
            gripper=tuple(self.tips.tolist()),
            turn_of_gripper=UPRIGHT,
            opening=self.opening,
            raised=self._raised,
            grasped=self.grasped,
            touching=frozenset({"robot"} if self.grasped else {"table"}),
            held=target if self.grasped else "",
            success=self.grasped and self._raised > 0.01,
        )

    def picture(self) -> Picture:
        shade = int(255 * min(1.0, max(0.0, self.tips[2] - TABLE_TOP)))
        return Picture.from_pixels(np.full((12, 16, 3), shade, np.uint8))

    def close(self) -> None:
        self.closed += 1


class OtherEachTime(FakeWorld):
    """No two episodes are alike."""

    deterministic = False
    count = 0

    def start(self, scene: PickUpScene) -> State:
        super().start(scene)
        OtherEachTime.count += 1
        self.target[0] += 1e-6 * OtherEachTime.count
        return self._state()


class Deadly(FakeWorld):
    """Kills its process where the target is a carrot."""

    def start(self, scene: PickUpScene) -> State:
        if scene.target.object == "carrot":
            os._exit(9)
        return super().start(scene)


class Unstable(FakeWorld):
    """Breaks in the third step."""

    def start(self, scene: PickUpScene) -> State:
        self.steps = 0
        return super().start(scene)

    def step(self, action: np.ndarray) -> State:
        self.steps += 1
        if self.steps == 3:
            raise RuntimeError("the engine became unstable")
        return super().step(action)
