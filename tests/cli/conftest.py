"""A small world for the command line: four concepts, flat pictures, no ray tracer."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from vlmfail.cli.main import main

DOMAIN = '''
import numpy as np
from vlmfail.core import Option, Picture, Question, Rendering, SceneError, Truth, UnknownNameError
from vlmfail.envs.concept_sets import ConceptSetSpace


class Scene:
    def __init__(self, candidate, shade):
        self.candidate, self.shade = candidate, shade

    def record(self):
        return {"concepts": sorted(self.candidate), "shade": self.shade}


class Small:
    """Stop when there is a car."""

    name = "small"
    attempts = 2

    def __init__(self, size: int = 2):
        self.space = ConceptSetSpace(("rain", "night", "fog", "car"), (), size)

    def sample_scene(self, candidate, rng):
        if candidate == {"fog"}:
            raise SceneError("nothing to see in fog alone")
        return Scene(candidate, int(rng.integers(256)))

    def question(self, scene):
        text = "Dark." if "night" in scene.candidate else "Light."
        return Question(text, (Option("stop", "Stop"), Option("go", "Go")), "v1")

    def truth(self, scene):
        right = "stop" if "car" in scene.candidate else "go"
        return Truth(right, frozenset({right}), "A1", f"{right} it is: by the rule")

    def unseen(self, scene, truth, rendering):
        return None

    def direction(self, truth, answer):
        return "under_reaction" if answer == "go" else "over_reaction"

    def make_renderer(self, name):
        if name != "embree":
            raise UnknownNameError("renderer", name, ["embree"])
        return self

    def render(self, scene):
        return Rendering(Picture.from_pixels(np.full((6, 8, 3), scene.shade, np.uint8)))
'''

MODEL = '''
def careful(images, prompt, *, seed):
    """Right by day, always goes by night."""
    print("a model that talks")
    letter = prompt[prompt.index(") Go") - 1]
    return f"ANSWER: {letter}"


def interrupts(images, prompt, *, seed):
    raise KeyboardInterrupt


class Tires:
    """Answers nine times, then is interrupted."""

    name = "tires"
    left = 9

    def answer(self, images, prompt, *, seed):
        from vlmfail.core import Reply

        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return Reply("ANSWER: A")


def broken(images, prompt, *, seed):
    raise RuntimeError("no connection")
'''


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    """Run a command line in a folder that holds `world.py` and `my_model.py`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "world.py").write_text(DOMAIN)
    (tmp_path / "my_model.py").write_text(MODEL)

    def call(*words: object) -> Result:
        capfd.readouterr()
        code = main([str(word) for word in words])
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def search(cli):
    """Search the small world with its talking model."""

    def call(*words: object) -> Result:
        return cli(
            "search", "world.py:Small", "-s", "random", "-m", "my_model.py:careful",
            "--budget", 30, "--trials", 3, "--no-report", *words,
        )  # fmt: skip

    return call
