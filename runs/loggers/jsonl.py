"""The JSON-lines logger: one object a line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...core import EnvironmentFault, Evaluation, TrialRecord
from ..store import dump_json


class JsonLinesLogger:
    """Writes one JSON object a line: the configuration, every evaluation, the summary.

    The file is written anew by each process that works on a run; a resumed run logs its earlier
    evaluations again, so the file always holds every evaluation exactly once.
    """

    def __init__(self, path: str | os.PathLike[str] = "vlmfail.jsonl") -> None:
        """Write to `path`."""
        self._path = Path(path)

    def _write(self, mode: str, value: Mapping[str, Any]) -> None:
        try:
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(dump_json(value) + "\n")
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write the log {self._path} ({error.strerror}): choose another place with "
                "--log jsonl=FILE. Finished trials are kept: the same command continues"
            ) from error

    def start(self, config: Mapping[str, Any]) -> None:
        """Write the configuration."""
        self._write("w", {"event": "start", "config": config})

    def log(self, calls: int, evaluation: Evaluation[Any], records: Sequence[TrialRecord]) -> None:
        """Write one evaluation."""
        event = {
            "event": "evaluation",
            "calls": calls,
            "key": evaluation.key,
            "failure_rate": evaluation.rate,
            "n": evaluation.n,
            "trials": [asdict(record.trial) for record in records],
        }
        self._write("a", event)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary."""
        self._write("a", {"event": "finish", **summary})
