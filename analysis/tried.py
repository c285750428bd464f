"""How much of its space a run over concept sets has tried."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..core import VLMFailError
from ..envs.concept_sets import ConceptSetSpace
from ..runs.run import RunData
from ..runs.store import dump_json
from .metrics import evaluated, is_concept_set


@dataclass(frozen=True, slots=True)
class Tried:
    """What of a space of concept sets was put to the model.

    Attributes:
        by_size: Number of sets put to the model by the number of their concepts.
        concepts: Concepts in one of them.
        all_sets: Number of valid sets; of given pictures, of those that have some; None: unknown.
        all_concepts: Number of concepts that a set may hold; None: unknown.
    """

    by_size: Mapping[int, int]
    concepts: frozenset[str]
    all_sets: int | None
    all_concepts: int | None


def tried_of(run: RunData) -> Tried | None:
    """Return what a run put to the model; None where its candidates are no concept sets."""
    sets = [e.candidate for e in evaluated(run)]
    if not sets or not all(map(is_concept_set, sets)):
        return None
    by_size: dict[int, int] = {}
    for one in sets:
        by_size[len(one)] = by_size.get(len(one), 0) + 1
    env = run.config.get("env")
    counts = _space(str(env), dump_json(run.config.get("env_args") or {})) if env else None
    all_sets, all_concepts = counts or (None, None)
    pictured = with_pictures(run)
    return Tried(
        dict(sorted(by_size.items())),
        frozenset(str(concept) for one in sets for concept in one),
        all_sets if pictured is None else pictured,
        all_concepts,
    )


def with_pictures(run: RunData) -> int | None:
    """Return the number of sets that have pictures, where pictures are given; else None."""
    identity = run.config.get("renderer_identity")
    known = identity.get("candidates") if isinstance(identity, Mapping) else None
    return known if isinstance(known, int) else None


@functools.lru_cache(maxsize=16)
def _space(env: str, options: str) -> tuple[int | None, int] | None:
    """Return the numbers of valid sets and of the concepts in them; None for none of sets."""
    from ..envs.registry import domain_options, make_domain

    try:
        known = domain_options(env)
        given = {k: v for k, v in json.loads(options).items() if k in known}
        space = make_domain(env, **given).space
    except VLMFailError:  # a plug-in that is not there any more
        return None
    if not isinstance(space, ConceptSetSpace):
        return None
    rows = space.valid_sets()
    if rows is None:
        return None, len(space.concepts)
    # A concept may be in none: the kitchen itself is always there and never proposed.
    return len(rows), int(rows.any(axis=0).sum())
