from __future__ import annotations

import json
import math
import pickle
import re

import numpy as np
import pytest

from vlmfail.envs.indoor import assets, room
from vlmfail.envs.indoor.domain import IndoorDomain
from vlmfail.envs.indoor.layout import CEILING
from vlmfail.envs.indoor.scene import IndoorScene, Placed, bounds_of, mesh_of

DOMAIN = IndoorDomain()


def sample(text: str, seed: int = 0) -> IndoorScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


def test_the_record_is_strict_json_and_says_what_stands_where() -> None:
    scene = sample("knife_edge toddler_standing")
    text = json.dumps(scene.record(), allow_nan=False)
    record = json.loads(text)
    assert record == scene.record()
    assert record["layout"] == scene.layout.key
    assert record["palette"] == scene.palette
    assert {"camera", "atmosphere", "things", "match"} <= set(record)
    knife = next(item for item in record["things"] if item["kind"] == "chef_knife")
    assert knife["name"] == "knife_edge"
    assert knife["z"] == pytest.approx(0.9)
    assert record["match"]["rule"] == "I304"
    assert record["match"]["family"] == "cut"
    assert record["match"]["accepted"] == "hazard"


def test_the_record_does_not_depend_on_who_asks() -> None:
    first, again = sample("hot_beverage child_running", 3), sample("hot_beverage child_running", 3)
    assert json.dumps(first.record()) == json.dumps(again.record())
    assert json.dumps(pickle.loads(pickle.dumps(first)).record()) == json.dumps(first.record())


def test_numbers_in_the_record_are_rounded() -> None:
    text = json.dumps(sample("pill_bottle").record())
    assert not re.search(r"\d\.\d{5,}(?!e)", text)


def test_a_scene_pickles_small() -> None:
    scene = sample("stove_on towel_near smoke towel_burning adult_reacting")
    assert pickle.loads(pickle.dumps(scene)) == scene
    assert len(pickle.dumps(scene)) < 16_000


def test_the_world_shows_the_things_in_the_room_of_the_scene() -> None:
    scene = sample("cabinet_open child_reaching knife_block")
    world = scene.world()
    backdrop = room.backdrop(scene.layout, scene.palette)
    assert world.backdrop is backdrop.mesh
    assert world.backdrop_key == backdrop.key
    assert world.camera == scene.camera
    assert world.atmosphere == scene.atmosphere
    assert len(world.objects) == len(scene.things)
    for thing, instance in zip(scene.things, world.objects, strict=True):
        assert instance.mesh is mesh_of(thing.kind, thing.variant)
        low, high = instance.placed().bounds
        box = thing.box()
        # The box of the own box's corners: as large as the mesh's or larger.
        assert (box[0] <= low + 1e-4).all()
        assert (box[1] >= high - 1e-4).all()


def test_probes_are_the_concepts_that_are_there_in_catalogue_order() -> None:
    scene = sample("toddler_standing knife_edge glass_upright")
    assert scene.world().probes == scene.names == ("glass_upright", "knife_edge",
                                                   "toddler_standing")  # fmt: skip
    assert "room" not in scene.names
    assert any(thing.name == "room" for thing in scene.things)


def test_several_things_show_one_concept() -> None:
    scene = sample("glass_tipped")
    kinds = [thing.kind for thing in scene.of("glass_tipped")]
    assert sorted(kinds) == ["glass_tipped", "water_counter", "water_floor"]
    assert scene.of("knife_edge") == ()


def test_the_doors_of_the_room_take_the_palette() -> None:
    scene = sample("cabinet_closed")
    (doors,) = scene.of("cabinet_closed")
    assert mesh_of(doors.kind, doors.variant) is room.sink_doors("closed", scene.palette)


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.1, math.pi])
def test_points_are_turned_and_moved_as_the_mesh_is(yaw: float) -> None:
    thing = Placed("x", "chef_knife", 0, -0.6, 0.3, 0.9, yaw)
    mesh = assets.build("chef_knife", 0)
    placed = mesh.transformed((thing.x, thing.y, thing.z), yaw=yaw)
    assert np.allclose(thing.to_room(mesh.vertices), placed.vertices, atol=1e-5)
    tip = np.array(thing.point("tip"))
    assert np.linalg.norm(placed.vertices - tip, axis=1).min() < 0.012


def test_corners_are_those_of_the_own_box() -> None:
    thing = Placed("x", "chair", 0, 1.0, 2.0, 0.0, math.pi / 2)
    low, high = bounds_of("chair", 0)
    corners = thing.corners()
    assert corners.shape == (8, 3)
    assert np.ptp(corners[:, 1]) == pytest.approx(high[0] - low[0])
    assert np.ptp(corners[:, 0]) == pytest.approx(high[1] - low[1])
    assert corners[:, 2].max() == pytest.approx(high[2])


def test_the_light_is_of_ceiling_lamps_in_the_room() -> None:
    strengths = set()
    for seed in range(4):
        scene = sample("glass_upright", seed)
        right, left = scene.layout.side_walls
        assert len(scene.atmosphere.lamps) >= 2
        for lamp in scene.atmosphere.lamps:
            assert right < lamp.y < left
            assert 2.0 < lamp.z <= CEILING
        strengths.add(scene.atmosphere.lamps[0].colour)
    assert len(strengths) == 4
