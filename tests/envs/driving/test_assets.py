"""Every object of the driving domain: it builds, has its size, stands on the ground."""

from __future__ import annotations

import time

import numpy as np
import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.driving import assets
from vlmfail.envs.driving.assets import VARIANTS, build, signals
from vlmfail.rendering.mesh import Material
from vlmfail.rendering.shapes.primitives import signed_volume

ALL = [(kind, variant) for kind, count in VARIANTS.items() for variant in range(count)]

# Lowest and highest (x, y, z) extent of each kind, m.
SIZES = {
    "pedestrian": ((0.2, 0.4, 1.60), (1.0, 0.8, 1.87)),
    "child_pedestrian": ((0.2, 0.3, 1.03), (0.7, 0.7, 1.27)),
    "police_pedestrian": ((0.2, 0.4, 1.70), (0.9, 0.9, 2.15)),
    "wheelchair_pedestrian": ((0.9, 0.6, 1.25), (1.4, 0.85, 1.5)),
    "cyclist": ((1.6, 0.5, 1.55), (2.0, 0.85, 1.95)),
    "emergency_vehicle": ((4.3, 1.9, 1.5), (6.0, 2.6, 2.9)),
    "parked_car": ((3.9, 1.8, 1.4), (5.4, 2.4, 2.4)),
    "cone": ((0.3, 0.3, 0.55), (0.55, 0.55, 0.95)),
    "garbage_bin": ((0.5, 0.5, 1.0), (0.9, 0.7, 1.30)),
    "bus_stop": ((1.3, 2.9, 3.4), (1.6, 3.3, 3.7)),
    "chain_barrier": ((0.3, 3.0, 0.95), (0.5, 3.5, 1.15)),
    "debris": ((1.1, 2.2, 0.80), (1.6, 2.8, 1.05)),
    "obstruction": ((3.4, 1.9, 1.5), (6.2, 2.5, 2.6)),
    "traffic_light_body": ((0.3, 2.9, 4.7), (0.7, 3.7, 5.2)),
    "traffic_light_red": ((0.05, 2.6, 0.3), (0.1, 3.0, 2.0)),
    "traffic_light_green": ((0.05, 2.6, 0.3), (0.1, 3.0, 2.0)),
}


def test_sizes_name_every_kind() -> None:
    assert set(SIZES) == set(VARIANTS)


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("pedestrian", 4), ("child_pedestrian", 4), ("police_pedestrian", 2),
        ("wheelchair_pedestrian", 2), ("cyclist", 3), ("emergency_vehicle", 4), ("cone", 2),
        ("garbage_bin", 4), ("obstruction", 3), ("parked_car", 5), ("bus_stop", 3), ("debris", 3),
    ],
)  # fmt: skip
def test_there_are_enough_variants(kind: str, least: int) -> None:
    assert VARIANTS[kind] >= least


@pytest.mark.parametrize(("kind", "variant"), ALL)
class TestEveryObject:
    def test_size(self, kind: str, variant: int) -> None:
        low, high = build(kind, variant).bounds
        least, most = SIZES[kind]
        assert np.all(high - low >= least), high - low
        assert np.all(high - low <= most), high - low

    def test_stands_on_the_ground_under_its_middle(self, kind: str, variant: int) -> None:
        low, high = build(kind, variant).bounds
        if kind in ("traffic_light_red", "traffic_light_green"):
            assert low[2] > 2.0
            return
        assert abs(low[2]) < 0.01
        if kind != "traffic_light_body":  # that one stands on its pole, the arm hangs over
            assert np.all(np.abs(low + high)[:2] / 2 < 0.25)

    def test_mesh_is_sound(self, kind: str, variant: int) -> None:
        mesh = build(kind, variant)
        assert np.isfinite(mesh.vertices).all()
        assert mesh.faces.min() >= 0
        assert mesh.faces.max() < len(mesh.vertices)
        np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=-1), 1.0, atol=1e-3)
        assert mesh.colours.min() >= 0.0
        assert mesh.colours.max() <= 1.0
        assert set(np.unique(mesh.materials)) <= {int(m) for m in Material}

    def test_faces_look_outward(self, kind: str, variant: int) -> None:
        mesh = build(kind, variant)
        assert signed_volume(mesh.vertices, mesh.faces) > 0
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        against = np.einsum("fi,fi->f", across, mesh.normals.mean(axis=1).astype(np.float64)) < 0
        area = np.linalg.norm(across, axis=1)
        assert area[against].sum() < 0.01 * area.sum()

    def test_is_small_enough_to_trace(self, kind: str, variant: int) -> None:
        things = ("emergency_vehicle", "chain_barrier", "obstruction")
        most = {"bus_stop": 3000, "debris": 3000, "garbage_bin": 2500, "cone": 1000}
        limit = 6000 if kind in things else most.get(kind, 9500)
        assert len(build(kind, variant).faces) <= limit

    def test_is_built_fast_and_the_same_each_time(self, kind: str, variant: int) -> None:
        kept = build(kind, variant)
        assert build(kind, variant) is kept
        start = time.process_time()
        again = build.__wrapped__(kind, variant)
        assert time.process_time() - start < 3.0
        for name in ("vertices", "faces", "colours", "materials", "normals"):
            assert getattr(again, name).tobytes() == getattr(kept, name).tobytes()


