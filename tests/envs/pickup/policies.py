"""Policies for the world of points."""

from __future__ import annotations

import time

import numpy as np


class Expert:
    """Goes to the target, closes and raises it, four actions at a time."""

    name = "expert"
    privileged = True

    def reset(self, instruction: str) -> None:
        self.instruction = instruction

    def act(self, observation: dict) -> np.ndarray:
        world = observation["world"]
        assert "image" not in observation
        gap = np.array(world.object) - np.array(world.gripper)
        if world.grasped:
            move, gripper = np.array([0.0, 0.0, 0.03]), -1.0
        elif np.linalg.norm(gap) < 0.02:
            move, gripper = np.zeros(3), -1.0
        else:
            move, gripper = gap * (-1.0, -1.0, 1.0), 1.0
        return np.array([[*move, 0, 0, 0, gripper]] + [[0, 0, 0, 0, 0, 0, gripper]] * 3)


class Still:
    """Does nothing, in chunks that do not divide the steps."""

    name = "still"

    def reset(self, instruction: str) -> None:
        pass

    def act(self, observation: dict) -> np.ndarray:
        assert observation["image"].shape == (128, 160, 3)
        return np.tile(np.array([0, 0, 0, 0, 0, 0, 1.0]), (7, 1))


class Gives(Still):
    """Gives the same thing whatever it sees."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def act(self, observation: dict) -> object:
        return self.thing() if callable(self.thing) else self.thing


class Slow(Still):
    """Takes 30 ms for a chunk."""

    def act(self, observation: dict) -> np.ndarray:
        time.sleep(0.03)
        return super().act(observation)


class Drunk(Still):
    """Moves at random, by the trial's seed."""

    name = "drunk"

    def seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: dict) -> np.ndarray:
        moves = self.rng.normal(0, 0.05, (8, 3))
        return np.hstack([moves, np.zeros((8, 3)), -np.ones((8, 1))])


class Grabber(Still):
    """Goes down onto nothing near the robot and closes."""

    def act(self, observation: dict) -> np.ndarray:
        down = 0.03 if observation["state"][2] > 0.9 else 0.0
        return np.array([[0, 0, -down, 0, 0, 0, -1.0]])


instance = Still()
