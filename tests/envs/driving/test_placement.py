from __future__ import annotations

import numpy as np
import pytest

from vlmfail.core import SceneError
from vlmfail.envs.driving import street
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.driving.footprint import (
    apart,
    footprint,
    nearest_each,
    nearest_in_strip,
)
from vlmfail.envs.driving.placement import MARGIN, orders, sidewalk_openings
from vlmfail.envs.driving.scene import EGO_WIDTH, DrivingScene

DOMAIN = DrivingDomain()
RANGES = DOMAIN.catalogue.ranges


def extents(corners) -> tuple[float, float, float, float]:
    """Return (least x, greatest x, least y, greatest y)."""
    xs, ys = zip(*corners, strict=True)
    return min(xs), max(xs), min(ys), max(ys)


def sample(text: str, seed: int = 0) -> DrivingScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


def random_scenes(count: int, seed: int) -> list[DrivingScene]:
    rng = np.random.default_rng(seed)
    scenes = []
    while len(scenes) < count:
        try:
            scenes.append(DOMAIN.sample_scene(DOMAIN.space.sample(rng), rng))
        except SceneError:
            continue
    return scenes


@pytest.fixture(scope="module")
def scenes() -> list[DrivingScene]:
    return random_scenes(120, 3)


def test_modifiers_move_the_last_movable_entity_alone() -> None:
    chosen = DOMAIN.catalogue.select({"far", "on_sidewalk", "pedestrian", "cone", "debris_near"})
    placed = {order.concept.id: (order.distance, order.on_sidewalk) for order in orders(chosen)}
    assert placed == {
        "debris_near": ("near", False),
        "pedestrian": ("ahead", False),
        "cone": ("far", True),
    }


def test_gaps_lie_in_the_stated_ranges(scenes: list[DrivingScene]) -> None:
    for scene in scenes:
        for placed in scene.objects:
            low, high = RANGES.of(placed.distance)
            nearest = extents(placed.corners)[0]
            assert low <= placed.gap <= high
            assert nearest == pytest.approx(placed.gap, abs=1e-9)
        if scene.junction_gap is not None:
            assert 11.0 <= scene.junction_gap <= 25.0


def test_boxes_are_those_of_the_meshes_drawn(scenes: list[DrivingScene]) -> None:
    for scene in scenes[:20]:
        instances = {item.name: item for item in scene.world().objects}
        for placed in scene.objects:
            vertices = instances[placed.name].placed().vertices
            low = vertices[vertices[:, 2] < 1.5]
            turned = np.exp(-1j * placed.yaw)
            inside = (low[:, 0] - scene.ego_x + 1j * low[:, 1]) * turned
            box = np.array([complex(*corner) for corner in placed.corners]) * turned
            assert inside.real.min() >= box.real.min() - 1e-3
            assert inside.real.max() <= box.real.max() + 1e-3
            assert inside.imag.min() >= box.imag.min() - 1e-3
            assert inside.imag.max() <= box.imag.max() + 1e-3
            # ... and the box is no larger than the thing.
            assert np.ptp(inside.real) > np.ptp(box.real) - 0.35
            assert np.ptp(inside.imag) > np.ptp(box.imag) - 0.35


def test_nothing_overlaps(scenes: list[DrivingScene]) -> None:
    for scene in scenes:
        boxes = [placed.corners for placed in scene.objects]
        if scene.signal is not None:
            mast = footprint("traffic_light_body", scene.signal.variant)
            boxes.append(mast.corners(np.pi, scene.signal.x, scene.signal.y))
        for i, box in enumerate(boxes):
            assert all(apart(box, other, MARGIN - 1e-9) for other in boxes[:i])


def test_in_lane_means_well_in_the_way_and_sidewalk_well_off_it(scenes: list[DrivingScene]) -> None:
    for scene in scenes:
        right, left = scene.corridor
        assert left - right == pytest.approx(EGO_WIDTH)
        for placed in scene.objects:
            _, _, y0, y1 = extents(placed.corners)
            if placed.on_sidewalk:
                assert scene.contact_gap(placed) is None
                assert street.RIGHT_SIDEWALK[0] <= y0
                assert y1 <= street.RIGHT_SIDEWALK[1]
            else:
                assert min(y1, left) - max(y0, right) >= min(0.25, 0.9 * (y1 - y0)) - 1e-9
                assert scene.contact_gap(placed) is not None
                assert y0 >= street.RIGHT_EDGE_Y


def test_sidewalk_things_stand_on_a_sidewalk_and_not_in_a_crossing_street() -> None:
    for seed in range(40):
        scene = sample("cone far on_sidewalk light_green", seed)
        (placed,) = scene.objects
        assert placed.z == street.SIDEWALK_HEIGHT
        assert scene.junction_gap is not None
        ((start, end),) = sidewalk_openings([scene.junction_gap])
        x0, x1, _, _ = extents(placed.corners)
        assert x1 <= start or x0 >= end


