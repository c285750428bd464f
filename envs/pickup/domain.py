"""The pick-up world: scene vector → scene → episode of a policy."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from ...core import (
    MissingDependencyError,
    ModelFault,
    Outcome,
    Picture,
    Policy,
    SceneError,
    Stream,
    Trial,
    TrialRecord,
    UnaskedError,
    UnknownNameError,
    UsageError,
)
from ...core.seeding import trial_sequence
from ...core.text import tamed
from ...models.replies import fault
from ..data_files import data_identity
from ..episodes import DIGEST
from .episode import LONGEST_NOTE, Episode, rounded, run_episode, with_frames
from .objects import objects
from .reasons import REASONS
from .scene import PickUpScene
from .space import check_scene, pickup_space, scene_of
from .strip import strip
from .worlds.registry import looks, make_world
from .worlds.world import World

Keep = Literal["failures", "all", "none"]
Success = Literal["once", "end"]

RENDERERS = ("embree",)

FRAMES = 6
"""Pictures in a strip."""

RULE = "PICK"
"""Id of the rule by which an episode is judged."""


class PickUpDomain:
    """FATE-VLA's pick-up task (§4) on SimplerEnv's table; implements `core.EpisodeDomain`.

    A candidate fixes its scene: two trials of it differ only if the policy or the engine do.

    Args:
        world: The engine: ``"mujoco"``, ``"maniskill"``, ``"simpler"``, or
            ``module_or_file:Class``.
        factors: Further dimensions of the candidate: any of ``"distractors"``, ``"light"``,
            ``"camera"``, ``"instruction"``.
        objects: Ids of the objects to pick up; by default all seven.
        max_steps: Actions of an episode, at most.
        picture: Width and height of what a policy sees, pixels.
        keep_frames: Of which episodes a strip of pictures is kept.
        success: Whether the object must be up at some step, or at the last.
        time_limit: Seconds that the policy may take for one episode; beyond, the outcome is
            ``timeout``. None: no limit.
        simpler_python: Path of the interpreter that has SimplerEnv, for world ``"simpler"``.
    """

    name = "pickup"
    defaults: Mapping[str, Any] = {"trials": 1, "model": "scripted"}

    def __init__(
        self,
        world: str = "mujoco",
        factors: Sequence[str] = (),
        objects: Sequence[str] | None = None,
        max_steps: int = 80,
        picture: Sequence[int] = (160, 128),
        keep_frames: Keep = "failures",
        success: Success = "once",
        time_limit: float | None = None,
        simpler_python: str | None = None,
    ) -> None:
        self.world = _text("world", world)
        self.factors = _names("factors", factors)
        self.objects = None if objects is None else _names("objects", objects)
        self.max_steps = _whole("max_steps", max_steps)
        self.picture = _size(picture)
        self.keep_frames = _one_of("keep_frames", keep_frames, get_args(Keep))
        self.success = _one_of("success", success, get_args(Success))
        self.time_limit = _seconds(time_limit)
        self.simpler_python = (
            None if simpler_python is None else _text("simpler_python", simpler_python)
        )
        self.space = pickup_space(self.factors, self.objects)

    def identity(self) -> dict[str, Any]:
        """Return versions and a digest of the domain's data, its targets, the engine's version."""
        found: dict[str, Any] = dict(data_identity({"objects": objects()}))
        found["targets"] = list(self.space.dimensions[0].choices)
        if self.world in _PACKAGES:
            found[self.world] = _version(_PACKAGES[self.world])
        return found

    def check(self) -> None:
        """Raise what forbids any episode: an unknown engine, one that is not installed or set up.

        Raises:
            UsageError: The engine cannot do what a factor asks for.
        """
        world = make_world(self.world, None, self.simpler_python)
        world.close()
        able = getattr(world, "factors", self.factors)
        for factor in self.factors:
            if factor not in able:
                raise UsageError(
                    f"factors: world {self.world!r} has no {factor!r}; it has {', '.join(able)}"
                )

    def make_world(self, policy: Policy | None = None) -> World:
        """Return an engine for a policy; for one that does not look, without its pictures."""
        size = None if policy and not looks(policy) else self.picture
        return make_world(self.world, size, self.simpler_python)

    def scene(self, candidate: Any) -> PickUpScene:
        """Return the scene that a candidate stands for.

        Raises:
            InvalidCandidateError: The vector is outside the box.
            SceneError: The scene cannot be.
        """
        scene = scene_of(self.space, candidate, self.world)
        check_scene(scene)
        return scene

    def scene_record(self, candidate: Any) -> dict[str, Any]:
        """Return what a record keeps of a scene, for a trial that died before it was recorded."""
        return dict(scene_of(self.space, candidate, self.world).record())

    def run_episode(
        self, world: World, policy: Policy, candidate: Any, index: int, *, run_seed: int
    ) -> tuple[TrialRecord, Picture | None]:
        """Play one trial; see `core.EpisodeDomain`."""
        key = self.space.key(candidate)
        clock = time.perf_counter()
        scene = scene_of(self.space, candidate, self.world)
        record: dict[str, Any] = {**scene.record(), "world": world.name}
        try:
            check_scene(scene)
            seeds = trial_sequence(run_seed, key, index, Stream.MODEL)
            episode = run_episode(
                world,
                policy,
                scene,
                max_steps=self.max_steps,
                frames=self._frames(world),
                time_limit=self.time_limit,
                seed=int(seeds.generate_state(1)[0]),
            )
        except SceneError as error:
            return self._without(key, index, Outcome.INVALID_SCENE, str(error), record, clock)
        except (KeyboardInterrupt, ModelFault, MissingDependencyError, UnaskedError):
            raise
        except BaseException as error:  # the engine's own fault is one trial's, not the run's
            note = f"the world: {fault(error)}"
            return self._without(key, index, Outcome.ERROR, note, record, clock)
        success = self._succeeded(episode)
        picture, untold = self._strip(world, episode, success)
        outcome = episode.error or (Outcome.PASS if success else Outcome.FAIL)
        reason = episode.reason if outcome is Outcome.FAIL else None
        record["episode"] = episode.record(success)
        record["truth_reason"] = "" if reason is None else REASONS[reason]
        if episode.error is not Outcome.TIMEOUT:  # a clock does not stop twice at the same time
            record[DIGEST] = _digest(episode)
        trial = Trial(
            key=key,
            index=index,
            outcome=outcome,
            rule=RULE if episode.error is None else None,
            direction=reason,
            picture=None if picture is None else picture.sha256,
            note=episode.note or untold,
        )
        total = time.perf_counter() - clock
        return TrialRecord(
            trial,
            prompt=scene.instruction,
            scene=record,
            seconds_render=max(0.0, total - episode.seconds),
            seconds_model=episode.seconds,
        ), picture

    def preview(self, world: World, candidate: Any) -> tuple[Mapping[str, Any], Picture]:
        """Return the scene of a candidate as JSON values, and its picture once it has settled.

        Raises:
            InvalidCandidateError: The vector is outside the box.
            SceneError: The scene cannot be set up.
        """
        scene = self.scene(candidate)
        start = world.start(scene)
        settled = {"object": rounded(start.object), "turn": rounded(start.turn)}
        return {**scene.record(), "settled": settled}, world.picture()

    def _succeeded(self, episode: Episode) -> bool:
        return episode.success_once if self.success == "once" else episode.success_at_end

    def _frames(self, world: World) -> tuple[int, ...]:
        """Return the steps to take pictures at; a deterministic world can be asked afterwards."""
        if self.keep_frames == "none" or world.deterministic:
            return ()
        stride = max(1, math.ceil(self.max_steps / (FRAMES - 1)))
        return (*range(0, self.max_steps, stride), self.max_steps)

    def _strip(self, world: World, episode: Episode, success: bool) -> tuple[Picture | None, str]:
        """Return the strip of an episode that is to have one, or why it has none.

        An episode that was judged stays judged: were it an error, failures alone would be lost,
        since passes need no pictures.
        """
        wanted = self.keep_frames == "all" or (self.keep_frames == "failures" and not success)
        if not wanted or (episode.error is not None and self.keep_frames != "all"):
            return None, ""
        try:
            return strip(with_frames(world, episode, FRAMES)), ""
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return None, tamed(f"no pictures: {fault(error)}", LONGEST_NOTE)

    @staticmethod
    def _without(
        key: str, index: int, outcome: Outcome, note: str, scene: dict[str, Any], clock: float
    ) -> tuple[TrialRecord, None]:
        trial = Trial(key, index, outcome, note=tamed(note, LONGEST_NOTE))
        seconds = time.perf_counter() - clock
        return TrialRecord(trial, scene=scene, seconds_render=seconds), None


def _digest(episode: Episode) -> str:
    """Return the digest of an episode; of one that was broken off, why it was is part of it."""
    if episode.error is None:
        return episode.digest
    return hashlib.sha256(f"{episode.digest} {episode.note}".encode("utf-8", "replace")).hexdigest()


_PACKAGES = {"mujoco": "mujoco", "maniskill": "mani-skill"}


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _names(option: str, given: Any) -> tuple[str, ...]:
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, Sequence):
        raise UsageError(f"{option}: expected names, got {given!r:.60}")
    return tuple(dict.fromkeys(str(name).strip() for name in names if str(name).strip()))


def _text(option: str, given: object) -> str:
    if not isinstance(given, str) or "\0" in given:
        raise UsageError(f"{option}: expected text, got {given!r:.60}")
    return given


def _whole(option: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
        raise UsageError(f"{option}: expected a whole number from 1 to 10000, got {value!r:.60}")
    return value


def _size(given: Any) -> tuple[int, int]:
    text = given.lower().replace("x", ",").split(",") if isinstance(given, str) else given
    try:
        width, height = (_side(number) for number in text)
    except (TypeError, ValueError):
        raise UsageError(f"picture: expected width and height, got {given!r:.60}") from None
    if not (16 <= width <= 4096 and 16 <= height <= 4096):
        raise UsageError(f"picture: expected sides of 16 to 4096 pixels, got {given!r:.60}")
    return width, height


def _side(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, str)):
        raise TypeError
    return int(number)


def _one_of(option: str, value: Any, known: Sequence[str]) -> Any:
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(option, f"{value!s:.200}", known)
    return value


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1e9:
        raise UsageError(f"time_limit: expected seconds above 0, got {value!r:.60}")
    return float(value)
