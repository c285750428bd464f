"""The contact sheets of the driving domain: a thing near, far and on the sidewalk; a weather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import cycle, islice

from vlmfail.core import Picture, UsageError
from vlmfail.envs.driving.catalogue import Catalogue, Concept
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.trials import prepare_trial

DAYLIGHT = ""
ROWS = (
    ((DAYLIGHT, "weather_clear_noon", "weather_wet", "weather_soft_rain"), ("near", "")),
    ((DAYLIGHT, "weather_cloudy", "weather_hard_rain", "weather_foggy"), ("far",)),
    ((DAYLIGHT, "weather_clear_noon", "weather_cloudy", "weather_wet"), ("on_sidewalk",)),
)
"""For each row of a movable entity's sheet: the weathers, and the modifiers by turns."""
IN_WEATHER = (
    (),
    (),
    ("intersection_ego",),
    ("light_red",),
    ("pedestrian",),
    ("cyclist", "far"),
    ("emergency_vehicle", "far"),
    ("bus_stop", "on_sidewalk"),
)
"""What stands on the road in the pictures of a weather."""

Tile = tuple[str, ...]


def sheets(catalogue: Catalogue) -> dict[str, list[Tile]]:
    """Return the name of each sheet and the sets that it shows."""
    towns = [concept.id for concept in catalogue.by_role("town")]
    weathers = [concept.id for concept in catalogue.by_role("weather")]
    out: dict[str, list[Tile]] = {}
    for concept in catalogue.by_role("intersection", "light", "obstacle", "movable"):
        name = concept.kind if concept.role == "obstacle" and concept.kind else concept.id
        out.setdefault(name, []).extend(_of_thing(concept, towns))
    for sky in weathers:
        places = cycle(towns)
        out[sky] = [(*shown, next(places), sky) for shown in IN_WEATHER]
    out["towns"] = [
        (*junction, place, *filter(None, (sky,)))
        for place in towns
        for junction, (skies, _) in zip(((), ("intersection_ego",)), ROWS, strict=False)
        for sky in skies
    ]
    return out


def _of_thing(concept: Concept, towns: Sequence[str]) -> Iterator[Tile]:
    places = cycle(towns)
    if concept.role == "movable":
        rows = ROWS
    elif concept.role == "obstacle":
        rows = ((ROWS[1 if concept.distance == "far" else 0][0], ("",)),)
    else:
        rows = tuple((skies, ("",)) for skies, _ in ROWS[:2])
    for skies, modifiers in rows:
        for sky, modifier in zip(skies, islice(cycle(modifiers), len(skies)), strict=True):
            yield tuple(name for name in (concept.id, modifier, next(places), sky) if name)


class DrivingSheets:
    """Draws the sheets of the driving domain."""

    folder = ""
    """Below --out."""

    def __init__(self) -> None:
        self.domain = DrivingDomain()
        self._sheets = sheets(self.domain.catalogue)
        self.names = tuple(self._sheets)

    @cached_property
    def _renderer(self):
        return self.domain.make_renderer("embree")

    def draw(self, name: str, seed: int) -> tuple[list[Picture], list[str]]:
        """Return the pictures and captions of a sheet."""
        pictures, captions = [], []
        taken: dict[str, int] = {}
        for tile in self._sheets[name]:
            candidate = frozenset(tile)
            key = self.domain.space.key(candidate)
            trial = prepare_trial(self.domain, self._renderer, candidate, taken.get(key, 0), seed)
            taken[key] = trial.index + 1
            if trial.picture is None:
                raise UsageError(f"{key}: {trial.note}; another --seed may help")
            pictures.append(trial.picture)
            captions.append(" + ".join(self.domain.space.to_json(candidate)))
        return pictures, captions
