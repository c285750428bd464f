"""Episodes in a world of points: what is recorded, why they fail, and policies that misbehave."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.core import Outcome, SceneError
from vlmfail.envs.pickup.episode import Episode, run_episode, telling_steps, with_frames
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.reasons import Moments, distance, reason_of
from vlmfail.envs.pickup.scene import PickUpScene, Pose
from vlmfail.envs.pickup.worlds.world import State

from .fake_world import FakeWorld, OtherEachTime, Unstable
from .policies import Drunk, Expert, Gives, Grabber, Slow, Still

SIZE = (160, 128)


def scene(name: str = "redbull_can", x: float = -0.3, y: float = 0.1) -> PickUpScene:
    return PickUpScene(Pose(name, x, y, False, 0.3), f"pick {name}")


def play(policy: object, name: str = "redbull_can", **options: object) -> Episode:
    world = FakeWorld(None if getattr(policy, "privileged", False) else SIZE)
    return run_episode(world, policy, scene(name), **options)  # type: ignore[arg-type]


def test_a_success_goes_on_to_the_end() -> None:
    episode = play(Expert(), max_steps=30)
    assert episode.steps == 30
    assert (episode.success_once, episode.success_at_end, episode.error) == (True, True, None)
    record = episode.record(True)
    assert record["reason"] is None
    assert record["contacts"]["robot"] == episode.moments.grasped_step
    assert record["held"] == ["redbull_can"]


def test_lifted_and_dropped_is_a_success_once_but_not_at_the_end() -> None:
    episode = play(Expert(), "sponge")
    assert (episode.success_once, episode.success_at_end) == (True, False)
    assert episode.reason == "dropped"


@pytest.mark.parametrize(
    ("policy", "name", "reason"),
    [
        (Still(), "carrot", "never_reached"),
        (Expert(), "spoon", "slipped"),
        (Expert(), "sponge", "dropped"),
    ],
)
def test_reasons(policy: object, name: str, reason: str) -> None:
    assert play(policy, name).reason == reason


def test_a_grasp_that_misses() -> None:
    world = FakeWorld(SIZE)
    near = scene(x=-0.1, y=0.23)  # the gripper comes down 3 cm beside it
    assert run_episode(world, Grabber(), near).reason == "missed_grasp"


def test_a_grasp_of_the_air_on_the_way_is_none_that_missed() -> None:
    class Snaps(Still):
        """Closes once on its way, then waits open beside the object."""

        def reset(self, instruction: str) -> None:
            self.step = 0

        def act(self, observation: dict) -> np.ndarray:
            self.step += 1
            down = 0.03 if observation["state"][2] > 0.9 else 0.0
            return np.array([[0, 0, -down, 0, 0, 0, -1.0 if self.step == 1 else 1.0]])

    episode = run_episode(FakeWorld(SIZE), Snaps(), scene(x=-0.1, y=0.23))
    assert episode.moments.nearest < 0.05
    assert episode.reason == "timeout"


def test_no_time_left_while_holding() -> None:
    first = play(Expert()).moments.grasped_step
    assert first is not None
    episode = play(Expert(), max_steps=first)
    assert (episode.success_once, episode.reason) == (False, "timeout")


def test_another_object_held() -> None:
    start = FakeWorld().start(scene())
    other = State(**{**{f: getattr(start, f) for f in start.__slots__}, "held": "apple"})
    states, actions = (start, other), np.zeros((1, 7), np.float32)
    target = objects().of("redbull_can")
    assert reason_of(states, target, Moments.of(states, actions, target)) == "wrong_object"


def test_another_object_raised_without_a_grasp() -> None:
    start = FakeWorld().start(scene())
    states = (start, replace(start, also_raised=frozenset({"apple"})), start)
    actions, target = np.zeros((2, 7), np.float32), objects().of("redbull_can")
    assert reason_of(states, target, Moments.of(states, actions, target)) == "wrong_object"


def test_distance_is_to_the_axis_of_a_long_object() -> None:
    start = FakeWorld().start(scene("blue_plastic_bottle"))
    bottle = objects().of("blue_plastic_bottle")
    above = (start.object[0], start.object[1], start.object[2] + bottle.top + 0.03)
    state = State(**{**{f: getattr(start, f) for f in start.__slots__}, "gripper": above})
    assert distance(state, bottle) == pytest.approx(0.03)


def test_paths_have_a_row_a_step_to_a_tenth_of_a_millimetre() -> None:
    episode = play(Expert(), max_steps=9)
    record = json.loads(json.dumps(episode.record(False), allow_nan=False))
    for path in ("object_path", "gripper_path"):
        assert len(record[path]) == record["steps"] + 1 == 10
        assert all(round(n, 4) == n for row in record[path] for n in row)
    assert record["start"]["object"] == record["object_path"][0]


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (np.full((2, 7), np.nan), "not finite"),
        (np.zeros((2, 6)), r"shape \(2, 6\)"),
        (np.zeros((0, 7)), "empty"),
        (np.zeros((1, 1, 7)), "shape"),
        (None, "not finite|k x 7|shape"),
        ("up", "k x 7 numbers"),
        ([[1, 2], [3]], "k x 7 numbers"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: sys.exit(3), "SystemExit: 3"),
    ],
)
def test_a_policy_that_misbehaves_is_an_error_and_no_crash(thing: object, said: str) -> None:
    episode = play(Gives(thing))
    assert episode.error is Outcome.ERROR
    assert episode.note.startswith("the policy: ")
    assert re.search(said, episode.note)


def test_one_action_is_a_chunk_of_one_and_chunks_end_with_the_steps() -> None:
    assert play(Gives(np.zeros(7)), max_steps=3).steps == 3
    assert play(Still(), max_steps=10).steps == 10


def test_a_policy_cannot_change_what_was_done() -> None:
    chunk = np.zeros((4, 7), np.float32)
    episode = play(Gives(chunk), max_steps=4)
    chunk[:] = 1.0
    assert not episode.actions.any()


def test_a_slow_policy_is_a_timeout_where_there_is_a_limit() -> None:
    assert play(Slow(), max_steps=14).error is None
    episode = play(Slow(), max_steps=80, time_limit=0.05)
    assert episode.error is Outcome.TIMEOUT
    assert "0.05 s" in episode.note


def test_a_policy_that_times_out_itself() -> None:
    def late() -> None:
        raise TimeoutError("no reply for 30 s")

    episode = play(Gives(late))
    assert (episode.error, episode.note) == (Outcome.TIMEOUT, "no reply for 30 s")


def test_the_engine_s_fault_is_told_apart() -> None:
    episode = run_episode(Unstable(SIZE), Still(), scene())
    assert episode.error is Outcome.ERROR
    assert episode.note == "the world: RuntimeError: the engine became unstable"
    assert episode.steps == 2


def test_only_a_privileged_policy_sees_the_world() -> None:
    class Looks(Still):
        def act(self, observation: dict) -> np.ndarray:
            assert "world" not in observation
            return super().act(observation)

    assert play(Looks()).error is None


def test_the_same_again_has_the_same_digest() -> None:
    assert play(Expert()).digest == play(Expert()).digest
    assert play(Expert()).digest != play(Still()).digest
    world = OtherEachTime(SIZE)
    first, second = (run_episode(world, Still(), scene()) for _ in range(2))
    assert first.digest != second.digest


def test_a_scene_that_cannot_be_is_told() -> None:
    with pytest.raises(SceneError, match="rolled off"):
        play(Still(), "apple")


def test_frames_are_taken_afterwards_where_the_world_repeats_itself() -> None:
    episode = play(Expert())
    shown = with_frames(FakeWorld(), episode).frames
    assert list(shown) == telling_steps(episode)
    moments = episode.moments
    assert {0, moments.grasped_step, episode.steps} <= set(shown)
    assert len(shown) == 6
    # What is shown of a step is what was so then.
    taken = play(Expert(), frames=tuple(shown)).frames
    assert {k: p.sha256 for k, p in shown.items()} == {k: p.sha256 for k, p in taken.items()}


@pytest.mark.parametrize("steps", [0, 1, 3, 80])
def test_telling_steps_of_short_episodes(steps: int) -> None:
    told = telling_steps(play(Still(), max_steps=steps)) if steps else [0]
    assert told == sorted(set(told))
    assert len(told) == min(6, steps + 1)
    assert told[-1] == steps


def test_a_policy_that_draws_gets_the_trial_s_seed() -> None:
    policy = Drunk()
    policy.seed(3)
    first = play(policy).digest
    policy.seed(3)
    assert play(policy).digest == first
