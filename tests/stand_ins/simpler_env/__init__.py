"""Stands in for SimplerEnv and its ManiSkill2_real2sim: see ../README.md."""

import gymnasium as gym

from . import grasping  # noqa: F401

print("simpler_env says hello on standard output")

ENVIRONMENTS = ["google_robot_pick_object"]

ENVIRONMENT_MAP = {"google_robot_pick_object": ("GraspSingleRandomObjectInScene-v0", {})}


def make(task_name, **kwargs):
    assert task_name in ENVIRONMENTS
    env_name, env_kwargs = ENVIRONMENT_MAP[task_name]
    env_kwargs["obs_mode"] = ("rgbd",)
    env_kwargs["prepackaged_config"] = True
    env_kwargs.update(kwargs)  # the table is shared: the next call finds these
    return gym.make(env_name, **env_kwargs)
