"""The towns: repeatable, light enough for the tracer, free where scenes stand, sane in layout."""

from __future__ import annotations

import time

import numpy as np
import pytest

from vlmfail.core import UsageError
from vlmfail.envs.driving import street, town
from vlmfail.rendering.mesh import Material, Mesh

ALL = [(name, variant) for name in town.TOWNS for variant in range(town.BACKDROPS)]


def reaches_into(mesh: Mesh, low: tuple[float, ...], high: tuple[float, ...]) -> np.ndarray:
    """Return the indices of faces of which a part lies inside the open box, by clipping."""
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    near = (corners.max(axis=1) > low).all(axis=1) & (corners.min(axis=1) < high).all(axis=1)
    inside = []
    for face in np.flatnonzero(near):
        polygon = list(corners[face])
        for axis in range(3):
            for limit, sign in ((low[axis], 1.0), (high[axis], -1.0)):
                kept = []
                for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True):
                    da, db = sign * (a[axis] - limit), sign * (b[axis] - limit)
                    if da > 0:
                        kept.append(a)
                    if da * db < 0:
                        kept.append(a + (b - a) * da / (da - db))
                polygon = kept
                if not polygon:
                    break
            if not polygon:
                break
        if polygon:
            inside.append(face)
    return np.array(inside, dtype=int)


@pytest.fixture(scope="module", params=ALL, ids=lambda p: f"{p[0]}-{p[1]}")
def place(request: pytest.FixtureRequest) -> town.Backdrop:
    return town.backdrop(*request.param)


def test_clipping_finds_a_face_that_only_crosses_the_box():
    wide = Mesh.build([(-9, -9, 1), (9, -9, 1), (0, 9, 1)], [(0, 1, 2)])
    assert len(reaches_into(wide, (-1, -1, 0), (1, 1, 2))) == 1
    assert len(reaches_into(wide, (7, 7, 0), (8, 8, 2))) == 0


def test_light_enough(place):
    assert 15_000 < len(place.mesh.faces) < 53_000


def test_sound_mesh(place):
    mesh = place.mesh
    assert np.isfinite(mesh.vertices).all()
    assert ((mesh.colours >= 0) & (mesh.colours <= 1)).all()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=2), 1.0, atol=1e-3)
    assert {Material.ASPHALT, Material.GLASS, Material.FOLIAGE, Material.ROOF} <= set(
        mesh.materials.tolist()
    )


def test_ego_lane_is_free(place):
    found = reaches_into(place.mesh, (town.START, -1.75, 0.25), (town.END, 1.75, 6.0))
    assert len(found) == 0, place.mesh.vertices[place.mesh.faces[found[:3]]]


def test_opposite_lane_is_free(place):
    found = reaches_into(place.mesh, (town.START, 1.75, 0.25), (town.END, 5.5, 4.0))
    assert len(found) == 0, place.mesh.vertices[place.mesh.faces[found[:3]]]


def test_right_sidewalk_is_free(place):
    low, high = street.RIGHT_SIDEWALK
    found = reaches_into(place.mesh, (town.START, low, 0.2), (town.END, high, 2.2))
    assert len(found) == 0, place.mesh.vertices[place.mesh.faces[found[:3]]]


def test_ground_has_no_hole(place):
    """Straight down from anywhere near the street lies level ground that faces up."""
    rng = np.random.default_rng(3)
    at = np.column_stack([rng.uniform(town.START, town.END, 150), rng.uniform(-7.5, 11, 150)])
    corners = place.mesh.vertices[place.mesh.faces].astype(np.float64)
    level = np.ptp(corners[..., 2], axis=1) < 1e-6
    level &= (corners[..., 2].max(axis=1) < 0.2) & (place.mesh.normals[:, 0, 2] > 0.9)
    level &= corners[..., 2].min(axis=1) > -0.01
    a, b, c = (corners[level][:, k, :2] for k in range(3))

    def side(p: np.ndarray, q: np.ndarray, point: np.ndarray) -> np.ndarray:
        return (q[:, 0] - p[:, 0]) * (point[1] - p[:, 1]) - (q[:, 1] - p[:, 1]) * (
            point[0] - p[:, 0]
        )

    for point in at:
        covered = (side(a, b, point) >= -1e-6) & (side(b, c, point) >= -1e-6)
        covered &= side(c, a, point) >= -1e-6
        assert covered.any(), point


def test_sidewalk_has_its_height(place):
    """The strip where people stand is level at the height that scenes assume."""
    mesh = place.mesh
    corners = mesh.vertices[mesh.faces]
    low, high = street.RIGHT_SIDEWALK
    on = (corners[..., 1] > low - 1e-3).all(axis=1) & (corners[..., 1] < high + 1e-3).all(axis=1)
    on &= (np.ptp(corners[..., 2], axis=1) < 1e-6) & (corners[..., 2].min(axis=1) > 0.05)
    assert on.sum() > 100
    heights = corners[on][..., 2]
    assert np.allclose(heights[heights < 1.0], street.SIDEWALK_HEIGHT, atol=1e-5)


