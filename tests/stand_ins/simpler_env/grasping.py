"""The task: a point that closes near the object takes it along.

``STAND_IN_LOG`` names a file that gets a JSON line for each call. ``STAND_IN_FAULT`` is ``WHAT`` or
``WHAT:MODEL``: ``crash`` (once: a file beside the log remembers), ``crash_always``, ``hang`` or
``raise`` in the second step, ``no_mesh`` (the mesh is only logged to be missing).
"""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np

LIMIT = 1.31


class Pose:
    def __init__(self, p, q=(1.0, 0.0, 0.0, 0.0)):
        self.p, self.q = np.array(p, np.float32), np.array(q, np.float32)


class Actor:
    def __init__(self, name, pose, seen=True):
        self.name, self.pose, self.seen = name, pose, seen

    def get_visual_bodies(self):
        return [object()] if self.seen else []

    def get_collision_shapes(self):
        return [object()]


class Agent:
    def __init__(self, env):
        self._env = env
        self.robot = SimpleNamespace(
            pose=Pose((0.35, 0.20, 0.079), (0, 0, 0, 1)),
            get_links=lambda: [SimpleNamespace(name="link_finger_left")],
        )

    def get_gripper_closedness(self):
        return self._env.closed

    def check_grasp(self, actor, min_impulse=1e-6, max_angle=80):
        near = np.linalg.norm(actor.pose.p - self._env.tcp.pose.p) < 0.03
        return bool(near and self._env.closed > 0.5)


class Scene:
    def __init__(self, env):
        self._env = env

    def get_contacts(self):
        env = self._env
        point = SimpleNamespace(impulse=np.array([0.0, 0.0, 0.1]))
        light = SimpleNamespace(impulse=np.array([0.0, 0.0, 1e-9]))
        contacts = []
        for actor in (env.obj, *env.distractor_objs):
            on = "link_finger_left" if env.agent.check_grasp(actor) else "arena"
            contacts += [
                SimpleNamespace(actor0=actor, actor1=SimpleNamespace(name=on), points=[point]),
                SimpleNamespace(actor0=SimpleNamespace(name="x"), actor1=actor, points=[light]),
            ]
        return contacts


def note(**what):
    if os.environ.get("STAND_IN_LOG"):
        with open(os.environ["STAND_IN_LOG"], "a") as file:
            file.write(json.dumps(what, default=lambda value: np.asarray(value).tolist()) + "\n")


class GraspSingleRandomObjectInScene(gym.Env):
    def __init__(
        self,
        obs_mode=None,
        prepackaged_config=False,
        distractor_model_ids=None,
        success_from_episode_stats=True,
    ):
        assert obs_mode == "rgbd"
        self.robot_uid = "google_robot_static"
        self.asset_root = Path(os.environ["MS2_ASSET_DIR"]) / "custom"
        table = self.asset_root / "info_pick_custom_v0.json"
        if not table.exists():
            raise FileNotFoundError(f"{table} is not found. Please set MS2_ASSET_DIR")
        self.model_db = json.loads(table.read_text())
        self.distractor_model_ids = distractor_model_ids
        self.action_space = gym.spaces.Box(-1.0, 1.0, (7,), np.float32)
        self.observation_space = gym.spaces.Dict()
        self.distractor_objs = []
        note(call="make", obs_mode=obs_mode, prepackaged_config=prepackaged_config)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        note(call="reset", seed=seed, options=options, secret=os.environ.get("SOME_API_KEY"))
        print("reset says something too")
        self.fault, _, self.faulty = os.environ.get("STAND_IN_FAULT", "").partition(":")
        model = options["model_id"]
        self.at_fault = self.faulty in ("", model)
        if self.fault.startswith("crash") and self.at_fault:
            before = Path(os.environ["STAND_IN_LOG"] + ".crashed")
            if self.fault == "crash_always" or not before.exists():
                before.touch()
                sys.stderr.write("segmentation fault in the renderer\n")
                os._exit(7)
        place = options["obj_init_options"]
        x, y = place["init_xy"]
        seen = not (self.fault == "no_mesh" and self.at_fault)
        height = 0.87 + 0.03
        self.obj = Actor(model, Pose((x, y, height), place["init_rot_quat"]), seen)
        self.distractor_objs = []
        for name in options["distractor_model_ids"]:
            where = options["distractor_obj_init_options"][name]
            self.distractor_objs.append(
                Actor(name, Pose((*where["init_xy"], height), where["init_rot_quat"]))
            )
        self.obj_height_after_settle = self.obj.pose.p[2]
        self.tcp = SimpleNamespace(pose=Pose((-0.1, 0.2, 1.1)))
        self.closed, self.count, self.up = 0.0, 0, 0
        self.agent, self._scene = Agent(self), Scene(self)
        return self._seen(), {"model_id": model}

    def step(self, action):
        assert self.action_space.shape == action.shape
        note(call="step", action=action)
        self.count += 1
        if self.count == 2 and self.at_fault:
            if self.fault == "hang":
                time.sleep(600)
            if self.fault == "raise":
                raise RuntimeError("the planner found no way")
        things = (self.obj, *self.distractor_objs)
        held = [actor for actor in things if self.agent.check_grasp(actor)]
        move = action[:3] * (-1.0, -1.0, 1.0)
        self.tcp.pose.p = (self.tcp.pose.p + move).astype(np.float32)
        self.closed = float(np.clip(self.closed + action[6], 0.0, 1.0))
        for actor in held if self.closed > 0.5 else []:
            actor.pose.p = (actor.pose.p + move).astype(np.float32)
        grasped = self.agent.check_grasp(self.obj)
        raised = float(self.obj.pose.p[2] - self.obj_height_after_settle)
        lifted = grasped and raised > 0.01
        self.up += lifted and raised > 0.02
        info = {
            "is_grasped": grasped,
            "consecutive_grasp": False,
            "lifted_object": lifted,
            "lifted_object_significantly": lifted and raised > 0.02,
            "success": np.bool_(lifted or self.up >= 5),
            "episode_stats": {},
        }
        return self._seen(), 0.0, bool(info["success"]), False, info

    def _seen(self):
        rows = np.full((512, 640, 3), 40, np.uint8)
        rows[:, :, 0] = np.linspace(0, 255, 640)
        rows[:4, :, 1] = 250
        return {"image": {"overhead_camera": {"rgb": rows}}}


gym.register(
    "GraspSingleRandomObjectInScene-v0",
    entry_point=GraspSingleRandomObjectInScene,
    max_episode_steps=80,
    disable_env_checker=True,
)
