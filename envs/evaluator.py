"""The evaluator: candidates in, evaluations out, on an exact budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

from ..core import (
    VLM,
    CapReachedError,
    Domain,
    EpisodeDomain,
    Evaluation,
    ModelFault,
    Outcome,
    Picture,
    Policy,
    Tally,
    Trial,
    TrialRecord,
    plays_episodes,
)
from ..models.cancelling import cancelling
from ..models.spending import Ledger, metering
from ..runs.executors import Executor, ProcessExecutor, SerialExecutor, ThreadExecutor
from .episodes import Repeats, episode_executor, in_order
from .generated import is_generated
from .shown_pictures import ShownPictures
from .trials import PreparedTrial, ask_on_ledger, make_renderer, prepare_trial

C = TypeVar("C")

LAST_REPLIES = 30.0
"""Seconds for the replies in flight when a model turns out to answer no more."""

MAX_JOBS = 10_000
"""Trials drawn in one round, so that a candidate with a million of them fits in memory."""

Job = tuple[Any, int, int]  # candidate, trial index, run seed


def _build_preparer(domain: Domain[Any], renderer: str) -> Callable[[Job], PreparedTrial]:
    """Return a worker's function from job to prepared trial; its renderer is made once."""
    made = make_renderer(domain, renderer)

    def prepare(job: Job) -> PreparedTrial:
        candidate, index, run_seed = job
        return prepare_trial(domain, made, candidate, index, run_seed)

    return prepare


class _Drawing:
    """Prepares trials whose pictures are generated: in threads, on the run's ledger."""

    def __init__(self, domain: Domain[Any], renderer: str, ledger: Ledger) -> None:
        self._domain = domain
        self._ledger = ledger
        self._renderer = make_renderer(domain, renderer)

    def __call__(self, job: Job) -> PreparedTrial:
        candidate, index, run_seed = job
        try:
            with metering(self._ledger):
                return prepare_trial(self._domain, self._renderer, candidate, index, run_seed)
        except CapReachedError as error:
            return PreparedTrial(self._domain.space.key(candidate), index, capped=str(error))

    def cancel(self) -> None:
        """End the requests in flight."""
        cancel = getattr(self._renderer, "cancel", None)
        if callable(cancel):
            cancel()


@dataclass(slots=True)
class _Request(Generic[C]):
    candidate: C
    key: str
    want: int
    trials: dict[int, Trial] = field(default_factory=dict)

    @property
    def charged(self) -> int:
        return sum(trial.outcome.charged for trial in self.trials.values())

    @property
    def due(self) -> int:
        """Trials still to draw; none once as many scenes were invalid as were wanted."""
        invalid = len(self.trials) - self.charged
        return 0 if invalid >= self.want else self.want - self.charged


