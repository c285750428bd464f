from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.envs.indoor.domain import IndoorDomain
from vlmfail.envs.indoor.layout import ROOM_FRONT
from vlmfail.envs.indoor.sampling import subjects
from vlmfail.envs.indoor.scene import IndoorScene
from vlmfail.envs.indoor.truth_check import sample_scenes
from vlmfail.envs.indoor.viewpoint import (
    CLEARANCE,
    FIELDS,
    HEIGHTS,
    PICTURE_SIZE,
    Subject,
    choose,
)
from vlmfail.rendering.world import Camera

DOMAIN = IndoorDomain()
WALLS = (-2.2, 2.2)


@pytest.fixture(scope="module")
def scenes() -> list[IndoorScene]:
    return [scene for _, scene in sample_scenes(DOMAIN, 96, seed=3)]


def cube(x: float, y: float, z: float, side: float = 0.3) -> np.ndarray:
    middle = np.array([x, y, z])
    return np.stack([middle - side / 2, middle + side / 2])


def subject(name: str, x: float, y: float, z: float, *, side: float = 0.3,
            decides: bool = True, solid: bool = True,
            front: tuple[float, float] | None = None) -> Subject:  # fmt: skip
    return Subject(name, cube(x, y, z, side), decides=decides, solid=solid, front=front)


