"""Pictures by concept set: what they depend on, what is tried, what is recorded."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from vlmfail.core import (
    CapReachedError,
    ModelFault,
    Picture,
    Rendering,
    SceneError,
    UnknownNameError,
    Usage,
    UsageError,
    Violation,
)
from vlmfail.envs.generated import (
    MOST_UNDRAWN,
    GeneratedRenderer,
    UndrawnPictureError,
    draw,
    generated_renderer,
    is_generated,
    renderer_identity,
)
from vlmfail.models.pictures.sources import DrawnPicture
from vlmfail.models.pictures.specs import parse_picture_spec
from vlmfail.models.spending import Caps, Ledger, current_ledger, metering
from vlmfail.testing.picture_provider import Failed, PictureAnswer, PictureServer, noise_png


@dataclass(frozen=True)
class Concept:
    id: str
    description: str


class Catalogue:
    concepts = tuple(Concept(name, f"There is a {name}.") for name in ("kitchen", "knife", "cat"))


CHECK = """
def all_seen(images, prompt, *, seed):
    return "\\n".join(f"{i}. True" for i in range(1, 1 + prompt.count("The picture shows")))


def no_cat(images, prompt, *, seed):
    statements = [line for line in prompt.splitlines() if "The picture shows" in line]
    return "\\n".join(f"{i}. {'cat' not in s}" for i, s in enumerate(statements, 1))


def no_knife_at_times(images, prompt, *, seed):
    odd = images[0].pixels[0, 0, 0] % 2 == 1
    statements = [line for line in prompt.splitlines() if "The picture shows" in line]
    return "\\n".join(f"{i}. {'knife' not in s or odd}" for i, s in enumerate(statements, 1))


def some(images, prompt, *, seed):
    sees = images[0].pixels[0, 0, 0] % 2 == 0
    return "\\n".join(f"{i}. {sees}" for i in range(1, 1 + prompt.count("The picture shows")))
