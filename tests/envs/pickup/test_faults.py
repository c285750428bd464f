"""Faults of policies and engines: whose each is, and that none becomes a pass or a failure."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail.core import Outcome, Picture, SceneError, TrialRecord, UsageError
from vlmfail.envs.episodes import Player
from vlmfail.envs.pickup.domain import PickUpDomain
from vlmfail.envs.pickup.episode import run_episode
from vlmfail.envs.pickup.scene import PickUpScene, Pose
from vlmfail.envs.pickup.worlds.registry import make_world
from vlmfail.envs.pickup.worlds.world import State

from .fake_world import FakeWorld
from .policies import Expert, Gives, Still

HERE = Path(__file__).parent
WORLD = f"{HERE / 'fake_world.py'}:FakeWorld"
CAN = PickUpScene(Pose("redbull_can", -0.3, 0.1, False, 0.3), "pick red bull can")


def trial(policy: object, world: FakeWorld, name: str = "carrot", keep: str = "failures") -> Any:
    domain = PickUpDomain(world=WORLD, max_steps=20, keep_frames=keep)  # type: ignore[arg-type]
    candidate = domain.space.candidate(object=name, x=-0.3, y=0.1, standing=True)
    return domain.run_episode(world, policy, candidate, 0, run_seed=0)  # type: ignore[arg-type]


def raising(error: BaseException) -> Callable[[], Any]:
    def call(*_: object) -> Any:
        raise error

    return call


class Mute(Exception):
    """Cannot be printed."""

    def __str__(self) -> str:
        raise ValueError("no words")


# -- policies ----------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        [["0", "0", "0", "0", "0", "0", "1"]],
        np.zeros((2, 7), complex),
        np.zeros((2, 7), "M8[s]"),
        np.zeros((2, 7), "m8[s]"),
        np.zeros((2, 7), bool),
        np.zeros((2, 7), object),
        [[10**400] * 7],
        (number for number in range(7)),
        b"1234567",
    ],
)
def test_what_numpy_would_make_numbers_of_is_no_action(given: object) -> None:
    record, _ = trial(Gives(given), FakeWorld((160, 128)))
    assert record.trial.outcome is Outcome.ERROR
    assert "not k x 7 numbers" in record.trial.note


def test_a_buffer_that_is_used_again_changes_nothing_of_what_was_done() -> None:
    class Reuses(Still):
        """Closes the gripper in its first chunk alone."""

        def reset(self, instruction: str) -> None:
            self.chunk = np.zeros((1, 7), np.float32)
            self.calls = 0

        def act(self, observation: dict) -> np.ndarray:
            self.calls += 1
            self.chunk[0, 0] = self.calls / 1000
            self.chunk[0, 6] = -1.0 if self.calls == 1 else 1.0
            return self.chunk

    episode = run_episode(FakeWorld((160, 128)), Reuses(), CAN, max_steps=4)
    assert episode.actions[:, 0].tolist() == pytest.approx([0.001, 0.002, 0.003, 0.004])
    assert episode.actions[:, 6].tolist() == [-1.0, 1.0, 1.0, 1.0]
    assert trial(Reuses(), FakeWorld((160, 128)))[0].trial.note == ""  # its strip shows the same


@pytest.mark.parametrize(
    ("error", "outcome", "note"),
    [
        (SystemExit(3), Outcome.ERROR, "the policy: SystemExit: 3"),
        (ValueError("no such seed"), Outcome.ERROR, "the policy: ValueError: no such seed"),
        (SceneError("it fell"), Outcome.ERROR, "the policy: SceneError: it fell"),
        (TimeoutError(), Outcome.TIMEOUT, "the policy timed out"),
        (Mute(), Outcome.ERROR, "the policy: Mute"),
    ],
)
@pytest.mark.parametrize("part", ["seed", "reset", "act"])
def test_whatever_part_of_a_policy_fails_it_is_the_policy(
    part: str, error: BaseException, outcome: Outcome, note: str
) -> None:
    policy: Any = Still()
    setattr(policy, part, raising(error))
    record, _ = trial(policy, FakeWorld((160, 128)))
    assert (record.trial.outcome, record.trial.note) == (outcome, note)


# -- engines ----------------------------------------------------------------


@pytest.mark.parametrize("part", ["start", "observe", "step"])
@pytest.mark.parametrize("error", [TimeoutError("it hangs"), SystemExit(5), RuntimeError("broken")])
def test_what_the_engine_does_wrong_is_no_outcome_of_the_policy(
    part: str, error: BaseException
) -> None:
    world: Any = FakeWorld((160, 128))
    setattr(world, part, raising(error))
    record, _ = trial(Still(), world)
    assert record.trial.outcome is Outcome.ERROR
    assert record.trial.note.startswith(f"the world: {type(error).__name__}: ")


@pytest.mark.parametrize(
    "lost",
    [
        {"object": (math.nan, 0.0, 0.0)},
        {"gripper": (0.0, math.inf, 0.0)},
        {"raised": math.nan},
        {"opening": math.nan},
    ],
)
@pytest.mark.parametrize("first", [0, 3])
def test_an_engine_that_lost_count_is_judged_not_at_all(lost: dict[str, Any], first: int) -> None:
    class Lost(FakeWorld):
        count = 0

        def _state(self) -> State:
            self.count += 1
            state = super()._state()
            return replace(state, **lost) if self.count > first else state

    record, _ = trial(Still(), Lost((160, 128)))
    assert record.trial.outcome is Outcome.ERROR
    assert "lost count" in record.trial.note


class Blind(FakeWorld):
    """Has no pictures for people."""

    def picture(self) -> Picture:
        raise RuntimeError("no light")


class Once(FakeWorld):
    """Sets a scene up once."""

    started = 0

    def start(self, scene: PickUpScene) -> State:
        self.started += 1
        if self.started > 1:
            raise SceneError("it falls now")
        return super().start(scene)


class Wavers(FakeWorld):
    """Says that it does the same again, and does not."""

    started = 0

    def start(self, scene: PickUpScene) -> State:
        self.started += 1
        super().start(scene)
        self.target[0] += 1e-9 * self.started
        return self._state()


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Blind, "no light"), (Once, "it falls now"), (Wavers, "something else")],
)
def test_a_failure_without_pictures_is_still_a_failure(kind: type[FakeWorld], said: str) -> None:
    record, picture = trial(Still(), kind((160, 128)))
    assert (record.trial.outcome, record.trial.direction) == (Outcome.FAIL, "never_reached")
    assert record.trial.note.startswith("no pictures: ")
    assert said in record.trial.note
    assert picture is None
    passed, _ = trial(Expert(), kind())
    assert (passed.trial.outcome, passed.trial.note) == (Outcome.PASS, "")


class Stubborn(FakeWorld):
    """Breaks, and cannot be closed."""

    def step(self, action: np.ndarray) -> State:
        raise RuntimeError("broken")

    def close(self) -> None:
        super().close()
        raise RuntimeError("it does not close")


@pytest.mark.parametrize("kind", [Stubborn, Blind])
def test_after_a_fault_there_is_another_world(kind: type[FakeWorld]) -> None:
    made: list[FakeWorld] = []

    class Domain(PickUpDomain):
        def make_world(self, policy: object = None) -> Any:
            made.append(kind((160, 128)))
            return made[-1]

    domain = Domain(world=WORLD, max_steps=5)
    candidate = domain.space.candidate(object="carrot", x=-0.3, y=0.1, standing=True)
    player = Player(domain, Still())
    records: list[TrialRecord] = [player((candidate, index, 0))[0] for index in range(2)]
    assert [world.closed for world in made] == [1, 1]
    assert records[0].trial.outcome is records[1].trial.outcome


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("json:loads", "making it failed: TypeError"),
        ("builtins:dict", "it lacks name, deterministic, start"),
        ("fractions:Fraction", "making it failed: TypeError"),
    ],
)
def test_what_is_no_engine_is_one_line(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        make_world(name, None)
    assert "\n" not in str(caught.value)


# -- options ----------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"world": 5},
        {"world": None},
        {"world": ["mujoco"]},
        {"world": "mujoco\0"},
        {"simpler_python": 5},
        {"simpler_python": []},
        {"picture": [math.inf, 128]},
        {"picture": [160.7, 128]},
        {"picture": [True, 128]},
        {"picture": [10**400, 128]},
        {"keep_frames": np.zeros(3)},
        {"success": ["once"]},
        {"success": "o" * 10_000},
        {"time_limit": math.inf},
        {"time_limit": 10**400},
        {"time_limit": math.nan},
        {"max_steps": 10**400},
        {"max_steps": "9" * 10_000},
    ],
)
def test_odd_options_are_one_short_line(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        PickUpDomain(**{"world": WORLD, **options})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert next(iter(options)) in str(caught.value)


def test_a_policy_that_exits_while_it_is_seeded_does_not_end_the_run() -> None:
    policy: Any = Still()
    policy.seed = lambda seed: sys.exit(0)
    assert trial(policy, FakeWorld((160, 128)))[0].trial.outcome is Outcome.ERROR
