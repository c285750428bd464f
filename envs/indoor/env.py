"""The indoor environments."""

from __future__ import annotations

from typing import Any

from ..failure_env import FailureEnv
from ..failure_vector_env import FailureVectorEnv
from ..options import EnvOptions
from ..registry import domain_options, make_domain

ID = "VLMFail-Indoor-v0"


class IndoorEnv(FailureEnv):
    """Which combinations of things in a kitchen make a model miss a hazard, or cry wolf?

    ## Description
    A home robot looks at a kitchen; one picture and one question: is there a hazard of this kind?
    A candidate is a set of up to five of 33 concepts (spills, blades, chemicals, fire, people,
    electricity, heat, broken glass). Of a library of safety rules the one that fits the set best
    gives the question and the right answer (Revelio, section 4 and appendix B.2). Failures are
    told apart: a missed hazard, or over-caution.

    ## Action space
    `MultiBinary(33)`, one bit a concept in catalogue order; `sample()` draws valid sets. `kitchen`
    is the scene itself: its bit is dropped.

    A set is invalid when it breaks a precondition (a spill needs something that is tipped or full,
    a child that reaches into the cabinet needs it open, ...), holds two concepts that exclude each
    other, matches no rule of the library, or is empty or larger than `max_size`. `info["rule"]`
    says which.

    ## Observation
    102 numbers in [0, 1], see `vlmfail.envs.observation.Observer`.

    ## Rewards
    The failure rate of the step's trials.

    ## Episode end
    Never terminated. Truncated when `budget` trials are charged, when a cap (`max_requests`,
    `max_total_tokens`, `max_dollars`) is reached, or after 1000 steps in a row that charged
    nothing; `info["reason"]` says which.

    ## Arguments
    `max_size` (5): largest set. `recognition` (False): ask before the question, in the same
    prompt, two true/false statements about each concept of the scene (appendix G); the marks are
    recorded and decide nothing. `data` (packaged): a folder with any of `catalogue.json`,
    `rules.json`, `questions.json` and `recognition.json` that replace the packaged ones. All of
    `vlmfail.envs.options.EnvOptions`: `model`, `trials`, `budget`, `renderer` (`embree`, a picture
    model, a folder of pictures), `workers`, `concurrency`, `count_as_fail`, `max_requests`,
    `max_total_tokens`, `max_dollars`, `lifetime_budget`, `render_mode`.

    ## Version History
    v0: first version.
    """

    def __init__(self, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID))
        super().__init__(make_domain(ID, **rest), own)


class IndoorVectorEnv(FailureVectorEnv):
    """The vector form of `IndoorEnv`: one shared budget, trials in flight together."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID))
        super().__init__(make_domain(ID, **rest), num_envs, own)
