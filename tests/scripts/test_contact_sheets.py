from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vlmfail.core import Picture, SceneError, UsageError
from vlmfail.envs.driving.domain import DrivingDomain

DOCS = Path(__file__).parents[2] / "docs"
LIMIT = 12e6  # bytes that the sheets may add to a clone


INDOOR_CONCEPTS = 32  # Table 5 without the kitchen itself


@pytest.fixture
def main_script(script):
    return script("contact_sheets")


@pytest.fixture
def sheets(main_script):
    import sheets_driving

    return sheets_driving


@pytest.fixture
def indoor(main_script):
    from sheets_indoor import IndoorSheets

    return IndoorSheets()


@pytest.fixture
def pickup(main_script):
    from sheets_pickup import PickUpSheets

    return PickUpSheets()


@pytest.fixture(scope="module")
def domain():
    return DrivingDomain()


# -- driving -------------------------------------------------------------------------------------


def test_there_is_a_sheet_for_each_thing_and_weather(sheets, domain):
    every = sheets.sheets(domain.catalogue)
    shown = {name: set().union(*tiles) for name, tiles in every.items()}
    for concept in domain.catalogue.concepts:
        if concept.role == "obstacle":
            assert concept.id in shown[concept.kind]
        elif concept.role == "town":
            assert concept.id in shown["towns"]
        elif concept.role != "modifier":
            assert all(concept.id in tile for tile in every[concept.id]), concept.id
    assert len(every) == 15 + 6 + 1


def test_movable_things_are_shown_near_far_and_on_the_sidewalk(sheets, domain):
    every = sheets.sheets(domain.catalogue)
    weathers = {concept.id for concept in domain.catalogue.by_role("weather")}
    for concept in domain.catalogue.by_role("movable"):
        tiles = every[concept.id]
        for modifier in ("near", "far", "on_sidewalk"):
            assert sum(modifier in tile for tile in tiles) >= 2, concept.id
        assert weathers <= set().union(*tiles)
        assert {"town_town01", "town_town02"} <= set().union(*tiles)


def test_the_sets_with_a_thing_are_valid(sheets, domain):
    for name, tiles in sheets.sheets(domain.catalogue).items():
        for tile in tiles:
            violation = domain.space.validate(frozenset(tile))
            # A plain road shows nothing to react to: no trial, but a weather and a town.
            assert violation is None or (violation.rule == "D4" and name[:4] in ("weat", "town"))


# -- indoor --------------------------------------------------------------------------------------


def test_there_is_a_sheet_for_each_indoor_concept_and_for_the_kitchens(indoor):
    assert len(indoor.concepts) == INDOOR_CONCEPTS
    assert indoor.names == (*indoor.concepts, "layouts", "kitchens")


def test_an_indoor_concept_is_shown_alone_and_beside_others(indoor):
    import sheets_indoor

    space = indoor.domain.space
    for concept in indoor.concepts:
        sets = indoor.sets(concept, 5)
        assert len(sets) >= sheets_indoor.TILES
        assert all(concept in chosen and space.validate(chosen) is None for chosen in sets)
        alone, beside = sets[: sheets_indoor.ALONE], sets[sheets_indoor.ALONE :]
        for chosen in alone:  # nothing can be left out: it is there because it is needed
            for other in chosen - {concept}:
                assert space.validate(chosen - {other}) is not None
        assert all(any(small < chosen for small in alone) for chosen in beside)
        assert len(set(beside)) > 3


def test_what_a_concept_needs_is_found(indoor):
    least = indoor._partners.least
    assert least["glass_upright"] == [frozenset({"glass_upright"})]
    assert least["child_reaching"] == [frozenset({"child_reaching", "cabinet_open"})]
    assert set(least["smoke"]) == {
        frozenset({"smoke", "stove_on", "towel_burning"}),
        frozenset({"smoke", "stove_on", "pan_stove"}),
    }
    assert indoor._partners.leaning_on("glass_floor") == {"barefoot_near_glass"}
    assert "towel_near" in indoor._partners.leaning_on("stove_on")


