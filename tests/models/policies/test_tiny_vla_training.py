from __future__ import annotations

import argparse
import dataclasses
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")

from vlmfail.envs.pickup.episode import run_episode
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.reasons import REASONS
from vlmfail.envs.pickup.scene import PickUpScene, Pose
from vlmfail.envs.pickup.worlds.mujoco_world import MujocoWorld

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "train_tiny_vla"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent / "train"))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith("tiny_vla_")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def blind():
    return MujocoWorld(None)


@pytest.fixture(scope="module")
def small():
    return MujocoWorld((16, 16))


def test_the_teacher_picks_things_up_whatever_it_did_before(script, blind):
    teacher = script("tiny_vla_expert").Teacher()
    episodes = script("tiny_vla_episodes")
    for index, one in enumerate(objects().objects):
        scene = episodes.started(blind, episodes.generator(9, index), 0, one.id)
        episode = run_episode(blind, teacher, scene, max_steps=24)
        assert episode.success_once, (one.id, episode.note)
        assert episode.success_at_end
    state = blind.start(scene)
    chunk = teacher.act({"world": state})
    assert chunk.shape == (6, 7)
    assert np.array_equal(teacher.act({"world": state}), chunk)


def test_the_teacher_tries_again_where_nothing_is_between_the_fingers(script, blind):
    teacher = script("tiny_vla_expert").Teacher()
    episodes = script("tiny_vla_episodes")
    state = blind.start(episodes.drawn_scene(episodes.generator(9, 0), 0))
    missed = dataclasses.replace(state, opening=0.0, gripper=(*state.object[:2], 0.9))
    chunk = teacher.act({"world": missed})
    assert (chunk[:, 6] == 1.0).all()
    assert (chunk[:, 2] >= 0.0).all()
    assert chunk[:, 2].sum() == pytest.approx(0.2, abs=1e-3)  # up to where it travels


def test_labels_are_the_teachers_however_its_actions_are_disturbed(script, small):
    episodes, recipe = script("tiny_vla_episodes"), script("tiny_vla_recipe").RECIPE
    noisy = dataclasses.replace(
        recipe, train=dataclasses.replace(recipe.train, noisy=1.0, interrupted=0.0)
    )
    shown = episodes.demonstrate(small, noisy, 3)
    # A teacher's phase moves along straight lines: noise of an action would show.
    still = np.abs(shown["chunks"][:, :, 3:5]).max()
    assert still < 1e-4
    assert set(shown["chunks"][..., 6].ravel()) <= {1.0, -1.0}
    assert shown["grasped"][-1] or len(shown["chunks"]) == recipe.train.most
    assert np.array_equal(shown["states"][0], episodes.demonstrate(small, noisy, 3)["states"][0])


def test_an_episode_depends_on_its_index_alone(script, small):
    episodes, recipe = script("tiny_vla_episodes"), script("tiny_vla_recipe").RECIPE
    first = episodes.demonstrate(small, recipe, 1)
    other = episodes.demonstrate(small, recipe, 2)
    again = episodes.demonstrate(small, recipe, 1)
    assert all(np.array_equal(first[name], again[name]) for name in episodes.ARRAYS)
    assert not np.array_equal(first["targets"][0], other["targets"][0])


def test_a_grasp_is_never_broken_off_and_rests_stay_undisturbed_without_noise(script):
    episodes, recipe = script("tiny_vla_episodes"), script("tiny_vla_recipe").RECIPE
    always = dataclasses.replace(recipe.train, interrupted=1.0)
    closing, travel = np.zeros((6, 7), np.float32), np.zeros((6, 7), np.float32)
    closing[:, 6], travel[:, 6] = [1, 1, 1, -1, -1, -1], 1.0
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert np.array_equal(episodes.executed(closing, rng, always, None), closing)
        assert 1 <= len(episodes.executed(travel, rng, always, None)) < 6
    loud = dataclasses.replace(recipe.noise, share=1.0)
    disturbed = episodes.executed(closing, rng, always, loud)
    assert not np.array_equal(disturbed[:, :6], closing[:, :6])
    assert np.array_equal(disturbed[:, 6], closing[:, 6])
    assert not closing[:, :6].any()


def test_the_three_kinds_of_scenes_share_no_seed(script):
    recipe = script("tiny_vla_recipe").RECIPE
    seeds = [recipe.train.seed, recipe.validation.seed]
    seeds += [scenes.seed for scenes in recipe.held_out.values()]
    assert len(set(seeds)) == len(seeds)
    assert recipe.held_out["test"].each >= 100


def test_scenes_to_measure_on_hold_each_object_equally_often(script):
    episodes, recipes = script("tiny_vla_episodes"), script("tiny_vla_recipe")
    scenes = episodes.scenes(recipes.SceneSet(7, 2, distractors=2))
    names = [scene.target.object for scene in scenes]
    assert sorted(names) == sorted(2 * [one.id for one in objects().objects])
    for scene in scenes:
        assert len({scene.target.object, *(pose.object for pose in scene.distractors)}) == 3


def demonstrations(script, count):
    episodes = script("tiny_vla_episodes")
    rng = np.random.default_rng(0)
    return episodes.Demonstrations(
        pictures=rng.integers(0, 256, (count, 128, 160, 3), dtype=np.uint8),
        states=np.tile(np.array([0.3, 0, 1.1, 0, 0, 1, 0, 0.09], np.float32), (count, 1)),
        chunks=rng.normal(0, 0.05, (count, 6, 7)).astype(np.float32),
        targets=rng.normal(0, 0.1, (count, 5)).astype(np.float32),
        grasped=rng.random(count) < 0.5,
        objects=rng.integers(0, 7, count),
        episodes=np.arange(count) // 2,
    )


