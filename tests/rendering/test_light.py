from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vlmfail.rendering import noise
from vlmfail.rendering.kernels.noise import bilinear, nearest
from vlmfail.rendering.kernels.sky import sky_radiance
from vlmfail.rendering.rain import streaks
from vlmfail.rendering.sky import Light
from vlmfail.rendering.tonemap import display, srgb_to_linear
from vlmfail.rendering.world import Atmosphere

from .worlds import CLEAR, FOG, OVERCAST


def _towards(*directions: tuple[float, float, float]) -> np.ndarray:
    rays = np.array(directions, dtype=np.float64)
    return rays / np.linalg.norm(rays, axis=1, keepdims=True)


def _sky(atmosphere: Atmosphere, rays: np.ndarray) -> np.ndarray:
    """Return the sky's radiance, `n x 3`."""
    light, cloud = Light.of(atmosphere, 0.002), noise.cloud_noise()
    return np.array([sky_radiance(light, cloud, *ray) for ray in rays])


def test_tone_curve_rises_from_black_to_white():
    values = display(np.linspace(0, 12, 500, dtype=np.float32)[:, None])[:, 0]
    assert values[0] == 0
    assert values[-1] > 254
    assert (np.diff(values) >= 0).all()
    assert values.dtype == np.float32


def test_srgb_ends_and_middle():
    np.testing.assert_allclose(srgb_to_linear(np.array([0.0, 0.5, 1.0])), [0, 0.2140, 1], atol=1e-4)


def test_noise_is_uniform_and_wraps():
    texture = noise.cloud_noise()
    assert (texture < 0.25).mean() == pytest.approx(0.25, abs=0.001)
    for u, v in ((3.25, 7.75), (100.5, 9.0), (-0.5, 511.75)):
        here = bilinear(texture, u, v)
        assert bilinear(texture, u + noise.SIZE, v - noise.SIZE) == pytest.approx(here)
        column, row = int(np.floor(u)), int(np.floor(v))
        square = texture.reshape(noise.SIZE, noise.SIZE)
        around = square.take([row, row + 1], 0, mode="wrap").take(
            [column, column + 1], 1, mode="wrap"
        )
        assert around.min() <= here <= around.max()
    assert nearest(texture, 3.25, 7.75) == texture[7 * noise.SIZE + 3]


def test_zenith_horizon_and_sun_of_a_clear_sky():
    atmosphere = replace(CLEAR, clouds=0.0, sun_direction=(0.0, 0.6, 0.8))
    up, side, sun = _sky(atmosphere, _towards((0, -0.2, 1), (0, -1, 0), (0, 0.6, 0.8)))
    np.testing.assert_allclose(up, atmosphere.zenith, atol=0.08)
    np.testing.assert_allclose(side, atmosphere.horizon, atol=0.02)
    assert sun.min() > 3


def test_cloud_cover_and_fog_whiten_the_sky():
    rays = _towards(*((1.0, y, 0.35) for y in np.linspace(-1, 1, 300)))

    def blueness(atmosphere: Atmosphere) -> float:
        colours = _sky(atmosphere, rays)
        return float((colours[:, 2] - colours[:, 0]).mean())

    clear, half, full = (blueness(replace(CLEAR, clouds=c)) for c in (0.0, 0.5, 1.0))
    assert clear > half > full
    foggy = _sky(FOG, _towards((1.0, 0.0, 0.1)))[0]
    np.testing.assert_allclose(foggy, FOG.horizon, atol=0.02)


def test_clouds_move_with_the_seed():
    rays = _towards(*((1.0, y, 0.35) for y in np.linspace(-1, 1, 50)))
    first, second = (_sky(replace(OVERCAST, seed=seed), rays) for seed in (1, 2))
    assert np.abs(first - second).max() > 0.02


def test_rain_grows_with_its_amount_and_repeats_by_seed():
    light, heavy = streaks(128, 96, 0.2, 4), streaks(128, 96, 1.0, 4)
    assert light.shape == (96, 128)
    assert 0 < light.mean() < 0.5 * heavy.mean()
    assert heavy.max() <= 0.75
    streaks.cache_clear()
    np.testing.assert_array_equal(streaks(128, 96, 1.0, 4), heavy)
    assert (streaks(128, 96, 1.0, 5) != heavy).any()
