from __future__ import annotations

import io
import os

import pytest
from rich.console import Console

from vlmfail.agents.progress import Progress
from vlmfail.cli.console import SearchProgress, default_out, describe, pairs, reserved_stdout
from vlmfail.core import UsageError


def state(**changes):
    values = {
        "calls": 40, "budget": 100, "evaluations": 8, "failures": 10, "n": 40, "modes": 1,
        "seconds": 20.0, "resumed": 0, "last_key": "a",
    }  # fmt: skip
    return Progress(**{**values, **changes})


def test_describe_says_rate_modes_and_time_left():
    first = state(calls=8, seconds=60.0)
    steady = state(calls=40, seconds=92.0)
    assert describe(steady, first) == "25 % fail · 1 mode · 1:00 left", "one a second since then"
    none = state(n=0, failures=0, modes=0, seconds=92.0)
    assert describe(none, first) == "no data yet · 0 modes · 1:00 left"


def test_no_time_is_told_that_is_only_guessed():
    first = state(calls=40, budget=1000, seconds=80.0)
    for early in (
        first,
        state(calls=89, budget=1000, seconds=200.0),
        state(calls=500, budget=1000, seconds=99.0),
    ):
        assert describe(early, first) == "25 % fail · 1 mode"
    assert describe(state(calls=90, budget=1000, seconds=130.0), first).endswith("15:10 left")
    assert describe(state()) == "25 % fail · 1 mode"


def test_what_a_resumed_search_took_from_its_folder_is_not_its_pace():
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    with SearchProgress(screen) as bar:
        for calls, seconds in ((8, 0.1), (500, 1.0), (540, 31.0), (600, 91.0)):
            bar(state(calls=calls, budget=1000, seconds=seconds, resumed=min(calls, 500)))
        bar._bar.refresh()
    assert "6:40 left" in screen.file.getvalue(), "60 a minute since the first batch of its own"


def test_without_a_terminal_there_is_a_plain_line_now_and_then(monkeypatch, capsys):
    from vlmfail.cli import console

    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with SearchProgress(Console(file=io.StringIO(), width=120)) as bar:
        for seconds in (1, 21, 22, 45):
            now[0] = float(seconds)
            bar(state(calls=seconds))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["21/100", "45/100"]


def test_the_bar_draws_on_a_terminal_from_start_to_re_run():
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    with SearchProgress(screen) as bar:
        bar._bar.refresh()
        bar(state())
        bar._bar.refresh()
        bar.rerun(20, 200)
        bar._bar.refresh()
    text = screen.file.getvalue()
    for part in ("starting", "40/100 trials", "25 % fail", "20/200 fresh trials"):
        assert part in text


def test_pairs_are_json_else_text():
    given = ["a=1", "b=true", "c=text", 'd=["x"]', "e=", "max-size=2", "f=a=b"]
    assert pairs("--env-arg", given) == {
        "a": 1, "b": True, "c": "text", "d": ["x"], "e": "", "max_size": 2, "f": "a=b",
    }  # fmt: skip
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError, match="--env-arg"):
            pairs("--env-arg", wrong)


@pytest.mark.parametrize(
    ("model", "part"),
    [
        ("tiny-vlm", "tiny-vlm"),
        ("openai:gpt-5-mini", "openai-gpt-5-mini"),
        ("/some/where/my_model.py:answer", "my_model-answer"),
        ("../..", "custom"),
    ],
)
def test_default_out(tmp_path, monkeypatch, model, part):
    monkeypatch.chdir(tmp_path)
    path = default_out("vlmfail:VLMFail-Driving-v0", "gpts", model, 7)
    assert str(path) == f"runs/driving-gpts-{part}-s7"


def test_reserved_stdout_moves_native_prints_too(capfd):
    with reserved_stdout():
        print("python")
        os.write(1, b"native")
    print("object")
    out, err = capfd.readouterr()
    assert out == "object\n"
    assert "python" in err
    assert "native" in err
