"""Terminals, pipes and plug-ins that misbehave: one JSON object, one line, the right exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUG = """
import atexit
import os
import sys

from vlmfail.testing.toy import ToyDomain, ToyModel

print("loading")
atexit.register(print, "bye")


class Loud(ToyDomain):
    def __init__(self, max_size: int = 2):
        print("a domain that talks")
        super().__init__(max_size)


class Model(ToyModel):
    def answer(self, images, prompt, *, seed):
        print("hello")
        os.write(1, b"raw")
        return super().answer(images, prompt, seed=seed)


class Leaves:
    def bind(self, space, *, seed, trials, budget):
        sys.exit(0)

    ask = tell = bind
"""


def vlmfail(folder: Path, command: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "plug.py").write_text(PLUG)
    line = f"{sys.executable} -m vlmfail {command}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


SEARCH = "search plug.py:Loud -s random -m plug.py:Model --budget 6 --trials 3 --no-report"


@pytest.mark.parametrize(
    "command",
    [
        f"{SEARCH} --json",
        "preview plug.py:Loud --json",
        "list --concepts plug.py:Loud --json",
    ],
)
def test_json_is_one_object_whoever_talks(tmp_path: Path, command: str) -> None:
    done = vlmfail(tmp_path, command)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_an_ascii_terminal_and_odd_names_end_nothing(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "TERM": "dumb"}
    out = os.fsdecode(b"'r \xc3\xa9 \xff'")
    shown = vlmfail(tmp_path, f"{SEARCH} --out {out}", COLUMNS="20", **ascii_only)
    assert shown.returncode == 0, shown.stderr
    parsed = json.loads(vlmfail(tmp_path, f"report {out} --json", **ascii_only).stdout)
    assert parsed["calls"] == 6


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "| head -c 1", ">/dev/full"])
def test_closed_streams_damage_no_run(tmp_path: Path, cli, streams: str) -> None:
    done = vlmfail(tmp_path, f"{SEARCH} --out mine {streams}")
    assert b"Traceback" not in done.stderr
    shown = cli("report", "mine", "--json")
    assert shown.code == 0, shown.err
    assert shown.json["calls"] == 6


@pytest.mark.parametrize("command", ["list", "search --help", f"{SEARCH} --out mine"])
def test_a_reader_that_goes_is_no_plug_in(tmp_path: Path, command: str) -> None:
    # `true` reads nothing, so that the pipe is closed before the first word.
    done = vlmfail(tmp_path, f"{command} | true")
    assert b"plug-in" not in done.stderr, done.stderr


def test_a_plug_in_that_exits_is_no_success(tmp_path: Path) -> None:
    done = vlmfail(tmp_path, "search plug.py:Loud -s plug.py:Leaves -m plug.py:Model --budget 6")
    assert done.returncode == 3
    assert b"sys.exit" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--log", "jsonl=/nonexistent/x"),
        ("--env-arg", "count_as_fail=5"),
        ("--env-arg", "size=1.5"),
        ("-m", ".my_model:careful"),
        ("-m", "broken.py:x"),
    ],
)
def test_mistakes_are_one_line(search, tmp_path, words) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_the_kind")
    done = search(*words)
    assert done.code in (2, 3)
    assert len(done.err.splitlines()) == 1, done.err


@pytest.mark.parametrize("name", ["os:getcwd", "my_model.py:careful", "json:JSONDecoder"])
def test_what_is_no_domain_is_told(cli, name) -> None:
    done = cli("search", name, "--budget", 3)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1, done.err
