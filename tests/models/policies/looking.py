"""A world that draws its points, and policies that read nothing but its pictures."""

from __future__ import annotations

import os
import time

import numpy as np

from vlmfail.core import Picture
from vlmfail.envs.pickup.scene import ROBOT, TABLE_TOP, PickUpScene
from vlmfail.envs.pickup.worlds.world import State

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
PIXEL = 0.005
LEFT, NEAR = -0.6, -0.1


def pixel(x: float, y: float) -> tuple[int, int]:
    return int((x - LEFT) / PIXEL), int((y - NEAR) / PIXEL)


class DrawnWorld:
    """Seen from above: the gripper is red, the target green; it is held when closed within 2 cm.

    A spoon slips away. Turning the hand by a tenth of a radian or more drops whatever is held.
    """

    name = "drawn"
    deterministic = True

    def __init__(self, picture_size: tuple[int, int] | None = None) -> None:
        self.size = (120, 160)

    def start(self, scene: PickUpScene) -> State:
        self.scene = scene
        self.tips = np.array([-0.1, 0.2, TABLE_TOP + 0.03])
        self.target = np.array([scene.target.x, scene.target.y, TABLE_TOP + 0.03])
        self.opening, self.grasped = 0.09, False
        return self.state()

    def observe(self) -> dict[str, object]:
        image = np.full((self.size[1], self.size[0], 3), 90, np.uint8)
        for point, shade in ((self.target, (0, 200, 0)), (self.tips, (200, 0, 0))):
            image[pixel(point[0], point[1])] = shade
        ahead = [ROBOT[0] - self.tips[0], ROBOT[1] - self.tips[1], self.tips[2]]
        state = np.array([*ahead, *UPRIGHT, self.opening], np.float32)
        return {"instruction": self.scene.instruction, "state": state, "image": image}

    def step(self, action: np.ndarray) -> State:
        self.tips = self.tips + np.clip(action[:3], -0.1, 0.1) * (-1.0, -1.0, 1.0)
        self.tips = np.clip(self.tips, (-0.55, -0.05, 0.8), (0.15, 0.45, 1.5))
        self.opening = float(0.045 * (1 + np.clip(action[6], -1, 1)))
        near = np.linalg.norm(self.tips - self.target) < 0.02
        turned = np.linalg.norm(action[3:6]) > 0.1 or self.scene.target.object == "spoon"
        self.grasped = bool(action[6] < 0 and near and not turned)
        if self.grasped:
            self.target = self.tips.copy()
        return self.state()

    def state(self) -> State:
        raised = float(self.target[2] - TABLE_TOP - 0.03)
        return State(
            object=tuple(self.target.tolist()),
            turn=UPRIGHT,
            gripper=tuple(self.tips.tolist()),
            turn_of_gripper=UPRIGHT,
            opening=self.opening,
            raised=raised,
            grasped=self.grasped,
            touching=frozenset({"robot"} if self.grasped else {"table"}),
            held=self.scene.target.object if self.grasped else "",
            success=self.grasped and raised > 0.01,
        )

    def picture(self) -> Picture:
        return Picture.from_pixels(np.full((12, 16, 3), 90, np.uint8))

    def close(self) -> None:
        pass


class Looker:
    """Sees where the two points are, goes there, closes and raises; draws a little noise."""

    name = "looker"

    def seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def reset(self, instruction: str) -> None:
        self.closed = "apple" in instruction  # it is wrong about apples
        self.count = 0

    def act(self, observation: dict) -> np.ndarray:
        image = observation["image"]
        assert image.dtype == np.uint8
        assert observation["instruction"].startswith("pick")
        red, green = (np.argwhere(image[..., c] == 200) for c in (0, 1))
        noise = self.rng.normal(0, 0.001, 3)
        if not len(green) or np.abs(red[0] - green[0]).max() <= 1:
            self.closed = True
            return np.array([[0, 0, 0, 0, 0, 0, -1.0], [0, 0, 0.02, 0, 0, 0, -1.0]])
        row, column = (red[0] - green[0]) * PIXEL
        move = np.array([row, column, observation["state"][7] * 0.01]) + noise * (1, 1, 0)
        gripper = -1.0 if self.closed else 1.0
        return np.array([[*(move / 2), 0, 0, 0, gripper]] * 2)


class Sulking(Looker):
    """Refuses to pick up a sponge, and falls asleep over a carrot."""

    name = "sulking"

    def act(self, observation: dict) -> np.ndarray:
        if "sponge" in observation["instruction"]:
            raise ValueError("not a sponge again")
        if "carrot" in observation["instruction"]:
            time.sleep(2.8)
        return super().act(observation)


class Mortal(Looker):
    """Takes its process with it when it has to pick up a carrot."""

    name = "mortal"

    def act(self, observation: dict) -> np.ndarray:
        if "carrot" in observation["instruction"]:
            os._exit(9)
        return super().act(observation)
