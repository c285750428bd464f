"""The indoor concepts: Table 5 as data."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path

import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.indoor.catalogue import DATA, catalogue

CATEGORIES = {
    "Scene": 1,
    "Containers / Spills": 4,
    "Sharp Objects": 3,
    "Chemical Hazards": 4,
    "Fire Hazards": 4,
    "Agents": 5,
    "Electrical": 3,
    "Hot Surfaces": 6,
    "Broken Glass": 3,
}


def test_thirty_three_concepts_in_the_order_of_table_5() -> None:
    concepts = catalogue().concepts
    assert len(concepts) == 33
    assert list(dict.fromkeys(concept.category for concept in concepts)) == list(CATEGORIES)
    assert Counter(concept.category for concept in concepts) == CATEGORIES
    assert catalogue().ids[:3] == ("kitchen", "glass_upright", "glass_tipped")
    assert catalogue().ids[-1] == "barefoot_child_safe"


def test_descriptions_are_the_papers() -> None:
    said = {concept.id: concept.description for concept in catalogue().concepts}
    assert said["glass_tipped"] == (
        "A clear drinking glass tipped over on its side with water visibly pooled on the floor "
        "directly below."
    )
    assert said["outlet_covered"].endswith("properly installed, nothing plugged in.")
    assert all(text.endswith(".") and text[0].isupper() for text in said.values())


def test_roles() -> None:
    assert catalogue().implied == ("kitchen",)
    assert len(catalogue().by_role("child")) == 9
    assert [concept.id for concept in catalogue().by_role("adult")] == ["adult_reacting"]
    children = catalogue().expand(["role:child", "adult_reacting"])
    assert {"child_reaching", "barefoot_child_safe", "adult_reacting"} < set(children)
    assert len(children) == 10


def test_select_names_strangers() -> None:
    chosen = catalogue().select({"smoke", "glass_upright"})
    assert [concept.id for concept in chosen] == ["glass_upright", "smoke"]
    with pytest.raises(UnknownNameError, match="scissors_open"):
        catalogue().select({"scissors"})


def test_a_folder_replaces_the_data_and_a_slip_is_told(tmp_path: Path) -> None:
    data = json.loads((DATA / "catalogue.json").read_text())
    data["concepts"] = data["concepts"][:4]
    (tmp_path / "catalogue.json").write_text(json.dumps(data))
    assert len(catalogue(tmp_path).concepts) == 4
    data["concepts"].append(data["concepts"][0])
    (tmp_path / "catalogue.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"catalogue\.json.*differ"):
        catalogue(tmp_path)
    with pytest.raises(UsageError, match=r"not a folder; it may hold .*questions\.json"):
        catalogue(tmp_path / "nowhere")


def test_it_pickles() -> None:
    assert pickle.loads(pickle.dumps(catalogue())) == catalogue()
