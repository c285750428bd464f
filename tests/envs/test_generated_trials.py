"""Searches whose pictures are generated: caps, totals, invalid scenes, the same pictures again."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from vlmfail import resume, search
from vlmfail.analysis.summary import summarise
from vlmfail.core import ModelFault, RunFolderError, UsageError
from vlmfail.envs.registry import make_domain
from vlmfail.envs.trials import prepare_trial
from vlmfail.reports.wording import headline
from vlmfail.testing.picture_provider import (
    Failed,
    PictureAnswer,
    PictureServer,
    Verbatim,
    noise_png,
)

pytest.importorskip("openai")

WORLD = """
from dataclasses import dataclass
from vlmfail.core import Option, Question, SceneError, Truth
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


class Known:
    def __init__(self, candidate):
        self.candidate = candidate
        self.absent = ("dog",) if candidate == {"cat"} else ()

    def record(self):
        return {"match": {"rule": "A1"}}


class Told(Small):
    attempts = 3

    def sample_scene(self, candidate, rng):
        raise SceneError("the cup found no place")

    def describe_scene(self, candidate):
        return Known(frozenset(candidate))


def go(images, prompt, *, seed):
    return "ANSWER: A"


def sees_all(images, prompt, *, seed):
    return "\\n".join(f"{i}. True" for i in range(1, 1 + prompt.count("The picture shows")))
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
    (tmp_path / "mine" / "cat").mkdir(parents=True)
    (tmp_path / "mine" / "cat" / "a.png").write_bytes(noise_png("a"))
    settings = {"model": "world.py:go", "budget": 2, "trials": 1, "renderer": "folder:mine"}
    search("world.py:Small", "random", out="a", **settings)
    (tmp_path / "mine" / "cat" / "b.png").write_bytes(noise_png("b"))
    with pytest.raises(RunFolderError, match="renderer_identity"):
        search("world.py:Small", "random", out="a", **settings)


@pytest.fixture
def mine(tmp_path):
    """A folder with a picture each of a cat, of a dog, and of both."""
    for name in ("cat", "dog", "cat+dog"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "a.png").write_bytes(noise_png(name))
    return tmp_path / "mine"


def prepared(name, renderer, *concepts):
    domain = make_domain(f"world.py:{name}")
    return prepare_trial(domain, domain.make_renderer(renderer), frozenset(concepts), 0, 0)


def test_where_the_answer_hangs_on_the_set_alone_nothing_is_staged(mine):
    trial = prepared("Told", "folder:mine", "dog")
    assert trial.note == ""
    assert trial.picture is not None
    assert trial.truth.expected == "stop"
    assert set(trial.scene) == {"match", "truth_reason", "generated"}
    assert trial.scene["truth_reason"] == "by the rule"


def test_a_domain_of_measured_scenes_records_the_scene_that_decided(mine):
    trial = prepared("Small", "folder:mine", "dog")
    assert trial.scene["concepts"] == ["dog"]
    assert trial.scene["attempts"] == 1


def test_what_is_known_of_an_invalid_scene_is_in_its_record(mine):
    trial = prepared("Told", "folder:mine", "cup")
    assert trial.picture is None
    assert "no picture of cup" in trial.note
    assert set(trial.scene) == {"match", "truth_reason", "generated"}
    unknown = prepared("Small", "folder:mine", "cup")
    assert set(unknown.scene) == {"attempts", "generated"}


def test_a_photograph_has_neither_prompt_nor_seed(mine):
    for concepts in (("dog",), ("cup",)):
        generated = prepared("Told", "folder:mine", *concepts).scene["generated"]
        said = json.dumps(generated)
        assert "prompt" not in said
        assert "seed" not in said
        assert "There is" not in said
    identity = make_domain("world.py:Told").make_renderer("folder:mine").identity()
    assert "prompt" not in identity
    assert "style" not in identity


def test_a_check_looks_for_what_would_change_the_answer(mine):
    checked = "folder:mine?check=world.py:sees_all"
    stray = prepared("Told", checked, "cat")
    assert stray.picture is None
    assert "sees dog" in stray.note
    assert stray.scene["match"] == {"rule": "A1"}
    assert stray.scene["generated"]["failed"][0]["check"]["stray"] == ["dog"]
    both = prepared("Told", checked, "cat", "dog")
    assert both.scene["generated"]["check"]["marks"] == {"cat": True, "dog": True}


def test_the_label_page_shows_no_prompt_of_a_photograph(mine):
    pytest.importorskip("starlette")
    pytest.importorskip("httpx")
    from starlette.testclient import TestClient

    from vlmfail.ui.label.server import make_label_app

    with PictureServer(PictureAnswer()) as server:
        runs = {
            "drawn": run(server, "a", budget=1, trials=1),
            "mine": search("world.py:Small", "random", model="world.py:go", budget=1, trials=1,
                           renderer="folder:mine", out="b"),
        }  # fmt: skip
    shown = {}
    for name, found in runs.items():
        app = make_label_app(found, list(found.records)[-1:], "ann")
        page = TestClient(app, base_url="http://127.0.0.1").get("/trial/1")
        assert page.status_code == 200
        shown[name] = "Picture prompt" in page.text
    assert shown == {"drawn": True, "mine": False}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_search_without_any_picture_ends_and_goes_on_when_they_come(tmp_path, concurrency):
    options = {"budget": 30, "trials": 3, "concurrency": concurrency}
    ready: list[bool] = []
    nothing = Verbatim({"data": [{}]})
    with PictureServer(lambda order: PictureAnswer() if ready else nothing) as server:
        with pytest.raises(ModelFault, match=r"20 trials in a row.*no picture as base64"):
            run(server, tmp_path / "run", "?attempts=1", **options)
        assert 20 <= server.count < 20 + 2 * concurrency
        ready.append(True)
        found = resume(tmp_path / "run", concurrency=concurrency)
    assert found.status == "space exhausted"
    assert found.calls >= 9, "sets that were not reached, of three trials"


def test_a_service_that_draws_the_same_again_gives_one_observation():
    same = Verbatim({"data": [{"b64_json": base64.b64encode(noise_png("one")).decode()}]})
    for concurrency, out in ((1, "a"), (4, "b")):
        with PictureServer(same) as server:
            found = run(server, out, concurrency=concurrency, budget=8)
            before, paid = set(found.records), server.count
            found = found.confirm(top=2, trials=20)
            assert server.count == paid + 2, "one more picture a mode told that it is the same"
        for evaluation in found.candidates.values():
            total = evaluation.total
            assert (total.charged, total.n) == (1, 1)
            assert total.trials[0].outcome.charged
            assert all("that of trial 0 again" in trial.note for trial in total.trials[1:])
        said = headline(found, found.failure_modes)
        assert "of 8 evaluated sets have fewer different pictures than the 3 trials" in said
        fresh = [found.records[place].trial for place in set(found.records) - before]
        assert len(fresh) == 2
        assert not any(trial.outcome.charged for trial in fresh)
