"""Fresh trials of candidates, asked for outside the budget: what re-run and audit share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ..core import (
    VLM,
    CapReachedError,
    Domain,
    EpisodeDomain,
    Picture,
    Policy,
    RunFolderError,
    TrialRecord,
    UsageError,
    source_digest,
)
from ..envs.evaluator import Evaluator
from ..envs.shown_pictures import is_used_up
from ..envs.trials import PreparedTrial, make_renderer, prepare_trial
from ..models.registry import identity
from ..models.spending import Caps, Ledger, metering
from ..runs.run import RunData
from ..runs.spending import keep_spent, load_spent, write_ahead
from ..runs.store import dump_json, to_plain
from .fresh import listed_indices


@dataclass(frozen=True, slots=True)
class Wanted:
    """Fresh trials of one candidate.

    Attributes:
        candidate: The candidate as JSON values.
        key: Its key.
        trials: How many are to be put to the model, those that are there already included.
    """

    candidate: Any
    key: str
    trials: int


class FreshTrials(Evaluator[Any]):
    """Asks for fresh trials as a search does, on no budget; a context manager.

    The trials take the indices above those used, so that they are new scenes. Their records join
    the run's, their indices one of its state values, and the log of the search stays as it is.
    What is there already is not asked again. Scenes that are invalid are drawn again, five times
    as many at most. An episode that repeats an earlier one is no fresh trial, and no further one
    of its candidate is played. A generated picture that the model has seen of the candidate is
    none, and a set whose pictures are used up gets no further trial, which one invalid scene says.
    The run's caps on requests, tokens and money hold here too: at a cap it stops.

    Which indices are drawn depends neither on `concurrency` nor on interruptions: what a trial is
    follows from run seed, candidate and index, and whether it counts from its scene.
    """

    def __init__(
        self,
        run: RunData,
        domain: Domain[Any] | EpisodeDomain[Any],
        model: VLM | Policy,
        concurrency: int,
        meta: str,
    ) -> None:
        """Read what the run has spent and which trials it has.

        Args:
            run: The run, opened for writing.
            domain: Its domain.
            model: Its model, or its policy.
            concurrency: Requests to the model in flight.
            meta: Name of the state value that lists the trials.

        Raises:
            UsageError: For a concurrency below 1.
        """
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise UsageError(
                f"concurrency: expected a whole number of at least 1, got {concurrency!r}"
            )
        super().__init__(
            domain,
            model,
            renderer=str(run.config.get("renderer", "embree")),
            budget=0,
            run_seed=int(run.config["seed"]),
            concurrency=concurrency,
            ledger=_ledger(run),
        )
        self.on_trial = self._keep
        self._run_data = run
        self._meta = meta
        self._listed = {key: list(indices) for key, indices in listed_indices(run, meta).items()}

    def __enter__(self) -> FreshTrials:
        """Keep what metered requests cost from the first on."""
        if getattr(self.model, "metered", False):
            write_ahead(self._run_data.store, self.ledger, self.writing)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep what was spent and stop the workers."""
        keep_spent(self._run_data.store, self.ledger)
        self.close()

    def check_keys(self, named: Mapping[str, Any]) -> None:
        """Raise `RunFolderError` when this version calls a candidate (JSON, by key) otherwise."""
        space = self.domain.space
        for key, candidate in named.items():
            now = space.key(space.from_json(candidate))
            if now != key:
                raise RunFolderError(
                    f"{self._run_data.path} names a candidate {key!r} which this version of "
                    f"vlmfail calls {now!r}: re-run it with the version that wrote it"
                )

    def draw(self, wanted: Sequence[Wanted]) -> Iterator[int]:
        """Yield after each trial how many of all have been put to the model."""
        self._run_data = RunData(self._run_data.store)
        done = sum(self._there(one)[0] for one in wanted)
        if self.episodes:
            yield from self._play_fresh(wanted, done)
            return
        for record, _ in self._answers(self._drawn(wanted)):
            done += record.trial.outcome.charged
            yield done

    def _play_fresh(self, wanted: Sequence[Wanted], done: int) -> Iterator[int]:
        for place in sorted(self._run_data.records):
            self._repeats.marked(self._run_data.records[place])
        for one in wanted:
            candidate = self.domain.space.from_json(one.candidate)
            charged, indices = self._there(one)
            for index in indices:
                if charged >= one.trials:
                    break
                ((_, played),) = self._executor.run([(candidate, index, self.run_seed)])
                ((record, _),) = self._played([(one.key, index)], [played])
                charged += record.trial.outcome.charged
                done += record.trial.outcome.charged
                yield done
                if record.trial.repeats is not None:
                    break

    def _there(self, one: Wanted) -> tuple[int, list[int]]:
        """Return how many fresh trials are there, and the indices that more may take, in order."""
        key, records = one.key, self._run_data.records
        listed = set(self._listed.get(key, ()))
        listed -= {
            trial.index
            for evaluation in self._run_data.evaluations
            if evaluation.key == key
            for trial in evaluation.new.trials
        }
        own = [index for found, index in records if found == key and index not in listed]
        first = max(own, default=-1) + 1
        fresh = [index for index in listed if (key, index) in records]
        charged = sum(records[key, index].trial.outcome.charged for index in fresh)
        # Gaps, too: requests in flight together are not stored in order when a process is killed.
        return charged, [i for i in range(first, first + 5 * one.trials) if i not in fresh]

    def _drawn(self, wanted: Sequence[Wanted]) -> Iterator[PreparedTrial]:
        renderer = make_renderer(self.domain, self._renderer)
        said = {r.trial.key for r in self._run_data.records.values() if is_used_up(r)}
        for record in self._run_data.records.values():
            # Not what was used up: pictures may have been added since.
            self._shown.note(record)
        self._shown.used_up.clear()
        for one in wanted:
            candidate = self.domain.space.from_json(one.candidate)
            charged, indices = self._there(one)
            for index in indices:
                if charged >= one.trials or self.stopped is not None:
                    break
                try:
                    with metering(self.ledger):
                        prepared = prepare_trial(
                            self.domain, renderer, candidate, index, self.run_seed
                        )
                except CapReachedError as error:
                    self.stopped = str(error)
                    return
                drawn = prepared.picture is not None
                if self._generated:
                    once = self._shown.once(prepared)
                    if once is None or (one.key in self.used_up and one.key in said):
                        break
                    prepared = once
                charged += prepared.picture is not None
                yield prepared
                # A service that drew the same again would be paid for more of it.
                again = drawn and prepared.picture is None and getattr(renderer, "metered", False)
                if one.key in self.used_up or again:
                    break

    def _keep(self, record: TrialRecord, picture: Picture | None) -> None:
        # Listed before it is written: a kill in between leaves an index without a record, which
        # readers skip, never a record that passes for the search's.
        listed = self._listed.setdefault(record.trial.key, [])
        if record.trial.index not in listed:
            listed.append(record.trial.index)
            listed.sort()
        store = self._run_data.store
        store.set_meta(self._meta, dump_json(dict(sorted(self._listed.items()))))
        store.add(record, picture)


