"""Stable-Baselines3: any of its algorithms as a searcher, or trained on any environment."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from ..core import AgentError, Evaluation, MissingDependencyError, UnknownNameError, UsageError
from ..core.plugins import load_object
from ..envs.concept_sets import ConceptSetSpace
from ..envs.concept_slots import ConceptSlots
from ..envs.observation import Observer
from ._lockstep import LockStep, OwnRandom
from ._unseen import Unseen
from .agent import SearchAgent

F32 = npt.NDArray[np.float32]
PACKAGES = (("stable_baselines3", "stable-baselines3"), ("sb3_contrib", "sb3-contrib"))


def load_algorithm(algorithm: str | type) -> Any:
    """Return an algorithm's class.

    Args:
        algorithm: A class, a name of Stable-Baselines3 or sb3-contrib (``"PPO"``,
            ``"MaskablePPO"``), or ``module_or_file:Name``.

    Raises:
        MissingDependencyError: When neither package is installed.
        UnknownNameError: When neither has the name.
    """
    if not isinstance(algorithm, str):
        return algorithm
    if ":" in algorithm:
        return load_object(algorithm)
    import importlib

    names: list[str] = []
    for module, package in PACKAGES:
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            raise MissingDependencyError(package, "sb3", f"algorithm {algorithm}") from error
        if algorithm in vars(found) and hasattr(vars(found)[algorithm], "learn"):
            return vars(found)[algorithm]
        names += [name for name, value in vars(found).items() if hasattr(value, "learn")]
    raise UnknownNameError("algorithm of Stable-Baselines3", algorithm, names)


class SB3Agent(SearchAgent[Any]):
    """Any algorithm of Stable-Baselines3 as a searcher: it proposes while it learns.

    The algorithm's own `learn` runs over a small environment in a thread that waits for each
    evaluation, so that it is asked and told like any other agent. Its observation is the one of
    our environments (`vlmfail.envs.observation`), its action that of `ConceptSlots` (with
    `action_masks`) for concept sets and the Box for scene vectors, its reward the failure rate (0
    without data). An episode never ends. An action whose candidate was proposed before, or is
    none, stands for the nearest one that was not (ours): what a searcher may not pay twice.

    `parallel` environments step together and fill a batch; a smaller batch is filled in turns.
    Deterministic for the agent's seed on the CPU: the generators that the library draws from are
    its own while it runs, and the process's again afterwards; torch works in one thread.
    """

    name: ClassVar[str] = "sb3"

    _steps: LockStep | None = None

    def __init__(
        self,
        algorithm: str | type = "PPO",
        *,
        policy: str = "MlpPolicy",
        parallel: int = 8,
        weights: str = "",
        **options: Any,
    ) -> None:
        """Choose an algorithm.

        Args:
            algorithm: See `load_algorithm`.
            policy: The algorithm's policy.
            parallel: Environments that step together at most; never more than a batch.
            weights: File of a model that `train` made and `save` wrote, to begin with.
            **options: Arguments of the algorithm, such as ``n_steps=16``.

        Raises:
            UsageError: When `parallel` is no whole number of at least 1.
        """
        if isinstance(parallel, bool) or not isinstance(parallel, int) or parallel < 1:
            raise UsageError(f"parallel: expected a whole number of at least 1, got {parallel!r}")
        self.algorithm = algorithm
        self.policy = policy
        self.parallel = parallel
        self.weights = weights
        self.options = options

    def config(self) -> dict[str, Any]:
        """Return the settings; what is no JSON value by its text."""
        name = self.algorithm if isinstance(self.algorithm, str) else self.algorithm.__name__
        return {
            "algorithm": name,
            "policy": self.policy,
            "parallel": self.parallel,
            "weights": self.weights,
            **{key: _plain(value) for key, value in self.options.items()},
        }

    def make_options(self, envs: int) -> dict[str, Any]:
        """Return the algorithm's arguments for `envs` environments that step together."""
        return dict(self.options)

    def setup(self) -> None:
        """Stop an earlier search; the algorithm is built at the first `ask`, which has its batch.

        Raises:
            MissingDependencyError: When Stable-Baselines3 is not installed.
            UsageError: For candidates that are neither concept sets nor scene vectors.
        """
        if self._steps is not None:
            self._steps.stop()
            self._steps = None
        self._class = load_algorithm(self.algorithm)
        space: Any = self.space
        self._slots: ConceptSlots | None = None
        if isinstance(space, ConceptSetSpace):
            self._slots = ConceptSlots(_Nothing(space))
        elif getattr(space, "kind", None) != "vector":
            kind = getattr(space, "kind", type(space).__name__)
            raise UsageError(
                f"{self.name} works on concept sets and scene vectors, and this env's candidates "
                f"are of kind {kind!r}"
            )
        self._unseen = Unseen(space, self.rng)
        self._observer = Observer(space, self.trials, self.budget)
        self._random = OwnRandom(int(self.rng.integers(2**31)))
        self._left = self.budget
        self._actions: deque[tuple[int, Any]] = deque()
        self._waiting: dict[str, int] = {}
        self._told: dict[int, Evaluation[Any]] = {}
        self._exhausted = False

    def ask(self, n: int) -> Sequence[Any]:
        """Return at most `n` unseen candidates, one an environment that steps.

        Raises:
            AgentError: Before all of the last step's candidates were told.
        """
        if self._exhausted or n < 1:
            return []
        if not self._actions:
            if self._waiting:
                raise AgentError(f"ask() was called before tell() got {next(iter(self._waiting))}")
            self._actions = deque(enumerate(self._step(n)))
        batch: list[Any] = []
        while self._actions and len(batch) < n:
            env, action = self._actions.popleft()
            candidate = self._unseen.nearest(self._meant(action))
            if candidate is None:
                self._exhausted = True
                break
            self._waiting[self.space.key(candidate)] = env
            batch.append(candidate)
        return batch

    def tell(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Keep rewards and observations for the algorithm's next step.

        Raises:
            AgentError: For a candidate that was not proposed, or was told already.
        """
        for evaluation in evaluations:
            if evaluation.key not in self._waiting:
                raise AgentError(f"tell() got {evaluation.key}, which ask() did not just propose")
            self._told[self._waiting.pop(evaluation.key)] = evaluation
            self._left = max(0, self._left - evaluation.new.charged)
        self._observer.learn(evaluations)

    def _meant(self, action: Any) -> Any:
        if self._slots is not None:
            return self._slots.candidate(np.asarray(action, dtype=np.int64))
        return self.space.decode(np.clip(action, 0.0, 1.0))

    def _step(self, n: int) -> Any:
        """Let the algorithm go on; return the actions of its next step."""
        with self._random:
            if self._steps is None:
                self._steps = LockStep(self._work(min(n, self.parallel)))
                answer: Any = True
            else:
                order = sorted(self._told)
                rewards = [self._told[env].rate or 0.0 for env in order]
                seen = [self._observer.vector(self._told[env], self._left) for env in order]
                answer = np.stack(seen), np.array(rewards, dtype=np.float32)
                self._told.clear()
            return self._steps.next(answer)

    def _work(self, envs: int) -> Callable[[Callable[[Any], Any]], None]:
        """Return what runs in the thread; it must not hold the agent, which ends it."""
        algorithm, policy, weights = self._class, self.policy, self.weights
        options = {"seed": self._random.seed, "device": "cpu", **self.make_options(envs)}
        steps = max(1, math.ceil(self.budget / self.trials))
        first = self._observer.vector(None, self._left)
        actions: Any = self.space.action_space()
        masks: npt.NDArray[np.bool_] | None = None
        if self._slots is not None:
            actions, masks = self._slots.action_space, self._slots.action_masks()

        def work(exchange: Callable[[Any], Any]) -> None:
            import torch

            torch.set_num_threads(1)
            env = _steps_env(exchange, envs, first, actions, masks)
            model = _build(algorithm, policy, env, options)
            if weights:
                model.set_parameters(weights, device="cpu")
            begin = True
            while True:  # ended from outside, with the search
                model.learn(steps, log_interval=None, reset_num_timesteps=begin)
                begin = False

        return work


def train(
    env: str | gym.Env[Any, Any],
    algorithm: str | type = "PPO",
    *,
    budget: int | None = None,
    policy: str = "MlpPolicy",
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Train an algorithm on an environment until its lifetime budget is spent; return the model.

    Concept sets are wrapped in `ConceptSlots`. The environment charges each trial, over all of its
    episodes; the generators of the process are as before afterwards. `model.save(FILE)` writes
    what `SB3Agent(..., weights=FILE)` begins with.

    Args:
        env: A registered id, or an environment with a `lifetime_budget`.
        algorithm: See `load_algorithm`.
        budget: Trials to charge in all; needed with an id.
        policy: The algorithm's policy.
        seed: Seed of the algorithm and of the first search.
        env_options: Options of the environment, with an id.
        **options: Arguments of the algorithm.

    Raises:
        MissingDependencyError: When Stable-Baselines3 is not installed.
        UsageError: Without a lifetime budget, or when the algorithm cannot act in the environment.
    """
    chosen = load_algorithm(algorithm)
    made = env
    if isinstance(made, str):
        if budget is None:
            raise UsageError("train: say how many trials may be charged: budget=1000")
        settings = {"budget": budget, **(env_options or {}), "lifetime_budget": budget}
        made = gym.make(made, **settings)
    elif budget is not None or env_options:
        raise UsageError("train: set lifetime_budget and options where the environment is made")
    inner: Any = made.unwrapped
    lifetime = inner.options.lifetime_budget
    if lifetime is None:
        raise UsageError("train: make the environment with a lifetime_budget, or it never ends")
    if isinstance(inner.candidates, ConceptSetSpace) and not isinstance(made, ConceptSlots):
        made = ConceptSlots(made)
    state = inner.state
    steps = max(1, math.ceil(lifetime / inner.options.trials))
    from stable_baselines3.common.callbacks import BaseCallback

    class Spent(BaseCallback):  # type: ignore[misc]
        def _on_step(self) -> bool:
            return bool(state.spent < lifetime)

    try:
        with OwnRandom(seed):
            model = _build(chosen, policy, made, {"seed": seed, "device": "cpu", **options})
            before = -1
            while before < state.spent < lifetime:  # steps that charge nothing may be among them
                begin, before = before < 0, state.spent
                model.learn(steps, Spent(), log_interval=None, reset_num_timesteps=begin)
    finally:
        made.close()
    return model


def _build(algorithm: Any, policy: str, env: Any, options: Mapping[str, Any]) -> Any:
    try:
        return algorithm(policy, env, **options)
    except (AssertionError, TypeError, ValueError) as error:
        text = str(error).partition("\n")[0]
        raise UsageError(f"{algorithm.__name__} cannot be used here: {text}") from error


def _plain(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)


class _Nothing(gym.Env[Any, Any]):
    """The part of an environment that `ConceptSlots` reads: its candidates."""

    def __init__(self, space: ConceptSetSpace) -> None:
        self.candidates = space
        self.action_space = space.action_space()
        self.observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)


def _steps_env(
    exchange: Callable[[Any], Any],
    envs: int,
    first: F32,
    actions: gym.Space[Any],
    masks: npt.NDArray[np.bool_] | None,
) -> Any:
    """Return environments that step together, each step an exchange with the agent."""
    from stable_baselines3.common.vec_env import VecEnv

    class Steps(VecEnv):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(envs, gym.spaces.Box(0.0, 1.0, first.shape, np.float32), actions)

        def reset(self) -> F32:
            return np.tile(first, (envs, 1))

        def step_async(self, actions: Any) -> None:
            self._chosen = np.array(actions)

        def step_wait(self) -> Any:
            seen, rewards = exchange(self._chosen)
            return seen, rewards, np.zeros(envs, dtype=bool), [{} for _ in range(envs)]

        def close(self) -> None:
            """Nothing is held."""

        def has_attr(self, attr_name: str) -> bool:
            return attr_name == "action_masks" and masks is not None

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [None] * envs

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            """Nothing is kept."""

        def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
            return [masks if method_name == "action_masks" else None] * envs

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            return [False] * envs

    return Steps()
