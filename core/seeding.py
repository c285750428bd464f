"""Seeding: every random draw comes from (run seed, candidate key, trial).

Never from global state, the clock, the worker or the order of a dict: so 1, 2 and 4 workers,
another batch size of the executor, and a resumed run give the same records.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from functools import lru_cache

import numpy as np

from .errors import UsageError

MAX_SEED = 2**32 - 1


class Stream(IntEnum):
    """Independent streams of one trial, so that one consumer's draws never shift another's."""

    SCENE = 0
    ORDER = 1
    MODEL = 2


def check_seed(seed: object) -> int:
    """Return `seed` as an int in [0, 2^32 - 1], or raise `UsageError`."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise UsageError(f"a seed is a whole number from 0 to {MAX_SEED}, got {seed!r}")
    value = int(seed)
    if not 0 <= value <= MAX_SEED:
        raise UsageError(f"a seed is a whole number from 0 to {MAX_SEED}, got {value}")
    return value


@lru_cache(maxsize=4096)
def key_words(key: str) -> tuple[int, ...]:
    """Return eight 32-bit words of SHA-256 of `key`: stable across processes and versions."""
    digest = hashlib.sha256(key.encode()).digest()
    return tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))


def trial_sequence(
    run_seed: int, key: str, trial: int, stream: Stream, attempt: int = 0
) -> np.random.SeedSequence:
    """Return the seed sequence of one stream of one trial.

    Args:
        run_seed: The run's seed.
        key: The candidate's canonical key.
        trial: The trial's index for this candidate, from 0.
        stream: Who draws.
        attempt: Resampling attempt within the trial.
    """
    return np.random.SeedSequence(
        entropy=run_seed, spawn_key=(*key_words(key), trial, int(stream), attempt)
    )


def trial_rng(
    run_seed: int, key: str, trial: int, stream: Stream, attempt: int = 0
) -> np.random.Generator:
    """Return a generator on `trial_sequence`."""
    return np.random.default_rng(trial_sequence(run_seed, key, trial, stream, attempt))


def derive_seed(seed: int, label: str) -> int:
    """Return another 32-bit seed that depends on `seed` and `label` alone."""
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=key_words(label))
    return int(sequence.generate_state(1, np.uint32)[0])
