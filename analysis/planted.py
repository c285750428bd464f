"""Figures of a run on a planted landscape, where every true failure rate is known (ours).

What counts as found, true or minimal is decided by the true rates, not by those measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import RunFolderError
from ..runs.run import RunData
from .fresh import least_trials
from .reported import holds_another, per_thousand, reported_modes

if TYPE_CHECKING:
    from ..envs.planted.landscape import Landscape

AUDIT_RATE = 0.8
"""True rate below which a set counts as no mode when a removal is judged. Above τ on purpose: a
report is not held to a difference that few trials cannot show (the search study's audit)."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What the true rates say of reported modes; each is counted once.

    Attributes:
        good: True modes, 1-minimal by the audit, that hold no other reported one.
        false: Sets whose true rate is below τ, and invalid ones.
        non_minimal: True modes that hold another reported one, or of which a concept can be
            removed and leaves a valid set with a rate of at least `AUDIT_RATE`.
    """

    good: tuple[frozenset[str], ...]
    false: tuple[frozenset[str], ...]
    non_minimal: tuple[frozenset[str], ...]

    @property
    def reports(self) -> int:
        """Number of reported modes."""
        return len(self.good) + len(self.false) + len(self.non_minimal)


def is_planted(run: RunData) -> bool:
    """Whether the run searched a planted landscape."""
    data = run.config.get("domain_data")
    return run.config.get("domain") == "planted" and isinstance(data, dict) and "family" in data


def landscape_of(run: RunData) -> Landscape:
    """Return the landscape that a run searched.

    Raises:
        RunFolderError: This version draws another one for the same family, level and seed.
    """
    from ..envs.planted.landscape import landscape

    data = run.config["domain_data"]
    found = landscape(data["family"], data["level"], data["landscape_seed"])
    if data.get("rates") != found.digest:
        raise RunFolderError(
            f"{run.path} searched a planted landscape that this version of vlmfail draws "
            "otherwise: read it with the version that wrote it, or search anew"
        )
    return found


def audit(known: Landscape, reports: Sequence[frozenset[str]], tau: float) -> Audit:
    """Judge reported modes by the true rates.

    Args:
        known: The landscape.
        reports: The reported sets, each once.
        tau: Failure rate from which a set is a failure mode.
    """
    good, false, non_minimal = [], [], []
    for one in reports:
        rate = known.rate(one)
        if rate is None or rate < tau:
            false.append(one)
        elif holds_another(one, reports) or not known.is_minimal(one, max(AUDIT_RATE, tau)):
            non_minimal.append(one)
        else:
            good.append(one)
    return Audit(tuple(good), tuple(false), tuple(non_minimal))


def planted_metrics(run: RunData, threshold: float | None = None) -> dict[str, Any]:
    """Return the figures of a run on a planted landscape; what has no data is None.

    ``pfm_true`` share of the sets with all m trials whose true rate is at least τ (None for
    adaptive runs); ``oracle_share`` true modes found / the most that the budget can evaluate at m
    trials a set; ``recall`` share of the landscape's minimal modes that were reported;
    ``modes_at_1k`` good reports (see `Audit`) per 1000 trials (`per_thousand` says of which);
    ``false_reports`` and ``non_minimal_reports`` shares of the reports; ``planted`` the counts.

    A mode is *found* when its true rate is at least τ and so is the measured one, over at least
    three trials (m if that is less): a single failing trial finds nothing. A searcher with trials
    of its own number can find more than m a set allow, so that ``oracle_share`` may exceed 1.

    Args:
        run: The run.
        threshold: Failure rate τ; the run's own by default.
    """
    from .metrics import full_evaluations, is_fixed

    tau = run.threshold if threshold is None else threshold
    known = landscape_of(run)
    true_modes = int(np.count_nonzero(known.rates >= tau))
    minimal = {known.candidate(int(row)) for row in known.minimal_modes(tau)}
    verdict = audit(known, reported_modes(run, tau), tau)
    recalled = sum(one in minimal for one in (*verdict.good, *verdict.non_minimal))
    sets = full_evaluations(run) if is_fixed(run) else []
    true_sets = sum(_is_true(known, e.candidate, tau) for e in sets)
    least = least_trials(run)
    found = sum(
        e.n >= least and e.rate is not None and e.rate >= tau and _is_true(known, e.candidate, tau)
        for e in run.candidates.values()
    )
    most = min(true_modes, run.budget // run.trials)
    reports = verdict.reports
    return {
        "pfm_true": true_sets / len(sets) if sets else None,
        "oracle_share": found / most if most else None,
        "recall": recalled / len(minimal) if minimal else None,
        "modes_at_1k": per_thousand(len(verdict.good), run),
        "false_reports": len(verdict.false) / reports if reports else None,
        "non_minimal_reports": len(verdict.non_minimal) / reports if reports else None,
        "planted": {
            "family": known.family,
            "level": known.level,
            "landscape_seed": known.seed,
            "random_pfm": known.random_pfm(tau),
            "true_modes": true_modes,
            "minimal_modes": len(minimal),
            "evaluated": len(sets),
            "evaluated_true": true_sets,
            "found": found,
            "oracle_found": most,
            "reports": reports,
            "good_reports": len(verdict.good),
            "false_reports": len(verdict.false),
            "non_minimal_reports": len(verdict.non_minimal),
            "recalled": recalled,
        },
    }


def _is_true(known: Landscape, candidate: Sequence[str], tau: float) -> bool:
    rate = known.rate(frozenset(candidate))
    return rate is not None and rate >= tau
