"""A policy of ours as a model server of the package vla-eval, which this module needs.

See `serve_vla_eval` for the command.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from vla_eval.model_servers.base import SessionContext
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.specs import (
    GRIPPER_CLOSE_NEG,
    IMAGE_RGB,
    LANGUAGE,
    POSITION_DELTA,
    ROTATION_AA,
    DimSpec,
)

from ...core import Policy
from .vla_eval_conventions import OUR_STATE


class PolicyServer(PredictModelServer):  # type: ignore[misc]
    """Plays a policy for each session; observations and actions pass bit for bit.

    The policy is reset with the instruction of an episode's first observation, and seeded with
    ``seed`` of the episode's task, where both have one. It acts in one thread, one episode after
    another's turn.

    Args:
        make: Returns a fresh policy.
        name: The policy's name, announced with its actions.
    """

    def __init__(self, make: Callable[[], Policy], name: str) -> None:
        """Set it up; policies are made when sessions ask for them."""
        super().__init__()
        self.make = make
        self.name = name
        self._idle: list[Policy] = []
        self._playing: dict[str, Policy] = {}
        self._begun: set[str] = set()
        self._seeds: dict[str, int] = {}

    def get_action_spec(self) -> dict[str, DimSpec]:
        """Changes of position in m, a rotation vector, the gripper with -1 for closed."""
        position = dataclasses.replace(POSITION_DELTA, description=f"policy {self.name}")
        return {"position": position, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_NEG}

    def get_observation_spec(self) -> dict[str, DimSpec]:
        """A picture, the state as it is in our worlds, and the instruction."""
        state = DimSpec("state", 8, OUR_STATE)
        return {"image": IMAGE_RGB, "state": state, "language": LANGUAGE}

    def get_observation_params(self) -> dict[str, Any]:
        """Ask for the state."""
        return {"send_state": True}

    async def on_episode_start(self, config: dict[str, Any], ctx: SessionContext) -> None:
        """Take a policy for the session, which it has for itself."""
        await super().on_episode_start(config, ctx)
        self._release(ctx.session_id)
        self._playing[ctx.session_id] = self._idle.pop() if self._idle else self.make()
        task = config.get("task")
        seed = task.get("seed") if isinstance(task, Mapping) else None
        if isinstance(seed, int):
            self._seeds[ctx.session_id] = seed

    async def on_episode_end(self, result: dict[str, Any], ctx: SessionContext) -> None:
        """Give the policy back."""
        await super().on_episode_end(result, ctx)
        self._release(ctx.session_id)

    def predict(self, obs: dict[str, Any], ctx: SessionContext) -> dict[str, Any]:
        """Return the policy's chunk.

        Raises:
            ValueError: The observation comes before an episode, or holds no picture.
        """
        session = ctx.session_id
        policy = self._playing.get(session)
        images = obs.get("images")
        if policy is None:
            raise ValueError("no episode has begun")
        if not isinstance(images, Mapping) or not images:
            raise ValueError("the observation holds no picture")
        instruction = str(obs.get("task_description", ""))
        seen: dict[str, Any] = {"image": next(iter(images.values())), "instruction": instruction}
        state = obs.get("states", obs.get("state"))
        if state is not None:
            seen["state"] = state
        if session not in self._begun:
            seed = getattr(policy, "seed", None)
            if callable(seed) and session in self._seeds:
                seed(self._seeds[session])
            policy.reset(instruction)
            self._begun.add(session)
        return {"actions": np.asarray(policy.act(seen), np.float32)}

    def _release(self, session: str) -> None:
        self._begun.discard(session)
        self._seeds.pop(session, None)
        policy = self._playing.pop(session, None)
        if policy is not None:
            self._idle.append(policy)
