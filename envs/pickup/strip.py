"""An episode as one picture: a row of frames, each with its time and what happened up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...core import Picture
from ...rendering.contact_sheet import contact_sheet
from .objects import objects
from .reasons import RAISED, REACHED, distance
from .worlds.world import CONTROL_HZ

if TYPE_CHECKING:
    from .episode import Episode

TILE_WIDTH = 256
"""Width of a frame in a strip, pixels."""


def strip(
    episode: Episode, frames: Mapping[int, Picture] | None = None, tile_width: int = TILE_WIDTH
) -> Picture | None:
    """Return the strip of an episode; None where there are no frames.

    Args:
        episode: What happened.
        frames: Pictures by step; by default those of the episode.
        tile_width: Width of a frame in the strip, pixels.
    """
    shown = episode.frames if frames is None else frames
    if not shown:
        return None
    steps = sorted(shown)
    return contact_sheet(
        [shown[step] for step in steps],
        captions(events(episode), steps),
        columns=len(steps),
        tile_width=tile_width,
    )


def events(episode: Episode) -> list[tuple[int, str]]:
    """Return what happened in an episode, (step, what) in order."""
    target = objects().of(episode.scene.target.object)
    moments, states = episode.moments, episode.states
    found: list[tuple[int, str]] = []
    reached = next((k for k, s in enumerate(states) if distance(s, target) < REACHED), None)
    if reached is None:
        found.append((moments.nearest_step, f"nearest: {100 * moments.nearest:.0f} cm off"))
    else:
        found.append((reached, "reached"))
    others = {s.held: k for k, s in reversed(list(enumerate(states)))}
    found += [
        (step, f"grasped the {objects().of(name).title}")
        for name, step in others.items()
        if name not in ("", target.id)
    ]
    if moments.grasped_step is not None:
        found.append((moments.grasped_step, "grasped"))
    if moments.raised_step is not None and moments.raised >= RAISED:
        found.append((moments.raised_step, f"raised {100 * moments.raised:.0f} cm"))
    if moments.lost_step is not None:
        found.append((moments.lost_step, "lost"))
    success = next((k for k, s in enumerate(states) if k and s.success), None)
    if success is not None:
        found.append((success, "success"))
    order = {text: k for k, (_, text) in enumerate(found)}
    return sorted(found, key=lambda event: (event[0], order[event[1]]))


def captions(happened: Sequence[tuple[int, str]], steps: Sequence[int]) -> list[str]:
    """Return a caption for each frame: its time, and what happened since the frame before.

    Args:
        happened: (step, what), as from `events`.
        steps: Of the frames, in order.
    """
    out = []
    before = -1
    for step in steps:
        parts = [
            what if at == step else f"{what} ({at / CONTROL_HZ:.1f} s)"
            for at, what in happened
            if before < at <= step
        ]
        time = "start" if step == 0 else f"{step / CONTROL_HZ:.1f} s"
        out.append(": ".join([time, ", ".join(parts)] if parts else [time]))
        before = step
    return out
