"""A bench's tables: what each searcher found, how far it is from the baseline, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...analysis.audited import REMOVAL_TRIALS, TRIALS
from ..studies.comparison import Estimate, Spread
from ..studies.markdown import EMPTY, estimate, machine, p_value
from .arms import Bench, Task
from .comparison import Arm, main_metric, metrics_of
from .metrics import Metric

LEVEL = 0.05
"""p, corrected, from which on a difference is not called one."""

POINTS = 200
"""Points of a curve in the results."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts, some of which are foreign: whoever shows it escapes them.

    Attributes:
        title: Its heading.
        head: Names of the columns.
        rows: Cells.
        left: Number of columns, from the first on, that are names.
        note: What a reader must know.
        best: Cells, by row and column, that are the best of their column.
        spans: Intervals to draw, by row: (low, value, high) each.
        better: 1 when more than the baseline is better, -1 when less is, 0 when neither.
        sure: Rows whose difference the corrected test calls one.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()
    spans: Mapping[int, tuple[float, float, float]] = field(default_factory=dict)
    better: int = 1
    sure: frozenset[int] = frozenset()


def figure_tables(bench: Bench, arms: Sequence[Arm]) -> list[Table]:
    """Return one table for each group of environments and model: a row a searcher."""
    tables = []
    for group, model in dict.fromkeys((arm.group, arm.model) for arm in arms):
        mine = [arm for arm in arms if (arm.group, arm.model) == (group, model)]
        metrics = metrics_of(mine)
        rows = [
            (arm.searcher, str(len(arm.runs)), *(_cell(bench, metric, arm) for metric in metrics))
            for arm in mine
        ]
        best = {
            (row, 2 + column)
            for column, metric in enumerate(metrics)
            for row in _best(bench, metric, mine)
        }
        head = ("searcher", "runs", *(metric.title for metric in metrics))
        tables.append(Table(f"{group} · {model}", head, tuple(rows), 1, best=frozenset(best)))
    return tables


def comparison_tables(bench: Bench, arms: Sequence[Arm]) -> list[Table]:
    """Return one table for each metric: how far each searcher is from the baseline.

    The main metric is first; one that is 0 for every run has none.
    """
    base = bench.baseline
    main = main_metric(arms)
    name = _names(arms)
    tables = []
    for metric in sorted(metrics_of(arms), key=lambda one: one is not main):
        compared = [(arm, arm.against[metric.key]) for arm in arms if metric.key in arm.against]
        if not any(any(arm.values(metric.key).values()) for arm in arms) or not compared:
            continue
        rows = tuple(
            (
                *name(arm), str(one.seeds),
                estimate(one.difference, metric.scale, sign=True, digits=metric.digits),
                EMPTY if one.ratio is None else estimate(one.ratio, 1.0, digits=2),
                p_value(one.p), p_value(one.p_holm),
            )
            for arm, one in compared
        )  # fmt: skip
        spans = {i: _scaled(one.difference, metric.scale) for i, (_, one) in enumerate(compared)}
        sure = frozenset(i for i, (_, one) in enumerate(compared) if (one.p_holm or 0.0) < LEVEL)
        title = metric.title.removesuffix(" %")
        head = (*name(None), "pairs", f"{title} − {base}", f"{title} / {base}")
        tables.append(
            Table(
                f"{title} against {base}", (*head, "p", "p (Holm)"), rows, len(name(None)),
                _way(metric), spans=spans, better=metric.better, sure=sure,
            )
        )  # fmt: skip
    return tables


def cost_table(arms: Sequence[Arm]) -> Table:
    """Return what a run took."""
    name = _names(arms)
    rows = []
    for arm in arms:
        searching = [run.seconds.get("search") for run in arm.runs]
        sets = [max(1, run.evaluations) for run in arm.runs]
        overhead = [
            None if s is None else 1000 * s / n for s, n in zip(searching, sets, strict=True)
        ]
        rows.append(
            (
                *name(arm),
                _plain(Spread.of(float(run.calls) for run in arm.runs), 0),
                _plain(Spread.of(float(run.evaluations) for run in arm.runs), 0),
                _plain(Spread.of(run.seconds.get("total") for run in arm.runs), 1),
                _plain(Spread.of(run.seconds.get("render") for run in arm.runs), 1),
                _plain(Spread.of(run.seconds.get("model") for run in arm.runs), 1),
                _plain(Spread.of(overhead), 1),
                _plain(Spread.of(float(run.spent.get("requests") or 0) for run in arm.runs), 0),
                _dollars(arm),
            )
        )  # fmt: skip
    head = (*name(None), "trials", "candidates", "s a run", "scenes, s", "model, s")
    head += ("searcher, ms a candidate", "requests", "$")
    return Table("Cost of a run", head, tuple(rows), len(name(None)))


