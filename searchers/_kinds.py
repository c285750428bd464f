"""Which built-in searchers serve which kind of candidates."""

from __future__ import annotations

from typing import Any

from ..core import UsageError

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "concept_set": (
        "concept sets",
        ("random", "beam", "gpts", "level-set", "level-set-adaptive"),
    ),
    "vector": (
        "scene vectors",
        ("random", "fscs-art", "fscsart-dt", "sorting-dt", "sorting-rf", "weighted-rf"),
    ),
}
"""By kind: its candidates in words, and the registered searchers that work on them."""

_BOTH = (
    "halton",
    "sobol",
    "cross-entropy",
    "bandit",
    "optuna-tpe",
    "map-elites",
    "gp-ucb",
    "gp-ei",
    "ppo",
)

REFERENCES = ("oracle", "greedy-oracle")
"""Searchers that read the true rates of a planted landscape, the measure of the others."""

PEERS: dict[str, tuple[str, ...]] = {"concept_set": (*_BOTH, "maskable-ppo"), "vector": _BOTH}
"""By kind: the adapters of `vlmfail.benchmarks.peers` that work on it."""


def wrong_kind(space: object, searcher: str, *wanted: str) -> UsageError:
    """Return the error for a searcher of `wanted` candidates over a space of others."""
    kind = getattr(space, "kind", type(space).__name__)
    words, names = KINDS.get(kind, (f"of kind {kind!r}", ("random",)))
    choice = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return UsageError(
        f"{searcher} works on {' and '.join(KINDS[one][0] for one in wanted)}, and this env's "
        f"candidates are {words}: choose {choice}, or an agent made for them. See `vlmfail list`."
    )


def require_vectors(space: Any, searcher: str, *methods: str) -> Any:
    """Return `space` when its candidates are vectors and it has `methods`.

    Raises:
        UsageError: When its candidates are something else, or a method is missing.
    """
    if getattr(space, "kind", None) != "vector":
        raise wrong_kind(space, searcher, "vector")
    missing = [name for name in methods if not callable(getattr(space, name, None))]
    if missing:
        raise UsageError(
            f"{searcher} needs {', '.join(missing)}() of a space, which {type(space).__name__} "
            "lacks: choose random or fscs-art, or build the space as vlmfail.envs.vector_space does"
        )
    return space
