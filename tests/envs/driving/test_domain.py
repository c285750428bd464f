from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Domain, Picture, Rendering, Truth, UnknownNameError, UsageError
from vlmfail.envs.driving.catalogue import DATA
from vlmfail.envs.driving.domain import LAMP_PIXELS, OBJECT_PIXELS, DrivingDomain
from vlmfail.envs.driving.scene import DrivingScene
from vlmfail.envs.driving.truth import CRUISE_SPEED, FULL_BRAKING, stopping_distance

DOMAIN = DrivingDomain()
PICTURE = Picture.from_pixels(np.zeros((2, 2, 3), dtype=np.uint8))


def sample(text: str, seed: int = 0) -> DrivingScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


def test_it_is_a_domain() -> None:
    domain: Domain[frozenset[str]] = DOMAIN
    assert domain.name == "driving"
    assert domain.attempts == 8


def test_domain_and_scene_pickle() -> None:
    again = pickle.loads(pickle.dumps(DOMAIN))
    scene = sample("cone light_red weather_wet")
    copy = pickle.loads(pickle.dumps(scene))
    assert copy == scene
    assert again.truth(copy) == DOMAIN.truth(scene)
    assert again.question(copy) == DOMAIN.question(scene)
    assert len(pickle.dumps(scene)) < 4000


def test_record_is_strict_json_and_says_where_things_stand() -> None:
    scene = sample("cone far pedestrian light_green weather_wet town_town02")
    record = json.loads(json.dumps(scene.record(), allow_nan=False))
    assert record["town"] == "town02"
    assert record["weather"] == "weather_wet"
    assert record["signal"]["colour"] == "green"
    cone = next(item for item in record["objects"] if item["name"] == "cone")
    assert 15.0 <= cone["gap"] <= 25.0
    assert cone["in_lane"] is True
    assert cone["distance"] == "far"


def test_world_names_every_thing_and_probes_the_deciding_one_first() -> None:
    scene = sample("pedestrian debris_far light_red")
    world = scene.world()
    names = [item.name for item in world.objects]
    assert sorted(names) == ["debris_far", "light_red", "pedestrian", "traffic_light"]
    assert world.probes[0] == "pedestrian"
    assert set(world.probes) == {"pedestrian", "debris_far", "light_red"}
    assert (world.camera.width, world.camera.height) == (512, 384)
    assert world.camera.x == pytest.approx(scene.ego_x - 0.9)


def test_named_towns_and_weathers_are_taken_others_vary() -> None:
    assert {sample("cone town_town01", seed).town for seed in range(6)} == {"town01"}
    assert {sample("cone", seed).town for seed in range(12)} == {"town01", "town02"}
    assert sample("cone weather_foggy").weather == "weather_foggy"
    assert sample("cone").weather is None


def test_a_light_implies_its_junction() -> None:
    assert sample("light_green").junction_gap is not None
    assert sample("intersection_ego").signal is None
    assert sample("cone").junction_gap is None


def test_an_empty_road_can_be_sampled() -> None:
    scene = DOMAIN.sample_scene(frozenset({"weather_wet"}), np.random.default_rng(0))
    assert scene.objects == ()
    assert DOMAIN.truth(scene).accepted == {"continue"}


def test_question_is_constant_and_states_speed_and_braking() -> None:
    question = DOMAIN.question(sample("cone"))
    assert question == DOMAIN.question(sample("light_red"))
    assert [option.id for option in question.options] == [
        "emergency_stop",
        "slow_down",
        "continue",
    ]
    numbers = set(re.findall(r"\d+(?:\.\d+)?", question.text))
    said = (
        CRUISE_SPEED,
        FULL_BRAKING,
        FULL_BRAKING / 2,
        round(stopping_distance("emergency_stop"), 1),
        round(stopping_distance("slow_down"), 1),
    )
    assert {f"{value:g}" for value in said} <= numbers
    assert question.version


def test_unseen_names_the_deciding_object() -> None:
    scene = sample("pedestrian debris_far light_red")
    truth = DOMAIN.truth(scene)
    seen = {"pedestrian": OBJECT_PIXELS, "debris_far": 0, "light_red": 0}
    assert DOMAIN.unseen(scene, truth, Rendering(PICTURE, seen)) is None
    hidden = {**seen, "pedestrian": OBJECT_PIXELS - 1}
    reason = DOMAIN.unseen(scene, truth, Rendering(PICTURE, hidden))
    assert reason is not None
    assert "pedestrian" in reason
    assert DOMAIN.unseen(scene, truth, Rendering(PICTURE, None)) is None


def test_lamps_need_fewer_pixels() -> None:
    scene = sample("light_red")
    truth = DOMAIN.truth(scene)
    assert LAMP_PIXELS < OBJECT_PIXELS
    assert DOMAIN.unseen(scene, truth, Rendering(PICTURE, {"light_red": LAMP_PIXELS})) is None
    assert DOMAIN.unseen(scene, truth, Rendering(PICTURE, {"light_red": LAMP_PIXELS - 1}))


def test_nothing_need_be_seen_where_nothing_decides() -> None:
    scene = sample("pedestrian on_sidewalk")
    truth: Truth = DOMAIN.truth(scene)
    assert truth.deciding == ()
    assert DOMAIN.unseen(scene, truth, Rendering(PICTURE, {})) is None


@pytest.mark.parametrize("text", ["pedestrian", "light_red", "debris_far", "cone far"])
def test_the_renderer_shows_what_decides(text: str) -> None:
    renderer = DOMAIN.make_renderer("embree")
    scene = sample(text, 2)
    rendering = renderer.render(scene)
    assert rendering.picture.size == (512, 384)
    assert DOMAIN.unseen(scene, DOMAIN.truth(scene), rendering) is None


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownNameError, match="embree"):
        DOMAIN.make_renderer("embre")
    with pytest.raises(UnknownNameError, match="cone"):
        DOMAIN.sample_scene(frozenset({"cones"}), np.random.default_rng(0))


def test_data_of_a_folder_replaces_ours(tmp_path: Path) -> None:
    data = json.loads((DATA / "rules.json").read_text())
    data["expected_action"] = [row for row in data["expected_action"] if row["id"] != "A4"]
    (tmp_path / "rules.json").write_text(json.dumps(data))
    lenient = DrivingDomain(tmp_path)
    scene = sample("intersection_ego weather_foggy")
    assert DOMAIN.truth(scene).rule == "A4"
    assert lenient.truth(scene).rule == "A5"
    data["expected_action"].pop()
    (tmp_path / "rules.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="must hold always"):
        DrivingDomain(tmp_path)
