"""Every registered environment, from the moment it is registered."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import vlmfail
from vlmfail.core import Domain, EpisodeDomain, UnknownNameError, UsageError, plays_episodes
from vlmfail.envs import ConceptSlots
from vlmfail.envs.registry import ENVS, domain_class, make_domain, make_env
from vlmfail.models.policies.registry import make_policy
from vlmfail.testing.domain_suite import DomainContractSuite
from vlmfail.testing.episode_suite import EpisodeDomainContractSuite

IDS = [row.id for row in ENVS]
PLANTED = "VLMFail-Planted-v0"  # its trials are draws: neither a question nor an episode
PLAYED = [row.id for row in ENVS if plays_episodes(domain_class(row.id)) and row.id != PLANTED]
ASKED = [env_id for env_id in IDS if env_id not in (*PLAYED, PLANTED)]
GUESS = "vlmfail.testing.toy:guess"
QUICK = {"max_steps": 4, "keep_frames": "none"}


def options_of(env_id: str) -> dict[str, Any]:
    if env_id == PLANTED:
        return {"trials": 1}
    if env_id not in PLAYED:
        return {"model": GUESS, "trials": 1}
    pytest.importorskip("mujoco")
    return {"model": "scripted", **QUICK}


def make(env_id: str, **options: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, **{**options_of(env_id), "budget": 12, **options})


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_checker_is_clean(env_id: str, recwarn: pytest.WarningsRecorder) -> None:
    check_env(make(env_id, render_mode="rgb_array").unwrapped)
    messages = [str(w.message) for w in recwarn if issubclass(w.category, UserWarning)]
    assert messages == []


@pytest.mark.parametrize("env_id", IDS)
def test_sb3_checker_is_clean(env_id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make(env_id, budget=3, lifetime_budget=7).unwrapped)


@pytest.mark.parametrize("env_id", IDS)
def test_ppo_learns(env_id: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    env = make(env_id, budget=3, lifetime_budget=7)
    if env_id in PLAYED:  # all of a box is valid
        sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=0).learn(32)
        assert env.unwrapped.state.spent == 7  # type: ignore[attr-defined]
        return
    with pytest.warns(UserWarning, match="ConceptSlots"):  # bits drawn alone are no valid set
        sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0).learn(256)


@pytest.mark.parametrize("env_id", [*ASKED, PLANTED])
def test_ppo_reaches_the_model_over_slots(env_id: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    env = ConceptSlots(make(env_id, budget=3, lifetime_budget=7))
    sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0).learn(256)
    assert env.unwrapped.state.spent == 7  # type: ignore[attr-defined]


class TestRegisteredDomains(DomainContractSuite):
    @pytest.fixture(autouse=True, params=ASKED)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self._env_id = request.param

    def make_domain(self) -> Domain[Any]:
        return make_domain(self._env_id)


class TestRegisteredEpisodeDomains(EpisodeDomainContractSuite):
    @pytest.fixture(autouse=True, params=PLAYED)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self._env_id = request.param
        pytest.importorskip("mujoco")

    def make_domain(self) -> EpisodeDomain[Any]:
        domain: Any = make_domain(self._env_id, **{**QUICK, "keep_frames": "failures"})
        return domain

    def make_policy(self) -> Any:
        return make_policy("scripted")


@pytest.mark.parametrize("env_id", IDS)
def test_ids_exist_in_spawned_workers(env_id: str) -> None:
    makers = [partial(gym.make, f"vlmfail:{env_id}", budget=2, **options_of(env_id))] * 2
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
    envs = gym.make_vec(env_id, num_envs=2, budget=3, **options_of(env_id))
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


@pytest.mark.parametrize("env_id", ASKED)
@pytest.mark.parametrize("model", ["scripted", "vlmfail.models.policies.scripted:Scripted"])
def test_a_policy_cannot_answer(env_id: str, model: str) -> None:
    with pytest.raises(UsageError, match="is a policy"):
        gym.make(env_id, model=model)


@pytest.mark.parametrize("env_id", PLAYED)
@pytest.mark.parametrize("model", ["tiny-vlm", "openai:gpt", GUESS])
def test_a_vision_language_model_cannot_act(env_id: str, model: str) -> None:
    with pytest.raises(UsageError, match=r"does not act.*scripted|lacks `reset`"):
        make(env_id, model=model)


@pytest.mark.parametrize("model", ["scripted", "tiny-vlm", "openai:gpt", GUESS, object()])
def test_a_landscape_tests_no_model(model: Any) -> None:
    with pytest.raises(UsageError, match="tests no model: leave it out, or give 'planted'"):
        make(PLANTED, model=model)


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
