"""The meshes of the pick-up scene: of the sizes that physics takes them to have."""

from __future__ import annotations

import numpy as np
import pytest

from vlmfail.core import UnknownNameError
from vlmfail.envs.pickup.arm import Solid, arm
from vlmfail.envs.pickup.assets import BUILDERS, object_mesh, robot, room
from vlmfail.envs.pickup.objects import Part, objects
from vlmfail.envs.pickup.scene import TABLE, TABLE_TOP

NAMES = [thing.id for thing in objects().objects]
LINKS = [link.name for link in arm().links]
CLOSE = 0.003  # m


def outside(part: Part, p: np.ndarray) -> np.ndarray:
    """Distance of points from a part's surface, m; negative inside."""
    q = p - (0.0, 0.0, part.z)
    if part.shape == "box":
        d = np.abs(q) - part.half_size
        return np.linalg.norm(np.maximum(d, 0), axis=1) + np.minimum(d.max(axis=1), 0)
    if part.shape == "ellipsoid":
        r = np.array(part.half_extents)
        near = np.linalg.norm(q / r, axis=1)
        return near * (near - 1) / np.maximum(np.linalg.norm(q / r**2, axis=1), 1e-9)
    away = np.hypot(q[:, 0], q[:, 1])
    if part.shape == "capsule":
        beyond = np.maximum(np.abs(q[:, 2]) - part.half_length, 0)
        return np.hypot(away, beyond) - part.radius
    d = np.stack([away - part.radius, np.abs(q[:, 2]) - part.half_length], 1)
    return np.linalg.norm(np.maximum(d, 0), axis=1) + np.minimum(d.max(axis=1), 0)


def reach(part: Part, ways: np.ndarray) -> np.ndarray:
    """How far a part reaches along unit vectors, m."""
    a, b, c = part.half_extents
    x, y, z = np.abs(ways).T
    middle = part.z * ways[:, 2]
    if part.shape == "box":
        return middle + a * x + b * y + c * z
    if part.shape == "ellipsoid":
        return middle + np.sqrt((a * x) ** 2 + (b * y) ** 2 + (c * z) ** 2)
    if part.shape == "capsule":
        return middle + part.half_length * z + part.radius
    return middle + part.half_length * z + part.radius * np.hypot(x, y)


def test_there_is_a_mesh_for_every_object_and_no_other() -> None:
    assert list(BUILDERS) == NAMES


def test_an_unknown_object_is_named() -> None:
    with pytest.raises(UnknownNameError, match="sponge"):
        object_mesh("spong")


@pytest.mark.parametrize("name", NAMES)
class TestEveryObject:
    def test_nothing_sticks_out(self, name: str) -> None:
        parts = objects().of(name).parts
        vertices = object_mesh(name).vertices.astype(np.float64)
        away = np.min([outside(part, vertices) for part in parts], axis=0)
        assert away.max() < CLOSE, vertices[away.argmax()]

    def test_it_reaches_as_far_as_its_parts(self, name: str) -> None:
        ways = np.random.default_rng(0).normal(size=(500, 3))
        ways = np.concatenate([ways, np.eye(3), -np.eye(3)])
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        drawn = (object_mesh(name).vertices @ ways.T).max(axis=0)
        real = np.max([reach(part, ways) for part in objects().of(name).parts], axis=0)
        assert np.abs(drawn - real).max() < CLOSE, ways[np.abs(drawn - real).argmax()]

    def test_it_is_light_enough_to_draw_often(self, name: str) -> None:
        assert len(object_mesh(name).faces) < 6000

    def test_it_is_built_once_and_alike(self, name: str) -> None:
        mesh, again = object_mesh(name), BUILDERS[name]()
        assert object_mesh(name) is mesh
        assert np.array_equal(mesh.vertices, again.vertices)
        assert np.array_equal(mesh.colours, again.colours)

    def test_normals_are_unit_and_finite(self, name: str) -> None:
        normals = object_mesh(name).normals
        assert np.allclose(np.linalg.norm(normals, axis=-1), 1.0, atol=1e-3)


def solid_bounds(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    if solid.half_size is not None:
        half = np.array(solid.half_size)
    else:
        cap = solid.radius if solid.shape == "capsule" else 0.0
        half = np.full(3, solid.radius)
        half["xyz".index(solid.axis)] = solid.half_length + cap
    return np.array(solid.at) - half, np.array(solid.at) + half


@pytest.mark.parametrize("name", LINKS)
def test_a_link_is_as_large_as_its_solids(name: str) -> None:
    bounds = [solid_bounds(solid) for solid in arm().link(name).solids]
    low = np.min([low for low, _ in bounds], axis=0)
    high = np.max([high for _, high in bounds], axis=0)
    drawn_low, drawn_high = robot.link_mesh(name).bounds
    assert np.abs(drawn_low - low).max() < CLOSE
    assert np.abs(drawn_high - high).max() < CLOSE


def test_the_table_is_where_the_scene_says() -> None:
    vertices = room.backdrop().vertices
    top = vertices[np.abs(vertices[:, 2] - TABLE_TOP) < 1e-6]
    assert np.allclose(top.min(axis=0)[:2], (TABLE[0], TABLE[2]))
    assert np.allclose(top.max(axis=0)[:2], (TABLE[1], TABLE[3]))
    over = (vertices[:, 0] > TABLE[0]) & (vertices[:, 0] < TABLE[1])
    over &= (vertices[:, 1] > TABLE[2]) & (vertices[:, 1] < TABLE[3])
    assert vertices[over, 2].max() <= TABLE_TOP + 1e-6