class Evaluator(Generic[C]):
    """Runs trials of one domain on one model for one search.

    Attributes:
        domain: The domain.
        model: The model under test: a policy where the domain's trials are episodes.
        budget: Trials that may be charged.
        charged: Trials charged so far.
        stopped: Why no further trial may run although budget is left (a cap), or None.
        last_picture: The last trial's picture.
        on_trial: Called with every new record and its picture as soon as it exists, one at a time.
        writing: Held while a record is written.
        stored: Returns the record of a trial that an earlier process already ran, or None.
    """

    def __init__(
        self,
        domain: Domain[C] | EpisodeDomain[C],
        model: VLM | Policy,
        *,
        renderer: str,
        budget: int,
        run_seed: int = 0,
        workers: int = 1,
        concurrency: int = 1,
        count_as_fail: Iterable[Outcome] = (),
        ledger: Ledger | None = None,
        spec: str | None = None,
    ) -> None:
        """Build an evaluator; workers and renderer start on first use.

        Args:
            domain: The domain.
            model: The model, or the policy.
            renderer: Renderer name.
            budget: Trials that may be charged.
            run_seed: Seed of the search.
            workers: Processes that sample and render, or that play.
            concurrency: Requests to the model in flight.
            count_as_fail: Outcomes that count as failures.
            ledger: Where requests are counted.
            spec: What a policy is made of, in each worker.
        """
        self.domain: Any = domain
        self.model: Any = model
        self.episodes = plays_episodes(domain)
        self._spec = spec
        self.budget = budget
        self.count_as_fail = frozenset(count_as_fail)
        self.ledger = ledger or Ledger()
        self.on_trial: Callable[[TrialRecord, Picture | None], None] | None = None
        self.stored: Callable[[str, int], TrialRecord | None] | None = None
        self._concurrency = concurrency
        self.writing = Lock()
        self._renderer = renderer
        self._generated = not self.episodes and is_generated(renderer)
        self._workers = workers
        self._executor = self._make_executor()
        self.start(run_seed)

    def _make_executor(self) -> Executor[Job, Any]:
        if self.episodes:
            return episode_executor(self.domain, self.model, self._spec, self._workers)
        if self._generated:
            # A service is waited for, not computed: threads, whose requests one ledger counts.
            threads = max(self._workers, self._concurrency)
            return ThreadExecutor(
                partial(_Drawing, self.domain, self._renderer, self.ledger), threads
            )
        build = partial(_build_preparer, self.domain, self._renderer)
        return (
            SerialExecutor(build) if self._workers == 1 else ProcessExecutor(build, self._workers)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the search's state; workers are re-made, and a run's store stays behind."""
        left = ("_executor", "writing", "on_trial", "stored")
        return {name: value for name, value in vars(self).items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore, with workers of its own."""
        vars(self).update(state)
        self.writing = Lock()
        self.on_trial = None
        self.stored = None
        self._executor = self._make_executor()

    def start(self, run_seed: int) -> None:
        """Forget everything and start a new search."""
        self.run_seed = run_seed
        self.charged = 0
        self.stopped: str | None = None
        self.last_picture: Picture | None = None
        self._repeats = Repeats()
        self._shown = ShownPictures()
        self._tallies: dict[str, Tally] = {}
        self._next_index: dict[str, int] = {}

    @property
    def used_up(self) -> Set[str]:
        """Keys of the candidates all of whose pictures have been shown."""
        return self._shown.used_up

    @property
    def remaining(self) -> int:
        """Trials that may still be charged."""
        return 0 if self.stopped else self.budget - self.charged

    def tally(self, key: str) -> Tally:
        """Return all trials so far of a candidate."""
        return self._tallies.get(key, Tally((), self.count_as_fail))

    def evaluate(self, requests: Sequence[tuple[C, int]]) -> list[Evaluation[C]]:
        """Run trials of valid candidates.

        Each request (candidate, trials) draws until that many trials were put to the model, or
        until as many of its scenes were invalid, or until it has no further picture. The same
        candidate twice gets consecutive trial indices by position. The budget goes to requests in
        order; what is too much is not run.
        """
        space = self.domain.space
        states = [_Request(c, space.key(c), trials) for c, trials in requests]
        while True:
            jobs: list[tuple[_Request[C], int]] = []
            room = self.remaining
            for state in states:
                due = 0 if state.key in self.used_up else state.due
                grant = min(due, room, MAX_JOBS - len(jobs))
                room -= grant
                for _ in range(grant):
                    index = self._next_index.get(state.key, 0)
                    self._next_index[state.key] = index + 1
                    jobs.append((state, index))
            if not jobs:
                break
            self._run(jobs)
        evaluations = []
        for state in states:
            new = tuple(state.trials[i] for i in sorted(state.trials))
            total = self.tally(state.key).extended(new)
            self._tallies[state.key] = total
            evaluations.append(
                Evaluation(state.candidate, state.key, Tally(new, self.count_as_fail), total)
            )
        return evaluations

    def _run(self, jobs: Sequence[tuple[_Request[C], int]]) -> None:
        fresh: list[tuple[_Request[C], int]] = []
        for state, index in jobs:
            record = self.stored(state.key, index) if self.stored else None
            if record is None:
                fresh.append((state, index))
            else:
                self._take(state, record)
        owners = {(state.key, index): state for state, index in fresh}
        work: list[Job] = [(state.candidate, index, self.run_seed) for state, index in fresh]
        pictures: dict[tuple[str, int], Picture] = {}
        results: Iterator[Any] = (result for _, result in self._executor.run(work))
        if self.episodes:
            judged = self._played(owners, results)
        else:
            judged = self._answers(self._each_once(owners, results))
        for record, picture in judged:
            place = record.trial.key, record.trial.index
            if picture is not None:
                pictures[place] = picture
            self._take(owners[place], record)
        # By position, not by who finished last: workers must not change what render() shows.
        for state, index in reversed(fresh):
            if (state.key, index) in pictures:
                self.last_picture = pictures[state.key, index]
                break

    def _take(self, state: _Request[C], record: TrialRecord) -> None:
        if self.episodes:
            self._repeats.marked(record)
        elif self._generated:
            self._shown.note(record)
        state.trials[record.trial.index] = record.trial
        self.charged += record.trial.outcome.charged

    def _each_once(
        self, jobs: Iterable[tuple[str, int]], prepared: Iterator[PreparedTrial]
    ) -> Iterator[PreparedTrial]:
        """Pass on trials whose pictures differ from those shown, which our own drawings do."""
        if not self._generated:
            return prepared
        # In the order of the trials: which of two is the repeat must not hang on who was quicker.
        ordered = in_order(jobs, prepared, lambda one: (one.key, one.index))
        return (once for one in ordered if (once := self._shown.once(one)) is not None)

    def _played(
        self, jobs: Iterable[tuple[str, int]], played: Iterable[tuple[TrialRecord, Picture | None]]
    ) -> Iterator[tuple[TrialRecord, Picture | None]]:
        """Mark and store episodes, of each candidate in the order of its trials."""
        places = in_order(jobs, played, lambda one: (one[0].trial.key, one[0].trial.index))
        for unmarked, picture in places:
            record = self._repeats.marked(unmarked)
            if self.on_trial:
                with self.writing:
                    self.on_trial(record, picture)
            yield record, picture

    def _answers(
        self, prepared: Iterator[PreparedTrial]
    ) -> Iterator[tuple[TrialRecord, Picture | None]]:
        if self._concurrency == 1:
            for trial in prepared:
                record = self._ask(trial)
                if record is not None:
                    yield record, trial.picture
            return
        pool = ThreadPoolExecutor(self._concurrency)
        futures: dict[Future[TrialRecord | None], PreparedTrial] = {}
        try:
            for trial in prepared:
                futures[pool.submit(self._ask, trial)] = trial
            for future in as_completed(futures):
                record = future.result()
                if record is not None:
                    yield record, futures[future].picture
        except BaseException as error:
            # After Ctrl-C or a full disk, requests that have not begun must not be paid, and
            # those in flight not be waited for. A model that cannot be asked on may still answer
            # what it was asked, and that is paid: a little patience keeps it.
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, ModelFault):
                wait([future for future in futures if future.running()], timeout=LAST_REPLIES)
            self._cancel(list(futures))
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _cancel(self, futures: Sequence[Future[Any]]) -> None:
        """End this search's requests in flight, of a model that can."""
        cancel = getattr(self.model, "cancel", None)
        # Again and again: a thread may be about to begin what it took from the queue.
        while callable(cancel) and any(future.running() for future in futures):
            with cancelling(self):
                cancel()
            time.sleep(0.05)

    def _ask(self, prepared: PreparedTrial) -> TrialRecord | None:
        """Ask and store at once; return None when a cap forbids the request."""
        if prepared.capped:
            self.stopped = prepared.capped
            return None
        try:
            with cancelling(self):
                record = ask_on_ledger(
                    self.domain, self.model, prepared, self.run_seed, self.ledger
                )
        except CapReachedError as error:
            self.stopped = str(error)
            return None
        if self.on_trial:
            with self.writing:
                self.on_trial(record, prepared.picture)
        return record

    def close(self) -> None:
        """Stop the workers; twice is fine."""
        self._executor.close()