def notes(bench: Bench, arms: Sequence[Arm]) -> list[str]:
    """Return what a reader of the tables must know, a sentence or two each."""
    pairs = "seeds"
    if any(env.unit for env in bench.envs):
        pairs = "environments that both have (a landscape counts once, whatever its seeds)"
    middle = "means ± sample sd" if bench.statistic == "mean" else "medians [quartiles]"
    trials = "the env's own m" if bench.trials is None else f"m = {bench.trials}"
    said = [
        f"Every run may charge {bench.budget} trials, {trials}, τ = {bench.threshold:g}. Figures "
        f"are {middle} over runs.",
        f"Differences and ratios are of {bench.statistic}s, paired by {pairs}, with the 95 % "
        "interval of a paired percentile bootstrap (10 000 resamples); p is of the paired "
        "permutation test, Holm's correction is over the rows of a table.",
    ]
    if bench.confirm:
        said.append(
            f"The {bench.top} surest modes of every run were tried on {bench.fresh} fresh trials "
            "each, outside the budget."
        )
    if bench.audit:
        said.append(
            "Modes that were reported, in concept sets of which no true rates are known, were "
            f"audited outside the budget: {TRIALS} fresh trials each, {REMOVAL_TRIALS} without "
            "each concept."
        )
    early = [run for arm in arms for run in arm.runs if run.calls < bench.budget]
    if early:
        said.append(
            f"{len(early)} of {sum(len(arm.runs) for arm in arms)} runs charged fewer trials than "
            f"they might: {early[0].task} {early[0].calls} of {bench.budget} ({early[0].status})."
        )
    return said + _oddities(arms)


def _names(arms: Sequence[Arm]) -> Callable[[Arm | None], tuple[str, ...]]:
    """Return what names an arm, and for None the columns: what all have in common is left out."""
    parts = {
        "env": len({arm.group for arm in arms}) > 1,
        "model": len({arm.model for arm in arms}) > 1,
        "searcher": True,
    }

    def name(arm: Arm | None) -> tuple[str, ...]:
        if arm is None:
            return tuple(part for part, told in parts.items() if told)
        values = {"env": arm.group, "model": arm.model, "searcher": arm.searcher}
        return tuple(values[part] for part, told in parts.items() if told)

    return name


def _oddities(arms: Sequence[Arm]) -> list[str]:
    said = []
    for model in dict.fromkeys(arm.model for arm in arms):
        mine = [run for arm in arms if arm.model == model for run in arm.runs]
        kinds = {repr(sorted(run.model_identity.items(), key=str)) for run in mine}
        if len(kinds) > 1:
            said.append(
                f"The runs of {model} were made with {len(kinds)} versions of it: their figures do "
                "not belong together."
            )
        noticed = [run for run in mine if run.notice]
        if noticed:
            said.append(f"{model}, {len(noticed)} of {len(mine)} runs: {noticed[0].notice}.")
    return said


def document(
    bench: Bench,
    arms: Sequence[Arm],
    *,
    command: str,
    failed: Mapping[Task, str],
    unfinished: int,
) -> dict[str, Any]:
    """Return everything that the tables show, and each run's figures, as JSON values."""
    return {
        "command": command,
        "machine": machine(),
        "out": str(bench.out),
        "budget": bench.budget,
        "trials": bench.trials,
        "batch": bench.batch,
        "threshold": bench.threshold,
        "thresholds": list(bench.thresholds),
        "about": bench.about,
        "baseline": bench.baseline,
        "statistic": bench.statistic,
        "confirm": {"top": bench.top, "fresh": bench.fresh} if bench.confirm else None,
        "audit": bench.audit,
        "envs": [
            {"label": e.label, "group": e.group, "id": e.id, "args": dict(e.args)}
            for e in bench.envs
        ],
        "searchers": [
            {"label": s.label, "name": s.name, "args": dict(s.args)} for s in bench.searchers
        ],
        "models": list(dict.fromkeys(model for env in bench.envs for model in env.models)),
        "seeds": list(bench.seeds),
        "runs": {
            "complete": sum(len(arm.runs) for arm in arms),
            "unfinished": unfinished,
            "of": len(bench.tasks()),
        },
        "failed": [
            {"env": t.env, "model": t.model, "searcher": t.searcher, "seed": t.seed, "reason": why}
            for t, why in failed.items()
        ],
        "arms": [{**arm.to_json(), "curve": curve(arm)} for arm in arms],
    }


