"""Searches whose pictures are generated: caps, totals, invalid scenes, the same pictures again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vlmfail import search
from vlmfail.analysis.summary import summarise
from vlmfail.core import ModelFault, RunFolderError, UsageError
from vlmfail.testing.picture_provider import Failed, PictureAnswer, PictureServer

pytest.importorskip("openai")

WORLD = """
from dataclasses import dataclass
from vlmfail.core import Option, Question, Truth
from vlmfail.envs.concept_sets import ConceptSetSpace
from vlmfail.envs.generated import generated_renderer


@dataclass(frozen=True)
class Concept:
    id: str
    description: str


class Catalogue:
    concepts = tuple(Concept(name, f"There is a {name}.") for name in ("cat", "dog", "cup", "pan"))


class Scene:
    def __init__(self, candidate):
        self.candidate = candidate

    def record(self):
        return {"concepts": sorted(self.candidate)}


class Small:
    name = "small"
    attempts = 8

    def __init__(self):
        self.space = ConceptSetSpace([c.id for c in Catalogue.concepts], (), 2)

    def sample_scene(self, candidate, rng):
        return Scene(candidate)

    def question(self, scene):
        return Question("?", (Option("stop", "Stop"), Option("go", "Go")), "v1")

    def truth(self, scene):
        return Truth("stop", frozenset({"stop"}), "A1", "by the rule")

    def unseen(self, scene, truth, rendering):
        return None

    def direction(self, truth, answer):
        return None

    def make_renderer(self, name):
        return generated_renderer(name, Catalogue(), domain=self.name)


def go(images, prompt, *, seed):
    return "ANSWER: A"
"""


@pytest.fixture(autouse=True)
def _world(tmp_path, monkeypatch):
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "caches"))
    monkeypatch.delenv("VLMFAIL_GENERATED", raising=False)
    (tmp_path / "world.py").write_text(WORLD)
    monkeypatch.chdir(tmp_path)
    from vlmfail.models.providers.endpoint import forget_endpoints

    forget_endpoints()


def run(server, out, options="", **more):
    settings = {"model": "world.py:go", "budget": 12, "trials": 3, "seed": 0, **more}
    renderer = f"openai-image:m@{server.url}/v1{options}"
    return search("world.py:Small", "random", renderer=renderer, out=out, **settings)


def pictures(found):
    return {place: record.trial.picture for place, record in found.records.items()}


def test_every_trial_has_its_own_picture_and_another_run_the_same():
    with PictureServer(PictureAnswer()) as server:
        first = run(server, "a", concurrency=4)
        assert server.count == len(set(pictures(first).values())) == first.calls == 12
        assert summarise(first)["spent"]["requests"] == 12
        second = run(server, "b")
        assert server.count == 12
    assert pictures(second) == pictures(first)
    record = next(iter(first.records.values()))
    assert "There is a" in record.scene["generated"]["prompt"]
    assert record.scene["visible_pixels"] is None


def test_what_cannot_be_drawn_is_an_invalid_scene_and_never_a_failure():
    refused = Failed(400, {"error": {"code": "moderation_blocked", "message": "no"}})
    with PictureServer(lambda order: refused if order.n % 3 else PictureAnswer()) as server:
        found = run(server, "a", "?tries=1")
        requests = server.count
    outcomes = summarise(found)["outcomes"]
    assert outcomes["invalid_scene"] > 0
    assert outcomes["error"] == 0
    assert outcomes["pass"] + outcomes["fail"] == found.calls
    invalid = [r for r in found.records.values() if r.trial.outcome == "invalid_scene"]
    assert all("refused" in record.trial.note for record in invalid)
    assert len(found.records) == requests, "one request a trial: nothing is sampled again"


@pytest.mark.parametrize("concurrency", [1, 6])
def test_a_cap_holds_for_pictures_too(concurrency):
    with PictureServer(PictureAnswer()) as server:
        found = run(server, "a", max_requests=5, concurrency=concurrency)
        assert server.count == 5
    assert found.status == "capped"
    assert summarise(found)["spent"]["requests"] == 5
    assert found.calls <= 5


def test_a_money_cap_needs_a_price():
    with PictureServer(PictureAnswer()) as server, pytest.raises(UsageError, match="no price"):
        run(server, "a", max_dollars=1.0)


def test_a_wrong_key_ends_the_run_and_what_is_stored_stays():
    steps = [PictureAnswer(), PictureAnswer(), Failed(401)]
    with PictureServer(steps) as server, pytest.raises(ModelFault, match="key"):
        run(server, "a")
    assert json.loads(Path("a/run.json").read_text())["renderer_identity"]["tries"] == 2


def test_a_run_is_not_continued_with_other_pictures(tmp_path):
    from vlmfail.testing.picture_provider import noise_png

    (tmp_path / "mine" / "cat").mkdir(parents=True)
    (tmp_path / "mine" / "cat" / "a.png").write_bytes(noise_png("a"))
    settings = {"model": "world.py:go", "budget": 2, "trials": 1, "renderer": "folder:mine"}
    search("world.py:Small", "random", out="a", **settings)
    (tmp_path / "mine" / "cat" / "b.png").write_bytes(noise_png("b"))
    with pytest.raises(RunFolderError, match="renderer_identity"):
        search("world.py:Small", "random", out="a", **settings)
