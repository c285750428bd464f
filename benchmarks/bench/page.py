"""A bench as one self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.text import tamed
from ...reports.bench_page import render_bench
from ...reports.wording import plural
from ..studies.markdown import machine
from . import plots
from .arms import Bench, Task
from .comparison import Arm, main_metric, metrics_of
from .metrics import BY_KEY
from .tables import LEVEL, Table, centre, comparison_tables, cost_table, figure_tables, notes
from .thresholds import threshold_tables

DASHES = {"--": "7 4", ":": "2 3", "-.": "7 3 2 3"}
"""Lines of a plot in the words of SVG."""


def page(
    bench: Bench,
    arms: Sequence[Arm],
    *,
    command: str,
    failed: Mapping[Task, str],
    unfinished: int,
) -> str:
    """Return the page.

    Args:
        bench: The bench.
        arms: Its arms.
        command: The command that made it.
        failed: Runs that failed, and why.
        unfinished: Runs that are not in the tables, failed ones included.
    """
    from markupsafe import Markup

    main = main_metric(arms)
    lead, statistics, *others = notes(bench, arms)
    return render_bench(
        {
            "title": tamed(bench.name),
            "headline": headline(bench, arms),
            "facts": _facts(bench, arms, unfinished),
            "notices": [*_unfinished(unfinished, failed), *map(tamed, others)],
            "lead": [
                *([tamed(bench.about)] if bench.about else []),
                tamed(lead),
                "The best of a column is marked.",
            ],
            "statistics": [
                tamed(statistics),
                f"Green is better, red worse where p (Holm) < {LEVEL:g}.",
            ],
            "tables": [
                _table(one) for one in (*figure_tables(bench, arms), *threshold_tables(bench, arms))
            ],
            "comparisons": [_table(one) for one in comparison_tables(bench, arms)],
            "cost": _table(cost_table(arms)),
            "meanings": [(m.title.removesuffix(" %"), m.meaning) for m in metrics_of(arms)],
            "keys": _keys(bench, arms),
            # Drawn by us: whatever foreign text is in them was turned into paths.
            "curves": Markup(plots.curves(bench, arms)) if arms else "",
            "boxes": Markup(plots.boxes(bench, arms)) if arms else "",
            "diversity": Markup(plots.rate_against_diversity(bench, arms)) if arms else "",
            "main": "" if main is None else main.title,
            "baseline": tamed(bench.baseline),
            "failed": [(tamed(str(task)), tamed(why, 500)) for task, why in failed.items()],
            "command": tamed(command),
            "settings": _settings(bench),
        }
    )


def headline(bench: Bench, arms: Sequence[Arm]) -> str:
    """Return in a sentence or two which searcher is best by the main metric, and by how much."""
    metric = main_metric(arms)
    if metric is None:
        return "No run has data yet."
    groups = list(dict.fromkeys((arm.group, arm.model) for arm in arms))
    best: dict[str, int] = {}
    alone = ""
    for group in groups:
        found = [
            (metric.better * value, arm)
            for arm in arms
            if (arm.group, arm.model) == group and (value := centre(bench, metric, arm)) is not None
        ]
        if not found:
            continue
        value, arm = max(found, key=lambda pair: pair[0])
        best[arm.searcher] = best.get(arm.searcher, 0) + 1
        base = next((v for v, one in found if one.searcher == bench.baseline), None)
        alone = f"{arm.searcher} finds most by {_said(metric.key, value * metric.better)}"
        if base is not None and arm.searcher != bench.baseline:
            alone += f"; {bench.baseline} reaches {_said(metric.key, base * metric.better)}"
    title = metric.title.removesuffix(" %")
    if len(groups) == 1:
        return tamed(f"{alone}.")
    ranked = sorted(best.items(), key=lambda pair: -pair[1])
    won = ", ".join(f"{name} in {number}" for name, number in ranked)
    return tamed(f"Best by {title} in {len(groups)} comparisons: {won}.")


def _said(key: str, value: float) -> str:
    metric = BY_KEY[key]
    title = metric.title.removesuffix(" %")
    return f"{title} {metric.scale * value:.{metric.digits}f}{' %' if metric.percent else ''}"


def _facts(bench: Bench, arms: Sequence[Arm], unfinished: int) -> list[tuple[str, str, str]]:
    complete = sum(len(arm.runs) for arm in arms)
    groups = dict.fromkeys(env.group for env in bench.envs)
    models = dict.fromkeys(model for env in bench.envs for model in env.models)
    landscapes = "" if len(groups) == len(bench.envs) else f"{len(bench.envs)} landscapes"
    calls = sum(run.calls for arm in arms for run in arm.runs)
    return [
        ("Runs", str(complete), f"of {complete + unfinished}"),
        ("Searchers", str(len(bench.searchers)), tamed(f"baseline {bench.baseline}")),
        ("Environments", str(len(groups)), landscapes or tamed(next(iter(groups)))),
        ("Models", str(len(models)), tamed(", ".join(models), 60)),
        ("Trials a run", str(bench.budget), f"{plural(len(bench.seeds), 'seed')} · {calls} in all"),
    ]


def _unfinished(unfinished: int, failed: Mapping[Task, str]) -> list[str]:
    if not unfinished:
        return []
    bad = f"; {len(failed)} failed just now" if failed else ""
    are = "run is" if unfinished == 1 else "runs are"
    return [
        f"{unfinished} {are} not over and in no table{bad}. The same command goes on with them."
    ]


def _keys(bench: Bench, arms: Sequence[Arm]) -> list[tuple[str, str, str]]:
    there = {arm.searcher for arm in arms}
    lines = plots.dashes(bench)
    return [
        (tamed(label), colour, DASHES.get(lines[label], ""))
        for label, colour in plots.colours(bench).items()
        if label in there
    ]


def _table(one: Table) -> dict[str, Any]:
    """Return a table as the template shows it."""
    ends = [end for low, _, high in one.spans.values() for end in (low, high)]
    left, right = min([0.0, *ends]), max([0.0, *ends])
    width = (right - left) or 1.0
    margin = 0.06 * width

    def place(value: float) -> float:
        return (value - left + margin) / (width + 2 * margin)

    rows = []
    for i, row in enumerate(one.rows):
        effect = None
        if i in one.spans:
            low, value, high = one.spans[i]
            sure = 0 if i not in one.sure else one.better if value > 0 else -one.better
            effect = {
                "zero": place(0.0),
                "low": place(low),
                "value": place(value),
                "high": place(high),
                "way": {1: "up", -1: "down", 0: ""}[sure],
                "words": f"difference {value:.3g}, 95 % interval {low:.3g} to {high:.3g}",
            }
        cells = [tamed(text) for text in row]
        best = [j for j in range(len(row)) if (i, j) in one.best]
        rows.append({"cells": cells, "best": best, "effect": effect})
    return {
        "title": tamed(one.title),
        "head": [tamed(name) for name in one.head],
        "rows": rows,
        "left": one.left,
        "note": tamed(one.note),
        "effects": bool(one.spans),
    }


def _settings(bench: Bench) -> list[tuple[str, str]]:
    searchers = [
        one.label
        + (f" = {one.name}" if one.name != one.label else "")
        + (f" {json.dumps(dict(one.args), ensure_ascii=False)}" if one.args else "")
        for one in bench.searchers
    ]
    found = {
        "searchers": "; ".join(searchers),
        "environments": "; ".join(dict.fromkeys(env.group for env in bench.envs)),
        "seeds": ", ".join(map(str, bench.seeds)),
        "budget": bench.budget,
        "trials a candidate": "the env's own" if bench.trials is None else bench.trials,
        "batch": bench.batch,
        "threshold": bench.threshold,
        "figures": bench.statistic,
        "fresh trials": f"{bench.top} x {bench.fresh}" if bench.confirm else "none",
        "machine": machine(),
        "folder": bench.out,
    }
    return [(name, tamed(str(text), 400)) for name, text in found.items()]
