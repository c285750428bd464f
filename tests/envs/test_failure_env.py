"""The environment contract, on the toy domain."""

from __future__ import annotations

import random

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from vlmfail.core import Outcome, UsageError
from vlmfail.envs.failure_env import MANY_UNCHARGED, MAX_UNCHARGED, FailureEnv
from vlmfail.envs.failure_vector_env import FailureVectorEnv
from vlmfail.envs.options import EnvOptions
from vlmfail.testing.toy import ToyDomain, ToyModel


def make(domain: ToyDomain | None = None, model: object = None, **options: object) -> FailureEnv:
    options = {"model": model or ToyModel(), "trials": 3, "budget": 20, **options}
    return FailureEnv(domain or ToyDomain(), EnvOptions(**options))  # type: ignore[arg-type]


def episode(env: FailureEnv, actions: list[np.ndarray]) -> list[object]:
    return [env.step(action) for action in actions]


def actions_of(env: FailureEnv, *sets: set[str]) -> list[np.ndarray]:
    return [env.encode(frozenset(s)) for s in sets]


def test_gymnasium_checker_is_clean(recwarn: pytest.WarningsRecorder) -> None:
    check_env(make(render_mode="rgb_array"), skip_render_check=False)
    assert [str(w.message) for w in recwarn if "not having a spec" not in str(w.message)] == []


def test_sb3_checker_is_clean() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make(), warn=True)


def test_same_seed_same_records_whatever_global_state_and_history() -> None:
    def trials(disturb: bool) -> list[object]:
        env = make()
        if disturb:
            random.seed(3)
            np.random.seed(3)  # noqa: NPY002 - global state must not matter
            env.reset(seed=99)
            env.step(env.encode(frozenset({"bird"})))
        env.reset(seed=0)
        out = episode(env, actions_of(env, {"cat"}, {"cat", "night"}, {"cat"}))
        picture = env.state.picture().tobytes()
        return [o[4]["evaluation"] for o in out] + [picture]

    assert trials(False) == trials(True)


def test_unseeded_reset_derives_the_next_seed_from_the_last() -> None:
    a, b = make(), make()
    for env in (a, b):
        env.reset(seed=5)
    assert a.reset()[1] == b.reset()[1]
    assert a.run_seed not in (None, 5)
    assert a.reset()[1]["run_seed"] != b.run_seed


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_extreme_seeds(seed: int) -> None:
    env = make()
    env.reset(seed=seed)
    assert env.run_seed == seed


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "0"])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"):
        make().reset(seed=seed)  # type: ignore[arg-type]


def test_budget_is_exact_and_the_last_step_runs_what_is_left() -> None:
    model = ToyModel()
    env = make(model=model, budget=7)
    env.reset(seed=0)
    out = episode(env, actions_of(env, {"dog"}, {"cat"}, {"bird"}))
    assert [len(o[4]["evaluation"].new.trials) for o in out] == [3, 3, 1]
    assert [o[3] for o in out] == [False, False, True]
    assert [o[2] for o in out] == [False] * 3
    assert model.calls == 7
    assert "budget" in out[-1][4]["reason"]
    after = env.step(env.encode(frozenset({"dog", "rain"})))
    assert model.calls == 7
    assert after[3]


def test_invalid_action_costs_nothing_and_names_the_rule() -> None:
    env = make()
    env.reset(seed=0)
    obs, reward, terminated, truncated, info = env.step(
        env.encode(frozenset({"dog", "rain", "sun"}))
    )
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {
        "valid": False,
        "rule": {"id": "T1", "text": "rain and sun exclude each other"},
        "evaluation": None,
    }
    assert env.state.evaluator.charged == 0
    assert env.observation_space.contains(obs)


def test_invalid_scenes_are_never_charged_nor_a_failure() -> None:
    model = ToyModel()
    env = make(ToyDomain(unplaceable="tiny"), model)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(env.encode(frozenset({"cat", "tiny"})))
    evaluation = info["evaluation"]
    assert reward == 0.0
    assert evaluation.rate is None
    assert evaluation.total.counts == {Outcome.INVALID_SCENE: 3}
    assert model.calls == 0
    assert env.state.evaluator.remaining == 20


