"""The rooms: packages listed, data shipped, light import, no upward arrows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SKIP = {"tests", "scripts", "docs", "build", "dist", "data"}

ORDER = [
    {"core"},
    {"rendering", "models", "runs"},
    {"envs"},
    {"agents"},
    {"searchers", "analysis"},
    {"reports"},
    {"testing"},
    {"benchmarks"},
    {"ui", "cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
# `models/` and `rendering/` are beside each other, and so on: a room may import rooms below it.
# A command may open a page of the user interface.
BESIDE = {("runs", "models"), ("cli", "ui")}


def project() -> dict[str, object]:
    data: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return data


def packages_on_disk() -> set[str]:
    found = {"vlmfail"}
    for init in ROOT.rglob("__init__.py"):
        parts = init.parent.relative_to(ROOT).parts
        if parts and parts[0] not in SKIP and not parts[0].startswith("."):
            found.add(".".join(("vlmfail", *parts)))
    return found


def test_every_package_is_listed() -> None:
    assert set(project()["tool"]["setuptools"]["packages"]) == packages_on_disk()  # type: ignore[index]


def test_every_data_file_reaches_the_wheel() -> None:
    patterns = project()["tool"]["setuptools"]["package-data"]  # type: ignore[index]
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.splitlines():
        path = Path(name)
        if path.suffix == ".py" or path.parts[0] not in LEVEL:
            continue
        # The nearest package above the file, and the file's path below it.
        package = path.parent
        while not (ROOT / package / "__init__.py").exists():
            package = package.parent
        key = ".".join(("vlmfail", *package.parts))
        below = path.relative_to(package)
        assert any(below.match(p) for p in patterns.get(key, [])), f"{name} is not shipped"


def imports(path: Path) -> set[str]:
    """Rooms that a module imports, at any depth of its code."""
    rooms = set()
    here = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = here[: len(here) - node.level + 1]
            full = [*base, *(node.module or "").split(".")]
        elif (node.module or "").startswith("vlmfail."):
            full = (node.module or "").split(".")[1:]
        else:
            continue
        names = [full[0]] if full[0] else [alias.name for alias in node.names]
        rooms.update(name for name in names if name in LEVEL)
    return rooms


def test_arrows_between_rooms_run_downwards() -> None:
    wrong = []
    for room in LEVEL:
        for path in sorted((ROOT / room).rglob("*.py")):
            for other in imports(path) - {room}:
                if LEVEL[other] >= LEVEL[room] and (room, other) not in BESIDE:
                    wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert wrong == []


def test_import_is_light() -> None:
    code = (
        "import sys, vlmfail;"
        "heavy = {'torch', 'sklearn', 'scipy', 'matplotlib', 'onnxruntime', 'embreex', 'PIL',"
        " 'stable_baselines3', 'typer', 'jinja2'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_import_time() -> None:
    # Processor time: the bound must not depend on what else the machine does.
    code = "import time; t = time.process_time(); import vlmfail; print(time.process_time() - t)"
    best = min(
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(5)
    )
    assert best < 0.5


def test_the_version_is_said_once() -> None:
    import vlmfail

    assert project()["project"]["version"] == vlmfail.__version__  # type: ignore[index]


def test_python_m_vlmfail_is_vlmfail() -> None:
    out = subprocess.run(
        [sys.executable, "-m", "vlmfail", "--version"], capture_output=True, text=True, check=True
    )
    assert re.search(r"\d+\.\d+\.\d+", out.stdout)
