"""Re-run: the surest failure modes again on fresh scenes, outside the budget."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core import VLM, CapReachedError, Domain, RunFolderError, source_digest
from ..models.registry import identity
from ..models.spending import Caps, Ledger
from ..runs.run import RunData
from ..runs.spending import keep_spent, load_spent, write_ahead
from ..runs.store import dump_json, to_plain
from .fresh import RERUN_META, rerun_indices
from .modes import failure_modes

TOP = 10
FRESH_TRIALS = 20


def rerun_modes(
    run: RunData,
    domain: Domain[Any],
    model: VLM,
    *,
    top: int = TOP,
    trials: int = FRESH_TRIALS,
    threshold: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RunData:
    """Put fresh scenes of the surest modes to the model and return the run read anew.

    The trials take the indices above those used, so that they are new scenes; their records join
    the run's, their indices its state, and the log of the search stays as it is: rates and PFM of
    the search do not change, fresh rates and `confirmed` do. A mode that has its fresh trials
    already gets none. Scenes that are invalid are drawn again, five times `trials` at most. The
    run's caps on requests, tokens and money hold here too: at a cap it stops.

    Args:
        run: The run, opened for writing.
        domain: Its domain.
        model: Its model.
        top: How many modes.
        trials: Fresh trials a mode, put to the model.
        threshold: Failure rate τ; the run's own by default.
        progress: Called with (trials done, trials in all).

    Raises:
        RunFolderError: The run was written by another version, so that keys differ.
    """
    from ..envs.trials import ask_on_ledger, make_renderer, prepare_trial

    seed = int(run.config["seed"])
    ledger = _ledger(run)
    renderer = make_renderer(domain, str(run.config.get("renderer", "embree")))
    modes = failure_modes(run, threshold)[:top]
    listed = {key: list(indices) for key, indices in rerun_indices(run).items()}
    used: dict[str, int] = {}
    for key, index in run.records:
        used[key] = max(used.get(key, -1), index)
    done = 0
    if getattr(model, "metered", False):
        write_ahead(run.store, ledger, threading.Lock())
    try:
        for mode in modes:
            candidate = domain.space.from_json(mode.candidate)
            if domain.space.key(candidate) != mode.key:
                raise RunFolderError(
                    f"{run.path} names a candidate {mode.key!r} which this version of vlmfail "
                    f"calls {domain.space.key(candidate)!r}: re-run it with the version that "
                    "wrote it"
                )
            mine = listed.setdefault(mode.key, [])
            charged = sum(
                run.records[mode.key, i].trial.outcome.charged
                for i in mine
                if (mode.key, i) in run.records
            )
            done += charged
            index = used[mode.key] + 1
            last = index + 5 * trials
            while charged < trials and index < last:
                prepared = prepare_trial(domain, renderer, candidate, index, seed)
                try:
                    record = ask_on_ledger(domain, model, prepared, seed, ledger)
                except CapReachedError:
                    return RunData(run.store)
                # Listed before it is written: a kill in between leaves an index without a record,
                # which readers skip, never a record that passes for the search's.
                if index not in mine:
                    mine.append(index)
                run.store.set_meta(RERUN_META, dump_json(listed))
                run.store.add(record, prepared.picture)
                charged += record.trial.outcome.charged
                done += record.trial.outcome.charged
                index += 1
                if progress:
                    progress(done, trials * len(modes))
    finally:
        keep_spent(run.store, ledger)
    return RunData(run.store)


def check_same_system(run: RunData, domain: Domain[Any], model: VLM) -> None:
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
