from __future__ import annotations

import json
import math
import os
import struct
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vlmfail import search
from vlmfail.cli.main import main
from vlmfail.core import EnvironmentFault, SceneError, UsageError
from vlmfail.envs.pickup.domain import PickUpDomain
from vlmfail.envs.pickup.episode import run_episode
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.reasons import distance
from vlmfail.envs.pickup.scene import CameraOffset, PickUpScene, Pose
from vlmfail.envs.pickup.space import INSTRUCTIONS
from vlmfail.envs.pickup.worlds.registry import make_world
from vlmfail.envs.pickup.worlds.simpler import SimplerWorld, quaternion
from vlmfail.envs.pickup.worlds.simpler_process import SimplerProcess
from vlmfail.envs.pickup.worlds.turns import matrix

EXPERT = f"{Path(__file__).parent / 'policies.py'}:Expert"

STAND_INS = Path(__file__).parents[2] / "stand_ins"

QUICK = {"make": 60.0, "start": 20.0, "step": 6.0, "look": 10.0}


def scene(name="apple", x=-0.28, y=0.17, standing=False, yaw=0.5, **rest) -> PickUpScene:
    return PickUpScene(Pose(name, x, y, standing, yaw), f"pick {name}", **rest)


def action(x=0.0, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0), gripper=1.0):
    return np.array([x, y, z, *turn, gripper], np.float32)


@pytest.fixture
def python(tmp_path, monkeypatch) -> str:
    """An interpreter that has the stand-in for SimplerEnv and its assets."""
    custom = tmp_path / "assets" / "custom"
    for one in objects().objects:
        folder = custom / "models" / one.simpler_id
        folder.mkdir(parents=True)
        (folder / "collision.obj").touch()
        (folder / "textured.obj").touch()
    table = {one.simpler_id: {} for one in objects().objects}
    (custom / "info_pick_custom_v0.json").write_text(json.dumps(table))
    monkeypatch.setenv("MS2_ASSET_DIR", str(tmp_path / "assets"))
    monkeypatch.setenv("STAND_IN_LOG", str(tmp_path / "calls"))
    monkeypatch.delenv("STAND_IN_FAULT", raising=False)
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{STAND_INS}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def make(python):
    worlds = []

    def made(**rest) -> SimplerWorld:
        worlds.append(SimplerWorld(simpler_python=python, seconds=QUICK, **rest))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


def calls(python: str, what: str) -> list[dict]:
    lines = (Path(python).parent / "calls").read_text().splitlines()
    return [call for call in map(json.loads, lines) if call["call"] == what]


def test_a_scene_reaches_simpler_env_as_it_is(make, python, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "do-not-tell")
    world = make()
    others = (Pose("redbull_can", -0.1, 0.3, True, 0.0),)
    state = world.start(scene("eggplant", distractors=others))
    (asked,) = calls(python, "reset")
    options = asked["options"]
    assert options["model_id"] == "eggplant"
    assert options["reconfigure"] is True
    assert options["obj_init_options"]["init_xy"] == [-0.28, 0.17]
    turn = options["obj_init_options"]["init_rot_quat"]
    assert turn == pytest.approx([math.cos(0.25), 0, 0, math.sin(0.25)])
    assert options["robot_init_options"] == {"init_xy": [0.35, 0.2], "init_rot_quat": [0, 0, 0, 1]}
    assert options["distractor_model_ids"] == ["redbull_can"]
    (other,) = options["distractor_obj_init_options"].values()
    half = math.sqrt(0.5)
    assert other["init_xy"] == [-0.1, 0.3]
    assert other["init_rot_quat"] == pytest.approx([half, half, 0, 0])
    assert asked["secret"] is None, "keys stay in this process"
    assert state.object == pytest.approx((-0.28, 0.17, 0.9), abs=1e-6)
    assert state.touching == {"table"}, "a contact without pressure is none"
    assert not state.grasped


