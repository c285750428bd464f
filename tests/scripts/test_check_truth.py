from __future__ import annotations

import pytest


@pytest.fixture
def main(script):
    return script("check_truth").main


@pytest.mark.parametrize("domain", ["driving", "indoor"])
@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--scenes", "0"], "--scenes: expected at least 1"),
        (["--scenes", "-5"], "--scenes: expected at least 1"),
        (["--seed", "-1"], "a seed is"),
        (["--data", "/nonexistent"], "is not a folder"),
    ],
)
def test_mistakes_are_one_line(main, capsys, domain, words, part):
    assert main([domain, *words]) == 2
    said = capsys.readouterr()
    assert part in said.err
    assert said.err.count("\n") == 1
    assert "agreement" not in said.out


def test_what_checks_nothing_agrees_with_nothing(main, capsys, monkeypatch):
    from vlmfail.envs.driving import simulate

    monkeypatch.setattr(simulate, "sample_scenes", lambda *_: iter(()))
    assert main(["driving", "--scenes", "3"]) == 2
    assert "nothing was checked" in capsys.readouterr().err


@pytest.mark.parametrize("domain", ["driving", "indoor"])
def test_a_few_scenes_agree(main, capsys, domain):
    assert main([domain, "--scenes", "2"]) == 0
    assert "agreement: 2 of 2 scenes (100.0%)" in capsys.readouterr().out
