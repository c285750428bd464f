"""Search algorithms: one file each, their mathematics in `_surrogates`."""

from __future__ import annotations

from .registry import SEARCHERS, describe, make_searcher, searcher_names

__all__ = ["SEARCHERS", "describe", "make_searcher", "searcher_names"]