def test_sets_of_a_sheet_hang_on_its_seed(indoor):
    assert indoor.sets("knife_edge", 5) == indoor.sets("knife_edge", 5)
    assert indoor.sets("knife_edge", 5) != indoor.sets("knife_edge", 6)


class Trial:
    def __init__(self, index):
        self.index, self.picture = index, Picture.from_pixels(np.zeros((3, 4, 3), dtype=np.uint8))


def test_a_set_that_finds_no_place_is_replaced(indoor, monkeypatch):
    import sheets_indoor

    refused = indoor.sets("knife_edge", 5)[5]

    def drawn(domain, renderer, sets, named, *_, **__):
        if frozenset(sets[0]) == refused:
            raise UsageError("no place")
        return Trial(0)

    monkeypatch.setattr(sheets_indoor, "shown_trial", drawn)
    pictures, captions = indoor.draw("knife_edge", 5)
    assert len(pictures) == len(captions) == sheets_indoor.TILES
    assert not any(caption.startswith(" + ".join(sorted(refused))) for caption in captions)
    monkeypatch.setattr(indoor, "sets", lambda *_: [refused] * sheets_indoor.TILES)
    with pytest.raises(UsageError, match="no place; another --seed may help"):
        indoor.draw("knife_edge", 5)


def test_the_kitchens_show_every_layout_and_palette(indoor, monkeypatch):
    from vlmfail.envs.indoor.layout import RUNS
    from vlmfail.envs.indoor.room import PALETTES

    scenes = []

    class Renderer:
        @staticmethod
        def render(scene):
            scenes.append(scene)
            return Trial(0)

    monkeypatch.setitem(vars(indoor), "_renderer", Renderer)
    _, captions = indoor.draw("layouts", 5)
    assert len({scene.layout.key for scene in scenes}) == 2 * len(RUNS)
    assert {scene.palette for scene in scenes} == set(range(len(PALETTES)))
    assert all(thing.kind == "sink_doors_closed" for s in scenes for thing in s.things)
    assert len(set(captions)) == len(captions)


# -- pick-up -------------------------------------------------------------------------------------


def test_there_is_a_sheet_for_each_object_and_for_light_camera_and_crowds(pickup):
    assert len(pickup.objects) == 7
    assert pickup.names == (*pickup.objects, "lights", "cameras", "distractors")


class FakeWorld:
    """Takes every second scene."""

    def __init__(self):
        self.scenes = []

    def start(self, scene):
        self.scenes.append(scene)
        if len(self.scenes) % 2:
            raise SceneError("no room")

    def picture(self):
        return Trial(0).picture


def test_each_light_and_offset_of_the_camera_is_shown_once(pickup, monkeypatch):
    import sheets_pickup

    monkeypatch.setitem(vars(pickup), "_world", FakeWorld())
    pictures, captions = pickup.draw("lights", 5)
    assert len(pictures) == len(set(captions)) == sheets_pickup.TILES
    lights = [scene.light for scene in pickup._world.scenes[1::2]]
    assert lights == list(sheets_pickup.FACTORS)
    assert (min(lights), max(lights)) == (0.25, 4.0)
    monkeypatch.setitem(vars(pickup), "_world", FakeWorld())
    pickup.draw("cameras", 5)
    shown = pickup._world.scenes[1::2]
    assert [scene.camera for scene in shown] == list(sheets_pickup.OFFSETS)
    assert all(len(scene.distractors) == 3 for scene in shown)


def test_a_sheet_whose_scenes_cannot_be_is_one_line(pickup, monkeypatch):
    class Full(FakeWorld):
        def start(self, scene):
            raise SceneError("no room")

    monkeypatch.setitem(vars(pickup), "_world", Full())
    with pytest.raises(UsageError, match="another --seed may help"):
        pickup.draw("distractors", 5)


# -- all ----------------------------------------------------------------------------------------


