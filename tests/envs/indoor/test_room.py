"""The kitchens: repeatable, light enough for the tracer, laid out as the plan says."""

from __future__ import annotations

import time

import numpy as np
import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.indoor import layout as plans
from vlmfail.envs.indoor import room
from vlmfail.rendering.mesh import Material, Mesh

PLANS = [plans.layout(n, mirrored) for n in range(len(plans.RUNS)) for mirrored in (False, True)]
ALL = [(plan, palette) for plan in PLANS for palette in range(len(room.PALETTES))]
FREE_TOP = (-0.62, -0.12)


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


def first_hits(mesh: Mesh, starts: list, ways: list) -> np.ndarray:
    """Return the distance to the first face along each ray, infinite where there is none."""
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    out = []
    for start, way in zip(np.asarray(starts, float), np.asarray(ways, float), strict=True):
        p = np.cross(way, two)
        det = np.einsum("ij,ij->i", one, p)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = start - corners[:, 0]
            u = np.einsum("ij,ij->i", s, p) / det
            q = np.cross(s, one)
            v = q @ way / det
            t = np.einsum("ij,ij->i", two, q) / det
            hit = (
                (np.abs(det) > 1e-12) & (u > -1e-7) & (v > -1e-7) & (u + v < 1 + 1e-7) & (t > 1e-6)
            )
        out.append(t[hit].min() if hit.any() else np.inf)
    return np.array(out)


@pytest.fixture(scope="module", params=ALL, ids=lambda p: f"{p[0].key}-{room.PALETTES[p[1]]}")
def kitchen(request: pytest.FixtureRequest) -> tuple[plans.Layout, Mesh]:
    plan, palette = request.param
    return plan, room.backdrop(plan, palette).mesh


@pytest.fixture(scope="module", params=PLANS, ids=lambda plan: plan.key)
def planned(request: pytest.FixtureRequest) -> tuple[plans.Layout, Mesh]:
    """One kitchen of each plan: palettes change colours, handles and edges only."""
    number = PLANS.index(request.param) % len(room.PALETTES)
    return request.param, room.backdrop(request.param, number).mesh


def test_light_enough(kitchen):
    assert 8_000 < len(kitchen[1].faces) < 30_000


def test_sound_mesh(kitchen):
    mesh = kitchen[1]
    assert np.isfinite(mesh.vertices).all()
    assert ((mesh.colours >= 0) & (mesh.colours <= 1)).all()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=2), 1.0, atol=1e-3)
    assert {Material.TILE, Material.METAL, Material.EMISSIVE} <= set(mesh.materials.tolist())


def test_floor_is_free_to_stand_on(kitchen):
    plan, mesh = kitchen
    right, left = plan.side_walls
    low = (plans.ROOM_FRONT + 0.08, right + 0.03, 0.01)
    found = reaches_into(mesh, low, (-0.72, left - 0.03, 2.4))
    assert len(found) == 0, mesh.vertices[mesh.faces[found[:3]]]


def test_worktops_are_free(kitchen):
    plan, mesh = kitchen
    for unit in plan.units:
        if unit.has_top:
            low = (FREE_TOP[0], unit.right + 0.001, plans.COUNTER_TOP + 0.001)
            found = reaches_into(
                mesh, low, (FREE_TOP[1], unit.left - 0.001, plans.UPPER_BOTTOM - 0.01)
            )
            assert len(found) == 0, mesh.vertices[mesh.faces[found[:3]]]


def test_bare_wall_is_bare(kitchen):
    plan, mesh = kitchen
    for unit in plan.of("wall"):
        low = (-0.72, unit.right + 0.03, 0.1)
        found = reaches_into(mesh, low, (-0.001, unit.left - 0.03, 2.4))
        assert len(found) == 0, mesh.vertices[mesh.faces[found[:3]]]


def test_worktop_height_and_front_edge(planned):
    plan, mesh = planned
    for unit in plan.of("drawers", "base"):
        down = first_hits(
            mesh, [(x, unit.middle, 1.3) for x in (-0.6, -0.37, -0.13)], [(0, 0, -1)] * 3
        )
        assert np.allclose(1.3 - down, plans.COUNTER_TOP, atol=1e-4)
        ahead = first_hits(mesh, [(-1.0, unit.middle + 0.01, 0.88)], [(1, 0, 0)])
        assert np.allclose(ahead - 1.0, plans.COUNTER_FRONT, atol=1e-3)


def test_fronts_and_plinth_lie_in_their_planes(planned):
    plan, mesh = planned
    for unit in plan.of("drawers", "base"):
        corner = (-1.0, unit.left - 0.015, plans.PLINTH_HEIGHT + 0.02)  # no handle is there
        assert first_hits(mesh, [corner], [(1, 0, 0)])[0] - 1.0 == pytest.approx(
            plans.CABINET_FRONT, abs=1e-3
        )
        foot = first_hits(mesh, [(-1.0, unit.middle, 0.05)], [(1, 0, 0)])[0] - 1.0
        assert foot == pytest.approx(plans.PLINTH_FRONT, abs=1e-3)


