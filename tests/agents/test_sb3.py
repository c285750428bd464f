"""The bridge to Stable-Baselines3; the contract itself is tested with the peers `ppo`."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlmfail
from vlmfail.agents._lockstep import LockStep
from vlmfail.agents._unseen import Unseen
from vlmfail.core import AgentError, UnknownNameError, UsageError
from vlmfail.envs.failure_env import FailureEnv
from vlmfail.envs.options import EnvOptions
from vlmfail.testing.simulated import Drive, SimulatedTrials
from vlmfail.testing.toy import ToyDomain, ToyModel, ToyVector, toy_space, toy_vector_space

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from vlmfail.agents.sb3 import SB3Agent, load_algorithm, train  # noqa: E402

pytestmark = pytest.mark.xdist_group("peers")

A2C: dict[str, Any] = {"algorithm": "A2C", "n_steps": 2}


def search(agent: Any, space: Any = None, *, batch: int = 4, budget: int = 16) -> Drive:
    space = space or toy_space()
    evaluate = SimulatedTrials(space, lambda candidate: 0.5)
    return Drive(agent, space, evaluate, trials=1, budget=budget, batch=batch)


def toy_env(domain: Any = None, **options: Any) -> FailureEnv:
    settings = {"model": ToyModel(), "trials": 2, "budget": 8, "renderer": "flat", **options}
    return FailureEnv(domain or ToyDomain(), EnvOptions(**settings))


@pytest.mark.parametrize("algorithm", ["SAC", "TD3"])
def test_algorithms_off_policy_search_vectors(algorithm: str) -> None:
    agent = SB3Agent(algorithm, learning_starts=4, batch_size=4, buffer_size=50, parallel=2)
    run = search(agent, toy_vector_space(), batch=2, budget=12)
    assert len(set(run.keys)) == 12


def test_what_an_algorithm_cannot_do_is_a_line() -> None:
    with pytest.raises(UsageError, match=r"DQN cannot be used here: .*MultiDiscrete"):
        search(SB3Agent("DQN"))
    with pytest.raises(UsageError, match=r"A2C cannot be used here: .*n_stepz"):
        search(SB3Agent("A2C", n_stepz=3))
    with pytest.raises(UnknownNameError, match="did you mean PPO"):
        load_algorithm("PPOO")
    with pytest.raises(UsageError, match="parallel: expected a whole number"):
        SB3Agent(parallel=0)


def test_rewards_and_observations_are_those_told() -> None:
    """Each step's rewards are the failure rates, in the order of its actions."""
    import stable_baselines3

    steps: list[Any] = []

    class Spy(stable_baselines3.A2C):  # type: ignore[misc, name-defined]
        def train(self) -> None:
            buffer = self.rollout_buffer
            steps.append((buffer.observations.copy(), buffer.rewards.copy()))

    run = search(SB3Agent(Spy, n_steps=2), batch=4, budget=20)
    space = toy_space()
    told = [run.evaluations[i : i + 4] for i in range(0, 20, 4)]
    rates = [[one.rate for one in batch] for batch in told]
    assert [row.tolist() for row in steps[0][1]] == rates[:2]
    assert [row.tolist() for row in steps[1][1]] == rates[2:4]
    shown = steps[0][0][1][:, : len(space.features)]
    assert np.array_equal(shown, [space.featurise(one.candidate) for one in told[0]])


def test_smaller_batches_fill_a_step_in_turns() -> None:
    agent = SB3Agent(**A2C)
    space = toy_space()
    agent.bind(space, seed=0, trials=1, budget=40)
    evaluate = SimulatedTrials(space, lambda candidate: 0.5)
    sizes = []
    for n in (4, 3, 3, 1, 8):
        batch = agent.ask(n)
        sizes.append(len(batch))
        agent.tell([evaluate(one, 1) for one in batch])
    assert sizes == [4, 3, 1, 1, 3], "four step together, as the first batch had four"
    agent.ask(4)
    with pytest.raises(AgentError, match="before tell"):
        agent.ask(1)


