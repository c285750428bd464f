"""A bench's plots: what is found along a run, the spread over runs, rate against diversity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.text import tamed
from ...reports.figures import GRID, INK, MUTED, to_svg
from .arms import Bench
from .comparison import Arm, main_metric
from .metrics import BY_KEY, Metric
from .tables import curve, series_of

BASELINE = "#6b7785"

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c510a", "#5e3c99",
    "#1b7837", "#b2182b",
)  # fmt: skip
"""Okabe and Ito's colours and four more, told apart by most who do not see all colours."""

LONGEST_TITLE = 44
"""Characters of a panel's title."""


def colours(bench: Bench) -> dict[str, str]:
    """Return a colour for every searcher; the baseline is grey."""
    others = [one.label for one in bench.searchers if one.label != bench.baseline]
    found = {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(others)}
    return {bench.baseline: BASELINE, **found}


def dashes(bench: Bench) -> dict[str, str]:
    """Return a kind of line for every searcher: where colours come again, lines differ."""
    others = [one.label for one in bench.searchers if one.label != bench.baseline]
    kinds = ("-", "--", ":", "-.")
    found = {label: kinds[i // len(COLOURS) % len(kinds)] for i, label in enumerate(others)}
    return {bench.baseline: ":", **found}


def curves(bench: Bench, arms: Sequence[Arm]) -> str:
    """Return an SVG: the median of what is found along a run, the quartiles as a band."""

    def draw(axes: Any, mine: Sequence[Arm]) -> None:
        longest = 1
        for arm in mine:
            points, colour = curve(arm), colours(bench)[arm.searcher]
            longest = max(longest, points["calls"][-1])
            axes.fill_between(
                points["calls"], points["q25"], points["q75"], color=colour, alpha=0.13, linewidth=0
            )
            axes.plot(
                points["calls"], points["median"], dashes(bench)[arm.searcher], color=colour,
                linewidth=1.8,
            )  # fmt: skip
        axes.set_xlim(0, longest)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("trials put to the model")
        axes.set_ylabel(" / ".join(dict.fromkeys(series_of(arm)[0] for arm in mine)))
        _style(axes, "both")

    return _panels(arms, draw, "curves", lambda _: 2.7)


def boxes(bench: Bench, arms: Sequence[Arm]) -> str:
    """Return an SVG: the spread of the main metric over runs, a box a searcher."""
    metric = main_metric(arms)
    if metric is None:
        return ""
    shown: Metric = metric

    def draw(axes: Any, mine: Sequence[Arm]) -> None:
        for place, arm in enumerate(mine):
            values = [shown.scale * value for value in arm.values(shown.key).values()]
            if values:
                _box(axes, place, values, colours(bench)[arm.searcher], shown.digits)
        axes.set_yticks(range(len(mine)), [_plain(arm.searcher, 24) for arm in mine])
        axes.set_ylim(len(mine) - 0.4, -0.6)
        axes.set_xlabel(shown.title)
        _style(axes, "x")

    return _panels(arms, draw, "boxes", lambda most: 0.9 + 0.32 * most)


def rate_against_diversity(bench: Bench, arms: Sequence[Arm]) -> str:
    """Return an SVG: each run's failure rate and the diversity of what it found; "" without."""
    with_both = [arm for arm in arms if _axes_of([arm]) is not None]
    if not with_both:
        return ""

    def draw(axes: Any, mine: Sequence[Arm]) -> None:
        across, up = _axes_of(mine) or (BY_KEY["mfr"], BY_KEY["div"])
        for arm in mine:
            colour = colours(bench)[arm.searcher]
            x, y = arm.values(across.key), arm.values(up.key)
            both = [unit for unit in x if unit in y]
            if not both:
                continue
            points = np.array(
                [(across.scale * x[unit], up.scale * y[unit]) for unit in both], dtype=np.float64
            )
            axes.scatter(points[:, 0], points[:, 1], s=10, color=colour, alpha=0.35, linewidths=0)
            spread = points.std(axis=0, ddof=1) if len(points) > 1 else np.zeros(2)
            axes.errorbar(
                *points.mean(axis=0), xerr=spread[0], yerr=spread[1], fmt="o", color=colour,
                markersize=7, markeredgecolor="white", elinewidth=1.2,
            )  # fmt: skip
        axes.set_xlabel(across.title)
        axes.set_ylabel(up.title)
        axes.margins(0.12)
        _style(axes, "both")

    return _panels(with_both, draw, "rate-diversity", lambda _: 2.7)


def _axes_of(arms: Sequence[Arm]) -> tuple[Metric, Metric] | None:
    """Return rate and diversity: of episodes how much of the table the failures cover."""
    for across, up in (("fr", "tcf"), ("mfr", "div")):
        if any(set(arm.values(across)) & set(arm.values(up)) for arm in arms):
            return BY_KEY[across], BY_KEY[up]
    return None


def _panels(
    arms: Sequence[Arm],
    draw: Callable[[Any, Sequence[Arm]], None],
    name: str,
    height: Callable[[int], float],
) -> str:
    """Return an SVG with a panel for each group of environments and model, two in a row."""
    from matplotlib.figure import Figure

    parts: Mapping[tuple[str, str], list[Arm]] = {}
    parts = {key: [] for key in dict.fromkeys((arm.group, arm.model) for arm in arms)}
    for arm in arms:
        parts[arm.group, arm.model].append(arm)
    columns = min(2, len(parts))
    rows = -(-len(parts) // columns)
    most = max(len(members) for members in parts.values())
    figure = Figure(
        figsize=(5.1 * columns if columns > 1 else 7.2, rows * height(most)), layout="constrained"
    )
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    models = {model for _, model in parts}
    for axes, ((group, model), members) in zip(panels, parts.items(), strict=False):
        title = group if len(models) == 1 else f"{group} · {model}"
        axes.set_title(_plain(title, LONGEST_TITLE), fontsize=10.5, color=INK, loc="left")
        draw(axes, members)
    for axes in panels[len(parts) :]:
        axes.set_axis_off()
    return to_svg(figure, name)


def _plain(text: str, most: int) -> str:
    """Return foreign text that is drawn as it is: no formula, no glyph that is missing."""
    shown = tamed(text)
    if len(shown) > most:
        shown = f"{shown[: most - 8]}…{shown[-7:]}"
    kept = "".join(c if c.isascii() or c in "…·−±τ≥" else "?" for c in shown)
    return kept.replace("$", r"\$")


def _box(axes: Any, place: int, values: Sequence[float], colour: str, digits: int) -> None:
    low, middle, high = np.percentile(values, [25, 50, 75])
    # Whiskers reach the extremes: every run is drawn anyway.
    axes.hlines(place, min(values), max(values), color=colour, linewidth=1.2)
    axes.barh(place, high - low, left=low, height=0.55, color=colour, alpha=0.25)
    axes.vlines(middle, place - 0.275, place + 0.275, color=colour, linewidth=2.2)
    axes.scatter(
        values, [place] * len(values), s=9, color=colour, alpha=0.7, linewidths=0, zorder=3
    )
    axes.annotate(
        f"{middle:.{digits}f}", (1.0, place), xycoords=("axes fraction", "data"), xytext=(3, 0),
        textcoords="offset points", va="center", fontsize=8, color=INK,
    )  # fmt: skip


def _style(axes: Any, grid: str) -> None:
    axes.grid(axis=grid, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=MUTED, labelsize=9)
    for label in (*axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
