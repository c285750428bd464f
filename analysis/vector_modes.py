"""Failure modes of a run over scene vectors: its boxes, with the fresh scenes drawn in them."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from ..core import Tally, Trial, VLMFailError
from ..envs.vector_space import VectorSpace
from ..runs.run import RunData
from ..runs.store import dump_json
from .box_limits import limit_text
from .boxes import Box, boxes_of
from .modes import FailureMode, count, most_frequent

BOX_META = "rerun_boxes"
"""Name of the store's state value that lists the fresh trials: box → [key, trial index] pairs."""


def is_vector_run(run: RunData) -> bool:
    """Whether the run's candidates are vectors of a space that can be made again."""
    return space_of(run) is not None


def space_of(run: RunData) -> VectorSpace | None:
    """Return the run's space of vectors; None where none can be made again."""
    env, first = run.config.get("env"), next(iter(run.evaluations), None)
    candidate = () if first is None else first.candidate
    numbers = isinstance(candidate, (list, tuple)) and len(candidate) > 0
    if not (numbers and all(isinstance(n, (int, float)) or n is None for n in candidate)):
        return None
    return _space(str(env), dump_json(run.config.get("env_args") or {})) if env else None


@functools.lru_cache(maxsize=16)
def _space(env: str, options: str) -> VectorSpace | None:
    from ..envs.registry import domain_options, make_domain

    try:
        known = domain_options(env)
        given = {k: v for k, v in json.loads(options).items() if k in known}
        space = make_domain(env, **given).space
    except VLMFailError:  # a plug-in that is not there any more
        return None
    return space if isinstance(space, VectorSpace) else None


def box_id(box: Box) -> str:
    """Return what names a box in the run's state: its limits in units."""
    return dump_json(box.to_json()["limits"])


def fresh_places(run: RunData) -> Mapping[str, list[tuple[str, int]]]:
    """Return key and index of the trials that were drawn afresh in each box, by its id."""
    text = run.store.meta(BOX_META)
    if not text:
        return {}
    return {
        str(name): [(str(key), int(index)) for key, index in places]
        for name, places in json.loads(text).items()
    }


def box_modes(run: RunData, threshold: float) -> list[FailureMode]:
    """Return the boxes of a run over vectors as failure modes, the surest first.

    Args:
        run: The run.
        threshold: Failure rate τ.
    """
    space = space_of(run)
    if space is None:
        return []
    places = fresh_places(run)
    return [_mode(run, box, places, threshold) for box in boxes_of(run, space, threshold)]


def _mode(
    run: RunData, box: Box, places: Mapping[str, list[tuple[str, int]]], threshold: float
) -> FailureMode:
    inside: list[Trial] = []
    for evaluation in run.candidates.values():
        if evaluation.total.trials and box.contains(evaluation.candidate):
            inside += evaluation.total.trials
    tally = Tally(tuple(inside), run.count_as_fail)
    failed = [trial for trial in inside if tally.failed(trial)]
    records = run.records
    # Each once: a re-run that was killed while it wrote may have listed a place twice.
    listed = dict.fromkeys(places.get(box_id(box), ()))
    fresh = [records[place].trial for place in listed if place in records]
    fresh_tally = Tally(tuple(fresh), run.count_as_fail)
    box = box.with_fresh(fresh_tally.failures, fresh_tally.n)
    found = box.to_json()
    return FailureMode(
        candidate=found["limits"],
        key=box.text,
        failure_rate=box.failure_rate,
        failures=box.failures,
        n=box.n,
        interval=box.interval,
        confirmed=box.confirmed,
        rule=most_frequent(count(trial.rule for trial in failed)),
        directions=count(trial.direction for trial in failed),
        expected=most_frequent(count(trial.expected for trial in inside)),
        answers=count(trial.answer or str(trial.outcome) for trial in failed),
        trials=tuple(inside),
        fresh=fresh_tally,
        parts=tuple(filter(None, (_part(box, i) for i in range(len(box.limits))))) or ("anywhere",),
        threshold=threshold,
    )


def _part(box: Box, index: int) -> str:
    return limit_text(box.space, box.limits, index)


def boxes_by_id(run: RunData, threshold: float) -> dict[str, Box]:
    """Return the boxes of a run by their ids, in order."""
    space = space_of(run)
    found: list[Any] = [] if space is None else boxes_of(run, space, threshold)
    return {box_id(box): box for box in found}
