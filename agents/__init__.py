"""The agent contract and the search loop."""

from __future__ import annotations

from .agent import SearchAgent
from .progress import Progress

__all__ = ["Progress", "SearchAgent"]
