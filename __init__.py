"""vlmfail: interpretable failure modes of vision-language models and policies.

Importing registers the environment ids with Gymnasium. Everything heavier is loaded on first
use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .envs.registry import register_all as _register_all

if TYPE_CHECKING:
    from ._facade import Run, resume, search

__version__ = "0.1.0"

__all__ = ["Run", "__version__", "make", "resume", "search"]

_register_all()

_LAZY = {
    "search": ("vlmfail._facade", "search"),
    "resume": ("vlmfail._facade", "resume"),
    "Run": ("vlmfail._facade", "Run"),
}


def make(env: str, **options: Any) -> Any:
    """Return `gymnasium.make(env, **options)`."""
    import gymnasium as gym

    return gym.make(env, **options)


def __getattr__(name: str) -> Any:
    """Load `search`, `resume` and `Run` on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'vlmfail' has no attribute {name!r}")
    import importlib

    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