@pytest.mark.parametrize("distance", ["near", "", "far"])
@pytest.mark.parametrize("name", ["pedestrian", "wheelchair_pedestrian", "cyclist", "bus_stop"])
def test_sidewalk_things_stand_in_the_frame(name: str, distance: str) -> None:
    inside = []
    for seed in range(12):
        scene = sample(f"{name} on_sidewalk {distance}", seed)
        (placed,) = scene.objects
        camera = scene.world().camera
        bearings = [
            np.arctan2(y - camera.y, x + scene.ego_x - camera.x) - camera.yaw
            for x, y in placed.corners
        ]
        width = max(bearings) - min(bearings)
        out = max(0.0, -camera.hfov / 2 - min(bearings))
        inside.append(1.0 - out / width)
    assert min(inside) > 0.6
    assert np.mean(inside) > 0.8


def test_cyclists_are_seen_obliquely() -> None:
    for seed in range(30):
        scene = sample("cyclist far " + ("on_sidewalk" if seed % 2 else ""), seed)
        (placed,) = scene.objects
        bearing = np.arctan2(placed.y - scene.ego_y, placed.x + 0.9)
        assert abs(np.sin(placed.yaw - bearing)) >= np.sin(np.radians(10.0)) - 1e-9
        turn = np.degrees(abs(placed.yaw)) % 90.0
        assert 10.0 <= min(turn, 90.0 - turn) <= 25.0


@pytest.mark.parametrize("text", ["obstruction_near debris_far", "emergency_vehicle cone far"])
def test_a_wide_near_thing_leaves_sight_of_a_far_one(text: str) -> None:
    shown = 0
    for seed in range(20):
        scene = sample(text, seed)
        near, far = sorted(scene.objects, key=lambda placed: placed.gap)
        assert far.distance == "far"
        bearings = [
            [np.arctan2(y - scene.ego_y, x + 0.9) for x, y in placed.corners]
            for placed in (near, far)
        ]
        (a, b), (c, d) = ((min(one), max(one)) for one in bearings)
        shown += min(b, d) - max(a, c) <= 0.6 * (d - c)
    assert shown >= 18


def test_most_valid_sets_can_be_placed() -> None:
    rng = np.random.default_rng(11)
    failed = 0
    for _ in range(200):
        try:
            DOMAIN.sample_scene(DOMAIN.space.sample(rng), rng)
        except SceneError:
            failed += 1
    assert failed <= 2


def test_crowds_find_a_place() -> None:
    crowds = (
        "emergency_vehicle bus_stop cyclist wheelchair_pedestrian pedestrian",
        "obstruction_near emergency_vehicle cyclist wheelchair_pedestrian pedestrian",
    )
    for text in crowds:
        for seed in range(5):
            assert len(sample(text, seed).objects) == 5


def test_what_cannot_be_placed_is_named() -> None:
    crowd = "emergency_vehicle bus_stop obstruction_near obstruction_far debris_near"
    names = set(DOMAIN.space.parse(crowd + " chain_barrier_near cyclist wheelchair_pedestrian"))
    errors = []
    for seed in range(6):
        try:
            DOMAIN.sample_scene(frozenset(names), np.random.default_rng(seed))
        except SceneError as error:
            errors.append(str(error))
    assert errors
    assert all(message.split()[0] in names for message in errors)


def test_same_generator_state_same_scene() -> None:
    text = "cone pedestrian debris_far light_red weather_wet"
    assert sample(text, 5) == sample(text, 5)
    assert sample(text, 5) != sample(text, 6)


def test_nearest_point_in_a_strip() -> None:
    square = ((4.0, 0.0), (6.0, -2.0), (8.0, 0.0), (6.0, 2.0))
    assert nearest_in_strip(square, -1.0, 1.0) == 4.0
    assert nearest_in_strip(square, 1.0, 3.0) == pytest.approx(5.0)
    assert nearest_in_strip(square, -3.0, -1.0) == pytest.approx(5.0)
    assert nearest_in_strip(square, 2.0, 3.0) is None


def test_nearest_points_of_many_boxes() -> None:
    rng = np.random.default_rng(0)
    shape = footprint("obstruction", 0)
    boxes = [
        shape.corners(yaw, x, y)
        for x, y, yaw in zip(
            rng.uniform(4, 9, 300), rng.uniform(-5, 5, 300), rng.uniform(-4, 4, 300), strict=True
        )
    ]
    one_by_one = [nearest_in_strip(box, -0.9, 0.9) for box in boxes]
    assert None in one_by_one
    expected = [np.inf if gap is None else gap for gap in one_by_one]
    assert nearest_each(np.array(boxes), -0.9, 0.9) == pytest.approx(expected)


def test_boxes_apart() -> None:
    first = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    turned = ((1.9, 0.5), (2.6, -0.2), (3.3, 0.5), (2.6, 1.2))
    assert apart(first, turned, 0.8)
    assert not apart(first, turned, 1.0)
    corner = ((0.8, 1.4), (1.4, 0.8), (2.0, 1.4), (1.4, 2.0))
    assert apart(first, corner, 0.1)
    assert not apart(first, corner, 0.2)