def test_the_shared_table_of_environments_is_left_alone(make, python):
    make()
    make()
    assert (
        calls(python, "make")
        == [{"call": "make", "obs_mode": "rgbd", "prepackaged_config": True}] * 2
    )


def test_what_a_policy_sees(make):
    world = make()
    world.start(scene())
    seen = world.observe()
    assert seen["instruction"] == "pick apple"
    assert seen["image"].shape == (128, 160, 3)
    assert seen["image"].dtype == np.uint8
    assert seen["image"][64, 0, 0] < 5
    assert seen["image"][64, -1, 0] > 250, "columns and rows are not mixed up"
    assert seen["image"][0, 80, 1] > 200
    # The tool is 0.45 m ahead of a robot that looks along -x, and 1.021 m above its base.
    assert seen["state"][:3] == pytest.approx([0.45, 0.0, 1.021], abs=1e-5)
    assert seen["state"][7] == pytest.approx(0.10)
    assert world.picture().size == (640, 512)
    blind = make(picture_size=None)
    blind.start(scene())
    assert "image" not in blind.observe()


def test_an_episode_is_judged_by_simpler_env(make):
    world = make()

    class Policy:
        """Goes to the object, closes, raises, holds, lets go and leaves."""

        def reset(self, instruction):
            self.step = 0

        def act(self, observation):
            rows = [action(x=0.09, y=0.015, z=-0.1)] * 2 + [action()] * 1
            rows += [action(gripper=-1.0)] * 2 + [action(z=0.03, gripper=-1.0)] * 8
            rows += [action(gripper=1.0)] * 2
            row = rows[min(self.step, len(rows) - 1)]
            self.step += 1
            return row

    episode = run_episode(world, Policy(), scene(), max_steps=15)
    raised = [state.raised for state in episode.states]
    assert episode.error is None, episode.note
    assert max(raised) == pytest.approx(0.24, abs=1e-3)
    assert episode.success_once
    assert not episode.states[5].success
    assert episode.states[6].success
    assert episode.states[8].held == "apple"
    assert episode.states[8].touching == {"robot"}
    assert sum(state.success for state in episode.states) >= 5, "SimplerEnv's own stays true then"
    assert not episode.success_at_end, "it was dropped"


@pytest.mark.parametrize(
    ("thing", "standing", "off", "far"),
    [
        ("blue_plastic_bottle", True, (0.0, 0.0, 0.10), 0.0),
        ("blue_plastic_bottle", True, (0.0, 0.09, 0.0), 0.09),
        ("blue_plastic_bottle", True, (0.09, 0.0, 0.0), 0.09),
        ("blue_plastic_bottle", False, (0.0, 0.0, 0.09), 0.09),
        ("blue_plastic_bottle", False, (0.0, 0.09, 0.0), 0.0),
        ("blue_plastic_bottle", False, (0.09, 0.0, 0.0), 0.09),
        ("redbull_can", False, (0.0, -0.06, 0.0), 0.0),
        ("carrot", False, (-0.06, 0.0, 0.0), 0.0),
        ("carrot", False, (0.0, 0.06, 0.0), 0.06),
        ("carrot", True, (0.06, 0.0, 0.0), 0.0),  # a turn about its long axis lets it lie
        ("spoon", False, (0.08, 0.0, 0.0), 0.0),
        ("eggplant", False, (0.0, 0.0, 0.06), 0.06),
        ("sponge", False, (0.05, 0.0, 0.0), 0.0),
    ],
)
def test_distances_are_to_the_axis_that_is_long_in_simpler_env(thing, standing, off, far):
    placed = scene(thing, standing=standing, yaw=0.0)
    x, y, z = placed.target.x, placed.target.y, 0.9
    world = object.__new__(SimplerWorld)
    found = {
        "object": [x, y, z, *quaternion(placed.target)],
        "gripper": [x + off[0], y + off[1], z + off[2], 0.0, 1.0, 0.0, 0.0],
        "base": [0.35, 0.2, 0.079, 0.0, 0.0, 0.0, 1.0],
        "closed": 0.0, "raised": 0.0, "grasped": False, "held": "", "touching": [],
        "also_raised": [], "success": False,
    }  # fmt: skip
    state = world._state(found, placed)
    assert distance(state, objects().of(thing)) == pytest.approx(far, abs=1e-6)


