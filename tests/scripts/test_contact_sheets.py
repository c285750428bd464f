from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import Image

from vlmfail.envs.driving.domain import DrivingDomain

DOCS = Path(__file__).parents[2] / "docs"
LIMIT = 12e6  # bytes that the sheets may add to a clone


@pytest.fixture
def sheets(script):
    return script("contact_sheets")


@pytest.fixture(scope="module")
def domain():
    return DrivingDomain()


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


def test_a_sheet_is_written_as_jpeg_of_its_tiles(sheets, tmp_path, monkeypatch, capsys):
    tiles = [("cone", "near"), ("cone", "far", "weather_wet")]
    monkeypatch.setattr(sheets, "sheets", lambda _: {"cone": tiles, "other": []})
    assert sheets.main(["--out", str(tmp_path), "--only", "cone"]) == 0
    assert "cone.jpg" in capsys.readouterr().out
    (path,) = tmp_path.iterdir()
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        assert image.format == "JPEG"
        assert image.width == 2 * (sheets.TILE_WIDTH + 8) + 8


def test_an_unknown_sheet_is_one_line(sheets, tmp_path, capsys):
    assert sheets.main(["--out", str(tmp_path / "none"), "--only", "unicorn"]) == 2
    error = capsys.readouterr().err
    assert "there is no unicorn; there are: intersection_ego" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_the_page_shows_every_sheet(sheets, domain):
    text = (DOCS / "pictures.md").read_text(encoding="utf-8")
    linked = re.findall(r"\(pictures/([\w-]+)\.jpg\)", text)
    assert sorted(linked) == sorted(sheets.sheets(domain.catalogue))


def test_the_sheets_are_the_ones_of_the_page_and_small(sheets, domain):
    drawn = sorted(path for path in (DOCS / "pictures").glob("*"))
    if not drawn:
        pytest.skip("no sheets in this copy")
    assert {path.stem for path in drawn} <= set(sheets.sheets(domain.catalogue))
    assert sum(path.stat().st_size for path in drawn) < LIMIT
