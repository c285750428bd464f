"""Searches of episodes: through the environment, in workers, resumed, repeated, reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from vlmfail import Run, resume, search
from vlmfail.cli.main import main
from vlmfail.core import (
    EnvironmentFault,
    InvalidCandidateError,
    MissingDependencyError,
    Outcome,
    SceneError,
    TrialRecord,
    UnknownNameError,
    UsageError,
)
from vlmfail.envs.episodes import CRASHED, Repeats, in_order
from vlmfail.envs.failure_env import FailureEnv
from vlmfail.envs.pickup.domain import PickUpDomain
from vlmfail.envs.pickup.scene import PickUpScene, Pose
from vlmfail.envs.pickup.space import INSTRUCTIONS, check_scene, pickup_space, scene_of
from vlmfail.envs.registry import make_env

from .policies import Drunk, Gives, Slow, Still

HERE = Path(__file__).parent
ID = "VLMFail-PickUp-v0"
EXPERT = f"{HERE / 'policies.py'}:Expert"


def world(name: str = "FakeWorld") -> str:
    return f"{HERE / 'fake_world.py'}:{name}"


def env(**options: Any) -> FailureEnv:
    return make_env(ID, **{"model": EXPERT, "world": world(), "budget": 20, **options})


def run(out: Path, **options: Any) -> Run:
    env_args = {"world": world(), **options.pop("env_args", {})}
    return search(
        ID, options.pop("agent", "random"),
        **{"model": EXPERT, "budget": 14, "seed": 1, "out": out, "env_args": env_args, **options},
    )  # fmt: skip


def records(run: Run) -> list[TrialRecord]:
    found = [replace(r, seconds_render=0.0, seconds_model=0.0) for r in run.records.values()]
    run.close()
    return found


def at(one: FailureEnv, **values: Any) -> np.ndarray:
    values = {"x": -0.3, "y": 0.1, "standing": False, "yaw": 0.3, **values}
    return one.encode(one.candidates.candidate(**values))


# -- the space and its scenes ----------------------------------------------------------------


def test_a_candidate_fixes_its_scene() -> None:
    space = pickup_space()
    candidate = space.candidate(object="sponge", x=-0.2, y=0.3, standing=False, yaw=1.0)
    scene = scene_of(space, candidate)
    assert scene.target.object == "sponge"
    assert (scene.target.x, scene.target.y) == pytest.approx((-0.2, 0.3), abs=1e-5)
    assert scene.instruction == "pick sponge"
    assert scene == scene_of(space, np.array(candidate))
    assert not scene.distractors
    assert scene.light == 1.0


def test_seven_bins_of_objects_and_half_of_them_standing() -> None:
    space = pickup_space()
    drawn = [scene_of(space, row) for row in np.random.default_rng(0).random((400, 5))]
    assert len({scene.target.object for scene in drawn}) == 7
    assert 0.4 < np.mean([scene.target.standing for scene in drawn]) < 0.6
    assert all(-0.5 <= s.target.x <= -0.05 and 0.0 <= s.target.y <= 0.4 for s in drawn)


def test_yaw_of_a_standing_object_means_nothing() -> None:
    space = pickup_space()
    one, other = np.full(5, 0.6), np.full(5, 0.6)
    other[4] = 0.1
    assert space.key(one) == space.key(other)
    assert scene_of(space, one) == scene_of(space, other)


def test_factors_come_from_the_vector_too() -> None:
    space = pickup_space(("distractors", "light", "camera", "instruction"))
    assert len(space.names) == 5 + 1 + 3 * 4 + 1 + 6 + 1
    row = np.random.default_rng(4).random(len(space.names))
    row[5] = 0.99
    scene = scene_of(space, row)
    assert len(scene.distractors) == 3
    assert 0.25 <= scene.light <= 4.0
    assert scene.camera.pitch != 0.0
    assert scene.instruction in {t.format(object=_title(scene)) for t in INSTRUCTIONS}
    row[5] = 0.0
    assert scene_of(space, row).distractors == ()


def test_there_is_one_of_each_object() -> None:
    space = pickup_space(("distractors",), ["apple", "spoon"])
    for row in np.random.default_rng(5).random((60, len(space.names))):
        row[5] = 0.99
        scene = scene_of(space, row)
        names = [pose.object for pose in (scene.target, *scene.distractors)]
        assert len(set(names)) == 4
        again = space.canonical(row)
        assert space.key(again) == space.key(row)
        assert scene_of(space, again) == scene
        assert scene.distractors[0].object in space.describe(row)


def _title(scene: PickUpScene) -> str:
    return scene.target.object.replace("redbull", "red bull").replace("_", " ")


@pytest.mark.parametrize(
    ("pose", "said"),
    [
        (Pose("redbull_can", 0.14, 0.2, True, 0.0), "table's edge at x = 0.15"),
        (Pose("blue_plastic_bottle", -0.6, 0.2, False, 3.1), "table's edge at x = -0.65"),
        (Pose("spoon", -0.3, 0.66, False, 1.57), "table's edge at y = 0.7"),
        (Pose("hammer", -0.3, 0.1, True, 0.0), "no object 'hammer'.*sponge"),
        (Pose("apple", float("nan"), 0.1, True, 0.0), "not finite"),
    ],
)
def test_scenes_that_cannot_be(pose: Pose, said: str) -> None:
    with pytest.raises(SceneError, match=said):
        check_scene(PickUpScene(pose, "pick it"))


def test_an_object_is_there_once() -> None:
    can = Pose("redbull_can", -0.3, 0.1, True, 0.0)
    with pytest.raises(SceneError, match="put down twice"):
        check_scene(PickUpScene(can, "pick it", (replace(can, x=-0.1),)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"factors": ["wind"]}, "unknown pick-up factor 'wind'.*light"),
        ({"objects": ["hammer"]}, "unknown object 'hammer'"),
        ({"objects": []}, "at least one object"),
        ({"max_steps": 0}, "max_steps"),
        ({"picture": "huge"}, "width and height"),
        ({"picture": [4, 4]}, "16 to 4096"),
        ({"keep_frames": "some"}, "keep_frames"),
        ({"success": "twice"}, "success"),
        ({"time_limit": -1}, "time_limit"),
        ({"world": "gazebo"}, "unknown pick-up world 'gazebo'"),
        ({"max_step": 3}, "did you mean max_steps"),
        ({"max_dollars": 3}, "billed"),
        ({"concurrency": 4}, "workers=4"),
        ({"renderer": "mitsuba"}, "draws its own pictures"),
        ({"workers": 2, "model": Still()}, "name or path"),
        ({"model": "tiny-vlm"}, "does not act: policies are scripted"),
        ({"model": "scripte"}, "did you mean scripted"),
        ({"model": 3}, "lacks `reset` or `act`"),
    ],
)
def test_bad_options_are_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=said) as caught:
        env(**options)
    assert "\n" not in str(caught.value)


def test_options_from_a_command_line() -> None:
    domain = PickUpDomain(world=world(), factors="light, camera", picture="64x48")  # type: ignore[arg-type]
    assert domain.factors == ("light", "camera")
    assert domain.picture == (64, 48)


def test_a_missing_engine_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'vlmfail\[pickup\]'"):
        gym.make(ID)


def test_a_vector_outside_the_box_costs_nothing_and_is_told() -> None:
    one = env()
    one.reset(seed=0)
    _, reward, _, _, info = one.step(np.array([0.5, 1.5, 0.5, 0.5, 0.5], np.float32))
    assert (reward, info["valid"], info["evaluation"]) == (0.0, False, None)
    assert "x is 1.5, outside" in info["rule"]["text"]
    with pytest.raises(InvalidCandidateError):
        one.domain.scene(np.full(5, np.nan))


# -- the environment ----------------------------------------------------------------


def test_one_trial_a_candidate_unless_told() -> None:
    assert env().options.trials == 1
    assert env(trials=3).options.trials == 3
    assert make_env("VLMFail-Driving-v0", model="vlmfail.testing.toy:guess").options.trials == 5


def test_reward_is_the_failure() -> None:
    one = env()
    one.reset(seed=0)
    rewards = [one.step(at(one, object=name))[1] for name in ("carrot", "spoon", "sponge")]
    assert rewards == [0.0, 1.0, 0.0]
    *_, info = one.step(at(one, object="spoon", x=-0.2))
    (trial,) = info["evaluation"].new.trials
    assert (trial.outcome, trial.direction) == (Outcome.FAIL, "slipped")


def test_success_at_the_end_is_another_question() -> None:
    one = env(success="end")
    one.reset(seed=0)
    assert one.step(at(one, object="sponge"))[1] == 1.0


def test_an_invalid_scene_is_not_charged() -> None:
    one = env()
    one.reset(seed=0)
    *_, info = one.step(at(one, object="apple"))
    (trial,) = info["evaluation"].new.trials
    assert (trial.outcome, trial.note) == (Outcome.INVALID_SCENE, "the apple rolled off the table")
    assert one.state.evaluator.charged == 0


def test_a_repeat_of_a_deterministic_episode_is_charged_and_tells_nothing() -> None:
    one = env(trials=3)
    one.reset(seed=0)
    _, reward, _, _, info = one.step(at(one, object="spoon"))
    assert [trial.repeats for trial in info["evaluation"].new.trials] == [None, 0, 0]
    assert (reward, info["evaluation"].n, info["evaluation"].new.charged) == (1.0, 1, 3)
    _, reward, _, _, info = one.step(at(one, object="spoon"))
    assert (reward, info["evaluation"].new.n, info["evaluation"].n) == (0.0, 0, 1)
    assert one.state.evaluator.charged == 6


def test_a_policy_that_breaks_down_alike_each_time_is_one_observation() -> None:
    one = env(trials=3, model=Gives("nothing"), count_as_fail=("error",))
    one.reset(seed=0)
    *_, info = one.step(at(one, object="carrot"))
    trials = info["evaluation"].new.trials
    assert [(t.outcome, t.repeats) for t in trials] == [
        (Outcome.ERROR, None), (Outcome.ERROR, 0), (Outcome.ERROR, 0),
    ]  # fmt: skip
    assert (info["evaluation"].new.failures, info["evaluation"].n) == (1, 1)


def test_breaking_down_in_another_way_is_another_observation() -> None:
    words = iter("abc")

    def one_more_word() -> None:
        raise RuntimeError(next(words))

    one = env(trials=3, model=Gives(one_more_word), count_as_fail=("error",))
    one.reset(seed=0)
    *_, info = one.step(at(one, object="carrot"))
    assert info["evaluation"].n == 3


def test_a_timeout_is_never_a_repeat() -> None:
    one = env(trials=2, model=Slow(), time_limit=0.01, count_as_fail=("timeout",))
    one.reset(seed=0)
    *_, info = one.step(at(one, object="carrot"))
    assert [t.outcome for t in info["evaluation"].new.trials] == [Outcome.TIMEOUT] * 2
    assert info["evaluation"].n == 2


@pytest.mark.parametrize("options", [{"model": Drunk()}, {"world": world("OtherEachTime")}])
def test_what_is_not_the_same_again_counts(options: dict[str, Any]) -> None:
    one = env(trials=3, **options)
    one.reset(seed=0)
    *_, info = one.step(at(one, object="carrot"))
    assert info["evaluation"].n == 3


def test_render_shows_the_last_strip() -> None:
    one = env(render_mode="rgb_array")
    one.reset(seed=0)
    before = one.render()
    one.step(at(one, object="spoon"))
    after = one.render()
    assert before is not None
    assert after is not None
    assert after.shape[1] > after.shape[0]
    assert after.dtype == np.uint8


@pytest.mark.parametrize(
    ("keep", "kept"),
    [("failures", [False, True]), ("all", [True, True]), ("none", [False, False])],
)
@pytest.mark.parametrize("engine", ["FakeWorld", "OtherEachTime"])
def test_strips_are_kept_as_asked(keep: str, kept: list[bool], engine: str) -> None:
    one = env(keep_frames=keep, world=world(engine))
    one.reset(seed=0)
    steps = [one.step(at(one, object=name))[4]["evaluation"] for name in ("carrot", "spoon")]
    assert [step.new.trials[0].picture is not None for step in steps] == kept


def test_make_vec_shares_one_budget() -> None:
    envs = gym.make_vec(ID, num_envs=3, model=EXPERT, world=world(), budget=4)
    envs.reset(seed=0)
    rows = [
        pickup_space().candidate(object="spoon", x=x, y=0.1, standing=True)
        for x in (-0.1, -0.2, -0.3)
    ]
    _, rewards, _, truncated, _ = envs.step(np.array(rows, np.float32))
    assert rewards.tolist() == [1.0, 1.0, 1.0]
    assert not truncated.any()
    *_, truncated, _ = envs.step(np.array(rows, np.float32))
    assert truncated.all()
    envs.close()


def test_an_error_gets_a_new_world() -> None:
    one = env(model=f"{HERE / 'policies.py'}:Still", world=world("Unstable"))
    one.reset(seed=0)
    for x in (-0.1, -0.2):
        *_, info = one.step(at(one, object="carrot", x=x))
        (trial,) = info["evaluation"].new.trials
        assert trial.outcome is Outcome.ERROR
        assert trial.note == "the world: RuntimeError: the engine became unstable"
    assert info["evaluation"].rate is None


# -- searches ----------------------------------------------------------------


@pytest.mark.slow
def test_workers_change_nothing(tmp_path: Path) -> None:
    one = records(run(tmp_path / "one", trials=2))
    two = records(run(tmp_path / "two", trials=2, workers=2))
    assert one == two
    assert any(record.trial.repeats == 0 for record in one)


@pytest.mark.slow
def test_a_crash_is_one_trial_s_error(tmp_path: Path) -> None:
    done = run(tmp_path / "run", workers=2, budget=16, env_args={"world": world("Deadly")})
    outcomes = {
        record.trial.key.split(",")[0]: (record.trial.outcome, record.trial.note)
        for record in done.records.values()
    }
    (crashed,) = {
        str(record.scene["target"]["object"])
        for record in done.records.values()
        if record.trial.note == CRASHED
    }
    assert crashed == "carrot"
    done.close()
    assert outcomes["object=carrot"] == (Outcome.ERROR, CRASHED)
    assert outcomes["object=redbull_can"] == (Outcome.PASS, "")


@pytest.mark.slow
def test_nothing_but_crashes_ends_the_search(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="died in each of the first 5 trials"):
        run(tmp_path / "r", workers=2, env_args={"world": world("Deadly"), "objects": ["carrot"]})


def test_an_interrupted_search_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", trials=2)
    count = {"left": 5}

    def stop(_: object) -> None:
        count["left"] -= 1
        if not count["left"]:
            raise KeyboardInterrupt

    part = run(tmp_path / "part", trials=2, batch=8)
    assert part.status == "finished"
    part.close()
    broken = search(
        ID, "random", model=EXPERT, budget=14, trials=2, seed=1, batch=1, out=tmp_path / "broken",
        env_args={"world": world()}, progress=stop,
    )  # fmt: skip
    assert broken.status == "interrupted"
    broken.close()
    again = resume(tmp_path / "broken")
    straight = run(tmp_path / "straight", trials=2, batch=1)
    assert records(again) == records(straight)
    whole.close()


def test_metrics_and_report(tmp_path: Path) -> None:
    done = run(tmp_path / "run", budget=20)
    metrics = done.metrics
    assert metrics["fr"] == metrics["pfm"] == metrics["mfr"]
    assert metrics["coverage"]["bins"] == 100
    assert 0 < metrics["tcf"] <= metrics["tc"] < 1
    assert metrics["foc"] == pytest.approx(1 / 7)
    assert metrics["fr_by_object"]["spoon"]["rate"] == 1.0
    page = done.report().read_text()
    done.close()
    assert "100 bins (10 x 10) of the table" in page
    assert "slipped" in page
    assert "data:image/jpeg" in page
    assert "<svg" in page


def test_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    args = ["--env-arg", f"world={world()}", "--budget", "12", "--seed", "1", "--out", str(out)]
    assert main(["search", ID, "--searcher", "random", "--model", EXPERT, *args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["calls"], found["trials"], found["model"]) == (12, 1, EXPERT)
    assert found["metrics"]["coverage"]["bins"] == 100

    assert main(["replay", str(out), "1", "--rerender", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rerender"]["same"] is True
    assert told["scene"]["episode"]["steps"] == 80
    assert main(["replay", str(out), f"{told['key']}#0"]) == 0
    assert "success" in capsys.readouterr().out

    assert main(["resume", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 12
    assert main(["report", str(out)]) == 0
    capsys.readouterr()
    assert main(["label", str(out)]) == 2
    assert "no question to label" in capsys.readouterr().err
    assert main(["estimate", ID]) == 2
    assert "--budget 10" in capsys.readouterr().err


def test_preview(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.png"
    common = ["preview", ID, "--env-arg", f"world={world()}", "--out", str(out)]
    assert main([*common, "--candidate", "object=carrot,x=-0.3,y=0.2,standing=yes", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["scenes"][0]["scene"]["target"]["object"] == "carrot"
    assert out.read_bytes().startswith(b"\x89PNG")
    assert main([*common, "--grid"]) == 0
    capsys.readouterr()
    assert main([*common, "--candidate", "object=apple,x=-0.3,y=0.2,standing=yes"]) != 0
    assert "rolled off" in capsys.readouterr().err
    assert main([*common, "--candidate", "object=hammer,x=-0.3,y=0.2,standing=yes"]) == 2
    assert "hammer" in capsys.readouterr().err


# -- parts ----------------------------------------------------------------


def test_results_come_in_the_order_of_trials_of_each_candidate() -> None:
    def played(key: str, index: int, digest: str = "same") -> Any:
        from vlmfail.core import Trial

        return TrialRecord(Trial(key, index, Outcome.FAIL), scene={"digest": digest}), None

    jobs = [("a", 0), ("a", 1), ("b", 4), ("a", 2)]
    late = [played("a", 2), played("b", 4), played("a", 1), played("a", 0)]
    ordered = in_order(jobs, late, lambda one: (one[0].trial.key, one[0].trial.index))
    order = [record.trial for record, _ in ordered]
    assert [(t.key, t.index) for t in order] == [("b", 4), ("a", 0), ("a", 1), ("a", 2)]
    repeats = Repeats()
    marks = [repeats.marked(played("a", i, d)[0]).trial.repeats for i, d in enumerate("xyxyz")]
    assert marks == [None, None, 0, 1, None]
    assert repeats.marked(played("b", 9, "x")[0]).trial.repeats is None


def test_failure_modes_are_boxes_that_fresh_scenes_confirm(tmp_path: Path) -> None:
    done = run(tmp_path / "run", agent="weighted-rf", budget=60)
    (mode,) = done.failure_modes
    assert (mode.candidate, mode.key) == ({"object": ["spoon"]}, "object = spoon")
    assert (mode.confirmed, done.metrics["modes"], done.metrics["confirmed_modes"]) == (None, 1, 0)
    before = records(done)
    confirmed = Run.open(tmp_path / "run").confirm(trials=6)
    (mode,) = confirmed.failure_modes
    assert (mode.fresh.failures, mode.fresh.n, mode.confirmed) == (6, 6, True)
    assert confirmed.metrics["rerun_mean"] == 1.0
    assert confirmed.metrics["fr"] == Run.open(tmp_path / "run").metrics["fr"]
    again = confirmed.confirm(trials=6)
    after = records(again)
    assert len(after) == len(before) + 6
    page = Run.open(tmp_path / "run").report().read_text()
    assert "regions whose scenes fail in 60 % or more" in page
    assert "object = spoon" in page


def test_without_a_box_there_is_no_mode(tmp_path: Path) -> None:
    done = run(tmp_path / "run", budget=12)
    assert (done.failure_modes, done.metrics["modes"]) == ([], None)
    page = done.report().read_text()
    done.close()
    assert "no region of scenes surely fails" in page