def test_repeats_stand_for_the_nearest_new_candidate() -> None:
    space = toy_space()
    unseen = Unseen(space, np.random.default_rng(0))
    cat = frozenset({"cat"})
    found = [unseen.nearest(cat) for _ in range(4)]
    assert found[0] == cat
    assert all(len(one ^ cat) == 1 for one in found[1:])
    assert len(set(found)) == 4
    invalid = frozenset({"rain", "sun", "night"})
    assert len(unseen.nearest(invalid) ^ invalid) == 2, "an animal in, one of two weathers out"


def test_the_process_is_as_before() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.manual_seed(5)
        before = torch.get_rng_state(), random.getstate(), repr(np.random.get_state())  # noqa: NPY002
        search(SB3Agent(**A2C))
        train(toy_env(lifetime_budget=8), "A2C", n_steps=2)
        after = torch.get_rng_state(), random.getstate(), repr(np.random.get_state())  # noqa: NPY002
        assert torch.equal(before[0], after[0])
        assert before[1:] == after[1:]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_a_search_leaves_no_thread() -> None:
    before = threading.active_count()
    agent = SB3Agent(**A2C)
    search(agent)
    search(agent)
    assert threading.active_count() == before + 1
    del agent
    gc.collect()
    assert threading.active_count() == before


def test_errors_of_the_library_reach_the_caller() -> None:
    def work(exchange: Callable[[Any], Any]) -> None:
        assert exchange("first") == "answer"
        raise KeyError("broken")

    steps = LockStep(work)
    assert steps.next() == "first"
    with pytest.raises(KeyError, match="broken"):
        steps.next("answer")


def test_a_stopped_search_goes_on_where_it_was(tmp_path: Path) -> None:
    def run(**kwargs: Any) -> vlmfail.Run:
        settings = {"model": "vlmfail.testing.toy:ToyModel", "budget": 30, "trials": 1}
        domain = "vlmfail.testing.toy:ToyDomain"
        return vlmfail.search(domain, "ppo", agent_args={"rollout": 8}, **settings, **kwargs)

    def stop(progress: Any) -> None:
        if progress.calls >= 12:
            raise KeyboardInterrupt

    whole = run()
    run(out=tmp_path / "run", progress=stop).close()
    resumed = vlmfail.resume(tmp_path / "run")
    assert resumed.calls == 30
    assert resumed.store.evaluation_log() == whole.store.evaluation_log()


@pytest.mark.parametrize("domain", [ToyDomain(), ToyVector()], ids=["sets", "vectors"])
def test_training_spends_the_lifetime_budget_and_no_more(domain: Any) -> None:
    env = toy_env(domain, lifetime_budget=21)
    model = train(env, "PPO", n_steps=4, batch_size=4, n_epochs=1)
    assert env.state.spent == 21
    assert model.num_timesteps >= 10


def test_training_is_the_same_again_and_can_be_searched_with(tmp_path: Path) -> None:
    def trained() -> Any:
        return train(
            toy_env(lifetime_budget=12),
            "MaskablePPO",
            n_steps=4,
            batch_size=4,
            seed=3,
            learning_rate=0.05,
        )

    first, second = trained(), trained()
    pairs = zip(first.policy.parameters(), second.policy.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    first.save(tmp_path / "policy.zip")
    options = {"n_steps": 4, "batch_size": 8, "n_epochs": 1}
    fresh = search(SB3Agent("MaskablePPO", **options))
    begun = search(SB3Agent("MaskablePPO", weights=str(tmp_path / "policy.zip"), **options))
    assert begun.keys != fresh.keys


def test_training_needs_an_end() -> None:
    with pytest.raises(UsageError, match="lifetime_budget"):
        train(toy_env(), "A2C")
    with pytest.raises(UsageError, match="budget=1000"):
        train("VLMFail-Driving-v0", "A2C")
    with pytest.raises(UsageError, match="where the environment is made"):
        train(toy_env(lifetime_budget=4), "A2C", budget=4)


def test_training_by_id() -> None:
    model = train("VLMFail-Planted-v0", "A2C", budget=20, n_steps=2)
    assert model.num_timesteps == 4, "five trials a step"
