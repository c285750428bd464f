from __future__ import annotations

import math

import numpy as np
import pytest

from vlmfail.core import SceneError, UnknownNameError, UsageError
from vlmfail.envs.pickup.arm import arm
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.scene import ROBOT, TABLE_TOP, PickUpScene, Pose
from vlmfail.models.policies.scripted import Scripted

mujoco = pytest.importorskip("mujoco")

from vlmfail.envs.pickup.worlds.mujoco_arm import WORKSPACE_LOW, ArmKinematics  # noqa: E402
from vlmfail.envs.pickup.worlds.mujoco_model import TIMESTEP, build_model  # noqa: E402
from vlmfail.envs.pickup.worlds.mujoco_world import MujocoWorld  # noqa: E402

NAMES = [one.id for one in objects().objects]


def scene(name: str, *others: Pose, x=-0.28, y=0.17, standing=False, yaw=0.5) -> PickUpScene:
    return PickUpScene(Pose(name, x, y, standing, yaw), f"pick {name}", others)


def action(x=0.0, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0), gripper=1.0):
    return np.array([x, y, z, *turn, gripper], np.float32)


def play(world: MujocoWorld, one: PickUpScene, steps: int = 18, hold: int = 0) -> list:
    policy = Scripted()
    policy.reset(one.instruction)
    states = [world.start(one)]
    while len(states) <= steps:
        states += [world.step(row) for row in policy.act({"world": states[-1]})]
    states += [world.step(action(gripper=-1.0)) for _ in range(hold)]
    return states


@pytest.fixture(scope="module")
def world():
    with_no_pictures = MujocoWorld(picture_size=None)
    yield with_no_pictures
    with_no_pictures.close()


def test_masses_and_step_are_as_told():
    model = build_model(NAMES)
    for thing in objects().objects:
        assert float(model.body(thing.id).mass[0]) == pytest.approx(thing.mass)
    assert model.opt.timestep == pytest.approx(TIMESTEP)
    assert TIMESTEP <= 0.005
    for link in arm().links:
        assert float(model.body(link.name).mass[0]) == pytest.approx(link.mass)


@pytest.mark.parametrize("height", [float(WORKSPACE_LOW[2]), TABLE_TOP + 0.23])
def test_the_arm_reaches_the_whole_target_area_pointing_down(height):
    kinematics = ArmKinematics()
    home = np.array(arm().home_joints)
    _, down = kinematics.gripper(home)
    down = np.array([0.0, 1.0, 0.0, 0.0])
    for x in (-0.5, -0.275, -0.05):
        for y in (0.0, 0.2, 0.4):
            joints = home
            for _ in range(8):
                joints = kinematics.solve(joints, np.array([x, y, height]), down)
            position, turn = kinematics.gripper(joints)
            assert position == pytest.approx([x, y, height], abs=1e-4)
            assert abs(turn @ down) == pytest.approx(1.0, abs=1e-6)
            assert (joints > kinematics.low).all()
            assert (joints < kinematics.high).all()


def test_another_object_that_the_robot_raises_is_told(world):
    apple = scene("apple").target
    state, policy, actions = world.start(scene("apple")), Scripted(), []
    policy.reset("pick apple")
    while len(actions) < 18:
        for row in policy.act({"world": state}):
            actions.append(row)
            state = world.step(row)
    assert state.success
    assert state.also_raised == frozenset(), "the target is none of the others"
    can = Pose("redbull_can", -0.45, 0.35, True, 0.0)
    states = [world.start(PickUpScene(can, "pick red bull can", (apple,)))]
    states += [world.step(row) for row in actions]
    assert states[0].also_raised == frozenset()
    assert states[-1].also_raised == {"apple"}
    assert not states[-1].grasped


def test_an_episode_starts_at_home_with_everything_at_rest(world):
    state = world.start(scene("redbull_can", standing=True))
    home = arm().home
    assert state.gripper == pytest.approx((home.x, home.y, home.z), abs=2e-3)
    assert state.opening == pytest.approx(arm().opening, abs=1e-3)
    assert state.object == pytest.approx((-0.28, 0.17, TABLE_TOP + 0.067), abs=5e-3)
    assert state.touching == {"table"}
    assert (state.raised, state.grasped, state.held, state.success) == (0.0, False, "", False)
    later = [world.step(action()) for _ in range(4)][-1]
    assert later.object == pytest.approx(state.object, abs=1e-4)
    assert later.gripper == pytest.approx(state.gripper, abs=2e-3)


@pytest.mark.parametrize("name", ["carrot", "spoon", "eggplant"])
def test_what_cannot_stand_topples_and_starts_lying(world, name):
    state = world.start(scene(name, standing=True))
    _w, x, y, _z = state.turn
    assert abs(1 - 2 * (x * x + y * y)) < 0.3
    assert state.touching == {"table"}


def test_actions_are_in_the_base_frame_and_clipped(world):
    before = np.array(world.start(scene("apple")).gripper)
    after = np.array(world.step(action(x=0.05, y=0.03, z=-0.02)).gripper)
    assert after - before == pytest.approx([-0.05, -0.03, -0.02], abs=4e-3)
    seen = world.observe()
    x, y, z, *turn, opening = seen["state"]
    assert (x, y, z) == pytest.approx(
        (ROBOT[0] - after[0], ROBOT[1] - after[1], after[2]), abs=1e-6
    )
    assert turn == pytest.approx([0, 0, 1, 0], abs=5e-3)
    assert opening == pytest.approx(0.09, abs=1e-3)
    assert seen["instruction"] == "pick apple"
    assert "image" not in seen
    far = np.array(world.step(action(x=9.0)).gripper)
    assert far[0] - after[0] == pytest.approx(-0.10, abs=4e-3)


