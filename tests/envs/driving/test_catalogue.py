from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from pathlib import Path

import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.driving.catalogue import DATA, catalogue


def test_thirty_concepts_in_eight_categories_in_the_order_of_table_4() -> None:
    concepts = catalogue().concepts
    assert len(concepts) == 30
    categories = list(dict.fromkeys(concept.category for concept in concepts))
    assert categories == [
        "Map",
        "Intersections / Signals",
        "Road obstacles",
        "Pedestrians",
        "Other actors",
        "Roadside props",
        "Modifiers (location / distance)",
        "Weather",
    ]
    counts = Counter(concept.category for concept in concepts)
    assert [counts[category] for category in categories] == [2, 3, 6, 4, 2, 3, 4, 6]
    assert catalogue().ids[:3] == ("town_town01", "town_town02", "intersection_ego")
    assert catalogue().ids[-1] == "weather_cloudy"


def test_ranges_are_the_papers() -> None:
    ranges = catalogue().ranges
    assert (ranges.near, ranges.far, ranges.junction) == ((2, 4), (15, 25), (11, 25))
    assert ranges.of("ahead") == (4, 5)


def test_described_distances_match_the_ranges() -> None:
    ranges = catalogue().ranges
    for concept in catalogue().concepts:
        said = re.search(r"(\d+)–(\d+) m", concept.description)
        if said and concept.distance:
            assert tuple(map(float, said.groups())) == ranges.of(concept.distance), concept.id


def test_select_returns_canonical_order_and_names_strangers() -> None:
    chosen = catalogue().select({"far", "cone", "town_town02"})
    assert [concept.id for concept in chosen] == ["town_town02", "cone", "far"]
    with pytest.raises(UnknownNameError, match="cyclist"):
        catalogue().select({"cyclst"})


def test_a_folder_replaces_the_data_and_a_slip_is_told(tmp_path: Path) -> None:
    data = json.loads((DATA / "catalogue.json").read_text())
    data["ranges"]["near"] = [2.5, 3.5]
    (tmp_path / "catalogue.json").write_text(json.dumps(data))
    assert catalogue(tmp_path).ranges.near == (2.5, 3.5)
    data["ranges"]["near"] = [3.5, 2.5]
    data["colour"] = "red"
    (tmp_path / "catalogue.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"catalogue\.json.*colour|catalogue\.json.*near"):
        catalogue(tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        catalogue(tmp_path / "nowhere")


def test_catalogue_pickles() -> None:
    assert pickle.loads(pickle.dumps(catalogue())) == catalogue()