def test_a_thousand_uncharged_steps_end_the_episode_with_the_reason() -> None:
    env = make()
    env.reset(seed=0)
    empty = np.zeros(10, dtype=np.int8)
    for _ in range(MAX_UNCHARGED - 1):
        assert not env.step(empty)[3]
    *_, truncated, info = env.step(empty)
    assert truncated
    assert str(MAX_UNCHARGED) in info["reason"]


def test_stepping_again_adds_fresh_trials() -> None:
    env = make()
    env.reset(seed=0)
    first, second = episode(env, actions_of(env, {"cat"}, {"cat"}))
    assert [t.index for t in first[4]["evaluation"].new.trials] == [0, 1, 2]
    assert [t.index for t in second[4]["evaluation"].new.trials] == [3, 4, 5]
    assert second[4]["evaluation"].total.charged == 6


@pytest.mark.parametrize(
    ("forced", "outcome"),
    [
        ("error", Outcome.ERROR),
        ("timeout", Outcome.TIMEOUT),
        ("refusal", Outcome.REFUSED),
        ("length", Outcome.TRUNCATED),
        ("hmm", Outcome.UNPARSED),
        ("raise", Outcome.ERROR),
    ],
)
def test_other_outcomes_are_counted_beside_the_rate(forced: str, outcome: Outcome) -> None:
    env = make(model=ToyModel({"bird": forced}))
    env.reset(seed=0)
    _, reward, _, _, info = env.step(env.encode(frozenset({"bird"})))
    assert info["evaluation"].total.counts == {outcome: 3}
    assert info["evaluation"].rate is None
    assert reward == 0.0
    assert env.state.evaluator.charged == 3


def test_count_as_fail() -> None:
    env = make(model=ToyModel({"bird": "hmm"}), count_as_fail=("unparsed",))
    env.reset(seed=0)
    assert env.step(env.encode(frozenset({"bird"})))[1] == 1.0


def test_max_requests_is_kept_and_ends_the_episode() -> None:
    model = ToyModel(requests=1)
    env = make(model=model, budget=100, max_requests=7, concurrency=4)
    env.reset(seed=0)
    truncated = False
    while not truncated:
        *_, truncated, info = env.step(env.action_space.sample())
    assert model.calls == 7
    assert "max_requests" in info["reason"]


def test_a_money_cap_on_an_unpriced_model_is_refused_before_the_first_call() -> None:
    model = ToyModel()
    model.priced = False  # type: ignore[misc]
    with pytest.raises(UsageError, match="max_dollars"):
        make(model=model, max_dollars=1.0)
    assert model.calls == 0


def test_lifetime_budget_survives_reset() -> None:
    model = ToyModel()
    env = make(model=model, budget=5, lifetime_budget=8)
    for _ in range(5):
        env.reset(seed=1)
        truncated = False
        while not truncated:
            truncated = env.step(env.action_space.sample())[3]
    assert model.calls == 8


def test_observation_layout() -> None:
    env = make(budget=20)
    start, _ = env.reset(seed=0)
    assert start[-1] == 1.0
    assert not start[:-1].any()
    obs, reward, *_ = env.step(env.encode(frozenset({"cat", "night"})))
    names = env.candidates.features
    n = len(names)
    assert {names[i] for i in np.flatnonzero(obs[:n])} == {"cat", "night"}
    assert obs[n] == pytest.approx(reward)
    assert obs[n + 1] == pytest.approx(3 / (3 + 3))
    assert obs[n + 2 + names.index("cat")] == pytest.approx(reward)
    assert obs[2 * n + 2 + names.index("night")] == pytest.approx(3 / 20)
    assert obs[-1] == pytest.approx(17 / 20)


def test_render_before_during_and_after_and_close_twice() -> None:
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(env.action_space.sample())
    after = env.render()
    for picture in (before, after):
        assert picture is not None
        assert picture.dtype == np.uint8
        assert picture.shape[2] == 3
    env.close()
    env.close()
    assert make().render() is None