def test_the_thick_end_of_a_model_is_that_of_ours():
    world = object.__new__(SimplerWorld)
    ends = {"carrot": (1, 0, 0), "spoon": (-1, 0, 0), "eggplant": (-1, 0, 0)}
    ends["blue_plastic_bottle"] = (0, 1, 0)  # VLATest's standing turns this up
    for thing, end in ends.items():
        found = {
            "object": [-0.3, 0.1, 0.9, 1.0, 0.0, 0.0, 0.0],
            "gripper": [0.0, 0.2, 1.0, 0.0, 1.0, 0.0, 0.0],
            "base": [0.35, 0.2, 0.079, 0.0, 0.0, 0.0, 1.0],
            "closed": 0.0, "raised": 0.0, "grasped": False, "held": "", "touching": [],
            "also_raised": [], "success": False,
        }  # fmt: skip
        axes = matrix(world._state(found, scene(thing)).turn)
        assert axes[:, 2] == pytest.approx(end, abs=1e-9)
        assert axes[:, 1] == pytest.approx((0, 0, 1), abs=1e-9), "the narrow side is up"


def test_another_object_that_is_raised_is_told(make):
    world = make()
    others = (Pose("redbull_can", -0.28, 0.17, True, 0.0), Pose("spoon", -0.1, 0.3, False, 0.0))
    world.start(scene("sponge", x=-0.4, y=0.3, distractors=others))
    down, close = action(x=0.09, y=0.015, z=-0.1), action(gripper=-1.0)
    states = [world.step(row) for row in (down, down, close, action(z=0.005, gripper=-1.0))]
    assert states[-1].held == "redbull_can"
    assert states[-1].also_raised == frozenset(), "half a centimetre"
    assert world.step(action(z=0.01, gripper=-1.0)).also_raised == {"redbull_can"}


def test_the_gripper_is_absolute_here_and_relative_there(make, python):
    world = make()
    world.start(scene())
    for wanted in (-1.0, -1.0, 0.0, 1.0):
        world.step(action(x=0.23, y=-0.2, turn=(2.0, 0.4, 0.0), gripper=wanted))
    sent = [call["action"] for call in calls(python, "step")]
    assert [row[6] for row in sent] == pytest.approx([1.0, 1.0, -0.5, -1.0])
    assert sent[0][:6] == pytest.approx([0.23, -0.2, 0.0, 2.0, 0.4, 0.0]), "nothing is clipped"
    with pytest.raises(UsageError, match="7 finite numbers"):
        world.step(np.full(7, np.nan, np.float32))


def test_a_process_that_dies_setting_up_is_started_once_more(make, monkeypatch):
    monkeypatch.setenv("STAND_IN_FAULT", "crash:apple")
    world = make()
    first = world._process.pid
    assert world.start(scene("apple")).object[2] == pytest.approx(0.9)
    assert world._process.pid != first


def test_one_that_dies_twice_is_told_with_its_last_words(make, monkeypatch):
    monkeypatch.setenv("STAND_IN_FAULT", "crash_always:apple")
    world = make()
    with pytest.raises(EnvironmentFault, match=r"exit code 7.*segmentation fault in the renderer"):
        world.start(scene("apple"))
    assert world.start(scene("sponge")).object[2] == pytest.approx(0.9), "others go on"


def test_a_process_that_hangs_is_ended(make, monkeypatch):
    monkeypatch.setenv("STAND_IN_FAULT", "hang:apple")
    world = make()
    world.start(scene("apple"))
    pid = world._process.pid
    world.step(action())
    clock = time.monotonic()
    with pytest.raises(EnvironmentFault, match="did not answer within 6 s"):
        world.step(action())
    assert time.monotonic() - clock < 15.0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(UsageError, match=r"call start\(\) first"):
        world.step(action())