def projected(camera: Camera, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where a box's corners are in the picture, `8 x 2` pixels, and their depths, m."""
    pick = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(8, 3)
    away = np.stack([box[pick[:, k], k] for k in range(3)], axis=-1) - (
        camera.x, camera.y, camera.z,
    )  # fmt: skip
    c, s = math.cos(camera.yaw), math.sin(camera.yaw)
    ahead, left = c * away[:, 0] + s * away[:, 1], c * away[:, 1] - s * away[:, 0]
    c, s = math.cos(camera.pitch), math.sin(camera.pitch)
    depth, up = c * ahead + s * away[:, 2], c * away[:, 2] - s * ahead
    focal = 0.5 * camera.width / math.tan(0.5 * camera.hfov)
    pixels = np.stack(
        [camera.width / 2 - focal * left / depth, camera.height / 2 - focal * up / depth], axis=1
    )
    return pixels, depth


def within(camera: Camera, box: np.ndarray, slack: float = 12.0) -> bool:
    pixels, depth = projected(camera, box)
    size = (camera.width, camera.height)
    return bool(
        (depth > 0).all() and (pixels > -slack).all() and (pixels < np.array(size) + slack).all()
    )


def side_of(camera: Camera, box: np.ndarray) -> float:
    """Return the side of a square as large as a box's share of the picture, pixels."""
    pixels, _ = projected(camera, box)
    low = np.maximum(pixels.min(axis=0), 0.0)
    high = np.minimum(pixels.max(axis=0), (camera.width, camera.height))
    return float(np.sqrt(np.prod(np.maximum(high - low, 0.0))))


def seen(scene: IndoorScene) -> list[Subject]:
    assert scene.match is not None
    deciding = frozenset(name for group in scene.match.deciding for name in group)
    return subjects(list(scene.things), deciding, scene.layout, 0.0)


def share_within(camera: Camera, box: np.ndarray) -> float:
    """Return which share of a fine grid of points in a box is in the picture."""
    steps = np.linspace(0.1, 0.9, 4)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    points = box[0] + grid * (box[1] - box[0])
    return float(np.mean([within(camera, np.stack([point, point]), 0.0) for point in points]))


def test_what_decides_lies_in_the_frame_and_of_the_rest_most_of_it(
    scenes: list[IndoorScene],
) -> None:
    shares: dict[bool, list[float]] = {True: [], False: []}
    for scene in scenes[:48]:
        for item in seen(scene):
            shares[item.decides].append(share_within(scene.camera, item.box))
    deciding, others = np.array(shares[True]), np.array(shares[False])
    assert (deciding > 0.8).mean() >= 0.95
    assert deciding.min() > 0.5
    assert others.mean() > 0.9
    assert (others > 0.5).mean() >= 0.97
    assert (others < 0.1).mean() <= 0.01


def test_the_camera_closes_in_on_a_small_thing_that_decides() -> None:
    """A hand-sized one at one end of the run, a large one that says nothing at the other."""
    triangles = 0.5 * np.array([[0.0, 0.0, 0.002], [-0.002, 0.0, 0.0]])
    small = replace(subject("a", -0.45, 0.5, 0.92, side=0.08), faces=triangles)
    aside = subject("b", -1.0, -0.7, 0.6, side=0.7, decides=False)

    def side(decides: bool) -> float:
        found = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            first = small if decides else replace(small, decides=False, faces=None)
            camera, _ = choose([first, aside], 0.0, WALLS, rng)
            found.append(side_of(camera, small.box))
        return float(np.mean(found))

    assert side(True) > 1.1 * side(False)


def test_the_edge_of_the_worktop_is_looked_down_across() -> None:
    low = subject("a", -0.5, 0.0, 0.95, side=0.2)
    for seed in range(4):
        camera, _ = choose(
            [replace(low, above=math.radians(27.0))], 0.0, WALLS, np.random.default_rng(seed)
        )
        away = math.hypot(camera.x - low.box[:, 0].mean(), camera.y - low.box[:, 1].mean())
        assert math.degrees(math.atan2(camera.z - 0.95, away)) > 20.0


def test_what_decides_is_large_enough(scenes: list[IndoorScene]) -> None:
    """Boxes on average; the thinnest are knives seen along their blades."""
    sides: dict[str, list[float]] = {}
    for scene in scenes:
        for item in seen(scene):
            if item.decides:
                sides.setdefault(item.name, []).append(side_of(scene.camera, item.box))
    everything = np.concatenate([np.array(found) for found in sides.values()])
    assert (everything > 15.0).mean() >= 0.98
    assert np.median(everything) > 50.0
    for name in ("cabinet_open", "microwave_open_hot", "glass_floor", "child_on_stool"):
        assert min(sides[name]) > 50.0, name


def test_the_camera_stands_in_the_room_clear_of_everything(scenes: list[IndoorScene]) -> None:
    for scene in scenes:
        camera = scene.camera
        right, left = scene.layout.side_walls
        assert ROOM_FRONT < camera.x < -1.2
        assert right + 0.3 < camera.y < left - 0.3
        assert HEIGHTS[0] <= camera.z <= HEIGHTS[1]
        assert FIELDS[0] <= camera.hfov <= FIELDS[1]
        assert (camera.width, camera.height) == PICTURE_SIZE == (512, 384)


def test_cameras_differ_and_follow_the_seed() -> None:
    things = [subject("a", -0.4, 0.2, 1.0), subject("b", -0.4, -0.6, 1.0, decides=False)]
    found = [choose(things, 0.0, WALLS, np.random.default_rng(seed)) for seed in range(6)]
    again = [choose(things, 0.0, WALLS, np.random.default_rng(seed)) for seed in range(6)]
    assert found == again
    assert len({camera.x for camera, _ in found}) == 6
    assert all(0.0 <= score <= 1.0 for _, score in found)


def test_small_far_things_score_less_than_large_near_ones() -> None:
    def score(side: float) -> float:
        things = [subject("a", -0.4, 0.0, 1.0, side=side)]
        return choose(things, 0.0, WALLS, np.random.default_rng(1))[1]

    assert score(0.02) < score(0.08) < score(0.4)


def test_a_hidden_thing_scores_less_and_the_camera_moves_to_see_it() -> None:
    behind = subject("a", -0.3, 0.0, 1.0, side=0.2)
    wall = Subject("b", np.array([[-0.62, -1.5, 0.0], [-0.58, 1.5, 1.9]]), decides=False)
    free = choose([behind], 0.0, WALLS, np.random.default_rng(2))[1]
    hidden = choose([behind, wall], 0.0, WALLS, np.random.default_rng(2))[1]
    thin = choose([behind, replace(wall, solid=False)], 0.0, WALLS, np.random.default_rng(2))[1]
    assert hidden < 0.5 < free
    assert thin > hidden
    post = Subject("b", np.array([[-0.7, -0.15, 0.0], [-0.6, 0.15, 1.6]]), decides=False)
    camera, _ = choose([behind, post], 0.0, WALLS, np.random.default_rng(2))
    straight = camera.y + (0.0 - camera.y) * (-0.65 - camera.x) / (-0.3 - camera.x)
    assert abs(straight) > 0.1


def test_a_thing_with_one_good_side_is_seen_from_there() -> None:
    for sign in (1.0, -1.0):
        front = (-math.cos(1.0), sign * math.sin(1.0))
        thing = subject("a", -0.9, 0.0, 1.0, front=front)
        camera, _ = choose([thing], 0.0, WALLS, np.random.default_rng(4))
        look = np.array([camera.x + 0.9, camera.y])
        assert look @ np.array(front) / np.linalg.norm(look) > 0.5


def test_the_camera_keeps_its_distance() -> None:
    near = subject("a", -1.5, 0.0, 0.9, side=0.5)
    for seed in range(5):
        camera, score = choose([near], 0.0, WALLS, np.random.default_rng(seed))
        away = np.maximum(np.abs(np.array([camera.x + 1.5, camera.y, camera.z - 0.9])) - 0.25, 0.0)
        assert np.linalg.norm(away) >= CLEARANCE
        assert score > 0.0


def test_a_plain_kitchen_is_looked_at_too() -> None:
    scene = DOMAIN.sample_scene(frozenset(), np.random.default_rng(0))
    (plain,) = subjects(list(scene.things), frozenset(), scene.layout, 0.0)
    assert plain.name == "room"
    camera = scene.camera
    assert abs(math.degrees(camera.yaw)) < 60.0
    assert math.cos(camera.yaw) > 0.0
