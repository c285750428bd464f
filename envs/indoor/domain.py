"""The kitchen: concept set → scene, question and right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ...core import (
    Question,
    Renderer,
    Rendering,
    SceneError,
    Truth,
    UnknownNameError,
    UsageError,
)
from ..concept_sets import ConceptSetSpace
from ..data_files import data_folder, data_identity
from ..generated import generated_renderer, is_generated
from ..recognition import FILE, RecognitionSheet, RecognitionStatements, switch
from . import matching
from .catalogue import catalogue, load
from .questions import questions
from .rules import MAX_SET_SIZE, rules
from .sampling import sample
from .scene import DescribedScene, IndoorScene, part_name
from .staging import ORDER

OBJECT_PIXELS = 250
"""Visible pixels that a deciding thing needs. Ours: an outlet 16 x 16 pixels large; people still
tell one with its plate from one without.
"""

THIN_PIXELS = 150
"""The same for blades, pills and handles: they are thin, and span as much as larger things do."""

THIN = frozenset(
    {"knife_edge", "scissors_open", "pill_bottle", "pan_stove:handle", "pan_counter:handle"}
)

RENDERERS = ("embree",)

AnyScene: TypeAlias = IndoorScene | DescribedScene


def pixels_needed(concept: str) -> int:
    """Return how many visible pixels a thing needs for an answer to hang on it."""
    return THIN_PIXELS if concept in THIN else OBJECT_PIXELS


def _missing(concept: str, parts: Sequence[str], visible: Mapping[str, int]) -> tuple[str, int]:
    """Return what of a deciding thing is most too small in the picture, and by how many pixels."""
    names = (concept, *(part_name(concept, part) for part in parts))
    short = {name: pixels_needed(name) - visible.get(name, 0) for name in names}
    worst = max(names, key=lambda name: short[name])
    return worst, short[worst]


class IndoorDomain:
    """Revelio's indoor domain (§4, Table 5, App. B.2, C.2); implements `core.Domain`.

    Args:
        data: Folder with any of ``catalogue.json``, ``rules.json``, ``questions.json`` and
            ``recognition.json`` that replace the packaged ones.
        max_size: Largest concept set; the kitchen does not count.
        recognition: Ask true/false statements about the scene's concepts before the question.
    """

    name = "indoor"
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
        self.questions = questions(folder)
        self.questions.check(self.rules)
        self.library = self.rules.matcher(self.catalogue)
        self.space: ConceptSetSpace = self.rules.space(self.catalogue, max_size)
        self.recognition = (
            RecognitionStatements(load(RecognitionSheet, FILE, folder), self.catalogue)
            if switch(recognition)
            else None
        )

    def identity(self) -> dict[str, str]:
        """Return the versions of the domain's data and a digest of it, for a run's record."""
        parts: dict[str, Any] = {
            "catalogue": self.catalogue,
            "rules": self.rules,
            "questions": self.questions,
        }
        if self.recognition is not None:
            parts["recognition"] = self.recognition.sheet
        return data_identity(parts)

    def sample_scene(self, candidate: frozenset[str], rng: np.random.Generator) -> IndoorScene:
        """Sample a scene of a concept set.

        Sets that break a rule are sampled too, as far as they mean something: no valid set shows
        a plain kitchen, yet a model must be trained and tested on plain kitchens.

        Raises:
            SceneError: The things find no place.
            UnknownNameError: For an id outside the catalogue.
        """
        described = self.describe_scene(candidate)
        chosen, match = described.candidate, described.match
        deciding = () if match is None else (name for group in match.deciding for name in group)
        return sample(chosen, match, frozenset(deciding), rng)

    def describe_scene(self, candidate: frozenset[str]) -> DescribedScene:
        """Return what a set says of any picture of it, whoever draws it.

        Raises:
            UnknownNameError: For an id outside the catalogue.
        """
        implied = self.catalogue.implied
        chosen = tuple(c.id for c in self.catalogue.select(candidate) if c.id not in implied)
        return DescribedScene(chosen, self.library.match_with_best_fit(chosen))

    def question(self, scene: AnyScene) -> Question:
        """Return the question of the rule that the scene's set calls for.

        Raises:
            SceneError: No rule fits the set: there is nothing to ask.
        """
        return self.questions.of(self._match(scene).rule.family)

    def truth(self, scene: AnyScene) -> Truth:
        """Return the right answer, the matched rule's.

        Raises:
            SceneError: No rule fits the set.
        """
        return self._match(scene).truth()

    @staticmethod
    def _match(scene: AnyScene) -> matching.Match:
        if scene.match is None:
            raise SceneError(f"no rule fits {{{', '.join(scene.candidate)}}}")
        return scene.match

    def unseen(self, scene: AnyScene, truth: Truth, rendering: Rendering) -> str | None:
        """Return which deciding thing cannot be seen and why, or None when all can.

        A renderer that cannot tell (``visible`` is None) is believed.
        """
        if rendering.visible is None:
            return None
        match = self._match(scene)
        visible = rendering.visible
        for group in match.deciding:
            missing = [_missing(name, match.rule.parts, visible) for name in group]
            name, short = min(missing, key=lambda each: each[1])
            if short > 0:
                return (
                    f"{name} decides the answer and shows {visible.get(name, 0)} pixels, "
                    f"{pixels_needed(name)} are needed"
                )
        return None

    def direction(self, truth: Truth, answer: str) -> str | None:
        """Return the direction of an answer's error, None when it is right."""
        return matching.direction(truth, answer)

    def make_renderer(self, name: str) -> Renderer:
        """Return a renderer of kitchens: ours, a picture model, or a folder of pictures.

        Raises:
            UnknownNameError: There is none of that name.
        """
        if is_generated(name):
            return generated_renderer(name, self.catalogue, domain=self.name, space=self.space)
        if name != "embree":
            raise UnknownNameError("indoor renderer", name, RENDERERS, "See `vlmfail list`.")
        foreign = set(self.catalogue.ids) - set(ORDER) - set(self.catalogue.implied)
        if foreign:
            raise UsageError(
                f"renderer embree: it cannot draw {', '.join(sorted(foreign))} of your catalogue: "
                "use a picture model (google-image:MODEL) or a folder of pictures (folder:DIR)"
            )
        from ...rendering.embree import EmbreeRenderer

        return EmbreeRenderer()