def test_a_turn_is_about_the_base_axes(world):
    world.start(scene("apple"))
    turned = world.step(action(turn=(0.0, 0.0, 0.3)))
    closing = 2 * math.atan2(turned.turn_of_gripper[1], turned.turn_of_gripper[2])
    assert abs(math.remainder(closing, math.pi)) == pytest.approx(0.3, abs=0.01)


def test_the_gripper_stays_in_the_workspace_and_above_the_table(world):
    world.start(scene("apple", x=-0.45, y=0.4))
    for _ in range(6):
        state = world.step(action(z=-0.1))
    assert state.gripper[2] == pytest.approx(WORKSPACE_LOW[2], abs=3e-3)
    for _ in range(12):
        state = world.step(action(x=0.1, y=-0.1, z=0.1))
    # Out of reach: the target does not run away, so that the way back begins at once.
    back = world.step(action(x=-0.1))
    assert back.gripper[0] - state.gripper[0] > 0.05


@pytest.mark.parametrize("name", NAMES)
def test_a_held_thing_does_not_creep_out_in_twenty_seconds(world, name):
    states = play(world, scene(name), steps=18, hold=60)
    lifted, end = states[18], states[-1]
    assert any(state.success for state in states)
    assert end.success
    assert end.held == name
    assert end.touching == {"robot"}
    offset = np.subtract(lifted.object, lifted.gripper)
    assert np.subtract(end.object, end.gripper) == pytest.approx(offset, abs=3e-3)
    assert end.raised > 0.13


def test_opening_drops_it(world):
    states = play(world, scene("apple"), steps=18)
    for _ in range(3):
        state = world.step(action(gripper=1.0))
    assert states[-1].success
    assert not state.success
    assert state.held == ""
    assert "robot" not in state.touching


def test_fingers_beside_the_target_hold_another(world):
    other = Pose("redbull_can", -0.2, 0.3, True, 0.0)
    decoy = scene("apple", other, x=-0.4, y=0.05)
    policy = Scripted()
    policy.reset("")
    state = world.start(decoy)
    can = np.array([-0.2, 0.3, TABLE_TOP + 0.067])
    fooled = type("Fooled", (), {"object": tuple(can), "turn": (1, 0, 0, 0)})
    for _ in range(3):
        fooled.gripper, fooled.turn_of_gripper = state.gripper, state.turn_of_gripper
        fooled.grasped, fooled.raised = state.held == "redbull_can", 0.0
        for row in policy.act({"world": fooled}):
            state = world.step(row)
    assert state.held == "redbull_can"
    assert not state.grasped
    assert not state.success


def test_bit_for_bit_the_same_whatever_ran_before(world):
    others = (Pose("sponge", -0.1, 0.3, True, 0.2), Pose("spoon", -0.45, 0.35, False, 2.0))
    one = scene("carrot", *others, yaw=1.2)
    first = play(world, one)
    play(world, scene("apple"), steps=9)
    play(world, scene("spoon", Pose("carrot", -0.4, 0.3, True, 0.0), others[0]), steps=9)
    assert play(world, one) == first
    assert play(MujocoWorld(picture_size=None), one) == first
    swapped = PickUpScene(one.target, one.instruction, others[::-1])
    assert play(world, swapped) == first


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (scene("apple", x=0.2), "the apple at x 0.200, y 0.170 is not on the table"),
        (scene("apple", Pose("carrot", -0.29, 0.17, False, 0)), "overlap"),
        (scene("apple", Pose("apple", -0.1, 0.3, False, 0)), "stands on the table twice"),
        (scene("eggplant", standing=True, x=-0.63, y=0.69, yaw=2.36), "fell off the table"),
    ],
)
def test_invalid_starts_are_told_in_a_sentence(world, bad, text):
    with pytest.raises(SceneError, match=text):
        world.start(bad)
    with pytest.raises(UsageError, match="call start"):
        world.step(action())


def test_a_target_that_comes_to_rest_on_another_is_raised(world):
    sponge = Pose("sponge", -0.28, 0.33, False, 0.0)
    fallen = scene("spoon", sponge, y=0.23, standing=True, yaw=math.pi)
    with pytest.raises(SceneError, match="the spoon came to rest above the table, on something"):
        world.start(fallen)


def test_an_unknown_object_is_named(world):
    with pytest.raises(UnknownNameError, match="unknown object 'aple': did you mean apple"):
        world.start(scene("aple"))


@pytest.mark.parametrize("bad", [np.zeros(6), np.full(7, np.nan), np.zeros((1, 7))])
def test_bad_actions_are_refused(world, bad):
    world.start(scene("apple"))
    with pytest.raises(UsageError, match="expected 7 finite numbers"):
        world.step(bad.astype(np.float32))


def test_poses_name_every_link_and_object_and_pictures_follow():
    seeing = MujocoWorld(picture_size=(80, 64))
    seeing.start(scene("apple", Pose("carrot", -0.1, 0.3, False, 0.0)))
    poses = seeing.poses()
    assert set(poses) == {link.name for link in arm().links} | {"apple", "carrot"}
    before = seeing.observe()["image"]
    assert before.shape == (64, 80, 3)
    assert before.dtype == np.uint8
    assert np.array_equal(before, seeing.observe()["image"])
    seeing.step(action(x=0.1))
    assert not np.array_equal(before, seeing.observe()["image"])
    assert seeing.picture().pixels.shape == (384, 512, 3)
    seeing.close()
    seeing.close()
