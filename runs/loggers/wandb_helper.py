"""The helper process of `WandbLogger`: reads events from stdin and gives them to W&B.

It is run as a file, knows nothing of vlmfail, and answers on stdout with lines of JSON: ``told``,
what is not as asked; ``stored``, that all is done. Its settings come in ``VLMFAIL_WANDB``.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Helper:
    """One W&B run."""

    def __init__(self, told: dict[str, Any], events: int, answers: int) -> None:
        """Prepare; `events` and `answers` are file descriptors."""
        self._told = told
        self._events = events
        self._answers = answers
        self._folder = Path(told["dir"]) / "wandb"
        self._run: Any = None
        self._first = 0
        self._sent: set[int] = set()

    def work(self) -> None:
        """Begin the W&B run, log every event, end it."""
        self._clear()
        self._begin()
        if self._told.get("why"):
            where = Path(self._run.dir).parent
            self._tell(f"{self._told['why']}; logged offline, to upload it: wandb sync {where}")
        self._run.define_metric("call")
        self._run.define_metric("*", step_metric="call", step_sync=False)
        exit_code = 1
        for event in _events(self._events):
            if event["event"] == "config":
                self._run.config.update(event["config"], allow_val_change=True)
            elif event["event"] == "row":
                self._log(event["step"], event["row"])
            elif event["event"] == "failing":
                try:
                    self._table(event["columns"], event["rows"])
                except Exception as error:  # W&B asks its service for tables, but not for rows
                    why = _scrubbed(str(error) or repr(error))
                    self._tell(f"the table of failing pictures is not logged: {why}")
            elif event["event"] == "finish":
                self._run.summary.update(event["summary"])
                exit_code = event["exit_code"]
        # After the death of the search nobody else ends this process when the service hangs.
        _end_after(self._told["finish_seconds"])
        file = Path(self._run.dir).parent / f"run-{self._told['id']}.wandb"
        self._run.finish(exit_code=exit_code)
        import wandb

        wandb.teardown()  # the file is whole once W&B's service has ended
        lost = self._lost(file)
        if lost:
            self._tell(f"{lost} of {len(self._sent)} evaluations could not be written to {file}")
        self._answer({"stored": len(self._sent)})

    def fail(self, error: BaseException) -> None:
        """Tell the search, and so its user, why nothing more is logged."""
        why = f"{_scrubbed(str(error) or repr(error))}; nothing more is logged"
        self._answer({"told": why, "failed": True})

    def _tell(self, reason: str) -> None:
        self._answer({"told": reason})

    def _answer(self, value: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            os.write(self._answers, json.dumps(value).encode() + b"\n")

    def _clear(self) -> None:
        """Remove what earlier processes wrote of this run: all of it is written anew."""
        name = self._told["id"]
        lock = os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        # The helper of a killed process may still be ending, for as long as this.
        end = time.monotonic() + self._told["finish_seconds"]
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise RuntimeError("another process logs this run") from None
                time.sleep(0.1)
        for path in self._folder.glob(f"*run-*-{name}"):
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(self._folder / f"data-{name}", ignore_errors=True)

    def _begin(self) -> None:
        online = self._told["mode"] != "offline"
        limit = self._told["start_seconds"]

        def too_late(*_: object) -> None:
            self._go_offline(f"the service did not answer within {limit:g} s")

        if online:
            signal.signal(signal.SIGALRM, too_late)
        import wandb

        known = set(getattr(wandb.Settings, "model_fields", ()))
        wanted = {**self._told["settings"], "init_timeout": limit}
        settings = {name: value for name, value in wanted.items() if not known or name in known}
        names = {n: self._told[n] for n in ("project", "entity", "group", "name", "id")}
        try:
            if online:
                signal.setitimer(signal.ITIMER_REAL, limit)
            self._run = wandb.init(
                **names,
                dir=self._told["dir"],
                mode=self._told["mode"],
                resume="allow" if online else None,
                settings=wandb.Settings(**settings),
            )
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Exception as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            if not online:
                raise
            self._go_offline(_scrubbed(str(error) or repr(error)))
        self._first = int(self._run.starting_step or 0)

    def _go_offline(self, why: str) -> None:
        """Begin again without the service; no event was read yet, so none is lost."""
        told = {**self._told, "mode": "offline", "why": why}
        env = {**os.environ, "VLMFAIL_WANDB": json.dumps(told)}
        env.pop("WANDB_SERVICE", None)  # the service of the first try holds the run's id
        os.dup2(self._events, 0)
        os.dup2(self._answers, 1)
        os.execve(sys.executable, [sys.executable, "-P", os.path.abspath(__file__)], env)

    def _log(self, step: int, row: dict[str, Any]) -> None:
        # What the service holds already, from an earlier process, is not sent again.
        if step >= self._first:
            self._sent.add(step)
            self._run.log(row, step=step)

    def _lost(self, file: Path) -> int:
        """Return how many evaluations W&B could not write, as when the disk is full."""
        if not file.is_file():
            return len(self._sent)
        try:
            return len(self._sent - stored_steps(file))
        except Exception:  # the format is W&B's own: another version may have another
            return 0

    def _table(self, columns: list[str], rows: list[list[Any]]) -> None:
        if not rows or not self._sent:
            return
        import wandb

        table = wandb.Table(columns=columns)
        place = columns.index("picture")
        for row in rows:
            path, row[place] = row[place], None
            if path is not None:
                with contextlib.suppress(Exception):  # a damaged picture costs its own cell
                    row[place] = wandb.Image(path)
            table.add_data(*row)
        # Beside the last evaluation: a row of its own would take the next one's step.
        self._run.log({"failing": table}, step=max(self._sent))


def stored_steps(path: Path) -> set[int]:
    """Return the steps of the history records in W&B's run file."""
    from wandb.proto import wandb_internal_pb2

    steps = set()
    for data in _records(path.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.HasField("history"):
            steps.add(int(record.history.step.num))
    return steps


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the records of a LevelDB log: chunks with a header of 7 bytes, in blocks of 32 KiB."""
    place, parts = 7, b""  # after W&B's own header
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts = (b"" if kind in (1, 2) else parts) + data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4) and place <= len(data):
            yield parts


def _events(source: int) -> Iterator[dict[str, Any]]:
    """Yield events from `source` until it ends, or until the process that writes it has died."""
    parent, buffer = os.getppid(), b""
    while True:
        ready, _, _ = select.select([source], [], [], 2.0)
        if not ready and os.getppid() != parent:
            return
        data = os.read(source, 65536) if ready else b""
        if ready and not data:
            return
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            yield event
            if event["event"] == "finish":
                return


def _end_after(seconds: float) -> None:
    timer = threading.Timer(seconds, lambda: os._exit(3))
    timer.daemon = True
    timer.start()


def _scrubbed(text: str) -> str:
    """Return an error's text as one line, without the key and what looks like one."""
    key = os.environ.get("WANDB_API_KEY")
    text = text.replace(key, "…") if key else text
    return " ".join(re.sub(r"[A-Za-z0-9_-]{32,}", "…", text).split())[:300].rstrip(".")


def main() -> None:
    """Work, with stdin and stdout kept to ourselves: W&B and its service may use theirs."""
    events, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    helper = Helper(json.loads(os.environ.pop("VLMFAIL_WANDB")), events, answers)
    try:
        helper.work()
    except BaseException as error:
        helper.fail(error)
        # Neither W&B's exit handlers nor its threads may hold this process up.
        os._exit(3)


if __name__ == "__main__":
    main()
