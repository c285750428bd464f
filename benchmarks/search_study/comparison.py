"""All runs of a searcher on a model: means over seeds, and how far it is from the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...analysis.metrics import Share
from ...core import clopper_pearson_lower
from ..studies.comparison import Against, Estimate, Spread, against, holm
from .figures import ModeFigures, RunFigures, SetFigures

__all__ = ["Against", "Arm", "Estimate", "Rerun", "Spread", "against", "compare", "holm"]

HIGH, TAU = 0.8, 0.6


@dataclass(frozen=True, slots=True)
class Rerun:
    """The surest modes of all runs on fresh trials (Revelio Table 1).

    Attributes:
        runs: Runs whose modes were tried again.
        search: Their rates in the search.
        fresh: Their rates on fresh trials.
        high: Share of modes with a fresh rate of at least 80 %.
        still: Share of modes with a fresh rate of at least τ.
        confirmed: Share of modes with a lower bound (one-sided 95 %) of at least τ.
    """

    runs: int
    search: Spread | None
    fresh: Spread | None
    high: Share
    still: Share
    confirmed: Share

    @classmethod
    def of(cls, runs: Sequence[RunFigures]) -> Rerun:
        """Summarise the runs whose modes had their fresh trials."""
        ready = [run for run in runs if run.confirmed]
        modes = [one for run in ready for one in run.modes if one.again and one.fresh_n]
        rates = [one.fresh_failures / one.fresh_n for one in modes]
        lowest = [clopper_pearson_lower(one.fresh_failures, one.fresh_n) for one in modes]
        n = len(modes)
        return cls(
            runs=len(ready),
            search=Spread.of(one.mode.failure_rate for one in modes),
            fresh=Spread.of(rates),
            high=Share("high", sum(rate >= HIGH for rate in rates), n),
            still=Share("still", sum(rate >= TAU for rate in rates), n),
            confirmed=Share("confirmed", sum(low >= TAU for low in lowest), n),
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "runs": self.runs,
            "search_rate": None if self.search is None else self.search.to_json(),
            "fresh_rate": None if self.fresh is None else self.fresh.to_json(),
            "share_80": self.high.to_json(),
            "share_tau": self.still.to_json(),
            "share_confirmed": self.confirmed.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Arm:
    """All complete runs of a searcher on a model.

    Attributes:
        model: The model.
        searcher: The searcher.
        runs: Its runs, by seed.
        against: Its PFM against the baseline's; None for the baseline.
    """

    model: str
    searcher: str
    runs: tuple[RunFigures, ...]
    against: Against | None = None

    @property
    def pfm(self) -> Spread | None:
        """PFM over seeds."""
        return Spread.of(run.pfm for run in self.runs)

    @property
    def mfr(self) -> Spread | None:
        """MFR over seeds."""
        return Spread.of(run.mfr for run in self.runs)

    @property
    def div(self) -> Spread | None:
        """Div over the seeds that found two modes."""
        return Spread.of(run.div for run in self.runs)

    @property
    def sets(self) -> list[SetFigures]:
        """The evaluated sets of all runs."""
        return [one for run in self.runs for one in run.sets]

    @property
    def modes(self) -> list[ModeFigures]:
        """The failure modes of all runs."""
        return [one for run in self.runs for one in run.modes]

    def pooled(self) -> Share:
        """Return PFM over the distinct sets of all runs; of a set met twice the first counts."""
        distinct: dict[str, SetFigures] = {}
        for one in self.sets:
            if one.counted:
                distinct.setdefault(one.key, one)
        return Share("pooled", sum(one.is_mode for one in distinct.values()), len(distinct))

    def by_expected(self) -> dict[str, Share]:
        """Return PFM within the sets of each right answer, all runs together."""
        counted = [one for one in self.sets if one.counted]
        return {
            name: Share(
                name,
                sum(one.is_mode for one in counted if one.expected == name),
                sum(one.expected == name for one in counted),
            )
            for name in sorted({one.expected for one in counted})
        }

    def by_direction(self) -> dict[str, Share]:
        """Return the share of each direction among the failing trials of the searches."""
        names = sorted({name for run in self.runs for name in run.directions})
        counts = {name: sum(run.directions.get(name, 0) for run in self.runs) for name in names}
        total = sum(counts.values())
        return {name: Share(name, counts[name], total) for name in names}

    def infeasible(self) -> dict[int, Share]:
        """Return the share of sets without a valid scene, by size."""
        return self._by_size(lambda one: int(one.infeasible), lambda one: 1)

    def invalid(self) -> dict[int, Share]:
        """Return the share of trials without a valid scene, by size."""
        return self._by_size(lambda one: one.invalid, lambda one: one.scenes)

    def drawn_again(self, attempts: int) -> dict[int, Share]:
        """Return the share of drawn scenes that were not valid, by size.

        Args:
            attempts: Scenes drawn for a trial before it has none (`Domain.attempts`).
        """
        return self._by_size(
            lambda one: one.draws - (one.scenes - one.invalid) + attempts * one.invalid,
            lambda one: one.draws + attempts * one.invalid,
        )

    def _by_size(
        self, some: Callable[[SetFigures], int], of: Callable[[SetFigures], int]
    ) -> dict[int, Share]:
        sizes = sorted({one.size for one in self.sets})
        return {
            size: Share(
                str(size),
                sum(some(one) for one in self.sets if one.size == size),
                sum(of(one) for one in self.sets if one.size == size),
            )
            for size in sizes
        }

    def to_json(self) -> dict[str, Any]:
        """Return the arm's figures as JSON values."""
        spreads = {"pfm": self.pfm, "mfr": self.mfr, "div": self.div}
        return {
            "model": self.model,
            "searcher": self.searcher,
            "seeds": [run.task.seed for run in self.runs],
            **{k: None if v is None else v.to_json() for k, v in spreads.items()},
            "pfm_distinct": self.pooled().to_json(),
            "against_baseline": None if self.against is None else self.against.to_json(),
            "rerun": Rerun.of(self.runs).to_json(),
            "pfm_by_expected": _shares(self.by_expected()),
            "directions": _shares(self.by_direction()),
            "infeasible_sets_by_size": _shares(self.infeasible()),
            "invalid_trials_by_size": _shares(self.invalid()),
            "runs": [run.to_json() for run in self.runs],
        }


def _shares(shares: Mapping[Any, Share]) -> dict[str, Any]:
    return {str(name): share.to_json() for name, share in shares.items()}


def compare(runs: Sequence[RunFigures], baseline: str) -> list[Arm]:
    """Return an arm for each model and searcher, in order of appearance."""
    groups: dict[tuple[str, str], list[RunFigures]] = {}
    for run in runs:
        groups.setdefault((run.task.model, run.task.searcher), []).append(run)
    pfms = {
        group: {run.task.seed: run.pfm for run in found if run.pfm is not None}
        for group, found in groups.items()
    }
    compared = {
        group: one
        for group in groups
        if group[1] != baseline
        and (one := against(pfms[group], pfms.get((group[0], baseline), {}))) is not None
    }
    corrected = holm([one.p for one in compared.values()])
    found = {
        group: replace(one, p_holm=p)
        for (group, one), p in zip(compared.items(), corrected, strict=True)
    }
    return [
        Arm(
            *group,
            runs=tuple(sorted(members, key=lambda run: run.task.seed)),
            against=found.get(group),
        )
        for group, members in groups.items()
    ]
