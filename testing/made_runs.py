"""Run folders made from outcomes, without a search: for tests of reports and metrics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import Outcome, Picture, Trial, TrialRecord
from ..runs.run import RunData
from ..runs.store import LoggedEvaluation, RunStore

LETTERS: Mapping[str, Outcome] = {
    "f": Outcome.FAIL,
    "p": Outcome.PASS,
    "u": Outcome.UNPARSED,
    "r": Outcome.REFUSED,
    "t": Outcome.TRUNCATED,
    "e": Outcome.ERROR,
    "o": Outcome.TIMEOUT,
    "i": Outcome.INVALID_SCENE,
}


def make_run(
    path: str | os.PathLike[str],
    evaluations: Sequence[tuple[Sequence[str], str]],
    *,
    config: Mapping[str, Any] | None = None,
    trial: Mapping[str, Any] | None = None,
    record: Mapping[str, Any] | None = None,
    pictures: bool = False,
    status: str = "finished",
) -> RunData:
    """Write a run folder and return it, opened for writing.

    Args:
        path: A new folder.
        evaluations: Candidates with one letter a trial: f fail, p pass, u unparsed, r refused,
            t truncated, e error, o timeout, i invalid scene. A candidate given twice gets the
            next trial indices.
        config: Changes to the configuration.
        trial: Changes to the fields of every trial.
        record: Changes to the fields of every record.
        pictures: Whether to make pictures (of noise).
        status: The run's status.
    """
    base: dict[str, Any] = {
        "env": "VLMFail-Driving-v0",
        "env_args": {},
        "domain": "driving",
        "searcher": {"name": "random", "spec": "random", "config": {}, "fixed_trials": True},
        "model": {"spec": "made-model", "name": "made-model"},
        "renderer": "embree",
        "seed": 0,
        "trials": 5,
        "batch": 8,
        "budget": 1000,
        "threshold": 0.6,
        "count_as_fail": [],
        "caps": {},
        "command": "vlmfail search VLMFail-Driving-v0 --searcher random --model made-model",
        "versions": {"vlmfail": "0.1.0"},
    }
    store = RunStore.create(path, {**base, **(config or {})})
    next_index: dict[str, int] = {}
    for step, (candidate, letters) in enumerate(evaluations):
        key = "+".join(candidate)
        first = next_index.get(key, 0)
        next_index[key] = first + len(letters)
        for index, letter in enumerate(letters, first):
            made, picture = _trial(key, index, LETTERS[letter], trial or {}, pictures)
            store.add(TrialRecord(made, **{**_record(made), **(record or {})}), picture)
        indices = tuple(range(first, first + len(letters)))
        store.log_evaluation(LoggedEvaluation(step, step // 8, key, list(candidate), indices))
    store.set_meta("status", status)
    store.set_meta("seconds_total", "12.5")
    store.set_meta("seconds_search", "0.25")
    return RunData(store)


def _trial(
    key: str, index: int, outcome: Outcome, changes: Mapping[str, Any], pictures: bool
) -> tuple[Trial, Picture | None]:
    if outcome is Outcome.INVALID_SCENE:
        return Trial(key, index, outcome, note="the objects cannot be placed"), None
    picture = _noise(f"{key}#{index}") if pictures else None
    judged = outcome in (Outcome.PASS, Outcome.FAIL)
    answer = {Outcome.PASS: "emergency_stop", Outcome.FAIL: "continue"}.get(outcome)
    fields: dict[str, Any] = {
        "answer": answer,
        "expected": "emergency_stop",
        "accepted": ("emergency_stop",),
        "rule": "A1",
        "direction": "under_reaction" if outcome is Outcome.FAIL else None,
        "picture": picture.sha256 if picture else None,
        "reply": f"The road looks clear.\nANSWER: {answer}" if judged else "",
        "note": "" if judged else str(outcome),
    }
    return Trial(key, index, outcome, **{**fields, **changes}), picture


def _record(trial: Trial) -> dict[str, Any]:
    return {
        "prompt": "What should the car do?",
        "options": ("continue", "slow_down", "emergency_stop"),
        "scene": {"truth_reason": "a cyclist stands 3.1 m ahead in the lane", "attempts": 1},
        "requests": int(trial.outcome.charged),
        "input_tokens": 100,
        "output_tokens": 10,
        "dollars": 0.001,
        "seconds_render": 0.02,
        "seconds_model": 0.03,
    }


def _noise(name: str) -> Picture:
    from ..core.seeding import key_words

    rng = np.random.default_rng(key_words(name))
    return Picture.from_pixels(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
