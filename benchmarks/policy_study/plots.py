"""Box plots of the four metrics, and cumulative failures over the episodes of a search."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...reports.figures import GRID, INK, MUTED, to_svg
from .comparison import Arm
from .figures import METRICS
from .plan import SEARCHERS

COLOURS = dict(
    zip(
        SEARCHERS,
        ("#6b7785", "#24303c", "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"),
        strict=True,
    )
)
"""Okabe and Ito's colours, told apart by most who do not see all colours; baselines are grey."""

SPARE = "#e69f00"

LINES = {"random": ":", "fscs-art": "--", "object-only": "-."}
"""Lines of what is compared with; all others are solid."""

DPI = 150


def cumulative_failures(arms: Sequence[Arm]) -> Any:
    """Return a figure: the median of cumulative failures over seeds, the quartiles as a band."""
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(arm.model for arm in arms))
    figure = Figure(figsize=(7.2, 0.6 + 3.4 * len(models)), layout="constrained")
    panels = figure.subplots(len(models), 1, squeeze=False)[:, 0]
    handles: dict[str, Any] = {}
    for axes, model in zip(panels, models, strict=True):
        longest = 1
        for arm in (arm for arm in arms if arm.model == model):
            curves = _curves(arm)
            episodes = np.arange(curves.shape[1])
            longest = max(longest, len(episodes) - 1)
            low, middle, high = np.percentile(curves, [25, 50, 75], axis=0)
            colour = COLOURS.get(arm.searcher, SPARE)
            axes.fill_between(episodes, low, high, color=colour, alpha=0.13, linewidth=0)
            (handles[arm.searcher],) = axes.plot(
                episodes, middle, LINES.get(arm.searcher, "-"), color=colour, linewidth=1.8,
                label=arm.searcher,
            )  # fmt: skip
        axes.set_ylabel("failures")
        axes.set_title(model, fontsize=11, color=INK, loc="left")
        axes.set_xlim(0, longest)
        axes.set_ylim(bottom=0)
        _style(axes, "both")
    panels[-1].set_xlabel("episodes")
    figure.legend(
        handles=list(handles.values()), loc="outside right upper", frameon=False, labelcolor=INK
    )
    return figure


def boxes(arms: Sequence[Arm]) -> Any:
    """Return a figure: for each policy a row, for each metric the spread over seeds."""
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(arm.model for arm in arms))
    searchers = list(dict.fromkeys(arm.searcher for arm in arms))
    height = 1.1 + 0.34 * len(searchers)
    figure = Figure(figsize=(10.0, 0.3 + height * len(models)), layout="constrained")
    panels = figure.subplots(len(models), len(METRICS), squeeze=False, sharex="col", sharey=True)
    for row, model in zip(panels, models, strict=True):
        mine = {arm.searcher: arm for arm in arms if arm.model == model}
        for axes, metric in zip(row, METRICS, strict=True):
            _box_panel(axes, [mine.get(name) for name in searchers], metric)
            axes.set_title(metric.upper(), fontsize=11, color=INK, loc="left")
        row[0].set_yticks(range(len(searchers)), searchers)
        row[0].set_ylim(len(searchers) - 0.4, -0.6)
        if len(models) > 1:
            row[0].set_ylabel(model)
    for axes, metric in zip(panels[-1], METRICS, strict=True):
        axes.set_xlim(*_limits(arms, metric))
        axes.set_xlabel("%")
    return figure


def files(figure: Any, name: str) -> dict[str, bytes]:
    """Return a figure as ``NAME.svg`` and ``NAME.png``, the same bytes each time."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return {f"{name}.svg": to_svg(figure, name).encode(), f"{name}.png": buffer.getvalue()}


def _curves(arm: Arm) -> Any:
    """Return cumulative failures from before the first episode on, `seeds x episodes + 1`."""
    shortest = min(len(run.failures) for run in arm.runs)
    return np.array([[0, *run.failures[:shortest]] for run in arm.runs], dtype=np.float64)


def _limits(arms: Sequence[Arm], metric: str) -> tuple[float, float]:
    """Return the ends of a metric's axis; values that hardly differ do not fill it."""
    values = [100 * value for arm in arms for value in arm.by_seed(metric).values()] or [0.0, 100.0]
    centre, width = (min(values) + max(values)) / 2, max(1.1 * (max(values) - min(values)), 10.0)
    return centre - width / 2, centre + width / 2


def _box_panel(axes: Any, arms: Sequence[Arm | None], metric: str) -> None:
    for place, arm in enumerate(arms):
        values = [] if arm is None else [100 * value for value in arm.by_seed(metric).values()]
        if arm is None or not values:
            continue
        colour = COLOURS.get(arm.searcher, SPARE)
        low, middle, high = np.percentile(values, [25, 50, 75])
        # Whiskers reach the extremes: every seed is drawn anyway.
        axes.hlines(place, min(values), max(values), color=colour, linewidth=1.2)
        axes.barh(
            place, high - low, left=low, height=0.55, color="white", edgecolor=colour, linewidth=1.2
        )
        axes.barh(place, high - low, left=low, height=0.55, color=colour, alpha=0.25)
        axes.vlines(middle, place - 0.275, place + 0.275, color=colour, linewidth=2.2)
        axes.scatter(
            values, [place] * len(values), s=9, color=colour, alpha=0.7, linewidths=0, zorder=3
        )
        axes.annotate(
            f"{middle:.1f}", (1.0, place), xycoords=("axes fraction", "data"),
            xytext=(3, 0), textcoords="offset points", va="center", fontsize=8, color=INK,
        )  # fmt: skip
    _style(axes, "x")


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