def test_junction_gap_is_honoured(place):
    rng = np.random.default_rng(1)
    for gap in (11.0, 17.3, 25.0):
        for _ in range(10):
            x = place.ego_x(gap, rng)
            ahead = [stop for stop in place.junctions if stop >= x]
            assert ahead[0] - x == pytest.approx(gap)
            assert town.END - x >= 140.0
            # The crossing behind, if any, is out of the camera's sight.
            assert all(stop + 10.5 < x - 1.0 for stop in place.junctions if stop < x)


def test_no_junction_in_sight_without_one(place):
    rng = np.random.default_rng(2)
    xs = np.array([place.ego_x(None, rng) for _ in range(200)])
    for stop in place.junctions:
        assert not ((stop - xs > -12.0) & (stop - xs <= 70.0)).any()
    assert (town.END - xs >= 140.0).all()
    assert np.ptp(xs) > 20.0


def test_stop_line_lies_at_the_junction(place):
    """White paint begins at the junction across the ego lane, and asphalt turns off behind it."""
    mesh = place.mesh
    corners = mesh.vertices[mesh.faces]
    white = (mesh.colours.min(axis=1) > 0.8) & (corners[..., 2].max(axis=1) < 0.02)
    for stop in place.junctions:
        lane = white & (np.abs(corners[..., 0].min(axis=1) - stop) < 1e-3)
        assert lane.any()
        assert corners[lane][..., 1].min() < -1.5
        assert corners[lane][..., 1].max() > 1.5
        middle = stop + street.JUNCTION_SETBACK + street.CROSSING_WIDTH / 2
        for y in (-20.0, 25.0):
            box = (middle - 0.5, y - 0.5, -0.01), (middle + 0.5, y + 0.5, 0.01)
            found = reaches_into(mesh, *box)
            assert Material.ASPHALT in mesh.materials[found]


def test_crossing_streets_are_free(place):
    """The middle of a crossing street is open as far as the camera sees into it."""
    for stop in place.junctions:
        middle = stop + street.JUNCTION_SETBACK + street.CROSSING_WIDTH / 2
        low, high = (middle - 2.0, -60.0, 0.25), (middle + 2.0, 60.0, 4.0)
        assert len(reaches_into(place.mesh, low, high)) == 0


def test_impossible_junction_gap_says_why(place):
    with pytest.raises(UsageError, match="junction"):
        place.ego_x(200.0, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "variant"), [("town01", 0), ("town02", 3)])
def test_same_every_time_and_quick(name, variant):
    first = town.backdrop(name, variant)
    start = time.process_time()
    second = town.backdrop.__wrapped__(name, variant)
    assert time.process_time() - start < 3.0
    assert first.key == second.key
    assert first.junctions == second.junctions
    for field in ("vertices", "faces", "colours", "materials", "normals"):
        assert np.array_equal(getattr(first.mesh, field), getattr(second.mesh, field))


def test_variants_and_keys_differ():
    assert len({town.backdrop(*which).key for which in ALL}) == len(ALL)
    for name in town.TOWNS:
        positions = {town.backdrop(name, v).junctions for v in range(town.BACKDROPS)}
        assert len(positions) == town.BACKDROPS


def test_towns_differ_at_a_glance():
    """The suburb is green beside the street, the quarter is walls."""

    def share(name: str, material: Material, low: float, high: float) -> float:
        mesh = town.backdrop(name, 0).mesh
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        area = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        middle = corners.mean(axis=1)
        near = (middle[:, 1] > low) & (middle[:, 1] < high)
        near &= (middle[:, 0] > 0) & (middle[:, 0] < 200) & (middle[:, 2] > 0.3)
        return float(area[near & (mesh.materials == material)].sum())

    assert share("town01", Material.FOLIAGE, -12, -4.3) > 5 * share(
        "town02", Material.FOLIAGE, -12, -4.3
    )
    walls = {
        name: sum(share(name, m, -6.5, -4.3) for m in (Material.BRICK, Material.PLASTER))
        for name in town.TOWNS
    }
    assert walls["town02"] > 5 * walls["town01"]


def test_asphalt_is_a_neutral_mid_grey(place):
    road = place.mesh.colours[place.mesh.materials == Material.ASPHALT]
    assert np.ptp(road, axis=1).max() < 0.04
    assert 0.28 < road.mean() < 0.45


@pytest.mark.parametrize(("name", "variant"), [("town03", 0), ("town01", 6), ("town02", -1)])
def test_unknown_backdrop_says_what_exists(name, variant):
    with pytest.raises(UsageError, match=r"town0[12]"):
        town.backdrop(name, variant)
