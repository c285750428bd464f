"""The Weights & Biases logger: W&B's own code runs in a helper process, never in this one."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import secrets
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import Evaluation, TrialRecord, UsageError
from ...core.files import write_atomically
from ..store import dump_json, to_plain
from .helper_process import HelperProcess
from .tracker import RunTracker, bounded, bounded_values, picture_of

MODES = ("online", "offline", "disabled")

SETTINGS: Mapping[str, Any] = {
    "console": "off",
    "silent": True,
    "host": "",
    "program": "",
    "symlink": False,
    "disable_code": True,
    "disable_git": True,
    "disable_job_creation": True,
    "save_code": False,
    "x_disable_machine_info": True,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_save_requirements": False,
}
"""W&B's settings unless the caller gives others: of the machine and the code, nothing is sent."""

COLUMNS = ("candidate", "call", "failed", "picture", "question", "reply", "answer", "truth", "rule")

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_OWN = ("WANDB_DIR", "WANDB_RESUME", "WANDB_RUN_ID", "WANDB_SERVICE", "VLMFAIL_WANDB")


class WandbLogger:
    """Logs a run to Weights & Biases, online or into an offline folder that can be synced later.

    Of every evaluation there is one row, with the charged trials so far as ``call``, W&B's step
    metric; at the end come a table of failing pictures and the summary. A resumed run goes on in
    the same W&B run, and each evaluation is there once: online, those that the service holds are
    not sent again; offline, the folder is written anew from the run's first evaluation.

    No fault of W&B stops or holds up the search: its package is imported by a helper process that
    is given up after a time. What is not logged is told in one warning.
    """

    def __init__(
        self,
        project: str | None = None,
        *,
        entity: str | None = None,
        group: str | None = None,
        mode: str | None = None,
        directory: str | os.PathLike[str] | None = None,
        pictures: int = 50,
        settings: Mapping[str, Any] | None = None,
        start_seconds: float = 30.0,
        finish_seconds: float = 60.0,
    ) -> None:
        """Prepare; what is None is taken from W&B's environment variables and files.

        Args:
            project: W&B project (default ``"vlmfail"``).
            entity: User or team.
            group: Group of runs, such as those of one bench.
            mode: ``online`` (default), ``offline`` or ``disabled``.
            directory: Where W&B's folder ``wandb`` goes; by default the run's folder.
            pictures: Failing pictures in the table, at most.
            settings: Further settings of W&B, by their names in `wandb.Settings`.
            start_seconds: Time to reach the service; after it, the run is logged offline.
            finish_seconds: Time that the end of the search may take, uploads included.
        """
        if mode is not None and mode not in MODES:
            raise UsageError(f"mode of W&B: expected one of {', '.join(MODES)}, got {mode!r}")
        if isinstance(pictures, bool) or not isinstance(pictures, int) or pictures < 0:
            raise UsageError(f"pictures: expected a number of at least 0, got {pictures!r}")
        self._given = {"project": project, "entity": entity, "group": group}
        self._mode = mode
        self._directory = None if directory is None else Path(directory)
        self._pictures = pictures
        self._settings = {**SETTINGS, **(settings or {})}
        self._start_seconds = start_seconds
        self._finish_seconds = finish_seconds
        self._run: Path | None = None
        self._helper: HelperProcess | None = None
        self._tracker = RunTracker({})

    def attach(self, run: Path) -> None:
        """Hear of the run's folder, before `start`."""
        self._run = run

    def start(self, config: Mapping[str, Any]) -> None:
        """Start the helper and send the configuration; does not wait for W&B."""
        self._tracker = RunTracker(config)
        mode = self._mode or os.environ.get("WANDB_MODE", "").lower() or "online"
        if mode == "disabled":
            return
        found = importlib.util.find_spec("wandb")
        if found is None or found.origin is None:  # a folder `wandb/` is no package
            self._tell("the package is not installed: pip install 'vlmfail[wandb]'")
            return
        base = (self._directory or self._run or Path.cwd()).absolute()
        try:
            self._helper = self._start(base, "offline" if mode in ("offline", "dryrun") else mode)
        except OSError as error:
            self._tell(f"{base / 'wandb'}: {error.strerror}")
            return
        self._send({"event": "config", "config": bounded_values(to_plain(config))})

    def log(self, calls: int, evaluation: Evaluation[Any], records: Sequence[TrialRecord]) -> None:
        """Send one evaluation."""
        row = self._tracker.row(calls, evaluation, records)
        if self._helper is not None:
            self._send({"event": "row", "step": row["evaluation"], "row": row})

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Send the failing pictures and the summary; wait for W&B, not too long."""
        if self._helper is None:
            return
        self._send({"event": "failing", "columns": COLUMNS, "rows": self._failing()})
        status = str(summary.get("status", ""))
        bad = status in ("failed", "interrupted", "running", "")
        values = bounded_values(to_plain(summary))
        self._send({"event": "finish", "summary": values, "exit_code": int(bad)})
        if self._helper is None:
            return
        helper, self._helper = self._helper, None
        answers: list[dict[str, Any]] = []
        with contextlib.suppress(KeyboardInterrupt):  # the user will not wait for W&B
            answers = helper.close(self._finish_seconds)
        stored = any("stored" in answer for answer in answers)
        late = f"did not end within {self._finish_seconds:g} s" if helper.killed else "ended"
        self._take(answers, None if stored else f"its process {late}; the rest is not logged")

    # -- the helper ---------------------------------------------------------------------------

    def _start(self, base: Path, mode: str) -> HelperProcess:
        folder = base / "wandb"
        folder.mkdir(parents=True, exist_ok=True)
        names = self._names()
        told = {
            **names,
            "name": None if os.environ.get("WANDB_NAME") or not self._run else self._run.name,
            "mode": mode,
            "dir": str(base),
            "settings": self._settings,
            "start_seconds": self._start_seconds,
            "finish_seconds": self._finish_seconds,
        }
        hidden = (n for n in os.environ if _SECRET.search(n.upper()) and not n.startswith("WANDB_"))
        unwanted = {*_OWN, *hidden}
        env = {name: value for name, value in os.environ.items() if name not in unwanted}
        env |= {"WANDB_ERROR_REPORTING": "false", "WANDB_SILENT": "true"}
        # Pictures of an offline run lie here until it is synced.
        env |= {"WANDB_DATA_DIR": str(folder / f"data-{names['id']}")}
        env |= {"WANDB_CACHE_DIR": str(folder / "cache"), "VLMFAIL_WANDB": dump_json(told)}
        helper = Path(__file__).with_name("wandb_helper.py")
        # Without -P the helper's own folder would be searched for `wandb` first.
        return HelperProcess([sys.executable, "-P", str(helper)], folder, env)

    def _names(self) -> dict[str, Any]:
        """Return the W&B run's id, project, entity and group: a resumed run keeps its own."""
        given = {name: value for name, value in self._given.items() if value is not None}
        path = None if self._run is None else self._run / "wandb" / "run.json"
        kept: Any = {}
        if path is not None:
            with contextlib.suppress(OSError, ValueError):
                kept = json.loads(path.read_text(encoding="utf-8"))
        kept = kept if isinstance(kept, dict) else {}
        identity = str(kept.get("id", ""))
        if not re.fullmatch(r"[a-z0-9]{8,32}", identity):
            identity = secrets.token_hex(6)
        names = {
            "id": identity,
            **{name: kept.get(name) for name in self._given},
            **given,
        }
        if names["project"] is None and not os.environ.get("WANDB_PROJECT"):
            names["project"] = "vlmfail"
        if path is not None and names != kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, dump_json(names).encode())
        return names

    def _send(self, event: Mapping[str, Any]) -> None:
        helper = self._helper
        if helper is None:
            return
        if helper.send(event):
            self._take(helper.hear())
        else:
            self._helper = None
            self._take(helper.close(0.0), "its process ended; the rest is not logged")

    def _take(self, answers: Sequence[Mapping[str, Any]], otherwise: str | None = None) -> None:
        """Tell what the helper says in one line; `otherwise`, if it gave no reason to end."""
        reasons = [str(answer["told"]) for answer in answers if "told" in answer]
        if otherwise is not None and not any(answer.get("failed") for answer in answers):
            reasons.append(otherwise)
        if any(answer.get("failed") for answer in answers):
            self._close()
        if reasons:
            self._tell("; ".join(bounded(reason, 400) for reason in reasons))

    def _close(self) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.close(0.0)

    def _tell(self, reason: str) -> None:
        warnings.warn(f"Weights & Biases: {reason}. The search goes on", stacklevel=3)

    def _failing(self) -> list[list[Any]]:
        rows = []
        for trial in self._tracker.failing(self._pictures):
            path = picture_of(self._run, trial.picture)
            picture = None if path is None else str(path)
            rows.append([trial.candidate, trial.call, trial.rate, picture, *trial.texts.values()])
        return rows
