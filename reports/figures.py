"""Plots of a run as SVG text for inlining. No pyplot: figures leave no global state behind."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

INK = "#24303c"
MUTED = "#6b7785"
GRID = "#e3e7eb"
FAILURE = "#b5402f"
ACCENT = "#2f5d8a"


def progress_plot(failures: Sequence[int], modes: Sequence[tuple[int, int]] | None) -> str:
    """Return an SVG of cumulative failures and of failure modes over the charged trials.

    Args:
        failures: Cumulative failures after each charged trial.
        modes: (charged trials, failure modes) after each evaluation; None: they are not counted.
    """
    from matplotlib.figure import Figure

    if modes is None:
        figure = Figure(figsize=(7.2, 2.4), layout="constrained")
        panels = [figure.subplots()]
    else:
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        panels = list(figure.subplots(2, 1, sharex=True, height_ratios=(3, 2)))
    top = panels[0]
    calls = range(len(failures) + 1)
    top.plot(calls, [0, *failures], color=FAILURE, linewidth=1.8)
    top.fill_between(calls, [0, *failures], color=FAILURE, alpha=0.08, linewidth=0)
    top.set_ylabel("failures")
    if modes is not None:
        panels[1].step(
            [0, *(call for call, _ in modes)],
            [0, *(number for _, number in modes)],
            where="post",
            color=ACCENT,
            linewidth=1.8,
        )
        panels[1].set_ylabel("failure modes")
    panels[-1].set_xlabel("trials put to the model")
    for axes in panels:
        _style(axes)
    return to_svg(figure, "progress")


def _style(axes: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0, top=max(1.0, axes.get_ylim()[1]))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=MUTED, labelsize=10)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def to_svg(figure: Any, salt: str) -> str:
    """Return the figure as an `<svg>` element: no XML prologue, no metadata, no date."""
    import matplotlib

    buffer = io.StringIO()
    # Without a salt the ids within the SVG are random, and with one they are alike in two plots.
    options = {"svg.fonttype": "path", "svg.hashsalt": f"vlmfail-{salt}"}
    empty = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context(options):  # type: ignore[arg-type]  # keys are typed as literals
        figure.savefig(buffer, format="svg", metadata=empty)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    return re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