def test_a_sheet_is_written_as_jpeg_of_its_tiles(
    main_script, sheets, tmp_path, monkeypatch, capsys
):
    tiles = [("cone", "near"), ("cone", "far", "weather_wet")]
    monkeypatch.setattr(sheets, "sheets", lambda _: {"cone": tiles, "other": []})
    assert main_script.main(["--out", str(tmp_path), "--only", "cone"]) == 0
    assert "cone.jpg" in capsys.readouterr().out
    (path,) = tmp_path.iterdir()
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        assert image.format == "JPEG"
        assert image.width == 2 * (main_script.TILE_WIDTH + 8) + 8


def test_indoor_sheets_have_a_folder_of_their_own(main_script, indoor, tmp_path, monkeypatch):
    monkeypatch.setattr(type(indoor), "draw", lambda *_: ([Trial(0).picture], ["a"]))
    words = ["--domain", "indoor", "--out", str(tmp_path), "--only", "smoke"]
    assert main_script.main(words) == 0
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.jpg")] == [
        "indoor/smoke.jpg"
    ]


@pytest.mark.parametrize(
    ("chosen", "count"), [("driving", 22), ("indoor", 34), ("pickup", 10), ("all", 22 + 34 + 10)]
)
def test_sheets_are_listed_by_domain(main_script, capsys, chosen, count):
    assert main_script.main(["--domain", chosen, "--list"]) == 0
    assert len(set(capsys.readouterr().out.split())) == count


def test_an_unknown_sheet_is_one_line(main_script, tmp_path, capsys):
    for words, first in (([], "intersection_ego"), (["--domain", "indoor"], "glass_upright")):
        words = ["--out", str(tmp_path / "none"), "--only", "unicorn", *words]
        assert main_script.main(words) == 2
        error = capsys.readouterr().err
        assert f"there is no unicorn; there are: {first}" in error
        assert error.count("\n") == 1
        assert not (tmp_path / "none").exists()


def test_the_page_shows_every_sheet(sheets, indoor, pickup, domain):
    text = (DOCS / "pictures.md").read_text(encoding="utf-8")
    linked = re.findall(r"\(pictures/([\w/-]+)\.jpg\)", text)
    every = [*sheets.sheets(domain.catalogue)]
    every += [f"{one.folder}/{name}" for one in (indoor, pickup) for name in one.names]
    assert sorted(linked) == sorted(every)


@pytest.mark.parametrize("folder", ["", "indoor", "pickup"])
def test_the_sheets_are_the_ones_of_the_page_and_small(sheets, indoor, pickup, domain, folder):
    drawn = sorted((DOCS / "pictures" / folder).glob("*.*"))
    if not drawn:
        pytest.skip("no sheets in this copy")
    others = {"indoor": indoor.names, "pickup": pickup.names}
    known = others.get(folder) or sheets.sheets(domain.catalogue)
    assert {path.stem for path in drawn} <= set(known)
    assert sum(path.stat().st_size for path in drawn) < LIMIT


@pytest.mark.parametrize("deep", [False, True])
def test_a_file_where_the_folder_should_be_is_one_line(main_script, tmp_path, capsys, deep):
    (tmp_path / "taken").write_text("x")
    out = tmp_path / "taken" / "deeper" if deep else tmp_path / "taken"
    assert main_script.main(["--out", str(out), "--only", "cone"]) == 2
    error = capsys.readouterr().err
    assert "--out: no folder" in error
    assert error.count("\n") == 1


def test_a_seed_that_is_none_is_one_line(main_script, tmp_path, capsys):
    assert main_script.main(["--out", str(tmp_path), "--only", "cone", "--seed", "-1"]) == 2
    assert "a seed is" in capsys.readouterr().err


def test_a_sheet_that_cannot_be_written_is_one_line(main_script, indoor, tmp_path, monkeypatch):
    monkeypatch.setattr(type(indoor), "draw", lambda *_: ([Trial(0).picture], ["a"]))
    (tmp_path / "indoor" / "smoke.jpg").mkdir(parents=True)
    assert main_script.main(["--domain", "indoor", "--out", str(tmp_path), "--only", "smoke"]) == 2
