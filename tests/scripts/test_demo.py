"""scripts/demo with stand-ins for pip and the command: what it says first, and Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

PYTHON = """#!/bin/bash
case "$*" in
*"-m venv"*) echo "making .venv"; mkdir -p "${@: -1}/bin"; cp "$0" "${@: -1}/bin/python" ;;
*"-m pip"*) echo "in pip"; trap 'exit 1' INT; for n in $(seq "$PIP_SECONDS"0); do sleep 0.1; done ;;
esac
"""

VLMFAIL = """#!/bin/bash
while [ "$1" != --out ]; do shift; done
mkdir "$2" && touch "$2/run.json"
echo "in search"
trap 'exit 130' INT
for n in $(seq "$SEARCH_SECONDS"0); do sleep 0.1; done
exit "$CODE"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("demo", "_venv.sh"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts" / name)
    for place, text in (("python", PYTHON), (".venv/bin/vlmfail", VLMFAIL)):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    return tmp_path


def demo(
    root: Path, *words: str, stop_at: str = "", pip: int = 0, search: int = 0, code: int = 0
) -> tuple[int, list[str]]:
    """Run the demo, press Ctrl-C once it has said `stop_at`, return its exit code and its words."""
    process = subprocess.Popen(
        ["scripts/demo", *words],
        cwd=root,
        # As in a terminal: its own group, which Ctrl-C reaches as a whole.
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            "PYTHON": str(root / "python"),
            "PIP_SECONDS": str(pip),
            "SEARCH_SECONDS": str(search),
            "CODE": str(code),
        },
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.rstrip())
        if stop_at and said[-1] == stop_at:
            os.killpg(process.pid, signal.SIGINT)
    return process.wait(timeout=60), said


def test_it_says_what_it_does_before_it_does_it(root: Path) -> None:
    code, said = demo(root)
    assert code == 0
    steps = ["Installing", "making .venv", "in pip", "Searching", "in search"]
    assert len(said) == len(steps)
    assert all(line.startswith(step) for line, step in zip(said, steps, strict=True)), said


@pytest.mark.parametrize("code", [1, 3])
def test_what_the_search_exits_with_is_what_it_exits_with(root: Path, code: int) -> None:
    assert demo(root, code=code)[0] == code


def test_ctrl_c_while_it_installs(root: Path) -> None:
    code, said = demo(root, "--seed", "3", stop_at="in pip", pip=30)
    assert code == 130
    assert said[-1].endswith("go on with: scripts/demo --seed 3")
    assert "in search" not in said


def test_ctrl_c_while_it_searches(root: Path) -> None:
    (root / "demo-run").mkdir()
    code, said = demo(root, stop_at="in search", search=30)
    assert code == 130
    assert said[-1].endswith("go on with: .venv/bin/vlmfail resume demo-run-2")