def test_an_error_of_simpler_env_voids_the_episode(make, monkeypatch):
    monkeypatch.setenv("STAND_IN_FAULT", "raise")
    world = make()
    world.start(scene())
    world.step(action())
    with pytest.raises(EnvironmentFault, match="RuntimeError: the planner found no way"):
        world.step(action())


def test_what_is_missing_is_an_error_and_no_invisible_object(make, python, monkeypatch):
    models = Path(python).parent / "assets" / "custom" / "models"
    world = make()
    (models / "apple" / "textured.obj").unlink()
    with pytest.raises(EnvironmentFault, match=r"lacks something.*textured\.glb"):
        world.start(scene("apple"))
    (models / "sponge" / "collision.obj").unlink()
    with pytest.raises(EnvironmentFault, match=r"lacks something.*collision\.obj"):
        world.start(scene("sponge"))
    monkeypatch.setenv("STAND_IN_FAULT", "no_mesh:eggplant")
    with pytest.raises(EnvironmentFault, match="the mesh of eggplant was not loaded"):
        make().start(scene("eggplant"))


def test_interpreters_without_simpler_env(tmp_path, python, monkeypatch):
    with pytest.raises(UsageError, match="simpler_python=/path/to/python"):
        SimplerWorld()
    with pytest.raises(UsageError, match="cannot be started"):
        SimplerWorld(simpler_python=str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentFault, match="cannot import simpler_env"):
        SimplerWorld(simpler_python=sys.executable, seconds=QUICK)
    monkeypatch.setenv("MS2_ASSET_DIR", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="Please set MS2_ASSET_DIR"):
        SimplerWorld(simpler_python=python, seconds=QUICK)


def test_what_speaks_nonsense_is_no_worker(tmp_path):
    endless = '{"ok":true,"bytes":Infinity}'
    deep = "[" * 200_000
    headers = ('"hey"', "null", "[]", endless, '{"ok":true,"bytes":1.5}', '{"ok":true,"bytes":-1}')
    framed = [f"{framing(len(header))}{header}" for header in (*headers, deep)]
    for said in ("Hello, this is no protocol at all", *framed):
        script = tmp_path / "python"
        (tmp_path / "said").write_bytes(said.encode("latin-1"))
        script.write_text(
            f"#!/bin/sh\nhead -c 4 > /dev/null\ncat {tmp_path}/said\ncat > /dev/null\n"
        )
        script.chmod(0o755)
        process = SimplerProcess(str(script), QUICK)
        with pytest.raises(EnvironmentFault, match="spoke nonsense"):
            process.ask("make")
        process.close()


def framing(length):
    return struct.pack(">I", length).decode("latin-1")


def test_what_was_said_unasked_answers_no_later_request(tmp_path):
    script = tmp_path / "python"
    reply = '{"ok":true}'
    (tmp_path / "said").write_bytes(2 * (framing(len(reply)) + reply).encode("latin-1"))
    script.write_text(f"#!/bin/sh\ncat {tmp_path}/said\ncat > /dev/null\n")
    script.chmod(0o755)
    process = SimplerProcess(str(script), QUICK)
    try:
        process.ask("make")
    except EnvironmentFault:
        return  # it spoke before it was asked at all
    with pytest.raises(EnvironmentFault, match="spoke nonsense, unasked"):
        process.ask("step")


