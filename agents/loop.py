"""The search loop: an agent over an environment, written to a run store, resumable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

from ..core import (
    AgentError,
    Evaluation,
    Logger,
    Outcome,
    Picture,
    RunFolderError,
    Tally,
    TrialRecord,
    UsageError,
    derive_seed,
)
from ..envs.failure_env import FailureEnv
from ..runs.caps import store_caps
from ..runs.interruption import Interruption, is_interruption
from ..runs.spending import is_unspent, keep_spent, load_spent, write_ahead
from ..runs.store import LoggedEvaluation, RunStore, dump_json, to_plain
from .agent import SearchAgent
from .progress import LEAST_TRIALS, Counts, Progress, ProgressCallback

IDENTITY = (
    "env",
    "env_args",
    "domain",
    "domain_source",
    "domain_data",
    "searcher",
    "model",
    "renderer",
    "renderer_identity",
    "seed",
    "trials",
    "batch",
    "budget",
    "threshold",
    "count_as_fail",
)
"""Configuration entries that decide what a run finds. Workers, concurrency, loggers and the
command do not; caps only say how far it gets, so that a capped run may go on with higher ones."""


def open_store(path: str, config: Mapping[str, Any]) -> RunStore:
    """Create a run folder, or open the one that already holds the same search.

    Caps that differ are stored: they are the run's from then on. A folder whose search never came
    to a trial, nothing of which was billed, holds no search yet.

    Raises:
        RunFolderError: When the folder belongs to another configuration, naming what differs.
    """
    if not RunStore.is_run(path):
        return RunStore.create(path, config)
    store = RunStore.open(path, write=True)
    try:
        differences = config_differences(store.config, config)
        if differences and is_unspent(store):
            store.begin_anew(config)
            return store
        if not differences:
            store_caps(store, to_plain(config.get("caps") or {}), config.get("command"))
    except BaseException:
        store.close()
        raise
    if differences:
        store.close()
        raise RunFolderError(
            f"{path} holds another search ({'; '.join(differences)}): choose another --out, or "
            f"continue that one with: vlmfail resume {path}"
        )
    return store


def config_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return which entries that decide the result differ, as text."""
    pairs: list[tuple[str, Any, Any]] = []
    for name in IDENTITY:
        there, here = to_plain(old.get(name)), to_plain(new.get(name))
        if isinstance(there, dict) and isinstance(here, dict):
            inner = dict.fromkeys([*there, *here])
            pairs += [(f"{name}.{part}", there.get(part), here.get(part)) for part in inner]
        else:
            pairs.append((name, there, here))
    versions = [to_plain((c.get("versions") or {}).get("vlmfail")) for c in (old, new)]
    pairs.append(("vlmfail version", *versions))
    return [f"{name}: {_short(a)} there, {_short(b)} here" for name, a, b in pairs if a != b]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


REPORTS_META = "reports"
"""Name of the store's state value that holds the modes an agent reports, as JSON values."""


