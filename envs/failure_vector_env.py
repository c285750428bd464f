"""The vector form of a search environment: several candidates a step, one shared budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..core import Domain, EpisodeDomain, UsageError
from .episodes import defaults_of
from .failure_env import SearchState
from .options import EnvOptions

F32 = npt.NDArray[np.float32]


class FailureVectorEnv(VectorEnv[F32, npt.NDArray[Any], npt.NDArray[Any]]):
    """`num_envs` candidates a step on one model, one budget and one set of evaluations.

    The trials of a step are put to a model behind an API together. The sub-environments end
    together; the next step then starts a new search (Gymnasium's next-step autoreset) and ignores
    its actions. The budget goes to sub-environments in order, so the last step may run fewer
    trials.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        domain: Domain[Any] | EpisodeDomain[Any],
        num_envs: int = 1,
        options: EnvOptions | None = None,
    ) -> None:
        """Build the environment over `domain`."""
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise UsageError(f"num_envs: expected a whole number of at least 1, got {num_envs!r}")
        self.num_envs = num_envs
        options = options or EnvOptions(**defaults_of(domain))
        self.state = SearchState(domain, options, step_trials=num_envs * options.trials)
        self.options = self.state.options
        self.render_mode = self.options.render_mode
        self.single_action_space = self.state.space.action_space()
        self.action_space = self.state.space.action_space(num_envs)
        self.single_observation_space = gym.spaces.Box(
            0.0, 1.0, (self.state.observer.size,), dtype=np.float32
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._ended = False

    def encode(self, candidate: Any) -> npt.NDArray[Any]:
        """Return one sub-environment's action for `candidate`."""
        return self.state.space.encode(candidate)

    def decode(self, action: npt.NDArray[Any]) -> Any:
        """Return the candidate of one sub-environment's action."""
        return self.state.space.decode(action)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[F32, dict[str, Any]]:
        """Start a new search.

        Args:
            seed: The run's seed; None derives the next one from the last. Of a list with one a
                sub-environment, as Gymnasium's other vector environments take it, the first counts:
                there is one search.
            options: Unused.

        Raises:
            UsageError: For a list of another length, or a seed out of range.
        """
        if isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, str):
            if len(seed) != self.num_envs:
                raise UsageError(f"seed: expected {self.num_envs} seeds, got {len(seed)}")
            seed = seed[0]
        self.state.start(seed)
        self._ended = False
        observation = self.state.observer.vector(None, self.state.evaluator.remaining)
        seeds = np.full(self.num_envs, self.state.run_seed, dtype=np.int64)
        return np.tile(observation, (self.num_envs, 1)), {"run_seed": seeds}

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[F32, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Evaluate one candidate in every sub-environment."""
        never = np.zeros(self.num_envs, dtype=bool)
        if self._ended:
            observations, started = self.reset()
            return observations, np.zeros(self.num_envs), never, never.copy(), started
        self.state.check_started()
        try:
            rows = len(actions)
        except TypeError:
            wanted = f"actions: expected {self.num_envs} rows"
            raise UsageError(f"{wanted}, got {actions!r:.80}") from None
        if rows != self.num_envs:
            raise UsageError(f"actions: expected {self.num_envs} rows, got {rows}")
        state = self.state
        candidates = [state.space.decode(action) for action in actions]
        violations = [state.space.validate(candidate) for candidate in candidates]
        valid = [i for i, violation in enumerate(violations) if violation is None]
        results = state.run([(candidates[i], self.options.trials) for i in valid])
        by_position = dict(zip(valid, results, strict=True))
        evaluations = [by_position.get(i) for i in range(self.num_envs)]
        state.count_steps([e is not None and e.new.charged > 0 for e in evaluations])
        remaining = max(0, state.evaluator.remaining)
        observations = np.stack([state.observer.vector(e, remaining) for e in evaluations])
        rewards = np.array([0.0 if e is None else e.new.rate or 0.0 for e in evaluations])
        infos = [state.info(v, e) for v, e in zip(violations, evaluations, strict=True)]
        info = {name: self._column([one[name] for one in infos]) for name in infos[0]}
        info["valid"] = info["valid"].astype(bool)
        end = state.end
        if end is not None:
            info["reason"] = np.full(self.num_envs, end, dtype=object)
        self._ended = end is not None
        return observations, rewards, never, np.full(self.num_envs, end is not None), info

    @staticmethod
    def _column(values: Sequence[Any]) -> npt.NDArray[Any]:
        column = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            column[i] = value
        return column

    def render(self) -> tuple[Any, ...] | None:
        """Return the last trial's picture `num_envs` times, in mode ``rgb_array``."""
        if self.render_mode != "rgb_array":
            return None
        return tuple(self.state.picture() for _ in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the workers."""
        self.state.evaluator.close()