def test_samples_are_valid_and_of_every_size() -> None:
    env = make()
    env.action_space.seed(0)
    sets = [env.decode(env.action_space.sample()) for _ in range(300)]
    assert all(env.candidates.validate(s) is None for s in sets)
    assert {len(s) for s in sets} == {1, 2, 3}


def test_step_before_reset_is_told() -> None:
    env = make()
    with pytest.raises(UsageError, match="reset"):
        env.step(env.action_space.sample())


@pytest.mark.parametrize(
    "options",
    [
        {"trials": 0},
        {"budget": -1},
        {"budget": 2.5},
        {"workers": 0},
        {"concurrency": "2"},
        {"max_dollars": 0},
        {"count_as_fail": ("nonsense",)},
        {"render_mode": "human"},
        {"model": "no-such-model"},
    ],
)
def test_bad_options_are_told(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        make(**options)


def test_workers_change_nothing() -> None:
    def run(workers: int) -> list[object]:
        env = make(workers=workers)
        env.reset(seed=4)
        out = episode(env, actions_of(env, {"cat"}, {"cat", "night"}, {"dog"}))
        picture = env.state.picture().tobytes()
        env.close()
        return [o[4]["evaluation"] for o in out] + [picture]

    assert run(1) == run(2)


class TestVector:
    def make(self, **options: object) -> FailureVectorEnv:
        options = {"model": ToyModel(), "trials": 2, "budget": 20, **options}
        return FailureVectorEnv(ToyDomain(), 3, EnvOptions(**options))  # type: ignore[arg-type]

    def test_one_budget_shared_and_next_step_autoreset(self) -> None:
        model = ToyModel()
        envs = self.make(model=model, budget=8)
        envs.reset(seed=0)
        actions = np.stack([envs.encode(frozenset({c})) for c in ("dog", "cat", "bird")])
        *_, truncated, _ = envs.step(actions)
        assert not truncated.any()
        *_, truncated, info = envs.step(actions)
        assert truncated.all()
        assert [len(e.new.trials) for e in info["evaluation"]] == [2, 0, 0]
        assert model.calls == 8
        obs, rewards, _, truncated, info = envs.step(actions)
        assert model.calls == 8
        assert not truncated.any()
        assert not rewards.any()
        assert obs[0, -1] == 1.0

    def test_same_candidate_twice_gets_consecutive_indices_by_position(self) -> None:
        envs = self.make()
        envs.reset(seed=0)
        cat = envs.encode(frozenset({"cat"}))
        *_, info = envs.step(np.stack([cat, cat, cat]))
        indices = [[t.index for t in e.new.trials] for e in info["evaluation"]]
        assert indices == [[0, 1], [2, 3], [4, 5]]

    def test_batched_samples_are_valid(self) -> None:
        envs = self.make()
        envs.action_space.seed(0)
        actions = envs.action_space.sample()
        assert actions.shape == (3, 10)
        assert envs.action_space.contains(actions)
        assert all(envs.state.space.validate(envs.decode(a)) is None for a in actions)

    def test_agrees_with_the_single_environment(self) -> None:
        envs = self.make()
        envs.reset(seed=7)
        actions = [envs.encode(frozenset({c})) for c in ("dog", "cat", "bird")]
        *_, info = envs.step(np.stack(actions))
        single = make(trials=2)
        single.reset(seed=7)
        assert [single.step(a)[4]["evaluation"].new for a in actions] == [
            e.new for e in info["evaluation"]
        ]

    def test_one_seed_a_sub_environment_is_taken_too(self) -> None:
        envs = self.make()
        for given, seed in ((7, 7), ([7, 8, 9], 7), (np.array([5, 6, 7]), 5), ([None] * 3, None)):
            _, info = envs.reset(seed=given)
            assert len(set(info["run_seed"].tolist())) == 1
            assert seed is None or info["run_seed"][0] == seed
        for wrong in ([7, 8], [], "123", [-1, 0, 0]):
            with pytest.raises(UsageError, match="seed"):
                envs.reset(seed=wrong)

    def test_a_frame_a_sub_environment(self) -> None:
        assert self.make().render() is None
        envs = self.make(render_mode="rgb_array")
        envs.reset(seed=0)
        envs.step(np.stack([envs.encode(frozenset({c})) for c in ("dog", "cat", "bird")]))
        frames = envs.render()
        assert frames is not None
        assert [frame.shape for frame in frames] == [(6, 8, 3)] * 3
        assert np.array_equal(frames[0], envs.state.picture())

    def test_invalid_action_in_one_place(self) -> None:
        envs = self.make()
        envs.reset(seed=0)
        actions = np.stack(
            [envs.encode(frozenset(s)) for s in ({"dog"}, {"dog", "rain", "sun"}, {"cat"})]
        )
        _, rewards, _, _, info = envs.step(actions)
        assert info["valid"].tolist() == [True, False, True]
        assert info["rule"][1]["id"] == "T1"
        assert rewards[1] == 0.0


def test_registered_ids_make_and_vectorise() -> None:
    import vlmfail  # noqa: F401 - importing registers

    spec = gym.spec("VLMFail-Driving-v0")
    assert spec.vector_entry_point is not None


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_pickles_before_and_after_a_step(workers: int) -> None:
    import copy
    import pickle

    env = make(workers=workers)
    env.reset(seed=0)
    env.step(env.encode(frozenset({"dog"})))
    cat = env.encode(frozenset({"cat"}))
    again = pickle.loads(pickle.dumps(env))
    twin = copy.deepcopy(env)
    steps = [e.step(cat)[4]["evaluation"] for e in (env, again, twin)]
    assert steps[0] == steps[1] == steps[2]
    for e in (env, again, twin):
        e.close()


@pytest.mark.parametrize("action", [None, "x", 3, np.zeros((3, 10)), np.full((2, 10), np.nan)])
def test_vector_actions_of_another_shape_are_told(action):
    env = FailureVectorEnv(ToyDomain(), 2, EnvOptions(model=ToyModel(), trials=3, budget=12))
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros((2, 10)))
    env.reset(seed=0)
    with pytest.raises(UsageError):
        env.step(action)


