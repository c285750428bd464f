"""One trial, from scene to record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from vlmfail.core import Rendering, SceneError
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.trials import ask_model, prepare_trial
from vlmfail.testing.toy import ToyDomain, ToyModel, ToyRenderer, ToyScene

SEEN = {"dog": 30, "cat": 0, "tiny": 0, "red": 5}


@dataclass
class SaysHowMuch:
    """Paints the toy scene and claims what is seen of it."""

    visible: dict[str, int] | None
    extent: dict[str, int] | None
    name: str = "flat"

    def render(self, scene: Any) -> Rendering:
        return replace(ToyRenderer().render(scene), visible=self.visible, extent=self.extent)


@pytest.mark.parametrize(
    ("visible", "extent", "share"),
    [
        (
            SEEN,
            {"dog": 90, "cat": 40, "tiny": 0, "red": 5},
            {"dog": 0.333, "cat": 0.0, "tiny": 0.0, "red": 1.0},
        ),
        (SEEN, None, None),
        (None, {"dog": 90}, None),
        ({"dog": 1}, {}, {"dog": 0.0}),
    ],
)
def test_the_visible_share_is_recorded(visible, extent, share):
    renderer = SaysHowMuch(visible, extent)
    prepared = prepare_trial(ToyDomain(), renderer, frozenset({"dog"}), 0, 0)
    assert prepared.scene["visible_share"] == share
    assert prepared.scene["visible_pixels"] == visible


def test_each_named_object_of_a_driving_scene_has_a_share():
    domain = DrivingDomain()
    candidate = domain.space.parse("obstruction_near debris_far light_red")
    prepared = prepare_trial(domain, domain.make_renderer("embree"), candidate, 0, 0)
    share = prepared.scene["visible_share"]
    assert set(share) == candidate
    assert share["obstruction_near"] > 0.9
    assert all(0.0 <= value <= 1.0 for value in share.values())


class Nowhere(ToyDomain):
    """A toy world in which nothing ever finds a place."""

    def sample_scene(self, candidate: Any, rng: Any) -> Any:
        raise SceneError("the dog found no place")


class Told(Nowhere):
    """The same, which knows its answer all the same."""

    def describe_scene(self, candidate: Any) -> Any:
        return Known(tuple(sorted(candidate)), 0, "dog" in candidate)

    def truth(self, scene: Any) -> Any:
        if not scene.yes:
            raise SceneError("no rule fits")
        return super().truth(scene)


class Known(ToyScene):
    def record(self) -> dict[str, Any]:
        return {"match": list(self.concepts)}


def test_an_invalid_scene_keeps_what_is_known_without_it():
    trial = prepare_trial(Nowhere(), ToyRenderer(), frozenset({"dog"}), 0, 0)
    assert trial.scene == {"attempts": Nowhere.attempts}
    known = prepare_trial(Told(), ToyRenderer(), frozenset({"dog"}), 0, 0)
    assert known.note == "the dog found no place"
    reason = known.scene["truth_reason"]
    assert reason
    assert known.scene == {"match": ["dog"], "truth_reason": reason, "attempts": Told.attempts}
    record = ask_model(Told(), ToyModel(), known, 0)
    assert (record.trial.outcome, record.scene) == ("invalid_scene", known.scene)


def test_a_set_that_no_rule_fits_is_an_invalid_scene_too():
    trial = prepare_trial(Told(), ToyRenderer(), frozenset({"cat"}), 0, 0)
    assert trial.scene == {"match": ["cat"], "attempts": Told.attempts}
