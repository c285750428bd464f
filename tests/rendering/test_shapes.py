"""Primitives are closed and turned outward; fields give smooth meshes; people have proportions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.shapes import fields, figures
from vlmfail.rendering.shapes import primitives as shapes
from vlmfail.rendering.shapes.lettering import lettering
from vlmfail.rendering.shapes.people import Person, person_mesh, skeleton

L_SHAPE = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
SOLIDS = {
    "box": (shapes.box((1, 2, 3)), 6.0),
    "rounded box": (shapes.rounded_box((1, 2, 3), 0.05), 5.97),
    "cylinder": (shapes.cylinder((0, 0, 0), (0, 0, 2), 1.0, segments=64), 2 * np.pi),
    "frustum": (shapes.frustum((1, 1, 0), (2, 1, 0), 1, 0.5, segments=64), np.pi * 1.75 / 3),
    "ellipsoid": (shapes.ellipsoid((1, 2, 3), segments=48), 8 * np.pi),
    "capsule": (shapes.capsule((0, 0, 0), (3, 0, 0), 0.5, segments=48), np.pi * (0.75 + 1 / 6)),
    "torus": (shapes.torus(2.0, 0.25, segments=64, sides=32), 2 * np.pi**2 * 2.0 / 16),
    "half torus": (
        shapes.torus(2.0, 0.25, arc=np.pi, segments=64, sides=32), np.pi**2 * 2.0 / 16,
    ),
    "lathe": (shapes.lathe([(0, 0), (1, 0), (1, 1), (0, 1)], 64), np.pi),
    "extruded L": (shapes.extrude(L_SHAPE, 2.0), 6.0),
    "extruded L, other turn": (shapes.extrude(L_SHAPE[::-1], 2.0), 6.0),
    "bevelled L": (shapes.extrude(L_SHAPE, 2.0, inset=0.02), 5.99),
    "sweep": (shapes.sweep([(0, 0, 0), (0, 0, 1), (0, 0, 2)], 0.5, sides=48), np.pi / 2),
    "disc": (shapes.disc(1.0, 0.5, (3, 0, 1), segments=64), np.pi / 2),
}  # fmt: skip


def open_edges(mesh: Mesh) -> int:
    """Return how many directed edges lack their opposite, points welded by place."""
    _, weld = np.unique(np.round(mesh.vertices.astype(float), 5), axis=0, return_inverse=True)
    f = weld.reshape(-1)[mesh.faces]
    edges = Counter(tuple(e) for k in range(3) for e in f[:, [k, (k + 1) % 3]].tolist())
    return sum(abs(count - edges.get((b, a), 0)) for (a, b), count in edges.items())


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_closed_and_have_their_volume(name: str) -> None:
    mesh, volume = SOLIDS[name]
    assert open_edges(mesh) == 0
    assert shapes.signed_volume(mesh.vertices, mesh.faces) == pytest.approx(volume, rel=0.02)


def test_mirroring_keeps_faces_outward() -> None:
    mesh = shapes.extrude(L_SHAPE, 1.0).transformed(scale=(1, -1, 1))
    assert shapes.signed_volume(mesh.vertices, mesh.faces) > 0


def test_triangulation_covers_a_hooked_polygon() -> None:
    hook = np.array([(0, 0), (3, 0), (3, 3), (1, 3), (1, 2), (2, 2), (2, 1), (0, 1)], dtype=float)
    a, b, c = hook[shapes.triangulate(hook)].transpose(1, 0, 2)
    area = ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    assert np.all(area > 0)
    assert area.sum() == pytest.approx(6.0)


def test_cut_keeps_the_surface_and_no_face_crosses() -> None:
    ball = shapes.ellipsoid(1.0, segments=14)
    halves = shapes.cut(ball, (0, 0, 1), 0.21)
    before = shapes.signed_volume(ball.vertices, ball.faces)
    assert shapes.signed_volume(halves.vertices, halves.faces) == pytest.approx(before, rel=1e-5)
    z = halves.vertices[halves.faces][..., 2] - 0.21
    assert not np.any((z.min(axis=1) < -1e-4) & (z.max(axis=1) > 1e-4))
    assert len(halves.faces) > len(ball.faces)


def test_bands_have_exact_borders() -> None:
    striped = shapes.bands(shapes.box((1, 1, 1)), 2, [(-0.2, 0.1)], (1.0, 0.0, 0.0), Material.RETRO)
    red = striped.materials == Material.RETRO
    z = striped.vertices[striped.faces][..., 2]
    assert z[red].min() == pytest.approx(-0.2, abs=1e-6)
    assert z[red].max() == pytest.approx(0.1, abs=1e-6)
    assert np.all(striped.colours[red] == (1.0, 0.0, 0.0))


def test_surface_of_a_ball_field() -> None:
    ball = fields.surface(fields.ellipsoid((1, 2, 3), (0.5, 0.5, 0.5)), 0.09, (1, 1, 1))
    away = ball.vertices - (1, 2, 3)
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), 0.5, atol=1e-3)
    assert open_edges(ball) == 0
    assert shapes.signed_volume(ball.vertices, ball.faces) == pytest.approx(np.pi / 6, rel=0.03)
    outward = away[ball.faces] / 0.5
    np.testing.assert_allclose(ball.normals, outward, atol=2e-2)


def test_blending_rounds_the_seam() -> None:
    two = [fields.limb((0, 0, 0), (1, 0, 0), 0.2, 0.2), fields.limb((0, 0, 0), (0, 0, 1), 0.2, 0.2)]
    corner = np.array([[0.21, 0.0, 0.21]])
    assert fields.blend(two, 0.2).value(corner)[0] < 0 < fields.blend(two, 1e-6).value(corner)[0]


def test_a_cut_field_has_a_straight_edge() -> None:
    tube = fields.half_space(fields.limb((0, 0, 0), (0, 0, 1), 0.3, 0.3), (0, 0, 1), 0.62)
    mesh = fields.surface(tube, 0.08, (1, 1, 1))
    top = mesh.vertices[mesh.vertices[:, 2] > 0.60]
    assert top[:, 2].max() == pytest.approx(0.62, abs=2e-3)
    radius = np.hypot(top[:, 0], top[:, 1])
    assert (radius > 0.299).sum() >= 12  # the rim is met by vertices, not bevelled away
    assert radius.max() == pytest.approx(0.3, abs=2e-3)


def test_moved_field_moves_its_surface() -> None:
    quarter = figures.turn(yaw=np.pi / 2)
    moved = fields.ellipsoid((1, 0, 0), (0.3, 0.2, 0.1)).moved(quarter, (0, 0, 5))
    low, high = fields.surface(moved, 0.05, (1, 1, 1)).bounds
    np.testing.assert_allclose((low + high) / 2, (0, 1, 5), atol=5e-3)
    np.testing.assert_allclose(high - low, (0.4, 0.6, 0.2), atol=2e-2)


def test_middle_joint_keeps_bone_lengths_and_bends_the_right_way() -> None:
    start, end = np.zeros(3), np.array([0.0, 0.0, -0.8])
    knee, foot = figures.middle_joint(start, end, 0.45, 0.43, (1, 0, 0))
    assert np.linalg.norm(knee - start) == pytest.approx(0.45)
    assert np.linalg.norm(foot - knee) == pytest.approx(0.43)
    assert knee[0] > 0.05
    _, far = figures.middle_joint(start, end * 9, 0.45, 0.43, (1, 0, 0))
    assert np.linalg.norm(far) < 0.88


@pytest.mark.parametrize(("height", "heads"), [(1.75, 7.5), (1.15, 6.0), (0.85, 4.5)])
def test_people_have_their_height_and_head(height: float, heads: float) -> None:
    person = Person(height=height, heads=heads, hair_style="none")
    mesh = person_mesh(person)
    assert mesh.bounds[0][2] == pytest.approx(0.0, abs=1e-5)
    assert mesh.bounds[1][2] == pytest.approx(height, rel=0.03)
    assert skeleton(person).head_height == pytest.approx(height / heads)


@pytest.mark.parametrize(
    ("legs", "hair"),
    [
        ("trousers", "short"),
        ("shorts", "long"),
        ("skirt", "bun"),
        ("nappy", "none"),
        ("trousers", "ponytail"),
    ],
)
def test_clothes_and_hair_build(legs: str, hair: str) -> None:
    mesh = person_mesh(Person(legs=legs, hair_style=hair, sleeves="short", woman=hair == "bun"))
    assert np.isfinite(mesh.vertices).all()
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=-1), 1.0, atol=1e-3)
    assert shapes.signed_volume(mesh.vertices, mesh.faces) > 0.04


def test_people_are_deterministic_and_mirror_symmetric() -> None:
    person = replace(Person(), hair_style="none")
    one, two = person_mesh(person), person_mesh(person)
    assert one.vertices.tobytes() == two.vertices.tobytes()
    assert one.bounds[1][1] == pytest.approx(-one.bounds[0][1], abs=0.01)


@pytest.mark.parametrize("detail", ["zip", "open", "stripes"])
def test_details_add_the_inner_colour(detail: str) -> None:
    inner = (0.11, 0.99, 0.22)
    plain = person_mesh(Person(inner=inner))
    dressed = person_mesh(Person(inner=inner, detail=detail))

    def has(mesh: Mesh) -> bool:
        return bool(np.any(np.all(np.isclose(mesh.colours, inner), axis=1)))

    assert has(dressed)
    assert not has(plain)


def test_letters_are_read_by_who_looks_at_their_front() -> None:
    word = lettering("L", 0.7, (0, 0, 0))
    assert word.bounds[1][2] - word.bounds[0][2] == pytest.approx(0.7)
    np.testing.assert_allclose(word.normals[:, :, 0], 1.0)
    # The upright of an L is at the reader's left, which is -y for who faces -x.
    high = word.vertices[word.vertices[:, 2] > 0.3]
    assert high[:, 1].max() < 0
    assert lettering("BUS STOP", 0.1, (0, 0, 0), width=2.0).bounds[1][1] == pytest.approx(1.0)
    with pytest.raises(KeyError):
        lettering("?", 0.1, (0, 0, 0))
