"""The driving world: concept set → scene, question and right answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...core import Question, Renderer, Rendering, Truth, UnknownNameError
from ..concept_sets import ConceptSetSpace
from ..data_files import data_folder, data_identity
from ..generated import generated_renderer, is_generated
from ..recognition import FILE, RecognitionSheet, RecognitionStatements, switch
from . import assets, town, weather
from .catalogue import Catalogue, Concept, catalogue, load
from .placement import Order, Placer, orders, sidewalk_openings
from .prompt import prompt
from .rules import MAX_SET_SIZE, rules
from .scene import (
    CAMERA_BEHIND_BUMPER,
    CAMERA_FIELD_OF_VIEW,
    CAMERA_HEIGHT,
    EGO_WIDTH,
    SIGNAL_SETBACK,
    SIGNAL_Y,
    DrivingScene,
    Signal,
)
from .sight import Eye
from .truth import direction, stopping_distance, truth

EGO_JITTER = 0.25
"""Lateral offset of the ego from the lane's centre, uniform within plus or minus, m. Ours."""

CAMERA_JITTER = math.radians(1.0)
"""Yaw of the camera, uniform within plus or minus. Ours."""

FRAME = CAMERA_FIELD_OF_VIEW / 2.0 - math.radians(0.5)
"""Half of the picture's width, less a rim that shows nothing well, radians."""

CONTACT_MARGIN = 0.1
"""Near things are touched at least this much before half braking ends, m: truth does not hang on
a centimetre. Ours.
"""

OBJECT_PIXELS = 25
"""Visible pixels that a deciding object needs. Ours: a traffic cone 25 m away in clear weather has
30; with fewer, people no longer see that something is there.
"""

LAMP_PIXELS = 12
"""Visible pixels that a deciding lamp needs. Ours: a disc 4 pixels wide, whose colour people still
see; a lamp 25 m away has about 40.
"""

RENDERERS = ("embree",)


def statements(catalogue: Catalogue, folder: Path | None) -> RecognitionStatements:
    """Return the recognition statements of `folder`, or the packaged ones."""
    sheet = load(RecognitionSheet, FILE, folder)
    ranges = catalogue.ranges
    bounds = {c.id: ranges.of(c.distance) for c in catalogue.concepts if c.distance}
    return RecognitionStatements(sheet, catalogue, bounds)


