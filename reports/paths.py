"""Where objects and gripper went during episodes, from above, as SVG text for inlining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis.episodes import GRID as BINS
from ..analysis.episodes import PlayedEpisode, Source
from .figures import ACCENT, FAILURE, INK, MUTED, to_svg

MOST_PATHS = 400
"""Paths drawn at most; the first ones of a longer run."""


def path_plot(episodes: Sequence[PlayedEpisode]) -> str:
    """Return an SVG: paths of the object and of the gripper over the table, by outcome.

    Args:
        episodes: What was played.
    """
    from matplotlib.figure import Figure

    shown = list(episodes[:MOST_PATHS])
    figure = Figure(figsize=(7.2, 4.3), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    sources: tuple[Source, ...] = ("object", "gripper")
    for one, source in zip(axes, sources, strict=True):
        _panel(one, shown, source)
    axes[0].set_ylabel("y, m")
    failed = sum(episode.failed for episode in episodes)
    lines = [
        axes[0].plot([], [], color=colour, linewidth=2, label=label)[0]
        for colour, label in (
            (FAILURE, f"failed ({failed})"),
            (ACCENT, f"passed ({len(episodes) - failed})"),
        )
    ]
    title = None
    if len(episodes) > len(shown):
        title = f"paths of the first {len(shown)} of {len(episodes)} episodes"
    figure.legend(
        handles=lines, loc="outside lower center", ncols=2, frameon=False, labelcolor=INK,
        title=title, title_fontproperties={"size": 9},
    )  # fmt: skip
    return to_svg(figure, "paths")


def _panel(axes: Any, episodes: Sequence[PlayedEpisode], source: Source) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    from ..envs.pickup.scene import ROBOT, TABLE
    from ..envs.pickup.space import X_RANGE, Y_RANGE

    low_x, high_x, low_y, high_y = TABLE
    axes.add_patch(
        Rectangle((low_x, low_y), high_x - low_x, high_y - low_y, facecolor="#f4f1ea", zorder=0)
    )
    axes.add_patch(
        Rectangle(
            (X_RANGE[0], Y_RANGE[0]), X_RANGE[1] - X_RANGE[0], Y_RANGE[1] - Y_RANGE[0],
            fill=False, edgecolor=MUTED, linestyle=":", linewidth=1.0, zorder=1,
        )
    )  # fmt: skip
    for number in range(1, BINS[0]):
        axes.axvline(low_x + number * (high_x - low_x) / BINS[0], color="#e7e2d8", lw=0.5, zorder=0)
    for number in range(1, BINS[1]):
        axes.axhline(low_y + number * (high_y - low_y) / BINS[1], color="#e7e2d8", lw=0.5, zorder=0)
    # Failures above passes: they are what is looked for.
    for failed, colour, alpha in ((False, ACCENT, 0.35), (True, FAILURE, 0.6)):
        paths = [episode.path(source) for episode in episodes if episode.failed is failed]
        paths = [path for path in paths if path]
        axes.add_collection(
            LineCollection(paths, colors=colour, linewidths=0.9, alpha=alpha, zorder=2 + failed)
        )
        if source == "object" and paths:
            axes.scatter(
                [path[0][0] for path in paths], [path[0][1] for path in paths],
                s=9, color=colour, alpha=0.85, linewidths=0, zorder=4 + failed,
            )  # fmt: skip
    axes.plot([ROBOT[0]], [ROBOT[1]], marker="s", color=MUTED, markersize=8, zorder=3)
    axes.set_title(f"{source} path", fontsize=11, color=INK)
    axes.set_xlim(low_x - 0.05, ROBOT[0] + 0.06)
    axes.set_ylim(low_y - 0.05, high_y + 0.05)
    axes.set_aspect("equal")
    axes.set_xlabel("x, m")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(colors=MUTED, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
