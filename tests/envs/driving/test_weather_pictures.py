"""What a stranger would go by: in the picture each weather has marks that the others lack."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.driving.weather import WEATHERS, atmosphere
from vlmfail.rendering.embree import EmbreeRenderer

SKY = np.s_[4:60, 200:312]
ROAD = np.s_[250:370, 150:330]
DISTANCE = np.s_[150:170, 215:300]


@pytest.fixture(scope="module")
def pictures():
    """The same street under each sky, and without its water."""
    domain, renderer = DrivingDomain(), EmbreeRenderer()
    scene = domain.sample_scene(domain.space.parse("town_town01"), np.random.default_rng(4))
    skies = {name: atmosphere(name, np.random.default_rng(2)) for name in (None, *WEATHERS)}
    for name in ("weather_soft_rain", "weather_hard_rain", "weather_wet"):
        skies[f"{name} dry"] = dataclasses.replace(skies[name], wetness=0.0)
    return {
        name: renderer.render(dataclasses.replace(scene, atmosphere=sky)).picture.pixels.astype(
            np.float32
        )
        for name, sky in skies.items()
    }


def blueness(picture):
    return float((picture[SKY][..., 2] - picture[SKY][..., 0]).mean())


def test_noon_is_bluest_and_the_closed_skies_are_grey(pictures):
    noon, fair = blueness(pictures["weather_clear_noon"]), blueness(pictures[None])
    assert noon > fair + 15
    assert fair > 20
    assert blueness(pictures["weather_wet"]) > 20
    for name in ("weather_cloudy", "weather_hard_rain", "weather_foggy"):
        assert abs(blueness(pictures[name])) < 16


def test_hard_rain_comes_from_a_dark_sky(pictures):
    dark = pictures["weather_hard_rain"][SKY].mean()
    assert dark < 165
    for name in WEATHERS:
        if name not in ("weather_hard_rain", "weather_clear_noon"):
            assert pictures[name][SKY].mean() > dark + 30


def test_only_fog_swallows_the_distance(pictures):
    contrast = {name: pictures[name][DISTANCE].mean(axis=2).std() for name in (None, *WEATHERS)}
    fog = contrast.pop("weather_foggy")
    assert fog < 6
    assert min(contrast.values()) > 1.3 * fog
    del contrast["weather_hard_rain"]
    assert min(contrast.values()) > 15


@pytest.mark.parametrize("name", ["weather_soft_rain", "weather_hard_rain", "weather_wet"])
def test_water_shows_on_the_road(pictures, name):
    change = np.abs(pictures[name] - pictures[f"{name} dry"])[ROAD].mean()
    assert change > 5


def test_hard_rain_has_many_more_streaks_than_soft_rain(pictures):
    def streaked(name):
        sky = pictures[name][SKY].mean(axis=2)
        # A streak is brighter than what lies two columns beside it; a cloud is not.
        return float((sky[:, 2:-2] - 0.5 * (sky[:, :-4] + sky[:, 4:]) > 4).mean())

    soft, hard = streaked("weather_soft_rain"), streaked("weather_hard_rain")
    assert streaked("weather_cloudy") == 0.0
    assert soft > 0.001
    assert hard > 2 * soft


def test_the_road_of_dry_daylight_is_neutral_grey(pictures):
    for name in ("weather_clear_noon", "weather_cloudy"):
        road = pictures[name][ROAD].mean(axis=(0, 1))
        assert np.ptp(road) < 12
        assert road.mean() > 65
