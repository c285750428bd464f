"""What is demonstrated and how tiny-vla is trained: fixed before any search was run on it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class EpisodeSet:
    """Demonstrations to collect.

    Attributes:
        seed: An episode depends on this seed and its index alone.
        count: Episodes.
        distractors: Share of scenes with 0, 1, ... other objects on the table.
        noisy: Share of episodes whose executed actions are disturbed; their labels never are.
        interrupted: Share of chunks that are broken off, so that the expert plans anew from there.
        most: Labelled pictures of an episode, at most.
    """

    seed: int
    count: int
    distractors: tuple[float, ...] = (0.6, 0.25, 0.15)
    noisy: float = 0.7
    interrupted: float = 0.4
    most: int = 8


@dataclass(frozen=True)
class Noise:
    """How a disturbed chunk is disturbed: one offset, spread over the chunk, and each action.

    Attributes:
        share: Of the chunks of a noisy episode.
        aside: Standard deviation of the offset along x and y, m.
        height: Of the offset along z, m.
        turn: Of the offset about the vertical, radians.
        step: Of each action along x, y, z, m.
    """

    share: float = 0.7
    aside: float = 0.025
    height: float = 0.01
    turn: float = 0.15
    step: float = 0.004


@dataclass(frozen=True)
class SceneSet:
    """Scenes to measure on.

    Attributes:
        seed: A scene depends on this seed and its index alone.
        each: Scenes of each object.
        distractors: Other objects on the table.
    """

    seed: int
    each: int
    distractors: int = 0


@dataclass(frozen=True)
class Recipe:
    """How the network is made.

    Attributes:
        version: Of the weights, for records.
        size: (width, height) of its input, pixels.
        chunk: Actions at once.
        epochs: Fixed; the last one is kept.
        rate: Peak of the one-cycle learning rate.
        weight_decay: Of AdamW.
        batch: Pictures a step.
        grasped_share: Of the pictures in which the target is held, which are easy, so many are
            taken an epoch.
        seen_weight: Of the loss on where the target is (used in training alone).
        channels: Of the convolutions.
        points: Places that the network picks out of the picture.
        train: Demonstrations; every `validation_every`th episode is left out.
        validation_every: See `train`.
        validation: Scenes on which choices are looked at.
        held_out: Scenes of the card, measured once.
        taken: How many of the demonstrations it is trained on, the first ones; None = all.
        curve: Numbers of demonstrations that `scripts/train_tiny_vla curve` tries, then all.
        enough: It is trained on the fewest of these that reach this success on `validation`: a
            policy that mostly succeeds and still fails often enough to be searched.
        noise: See `Noise`.
    """

    version: str = "tiny-vla-1"
    size: tuple[int, int] = (160, 128)
    chunk: int = 6
    epochs: int = 16
    rate: float = 1.5e-3
    weight_decay: float = 0.01
    batch: int = 32
    grasped_share: float = 0.5
    seen_weight: float = 0.5
    channels: int = 32
    points: int = 32
    train: EpisodeSet = EpisodeSet(3001, 3000)
    validation_every: int = 20
    validation: SceneSet = SceneSet(3002, 10)
    held_out: dict[str, SceneSet] = field(
        default_factory=lambda: {
            "test": SceneSet(4001, 100),
            "test-distractors": SceneSet(4002, 20, distractors=2),
        }
    )
    taken: int | None = None
    curve: tuple[int, ...] = (375, 750, 1500)
    enough: float = 0.6
    noise: Noise = Noise()


RECIPE = Recipe()