def test_variants_differ() -> None:
    for kind, count in VARIANTS.items():
        seen = {
            build(kind, v).vertices.tobytes() + build(kind, v).colours.tobytes()
            for v in range(count)
        }
        assert len(seen) == count, kind


def test_unknown_kind_names_close_ones() -> None:
    with pytest.raises(UnknownNameError, match="pedestrian"):
        build("pedestrain", 0)


@pytest.mark.parametrize("variant", [-1, 99])
def test_unknown_variant(variant: int) -> None:
    with pytest.raises(UsageError, match="0 to"):
        build("cone", variant)


def test_variants_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        VARIANTS["cone"] = 9  # type: ignore[index]


def test_lit_lamps_sit_in_front_of_the_dark_ones() -> None:
    body = build("traffic_light_body", 0)
    points = body.vertices
    for kind, colour in (("traffic_light_red", 0), ("traffic_light_green", 2)):
        lamp = build(kind, 0)
        assert np.all(lamp.materials == Material.EMISSIVE)
        for x, y, z in signals.lamp_places(colour):
            mine = lamp.vertices[np.hypot(lamp.vertices[:, 1] - y, lamp.vertices[:, 2] - z) < 0.2]
            assert np.ptp(mine[:, 2]) == pytest.approx(0.34, abs=0.01)
            behind = points[np.hypot(points[:, 1] - y, points[:, 2] - z) < 0.155]
            assert behind[:, 0].max() < mine[:, 0].max()
            assert behind[:, 0].max() > x - 0.05
    assert not np.any(body.materials == Material.EMISSIVE)


def test_the_arm_reaches_over_the_lane_and_red_is_above_green() -> None:
    red, green = build("traffic_light_red", 0), build("traffic_light_green", 0)
    assert red.bounds[0][1] < -signals.ARM_LENGTH
    assert red.vertices[:, 2].mean() > green.vertices[:, 2].mean() + 0.5
    heights = [z for _, z in signals.HEADS]
    assert 3.6 <= heights[0] <= 4.4
    assert 2.4 <= heights[1] <= 3.2


@pytest.mark.parametrize("variant", range(VARIANTS["emergency_vehicle"]))
def test_emergency_vehicles_shine_red_and_blue(variant: int) -> None:
    mesh = build("emergency_vehicle", variant)
    shining = mesh.colours[mesh.materials == Material.EMISSIVE]
    assert np.any((shining[:, 0] > 0.8) & (shining[:, 2] < 0.3))
    assert np.any((shining[:, 2] > 0.8) & (shining[:, 0] < 0.3))


@pytest.mark.parametrize("variant", range(VARIANTS["bus_stop"]))
def test_the_shelter_is_looked_through(variant: int) -> None:
    mesh = build("bus_stop", variant)
    clear = mesh.vertices[mesh.faces[mesh.materials == Material.CLEAR]]
    assert np.ptp(clear[..., 1]) > 2.5
    assert np.ptp(clear[..., 2]) > 1.5
    assert not np.any(mesh.materials == Material.GLASS)


@pytest.mark.parametrize("variant", range(VARIANTS["garbage_bin"]))
def test_bins_are_lighter_than_asphalt(variant: int) -> None:
    mesh = build("garbage_bin", variant)
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    bright = mesh.colours.max(axis=1)
    assert (area * (bright > 0.3)).sum() > 0.75 * area.sum()


@pytest.mark.parametrize("variant", range(VARIANTS["police_pedestrian"]))
def test_police_wear_hi_vis_with_bands(variant: int) -> None:
    mesh = build("police_pedestrian", variant)
    retro = mesh.colours[mesh.materials == Material.RETRO]
    yellow = (retro[:, 1] > 0.9) & (retro[:, 2] < 0.3)
    assert yellow.sum() > 200
    assert (~yellow).sum() > 50


def test_a_child_is_shorter_and_has_a_larger_head_than_any_adult() -> None:
    adults = [build("pedestrian", v).bounds[1][2] for v in range(VARIANTS["pedestrian"])]
    children = [
        build("child_pedestrian", v).bounds[1][2] for v in range(VARIANTS["child_pedestrian"])
    ]
    assert max(children) < min(adults) - 0.3
    people = assets.pedestrians
    assert max(p.heads for p in people.CHILDREN) < min(p.heads for p in people.ADULTS) - 1
