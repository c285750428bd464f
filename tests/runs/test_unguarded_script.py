"""A script that starts its search at its top level, with workers, is told so."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vlmfail.core import UsageError
from vlmfail.runs.executors import refuse_reimport

SEARCH = (
    'vlmfail.search("vlmfail.testing.toy:ToyDomain", "random", budget=4, trials=1, workers=2, '
    'out="made/run")'
)


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(textwrap.dedent(text))
    words = [sys.executable, "script.py"]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("how", ["search", "make"])
def test_the_cause_and_what_to_write_are_told(tmp_path: Path, how: str) -> None:
    made = (
        'env = gymnasium.make("VLMFail-Planted-v0", workers=2, budget=4)\n'
        "env.reset(seed=0)\n"
        "env.step(env.action_space.sample())\n"
    )
    done = run(tmp_path, f"import gymnasium\nimport vlmfail\n{SEARCH if how == 'search' else made}")
    if how == "make" and done.returncode == 0:
        pytest.skip("a planted world needs no processes")
    assert done.returncode == 1
    last = done.stderr[done.stderr.rindex("UsageError") :]
    assert "starts the search again" in last
    assert 'if __name__ == "__main__":' in last
    assert "vlmfail.search(..., workers=2)" in last
    assert "native library" not in done.stderr
    assert done.stderr.count("Traceback") == 1, "the script's own"
    assert "a worker process imports this script" in done.stderr
    assert not (tmp_path / "made").exists(), "no trial was made: no run is left behind"


def test_a_guarded_script_searches(tmp_path: Path) -> None:
    done = run(tmp_path, f"import vlmfail\nif __name__ == '__main__':\n    print({SEARCH})")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<vlmfail run 'made/run': finished, 4 of 4 trials, ")


def test_it_is_refused_while_a_worker_imports_the_script_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse_reimport()
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(UsageError, match="imports this script"):
        refuse_reimport()
