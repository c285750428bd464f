"""Re-run: the surest failure modes again on fresh scenes, outside the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core import (
    VLM,
    CapReachedError,
    Domain,
    EpisodeDomain,
    Picture,
    Policy,
    Renderer,
    RunFolderError,
    TrialRecord,
    UsageError,
    derive_seed,
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
from .boxes import draw_in
from .fresh import RERUN_META, rerun_indices
from .modes import FailureMode, surest
from .vector_modes import BOX_META, boxes_by_id, fresh_places, is_vector_run

TOP = 10
FRESH_TRIALS = 20


def rerun_modes(
    run: RunData,
    domain: Domain[Any] | EpisodeDomain[Any],
    model: VLM | Policy,
    *,
    top: int = TOP,
    trials: int = FRESH_TRIALS,
    threshold: float | None = None,
    concurrency: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> RunData:
    """Put fresh scenes of the surest modes to the model and return the run read anew.

    Where there are fewer than `top` modes, the surest suspicions are tried too.

    The trials take the indices above those used, so that they are new scenes; their records join
    the run's, their indices its state, and the log of the search stays as it is: rates and PFM of
    the search do not change, fresh rates and `confirmed` do. A mode that has its fresh trials
    already gets none. Scenes that are invalid are drawn again, five times `trials` at most. An
    episode that repeats an earlier one is no fresh trial, and no further one of its candidate is
    played. A generated picture that the model has seen of the candidate is none, and a set whose
    pictures are used up gets no further trial, which one invalid scene says. Of a mode that is a
    box of scene vectors, fresh scenes are drawn in it, each counted
    once however often it is drawn; a small box may have fewer than `trials`. The run's caps on
    requests, tokens and money hold here too: at a cap it stops.

    Which indices are drawn depends neither on `concurrency` nor on interruptions: what a trial is
    follows from run seed, candidate and index, and whether it counts from its scene.

    Args:
        run: The run, opened for writing.
        domain: Its domain.
        model: Its model, or its policy.
        top: How many modes.
        trials: Fresh trials a mode, put to the model.
        threshold: Failure rate τ; the run's own by default.
        concurrency: Requests to the model in flight.
        progress: Called with (trials done, trials in all).

    Raises:
        RunFolderError: The run was written by another version, so that keys differ.
        UsageError: For a concurrency below 1.
    """
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise UsageError(f"concurrency: expected a whole number of at least 1, got {concurrency!r}")
    tau = run.threshold if threshold is None else threshold
    fresh = _FreshTrials(run, domain, model, concurrency, tau)
    modes = surest(run, top, threshold)
    fresh.check_keys(modes)
    if getattr(model, "metered", False):
        write_ahead(run.store, fresh.ledger, fresh.writing)
    try:
        for done in fresh.run(modes, trials):
            if progress:
                progress(done, trials * len(modes))
    finally:
        keep_spent(run.store, fresh.ledger)
        fresh.close()
    return RunData(run.store)


class _FreshTrials(Evaluator[Any]):
    """Asks for fresh trials as a search does, on no budget."""

    def __init__(
        self,
        run: RunData,
        domain: Domain[Any] | EpisodeDomain[Any],
        model: VLM | Policy,
        concurrency: int,
        threshold: float,
    ) -> None:
        """Read what the run has spent and which trials it has."""
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
        self._listed = {key: list(indices) for key, indices in rerun_indices(run).items()}
        self._threshold = threshold
        self._boxes = {name: list(places) for name, places in fresh_places(run).items()}
        self._box: str | None = None
        self._drawer: Renderer | None = None

    def check_keys(self, modes: Sequence[FailureMode]) -> None:
        """Raise `RunFolderError` when this version calls a candidate otherwise."""
        space = self.domain.space
        for mode in modes:
            if mode.parts:
                continue  # a box has limits in units, not keys
            now = space.key(space.from_json(mode.candidate))
            if now != mode.key:
                raise RunFolderError(
                    f"{self._run_data.path} names a candidate {mode.key!r} which this version of "
                    f"vlmfail calls {now!r}: re-run it with the version that wrote it"
                )

    def run(self, modes: Sequence[FailureMode], trials: int) -> Iterator[int]:
        """Yield after each trial how many of all have been put to the model."""
        if is_vector_run(self._run_data):
            yield from self._in_boxes(modes, trials)
            return
        done = sum(self._there(mode.key, trials)[0] for mode in modes)
        if self.episodes:
            yield from self._play_fresh(modes, trials, done)
            return
        for record, _ in self._answers(self._drawn(modes, trials)):
            done += record.trial.outcome.charged
            yield done

    def _in_boxes(self, modes: Sequence[FailureMode], trials: int) -> Iterator[int]:
        """Put scenes that are drawn in each box to the model, one trial each."""
        boxes = boxes_by_id(self._run_data, self._threshold)
        known, done = dict(self._run_data.records), 0
        for name in (dump_json(mode.candidate) for mode in modes):
            rng = np.random.default_rng(derive_seed(self.run_seed, f"box {name}"))
            drawn: set[tuple[str, int]] = set()
            charged = 0
            for _ in range(5 * trials):
                if charged >= trials or self.stopped is not None:
                    break
                candidate = draw_in(boxes[name], rng)
                place = self.domain.space.key(candidate), 0
                if place in drawn:
                    continue  # a scene is one observation however often it is drawn
                drawn.add(place)
                if place in known:
                    # Drawn by an interrupted re-run or in another box, or met in the search: then
                    # it is not fresh.
                    if any(place in places for places in self._boxes.values()):
                        self._list(name, place)
                        charged += known[place].trial.outcome.charged
                    continue
                self._box = name
                for record in self._tried(candidate):
                    known[place] = record
                    charged += record.trial.outcome.charged
                yield done + charged
            done += charged

    def _tried(self, candidate: Any) -> Iterator[TrialRecord]:
        """Run the first trial of a candidate; nothing comes where a cap forbids it."""
        key = self.domain.space.key(candidate)
        with self.writing:
            self._run_data.store.ask({key: self.domain.space.to_json(candidate)})
        if self.episodes:
            results = (played for _, played in self._executor.run([(candidate, 0, self.run_seed)]))
            judged = self._played([(key, 0)], results)
        else:
            judged = self._answers(self._prepared(candidate))
        for record, _ in judged:
            yield record

    def _prepared(self, candidate: Any) -> Iterator[PreparedTrial]:
        self._drawer = self._drawer or make_renderer(self.domain, self._renderer)
        try:
            with metering(self.ledger):
                yield prepare_trial(self.domain, self._drawer, candidate, 0, self.run_seed)
        except CapReachedError as error:
            self.stopped = str(error)

    def _play_fresh(self, modes: Sequence[FailureMode], trials: int, done: int) -> Iterator[int]:
        for place in sorted(self._run_data.records):
            self._repeats.marked(self._run_data.records[place])
        for mode in modes:
            candidate = self.domain.space.from_json(mode.candidate)
            charged, indices = self._there(mode.key, trials)
            for index in indices:
                if charged >= trials:
                    break
                ((_, played),) = self._executor.run([(candidate, index, self.run_seed)])
                ((record, _),) = self._played([(mode.key, index)], [played])
                charged += record.trial.outcome.charged
                done += record.trial.outcome.charged
                yield done
                if record.trial.repeats is not None:
                    break

    def _there(self, key: str, trials: int) -> tuple[int, list[int]]:
        """Return how many fresh trials are there, and the indices that more may take, in order."""
        records, listed = self._run_data.records, set(self._listed.get(key, ()))
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
        return charged, [i for i in range(first, first + 5 * trials) if i not in fresh]

    def _drawn(self, modes: Sequence[FailureMode], trials: int) -> Iterator[PreparedTrial]:
        renderer = make_renderer(self.domain, self._renderer)
        said = {r.trial.key for r in self._run_data.records.values() if is_used_up(r)}
        for record in self._run_data.records.values():
            # Not what was used up: pictures may have been added since.
            self._shown.note(record)
        self._shown.used_up.clear()
        for mode in modes:
            candidate = self.domain.space.from_json(mode.candidate)
            charged, indices = self._there(mode.key, trials)
            for index in indices:
                if charged >= trials or self.stopped is not None:
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
                    if once is None or (mode.key in self.used_up and mode.key in said):
                        break
                    prepared = once
                charged += prepared.picture is not None
                yield prepared
                # A service that drew the same again would be paid for more of it.
                again = drawn and prepared.picture is None and getattr(renderer, "metered", False)
                if mode.key in self.used_up or again:
                    break

    def _keep(self, record: TrialRecord, picture: Picture | None) -> None:
        # Listed before it is written: a kill in between leaves an index without a record, which
        # readers skip, never a record that passes for the search's.
        listed = self._listed.setdefault(record.trial.key, [])
        if record.trial.index not in listed:
            listed.append(record.trial.index)
            listed.sort()
        store = self._run_data.store
        if self._box is not None:
            self._list(self._box, (record.trial.key, record.trial.index))
        store.set_meta(RERUN_META, dump_json(dict(sorted(self._listed.items()))))
        store.add(record, picture)

    def _list(self, box: str, place: tuple[str, int]) -> None:
        """Say in the run's state that a trial is a fresh one of a box."""
        places = self._boxes.setdefault(box, [])
        if place not in places:
            places.append(place)
            self._run_data.store.set_meta(BOX_META, dump_json(self._boxes))


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
