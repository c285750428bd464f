"""Weathers: the light, sky, fog, rain and wetness of a driving scene.

The six weathers are Revelio's (Table 4); how each looks is ours. Every draw comes from the
caller's generator, so one seed gives one sky.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...core import UnknownNameError
from ...rendering.world import Atmosphere

Range = tuple[float, float]
RGB = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Weather:
    """Ranges from which an `Atmosphere` is drawn uniformly.

    Attributes:
        azimuth: Of the sun, degrees counter-clockwise from the driving direction; the sign is
            drawn too, so that the sun stands left or right of the street.
        elevation: Of the sun, degrees.
        sun: Sun radiance, linear RGB; zero under a closed sky.
        zenith: Sky overhead, linear RGB.
        horizon: Sky at the horizon and colour of fog, linear RGB.
        ground: Light bounced up, linear RGB.
        clouds: Share of sky covered.
        fog: Extinction, 1/m.
        wetness: 0 dry to 1 puddles.
        rain: 0 none to 1 heavy.
        exposure: Factor before the tone curve.
    """

    azimuth: Range
    elevation: Range
    sun: RGB
    zenith: RGB
    horizon: RGB
    ground: RGB
    clouds: Range
    fog: Range
    wetness: Range
    rain: Range
    exposure: Range

    def draw(self, rng: np.random.Generator) -> Atmosphere:
        """Return one sky of this weather."""
        side = 1.0 if rng.random() < 0.5 else -1.0
        azimuth = np.radians(side * rng.uniform(*self.azimuth))
        elevation = np.radians(rng.uniform(*self.elevation))
        return Atmosphere(
            sun_direction=(
                float(np.cos(elevation) * np.cos(azimuth)),
                float(np.cos(elevation) * np.sin(azimuth)),
                float(np.sin(elevation)),
            ),
            sun=self.sun,
            zenith=self.zenith,
            horizon=self.horizon,
            ground=self.ground,
            clouds=float(rng.uniform(*self.clouds)),
            fog=float(rng.uniform(*self.fog)),
            wetness=float(rng.uniform(*self.wetness)),
            rain=float(rng.uniform(*self.rain)),
            exposure=float(rng.uniform(*self.exposure)),
            seed=int(rng.integers(2**31)),
        )


WEATHERS: Mapping[str, Weather] = MappingProxyType(
    {
        "weather_clear_noon": Weather(
            azimuth=(40.0, 120.0),
            elevation=(56.0, 68.0),
            sun=(3.3, 3.15, 2.85),
            zenith=(0.11, 0.30, 0.78),
            horizon=(0.56, 0.75, 0.97),
            ground=(0.34, 0.32, 0.28),
            clouds=(0.0, 0.0),
            fog=(0.0004, 0.0008),
            wetness=(0.0, 0.0),
            rain=(0.0, 0.0),
            exposure=(0.98, 1.08),
        ),
        "weather_cloudy": Weather(
            azimuth=(20.0, 160.0),
            elevation=(40.0, 60.0),
            sun=(0.0, 0.0, 0.0),
            zenith=(0.58, 0.61, 0.66),
            horizon=(0.78, 0.80, 0.83),
            ground=(0.28, 0.28, 0.27),
            clouds=(0.66, 0.82),
            fog=(0.0012, 0.0024),
            wetness=(0.0, 0.0),
            rain=(0.0, 0.0),
            exposure=(1.12, 1.24),
        ),
        "weather_soft_rain": Weather(
            azimuth=(15.0, 45.0),
            elevation=(9.0, 15.0),
            sun=(2.5, 1.75, 1.0),
            zenith=(0.48, 0.55, 0.66),
            horizon=(0.97, 0.90, 0.79),
            ground=(0.27, 0.25, 0.21),
            clouds=(0.50, 0.68),
            fog=(0.0, 0.001),
            wetness=(0.30, 0.45),
            rain=(0.22, 0.38),
            exposure=(1.02, 1.14),
        ),
        "weather_hard_rain": Weather(
            azimuth=(20.0, 160.0),
            elevation=(50.0, 65.0),
            sun=(0.0, 0.0, 0.0),
            zenith=(0.21, 0.24, 0.28),
            horizon=(0.41, 0.45, 0.49),
            ground=(0.19, 0.19, 0.19),
            clouds=(0.66, 0.82),
            fog=(0.0005, 0.002),
            wetness=(0.85, 1.0),
            rain=(0.85, 1.0),
            exposure=(1.0, 1.12),
        ),
        "weather_foggy": Weather(
            azimuth=(20.0, 160.0),
            elevation=(50.0, 65.0),
            sun=(0.0, 0.0, 0.0),
            zenith=(0.66, 0.68, 0.70),
            horizon=(0.72, 0.74, 0.76),
            ground=(0.28, 0.28, 0.28),
            clouds=(1.0, 1.0),
            fog=(0.024, 0.032),
            wetness=(0.0, 0.1),
            rain=(0.0, 0.0),
            exposure=(0.92, 1.04),
        ),
        "weather_wet": Weather(
            azimuth=(25.0, 60.0),
            elevation=(48.0, 62.0),
            sun=(2.6, 2.45, 2.15),
            zenith=(0.24, 0.44, 0.82),
            horizon=(0.84, 0.89, 0.95),
            ground=(0.26, 0.25, 0.23),
            clouds=(0.40, 0.55),
            fog=(0.0003, 0.0007),
            wetness=(0.85, 1.0),
            rain=(0.0, 0.0),
            exposure=(1.0, 1.08),
        ),
    }
)
"""Weather concept id to its ranges."""

FAIR = Weather(
    azimuth=(50.0, 160.0),
    elevation=(36.0, 55.0),
    sun=(2.6, 2.42, 2.1),
    zenith=(0.28, 0.46, 0.80),
    horizon=(0.76, 0.84, 0.94),
    ground=(0.30, 0.29, 0.26),
    clouds=(0.28, 0.52),
    fog=(0.0010, 0.0018),
    wetness=(0.0, 0.0),
    rain=(0.0, 0.0),
    exposure=(1.02, 1.14),
)
"""The sky of a scene that names no weather: fair or partly cloudy, dry."""


def atmosphere(weather: str | None, rng: np.random.Generator) -> Atmosphere:
    """Draw the sky of a scene.

    Args:
        weather: A key of `WEATHERS`, or None for mild daylight.
        rng: Source of the jitter.

    Raises:
        UnknownNameError: The weather is unknown.
    """
    if weather is None:
        return FAIR.draw(rng)
    if weather not in WEATHERS:
        raise UnknownNameError("weather", weather, WEATHERS)
    return WEATHERS[weather].draw(rng)
