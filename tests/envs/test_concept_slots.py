"""ConceptSlots on the toy domain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from vlmfail.core import UsageError
from vlmfail.envs.concept_slots import ConceptSlots
from vlmfail.envs.failure_env import FailureEnv
from vlmfail.envs.options import EnvOptions
from vlmfail.testing.toy import CONCEPTS, ToyDomain, ToyModel

N = len(CONCEPTS)


def slots(max_size: int = 3) -> ConceptSlots:
    return ConceptSlots(FailureEnv(ToyDomain(max_size), EnvOptions(model=ToyModel(), budget=50)))


def at(*names: str) -> np.ndarray:
    values = [CONCEPTS.index(name) if name else N for name in names]
    return np.array(values)


def test_repeated_empty_and_conflicting_slots_are_skipped() -> None:
    env = slots()
    assert env.candidate(at("dog", "dog", "")) == {"dog"}
    assert env.candidate(at("dog", "rain", "sun")) == {"dog", "rain"}


def test_what_stays_incomplete_is_an_invalid_step_that_costs_nothing() -> None:
    env = slots()
    env.reset(seed=0)
    *_, info = env.step(at("rain", "night", ""))
    assert not info["valid"]


def test_nearly_every_action_is_valid_and_every_valid_set_reachable() -> None:
    env = slots()
    space = env.unwrapped.candidates  # type: ignore[attr-defined]
    reached = {
        env.candidate(np.array(action)) for action in itertools.product(range(N + 1), repeat=3)
    }
    rows = space.valid_sets()
    assert {space.from_multi_hot(row) for row in rows} <= reached
    assert env.action_space.contains(at("dog", "", ""))


def test_mask_forbids_an_empty_first_slot_only() -> None:
    mask = slots().action_masks()
    assert mask.shape == (3 * (N + 1),)
    assert not mask[N]
    assert mask.sum() == mask.size - 1


def test_other_spaces_are_refused() -> None:
    import gymnasium as gym

    with pytest.raises(UsageError, match="concept sets"):
        ConceptSlots(gym.make("CartPole-v1"))


@pytest.mark.parametrize("action", [[-1, 0, 0], [0, 1, 99], [0, 1], [[1], [1, 2], 3], [0.5, 1, 2]])
def test_what_are_no_slots_is_told(action) -> None:
    with pytest.raises(UsageError, match="expected 3 numbers from 0 to"):
        slots().candidate(action)
