from __future__ import annotations

import pytest

from vlmfail.core import UnknownNameError
from vlmfail.models.pictures.prompts import picture_prompt, wording


def test_descriptions_are_joined_in_catalogue_order_behind_the_kitchen(catalogue):
    prompt = picture_prompt(frozenset({"toddler", "knife_edge"}), catalogue, "indoor")
    assert prompt.startswith(
        "A modern kitchen with bright lighting. A sharp knife with its blade over the edge. "
        "A toddler in blue pajamas is standing. "
    )
    assert prompt.endswith(wording().style("indoor").style)


def test_a_set_that_names_the_kitchen_says_it_once(catalogue):
    named = picture_prompt(frozenset({"kitchen", "toddler"}), catalogue, "indoor")
    assert named == picture_prompt(frozenset({"toddler"}), catalogue, "indoor")
    assert named.count("kitchen") == 1


def test_a_domain_without_a_style_has_the_general_one(catalogue):
    prompt = picture_prompt(frozenset({"toddler"}), catalogue, "my-own")
    assert prompt.startswith("A toddler in blue pajamas is standing. One realistic photograph.")


def test_an_unknown_concept_is_told(catalogue):
    with pytest.raises(UnknownNameError, match="knife_edge"):
        picture_prompt(frozenset({"knife_edg"}), catalogue, "indoor")


def test_the_packaged_driving_concepts_make_a_prompt():
    from vlmfail.envs.driving.catalogue import catalogue as driving

    prompt = picture_prompt(frozenset({"weather_night", "cyclist"} & set(driving().ids)),
                            driving(), "driving")  # fmt: skip
    assert "A cyclist directly ahead of ego." in prompt
    assert "windscreen" in prompt
