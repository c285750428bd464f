"""The TensorBoard logger: an event file in the run's folder, written in this process."""

from __future__ import annotations

import importlib.util
import os
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import Evaluation, Picture, TrialRecord, UsageError
from ..store import dump_json, to_plain
from .tracker import FailingTrial, RunTracker, bounded_values, picture_of

_NUMBERS = ("failure_rate", "n", "failures", "modes", "budget_share", "mfr", "pfm", "evaluation")


class TensorBoardLogger:
    """Writes TensorBoard's event file: numbers by trials, failing pictures, the summary.

    Each process that works on a run writes the file anew from the run's first evaluation, in place
    of the earlier ones, so that it holds every evaluation that put something to the model exactly
    once. No fault of it stops the
    search: what cannot be written is told in one warning.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, pictures: int = 50) -> None:
        """Write into ``tensorboard`` in the run's folder.

        Args:
            folder: Write into a folder with the run's name in this one instead.
            pictures: Failing pictures that are shown at most.
        """
        if isinstance(pictures, bool) or not isinstance(pictures, int) or pictures < 0:
            raise UsageError(f"pictures: expected a number of at least 0, got {pictures!r}")
        self._given = None if folder is None else Path(folder)
        self._pictures = pictures
        self._run: Path | None = None
        self._writer: Any = None
        self._lost = False
        self._tracker = RunTracker({})
        self._calls = 0

    def attach(self, run: Path) -> None:
        """Hear of the run's folder, before `start`."""
        self._run = run

    def start(self, config: Mapping[str, Any]) -> None:
        """Begin the event file with the configuration."""
        self._tracker, self._calls, self._lost = RunTracker(config), 0, False
        if importlib.util.find_spec("tensorboard") is None:
            self._give_up("the package is not installed: pip install 'vlmfail[tensorboard]'")
            return
        text = dump_json(bounded_values(to_plain(config)), indent=1)
        self._try(lambda: self._open(text))

    def log(self, calls: int, evaluation: Evaluation[Any], records: Sequence[TrialRecord]) -> None:
        """Write one evaluation."""
        row, self._calls = self._tracker.row(calls, evaluation, records), calls
        if "call" not in row:
            return  # nothing was put to the model: no point on an axis of trials
        numbers = {name: row[name] for name in _NUMBERS if name in row}
        self._try(lambda: self._numbers(numbers, calls))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the failing pictures and the summary, and close the file."""
        self._try(lambda: self._close(to_plain(summary)))
        self._writer = None

    def _close(self, summary: Mapping[str, Any]) -> None:
        for number, trial in enumerate(self._tracker.failing(self._pictures), start=1):
            self._failing(f"failing/{number:02d}", trial)
        metrics = summary.get("metrics") or {}
        numbers = {
            f"final/{name}": value
            for name, value in metrics.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        self._numbers(numbers, self._calls)
        self._text("summary", dump_json(bounded_values(summary), indent=1), self._calls)
        self._writer.close()

    def _failing(self, tag: str, trial: FailingTrial) -> None:
        lines = {"candidate": trial.candidate, "failed": trial.rate, **trial.texts}
        self._text(tag, "\n".join(f"{name}: {text}" for name, text in lines.items()), trial.call)
        path = picture_of(self._run, trial.picture)
        if path is None:
            return
        from tensorboard.compat.proto.summary_pb2 import Summary

        data = path.read_bytes()
        width, height = Picture(data).size
        image = Summary.Image(width=width, height=height, colorspace=3, encoded_image_string=data)
        self._add(Summary(value=[Summary.Value(tag=f"{tag}/picture", image=image)]), trial.call)

    # -- the file -----------------------------------------------------------------------------

    def _try(self, write: Callable[[], Any]) -> None:
        if self._lost:
            return
        try:
            write()
        except Exception as error:
            self._give_up(getattr(error, "strerror", None) or repr(error))

    def _give_up(self, reason: str) -> None:
        self._lost = True
        warnings.warn(
            f"TensorBoard: nothing more of this run is logged: {reason[:300]}. The search goes on",
            stacklevel=2,
        )

    def _open(self, config: str) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        run = (self._run or Path.cwd()).resolve()
        # In a folder of several runs, two of which may have the same name.
        owner = "vlmfail" if self._given is None else f"vlmfail-{zlib.crc32(bytes(run)):08x}"
        folder = run / "tensorboard" if self._given is None else self._given / run.name
        folder.mkdir(parents=True, exist_ok=True)
        earlier = sorted(folder.glob(f"events.out.tfevents.*.{owner}"))
        # A name of its own: a viewer that has the earlier file open starts anew with this one.
        number = max([int(time.time()), *(int(p.name.split(".")[3]) + 1 for p in earlier)])
        for path in earlier:
            path.unlink()
        file = (folder / f"events.out.tfevents.{number:010d}.{owner}").open("wb")
        self._writer = RecordWriter(file)
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        begin = SessionLog(status=SessionLog.START)
        self._write(Event(wall_time=time.time(), step=0, session_log=begin))
        self._text("config", config, 0)

    def _write(self, event: Any) -> None:
        self._writer.write(event.SerializeToString())

    def _add(self, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._write(Event(wall_time=time.time(), step=step, summary=summary))

    def _numbers(self, numbers: Mapping[str, float], step: int) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in numbers.items()]
        if values:
            self._add(Summary(value=values), step)
            self._writer.flush()

    def _text(self, tag: str, text: str, step: int) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.types_pb2 import DT_STRING

        # TensorBoard reads texts as Markdown; in an indented block it shows them as they are.
        block = "".join(f"    {line}\n" for line in text.split("\n"))
        plugin = SummaryMetadata.PluginData(plugin_name="text")
        value = Summary.Value(
            tag=tag,
            metadata=SummaryMetadata(plugin_data=plugin),
            tensor=TensorProto(dtype=DT_STRING, string_val=[block.encode()]),
        )
        self._add(Summary(value=[value]), step)