class DrivingDomain:
    """Revelio's driving domain (§4, Table 4, App. B.1, C.1); implements `core.Domain`.

    Args:
        data: Folder with any of ``catalogue.json``, ``rules.json``, ``prompt.json`` and
            ``recognition.json`` that replace the packaged ones.
        max_size: Largest concept set.
        recognition: Ask true/false statements about the scene's concepts before the question.
    """

    name = "driving"
    attempts = 8

    def __init__(
        self,
        data: str | Path | None = None,
        max_size: int = MAX_SET_SIZE,
        recognition: bool = False,
    ) -> None:
        folder = data_folder(data)
        self.catalogue = catalogue(folder)
        self.rules = rules(folder)
        self.prompt = prompt(folder)
        self.space: ConceptSetSpace = self.rules.space(self.catalogue, max_size)
        self._question = self.prompt.question()
        self.recognition = statements(self.catalogue, folder) if switch(recognition) else None

    def identity(self) -> dict[str, str]:
        """Return the versions of the domain's data and a digest of it, for a run's record."""
        parts: dict[str, Any] = {
            "catalogue": self.catalogue,
            "rules": self.rules,
            "prompt": self.prompt,
        }
        if self.recognition is not None:
            parts["recognition"] = self.recognition.sheet
        return data_identity(parts)

    def sample_scene(self, candidate: frozenset[str], rng: np.random.Generator) -> DrivingScene:
        """Sample a scene of a concept set.

        Sets that break a rule are sampled too, as far as they mean something: no valid set shows
        a plain road (rule D4), yet a model must be trained and tested on plain roads.

        Raises:
            SceneError: The objects cannot be placed without overlap.
            UnknownNameError: For an id outside the catalogue.
        """
        chosen = self.catalogue.select(candidate)
        place = self._town(chosen, rng)
        backdrop = int(rng.integers(town.BACKDROPS))
        sky = next((concept.id for concept in chosen if concept.role == "weather"), None)
        atmosphere = weather.atmosphere(sky, rng)
        ego_y = EGO_JITTER * (2.0 * rng.random() - 1.0)
        camera_yaw = CAMERA_JITTER * (2.0 * rng.random() - 1.0)
        wanted = orders(chosen)
        gap = self._junction(chosen, wanted, rng)
        ego_x = town.backdrop(place, backdrop).ego_x(gap, rng)
        signal = self._signal(chosen, gap, rng)
        placer = Placer(
            self.catalogue.ranges,
            eye=Eye(-CAMERA_BEHIND_BUMPER, ego_y, CAMERA_HEIGHT, camera_yaw, FRAME),
            corridor=(ego_y - EGO_WIDTH / 2, ego_y + EGO_WIDTH / 2),
            contact_limit=stopping_distance("slow_down") - CONTACT_MARGIN,
            fixed=() if signal is None else (signal.mast,),
            lamps=() if signal is None else signal.heads,
            openings=sidewalk_openings(() if gap is None else (gap,)),
        )
        return DrivingScene(
            town=place,
            backdrop=backdrop,
            ego_x=ego_x,
            ego_y=ego_y,
            camera_yaw=camera_yaw,
            weather=sky,
            atmosphere=atmosphere,
            objects=placer.place(wanted, rng) if wanted else (),
            signal=signal,
            junction_gap=gap,
        )

    @staticmethod
    def _town(chosen: tuple[Concept, ...], rng: np.random.Generator) -> str:
        drawn = town.TOWNS[int(rng.integers(len(town.TOWNS)))]
        named = next((concept.id for concept in chosen if concept.role == "town"), None)
        return drawn if named is None else named.removeprefix("town_")

    def _junction(
        self, chosen: tuple[Concept, ...], wanted: list[Order], rng: np.random.Generator
    ) -> float | None:
        """Draw the gap to the stop line; leaves sidewalk at the far range for what goes there."""
        if not any(concept.role in ("light", "intersection") for concept in chosen):
            return None
        ranges = self.catalogue.ranges
        low, high = ranges.junction
        gap = low + (high - low) * rng.random()
        if not any(order.on_sidewalk and order.distance == "far" for order in wanted):
            return gap
        for _ in range(50):
            (start, end), *_ = sidewalk_openings((gap,))
            if start >= ranges.far[0] + 3.0 or end <= ranges.far[1] - 1.0:
                return gap
            gap = low + (high - low) * rng.random()
        return gap

    def _signal(
        self, chosen: tuple[Concept, ...], gap: float | None, rng: np.random.Generator
    ) -> Signal | None:
        light = next((concept for concept in chosen if concept.role == "light"), None)
        if light is None or light.kind is None or gap is None:
            return None
        colour: Literal["red", "green"] = "red" if light.kind.endswith("red") else "green"
        variant = int(rng.integers(assets.VARIANTS["traffic_light_body"]))
        return Signal(light.id, light.kind, colour, variant, gap + SIGNAL_SETBACK, SIGNAL_Y)

    def question(self, scene: DrivingScene) -> Question:
        """Return the one question, the same for every scene."""
        return self._question

    def truth(self, scene: DrivingScene) -> Truth:
        """Return the right answer, computed from where things stand (A1-A5)."""
        return truth(scene, self.rules.expected_action)

    def unseen(self, scene: DrivingScene, truth: Truth, rendering: Rendering) -> str | None:
        """Return which deciding object cannot be seen and why, or None when all can.

        A renderer that cannot tell (``visible`` is None) is believed.
        """
        if rendering.visible is None:
            return None
        for name in truth.deciding:
            lamp = scene.signal is not None and name == scene.signal.name
            needed = LAMP_PIXELS if lamp else OBJECT_PIXELS
            seen = rendering.visible.get(name, 0)
            if seen < needed:
                return f"{name} decides the answer and shows {seen} pixels, {needed} are needed"
        return None

    def direction(self, truth: Truth, answer: str) -> str | None:
        """Return the direction of an answer's error, None when it is right."""
        return direction(truth, answer)

    def make_renderer(self, name: str) -> Renderer:
        """Return a renderer of driving scenes.

        Raises:
            UnknownNameError: There is none of that name.
        """
        if is_generated(name):
            return generated_renderer(name, self.catalogue, domain=self.name, space=self.space)
        if name != "embree":
            raise UnknownNameError("driving renderer", name, RENDERERS, "See `vlmfail list`.")
        from ...rendering.embree import EmbreeRenderer

        return EmbreeRenderer()
