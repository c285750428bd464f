"""What episodes cover: failure rate, trajectory coverage and failing objects (FATE-VLA §4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..core import Evaluation, Outcome, Trial
from ..runs.run import RunData
from .shares import Share

Source = Literal["object", "gripper"]
Area = Literal["table", "targets"]

GRID = (10, 10)
"""Bins along x and y unless told otherwise. Ours: the paper does not say how many it uses."""

SLACK = 0.01
"""How far an object's middle may be below the table's top and still be on it, m."""


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """One episode of a run that ended in a pass or a failure.

    Attributes:
        trial: Its trial.
        failed: Whether it counts as a failure.
        object: Id of the object to pick up.
        record: What the run keeps of the episode; nothing where the engine failed before its end.
        standing: Whether the object stood, None if that is not known.
    """

    trial: Trial
    failed: bool
    object: str
    record: Mapping[str, Any]
    standing: bool | None = None

    def places(self, source: Source) -> list[tuple[float, float, float]]:
        """Return where the object or the gripper was after each step, m."""
        rows = self.record.get(f"{source}_path") or []
        return [(float(row[0]), float(row[1]), float(row[2])) for row in rows]

    def path(self, source: Source) -> list[tuple[float, float]]:
        """Return where the object or the gripper was after each step, x and y in m."""
        return [place[:2] for place in self.places(source)]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which share of a grid was visited; its bins are said with every figure.

    Attributes:
        grid: Bins along x and y.
        area: What is divided: the whole table, or where targets lie.
        source: Whose path counts.
        visited: Bins visited in all episodes.
        failing: Bins visited in failing ones.
    """

    grid: tuple[int, int]
    area: Area
    source: Source
    visited: frozenset[tuple[int, int]]
    failing: frozenset[tuple[int, int]]

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self.grid[0] * self.grid[1]

    @property
    def tc(self) -> float:
        """Trajectory coverage: share of the bins visited."""
        return len(self.visited) / self.bins

    @property
    def tcf(self) -> float:
        """Trajectory coverage under failure: share of the bins visited in failing episodes."""
        return len(self.failing) / self.bins


def has_episodes(run: RunData) -> bool:
    """Whether the run's trials are episodes over scene vectors."""
    return run.config.get("domain") == "pickup"


def played(run: RunData) -> list[PlayedEpisode]:
    """Return the search's episodes that passed or failed, in order, repeats left out.

    They are those that the other rates count, whatever the run knows of them.
    """
    found = []
    for evaluation, trial in _trials(run):
        failed = evaluation.new.failed(trial)
        if not failed and (trial.outcome is not Outcome.PASS or trial.repeats is not None):
            continue
        scene = run.records[trial.key, trial.index].scene
        target, episode = (_mapping(scene.get(name)) for name in ("target", "episode"))
        standing = target.get("standing")
        found.append(
            PlayedEpisode(
                trial,
                failed,
                str(target.get("object", "?")),
                episode,
                standing if isinstance(standing, bool) else None,
            )
        )
    return found


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _trials(run: RunData) -> Iterator[tuple[Evaluation[Any], Trial]]:
    for evaluation in run.evaluations:
        for trial in evaluation.new.trials:
            yield evaluation, trial


def coverage(
    episodes: Sequence[PlayedEpisode],
    grid: tuple[int, int] = GRID,
    source: Source = "object",
    area: Area = "table",
) -> Coverage:
    """Return which bins were visited during episodes, from the start to the end.

    What lies beyond the area or below the table's top, such as an object that fell off the table,
    visits nothing.

    Args:
        episodes: The episodes.
        grid: Bins along x and y.
        source: Whose path counts.
        area: What is divided.
    """
    from ..envs.pickup.scene import TABLE, TABLE_TOP
    from ..envs.pickup.space import X_RANGE, Y_RANGE

    low_x, high_x, low_y, high_y = TABLE if area == "table" else (*X_RANGE, *Y_RANGE)
    visited: set[tuple[int, int]] = set()
    failing: set[tuple[int, int]] = set()
    for episode in episodes:
        bins = {
            (
                min(int((x - low_x) / (high_x - low_x) * grid[0]), grid[0] - 1),
                min(int((y - low_y) / (high_y - low_y) * grid[1]), grid[1] - 1),
            )
            for x, y, z in episode.places(source)
            if low_x <= x <= high_x and low_y <= y <= high_y and z >= TABLE_TOP - SLACK
        }
        visited |= bins
        if episode.failed:
            failing |= bins
    return Coverage(grid, area, source, frozenset(visited), frozenset(failing))


def rates_by_object(episodes: Sequence[PlayedEpisode]) -> list[Share]:
    """Return the failure rate of each object's episodes, the surest failing first."""
    return _shares((episode.object, episode.failed) for episode in episodes)


def rates_by_orientation(episodes: Sequence[PlayedEpisode]) -> list[Share]:
    """Return the failure rates of the episodes with a standing and a lying object."""
    names = {True: "standing", False: "lying", None: "?"}
    return _shares((names[episode.standing], episode.failed) for episode in episodes)


def _shares(outcomes: Iterable[tuple[str, bool]]) -> list[Share]:
    failures: dict[str, int] = {}
    n: dict[str, int] = {}
    for name, failed in outcomes:
        failures[name] = failures.get(name, 0) + failed
        n[name] = n.get(name, 0) + 1
    shares = [Share(name, failures[name], n[name]) for name in n]
    return sorted(shares, key=lambda s: (-s.interval[0], -s.n, s.name))


def episode_metrics(
    run: RunData,
    grid: tuple[int, int] = GRID,
    source: Source = "object",
    area: Area = "table",
) -> dict[str, Any]:
    """Return ``fr``, ``tc``, ``tcf``, ``foc`` and what they refer to; None without data.

    ``fr`` failing episodes among all that passed or failed; ``tc`` and ``tcf`` shares of the
    grid's bins that were visited, in all and in failing episodes; ``foc`` share of the objects
    with at least one failure; ``coverage`` the grid; ``fr_by_object``. With one trial a candidate
    ``fr`` is what PFM is.

    Args:
        run: The run.
        grid: Bins along x and y.
        source: Whose path counts.
        area: What is divided.
    """
    episodes = played(run)
    found = coverage(episodes, grid, source, area)
    shares = rates_by_object(episodes)
    named = (run.config.get("domain_data") or {}).get("targets")
    objects = list(named) if isinstance(named, list) and named else [s.name for s in shares]
    failed = sum(share.failures > 0 for share in shares)
    total = Share("episodes", sum(e.failed for e in episodes), len(episodes))
    return {
        "fr": total.rate,
        "tc": found.tc if episodes else None,
        "tcf": found.tcf if episodes else None,
        "foc": failed / len(objects) if episodes else None,
        "coverage": {
            "grid": list(found.grid),
            "bins": found.bins,
            "visited": len(found.visited),
            "visited_failing": len(found.failing),
            "source": found.source,
            "area": found.area,
            "objects": len(objects),
            "objects_failed": failed,
        },
        "fr_by_object": {share.name: share.to_json() for share in shares},
    }


def reasons(episodes: Sequence[PlayedEpisode]) -> dict[str, int]:
    """Return the number of failures by reason, the most frequent first."""
    from .modes import count

    return count(episode.trial.direction for episode in episodes if episode.failed)
