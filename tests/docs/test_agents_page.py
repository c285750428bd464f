"""The code of docs/agents.md, run as it stands there but for smaller budgets."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from vlmfail.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
SMALLER = (("budget 1000", "budget 40"), ("budget=1000", "budget=40"))

pytestmark = pytest.mark.xdist_group("peers")


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for large, small in SMALLER:
        found = [block.replace(large, small) for block in found]
    return found


COMMANDS = [line for block in blocks("bash") for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's files, each under the name in its first line; it is the working folder."""
    for block in blocks("python"):
        name = block.partition("\n")[0].removeprefix("# ")
        assert name.endswith(".py")
        (tmp_path / name).write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_agent", raising=False)
    return tmp_path


def test_the_agent_has_thirty_lines() -> None:
    code = blocks("python")[0].partition("class ")[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 30


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("vlmfail ")])
def test_commands(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(command)[1:]
    assert main(words) == 0
    assert (folder / words[words.index("--out") + 1]).is_dir()
    out, _ = capsys.readouterr()
    assert words[0] == "search" or ("Growing" in out and "beam" in out)


def test_the_suite_passes(folder: Path) -> None:
    assert "python -m pytest test_my_agent.py" in COMMANDS
    suite = runpy.run_path("test_my_agent.py")["TestGrowing"]()
    tests = [getattr(suite, name) for name in dir(suite) if name.startswith("test_")]
    assert len(tests) > 10
    for test in tests:
        test()


def test_every_command_is_run() -> None:
    assert {line.partition(" ")[0] for line in COMMANDS} == {"vlmfail", "python"}


def test_learning_agents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("sb3_contrib")
    runpy.run_path("learning.py")
    assert 0.0 <= float(capsys.readouterr().out) <= 1.0
    assert (folder / "policy.zip").is_file()