def check_same_system(
    run: RunData, domain: Domain[Any] | EpisodeDomain[Any], model: VLM | Policy
) -> None:
    """Raise unless `domain` and `model` are those that the run was made with.

    Fresh trials of another model, of edited code or of another version of vlmfail would confirm
    modes that they have nothing to do with.

    Raises:
        RunFolderError: With what differs.
    """
    from .. import __version__

    there = {f"model {k}": v for k, v in (run.config.get("model") or {}).items() if k != "spec"}
    there["domain source"] = run.config.get("domain_source")
    there["vlmfail version"] = (run.config.get("versions") or {}).get("vlmfail")
    here = {f"model {k}": to_plain(v) for k, v in identity(model).items()}
    here["domain source"] = source_digest(domain)
    here["vlmfail version"] = __version__
    for name in dict.fromkeys([*there, *here]):
        if there.get(name) != here.get(name):
            raise RunFolderError(
                f"{run.path} was made with another {name} ({there.get(name)} there, "
                f"{here.get(name)} here): its modes cannot be re-run here, search anew"
            )


def _ledger(run: RunData) -> Ledger:
    """Return a ledger with the run's caps and all that it has spent so far."""
    caps = run.config.get("caps") or {}
    names = ("max_requests", "max_total_tokens", "max_dollars")
    ledger = Ledger(Caps(*(caps.get(name) for name in names)))
    load_spent(run.store, ledger)
    return ledger