def test_a_step_before_reset_is_told_whatever_the_action():
    env = FailureEnv(ToyDomain(), EnvOptions(model=ToyModel(), trials=3, budget=12))
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(10))


def test_when_no_scene_can_be_drawn_the_advice_is_not_about_bits() -> None:
    env = make(ToyDomain(unplaceable="tiny"))
    env.reset(seed=0)
    action = env.encode(frozenset({"cat", "tiny"}))
    with pytest.warns(UserWarning, match=r"no scene could be drawn: .+") as told:
        *_, (*_, info) = episode(env, [action] * MAX_UNCHARGED)
    assert len(told) == 1
    assert "bits" not in str(told[0].message)
    assert "invalid" not in str(told[0].message)
    assert "no scene could be drawn: " in info["reason"]


def test_of_invalid_bits_the_warning_says_so() -> None:
    env = make()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match=r"they were invalid.*ConceptSlots"):
        episode(env, [np.zeros(10, dtype=np.int8)] * MANY_UNCHARGED)


@pytest.mark.parametrize("renderer", [None, 5, b"embree", ["embree"]])
def test_a_renderer_is_a_name(renderer: object) -> None:
    with pytest.raises(UsageError, match="renderer: expected a name"):
        make(renderer=renderer)


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_a_number_of_environments_is_whole(number: object) -> None:
    with pytest.raises(UsageError, match="num_envs: expected a whole number"):
        FailureVectorEnv(ToyDomain(), number, EnvOptions(model=ToyModel()))  # type: ignore[arg-type]


@pytest.mark.parametrize("actions", [5, [[1]], [[1], [1, 2], [1], [0]]])
def test_actions_of_another_number_are_told(actions: object) -> None:
    env = FailureVectorEnv(ToyDomain(), 2, EnvOptions(model=ToyModel()))
    env.reset(seed=0)
    with pytest.raises(UsageError, match="expected 2 rows"):
        env.step(actions)  # type: ignore[arg-type]
