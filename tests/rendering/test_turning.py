"""Instances in any orientation, and a camera that is rolled."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from vlmfail.rendering.embree import EmbreeRenderer
from vlmfail.rendering.mesh import Material
from vlmfail.rendering.turning import rotation, turned
from vlmfail.rendering.world import Instance, Lamp

from .worlds import CLEAR, OVERCAST, box, busy_world, world

LAMPLIT = replace(OVERCAST, lamps=(Lamp(3.0, 2.0, 4.0, (9.0, 9.0, 9.0)),))
TUMBLED = (0.5, 0.3, -0.6, 0.3**0.5)


def picture(*objects: Instance, atmosphere=CLEAR) -> np.ndarray:
    drawn = EmbreeRenderer().render_world(world(*objects, atmosphere=atmosphere))
    return drawn.picture.pixels.astype(int)


def test_the_matrix_is_a_rotation_by_the_quaternion() -> None:
    half = math.radians(35.0)
    turn = rotation((math.cos(half), 0.0, 0.0, math.sin(half)))
    assert np.allclose(turn @ (1, 0, 0), (math.cos(2 * half), math.sin(2 * half), 0))
    matrix = rotation(TUMBLED)
    assert np.allclose(matrix @ matrix.T, np.eye(3))
    assert np.isclose(np.linalg.det(matrix), 1.0)


def test_a_turn_about_z_is_a_yaw() -> None:
    for atmosphere in (CLEAR, LAMPLIT):
        mesh = box(1.0, 0.5, 0.8)
        plain = picture(Instance("box", mesh, 5.0, 0.4, yaw=0.7), atmosphere=atmosphere)
        quaternion = (math.cos(0.35), 0.0, 0.0, math.sin(0.35))
        same = picture(Instance("box", mesh, 5.0, 0.4, turn=quaternion), atmosphere=atmosphere)
        assert np.abs(plain - same).mean() < 0.05
        assert np.quantile(np.abs(plain - same), 0.999) <= 2


def test_any_turn_is_that_of_the_mesh_itself() -> None:
    mesh = box(1.0, 0.5, 0.8, (0.2, 0.5, 0.8), Material.GLOSSY)
    for atmosphere in (CLEAR, LAMPLIT):
        item = Instance("box", mesh, 5.0, 0.4, 0.9, turn=TUMBLED)
        own = picture(item, atmosphere=atmosphere)
        baked = Instance("box", turned(mesh, TUMBLED), 5.0, 0.4, 0.9)
        assert np.abs(own - picture(baked, atmosphere=atmosphere)).mean() < 0.05
        other = Instance("box", mesh, 5.0, 0.4, 0.9)
        assert np.abs(own - picture(other, atmosphere=atmosphere)).mean() > 0.5
        low, high = item.placed().bounds
        assert np.allclose(0.5 * (low + high)[:2], (5.0, 0.4), atol=0.5)


def test_a_camera_rolled_by_half_a_turn_sees_upside_down() -> None:
    scene = world(Instance("box", box(), 5.0, 0.4))
    straight = EmbreeRenderer().render_world(scene).picture.pixels.astype(int)
    over = replace(scene, camera=replace(scene.camera, roll=math.pi))
    rolled = EmbreeRenderer().render_world(over).picture.pixels.astype(int)
    assert np.abs(rolled[::-1, ::-1] - straight).mean() < 0.5


def test_leaning_right_turns_the_picture_left() -> None:
    scene = world(Instance("box", box(0.5, 0.5, 0.5), 6.0, -2.0))
    index = [
        EmbreeRenderer().render_world(replace(scene, camera=replace(scene.camera, roll=roll))).index
        for roll in (0.0, 0.2)
    ]
    row, leaning = (np.argwhere(one == 1).mean(axis=0)[0] for one in index)
    # It stands to the right, and goes up.
    assert leaning < row - 4


def test_pixels_alone_are_those_of_the_picture() -> None:
    scene = busy_world()
    renderer = EmbreeRenderer()
    assert np.array_equal(renderer.pixels(scene), renderer.render_world(scene).picture.pixels)


def test_turned_ones_among_others_are_drawn_alike() -> None:
    one = Instance("one", box(0.6, 0.6, 0.6, (0.1, 0.6, 0.2)), 5.0, 0.6, 0.8, turn=TUMBLED)
    other = Instance("other", box(), 5.5, -0.6, yaw=0.4)
    as_turn = replace(other, turn=(math.cos(0.2), 0.0, 0.0, math.sin(0.2)))
    for atmosphere in (CLEAR, LAMPLIT):
        mixed = picture(one, other, atmosphere=atmosphere)
        alike = picture(one, as_turn, atmosphere=atmosphere)
        assert np.abs(mixed - alike).mean() < 0.05


def test_visibility_is_measured_without_a_turned_object() -> None:
    hidden = Instance("hidden", box(0.4, 0.4, 0.4), 6.0, 0.0, turn=TUMBLED)
    front = Instance("front", box(0.2, 3.0, 3.0), 4.0, 0.0, turn=(1.0, 0.0, 0.0, 0.0))
    drawn = EmbreeRenderer().render_world(world(hidden, front))
    assert drawn.visible["hidden"] == 0
    assert drawn.extent["hidden"] > 20
    assert drawn.visible["front"] > 500
