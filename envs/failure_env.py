"""FailureEnv: a search for failures as a Gymnasium environment."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from ..core import (
    CandidateSpace,
    Domain,
    EpisodeDomain,
    Evaluation,
    UsageError,
    Violation,
    check_seed,
    derive_seed,
    plays_episodes,
)
from ..core.text import tamed
from .episodes import check_options, defaults_of, make_tested
from .evaluator import Evaluator
from .generated import renderer_identity
from .observation import Observer
from .options import VECTOR_CONCURRENCY, EnvOptions
from .pictured_sets import PicturedSets, candidate_space

if TYPE_CHECKING:
    from ..models.spending import Caps

F32 = npt.NDArray[np.float32]
Action = npt.NDArray[Any]

MANY_UNCHARGED = 50
"""Steps in a row that charge nothing before the user is told."""

MAX_UNCHARGED = 1000
"""Steps in a row that charge nothing before the episode ends: an agent that only proposes
invalid candidates must not run for ever."""


class SearchState:
    """What a single and a vector environment share: evaluator, observer, budget, seeds."""

    def __init__(
        self,
        domain: Domain[Any] | EpisodeDomain[Any],
        options: EnvOptions,
        *,
        step_trials: int = 1,
    ) -> None:
        """Build the evaluator; nothing is rendered or asked yet.

        Args:
            domain: The domain.
            options: The options.
            step_trials: Trials of one step that may be in flight together by default.
        """
        from ..models.spending import Caps, Ledger

        self.domain: Any = domain
        self.space: CandidateSpace[Any] = domain.space
        self.options = options
        caps = Caps(options.max_requests, options.max_total_tokens, options.max_dollars)
        # An unknown name is told here, not in a worker.
        if plays_episodes(domain):
            self._prepare_episodes()
        else:
            self._prepare_questions(caps)
        self.evaluator: Evaluator[Any] = Evaluator(
            domain,
            self.model,
            renderer=options.renderer,
            budget=options.budget,
            workers=options.workers,
            concurrency=self._concurrency(step_trials),
            count_as_fail=options.failing,
            ledger=Ledger(caps),
            spec=options.model if isinstance(options.model, str) else None,
        )
        self.observer = Observer(self.space, options.trials, options.budget)
        self.run_seed: int | None = None
        self._warned = False
        self.spent = 0
        self.uncharged = 0
        self._undrawn = ""

    def _prepare_questions(self, caps: Caps) -> None:
        from ..models.policies.registry import is_policy
        from ..models.registry import make_model

        options = self.options
        if is_policy(options.model):
            raise UsageError(
                f"{self.domain.name} puts questions to a vision-language model, and "
                f"{_named(options.model)} is a policy, which acts: `vlmfail list` names the models"
            )
        renderer = self.domain.make_renderer(options.renderer)
        self.renderer_identity = renderer_identity(renderer)
        self.space = candidate_space(self.space, renderer)
        if isinstance(self.space, PicturedSets):
            self.renderer_identity = {
                **(self.renderer_identity or {}),
                "candidates": len(self.space),
            }
        self.model: Any = make_model(options.model)  # type: ignore[arg-type]  # no policy
        priced = bool(getattr(self.model, "priced", False))
        caps.check_priced(getattr(self.model, "name", "custom"), priced)
        caps.check_priced(options.renderer, bool(getattr(renderer, "priced", True)))

    def _prepare_episodes(self) -> None:
        check_options(self.domain.name, self.options)
        self.domain.check()
        self.renderer_identity = None
        self.model = make_tested(self.domain, self.options.model)

    def _concurrency(self, step_trials: int) -> int:
        if self.options.concurrency is not None:
            return self.options.concurrency
        # A model in this process gains nothing, and may not be safe to ask from several threads.
        together = min(step_trials, VECTOR_CONCURRENCY)
        return together if getattr(self.model, "metered", False) else 1

    def start(self, seed: int | None) -> None:
        """Start a new search: budget, counters and evaluations are cleared."""
        if seed is not None:
            self.run_seed = check_seed(seed)
        elif self.run_seed is None:
            self.run_seed = 0
        else:
            self.run_seed = derive_seed(self.run_seed, "reset")
        lifetime = self.options.lifetime_budget
        budget = self.options.budget
        self.evaluator.budget = budget if lifetime is None else min(budget, lifetime - self.spent)
        self.evaluator.start(self.run_seed)
        self.observer.clear()
        self.uncharged = 0
        self._undrawn = ""

    def check_started(self) -> None:
        """Raise `UsageError` before the first reset."""
        if self.run_seed is None:
            raise UsageError("call reset() before the first step")

    def run(self, requests: Sequence[tuple[Any, int]]) -> list[Evaluation[Any]]:
        """Evaluate valid candidates and count what was charged."""
        self.check_started()
        before = self.evaluator.charged
        evaluations = self.evaluator.evaluate(requests)
        self.spent += self.evaluator.charged - before
        for evaluation in evaluations:
            if evaluation.new.trials:
                # The last trial's, when no scene of a valid candidate could be drawn.
                last = evaluation.new.trials[-1]
                self._undrawn = "" if evaluation.new.charged else tamed(last.note, 300)
            elif evaluation.key in self.evaluator.used_up:
                self._undrawn = f"every picture of {tamed(evaluation.key, 200)} has been shown"
        self.observer.learn(evaluations)
        return evaluations

    def count_steps(self, charged: Sequence[bool]) -> None:
        """Count steps in a row that charged nothing; say so once when they are many."""
        for step in charged:
            self.uncharged = 0 if step else self.uncharged + 1
            if self.uncharged == MANY_UNCHARGED and not self._warned:
                self._warned = True
                why = "they were invalid, info['rule'] says why"
                if self._undrawn:
                    why = f"no scene could be drawn: {self._undrawn}"
                elif self.space.kind == "concept_set":
                    why += "; agents that draw bits need vlmfail.envs.ConceptSlots around the env"
                warnings.warn(
                    f"{MANY_UNCHARGED} steps in a row put nothing to the model: {why}",
                    stacklevel=3,
                )

    @property
    def end(self) -> str | None:
        """Why the search is over, or None."""
        if self.evaluator.stopped:
            return self.evaluator.stopped
        if self.evaluator.remaining <= 0:
            return "the budget is spent"
        if (
            self.uncharged
            and isinstance(self.space, PicturedSets)
            and len(self.evaluator.used_up) >= len(self.space)
        ):
            return f"every picture of the {len(self.space)} sets has been shown"
        if self.uncharged >= MAX_UNCHARGED:
            why = f": no scene could be drawn: {self._undrawn}" if self._undrawn else ""
            return f"{MAX_UNCHARGED} steps in a row charged nothing{why}"
        return None

    def info(
        self, violation: Violation | None, evaluation: Evaluation[Any] | None
    ) -> dict[str, Any]:
        """Return a step's info: fresh objects, no clock, no cost."""
        rule = None if violation is None else {"id": violation.rule, "text": violation.text}
        return {"valid": violation is None, "rule": rule, "evaluation": evaluation}

    def picture(self) -> npt.NDArray[np.uint8]:
        """Return the last trial's picture, `height x width x 3`; grey before the first."""
        last = self.evaluator.last_picture
        if last is None:
            return np.full((384, 512, 3), 128, dtype=np.uint8)
        return np.array(last.pixels)


