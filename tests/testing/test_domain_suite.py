"""The domain suite passes a sound domain and finds what is wrong with a broken one."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vlmfail.core import Picture
from vlmfail.testing.domain_suite import DomainContractSuite
from vlmfail.testing.toy import ToyDomain, ToyRenderer, ToyScene


class TestToyDomain(DomainContractSuite):
    renderer = "flat"

    def make_domain(self) -> ToyDomain:
        return ToyDomain()


class Impossible(ToyDomain):
    def sample_scene(self, candidate: Any, rng: np.random.Generator) -> ToyScene:
        raise ValueError("not a scene error")


class OwnDice(ToyDomain):
    def sample_scene(self, candidate: Any, rng: np.random.Generator) -> ToyScene:
        return replace(super().sample_scene(candidate, rng), shade=random.randrange(256))


class NumpyRecord(ToyDomain):
    def sample_scene(self, candidate: Any, rng: np.random.Generator) -> Any:
        scene = super().sample_scene(candidate, rng)

        class Scene(ToyScene):
            def record(self) -> Any:
                return {"shade": np.float32(self.shade)}

        return Scene(scene.concepts, scene.shade, scene.yes)


class OtherOptions(ToyDomain):
    def truth(self, scene: ToyScene) -> Any:
        return replace(super().truth(scene), accepted=frozenset({"maybe"}))


class NoDirection(ToyDomain):
    def direction(self, truth: Any, answer: str) -> str | None:
        return None


class Heavy(ToyDomain):
    def __init__(self) -> None:
        super().__init__()
        self.kept = bytes(200_000)


class Drifting(ToyDomain):
    def make_renderer(self, name: str) -> Any:
        class Renderer(ToyRenderer):
            shade = 0

            def render(self, scene: ToyScene) -> Any:
                type(self).shade += 1
                picture = Picture.from_pixels(np.full((6, 8, 3), self.shade, np.uint8))
                return replace(super().render(scene), picture=picture)

        return Renderer()


class Undecided(ToyDomain):
    def truth(self, scene: ToyScene) -> Any:
        return replace(super().truth(scene), deciding=("ghost",))


@pytest.mark.parametrize(
    ("broken", "test", "error"),
    [
        (Impossible, "test_scenes_follow_the_generator", ValueError),
        (OwnDice, "test_scenes_follow_the_generator", AssertionError),
        (NumpyRecord, "test_records_are_strict_json", TypeError),
        (OtherOptions, "test_the_right_answer_is_one_of_the_options", AssertionError),
        (NoDirection, "test_wrong_answers_have_a_direction_and_right_ones_none", AssertionError),
        (Heavy, "test_it_is_light_and_its_copy_does_the_same", AssertionError),
        (Drifting, "test_the_same_scene_gives_the_same_picture", AssertionError),
        (Drifting, "test_an_unknown_renderer_is_told", AssertionError),
        (Undecided, "test_what_is_measured_in_a_picture_fits", AssertionError),
    ],
)
def test_a_broken_domain_is_found(broken, test, error):
    class Suite(DomainContractSuite):
        renderer = "flat"

        def make_domain(self):
            return broken()

    with pytest.raises(error):
        getattr(Suite(), test)()
