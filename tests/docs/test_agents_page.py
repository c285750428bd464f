"""The code of docs/agents.md, run as it stands there but for smaller budgets."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
SMALLER = (("budget 1000", "budget 40"), ("budget=1000", "budget=40"))


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for large, small in SMALLER:
        found = [block.replace(large, small) for block in found]
    return found


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files, each under the name in its first line."""
    path = tmp_path_factory.mktemp("page")
    for block in blocks("python"):
        name = block.partition("\n")[0].removeprefix("# ")
        assert name.endswith(".py")
        (path / name).write_text(block)
    return path


def test_the_agent_has_thirty_lines() -> None:
    lines = blocks("python")[0].partition("class ")[2].strip().splitlines()
    assert len([line for line in lines if line.strip()]) <= 30


@pytest.mark.parametrize("command", [line for block in blocks("bash") for line in [block.strip()]])
def test_commands(command: str, folder: Path) -> None:
    words = shlex.split(command)
    if words[0] == "python":
        out = run(*words[1:], "-q", "-p", "no:cacheprovider", "-p", "no:xdist", cwd=folder)
        assert re.search(r"\d+ passed", out)
        return
    assert words[0] == "vlmfail"
    out = run("-m", *words, cwd=folder)
    assert "Growing" in out or "growing" in out


@pytest.mark.slow
def test_learning_agents(folder: Path) -> None:
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("sb3_contrib")
    float(run("learning.py", cwd=folder))
