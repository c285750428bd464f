"""The weathers: valid ranges, repeatable draws, and clear differences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from vlmfail.core import UnknownNameError
from vlmfail.envs.driving.weather import WEATHERS, atmosphere

IDS = (
    "weather_clear_noon",
    "weather_cloudy",
    "weather_soft_rain",
    "weather_hard_rain",
    "weather_foggy",
    "weather_wet",
)


def draws(weather, count=40):
    return [atmosphere(weather, np.random.default_rng(seed)) for seed in range(count)]


def test_the_six_weathers_of_the_catalogue():
    assert tuple(WEATHERS) == IDS


@pytest.mark.parametrize("weather", [None, *IDS])
def test_valid_ranges(weather):
    for sky in draws(weather):
        assert np.linalg.norm(sky.sun_direction) == pytest.approx(1.0)
        assert sky.sun_direction[2] > 0.1
        for colour in (sky.sun, sky.zenith, sky.horizon, sky.ground):
            assert min(colour) >= 0.0
        assert max(sky.zenith) <= 1.2
        assert max(sky.horizon) <= 1.2
        for share in (sky.clouds, sky.wetness, sky.rain):
            assert 0.0 <= share <= 1.0
        assert 0.0 <= sky.fog < 0.1
        assert 0.7 < sky.exposure < 1.4
        assert 0 <= sky.seed < 2**31


@pytest.mark.parametrize("weather", [None, *IDS])
def test_one_seed_one_sky_and_seeds_differ(weather):
    first, second = (atmosphere(weather, np.random.default_rng(5)) for _ in range(2))
    assert first == second
    assert len({dataclasses.astuple(sky) for sky in draws(weather, 8)}) == 8


def test_no_weather_is_dry_daylight():
    for sky in draws(None):
        assert sky.rain == 0.0
        assert sky.wetness == 0.0
        assert sky.fog < 0.003
        assert max(sky.sun) > 1.0


def test_rain_fog_and_water_only_where_named():
    for name in IDS:
        for sky in draws(name):
            assert (sky.rain > 0.0) == (name in ("weather_soft_rain", "weather_hard_rain"))
            assert (sky.wetness > 0.2) == (
                name in ("weather_soft_rain", "weather_hard_rain", "weather_wet")
            )
            assert (np.exp(-60.0 * sky.fog) < 0.25) == (name == "weather_foggy")


def test_fog_leaves_twenty_metres_pale_yet_visible():
    for sky in draws("weather_foggy"):
        assert 0.5 < np.exp(-20.0 * sky.fog) < 0.65


def test_hard_rain_is_darker_and_denser_than_soft_rain():
    soft, hard = draws("weather_soft_rain"), draws("weather_hard_rain")
    assert max(s.rain for s in soft) < min(h.rain for h in hard)
    assert min(sum(s.horizon) for s in soft) > max(sum(h.horizon) for h in hard)
    assert all(s.sun_direction[2] < 0.35 for s in soft)


def test_unknown_weather_names_the_closest():
    with pytest.raises(UnknownNameError, match="weather_foggy"):
        atmosphere("weather_fog", np.random.default_rng(0))


def test_noon_stands_high_in_a_clear_sky_and_unnamed_daylight_has_clouds():
    noon, fair = draws("weather_clear_noon"), draws(None)
    assert all(sky.sun_direction[2] > 0.8 and sky.clouds == 0.0 for sky in noon)
    assert all(sky.clouds > 0.2 for sky in fair)
    assert max(sky.sun_direction[2] for sky in fair) < min(sky.sun_direction[2] for sky in noon)


@pytest.mark.parametrize("weather", ["weather_cloudy", "weather_hard_rain", "weather_foggy"])
def test_a_closed_sky_throws_no_shadows(weather):
    assert all(max(sky.sun) == 0.0 for sky in draws(weather))


def test_a_wet_road_lies_under_a_dry_sunny_sky():
    for sky in draws("weather_wet"):
        assert sky.rain == 0.0
        assert max(sky.sun) > 1.0
        assert sky.wetness > 0.8