def test_a_state_that_is_none_voids_the_episode(make, monkeypatch):
    world = make()
    world.start(scene())
    good = world._last
    for wrong in (
        {"success": "false"}, {"success": 1}, {"grasped": None}, {"raised": math.nan},
        {"raised": "up"}, {"closed": math.inf}, {"object": [0.0] * 7}, {"object": [math.nan] * 7},
        {"object": "here"}, {"gripper": [1.0] * 6}, {"base": None}, {"touching": "table"},
        {"touching": 3},
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(world, "_ask", lambda do, wrong=wrong, **fields: {**good, **wrong})
            with pytest.raises(EnvironmentFault, match="its state is none"):
                world.start(scene())
        with pytest.raises(UsageError, match=r"call start\(\) first"):
            world.step(action())
    assert world.start(scene()).grasped is False, "with a new process"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (scene(x=0.5), "is not on the table"),
        (scene(distractors=(Pose("apple", 0.0, 0.0, False, 0.0),)), "twice"),
    ],
)
def test_scenes_that_cannot_be(make, wrong, message):
    with pytest.raises(SceneError, match=message):
        make().start(wrong)


def test_light_and_camera_are_simpler_envs_own(make):
    world = make()
    for wrong in (scene(light=0.5), scene(camera=CameraOffset(x=0.05))):
        with pytest.raises(UsageError, match="leave the factors 'light' and 'camera' out"):
            world.start(wrong)


def test_closing_ends_the_process(make):
    world = make()
    pid = world._process.pid
    world.close()
    world.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_things_have_simpler_envs_names_in_its_instructions():
    def told(world, name, **values):
        domain = PickUpDomain(world=world, factors=("instruction",))
        placed = {"x": -0.3, "y": 0.1, "standing": True, **values}
        return domain.scene(domain.space.candidate(object=name, **placed)).instruction

    first, other = INSTRUCTIONS[0], INSTRUCTIONS[2]
    assert told("simpler", "redbull_can", instruction=first) == "pick redbull can"
    assert told("simpler", "redbull_can", instruction=other) == "grasp the redbull can and lift it"
    assert told("mujoco", "redbull_can", instruction=first) == "pick red bull can"
    left_out = {"bridge", "generated", "modified"}
    for one in objects().objects:
        words = [word for word in one.simpler_id.split("_") if word not in left_out]
        assert told("simpler", one.id, instruction=first) == " ".join(["pick", *words])


def test_a_search_in_it(python, tmp_path):
    own = {"world": "simpler", "simpler_python": python, "max_steps": 12, "picture": "64x48"}
    found = search(
        "VLMFail-PickUp-v0", "random", model=EXPERT, budget=2, seed=1, out=tmp_path / "run",
        env_args={**own, "factors": "distractors"},
    )  # fmt: skip
    records = [record for record in found.records.values() if record.trial.rule]
    found.close()
    assert len(records) == 2
    assert {record.scene["world"] for record in records} == {"simpler"}
    assert all(record.scene["episode"]["steps"] == 12 for record in records)
    assert {call["options"]["model_id"] for call in calls(python, "reset")} <= {
        one.simpler_id for one in objects().objects
    }
    with pytest.raises(UsageError, match="world 'simpler' has no 'light'"):
        search("VLMFail-PickUp-v0", "random", model=EXPERT, budget=2, out=tmp_path / "other",
               env_args={**own, "factors": "light"})  # fmt: skip


def test_the_interpreter_is_for_simpler_env_alone():
    with pytest.raises(UsageError, match="'mujoco' does not run SimplerEnv"):
        make_world("mujoco", None, "/usr/bin/python3")


def test_the_doctor_tries_every_object(python, monkeypatch, capsys):
    assert main(["doctor", "--simpler-env", python, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (check,) = told["checks"]
    assert check["fine"]
    assert "all 7 objects can be set up" in check["text"]
    assert "GraspSingleRandomObjectInScene-v0" in check["text"]
    monkeypatch.setenv("STAND_IN_FAULT", "no_mesh:sponge")
    assert main(["doctor", "--simpler-env", python, "--json"]) == 3
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert "sponge: SimplerEnv lacks something: the mesh of sponge" in check["text"]
    assert main(["doctor", "--simpler-env", "/nowhere/python", "--json"]) == 3