def _named(model: Any) -> str:
    return repr(model) if isinstance(model, str) else f"a {type(model).__name__}"


class FailureEnv(gym.Env[F32, Action]):
    """A search for failure modes of one model in one domain.

    ## Description
    An episode is a search. An action is a candidate; the environment samples scenes of it, puts
    them to the model and judges the answers.

    ## Action space
    The domain's `space.action_space()`; its `sample` draws valid candidates. `encode(candidate)`
    and `decode(action)` translate.

    ## Observation
    A flat vector in [0, 1]; the layout is `vlmfail.envs.observation.Observer`'s table.

    ## Rewards
    The failure rate of this step's trials, in [0, 1]; 0 when none passed or failed.

    ## Episode end
    Never terminated. Truncated when the budget is spent, a cap is reached, or 1000 steps in a
    row charged nothing; `info["reason"]` says which.

    ## Arguments
    See `vlmfail.envs.options.EnvOptions`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self, domain: Domain[Any] | EpisodeDomain[Any], options: EnvOptions | None = None
    ) -> None:
        """Build the environment over `domain`."""
        self.state = SearchState(domain, options or EnvOptions(**defaults_of(domain)))
        self.options = self.state.options
        self.render_mode = self.options.render_mode
        self.action_space = self.state.space.action_space()
        self.observation_space = gym.spaces.Box(
            0.0, 1.0, (self.state.observer.size,), dtype=np.float32
        )

    @property
    def domain(self) -> Any:
        """The domain."""
        return self.state.domain

    @property
    def candidates(self) -> CandidateSpace[Any]:
        """The candidate space."""
        return self.state.space

    @property
    def run_seed(self) -> int | None:
        """The current search's seed; None before the first reset."""
        return self.state.run_seed

    def encode(self, candidate: Any) -> Action:
        """Return the action that stands for `candidate` (an invalid one too)."""
        return self.state.space.encode(candidate)

    def decode(self, action: Action) -> Any:
        """Return the candidate that `action` stands for (an invalid one too)."""
        return self.state.space.decode(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[F32, dict[str, Any]]:
        """Start a new search.

        Args:
            seed: The run's seed; None derives the next one from the last.
            options: Unused.
        """
        self.state.start(seed)
        super().reset(seed=self.state.run_seed)
        observation = self.state.observer.vector(None, self.state.evaluator.remaining)
        return observation, {"run_seed": self.state.run_seed}

    def step(self, action: Action) -> tuple[F32, float, bool, bool, dict[str, Any]]:
        """Evaluate one candidate with m fresh trials."""
        state = self.state
        state.check_started()
        candidate = state.space.decode(action)
        violation = state.space.validate(candidate)
        evaluation = None
        if violation is None:
            (evaluation,) = state.run([(candidate, self.options.trials)])
        state.count_steps([evaluation is not None and evaluation.new.charged > 0])
        info = state.info(violation, evaluation)
        end = state.end
        if end is not None:
            info["reason"] = end
        reward = 0.0 if evaluation is None else evaluation.new.rate or 0.0
        observation = state.observer.vector(evaluation, max(0, state.evaluator.remaining))
        return observation, float(reward), False, end is not None, info

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Return the last trial's picture in mode ``rgb_array``, else None."""
        return self.state.picture() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Stop the workers; twice is fine."""
        self.state.evaluator.close()
