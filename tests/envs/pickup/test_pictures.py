"""What the policy sees: everything on the table, told apart; light and camera are the scene's."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.core import UnknownNameError
from vlmfail.envs.pickup.arm import AXES, BASE_POSITION, BASE_TURN, arm
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.pictures import PEOPLE_SIZE, PICTURE_SIZE, Painter
from vlmfail.envs.pickup.scene import CameraOffset, PickUpScene, Pose
from vlmfail.envs.pickup.worlds.placing import put_down
from vlmfail.envs.pickup.worlds.turns import about, matrix, product
from vlmfail.rendering.embree import EmbreeRenderer

NAMES = [thing.id for thing in objects().objects]
CORNERS = list(itertools.product((-0.5, -0.05), (0.0, 0.4)))
SCENE = PickUpScene(Pose("apple", -0.27, 0.2, True, 0.0), "pick apple")


def home() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Poses of the links of the arm at home, gripper open."""
    out = {"base": (np.array(BASE_POSITION), np.array(BASE_TURN))}
    angles = dict(zip((link.name for link in arm().turning), arm().home_joints, strict=True))
    for link in arm().links[1:]:
        place, turn = out[link.parent]
        place = place + matrix(turn) @ np.array([0.0, 0.0, link.offset])
        axis = AXES[link.joint.axis]
        if link.joint.kind == "turn":
            turn = product(turn, about(axis, angles[link.name]))
        else:
            place = place + matrix(turn) @ np.array(axis) * 0.5 * arm().opening
        out[link.name] = (place, turn)
    return out


def poses(*things: Pose) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return home() | {one.object: put_down(objects().of(one.object), one) for one in things}


def seen(painter: Painter, name: str, where: dict, size=PICTURE_SIZE) -> np.ndarray:
    """The pixels of a thing, `height x width` bool."""
    world = painter.world(where, size)
    number = 1 + [item.name for item in world.objects].index(name)
    return EmbreeRenderer().render_world(world).index == number


def middle(mask: np.ndarray) -> np.ndarray:
    return np.argwhere(mask).mean(axis=0)


def test_the_same_poses_give_the_same_bytes() -> None:
    where = poses(SCENE.target, Pose("spoon", -0.4, 0.1, False, 1.0))
    first = Painter(SCENE)
    picture = first.draw(where)
    first.draw(poses(Pose("redbull_can", -0.1, 0.1, True, 0.0)))
    assert picture.dtype == np.uint8
    assert picture.shape == (PICTURE_SIZE[1], PICTURE_SIZE[0], 3)
    assert np.array_equal(first.draw(where), picture)
    assert np.array_equal(Painter(SCENE).draw(where), picture)


def test_a_larger_picture_shows_the_same() -> None:
    painter, where = Painter(SCENE), poses(SCENE.target)
    large = painter.draw(where, PEOPLE_SIZE)
    assert large.shape == (PEOPLE_SIZE[1], PEOPLE_SIZE[0], 3)
    small = painter.draw(where, (128, 96)).astype(float)
    averaged = large.reshape(96, 4, 128, 4, 3).mean(axis=(1, 3))
    assert np.abs(averaged - small).mean() < 4.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("standing", [True, False])
def test_every_object_is_seen_in_every_corner(name: str, standing: bool) -> None:
    painter = Painter(SCENE)
    for x, y in CORNERS:
        mask = seen(painter, name, poses(Pose(name, x, y, standing, 0.5)))
        assert mask.sum() > (20 if name == "spoon" else 60), (x, y)
        rows, columns = np.nonzero(mask)
        assert 0 < rows.min() <= rows.max() < PICTURE_SIZE[1] - 1, (x, y)
        assert 0 < columns.min() <= columns.max() < PICTURE_SIZE[0] - 1, (x, y)


def test_objects_differ_in_colour() -> None:
    painter, colours = Painter(SCENE), {}
    for name in NAMES:
        where = poses(Pose(name, -0.2, 0.2, False, 0.8))
        colours[name] = painter.draw(where)[seen(painter, name, where)].astype(float).mean(axis=0)
    for one, other in itertools.combinations(NAMES, 2):
        assert np.abs(colours[one] - colours[other]).max() > 35.0, (one, other)


def test_a_turned_object_is_drawn_turned() -> None:
    painter = Painter(SCENE)
    upright, fallen = (
        seen(painter, "redbull_can", poses(Pose("redbull_can", -0.3, 0.2, standing, 0.8)))
        for standing in (True, False)
    )
    tall, wide = (np.ptp(np.argwhere(mask), axis=0) for mask in (upright, fallen))
    assert tall[0] > 1.5 * tall[1]
    assert wide[1] > 1.2 * wide[0]


def test_the_gripper_is_seen_from_home_to_the_table() -> None:
    painter, where = Painter(SCENE), home()
    assert seen(painter, "left_finger", where).sum() > 40
    assert seen(painter, "right_finger", where).sum() > 40
    closed = dict(where)
    for name in ("left_finger", "right_finger"):
        closed[name] = (where["hand"][0] + matrix(where["hand"][1]) @ (0, 0, 0.075), where[name][1])
    assert np.abs(painter.draw(closed).astype(int) - painter.draw(where)).max() > 60


def test_light_is_the_scenes() -> None:
    where = poses(SCENE.target)
    means = [Painter(replace(SCENE, light=f)).draw(where).mean() for f in (0.5, 1.0, 1.5)]
    assert means[0] + 15 < means[1] < means[2] - 8


@pytest.mark.parametrize(
    ("offset", "down", "right"),
    [
        (CameraOffset(yaw=5.0), 0.0, 1.0),
        (CameraOffset(yaw=-5.0), 0.0, -1.0),
        (CameraOffset(pitch=5.0), 1.0, 0.0),
        (CameraOffset(z=0.05), 1.0, 0.0),
    ],
)
def test_the_camera_is_the_scenes(offset: CameraOffset, down: float, right: float) -> None:
    where = poses(SCENE.target)
    before = middle(seen(Painter(SCENE), "apple", where))
    after = middle(seen(Painter(replace(SCENE, camera=offset)), "apple", where))
    assert float((after - before) @ (down, right)) > 4.0


def test_a_rolled_camera_turns_the_picture() -> None:
    where = poses(SCENE.target, Pose("carrot", -0.45, 0.02, False, 0.0))
    straight = Painter(SCENE)
    rolled = Painter(replace(SCENE, camera=CameraOffset(roll=5.0)))
    way = [
        middle(seen(one, "apple", where)) - middle(seen(one, "carrot", where))
        for one in (straight, rolled)
    ]
    turned = [math.degrees(math.atan2(-down, right)) for down, right in way]
    # Leaning right, it sees everything turned to the left.
    assert turned[1] - turned[0] == pytest.approx(5.0, abs=0.6)


def test_what_is_unknown_is_named() -> None:
    with pytest.raises(UnknownNameError, match="carrot"):
        Painter(SCENE).draw({"carot": ((0, 0, 1), (1, 0, 0, 0))})
