from __future__ import annotations

import importlib.util
import math
import subprocess
import sys

import numpy as np
import pytest

from vlmfail.core import EnvironmentFault, MissingDependencyError, SceneError, UsageError
from vlmfail.envs.pickup.episode import run_episode
from vlmfail.envs.pickup.scene import TABLE_TOP, PickUpScene, Pose
from vlmfail.envs.pickup.worlds import maniskill
from vlmfail.envs.pickup.worlds.maniskill import ManiSkillWorld, vulkan_device
from vlmfail.models.policies.scripted import Scripted

# The probe and the arithmetic are tested everywhere, the world where it can be.
pytestmark = pytest.mark.xdist_group("maniskill")

HERE = importlib.util.find_spec("mani_skill") is not None


def scene(name: str, *others: Pose, x=-0.28, y=0.17, standing=False, yaw=0.5) -> PickUpScene:
    return PickUpScene(Pose(name, x, y, standing, yaw), f"pick {name}", others)


def action(x=0.0, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0), gripper=1.0):
    return np.array([x, y, z, *turn, gripper], np.float32)


@pytest.fixture(scope="module")
def world():
    if not HERE:
        pytest.skip("mani-skill is not installed")
    missing = vulkan_device()
    if missing:
        pytest.skip(f"no Vulkan device: {missing}")
    made = ManiSkillWorld((160, 128))
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "standing"),
    [("redbull_can", True), ("apple", False), ("eggplant", False), ("carrot", False)],
)
def test_the_expert_lifts_them(world, name, standing):
    episode = run_episode(world, Scripted(), scene(name, standing=standing), max_steps=34)
    assert episode.error is None, episode.note
    assert episode.success_once
    assert episode.states[0].touching == {"table"}
    assert max(state.raised for state in episode.states) > 0.10
    assert episode.states[-1].touching == {"robot"}


@pytest.mark.slow
def test_the_same_scene_and_actions_give_the_same_states(world):
    def played():
        world.start(scene("sponge", Pose("apple", -0.1, 0.3, False, 0.0)))
        steps = [action(0.02, 0.03, -0.05, (0.0, 0.1, 0.2))] * 3
        return [world.step(one) for one in steps]

    first = played()
    world.start(scene("apple"))
    world.step(action(gripper=-1.0))
    assert played() == first


@pytest.mark.slow
def test_moves_and_turns_are_those_of_the_embedded_world(world):
    start = world.start(scene("carrot"))
    assert start.opening == pytest.approx(0.08, abs=1e-3)
    state = world.observe()["state"]
    assert state[3:7] == pytest.approx([0.0, 0.0, 1.0, 0.0], abs=1e-3), "it points down"
    # The base looks along -x: ahead is -x, left is -y.
    world.step(action(0.04, 0.02, 0.03, (0.0, 0.0, 0.3)))
    after = world.step(action(gripper=-1.0))
    moved = np.subtract(after.gripper, start.gripper)
    assert moved == pytest.approx([-0.04, -0.02, 0.03], abs=2e-3)
    turned = 2 * math.acos(abs(float(np.dot(after.turn_of_gripper, start.turn_of_gripper))))
    assert turned == pytest.approx(0.3, abs=0.01)
    to_the_left = world.observe()["state"]
    assert to_the_left[0] == pytest.approx(state[0] + 0.04, abs=2e-3)
    assert to_the_left[1] == pytest.approx(state[1] + 0.02, abs=2e-3)
    assert after.opening < 0.01
    with pytest.raises(UsageError, match="7 finite numbers"):
        world.step(np.full(7, np.inf, np.float32))


@pytest.mark.slow
def test_pictures_show_the_scene(world):
    world.start(scene("apple", x=-0.2, y=0.2))
    seen = world.observe()["image"].astype(int)
    assert seen.shape == (128, 160, 3)
    red = (seen[..., 0] > 2 * seen[..., 1]) & (seen[..., 0] > 2 * seen[..., 2])
    assert 100 < red.sum() < 2000, "the apple"
    assert world.picture().size == (512, 384)


@pytest.mark.slow
def test_scenes_that_cannot_be(world):
    with pytest.raises(SceneError, match="is not on the table"):
        world.start(scene("apple", x=0.5))
    with pytest.raises(SceneError, match="overlap"):
        world.start(scene("apple", Pose("sponge", -0.28, 0.19, False, 0.0)))
    with pytest.raises(UsageError, match=r"call start\(\) first"):
        world.observe()


@pytest.mark.slow
def test_objects_weigh_what_they_should(world):
    from vlmfail.envs.pickup.objects import objects

    for name in ("apple", "blue_plastic_bottle", "carrot"):
        world.start(scene(name))
        mass = float(world._task.target.mass[0])
        assert mass == pytest.approx(objects().of(name).mass, rel=0.04)
        assert world._task.target.pose.p[0, 2] > TABLE_TOP


@pytest.mark.slow
def test_the_motion_planner_is_never_imported(world):
    assert "mplib" not in sys.modules


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"vlmfail\[maniskill\]"):
        ManiSkillWorld()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("print('found')", ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "its driver crashed"),
        ("raise RuntimeError('failed to find a rendering device')", "failed to find a rendering"),
    ],
)
def test_a_bad_driver_crashes_a_child_alone(monkeypatch, program, said):
    monkeypatch.setattr(maniskill, "_PROBE", program)
    monkeypatch.setenv("VK_ICD_FILENAMES", "/some/driver.json")
    vulkan_device.cache_clear()
    found = vulkan_device()
    vulkan_device.cache_clear()
    assert said in found
    assert bool(said) == bool(found)


def test_without_a_device_it_says_so_in_one_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(maniskill, "vulkan_device", lambda: "its driver crashed (signal 11)")
    with pytest.raises(EnvironmentFault, match=r"needs a Vulkan device.*signal 11.*engines\.md"):
        ManiSkillWorld()


def test_the_rest_of_vlmfail_does_not_import_it():
    code = "import sys; import vlmfail.envs.pickup.worlds.maniskill; print('sapien' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
