"""Searchers by name: built-in rows, entry points of other packages, `module_or_file:Name`."""

from __future__ import annotations

import inspect
from typing import Any

from ..agents.agent import SearchAgent
from ..core import Registry, UnknownNameError, UsageError

SEARCHERS = Registry(
    "searcher",
    "vlmfail.searchers",
    {
        "random": "vlmfail.searchers.random_sets:RandomSearch",
        "beam": "vlmfail.searchers.beam:BeamSearch",
        "gpts": "vlmfail.searchers.gpts:GPTS",
        "level-set": "vlmfail.searchers.level_set:LevelSetSearch",
        "level-set-adaptive": "vlmfail.searchers.level_set:AdaptiveLevelSetSearch",
        "fscs-art": "vlmfail.searchers.adaptive_random:AdaptiveRandom",
        "fscsart-dt": "vlmfail.searchers.sorted_surrogate:PartitionTree",
        "sorting-dt": "vlmfail.searchers.sorted_surrogate:SortingTree",
        "sorting-rf": "vlmfail.searchers.sorted_surrogate:SortingForest",
        "weighted-rf": "vlmfail.searchers.weighted_forest:WeightedForest",
        "oracle": "vlmfail.searchers.oracles:Oracle",
        "greedy-oracle": "vlmfail.searchers.oracles:GreedyOracle",
        # Peers, named and not imported: they lie above this room.
        "halton": "vlmfail.benchmarks.peers.quasi_random:HaltonSearch",
        "sobol": "vlmfail.benchmarks.peers.quasi_random:SobolSearch",
        "cross-entropy": "vlmfail.benchmarks.peers.cross_entropy:CrossEntropy",
        "bandit": "vlmfail.benchmarks.peers.bandit:Bandit",
        "optuna-tpe": "vlmfail.benchmarks.peers.optuna_tpe:OptunaTPE",
        "map-elites": "vlmfail.benchmarks.peers.map_elites:MapElites",
        "gp-ucb": "vlmfail.benchmarks.peers.gaussian_process:GPUCB",
        "gp-ei": "vlmfail.benchmarks.peers.gaussian_process:GPEI",
        "ppo": "vlmfail.benchmarks.peers.ppo:PPOSearch",
        "maskable-ppo": "vlmfail.benchmarks.peers.maskable_ppo:MaskablePPOSearch",
    },
    "See `vlmfail list`.",
)

MINIMISING = "+min"
"""What a searcher's name may end in; see `vlmfail.searchers.minimising`."""


AUTO = "auto"
"""What stands for the searcher that `vlmfail.searchers.auto` chooses for an environment."""


def searcher_names() -> list[str]:
    """Return all registered names, built-in ones first."""
    return SEARCHERS.names()


def describe(name: str) -> str:
    """Return a searcher in one line: the first of its docstring.

    Raises:
        UnknownNameError: When nothing is registered under `name`.
    """
    return SEARCHERS.describe(name)


def make_searcher(
    spec: str | SearchAgent[Any] | type[SearchAgent[Any]], **args: Any
) -> SearchAgent[Any]:
    """Return an agent that is ready to bind.

    Args:
        spec: A registered name, `module_or_file:Name`, an agent's class, or an agent, which is
            returned as it is. A name or `module_or_file:Name` may end in ``+min``: it searches with
            half the budget, the rest minimises and confirms what it found.
        **args: Arguments of the agent's constructor.

    Raises:
        UnknownNameError: For a name that is not registered, or an argument that does not exist.
        UsageError: For wrong values, missing arguments, something that is no agent, or `auto`,
            which only an environment's candidates can settle.
    """
    if isinstance(spec, str) and spec.partition(":")[0] == AUTO:
        raise UsageError(
            f"{spec} is chosen for an environment, and here there is none: give it to a search, "
            "or name the searcher; `vlmfail list` lists them"
        )
    if isinstance(spec, str) and spec.endswith(MINIMISING) and spec not in SEARCHERS.names():
        from .minimising import MinimisingSearch

        inner = make_searcher(spec.removesuffix(MINIMISING), **args)
        return MinimisingSearch(inner)
    target = SEARCHERS.load(spec) if isinstance(spec, str) else spec
    label = spec if isinstance(spec, str) else _label(target)
    if not isinstance(target, type) and (_is_agent(target) or not callable(target)):
        if args:
            raise UsageError(
                f"{label} is an agent already and takes no arguments here, got {', '.join(args)}: "
                "give its class, or set them when you make it"
            )
        return _checked(target, label)
    _check_args(target, label, args)
    try:
        return _checked(target(**args), label)
    except TypeError as error:
        # Abstract methods left out, or a value of a wrong type that the constructor found.
        raise UsageError(f"searcher {label} cannot be made: {error}") from error


def _check_args(target: Any, label: str, args: dict[str, Any]) -> None:
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # compiled classes may have none: their constructor judges
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    by_name = {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    for name in args:
        if name not in by_name:
            raise UnknownNameError(f"argument of searcher {label}", name, by_name)
    missing = [
        name
        for name, parameter in by_name.items()
        if parameter.default is parameter.empty and name not in args
    ]
    if missing:
        raise UsageError(f"searcher {label} needs the arguments {', '.join(missing)}")


def _is_agent(value: Any) -> bool:
    return not _missing_methods(value)


def _missing_methods(value: Any) -> list[str]:
    return [name for name in ("bind", "ask", "tell") if not callable(getattr(value, name, None))]


def _checked(agent: Any, label: str) -> SearchAgent[Any]:
    missing = _missing_methods(agent)
    if missing:
        raise UsageError(
            f"{label} is no search agent: it lacks {', '.join(missing)}. "
            "Subclass vlmfail.agents.SearchAgent."
        )
    checked: SearchAgent[Any] = agent
    return checked


def _label(target: Any) -> str:
    return target.__name__ if isinstance(target, type) else type(target).__name__
