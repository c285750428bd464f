"""A helper process that is sent lines of JSON and can never hold up the one that sends them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..store import dump_json

MOST_WAITING = 64 * 2**20
"""Bytes that wait for a helper that does not read; beyond them it is given up."""


class HelperProcess:
    """Sends events to a helper and hears its answers, without ever waiting but in `close`.

    The helper is a session of its own: a Ctrl-C in the terminal does not reach it. When this
    process dies, the helper's input ends.

    Attributes:
        killed: Whether it did not end in time and was killed.
    """

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        """Start the helper in `folder`.

        Raises:
            OSError: When it cannot be started.
        """
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to = self._process.stdin.fileno()
        self._from = self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._waiting = bytearray()
        self._heard = b""
        self._broken = False
        self.killed = False

    def send(self, event: Mapping[str, Any]) -> bool:
        """Send one event, now or later; False when the helper does not take it any more."""
        if not self._broken and len(self._waiting) < MOST_WAITING:
            self._waiting += dump_json(event).encode() + b"\n"
            self._push()
        else:
            self._broken = True
        return not self._broken

    def hear(self) -> list[dict[str, Any]]:
        """Return what the helper has answered since the last call."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._from, 65536):
                self._heard += data
        *lines, self._heard = self._heard.split(b"\n")
        answers = []
        for line in lines:
            with contextlib.suppress(ValueError):
                answers.append(json.loads(line))
        return [answer for answer in answers if isinstance(answer, dict)]

    def close(self, seconds: float) -> list[dict[str, Any]]:
        """Let the helper end within `seconds`, else kill it; return its last answers."""
        end = time.monotonic() + seconds
        answers: list[dict[str, Any]] = []
        try:
            while self._waiting and not self._broken and time.monotonic() < end:
                select.select([], [self._to], [], min(1.0, max(0.0, end - time.monotonic())))
                self._push()
                answers += self.hear()
            self._shut(self._process.stdin)
            while self._process.poll() is None and time.monotonic() < end:
                # Its answers are read while it ends; a full pipe would hold it up.
                select.select([self._from], [], [], 0.05)
                answers += self.hear()
                if self._process.poll() is None:
                    time.sleep(0.02)
        finally:
            if self._process.poll() is None:
                self.killed = True
                self._process.kill()
                self._process.wait()
            answers += self.hear()
            self._shut(self._process.stdin)
            self._shut(self._process.stdout)
        return answers

    def _push(self) -> None:
        try:
            while self._waiting:
                sent = os.write(self._to, self._waiting[:65536])
                del self._waiting[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._broken = True

    @staticmethod
    def _shut(stream: Any) -> None:
        with contextlib.suppress(OSError):
            stream.close()