def series_of(arm: Arm) -> tuple[str, list[tuple[int, ...]]]:
    """Return the name and the series of what is counted along a run: modes, else failures."""
    modes = [run.modes for run in arm.runs if run.modes is not None]
    if len(modes) == len(arm.runs):
        return "failure modes", modes
    return "failures", [run.failures for run in arm.runs]


def curve(arm: Arm) -> dict[str, Any]:
    """Return quartiles over the runs of what is counted along a run, at most `POINTS` of them."""
    name, series = series_of(arm)
    shortest = min((len(one) for one in series), default=0)
    calls = np.unique(np.linspace(0, shortest, POINTS + 1).round().astype(int))
    table = np.array([[0, *one[:shortest]] for one in series], dtype=np.float64)[:, calls]
    low, middle, high = np.percentile(table, [25, 50, 75], axis=0)
    return {
        "of": name,
        "calls": [int(call) for call in calls],
        "q25": [float(v) for v in low],
        "median": [float(v) for v in middle],
        "q75": [float(v) for v in high],
    }


def centre(bench: Bench, metric: Metric, arm: Arm) -> float | None:
    """Return what stands for an arm's runs by a metric."""
    value = arm.spread(metric.key)
    if value is None:
        return None
    if bench.statistic == "median" and value.quartiles is not None:
        return value.quartiles[1]
    return value.mean


def _cell(bench: Bench, metric: Metric, arm: Arm) -> str:
    return spread_cell(bench, metric, arm.spread(metric.key), len(arm.runs))


def spread_cell(bench: Bench, metric: Metric, value: Spread | None, runs: int) -> str:
    """Return a figure over `runs` runs as it is written in a table."""
    if value is None:
        return EMPTY
    scale, digits = metric.scale, metric.digits
    if bench.statistic == "median" and value.quartiles is not None:
        low, middle, high = (f"{scale * q:.{digits}f}" for q in value.quartiles)
        text = f"{middle} [{low}, {high}]" if value.n > 1 else middle
    else:
        text = f"{scale * value.mean:.{digits}f}"
        text += "" if value.sd is None else f" ± {scale * value.sd:.{digits}f}"
    # Runs without data (Div below two modes, say) are not in the mean.
    return text if value.n == runs else f"{text} (n = {value.n})"


def _best(bench: Bench, metric: Metric, arms: Sequence[Arm]) -> list[int]:
    """Return the rows of the arms that are best by a metric."""
    found = {
        i: round(metric.better * metric.scale * value, metric.digits)
        for i, arm in enumerate(arms)
        if (value := centre(bench, metric, arm)) is not None
    }
    if metric.better == 0 or len(found) < 2 or len(set(found.values())) < 2:
        return []
    return [i for i, value in found.items() if value == max(found.values())]


def _way(metric: Metric) -> str:
    unit = "Differences are in percentage points. " if metric.percent else ""
    way = {1: "More is better", -1: "Less is better", 0: "Neither is better"}[metric.better]
    return f"{unit}{way}: {metric.meaning}."


def _scaled(value: Estimate, scale: float) -> tuple[float, float, float]:
    return scale * value.low, scale * value.value, scale * value.high


def _plain(value: Spread | None, digits: int) -> str:
    return EMPTY if value is None else f"{value.mean:.{digits}f}"


def _dollars(arm: Arm) -> str:
    known = [run.spent.get("dollars") for run in arm.runs]
    sums = [float(value) for value in known if value is not None]
    return f"{sum(sums) / len(sums):.2f}" if sums and any(sums) else EMPTY
