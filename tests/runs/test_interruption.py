"""A Ctrl-C is heard at once, and a terminal is told so once."""

from __future__ import annotations

import os
import pty
import signal
from typing import Any

import pytest

from vlmfail.runs.interruption import HEARD, Interruption


def told(monkeypatch: pytest.MonkeyPatch, number: int, times: int) -> None:
    class Stream:
        def fileno(self) -> int:
            return number

    monkeypatch.setattr("vlmfail.runs.interruption.sys.stderr", Stream())
    before: Any = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Interruption() as interruption:
            for _ in range(times):
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
            assert interruption.came
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_terminal_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    try:
        told(monkeypatch, slave, 2)
        assert os.read(master, 1000).decode().count(HEARD) == 1
    finally:
        os.close(master)
        os.close(slave)


def test_a_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    try:
        told(monkeypatch, writer, 1)
        os.close(writer)
        assert os.read(reader, 1000) == b""
    finally:
        os.close(reader)
