"""Scenes that are drawn as trials are (rule of visibility) and show a named concept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vlmfail.core import Domain, Renderer, UsageError
from vlmfail.envs.trials import PreparedTrial, prepare_trial


def pixels_of(prepared: PreparedTrial, name: str) -> int | None:
    """Return how many pixels show a concept, None for one that is no thing (a town, a weather)."""
    seen = prepared.scene.get("visible_pixels") or {}
    pixels: int | None = seen.get(name)
    return pixels


def shown_trial(
    domain: Domain[Any],
    renderer: Renderer,
    sets: Sequence[Sequence[str]],
    named: str,
    needed: int,
    seed: int,
    start: dict[str, int],
    tries: int,
) -> PreparedTrial:
    """Return the first trial of the first set that shows what is to be named.

    A concept that does not decide the answer is held to the same visibility as one that does.

    Args:
        domain: The domain.
        renderer: Its renderer.
        sets: Concept sets, tried in turn.
        named: The concept that must be seen.
        needed: Pixels of it that must be seen.
        seed: Run seed.
        start: By key of a set, the first trial index that is not taken; it is moved on.
        tries: Trials of each set.

    Raises:
        UsageError: None of the trials shows it.
    """
    problem = ""
    for concepts in sets:
        candidate = frozenset(concepts)
        key = domain.space.key(candidate)
        first = start.get(key, 0)
        for index in range(first, first + tries):
            prepared = prepare_trial(domain, renderer, candidate, index, seed)
            pixels = pixels_of(prepared, named)
            if prepared.picture is not None and (pixels is None or pixels >= needed):
                start[key] = index + 1
                return prepared
            problem = prepared.note or f"{named} shows {pixels} pixels, {needed} are needed"
    raise UsageError(f"{'+'.join(sets[0])}: no scene in {tries} trials ({problem})")
