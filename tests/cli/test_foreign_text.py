"""Whatever verb shows it: a model's, a world's and a stranger's words do not rule the terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import vlmfail
from vlmfail.cli import console, main
from vlmfail.core.text import UNPRINTABLE, legible

EVIL = "x\x1b]0;pwned\x07\x1b]52;c;QUFB\x07\x9b31m\u202e\u2066\rPASS\x7f\nsecond line"

WORLD = f"""
from world import Small as Plain
from vlmfail.core import Option, Question, SceneError, Truth
from vlmfail.core.errors import ModelFault

EVIL = {EVIL!r}


class Concept:
    category = EVIL

    def __init__(self, name):
        self.id, self.description = name, EVIL


class Small(Plain):
    def __init__(self):
        super().__init__()
        self.catalogue = type("Catalogue", (), {{}})()
        self.catalogue.concepts = [Concept(name) for name in self.space.concepts]

    def sample_scene(self, candidate, rng):
        if "fog" in candidate:
            raise SceneError(EVIL)
        return super().sample_scene(candidate, rng)

    def question(self, scene):
        return Question(EVIL, (Option("stop", "Stop" + EVIL), Option("go", "Go")), "v1")

    def truth(self, scene):
        return Truth("stop", frozenset({{"stop"}}), "A1" + EVIL, EVIL)

    def direction(self, truth, answer):
        return "under" + EVIL


def says(images, prompt, *, seed):
    return EVIL + "\\nANSWER: B"


def fails(images, prompt, *, seed):
    raise RuntimeError(EVIL)


def ends(images, prompt, *, seed):
    raise ModelFault(EVIL)
"""


class Named:
    """A model with a name that the list of runs shows."""

    name = EVIL

    def answer(self, images, prompt, *, seed):
        return EVIL


@pytest.fixture
def evil(cli, tmp_path, monkeypatch):
    """Run a command line; return its result, in which nothing may be left."""
    (tmp_path / "evil.py").write_text(WORLD, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def call(*words: object):
        result = cli(*words)
        for text in (result.out, result.err):
            assert not UNPRINTABLE.search(text), words
            assert "\r" not in text, words
        return result

    yield call
    for name in ("world", "evil"):
        sys.modules.pop(name, None)


def test_no_verb_lets_foreign_words_through(evil):
    searching = ("search", "evil.py:Small", "-s", "random", "--budget", 8, "--trials", 2)
    found = evil(*searching, "-m", "evil.py:says", "--out", "run")
    assert found.code == 0
    assert "pwned" in found.out, "the rule's name is shown"
    named = vlmfail.search("evil.py:Small", "random", model=Named(), budget=2, out="theirs")
    named.close()
    told = [evil("replay", "run", number).out for number in (1, 2, 3, 4)]
    assert any("--- reply ---" in text and "\nsecond line" in text for text in told)
    assert "pwned" in evil("runs", ".").out
    for words in (
        ("resume", "run"),
        ("resume", "theirs", "--json"),
        ("resume", "theirs", "--retry-errors"),
        ("replay", "run", 1, "--json"),
        ("replay", "run", "evil\x1b]0;x\x07#1"),
        ("runs", ".", "--json"),
        ("report", "run"),
        ("label", "run", "--summary"),
        ("list", "--concepts", "evil.py:Small"),
        ("list", "--concepts", "evil.py:Small", "--json"),
        ("preview", "evil.py:Small", "--concepts", "car"),
        ("preview", "evil.py:Small", "--concepts", "fog"),
        ("estimate", "evil.py:Small", "-m", "evil.py:says", "--calls", 1),
        ("estimate", "evil.py:Small", "-m", "evil.py:fails", "--calls", 1),
        ("doctor", "-m", "evil.py:says", "-m", "evil.py:fails"),
        (*searching, "-m", "evil.py:fails", "--out", "failing"),
        (*searching, "-m", "evil.py:ends", "--out", "ending"),
        (*searching, "-m", "evil.py:no\x1b]0;x\x07", "--out", "none"),
    ):
        evil(*words)


def test_json_tells_foreign_words_whole(evil):
    rows = evil("list", "--concepts", "evil.py:Small", "--json").json["concepts"]["evil.py:Small"]
    assert {row["description"] for row in rows} == {EVIL}


def test_every_verb_speaks_through_the_console():
    """One door: what prints past it would print what it was given."""
    for path in Path(console.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        shown = re.findall(r"(?:typer\.s?echo|\bprint_exc|(?<![.\w])print)\(.*", text)
        ours = ("__version__", "ctx.get_help", "legible(", "UNPRINTABLE.sub(", "tame(")
        left = [line for line in shown if not any(part in line for part in ours)]
        assert not left, f"{path.name}: {left}"


def test_warnings_and_tracebacks_are_no_way_in(capfd):
    said = console.worded(EVIL, UserWarning, "a.py", 1)
    assert said.count("\n") == 1
    assert "a.py" not in said
    assert "pwned" in said
    assert said == legible(said)
    try:
        raise RuntimeError(EVIL)
    except RuntimeError:
        main._explain()
    said = capfd.readouterr().err
    assert "pwned" in said
    assert said == legible(said)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("fail\rpass", "fail\ufffdpass"),
        ("\x1b[31m\ud800", "\ufffd[31m\ufffd"),
        ("ü💥", "ü💥"),
    ],
)
def test_what_is_legible(text, shown):
    assert legible(text) == shown
