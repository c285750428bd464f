"""Trials of an episode domain: a policy plays in a world, here or in worker processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ..core import EpisodeDomain, Outcome, Picture, Policy, Trial, TrialRecord, UsageError
from ..runs.executors import Executor, GuardedExecutor, SerialExecutor

T = TypeVar("T")

Job: TypeAlias = tuple[Any, int, int]
"""Candidate, trial index, run seed."""

Played: TypeAlias = tuple[TrialRecord, Picture | None]

DIGEST = "digest"
"""Entry of a record's scene that is the same for two episodes in which all happened alike."""

CRASHED = "the worker process died twice in this episode (a crash of the engine or of the policy)"


JUDGED = (Outcome.PASS, Outcome.FAIL)
"""Outcomes of an episode that came to its end; a note then tells of what went wrong beside it."""


class Player:
    """Plays the episodes of one process; its world and its policy are made on first use."""

    def __init__(self, domain: EpisodeDomain[Any], policy: str | Policy) -> None:
        """Keep the domain and the policy, or the spec of one."""
        self._domain = domain
        self._policy: Any = policy
        self._world: Any = None

    def __call__(self, job: Job) -> Played:
        """Play one trial."""
        candidate, index, run_seed = job
        if isinstance(self._policy, str):
            self._policy = make_tested(self._domain, self._policy)
        if self._world is None:
            self._world = self._domain.make_world(self._policy)
        played = self._domain.run_episode(
            self._world, self._policy, candidate, index, run_seed=run_seed
        )
        trial = played[0].trial
        if trial.outcome is Outcome.ERROR or (trial.note and trial.outcome in JUDGED):
            self.close()  # nobody knows in which state it is
        return played

    def close(self) -> None:
        """Free the world; the next trial makes another."""
        world, self._world = self._world, None
        if world is not None:
            # An engine that broke down may break down again here; what was played is done.
            with contextlib.suppress(Exception):
                world.close()


def episode_executor(
    domain: EpisodeDomain[Any], policy: Policy, spec: str | None, workers: int
) -> Executor[Job, Played]:
    """Return what plays the episodes.

    Args:
        domain: The domain.
        policy: The policy, which plays where there is one worker.
        spec: What `make_tested` makes it of in each of several workers.
        workers: Number of processes; one is this process.

    Raises:
        UsageError: Several workers and a policy that is an object.
    """
    if workers == 1:
        return SerialExecutor(partial(Player, domain, policy))
    if spec is None:
        raise UsageError(
            f"workers: {workers} processes each need a policy of their own: give it as a name or "
            "path/to/file.py:Name, or set workers to 1"
        )
    return GuardedExecutor(partial(Player, domain, spec), workers, partial(_crashed, domain))


def _crashed(domain: EpisodeDomain[Any], job: Job) -> Played:
    candidate, index, _ = job
    key = domain.space.key(candidate)
    told = getattr(domain, "scene_record", None)
    scene = told(candidate) if callable(told) else {}
    return TrialRecord(Trial(key, index, Outcome.ERROR, note=CRASHED), scene=scene), None


class Repeats:
    """Knows the episodes of a search, and tells which of them are the same one again."""

    def __init__(self) -> None:
        """Know none."""
        self._first: dict[tuple[str, str], int] = {}

    def marked(self, record: TrialRecord) -> TrialRecord:
        """Return the record, marked as a repeat when an episode of its candidate was the same.

        Trials of a candidate come in the order of their indices, so that the marks depend neither
        on workers nor on interruptions.
        """
        digest = record.scene.get(DIGEST)
        trial = record.trial
        if not isinstance(digest, str) or trial.repeats is not None:
            return record
        first = self._first.setdefault((trial.key, digest), trial.index)
        if first == trial.index:
            return record
        return replace(record, trial=replace(trial, repeats=first))


def in_order(
    jobs: Iterable[tuple[str, int]],
    results: Iterable[T],
    place: Callable[[T], tuple[str, int]],
) -> Iterator[T]:
    """Yield results of trials, of each candidate in the order of its trials.

    Args:
        jobs: Candidate key and trial index of all trials, in order.
        results: The results, in any order.
        place: Returns the candidate key and the trial index of a result.
    """
    waiting: dict[str, list[int]] = {}
    for key, index in jobs:
        waiting.setdefault(key, []).append(index)
    there: dict[tuple[str, int], T] = {}
    for result in results:
        key, index = place(result)
        there[key, index] = result
        due = waiting[key]
        while due and (key, due[0]) in there:
            yield there.pop((key, due.pop(0)))


def make_tested(domain: object, spec: Any) -> Any:
    """Return what a spec stands for in a domain: a policy, or what the domain itself makes of it.

    Raises:
        UsageError: When it is nothing that the domain can test.
    """
    make = getattr(domain, "make_model", None)
    if callable(make):
        return make(spec)
    from ..models.policies.registry import make_policy

    return make_policy(spec)


def defaults_of(domain: object) -> Mapping[str, Any]:
    """Return the option values that a domain (or its class) has in place of the environment's."""
    found = getattr(domain, "defaults", None)
    return found if isinstance(found, Mapping) else {}


def check_options(domain_name: str, options: Any) -> None:
    """Refuse options that mean nothing where a trial is an episode.

    Raises:
        UsageError: With what to do instead.
    """
    planted = domain_name == "planted"
    trial = f"{'a trial' if planted else 'an episode'} of {domain_name}"
    for name in ("max_requests", "max_total_tokens", "max_dollars"):
        if getattr(options, name) is not None:
            raise UsageError(f"{name}: {trial} sends nothing that is billed")
    if options.concurrency not in (None, 1):
        raise UsageError(
            f"concurrency: {trial} is no request; workers={options.concurrency}"
            f" {'draws' if planted else 'plays'} as many at a time"
        )
    if options.renderer != "embree":
        pictures = "has no pictures" if planted else "draws its own pictures"
        raise UsageError(
            f"renderer: the world of {domain_name} {pictures}, so that "
            f"{options.renderer!r} would change nothing"
        )
