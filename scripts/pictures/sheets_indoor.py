"""The contact sheets of the indoor domain: a concept alone and beside others; the kitchens."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from partners import Partners
from shown_trials import shown_trial

from vlmfail.core import Picture, UsageError
from vlmfail.envs.indoor.domain import IndoorDomain, pixels_needed
from vlmfail.envs.indoor.layout import CABINET_FRONT, RUNS, layout
from vlmfail.envs.indoor.light import light
from vlmfail.envs.indoor.room import PALETTES
from vlmfail.envs.indoor.scene import IndoorScene, Placed
from vlmfail.rendering.world import Camera

TILES, ALONE = 12, 4
"""Pictures of a sheet, and those of them that show a concept with what it needs alone."""

SPARE = 4
"""Further sets of a sheet, for those whose things find no place."""

MOST_BESIDE = 3
LAYOUTS, KITCHENS = "layouts", "kitchens"

WIDE = Camera(x=-4.15, y=0.0, z=1.55, pitch=-0.08, hfov=1.18)
"""Sees the whole run of units."""

Set = frozenset[str]


class IndoorSheets:
    """Draws the sheets of the indoor domain."""

    folder = "indoor"
    """Below --out."""

    def __init__(self) -> None:
        self.domain = IndoorDomain()
        implied = self.domain.catalogue.implied
        self.concepts = tuple(n for n in self.domain.catalogue.ids if n not in implied)
        self.names = (*self.concepts, LAYOUTS, KITCHENS)
        self._partners = Partners(self.domain.space)

    @cached_property
    def _renderer(self):
        return self.domain.make_renderer("embree")

    def sets(self, concept: str, seed: int) -> list[Set]:
        """Return the sets of a concept's sheet: `ALONE` alone, the others beside 1 to 3 more."""
        rng = np.random.default_rng([seed, self.concepts.index(concept)])
        least = self._partners.least[concept]
        out = [least[k % len(least)] for k in range(ALONE)]
        for k in range(TILES - ALONE + SPARE):
            out.append(self._partners.beside(least[k % len(least)], 1 + k % MOST_BESIDE, rng))
        return out

    def draw(self, name: str, seed: int) -> tuple[list[Picture], list[str]]:
        """Return the pictures and captions of a sheet."""
        if name == LAYOUTS:
            return self._layouts(seed)
        if name == KITCHENS:
            return self._kitchens(seed)
        pictures: list[Picture] = []
        captions: list[str] = []
        taken: dict[str, int] = {}
        problem = ""
        for candidate in self.sets(name, seed):
            if len(pictures) == TILES:
                break
            names = self.domain.space.to_json(candidate)
            try:
                trial = shown_trial(
                    self.domain,
                    self._renderer,
                    [names],
                    name,
                    pixels_needed(name),
                    seed,
                    taken,
                    tries=4,
                )
            except UsageError as error:
                problem = str(error)
                continue
            assert trial.picture is not None
            pictures.append(trial.picture)
            captions.append(f"{' + '.join(names)} [{trial.index}]")
        if len(pictures) < TILES:
            raise UsageError(f"{name}: {problem}; another --seed may help")
        return pictures, captions

    def _layouts(self, seed: int) -> tuple[list[Picture], list[str]]:
        """Return every plan, and every palette twice, seen from one place without a thing."""
        pictures, captions = [], []
        plans = [(number, mirrored) for number in range(len(RUNS)) for mirrored in (False, True)]
        for k in range(TILES):
            number, mirrored = plans[k % len(plans)]
            palette = k % len(PALETTES)
            plan = layout(number, mirrored)
            rng = np.random.default_rng([seed, k])
            doors = Placed(
                "room", "sink_doors_closed", palette, CABINET_FRONT, plan.of("sink")[0].middle
            )
            scene = IndoorScene((), None, plan, palette, WIDE, light(plan, rng), (doors,))
            pictures.append(self._renderer.render(scene).picture)
            captions.append(f"layout {plan.key}, palette {palette}")
        return pictures, captions

    def _kitchens(self, seed: int) -> tuple[list[Picture], list[str]]:
        """Return kitchens without a named thing, sampled as for training."""
        pictures, captions = [], []
        for k in range(TILES):
            scene = self.domain.sample_scene(frozenset(), np.random.default_rng([seed, k]))
            pictures.append(self._renderer.render(scene).picture)
            captions.append(f"kitchen: layout {scene.layout.key}, palette {scene.palette}")
        return pictures, captions
