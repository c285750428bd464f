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
    TrialRecord,
    derive_seed,
)
from ..envs.trials import PreparedTrial, make_renderer, prepare_trial
from ..models.spending import metering
from ..runs.run import RunData
from ..runs.store import dump_json
from .boxes import draw_in
from .fresh import RERUN_META
from .fresh_trials import FreshTrials, Wanted
from .modes import surest
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

    How fresh trials are drawn: `FreshTrials`. Rates and PFM of the search do not change, fresh
    rates and `confirmed` do. A mode that has its fresh trials already gets none. Of a mode that is
    a box of scene vectors, fresh scenes are drawn in it, each counted once however often it is
    drawn; a small box may have fewer than `trials`.

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
    tau = run.threshold if threshold is None else threshold
    modes = surest(run, top, threshold)
    vectors = is_vector_run(run)
    fresh = (
        _BoxTrials(run, domain, model, concurrency, tau)
        if vectors
        else FreshTrials(run, domain, model, concurrency, RERUN_META)
    )
    if not vectors:  # a box has limits in units, not keys
        fresh.check_keys({mode.key: mode.candidate for mode in modes})
    wanted = [Wanted(mode.candidate, mode.key, trials) for mode in modes]
    with fresh:
        for done in fresh.draw(wanted):
            if progress:
                progress(done, trials * len(modes))
    return RunData(run.store)


class _BoxTrials(FreshTrials):
    """Fresh trials of boxes: scenes that are drawn in them."""

    def __init__(
        self,
        run: RunData,
        domain: Domain[Any] | EpisodeDomain[Any],
        model: VLM | Policy,
        concurrency: int,
        threshold: float,
    ) -> None:
        """Read which trials the boxes have."""
        super().__init__(run, domain, model, concurrency, RERUN_META)
        self._threshold = threshold
        self._boxes = {name: list(places) for name, places in fresh_places(run).items()}
        self._box: str | None = None
        self._drawer: Renderer | None = None

    def draw(self, wanted: Sequence[Wanted]) -> Iterator[int]:
        """Put scenes that are drawn in each box to the model, one trial each."""
        boxes = boxes_by_id(self._run_data, self._threshold)
        known, done = dict(self._run_data.records), 0
        for one in wanted:
            name, trials = dump_json(one.candidate), one.trials
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

    def _keep(self, record: TrialRecord, picture: Picture | None) -> None:
        if self._box is not None:
            self._list(self._box, (record.trial.key, record.trial.index))
        super()._keep(record, picture)

    def _list(self, box: str, place: tuple[str, int]) -> None:
        """Say in the run's state that a trial is a fresh one of a box."""
        places = self._boxes.setdefault(box, [])
        if place not in places:
            places.append(place)
            self._run_data.store.set_meta(BOX_META, dump_json(self._boxes))
