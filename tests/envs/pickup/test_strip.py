"""An episode as a strip: times and events under the frames."""

from __future__ import annotations

import numpy as np

from vlmfail.core import Picture
from vlmfail.envs.pickup.episode import Episode
from vlmfail.envs.pickup.scene import PickUpScene, Pose
from vlmfail.envs.pickup.strip import captions, events, strip
from vlmfail.envs.pickup.worlds.world import State

SCENE = PickUpScene(Pose("apple", -0.2, 0.2, True, 0.0), "pick apple")
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def state(off: float, *, raised: float = 0.0, held: str = "", success: bool = False) -> State:
    z = 0.904 + raised
    return State(
        (-0.2, 0.2, z), UPRIGHT, (-0.2 + off, 0.2, z), UPRIGHT, 0.05, raised, held == "apple",
        frozenset(), held, success,
    )  # fmt: skip


def episode(*states: State) -> Episode:
    return Episode(SCENE, states, np.full((len(states) - 1, 7), -1.0, np.float32))


DROPPED = episode(
    state(0.3), state(0.2), state(0.04), state(0.0, held="apple"),
    state(0.0, held="apple", raised=0.08), state(0.1), state(0.2),
)  # fmt: skip


def test_events_of_a_drop_in_order() -> None:
    assert events(DROPPED) == [(2, "reached"), (3, "grasped"), (4, "raised 8 cm"), (5, "lost")]


def test_an_object_never_reached_says_how_near() -> None:
    assert events(episode(state(0.3), state(0.12), state(0.2))) == [(1, "nearest: 12 cm off")]


def test_another_object_in_the_gripper_is_named() -> None:
    told = events(
        episode(state(0.3), state(0.2, held="redbull_can"), state(0.3, held="redbull_can"))
    )
    assert (1, "grasped the red bull can") in told


def test_a_touch_that_raises_nothing_is_not_called_raised() -> None:
    told = events(episode(state(0.3), state(0.0, held="apple", raised=0.004), state(0.1)))
    assert [what for _, what in told] == ["reached", "grasped", "lost"]


def test_captions_tell_time_and_what_happened_meanwhile() -> None:
    assert captions([(2, "reached"), (3, "grasped"), (3, "success")], [0, 3, 6]) == [
        "start",
        "1.0 s: reached (0.7 s), grasped, success",
        "2.0 s",
    ]


def test_the_strip_is_one_row_of_its_frames() -> None:
    frames = {
        step: Picture.from_pixels(np.full((96, 128, 3), 40 * (k + 1), np.uint8))
        for k, step in enumerate((6, 0, 4))
    }
    one = strip(DROPPED, frames, tile_width=128)
    assert one is not None
    height, width, _ = one.pixels.shape
    assert 3 * 128 < width < 3 * 128 + 60
    assert 96 < height < 220
    row = one.pixels[50, :, 0].tolist()
    assert row.index(80) < row.index(120) < row.index(40)


def test_no_frames_no_strip() -> None:
    assert strip(DROPPED) is None
