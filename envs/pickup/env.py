"""The pick-up environments."""

from __future__ import annotations

from typing import Any

from ..failure_env import FailureEnv
from ..failure_vector_env import FailureVectorEnv
from ..options import EnvOptions
from ..registry import domain_defaults, domain_options, make_domain

ID = "VLMFail-PickUp-v0"


class PickUpEnv(FailureEnv):
    """Where and which objects does a policy fail to pick up?

    ## Description
    A robot arm stands at a table; a vision-language-action policy sees it from over the arm's
    shoulder and is told "pick <object>". A candidate is a scene: which of seven objects, where it
    lies and how. A trial is a whole episode of at most 80 actions at 3 Hz, judged by SimplerEnv's
    rule: grasped and raised by more than 1 cm with no contact but the robot, or held more than
    2 cm up for five steps (FATE-VLA, section 4).

    ## Action space
    `Box(0, 1, (5,))`: a scene vector.

    | entry | meaning |
    |---|---|
    | 0 | object, seven bins: can, bottle, eggplant, carrot, apple, spoon, sponge |
    | 1 | x, -0.50 to -0.05 m |
    | 2 | y, 0.0 to 0.4 m |
    | 3 | standing from 0.5 on, else lying |
    | 4 | yaw of a lying object, -π to π; of a standing one it means nothing |

    `factors` adds entries: `distractors` (how many of three others lie there, and their poses),
    `light` (±2 stops), `camera` (±5 cm, ±5°), `instruction` (eight wordings).

    ## Observation
    Numbers in [0, 1], see `vlmfail.envs.observation.Observer`; the features are the object
    one-hot, x, y, standing, and sine and cosine of the yaw.

    ## Rewards
    1 for an observed failure of the episode, else 0. A deterministic policy on one scene is one
    observation: a repeat of it is charged and rewards nothing.

    ## Episode end
    Never terminated. Truncated when `budget` episodes are charged, or after 1000 steps in a row
    that charged nothing; `info["reason"]` says which.

    ## Arguments
    `model` (`scripted`): the policy, a name or an object with `reset` and `act`. `trials` (1):
    episodes a scene. `world` (`mujoco`, `maniskill`, `simpler`): the engine. `simpler_python`: the
    interpreter that has SimplerEnv. `factors` (none), `objects` (all seven),
    `max_steps` (80), `picture` (160 x 128): what the policy sees, `keep_frames` (`failures`, `all`,
    `none`): of which episodes a strip is kept, `success` (`once`, `end`), `time_limit` (none):
    seconds of the policy for an episode. Of `vlmfail.envs.options.EnvOptions` also `budget`,
    `workers`, `count_as_fail`, `lifetime_budget`, `render_mode`.

    ## Version History
    v0: first version.
    """

    def __init__(self, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID), domain_defaults(ID))
        super().__init__(make_domain(ID, **rest), own)


class PickUpVectorEnv(FailureVectorEnv):
    """The vector form of `PickUpEnv`: one shared budget."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID), domain_defaults(ID))
        super().__init__(make_domain(ID, **rest), num_envs, own)