def test_what_is_looked_at_was_never_trained_on(script):
    pytest.importorskip("torch")
    fitting, recipe = script("tiny_vla_fit"), script("tiny_vla_recipe").RECIPE
    shown = demonstrations(script, 200)
    for taken in (None, 30):
        used, held = fitting.split(shown, recipe, taken)
        assert not set(shown.episodes[used]) & set(shown.episodes[held])
        assert len(held) == 200 // recipe.validation_every
        if taken is None:
            assert len(used) + len(held) == 200
        else:
            assert shown.episodes[used].max() < taken


@pytest.mark.slow
def test_what_is_exported_does_what_was_trained(script, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from vlmfail.models.policies.tiny_vla import TinyVLA
    from vlmfail.models.tiny_text import bag

    fitting, networks = script("tiny_vla_fit"), script("tiny_vla_network")
    recipe = dataclasses.replace(script("tiny_vla_recipe").RECIPE, epochs=2, batch=8)
    torch.set_num_threads(1)
    shown = demonstrations(script, 48)
    network, history = fitting.fit(recipe, shown, seed=0)
    assert len(history) == 2
    again, _ = fitting.fit(recipe, shown, seed=0)
    pairs = zip(network.state_dict().values(), again.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    path = tmp_path / "mine.onnx"
    used, _ = fitting.split(shown, recipe, None)
    fitting.export(recipe, network, path, fitting.counts(shown, used))
    policy = TinyVLA(path)
    policy.reset("pick apple")
    acted = policy.act({"image": shown.pictures[0], "state": shown.states[0]})
    with torch.no_grad():
        expected = networks.Exported(network)(
            torch.from_numpy(shown.pictures[:1]),
            torch.from_numpy(bag("pick apple")[None].copy()),
            torch.from_numpy(shown.states[:1]),
        )
    assert acted == pytest.approx(expected.numpy(), abs=1e-4)


def test_a_folder_of_other_demonstrations_is_left_alone(script, tmp_path):
    episodes, recipe = script("tiny_vla_episodes"), script("tiny_vla_recipe").RECIPE
    jobs = episodes.prepare(tmp_path, recipe)
    assert len(jobs) == -(-recipe.train.count // episodes.SHARD)
    other = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, seed=1))
    with pytest.raises(SystemExit, match="other demonstrations"):
        episodes.prepare(tmp_path, other)
    with pytest.raises(SystemExit, match="train_tiny_vla data"):
        episodes.load(tmp_path)


def test_figures_are_by_object_pose_distance_and_turn(script):
    report = script("tiny_vla_report")

    def scene(name, standing, yaw=0.0):
        return PickUpScene(Pose(name, -0.2, 0.2, standing=standing, yaw=yaw), f"pick {name}")

    drawn = [scene("apple", True), scene("apple", False, 1.5), scene("spoon", False, -0.1)]
    results = [
        report.Result(True, True, "", 9),
        report.Result(True, False, "", 15),
        report.Result(False, False, "missed_grasp", None),
    ]
    found = report.figures(drawn, results)
    assert (found["once"]["share"], found["end"]["share"]) == (0.667, 0.333)
    assert found["tables"]["Object"]["apple"]["share"] == 1.0
    assert found["tables"]["Put down"]["lying"]["n"] == 2
    assert found["tables"]["Distance from the robot"] == {"0.5 to 0.6 m": found["once"]}
    assert set(found["tables"]["Turn of the hand, lying"]) == {"0 to 30°", "60 to 90°"}
    assert found["reasons"] == {**dict.fromkeys(REASONS, 0), "missed_grasp": 1}
    assert found["reasons_by_object"]["spoon"]["missed_grasp"] == 1


def test_the_curve_ends_with_the_fewest_demonstrations_that_are_enough(script, tmp_path, capsys):
    recipe = script("tiny_vla_recipe").RECIPE
    loader = importlib.machinery.SourceFileLoader("train_tiny_vla", str(SCRIPT))
    command = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("train_tiny_vla", loader)
    )
    loader.exec_module(command)
    shares = {375: recipe.enough - 0.01, 750: recipe.enough, 1500: 0.9, None: 1.0}
    asked = []

    def train(args, taken, path):
        asked.append(taken)
        validation = {"once": {"share": shares[taken]}}
        history = [{"end_error_mm": 1.0}]
        return {
            "training": {
                "code": "c", "epochs": 1, "episodes": 1, "pictures": 1, "validation": validation,
                "history": history,
            }
        }  # fmt: skip

    command.train = train
    args = argparse.Namespace(out=tmp_path, seed=1, share=1.0, epochs=None)
    command.curve(args)
    assert asked == [375, 750]
    assert "enough; the recipe takes 750" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "curve.json").read_text())["tried"]) == 2
    shares.update(dict.fromkeys((750, 1500, None), 0.0))
    command.curve(args)
    assert asked[2:] == [375, 750, 1500, None]
    assert "takes None: all" in capsys.readouterr().out


@pytest.mark.slow
def test_from_demonstrations_to_the_card(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("jinja2")
    folders = {"--out": "data", "--weights": "weights", "--cards": "cards"}
    options = [word for key, name in folders.items() for word in (key, str(tmp_path / name))]
    command = [sys.executable, str(SCRIPT), "all", *options, "--share", "0.002", "--epochs", "1"]
    command += ["--processes", "1", "--steps", "12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "cards" / "tiny-vla.md").read_text().startswith("# Model card: tiny-vla\n")
    facts = json.loads((tmp_path / "weights" / "tiny-vla.json").read_text())
    # 6 of the recipe's 3000, of which every twentieth is left out.
    assert facts["training"]["episodes"] == 5
