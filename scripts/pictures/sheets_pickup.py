"""The contact sheets of the pick-up domain: each object lying, standing and held; light, camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from vlmfail.core import Picture, SceneError, UsageError
from vlmfail.envs.pickup.episode import run_episode, telling_steps, with_frames
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.scene import CameraOffset, PickUpScene, Pose
from vlmfail.envs.pickup.space import X_RANGE, Y_RANGE
from vlmfail.envs.pickup.strip import captions, events
from vlmfail.envs.pickup.worlds.mujoco_world import MujocoWorld
from vlmfail.models.policies.scripted import Scripted

TILES, STANDING, HELD = 12, 3, 4
"""Pictures of a sheet; those of them of the object put down upright, and of one episode."""

LIGHTS, CAMERAS, CROWDS = "lights", "cameras", "distractors"
STEPS, TRIES = 30, 40
FACTORS = (0.25, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 2.5, 3.2, 4.0)

_TURNS = ("roll", "pitch", "yaw")
OFFSETS = (
    *(CameraOffset(**{turn: by}) for turn in _TURNS for by in (-5.0, 5.0)),
    *(CameraOffset(**{axis: by}) for axis in "xyz" for by in (-0.05, 0.05)),
)


class PickUpSheets:
    """Draws the sheets of the pick-up domain."""

    folder = "pickup"
    """Below --out."""

    def __init__(self) -> None:
        self.objects = tuple(thing.id for thing in objects().objects)
        self.names = (*self.objects, LIGHTS, CAMERAS, CROWDS)

    @cached_property
    def _world(self) -> MujocoWorld:
        return MujocoWorld()

    def draw(self, name: str, seed: int) -> tuple[list[Picture], list[str]]:
        """Return the pictures and captions of a sheet."""
        rng = np.random.default_rng([seed, self.names.index(name)])
        if name == LIGHTS:
            return self._each(
                [f"light x {f:g}" for f in FACTORS],
                lambda k: replace(self._crowd(rng), light=FACTORS[k]),
            )
        if name == CAMERAS:
            said = [
                ", ".join(f"{part} {getattr(o, part):+g}" for part in (*"xyz", *_TURNS)
                          if getattr(o, part))
                for o in OFFSETS
            ]  # fmt: skip
            return self._each(said, lambda k: replace(self._crowd(rng), camera=OFFSETS[k]))
        if name == CROWDS:
            return self._each([""] * TILES, lambda k: self._crowd(rng))
        return self._object(name, rng)

    def _object(self, name: str, rng: np.random.Generator) -> tuple[list[Picture], list[str]]:
        """Draw an object standing, lying, and picked up by the expert."""
        count = TILES - HELD
        pictures, said = self._each(
            ["put down upright" if k < STANDING else "lying" for k in range(count)],
            lambda k: alone(pose(name, k < STANDING, rng)),
        )
        for _ in range(TRIES):
            scene = alone(pose(name, False, rng))
            try:
                episode = run_episode(self._world, Scripted(), scene, STEPS)
            except SceneError:
                continue
            if episode.success_once:
                break
        frames = with_frames(self._world, episode, HELD).frames
        steps = telling_steps(episode, HELD)
        return [*pictures, *(frames[step] for step in steps)], [
            *said,
            *captions(events(episode), steps),
        ]

    def _crowd(self, rng: np.random.Generator) -> PickUpScene:
        """Return a scene with three other objects, which may not fit."""
        target, *others = rng.permutation(self.objects)[:4]
        return replace(
            alone(pose(str(target), bool(rng.random() < 0.5), rng)),
            distractors=tuple(pose(str(other), False, rng) for other in others),
        )

    def _each(
        self, said: list[str], scene: Callable[[int], PickUpScene]
    ) -> tuple[list[Picture], list[str]]:
        """Draw a settled scene for each caption; one that cannot be is drawn anew."""
        pictures, texts = [], []
        for k, text in enumerate(said):
            for _ in range(TRIES):
                one = scene(k)
                try:
                    self._world.start(one)
                except SceneError:
                    continue
                break
            else:
                raise UsageError(f"no scene for {text}: another --seed may help")
            pictures.append(self._world.picture())
            texts.append(", ".join(part for part in (one.instruction, text) if part))
        return pictures, texts


def pose(name: str, standing: bool, rng: np.random.Generator) -> Pose:
    """Return an object put down anywhere."""
    x, y = float(rng.uniform(*X_RANGE)), float(rng.uniform(*Y_RANGE))
    return Pose(name, x, y, standing, 0.0 if standing else float(rng.uniform(-np.pi, np.pi)))


def alone(target: Pose) -> PickUpScene:
    """Return the scene of one object."""
    return PickUpScene(target, f"pick {objects().of(target.object).title}")
