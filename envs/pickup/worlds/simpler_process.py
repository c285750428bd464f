"""The process that runs SimplerEnv: started, asked, watched and ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from ....core import EnvironmentFault, UsageError
from ....core.text import tamed
from .simpler_worker import LONGEST_HEADER

WORKER = Path(__file__).with_name("simpler_worker.py")

LONGEST_PICTURE = 64 << 20
"""Bytes of a picture at most."""

SECONDS: Mapping[str, float] = {"make": 600.0, "start": 180.0, "step": 60.0, "look": 60.0}
"""How long the process may take for a request, s."""

LONGEST_TEXT = 400
"""Characters of what it says that are kept."""

_TAIL = 4096
_LONGEST_LOG = 1 << 20
_UNWANTED = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV")
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)


class Died(EnvironmentFault):
    """The process ended, hung or spoke nonsense; it is no more."""


class SimplerProcess:
    """One process of `simpler_worker`; its protocol is described there.

    The process gets this one's environment without secrets and without what points an interpreter
    at packages. It never outlives this object: it ends when its standard input does.

    Args:
        python: Its interpreter.
        seconds: How long it may take for a request, by request.
    """

    def __init__(self, python: str, seconds: Mapping[str, float] = SECONDS) -> None:
        """Start it.

        Raises:
            UsageError: The interpreter cannot be started.
        """
        self._seconds = seconds
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in _UNWANTED and not _SECRET.search(name)
        }
        try:
            self._process = subprocess.Popen(
                [python, "-u", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            raise UsageError(
                f"simpler_python: {python} cannot be started ({error.strerror or error})"
            ) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._left = b""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, do: str, **fields: Any) -> tuple[dict[str, Any], bytes]:
        """Send a request; return the reply's header and picture.

        Raises:
            EnvironmentFault: SimplerEnv refuses: something is not installed, or it failed.
            Died: The process is no more.
        """
        end = time.monotonic() + self._seconds.get(do, SECONDS["step"])
        if self._left or self._has_more():  # it would be taken for the answer to this request
            raise self._dead(do, "spoke nonsense, unasked")
        if do == "start" and self._log.seek(0, os.SEEK_END) > _LONGEST_LOG:
            # The process writes on from here: it shares the file's position.
            self._log.seek(0)
            self._log.truncate()
        head = json.dumps({"do": do, **fields}).encode()
        try:
            self._to.write(struct.pack(">I", len(head)) + head)
            self._to.flush()
        except OSError:
            raise self._dead(do) from None
        (length,) = struct.unpack(">I", self._read(4, do, end))
        if length > LONGEST_HEADER:
            raise self._dead(do, "spoke nonsense")
        body = self._read(length, do, end)
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            raise self._dead(do, "spoke nonsense") from None
        count = reply.get("bytes", 0) if isinstance(reply, dict) else -1
        if type(count) is not int or not 0 <= count <= LONGEST_PICTURE:
            raise self._dead(do, "spoke nonsense")
        picture = self._read(count, do, end)
        if reply.get("ok") is not True:
            said = tamed(str(reply.get("error", "")), LONGEST_TEXT)
            what = "SimplerEnv lacks something" if reply.get("kind") == "missing" else "SimplerEnv"
            raise EnvironmentFault(f"{what}: {said}")
        return reply, picture

    def close(self) -> None:
        """End the process; twice is fine."""
        if self._log.closed:
            return
        with contextlib.suppress(OSError):
            self._to.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._from.close()
        self._log.close()

    def _has_more(self) -> bool:
        """Whether it has written something; an end that it has come to is found by reading."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            if not selector.select(0):
                return False
        self._left = os.read(self._from.fileno(), 1 << 16)
        return bool(self._left)

    def _read(self, count: int, do: str, end: float) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            while len(self._left) < count:
                remaining = end - time.monotonic()
                if remaining <= 0 or not selector.select(remaining):
                    raise self._dead(do, f"did not answer within {self._seconds.get(do, 0):g} s")
                part = os.read(self._from.fileno(), 1 << 20)
                if not part:
                    raise self._dead(do)
                self._left += part
        found, self._left = self._left[:count], self._left[count:]
        return found

    def _dead(self, do: str, how: str = "") -> Died:
        """End the process and return the error that tells how it went."""
        if not how:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2.0)
            code = self._process.poll()
            if code is None:
                how = "closed its output"
            else:
                how = f"crashed (signal {-code})" if code < 0 else f"ended (exit code {code})"
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        last = self._last_words()
        self.close()
        return Died(f"the SimplerEnv process {how} in {do!r}" + (f": {last}" if last else ""))

    def _last_words(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _TAIL))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        said = [line for line in lines if line.strip()]
        return tamed(said[-1], LONGEST_TEXT) if said else ""
