"""`--confirm` asks for fresh trials at the concurrency of its command."""

from __future__ import annotations

import pytest

CROWDED = '''
import threading
import time

lock, state = threading.Lock(), {"now": 0, "most": 0}


def crowded(images, prompt, *, seed):
    """Always goes, and writes down how many ask it at once."""
    with lock:
        state["now"] += 1
        state["most"] = max(state.values())
        with open("most.txt", "w") as file:
            file.write(str(state["most"]))
    time.sleep(0.03)
    with lock:
        state["now"] -= 1
    return f"ANSWER: {prompt[prompt.index(') Go') - 1]}"
'''


@pytest.fixture
def crowd(cli, tmp_path):
    """Run a command; return its JSON and how many asked the model at once."""
    (tmp_path / "crowd.py").write_text(CROWDED)

    def call(*words):
        (tmp_path / "most.txt").write_text("0")
        done = cli(*words, "--no-report", "--json")
        assert done.code == 0, done.err
        return done.json, int((tmp_path / "most.txt").read_text())

    return call


SEARCH = ("search", "world.py:Small", "-s", "random", "-m", "crowd.py:crowded")
SIZE = ("--budget", 9, "--trials", 3)


def test_fresh_trials_are_in_flight_together(crowd):
    found, most = crowd(*SEARCH, *SIZE, "--out", "a")
    assert (found["failure_modes"][0]["fresh"], most) == (None, 1)
    again, most = crowd("resume", "a", "--confirm", "--concurrency", 4)
    assert most == 4
    together, _ = crowd(*SEARCH, *SIZE, "--out", "b", "--confirm", "--concurrency", 4)
    alone, _ = crowd(*SEARCH, *SIZE, "--out", "c", "--confirm")
    assert alone["failure_modes"][0]["fresh"]["n"] == 20
    assert again["failure_modes"] == together["failure_modes"] == alone["failure_modes"]
