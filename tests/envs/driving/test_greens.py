"""Trees, bushes, hedges and flower beds: light, whole, round, and where they are meant to stand."""

from __future__ import annotations

import numpy as np
import pytest

from vlmfail.envs.driving import town_greens as greens
from vlmfail.rendering.mesh import Material, Mesh

GREEN = (0.36, 0.50, 0.22)


def some_tree(seed: int = 0, **kwargs) -> Mesh:
    return greens.tree(np.random.default_rng(seed), 9.0, 3.0, GREEN, **kwargs)


def leafy(mesh: Mesh) -> np.ndarray:
    return mesh.vertices[mesh.faces[mesh.materials == Material.FOLIAGE]]


def test_a_tree_is_light_and_lighter_behind_houses():
    assert len(some_tree().faces) <= 500
    assert len(some_tree(leaves=30, detail=1).faces) <= 190


def test_a_crown_stands_on_a_trunk_that_leaves_room_for_people():
    for seed in range(6):
        mesh = some_tree(seed)
        crown = leafy(mesh)
        trunk = mesh.vertices[mesh.faces[mesh.materials == Material.WOOD]]
        assert trunk[..., 2].min() <= 0.0
        assert trunk[..., 2].max() > crown[..., 2].min() + 0.5
        assert crown[..., 2].min() > 1.6
        assert 7.5 < crown[..., 2].max() < 10.5
        assert np.abs(crown[..., :2]).max() < 4.2


def test_the_closed_part_of_a_crown_faces_outwards():
    mesh = greens.tree(np.random.default_rng(3), 9.0, 3.0, GREEN, leaves=0)
    faces = mesh.materials == Material.FOLIAGE
    corners = mesh.vertices[mesh.faces[faces]].astype(np.float64)
    out = corners.mean(axis=1) - leafy(mesh).reshape(-1, 3).mean(axis=0)
    wound = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", wound, out) > 0).mean() > 0.97
    shaded = mesh.normals[faces].mean(axis=1)
    assert (np.einsum("ij,ij->i", shaded, out) > 0).mean() > 0.99


def test_leaves_differ_in_tone_and_fray_the_outline():
    mesh = some_tree(1)
    tones = mesh.colours[mesh.materials == Material.FOLIAGE]
    assert np.ptp(tones[:, 1]) > 0.15
    assert (tones[:, 1] > tones[:, 2]).all()
    bare = greens.tree(np.random.default_rng(1), 9.0, 3.0, GREEN, leaves=0)
    assert np.ptp(leafy(mesh)[..., 0]) > np.ptp(leafy(bare)[..., 0])


def test_one_seed_one_tree_and_seeds_differ():
    assert np.array_equal(some_tree(2).vertices, some_tree(2).vertices)
    assert not np.array_equal(some_tree(2).vertices, some_tree(3).vertices)


def test_a_bush_and_a_bed_lie_on_the_ground_within_their_size():
    rng = np.random.default_rng(4)
    low, high = greens.bush(rng, 1.0, GREEN).bounds
    assert -0.35 < low[2] < 0.15
    assert 0.75 < high[2] < 1.35
    bed = greens.flowers(rng, 2.0, 0.6, (0.9, 0.2, 0.2))
    low, high = bed.bounds
    assert high[2] < 0.6
    assert np.ptp([low[1], high[1]]) == pytest.approx(2.0, abs=0.3)
    assert np.ptp([low[0], high[0]]) < 1.0
    heads = bed.colours[bed.materials == Material.MATTE]
    assert len(heads) > 20
    assert (heads[:, 0] > 2 * heads[:, 1]).all()


def test_a_conifer_tapers():
    crown = leafy(greens.conifer(np.random.default_rng(0), 9.0, GREEN)).reshape(-1, 3)
    reach = np.linalg.norm(crown[:, :2], axis=1)
    assert reach[crown[:, 2] > 7.0].max() < 0.5 * reach[crown[:, 2] < 4.0].max()
