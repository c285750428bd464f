"""Runs SimplerEnv for `simpler.SimplerWorld`, in SimplerEnv's own interpreter.

SimplerEnv needs older packages than vlmfail, so this file stands alone: standard library, numpy and
``simpler_env``, Python 3.8 or newer. Started as ``python simpler_worker.py``, it is asked over
standard input and answers over standard output.

A message is 4 bytes (length of the header, big-endian), the header (UTF-8 JSON object) and, if the
header has ``"bytes": n``, n bytes of picture. Requests have ``"do"``:

| do | fields | reply |
|---|---|---|
| make | task, env | versions |
| start | model, xy, quat, seed, robot_xy, robot_quat, distractors [{model, xy, quat}] | state |
| step | action (7 numbers) | state |
| look | | width, height, bytes: the picture as rows of red, green, blue |
| close | | |

A state is ``object`` and ``gripper`` and ``base`` (x, y, z, then w, x, y, z), ``closed`` (0 to 1),
``raised`` (m), ``grasped``, ``held``, ``touching`` (names), ``also_raised`` (names of distractors
that touch the robot alone), ``success``, ``info`` (SimplerEnv's flags). Every reply has ``ok``;
one that is false has ``error`` and ``kind``: ``missing`` (a package, a model or a mesh is not
installed) or ``error``.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO

LONGEST_HEADER = 1 << 20
LEAST_IMPULSE = 1e-6  # SimplerEnv's own bound of a contact that counts
LEAST_RAISED = 0.01  # m: what is higher than this is raised, as for SimplerEnv's target
FLAGS = ("is_grasped", "consecutive_grasp", "lifted_object", "lifted_object_significantly")


class Missing(Exception):
    """Something that SimplerEnv needs is not installed."""


def numbers(values: Iterable[Any]) -> list[float]:
    """Return floats for JSON."""
    return [float(value) for value in values]


def pose_of(pose: Any) -> list[float]:
    """Return position and quaternion (w, x, y, z) of a SAPIEN pose."""
    return numbers(pose.p) + numbers(pose.q)


class Worker:
    """One environment of SimplerEnv."""

    def __init__(self) -> None:
        """Hold none yet."""
        self.env: Any = None
        self.seen: Any = None
        self.heights: dict[str, float] = {}

    def make(self, request: dict[str, Any]) -> dict[str, Any]:
        """Build the environment."""
        try:
            import gymnasium
            import numpy
            import simpler_env
            from simpler_env.utils.env import observation_utils
        except ImportError as error:
            raise Missing(f"cannot import {error.name or 'SimplerEnv'}: {error}") from error
        self.read_picture = observation_utils.get_image_from_maniskill2_obs_dict
        # simpler_env.make() writes what it is given into its shared table, where the next call
        # finds it: a copy of the entry is made here, and the table is left alone.
        known = getattr(simpler_env, "ENVIRONMENT_MAP", {})
        name, options = known.get(request["task"], (request["env"], {}))
        options = dict(options)
        options.update(obs_mode="rgbd", prepackaged_config=True, distractor_model_ids=[])
        try:
            self.env = gymnasium.make(name, **options)
        except FileNotFoundError as error:
            raise Missing(str(error)) from error
        return {
            "python": sys.version.split()[0],
            "numpy": numpy.__version__,
            "gymnasium": gymnasium.__version__,
            "environment": name,
        }

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Set a scene up."""
        import numpy as np

        bare = self.env.unwrapped
        others = request["distractors"]
        for model in [request["model"]] + [other["model"] for other in others]:
            self.check_files(model)
        options = {
            "model_id": request["model"],
            "obj_init_options": {
                "init_xy": np.array(request["xy"]),
                "init_rot_quat": np.array(request["quat"]),
            },
            "robot_init_options": {
                "init_xy": np.array(request["robot_xy"]),
                "init_rot_quat": np.array(request["robot_quat"]),
            },
            "distractor_model_ids": [other["model"] for other in others],
            "distractor_obj_init_options": {
                other["model"]: {
                    "init_xy": np.array(other["xy"]),
                    "init_rot_quat": np.array(other["quat"]),
                }
                for other in others
            },
            "reconfigure": True,
        }
        self.seen, _ = self.env.reset(seed=request["seed"], options=options)
        for actor in [bare.obj, *getattr(bare, "distractor_objs", [])]:
            # A mesh that cannot be read is only logged: the object would be invisible, or fall
            # through the table.
            if not actor.get_visual_bodies() or not actor.get_collision_shapes():
                raise Missing(f"the mesh of {actor.name} was not loaded")
        beside = getattr(bare, "distractor_objs", [])
        self.heights = {actor.name: float(actor.pose.p[2]) for actor in beside}
        return self.state({})

    def check_files(self, model: str) -> None:
        """Raise `Missing` for an object that SimplerEnv does not have."""
        bare = self.env.unwrapped
        if model not in bare.model_db:
            known = ", ".join(sorted(bare.model_db))
            raise Missing(f"SimplerEnv's table of models has no {model}; it has {known}")
        folder = os.path.join(str(bare.asset_root), "models", model)
        solid = os.path.join(folder, "collision.obj")
        if not os.path.isfile(solid):
            raise Missing(f"there is no file {solid}")
        shown = [os.path.join(folder, "textured." + kind) for kind in ("obj", "dae", "glb")]
        if not any(os.path.isfile(path) for path in shown):
            raise Missing(f"there is none of the files {', '.join(shown)}")

    def step(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an action; its gripper is already SimplerEnv's."""
        import numpy as np

        self.seen, _, _, _, info = self.env.step(np.array(request["action"], np.float64))
        return self.state(info)

    def state(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return what is so now."""
        bare = self.env.unwrapped
        grasped = bool(info.get("is_grasped", False))
        beside = getattr(bare, "distractor_objs", [])
        others = [actor.name for actor in beside if bare.agent.check_grasp(actor)]
        also_raised = [
            actor.name
            for actor in beside
            if float(actor.pose.p[2]) - self.heights[actor.name] > LEAST_RAISED
            and self.touching(actor) == ["robot"]
        ]
        raised = float(bare.obj.pose.p[2]) - float(bare.obj_height_after_settle)
        return {
            "object": pose_of(bare.obj.pose),
            "gripper": pose_of(bare.tcp.pose),
            "base": pose_of(bare.agent.robot.pose),
            "closed": float(bare.agent.get_gripper_closedness()),
            "raised": raised,
            "grasped": grasped,
            "held": bare.obj.name if grasped else (others or [""])[0],
            "touching": self.touching(bare.obj),
            "also_raised": also_raised,
            # Its "success" stays true once the object was well up for five steps, and so hides a
            # drop; what makes it true is always an object that is lifted.
            "success": bool(info.get("lifted_object", False)),
            "info": {name: bool(info[name]) for name in FLAGS if name in info},
        }

    def touching(self, thing: Any) -> list[str]:
        """Return names of what an object presses on."""
        import numpy as np

        bare = self.env.unwrapped
        links = {link.name for link in bare.agent.robot.get_links()}
        found = set()
        for contact in bare._scene.get_contacts():
            pair = contact.actor0.name, contact.actor1.name
            if thing.name not in pair:
                continue
            pressing = np.sum([point.impulse for point in contact.points], axis=0)
            if float(np.linalg.norm(pressing)) <= LEAST_IMPULSE:
                continue
            other = pair[1] if pair[0] == thing.name else pair[0]
            found.add("robot" if other in links else "table" if other == "arena" else other)
        return sorted(found)

    def look(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the picture of the head camera as it was last seen."""
        import numpy as np

        picture = np.ascontiguousarray(self.read_picture(self.env.unwrapped, self.seen))
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] < 3:
            raise ValueError(f"its picture is {picture.dtype} {picture.shape}")
        picture = np.ascontiguousarray(picture[:, :, :3])
        height, width = picture.shape[:2]
        return {"width": width, "height": height, "picture": picture.tobytes()}

    def close(self, request: dict[str, Any]) -> dict[str, Any]:
        """Free the environment."""
        if self.env is not None:
            self.env.close()
            self.env = None
        return {}


def read(stream: BinaryIO, count: int) -> bytes | None:
    """Return so many bytes, or None at the end of the stream."""
    parts = []
    while count:
        part = stream.read(count)
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive(stream: BinaryIO) -> dict[str, Any] | None:
    """Return the next request, or None at the end."""
    head = read(stream, 4)
    if head is None:
        return None
    (length,) = struct.unpack(">I", head)
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes")
    body = read(stream, length)
    if body is None:
        return None
    request: dict[str, Any] = json.loads(body.decode("utf-8"))
    return request


def send(stream: BinaryIO, reply: dict[str, Any]) -> None:
    """Send a reply."""
    picture = reply.pop("picture", b"")
    if picture:
        reply["bytes"] = len(picture)
    head = json.dumps(reply).encode("utf-8")
    stream.write(struct.pack(">I", len(head)) + head + picture)
    stream.flush()


def main() -> None:
    """Answer requests until ``close`` or the end of standard input."""
    # This file's folder holds modules whose names others may mean otherwise.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    # What libraries print must not get between the replies.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    worker = Worker()
    doing = {
        "make": worker.make,
        "start": worker.start,
        "step": worker.step,
        "look": worker.look,
        "close": worker.close,
    }
    while True:
        request = receive(requests)
        if request is None:
            return
        try:
            reply = dict(doing[request["do"]](request), ok=True)
        except Missing as error:
            reply = {"ok": False, "kind": "missing", "error": str(error)}
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            reply = {"ok": False, "kind": "error", "error": said}
        send(replies, reply)
        if request["do"] == "close":
            return


if __name__ == "__main__":
    main()
