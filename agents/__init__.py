"""The agent contract and the search loop; learning libraries as agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .agent import SearchAgent
from .progress import Progress

if TYPE_CHECKING:
    from .sb3 import SB3Agent, train

__all__ = ["Progress", "SB3Agent", "SearchAgent", "train"]


def __getattr__(name: str) -> Any:
    """Load the bridge to Stable-Baselines3 on first use: it needs the environments."""
    if name in ("SB3Agent", "train"):
        from . import sb3

        return getattr(sb3, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
