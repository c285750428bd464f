"""Runs on disk, loggers and executors."""

from __future__ import annotations

from .store import LoggedEvaluation, RunStore, dump_json, to_plain

__all__ = ["LoggedEvaluation", "RunStore", "dump_json", "to_plain"]
