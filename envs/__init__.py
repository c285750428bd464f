"""Search environments: the generic ones here, one folder a domain.

`FailureEnv`, `FailureVectorEnv` and `ConceptSlots` are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .concept_slots import ConceptSlots
    from .failure_env import FailureEnv
    from .failure_vector_env import FailureVectorEnv

__all__ = ["ConceptSlots", "FailureEnv", "FailureVectorEnv"]

_LAZY = {
    "ConceptSlots": "concept_slots",
    "FailureEnv": "failure_env",
    "FailureVectorEnv": "failure_vector_env",
}


def __getattr__(name: str) -> Any:
    """Load a class on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