class SearchLoop:
    """Drives one agent over one environment until the budget is spent or nothing is left.

    Every trial is stored as soon as it is judged, every evaluation before it is told. A resumed
    run asks the agent again from the start and takes what the store holds, so that it continues
    exactly where the killed one was.
    """

    def __init__(
        self,
        env: FailureEnv,
        agent: SearchAgent[Any],
        store: RunStore,
        *,
        seed: int,
        batch: int,
        threshold: float,
        loggers: Sequence[Logger] = (),
        progress: ProgressCallback | None = None,
        metrics: Callable[[RunStore], Mapping[str, Any]] | None = None,
    ) -> None:
        """Prepare; nothing runs yet."""
        self._env = env
        self._agent = agent
        self._store = store
        self._seed = seed
        self._batch = batch
        self._threshold = threshold
        self._least = min(LEAST_TRIALS, env.options.trials)
        self._loggers = loggers
        self._progress = progress
        self._metrics = metrics
        self._step = 0
        self._rates: dict[str, float | None] = {}
        self._failures = 0
        self._n = 0
        self._modes: int | None = None if env.candidates.kind == "vector" else 0
        self._search_seconds = 0.0
        self._started = 0.0
        self._calls_before = 0
        self._resumed = 0
        self._batch_counts = Counts()
        self._reported = ""
        self._reports: list[Any] = []
        self._interruption = Interruption()

    def run(self) -> str:
        """Run to the end; return the final status, also written to the store."""
        self._started = started = time.perf_counter()
        earlier = float(self._store.meta("seconds_total") or 0.0)
        stored_before = self._store.count()
        self._store.set_meta("status", "running")
        status, reason = "interrupted", "stopped by the user"
        try:
            with self._interruption:
                for logger in self._loggers:
                    attach = getattr(logger, "attach", None)
                    if attach is not None:
                        attach(self._store.path)
                    logger.start(self._store.config)
                status, reason = self._drive(stored_before)
        except BaseException as error:
            if not is_interruption(error):
                status, reason = "failed", f"{type(error).__name__}: {error}"
                raise
        finally:
            self._env.close()
            seconds = earlier + time.perf_counter() - started
            self._finish(status, reason, seconds)
        return status

    def _keep_reports(self) -> None:
        """Store the modes that the agent reports."""
        space = self._env.candidates
        reports = getattr(self._agent, "reports", lambda: None)()
        if reports is None:
            return
        if not isinstance(reports, Sequence) or isinstance(reports, (str, bytes)):
            raise AgentError(
                f"reports() must return a list of candidates, got {type(reports).__name__}"
            )
        # Told after every batch, and nearly always the same objects as before.
        if self._reported and [*map(id, reports)] == [*map(id, self._reports)]:
            return
        self._reports = list(reports)
        kept = {}
        for candidate in map(self._own, reports):
            if space.validate(candidate) is not None:
                raise AgentError(f"reports() holds {{{space.key(candidate)}}}, which is not valid")
            kept[space.key(candidate)] = space.to_json(candidate)
        reported = dump_json(list(kept.values()))
        if reported != self._reported:
            self._store.set_meta(REPORTS_META, reported)
            self._reported = reported

    def _finish(self, status: str, reason: str, seconds: float) -> None:
        self._store.set_meta("status", status)
        self._store.set_meta("reason", reason)
        self._store.set_meta("seconds_total", f"{seconds:.3f}")
        self._store.set_meta("seconds_search", f"{self._search_seconds:.4f}")
        keep_spent(self._store, self._env.state.evaluator.ledger)
        summary: dict[str, Any] = {"status": status, "reason": reason, "calls": self.charged}
        if self._loggers and self._metrics is not None:
            summary["metrics"] = self._metrics(self._store)
        for logger in self._loggers:
            logger.finish(summary)

    @property
    def charged(self) -> int:
        """Trials charged so far."""
        return self._env.state.evaluator.charged

    def _drive(self, stored_before: int) -> tuple[str, str]:
        env, agent = self._env, self._agent
        env.reset(seed=self._seed)
        evaluator = env.state.evaluator
        load_spent(self._store, evaluator.ledger)
        if getattr(evaluator.model, "metered", False):
            write_ahead(self._store, evaluator.ledger, evaluator.writing)
        evaluator.on_trial = self._keep
        evaluator.stored = self._stored if stored_before else None
        logged = {entry.step: entry for entry in self._store.evaluation_log()}
        agent.threshold = self._threshold
        clock = time.perf_counter()
        # Not the run's own seed: with it an agent could compute the scenes of its trials.
        agent_seed = derive_seed(self._seed, "agent")
        agent.bind(
            env.candidates, seed=agent_seed, trials=env.options.trials, budget=evaluator.budget
        )
        self._search_seconds += time.perf_counter() - clock
        batch = 0
        while (end := env.state.end) is None:
            clock = time.perf_counter()
            requests = self._check(agent.ask(self._batch))
            self._search_seconds += time.perf_counter() - clock
            if not requests:
                return "space exhausted", "the searcher has nothing left to propose"
            evaluations = self._evaluate(requests)
            for evaluation in evaluations:
                self._log(evaluation, batch, logged)
            clock = time.perf_counter()
            agent.tell(evaluations)
            self._search_seconds += time.perf_counter() - clock
            self._report(evaluations)
            self._keep_reports()
            batch += 1
            if self._interruption.came:
                raise KeyboardInterrupt
        if evaluator.stopped:
            return "capped", end
        return "finished", end

    def _check(self, proposals: Sequence[Any]) -> list[tuple[Any, int]]:
        """Return (candidate, trials) pairs, or raise `AgentError` for a broken contract."""
        if not isinstance(proposals, Sequence) or isinstance(proposals, (str, bytes)):
            raise AgentError(
                "ask() must return a list of candidates, or of (candidate, trials) pairs, "
                f"got {type(proposals).__name__}"
            )
        if len(proposals) > self._batch:
            raise AgentError(f"ask({self._batch}) returned {len(proposals)} candidates")
        requests: list[tuple[Any, int]] = []
        for proposal in proposals:
            candidate, trials = proposal, self._env.options.trials
            if isinstance(proposal, tuple) and self._is_pair(proposal):
                candidate, trials = proposal
            if isinstance(trials, bool) or not isinstance(trials, Integral) or trials < 1:
                raise AgentError(f"ask() returned {trials!r} trials for a candidate; at least 1")
            requests.append((self._own(candidate), int(trials)))
        self._notice_adaptive(requests)
        return requests

    def _notice_adaptive(self, requests: Sequence[tuple[Any, int]]) -> None:
        """Mark the run when the agent does not give each candidate m trials, once.

        PFM is defined for such agents only, and what an agent says of itself may be wrong.
        """
        keys = [self._env.candidates.key(candidate) for candidate, _ in requests]
        own = any(trials != self._env.options.trials for _, trials in requests)
        if own or len(set(keys)) < len(keys) or any(key in self._rates for key in keys):
            self._store.set_meta("adaptive", "yes")

    def _own(self, candidate: Any) -> Any:
        """Return a concept set as plain ids: ``far_0`` is ``far``, with the same key and seeds."""
        space = self._env.candidates
        if space.kind != "concept_set":
            return candidate
        if not isinstance(candidate, frozenset):
            raise AgentError(f"ask(): expected frozensets of concept ids, got {candidate!r}")
        try:
            return frozenset(space.to_json(candidate))
        except (UsageError, TypeError, ValueError) as error:
            raise AgentError(f"ask() returned what is no candidate: {error}") from error

    def _is_pair(self, proposal: tuple[Any, ...]) -> bool:
        # In a space of tuples, (candidate, trials) is the pair whose first entry is a tuple.
        return len(proposal) == 2 and (
            self._env.candidates.kind != "tuple" or isinstance(proposal[0], tuple)
        )

    def _evaluate(self, requests: Sequence[tuple[Any, int]]) -> list[Evaluation[Any]]:
        """Evaluate valid candidates; an invalid one costs nothing and gives no data."""
        space, state = self._env.candidates, self._env.state
        try:
            valid = [space.validate(candidate) is None for candidate, _ in requests]
        except (TypeError, AttributeError, ValueError) as error:
            raise AgentError(f"ask() returned what is no candidate: {error}") from error
        asked = [request for request, ok in zip(requests, valid, strict=True) if ok]
        with state.evaluator.writing:
            self._store.ask({space.key(one): space.to_json(one) for one, _ in asked})
        self._calls_before, self._batch_counts = self.charged, Counts()
        results = iter(state.run(asked))
        nothing = Tally((), self._env.options.failing)
        evaluations = []
        for (candidate, _), ok in zip(requests, valid, strict=True):
            if ok:
                evaluations.append(next(results))
            else:
                key = space.key(candidate)
                total = state.evaluator.tally(key)
                evaluations.append(Evaluation(candidate, key, nothing, total))
        state.count_steps([evaluation.new.charged > 0 for evaluation in evaluations])
        return evaluations

    def _log(
        self, evaluation: Evaluation[Any], batch: int, logged: Mapping[int, LoggedEvaluation]
    ) -> None:
        before = logged.get(self._step)
        if before is not None and before.key != evaluation.key:
            raise AgentError(
                f"step {self._step} of this run was {{{before.key}}}, now the agent proposes "
                f"{{{evaluation.key}}}: it is not deterministic, or another version of it"
            )
        indices = tuple(trial.index for trial in evaluation.new.trials)
        entry = LoggedEvaluation(
            self._step,
            batch,
            evaluation.key,
            self._env.candidates.to_json(evaluation.candidate),
            indices,
        )
        if before != entry:
            self._store.log_evaluation(entry)
        self._step += 1
        total = evaluation.total
        # Fewer trials are a suspicion, no mode.
        self._rates[evaluation.key] = total.rate if total.n >= self._least else None
        self._failures += evaluation.new.failures
        self._n += evaluation.new.n

    def _stored(self, key: str, index: int) -> TrialRecord | None:
        """Return a trial that an earlier process ran."""
        record = self._store.get(key, index)
        if record is not None:
            self._resumed += record.trial.outcome.charged
            self._count(record)
        return record

    def _keep(self, record: TrialRecord, picture: Picture | None) -> None:
        """Store a trial and tell of it; one at a time."""
        if self._interruption.came and self._is_its_echo(record):
            raise KeyboardInterrupt
        self._store.add(record, picture)
        self._count(record)
        self._tell(
            record.trial.key,
            self._calls_before + self._batch_counts.charged,
            self._failures + self._batch_counts.failures,
            self._n + self._batch_counts.n,
        )
        if self._interruption.came:  # and somebody swallowed it
            raise KeyboardInterrupt

    @staticmethod
    def _is_its_echo(record: TrialRecord) -> bool:
        """Whether a trial's error may be the Ctrl-C itself, which only the main thread gets.

        What was sent and may be billed is kept whatever came of it.
        """
        own = threading.current_thread() is threading.main_thread()
        return own and record.trial.outcome is Outcome.ERROR and not record.requests

    def _count(self, record: TrialRecord) -> None:
        self._batch_counts.add(Tally((record.trial,), self._env.options.failing))

    def _report(self, evaluations: Sequence[Evaluation[Any]]) -> None:
        calls = self.charged - sum(evaluation.new.charged for evaluation in evaluations)
        for evaluation in evaluations if self._loggers else ():
            records = [
                record
                for trial in evaluation.new.trials
                if (record := self._store.get(trial.key, trial.index)) is not None
            ]
            calls += evaluation.new.charged
            for logger in self._loggers:
                logger.log(calls, evaluation, records)
        if self._modes is not None:
            rates = self._rates.values()
            self._modes = sum(rate is not None and rate >= self._threshold for rate in rates)
        self._tell(evaluations[-1].key, self.charged, self._failures, self._n)

    def _tell(self, key: str, calls: int, failures: int, n: int) -> None:
        if self._progress is not None:
            self._progress(
                Progress(
                    calls=calls,
                    budget=self._env.state.evaluator.budget,
                    evaluations=self._step,
                    failures=failures,
                    n=n,
                    modes=self._modes,
                    seconds=time.perf_counter() - self._started,
                    resumed=self._resumed,
                    last_key=key,
                )
            )
