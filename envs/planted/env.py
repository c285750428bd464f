"""The planted environments."""

from __future__ import annotations

from typing import Any

from ..failure_env import FailureEnv
from ..failure_vector_env import FailureVectorEnv
from ..options import EnvOptions
from ..registry import domain_defaults, domain_options, make_domain

ID = "VLMFail-Planted-v0"


class PlantedEnv(FailureEnv):
    """How much of what can be found does a searcher find?

    ## Description
    No model is tested here but the searcher. Every valid concept set of the driving catalogue has a
    true failure rate, drawn once for a family, a level and a seed; a trial of the set fails with
    that rate. So which sets are failure modes, which of those are minimal, and what the best
    searcher could find are known exactly, and a search of 1000 trials takes seconds.

    | family | log-odds of a set, or its rate |
    |---|---|
    | `additive` | a base and one normal effect a concept |
    | `pairwise` | the same, synergy or interference of 14 % of the pairs, a little noise a set |
    | `needles` | low, but for conjunctions of 2 to 4 concepts, which fail in 80 to 95 % |
    | `mixed` | pairwise and needles: the larger of the two rates |

    A conjunction is switched off by any of 3 blockers; parts of every second one fail a little.
    All are scaled so that of random search's sets 2 % (`hard`) or 26 % (`easy`) fail in 60 % of
    their trials or more.

    ## Action space
    `MultiBinary(30)`, one bit a concept in catalogue order; `sample()` draws valid sets. Validity
    is that of `VLMFail-Driving-v0`.

    ## Observation
    93 numbers in [0, 1], see `vlmfail.envs.observation.Observer`.

    ## Rewards
    The failure rate of the step's trials.

    ## Episode end
    Never terminated. Truncated when `budget` trials are charged, or after 1000 steps in a row
    that charged nothing; `info["reason"]` says which.

    ## Arguments
    `family` (`mixed`), `level` (`hard`), `landscape_seed` (0): which landscape. Seeds below 1000
    are for developing searchers, tables use 1000 and up. `model` (`planted`) is the landscape
    itself and nothing else. Of `vlmfail.envs.options.EnvOptions` also `trials` (5), `budget`,
    `workers`, `count_as_fail`, `lifetime_budget`, `render_mode`.

    ## Version History
    v0: first version.
    """

    def __init__(self, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID), domain_defaults(ID))
        super().__init__(make_domain(ID, **rest), own)


class PlantedVectorEnv(FailureVectorEnv):
    """The vector form of `PlantedEnv`: one shared budget."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        """Build the environment from env and domain options."""
        own, rest = EnvOptions.split(options, domain_options(ID), domain_defaults(ID))
        super().__init__(make_domain(ID, **rest), num_envs, own)