def test_wall_cabinets_hang_where_planned(planned):
    plan, mesh = planned
    for unit in plan.of("drawers", "base"):
        up = first_hits(mesh, [(-0.2, unit.middle + 0.2, 1.0)], [(0, 0, 1)])[0] + 1.0
        assert up == pytest.approx(plans.UPPER_BOTTOM, abs=2e-3)
        down = 2.45 - first_hits(mesh, [(-0.2, unit.middle + 0.2, 2.45)], [(0, 0, -1)])[0]
        assert down == pytest.approx(plans.UPPER_TOP, abs=2e-3)
    for unit in plan.of("sink"):
        found = reaches_into(
            mesh, (-0.6, unit.right + 0.01, 1.3), (-0.14, unit.left - 0.01, plans.UPPER_TOP)
        )
        assert len(found) == 0


def test_burners_and_grates(planned):
    plan, mesh = planned
    for unit in plan.of("stove"):
        for x, y in plans.BURNERS:
            cap = first_hits(mesh, [(x, unit.middle + y, 1.3)], [(0, 0, -1)])[0]
            assert 1.3 - cap == pytest.approx(room.BURNER_TOP, abs=1e-3)
            low = (x - 0.14, unit.middle + y - 0.14, plans.COUNTER_TOP + 0.02)
            around = reaches_into(mesh, low, (x + 0.14, unit.middle + y + 0.14, 1.3))
            top = mesh.vertices[mesh.faces[around]][..., 2].max()
            assert top == pytest.approx(plans.GRATE_TOP, abs=1e-4)


def test_basin_is_a_real_recess_over_an_open_cabinet(planned):
    plan, mesh = planned
    for unit in plan.of("sink"):
        low = 1.3 - first_hits(mesh, [(-0.45, unit.middle + 0.1, 1.3)], [(0, 0, -1)])[0]
        assert plans.COUNTER_TOP - 0.19 < low < plans.COUNTER_TOP - 0.15
        starts = [(-1.0, unit.middle + y, 0.3) for y in (-0.25, 0.1, 0.3)]
        deep = first_hits(mesh, starts, [(1, 0, 0)] * 3) - 1.0
        assert np.allclose(deep, plans.CABINET_FRONT + 0.5, atol=0.01)


def test_no_ray_leaves_the_room_but_through_the_window(planned):
    plan, mesh = planned
    rng = np.random.default_rng(5)
    ways = rng.normal(size=(150, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    start = (-2.0, 0.1, 1.3)
    far = first_hits(mesh, [start] * len(ways), list(ways))
    ends = np.array(start) + far[:, None] * ways
    right, left = plan.side_walls
    low, high = (plans.ROOM_FRONT, right, 0.0), (0.0, left, plans.CEILING)
    outside = ((ends < np.array(low) - 1e-3) | (ends > np.array(high) + 1e-3)).any(axis=1)
    at_wall = np.array(start) + (-start[0] / ways[:, :1]) * ways
    window = plan.of("sink")[0]
    for end, place in zip(ends[outside], at_wall[outside], strict=True):
        assert end[0] > 0, end
        assert abs(place[1] - window.middle) < 0.36
        assert 1.1 < place[2] < 2.1


@pytest.mark.parametrize("palette", range(len(room.PALETTES)))
def test_sink_doors(palette):
    closed, opened = (room.sink_doors(kind, palette) for kind in ("closed", "open"))
    (x0, y0, z0), (x1, y1, z1) = closed.bounds
    assert first_hits(closed, [(-1.0, 0.385, 0.12)], [(1, 0, 0)])[0] == pytest.approx(1.0, abs=1e-3)
    assert x0 > -0.05
    assert x1 < 0.02
    assert (y0, y1) == (pytest.approx(-0.4, abs=0.004), pytest.approx(0.4, abs=0.004))
    assert z0 > plans.PLINTH_HEIGHT
    assert z1 < plans.COUNTER_TOP - plans.COUNTER_THICKNESS
    # Open, they leave the cabinet free between their hinges, and stand out into the room.
    assert len(reaches_into(opened, (-1.0, -0.36, 0.11), (0.1, 0.36, 0.85))) == 0
    assert opened.bounds[0][0] < -0.37
    assert 0 < len(opened.faces) < 2000


def test_the_same_each_time_and_quick():
    plan, palette = plans.layout(3, True), 2
    start = time.process_time()
    first = room._build(plan, palette, room._look(palette))
    took = time.process_time() - start
    second = room._build(plan, palette, room._look(palette))
    for name in ("vertices", "faces", "colours", "materials", "normals"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert took < 2.0


def test_keys_tell_kitchens_apart():
    assert len({room.backdrop(*which).key for which in ALL}) == len(ALL)


def test_what_there_is_not():
    with pytest.raises(UsageError, match="palette"):
        room.backdrop(PLANS[0], len(room.PALETTES))
    with pytest.raises(UnknownNameError, match="ajar"):
        room.sink_doors("ajar", 0)