"""


@pytest.fixture(autouse=True)
def _own_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "caches"))
    monkeypatch.delenv("VLMFAIL_GENERATED", raising=False)
    (tmp_path / "see.py").write_text(CHECK)
    monkeypatch.chdir(tmp_path)
    from vlmfail.models.providers.endpoint import forget_endpoints

    forget_endpoints()


def made(server: PictureServer, options: str = "") -> GeneratedRenderer:
    pytest.importorskip("openai")
    spec = f"openai-image:m@{server.url}/v1{options}"
    return generated_renderer(spec, Catalogue(), domain="indoor")


def test_a_picture_depends_on_candidate_run_seed_and_trial():
    with PictureServer(PictureAnswer()) as server:
        renderer = made(server)
        shown = [
            renderer.render_trial({"cat"}, run_seed=0, trial=0),
            renderer.render_trial({"cat"}, run_seed=0, trial=1),
            renderer.render_trial({"cat"}, run_seed=1, trial=0),
            renderer.render_trial({"cat", "knife"}, run_seed=0, trial=0),
        ]
        assert len({each.picture.sha256 for each in shown}) == server.count == 4
        again = made(server)
        replayed = [
            again.render_trial(["knife", "cat"], run_seed=0, trial=0),
            again.render_trial(("cat",), run_seed=0, trial=0),
        ]
        assert [each.picture for each in replayed] == [shown[3].picture, shown[0].picture]
        assert server.count == 4, "a replay pays nothing"


def test_a_rendering_says_how_it_came_about_and_not_what_is_visible():
    with PictureServer(PictureAnswer()) as server:
        rendering = made(server).render_trial({"cat", "knife"}, run_seed=3, trial=2)
    assert isinstance(rendering, Rendering)
    assert rendering.visible is None
    assert rendering.extent is None
    record = json.loads(json.dumps(rendering.record))
    assert "There is a knife. There is a cat." in record["prompt"]
    assert record["prompt_version"]
    assert record["spent"]["requests"] == 1


def test_a_replay_shows_the_trials_picture_whatever_was_refused_before_it():
    refused = Failed(400, {"error": {"code": "moderation_blocked", "message": "no"}})
    with PictureServer([refused, PictureAnswer()]) as server:
        first = made(server).render_trial({"cat"}, run_seed=0, trial=0)
        assert server.count == 2
        again = made(server).render_trial({"cat"}, run_seed=0, trial=0)
        assert server.count == 2
    assert again.picture == first.picture
    assert "refused" in first.record["failed"][0]["problem"]
    assert again.record["spent"]["requests"] == 0
    assert again.record["cached"] is True


def test_a_refusal_is_tried_under_as_many_seeds_as_asked():
    refused = Failed(400, {"error": {"code": "moderation_blocked", "message": "no"}})
    for tries in (1, 3):
        with PictureServer(refused) as server:
            with pytest.raises(UndrawnPictureError, match="refused") as undrawn:
                made(server, f"?tries={tries}").render_trial({"cat"}, run_seed=0, trial=0)
            assert server.count == tries
        seeds = [row["seed"] for row in undrawn.value.record["failed"]]
        assert len(set(seeds)) == tries
        assert undrawn.value.record["prompt"]
        assert isinstance(undrawn.value, SceneError)


def test_a_failing_service_is_not_asked_under_further_seeds():
    with PictureServer(Failed(500)) as server:
        with pytest.raises(UndrawnPictureError, match="could not be had"):
            made(server, "?attempts=1&tries=5").render_trial({"cat"}, run_seed=0, trial=0)
        assert server.count == 1


def test_a_picture_that_passes_its_check_is_shown_with_the_verdict():
    with PictureServer(PictureAnswer()) as server:
        renderer = made(server, "?check=see.py:all_seen")
        rendering = renderer.render_trial({"cat", "knife"}, run_seed=0, trial=0)
    assert rendering.record["check"]["marks"] == {"knife": True, "cat": True}
    assert renderer.identity()["check"]["name"] == "see.py:all_seen"


def test_a_picture_that_does_not_names_what_is_missing():
    with PictureServer(PictureAnswer()) as server:
        with pytest.raises(UndrawnPictureError, match="does not see cat") as undrawn:
            made(server, "?check=see.py:no_cat").render_trial({"cat", "knife"}, run_seed=0, trial=0)
        assert server.count == 2
    failed = undrawn.value.record["failed"]
    assert [row["check"]["missing"] for row in failed] == [["cat"], ["cat"]]
    assert failed[0]["picture"] != failed[1]["picture"]


def test_the_next_seed_may_pass():
    with PictureServer(PictureAnswer()) as server:
        renderer = made(server, "?check=see.py:some&tries=10")
        rendering = renderer.render_trial({"cat"}, run_seed=0, trial=0)
        assert rendering.picture.pixels[0, 0, 0] % 2 == 0
        assert len(rendering.record.get("failed", [])) == server.count - 1


def test_a_cap_reaches_whoever_runs_the_trials():
    ledger = Ledger(Caps(max_requests=1))
    with PictureServer(PictureAnswer()) as server:
        renderer = made(server)
        with metering(ledger):
            renderer.render_trial({"cat"}, run_seed=0, trial=0)
            with pytest.raises(CapReachedError, match="max_requests"):
                renderer.render_trial({"cat"}, run_seed=0, trial=1)
        assert server.count == 1
    assert ledger.unrecorded.requests == 1, "the run's totals hold what no record does"


def test_the_users_own_pictures_cost_nothing_and_may_be_checked(tmp_path):
    folder = tmp_path / "mine" / "cat"
    folder.mkdir(parents=True)
    Picture.from_pixels(np.full((6, 8, 3), 90, np.uint8))
    (folder / "a.png").write_bytes(Picture.from_pixels(np.full((6, 8, 3), 90, np.uint8)).png)
    renderer = generated_renderer(f"folder:{tmp_path / 'mine'}?check=see.py:all_seen", Catalogue())
    assert (renderer.metered, renderer.source.priced) == (False, True)
    rendering = renderer.render_trial({"cat"}, run_seed=0, trial=0)
    assert rendering.record["source"] == {"file": "cat/a.png", "of": 1}
    with pytest.raises(UndrawnPictureError, match="no picture of knife"):
        renderer.render_trial({"knife"}, run_seed=0, trial=0)


@dataclass
class Scene:
    candidate: frozenset[str]
    shade: int = 0

    def record(self):
        return {"shade": self.shade}


def test_a_scene_outside_a_search_has_its_own_picture():
    with PictureServer(PictureAnswer()) as server:
        renderer = made(server)
        one = renderer.render(Scene(frozenset({"cat"})))
        assert renderer.render(Scene(frozenset({"cat"}))).picture == one.picture
        assert renderer.render(Scene(frozenset({"cat"}), 1)).picture != one.picture
        assert server.count == 2

    class Names:
        names = ("cat", "table")

        def record(self):
            return {}

    class Nothing(Names):
        names = ()

    with PictureServer(PictureAnswer()) as server:
        made(server).render(Names())
        assert "There is a cat." in server.orders[0].prompt
        with pytest.raises(UsageError, match="cannot tell what to draw"):
            made(server).render(Nothing())


def test_draw_gives_scenes_to_renderers_of_scenes():
    class Flat:
        name = "flat"

        def render(self, scene):
            return Rendering(Picture.from_pixels(np.full((6, 8, 3), scene.shade, np.uint8)))

    rendering, generated = draw(Flat(), Scene(frozenset(), 9), {"cat"}, run_seed=0, trial=0)
    assert rendering.picture.pixels[0, 0, 0] == 9
    assert generated is None
    with PictureServer(PictureAnswer()) as server:
        rendering, generated = draw(made(server), object(), {"cat"}, run_seed=0, trial=0)
    assert generated is not None
    assert generated["prompt"]


def test_its_identity_is_json_and_tells_styles_and_sources_apart(tmp_path):
    with PictureServer(PictureAnswer()) as server:
        first, second = made(server), made(server, "?size=64x64")
    said = json.loads(json.dumps(renderer_identity(first)))
    assert said["source"]["prefix"] == "openai-image"
    assert said != json.loads(json.dumps(renderer_identity(second)))
    assert renderer_identity(object()) is None  # type: ignore[arg-type]
    assert not first.priced


def test_names_and_what_is_unknown():
    assert is_generated("openai-image:m")
    assert not is_generated("embree")
    with pytest.raises(UnknownNameError, match="dog"), PictureServer(PictureAnswer()) as server:
        made(server).render_trial({"dog"}, run_seed=0, trial=0)
    with pytest.raises(UsageError):
        generated_renderer("folder:/nowhere", Catalogue())
    with pytest.raises(UsageError, match="nowhere"), PictureServer(PictureAnswer()) as server:
        made(server, "?check=nowhere.py:x")


def test_an_undrawn_picture_crosses_processes():
    error = pickle.loads(pickle.dumps(UndrawnPictureError("no picture", again=True)))
    assert str(error) == "no picture"


def test_a_spec_is_its_name():
    assert parse_picture_spec("folder:x?check=tiny-vlm").text == "folder:x?check=tiny-vlm"


def test_a_stray_thing_is_looked_for_and_the_next_seed_may_be_without():
    scene = Scene(frozenset({"cat"}))
    scene.absent = ("knife",)  # type: ignore[attr-defined]
    with PictureServer(PictureAnswer()) as server:
        unchecked, _ = draw(made(server), scene, {"cat"}, run_seed=0, trial=0)
        assert server.count == 1
        renderer = made(server, "?check=see.py:no_knife_at_times&tries=10")
        rendering, generated = draw(renderer, scene, {"cat"}, run_seed=0, trial=0)
        assert renderer.render(scene).picture.pixels[0, 0, 0] % 2 == 0
        assert generated is not None
        assert generated["check"]["marks"] == {"cat": True, "knife": False}
        assert rendering.picture.pixels[0, 0, 0] % 2 == 0
        for tried in generated.get("failed", []):
            assert tried["check"]["stray"] == ["knife"]
        other = renderer.render_trial({"cat"}, run_seed=0, trial=0)
        assert other.record["check"]["marks"] == {"cat": True}, "kept by what was looked for"
    assert unchecked.picture


def test_what_every_picture_shows_is_no_part_of_what_is_asked_for():
    pytest.importorskip("openai")

    class Implying(Catalogue):
        implied = ("kitchen",)

    with PictureServer(PictureAnswer()) as server:
        spec = f"openai-image:m@{server.url}/v1?check=see.py:all_seen"
        renderer = generated_renderer(spec, Implying(), domain="indoor")
        one = renderer.render_trial({"cat"}, run_seed=0, trial=0)
        two = renderer.render_trial({"cat", "kitchen"}, run_seed=0, trial=0)
    assert one.picture == two.picture
    assert two.record["check"]["marks"] == {"cat": True}


@dataclass
class Source:
    """A source that draws what `drawn` says, trial after trial, and what each costs."""

    drawn: list[bool]
    requests: int = 1
    metered = True
    priced = True
    varies = False

    def identity(self):
        return {}

    def draw(self, request):
        current_ledger().add(Usage(requests=self.requests))
        if self.drawn[request.trial % len(self.drawn)]:
            return DrawnPicture(Picture.from_pixels(np.zeros((32, 32, 3), np.uint8)))
        raise UndrawnPictureError(f"refused, trial {request.trial}")


def drawn_in_turn(source: Source, trials: int) -> list[str]:
    renderer = GeneratedRenderer(parse_picture_spec("openai-image:m"), source, Catalogue())
    told = []
    for trial in range(trials):
        try:
            renderer.render_trial({"cat"}, run_seed=0, trial=trial)
        except (UndrawnPictureError, ModelFault) as error:
            told.append(f"{type(error).__name__}: {error}")
        else:
            told.append("")
    return told


def test_when_nothing_but_cost_comes_the_run_ends():
    told = drawn_in_turn(Source([False]), MOST_UNDRAWN + 1)
    assert [text.partition(":")[0] for text in told] == (
        ["UndrawnPictureError"] * (MOST_UNDRAWN - 1) + ["ModelFault", "UndrawnPictureError"]
    )
    assert "20 trials in a row" in told[-2]
    assert told[-2].endswith("refused, trial 19")


def test_a_picture_in_between_and_what_costs_nothing_do_not_end_it():
    assert not any(
        "ModelFault" in text for text in drawn_in_turn(Source([False] * 19 + [True]), 90)
    )
    assert not any("ModelFault" in text for text in drawn_in_turn(Source([False], 0), 90))


class Rules:
    """A space without cats alone."""

    def validate(self, candidate):
        return Violation("N1", "a cat needs a knife") if candidate == {"cat"} else None


def test_sets_of_a_folder_that_no_search_proposes_are_named(tmp_path, recwarn):
    for name in ("cat", "knife+cat", "knife"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "a.png").write_bytes(noise_png(name))
    generated_renderer("folder:mine", Catalogue())
    # Others' files that are closed late warn too.
    assert not [told for told in recwarn if told.category is UserWarning]
    with pytest.warns(
        UserWarning, match=r"1 of its 3 sets.* cat \(N1: a cat needs a knife\)"
    ) as told:
        generated_renderer("folder:mine", Catalogue(), space=Rules())
    assert "\n" not in str(told[0].message)
