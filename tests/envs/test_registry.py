"""Every registered environment, from the moment it is registered."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import vlmfail
from vlmfail.core import CandidateSpace, UnknownNameError
from vlmfail.envs.registry import ENVS, domain_class, make_domain, make_env

IDS = [row.id for row in ENVS]
GUESS = "vlmfail.testing.toy:guess"


def make(env_id: str, **options: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, **{"model": GUESS, "trials": 1, "budget": 12, **options})


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_checker_is_clean(env_id: str, recwarn: pytest.WarningsRecorder) -> None:
    check_env(make(env_id, render_mode="rgb_array").unwrapped)
    messages = [str(w.message) for w in recwarn if issubclass(w.category, UserWarning)]
    assert messages == []


@pytest.mark.parametrize("env_id", IDS)
def test_sb3_checker_is_clean(env_id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make(env_id).unwrapped)


@pytest.mark.parametrize("env_id", IDS)
def test_ppo_learns(env_id: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    env = make(env_id, budget=6, lifetime_budget=15)
    model = sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0)
    model.learn(256)
    assert env.unwrapped.state.spent <= 15  # type: ignore[attr-defined]


@pytest.mark.parametrize("env_id", IDS)
def test_action_spaces_are_one_dimensional_and_round_trip(env_id: str) -> None:
    env = make(env_id).unwrapped
    assert len(env.action_space.shape or ()) == 1
    env.action_space.seed(0)
    for _ in range(20):
        action = env.action_space.sample()
        candidate = env.decode(action)  # type: ignore[attr-defined]
        assert np.array_equal(env.encode(candidate), action)  # type: ignore[attr-defined]


@pytest.mark.parametrize("env_id", IDS)
def test_space_contract(env_id: str) -> None:
    space = make_domain(env_id).space
    assert isinstance(space, CandidateSpace)
    rng = np.random.default_rng(0)
    for _ in range(50):
        candidate = space.sample(rng)
        assert space.validate(candidate) is None
        assert space.from_json(space.to_json(candidate)) == candidate
        features = space.featurise(candidate)
        assert features.shape == (len(space.features),)
        assert features.min() >= 0
        assert features.max() <= 1


@pytest.mark.parametrize("env_id", IDS)
def test_pickles(env_id: str) -> None:
    domain = make_domain(env_id)
    again = pickle.loads(pickle.dumps(domain))
    assert again.space.features == domain.space.features
    assert len(pickle.dumps(domain)) < 100_000


@pytest.mark.parametrize("env_id", IDS)
def test_ids_exist_in_spawned_workers(env_id: str) -> None:
    makers = [partial(gym.make, f"vlmfail:{env_id}", model=GUESS, trials=1, budget=2)] * 2
    envs = gym.vector.AsyncVectorEnv(makers, context="spawn")
    envs.reset(seed=[0, 1])
    envs.action_space.seed(0)
    candidates = make_domain(env_id).space
    rng = np.random.default_rng(0)
    actions = np.stack([candidates.encode(candidates.sample(rng)) for _ in range(2)])
    _, rewards, *_ = envs.step(actions)
    assert rewards.shape == (2,)
    envs.close()


@pytest.mark.parametrize("env_id", IDS)
def test_make_vec_shares_one_budget(env_id: str) -> None:
    envs = gym.make_vec(env_id, num_envs=2, model=GUESS, trials=1, budget=3)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    *_, truncated, _ = envs.step(envs.action_space.sample())
    assert not truncated.any()
    *_, truncated, _ = envs.step(envs.action_space.sample())
    assert truncated.all()
    envs.close()


@pytest.mark.parametrize("env_id", IDS)
def test_unknown_option_is_told(env_id: str) -> None:
    with pytest.raises(UnknownNameError, match="did you mean budget"):
        gym.make(env_id, bugdet=3)


def test_unknown_env_is_told() -> None:
    with pytest.raises(UnknownNameError, match="VLMFail-Driving-v0"):
        domain_class("VLMFail-Drivin-v0")
    with pytest.raises(UnknownNameError, match="max_size"):
        make_domain("VLMFail-Driving-v0", max_siz=3)


def test_a_plugged_in_domain_needs_no_registration() -> None:
    env = make_env(
        "vlmfail.testing.toy:ToyDomain", model="vlmfail.testing.toy:ToyModel", max_size=2
    )
    assert env.candidates.sample(np.random.default_rng(0))
    assert vlmfail.make("VLMFail-Driving-v0", model=GUESS).unwrapped.domain.name == "driving"
