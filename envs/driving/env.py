"""The driving environments."""

from __future__ import annotations

from typing import Any

from ..failure_env import FailureEnv
from ..failure_vector_env import FailureVectorEnv
from ..options import EnvOptions
from ..registry import domain_options, make_domain

ID = "VLMFail-Driving-v0"


class DrivingEnv(FailureEnv):
    """Which combinations of road concepts make a model drive wrongly?

    ## Description
    A car drives at 6.7 m/s in a town; one picture from its front camera and one question: emergency
    stop, slow down or continue? A candidate is a set of up to five of 30 concepts (obstacles,
    people, vehicles, props, lights, modifiers, weather, town). The right answer is computed from
    the sampled scene: braking distances for what stands in the lane, then red light, then heavy
    rain and fog (Revelio, section 4 and appendices B.1, C.1).

    ## Action space
    `MultiBinary(30)`, one bit a concept in catalogue order; `sample()` draws valid sets. Uniform
    bits are nearly always invalid.

    | rule | a set is invalid when |
    |---|---|
    | D1 | it names two towns |
    | D2 | it names two weathers |
    | D3 | it holds red and green, near and far, or lane and sidewalk |
    | D4 | it has no obstacle, person, vehicle, prop, light or intersection |
    | D5 | a modifier has no person, vehicle or prop to move |
    | SIZE | it is empty or larger than `max_size` |

    ## Observation
    93 numbers in [0, 1], see `vlmfail.envs.observation.Observer`.

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
    `rules.json`, `prompt.json` and `recognition.json` that replace the packaged ones. All of
    `vlmfail.envs.options.EnvOptions`: `model`, `trials`, `budget`, `renderer` (`embree`),
    `workers`, `concurrency`, `count_as_fail`, `max_requests`, `max_total_tokens`, `max_dollars`,
    `lifetime_budget`, `render_mode`.

    ## Version History
    v0: first version.
    """

    def __init__(self, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID))
        super().__init__(make_domain(ID, **rest), own)


class DrivingVectorEnv(FailureVectorEnv):
    """The vector form of `DrivingEnv`: one shared budget, trials in flight together."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID))
        super().__init__(make_domain(ID, **rest), num_envs, own)
