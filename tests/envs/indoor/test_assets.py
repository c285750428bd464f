"""Every thing of the indoor domain: its size, its frame, its named points."""

from __future__ import annotations

import time

import numpy as np
import pytest

from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.indoor import assets
from vlmfail.envs.indoor.assets import VARIANTS, anchor, anchors, blades, build, people
from vlmfail.rendering.mesh import SOFT, Material, Mesh
from vlmfail.rendering.shapes.primitives import box, signed_volume

# Lowest and highest (x, y, z) extent of each kind, m.
SIZES = {
    "glass_upright": ((0.06, 0.06, 0.10), (0.09, 0.09, 0.16)),
    "glass_tipped": ((0.10, 0.06, 0.06), (0.16, 0.09, 0.09)),
    "mug": ((0.07, 0.10, 0.08), (0.10, 0.13, 0.11)),
    "mug_tipped": ((0.08, 0.10, 0.07), (0.11, 0.13, 0.10)),
    "water_counter": ((0.15, 0.12, 0.87), (0.30, 0.25, 0.88)),
    "coffee_counter": ((0.15, 0.15, 0.87), (0.30, 0.27, 0.88)),
    "water_floor": ((0.35, 0.50, 0.002), (0.50, 0.66, 0.01)),
    "coffee_floor": ((0.35, 0.50, 0.002), (0.50, 0.70, 0.01)),
    "coffee_puddle": ((0.08, 0.10, 0.002), (0.14, 0.18, 0.01)),
    "steam_small": ((0.04, 0.06, 0.23), (0.15, 0.18, 0.26)),
    "steam_wide": ((0.06, 0.15, 0.33), (0.25, 0.36, 0.36)),
    "steam_front": ((0.10, 0.18, 0.28), (0.26, 0.40, 0.40)),
    "smoke": ((0.30, 0.30, 1.45), (0.65, 0.65, 1.51)),
    "gas_flame": ((0.12, 0.12, 0.03), (0.17, 0.17, 0.07)),
    "pan": ((0.25, 0.25, 0.04), (0.28, 0.28, 0.06)),
    "pan_handle": ((0.20, 0.02, 0.03), (0.24, 0.04, 0.07)),
    "chef_knife": ((0.34, 0.05, 0.012), (0.38, 0.060, 0.025)),
    "knife_block": ((0.15, 0.10, 0.22), (0.25, 0.15, 0.32)),
    "scissors_open": ((0.23, 0.14, 0.008), (0.29, 0.22, 0.03)),
    "pill_bottle": ((0.10, 0.12, 0.05), (0.25, 0.25, 0.12)),
    "outlet_exposed": ((0.03, 0.13, 0.12), (0.09, 0.20, 0.19)),
    "outlet_covered": ((0.01, 0.13, 0.12), (0.04, 0.15, 0.14)),
    "loose_cord": ((0.45, 0.70, 0.03), (0.75, 1.0, 0.06)),
    "towel_draped": ((0.31, 0.27, 0.25), (0.36, 0.31, 0.29)),
    "towel_burning": ((0.31, 0.27, 0.45), (0.38, 0.31, 0.63)),
    "microwave_open": ((0.60, 0.48, 0.27), (0.72, 0.53, 0.29)),
    "broken_glass": ((0.44, 0.62, 0.06), (0.60, 0.80, 0.09)),
    "extinguisher": ((0.15, 0.15, 0.40), (0.25, 0.25, 0.56)),
    "chair": ((0.38, 0.38, 0.85), (0.52, 0.50, 0.95)),
    "chemicals": ((0.12, 0.38, 0.24), (0.25, 0.50, 0.30)),
    "toy_blocks": ((0.12, 0.20, 0.09), (0.30, 0.40, 0.20)),
}
THINGS = [(kind, v) for kind in SIZES for v in range(VARIANTS[kind])]
ENOUGH = {
    "glass_upright": 3, "glass_tipped": 3, "water_counter": 2, "water_floor": 3, "coffee_floor": 3,
    "coffee_counter": 2, "mug": 3, "mug_tipped": 2, "steam_small": 2, "steam_wide": 2, "smoke": 3,
    "chef_knife": 2, "knife_block": 3, "scissors_open": 2, "pill_bottle": 2, "outlet_exposed": 3,
    "outlet_covered": 3, "loose_cord": 3, "towel_draped": 3, "towel_burning": 3, "pan": 3,
    "microwave_open": 3, "broken_glass": 3, "chair": 2, "chemicals": 3, "toy_blocks": 2,
    "extinguisher": 1, "gas_flame": 1, "steam_front": 2, "coffee_puddle": 3, "pan_handle": 3,
}  # fmt: skip

# Lie in another frame than that of a thing that stands over its origin.
AT_EDGE = ("water_counter", "coffee_counter", "towel_draped", "towel_burning")
ON_WALL = ("outlet_exposed", "outlet_covered", "extinguisher")
OFF_CENTRE = ("microwave_open", "pan_handle", "chef_knife", "steam_front")
IN_AIR = ("steam_front", "pan_handle")


def test_sizes_name_every_thing() -> None:
    assert set(SIZES) == set(VARIANTS) - set(people.BUILDERS)


def test_there_are_enough_variants() -> None:
    assert set(ENOUGH) == set(SIZES)
    assert all(VARIANTS[kind] >= least for kind, least in ENOUGH.items())


@pytest.mark.parametrize(("kind", "variant"), THINGS)
class TestEveryThing:
    def test_size(self, kind: str, variant: int) -> None:
        low, high = build(kind, variant).bounds
        least, most = SIZES[kind]
        assert np.all(high - low >= least), high - low
        assert np.all(high - low <= most), high - low

    def test_frame(self, kind: str, variant: int) -> None:
        low, high = build(kind, variant).bounds
        if kind in AT_EDGE:
            assert low[0] < -0.15
            assert 0.004 <= high[0] < 0.07
            assert low[2] < -0.1
        elif kind in ON_WALL:
            assert -0.012 <= low[0] <= 0.002
            assert np.all(np.abs(low + high)[1:] / 2 < 0.03)
        else:
            assert kind in IN_AIR or abs(low[2]) < 0.003
            if kind not in OFF_CENTRE:
                assert np.all(np.abs(low + high)[:2] / 2 < 0.05)

    def test_mesh_is_sound(self, kind: str, variant: int) -> None:
        mesh = build(kind, variant)
        assert np.isfinite(mesh.vertices).all()
        assert np.isfinite(mesh.normals).all()
        assert mesh.faces.min() >= 0
        assert mesh.faces.max() < len(mesh.vertices)
        np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=-1), 1.0, atol=1e-3)
        assert mesh.colours.min() >= 0.0
        assert mesh.colours.max() <= 1.0
        assert set(np.unique(mesh.materials)) <= {int(m) for m in Material}
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = np.linalg.norm(across, axis=1)
        against = np.einsum("fi,fi->f", across, mesh.normals.mean(axis=1).astype(np.float64)) < 0
        assert area[against].sum() < 0.01 * area.sum()

    def test_is_small_enough_to_trace(self, kind: str, variant: int) -> None:
        assert 100 <= len(build(kind, variant).faces) <= (4800 if "burning" in kind else 2600)

    def test_is_built_fast_and_the_same_each_time(self, kind: str, variant: int) -> None:
        kept = build(kind, variant)
        assert build(kind, variant) is kept
        start = time.process_time()
        again = assets._BUILDERS[kind][1](variant)
        assert time.process_time() - start < 3.0
        for name in ("vertices", "faces", "colours", "materials", "normals"):
            assert getattr(again, name).tobytes() == getattr(kept, name).tobytes()

    def test_named_points_lie_at_the_mesh(self, kind: str, variant: int) -> None:
        mesh = build(kind, variant)
        for name, point in anchors(kind, variant).items():
            nearest = np.linalg.norm(_samples(mesh) - np.asarray(point), axis=1).min()
            assert nearest < 0.03, (name, nearest)


def _samples(mesh: Mesh) -> np.ndarray:
    corners = mesh.vertices[mesh.faces]
    return np.concatenate([mesh.vertices, corners.mean(axis=1), corners[:, :2].mean(axis=1)])


def _bodies(mesh: Mesh, *materials: Material) -> np.ndarray:
    """Return the corners of the faces of some materials, `n x 3`."""
    chosen = np.isin(mesh.materials, [int(m) for m in materials])
    return mesh.vertices[mesh.faces[chosen]].reshape(-1, 3)


def test_variants_differ() -> None:
    for kind in SIZES:
        looks = {
            build(kind, v).vertices.tobytes() + build(kind, v).colours.tobytes()
            for v in range(VARIANTS[kind])
        }
        assert len(looks) == VARIANTS[kind], kind


class TestKnife:
    def test_centre_of_mass_of_boxes(self) -> None:
        heavy, light = box((0.1, 0.1, 0.1)), box((0.1, 0.1, 0.1), (1.0, 0, 0))
        x, y, z = blades.centre_of_mass([(heavy, 3000.0), (light, 1000.0)])
        assert (x, y, z) == pytest.approx((0.25, 0.0, 0.0), abs=1e-6)

    @pytest.mark.parametrize("variant", [0, 1])
    def test_it_balances_on_its_origin(self, variant: int) -> None:
        # By small cubes, independently of the tetrahedra that the builder sums up.
        mass, moment = 0.0, np.zeros(2)
        for mesh, density in blades._knife_parts(variant):
            low, high = (b.astype(float) for b in mesh.bounds)
            xs, ys = (np.arange(low[k], high[k], 0.001) for k in (0, 1))
            z = 0.5 * (low[2] + high[2])
            p = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1).reshape(-1, 2)
            inside = _inside(mesh, p, z)
            weight = density * float(high[2] - low[2])
            mass += weight * inside.sum()
            moment += weight * p[inside].sum(axis=0)
        x, y = moment / mass
        assert anchor("chef_knife", variant, "heel")[0] == pytest.approx(-x, abs=0.003)
        tip = blades.KNIVES[variant][0] - x
        assert anchor("chef_knife", variant, "tip")[0] == pytest.approx(tip, abs=0.003)
        assert abs(y) < 0.03

    @pytest.mark.parametrize("variant", [0, 1])
    def test_points_are_the_ends(self, variant: int) -> None:
        low, high = build("chef_knife", variant).bounds
        assert anchor("chef_knife", variant, "tip")[0] == pytest.approx(high[0], abs=0.002)
        assert anchor("chef_knife", variant, "handle_end")[0] == pytest.approx(low[0], abs=0.002)
        assert anchor("chef_knife", variant, "heel")[1] == pytest.approx(low[1], abs=0.002)
        blade = anchor("chef_knife", variant, "tip")[0] - anchor("chef_knife", variant, "heel")[0]
        assert 0.20 <= blade <= 0.24

    def test_every_part_is_closed(self) -> None:
        for variant in range(VARIANTS["chef_knife"]):
            for mesh, _ in blades._knife_parts(variant):
                assert signed_volume(mesh.vertices, mesh.faces) > 0
                edges = np.sort(
                    np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]],
                                    mesh.faces[:, [2, 0]]]), axis=1
                )  # fmt: skip
                _, counts = np.unique(edges, axis=0, return_counts=True)
                assert np.all(counts == 2)


def _inside(mesh: Mesh, points: np.ndarray, z: float) -> np.ndarray:
    """Return which points (x, y) at height z lie in a closed mesh, by counting crossings."""
    at = np.concatenate([points, np.full((len(points), 1), z)], axis=1) + 1e-5
    a, b, c = (mesh.vertices[mesh.faces[:, k]].astype(np.float64) for k in range(3))
    odd = np.zeros(len(at), dtype=bool)
    for p, q, r in zip(a, b, c, strict=True):
        d = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])
        if abs(d) < 1e-14:
            continue
        u = ((at[:, 0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (at[:, 1] - p[1])) / d
        v = ((q[0] - p[0]) * (at[:, 1] - p[1]) - (at[:, 0] - p[0]) * (q[1] - p[1])) / d
        height = p[2] + u * (q[2] - p[2]) + v * (r[2] - p[2])
        odd ^= (u >= 0) & (v >= 0) & (u + v <= 1) & (height > at[:, 2])
    return odd


@pytest.mark.parametrize("kind", ["water_counter", "coffee_counter"])
def test_spills_reach_the_edge_and_run_over_it(kind: str) -> None:
    for variant in range(VARIANTS[kind]):
        points = build(kind, variant).vertices
        lying = points[(points[:, 2] > 0) & (points[:, 0] <= 1e-6)]
        assert lying[:, 0].max() == pytest.approx(0.0, abs=1e-6)
        hanging = points[points[:, 2] < -0.05]
        # Down to within centimetres of the floor, 0.9 m below, but not onto it.
        assert -0.885 < hanging[:, 2].min() < -0.84
        assert hanging[:, 0].mean() == pytest.approx(0.004, abs=0.001)
        mesh = build(kind, variant)
        wet = mesh.materials == Material.LIQUID
        assert np.all(wet | (kind == "coffee_counter"))
        assert wet.mean() > 0.7


@pytest.mark.parametrize("kind", ["water_counter", "coffee_counter"])
def test_runs_are_uneven_and_break_into_drops(kind: str) -> None:
    for variant in range(VARIANTS[kind]):
        mesh = build(kind, variant)
        ends, drops = [], 0
        for piece in _pieces(mesh):
            low, high = piece.min(axis=0), piece.max(axis=0)
            if high[2] > 0 and low[2] < -0.05:
                ends.append(-float(low[2]))
                # The longer a run, the thinner its thread below the edge.
                foot = piece[(piece[:, 2] < -0.4 * ends[-1]) & (piece[:, 2] > -0.8 * ends[-1])]
                assert np.ptp(foot[:, 1]) < np.ptp(piece[:, 1]) if len(foot) else True
            elif high[2] < -0.2:
                drops += 1
                assert high[2] - low[2] < 0.06
        assert len(ends) == 4
        assert max(ends) > 0.55
        assert min(ends) < 0.15
        assert drops >= 5


def _pieces(mesh: Mesh) -> list[np.ndarray]:
    """Return the vertices of each connected part of a mesh."""
    root = np.arange(len(mesh.vertices))
    while True:
        low = root[mesh.faces].min(axis=1)
        after = root.copy()
        np.minimum.at(after, mesh.faces.ravel(), np.repeat(low, 3))
        if np.array_equal(after, root):
            break
        root = after[after]
    used = np.unique(mesh.faces)
    return [mesh.vertices[used[root[used] == name]] for name in np.unique(root[used])]


def test_coffee_is_brown_and_water_is_not() -> None:
    for kind in ("counter", "floor", "puddle"):
        for v in range(VARIANTS[f"coffee_{kind}"]):
            red, _, blue = build(f"coffee_{kind}", v).colours.mean(axis=0)
            assert red > 3 * blue
        for v in range(VARIANTS.get(f"water_{kind}", 0)):
            red, _, blue = build(f"water_{kind}", v).colours.mean(axis=0)
            assert blue > red > 0.5


@pytest.mark.parametrize("kind", ["glass_tipped", "mug_tipped"])
def test_tipped_vessels_open_towards_x(kind: str) -> None:
    for variant in range(VARIANTS[kind]):
        mesh = build(kind, variant)
        x, y, z = anchor(kind, variant, "mouth")
        assert x > 0.8 * mesh.bounds[1][0]
        assert y == 0.0
        assert 0 <= z < 0.01


@pytest.mark.parametrize("variant", range(3))
def test_covered_holes_lie_behind_plate_and_caps(variant: int) -> None:
    mesh = build("outlet_covered", variant)
    cap = _bodies(mesh, Material.CLEAR)
    for point in anchors("outlet_covered", variant).values():
        same = np.sign(cap[:, 1]) == np.sign(point[1])
        pane = cap[same]
        assert pane[:, 0].min() > point[0] + 0.005
        assert pane[:, 1].min() < point[1] < pane[:, 1].max()
        assert pane[:, 2].min() < point[2] < pane[:, 2].max()


@pytest.mark.parametrize("variant", range(3))
def test_nothing_lies_before_the_exposed_holes(variant: int) -> None:
    mesh = build("outlet_exposed", variant)
    corners = mesh.vertices[mesh.faces].mean(axis=1)
    points = anchors("outlet_exposed", variant)
    assert len(points) == 6
    for x, y, z in points.values():
        near = np.hypot(corners[:, 1] - y, corners[:, 2] - z) < 0.004
        assert corners[near][:, 0].max() < x + 0.004
        # And they are dark.
        here = np.linalg.norm(corners - (x, y, z), axis=1).argmin()
        assert mesh.colours[here].max() < 0.1


@pytest.mark.parametrize(("variant", "side"), [(0, -1.0), (1, -1.0), (2, 1.0)])
def test_microwave_door_stands_open_at_its_hinge(variant: int, side: float) -> None:
    mesh = build("microwave_open", variant)
    beyond = mesh.vertices[mesh.vertices[:, 0] > 0.2]
    assert np.all(side * beyond[:, 1] > 0.19)
    assert anchor("microwave_open", variant, "door_end")[0] == pytest.approx(
        mesh.bounds[1][0], abs=0.005
    )
    # Nothing but the way through the air lies between the front and the bowl.
    x, y, z = anchor("microwave_open", variant, "bowl")
    middle = mesh.vertices[mesh.faces].mean(axis=1)
    before = (middle[:, 0] > x + 0.12) & (np.abs(middle[:, 1] - y) < 0.08)
    before &= np.abs(middle[:, 2] - z) < 0.03
    assert not before.any()
    assert (mesh.materials == Material.EMISSIVE).any()


def test_steam_leaves_the_oven_by_its_front() -> None:
    for oven in range(VARIANTS["microwave_open"]):
        mouth = np.asarray(anchor("microwave_open", oven, "mouth"))
        bowl = np.asarray(anchor("microwave_open", oven, "bowl"))
        for variant in range(VARIANTS["steam_front"]):
            steam = build("steam_front", variant).vertices
            low, high = steam.min(axis=0), steam.max(axis=0)
            assert low[0] == pytest.approx(0.0, abs=0.003), "none in the oven or through its roof"
            assert high[2] == pytest.approx(0.42, abs=0.01)
            # Where it is above the oven it is well before it.
            assert steam[steam[:, 2] > 0.23][:, 0].min() > 0.02
            assert np.linalg.norm(steam + mouth - bowl, axis=1).min() < 0.19


@pytest.mark.parametrize(
    ("kind", "wide"), [("steam_wide", 0.03), ("steam_front", 0.03), ("steam_small", 0.015)]
)
def test_steam_ends_rounded(kind: str, wide: float) -> None:
    for variant in range(VARIANTS[kind]):
        cloud = build(kind, variant).vertices
        top = cloud[cloud[:, 2] > cloud[:, 2].max() - 0.02]
        assert np.ptp(top[:, 1]) > wide, "no pointed tongue"


def test_exposed_and_covered_outlets_differ_from_afar() -> None:
    for variant in range(3):
        shade = {}
        for kind in ("outlet_exposed", "outlet_covered"):
            mesh = build(kind, variant)
            corners = mesh.vertices[mesh.faces].astype(np.float64)
            # Seen from the front: one cell of 7.5 mm is a pixel of a small picture.
            grid = np.full((16, 16), np.nan)
            for corner, colour in zip(corners[corners[:, :, 0].mean(axis=1).argsort()],
                                      mesh.colours[corners[:, :, 0].mean(axis=1).argsort()],
                                      strict=True):  # fmt: skip
                low, high = corner[:, 1:].min(axis=0), corner[:, 1:].max(axis=0)
                a = np.clip(np.floor((low + 0.06) / 0.0075), 0, 16).astype(int)
                b = np.clip(np.ceil((high + 0.06) / 0.0075), 0, 16).astype(int)
                grid[a[0] : b[0], a[1] : b[1]] = colour.max()
            shade[kind] = np.mean(grid < 0.25)
        assert shade["outlet_exposed"] > 0.15
        assert shade["outlet_covered"] < 0.02


def test_pills_lie_about_the_open_bottle() -> None:
    for variant in range(VARIANTS["pill_bottle"]):
        low = build("pill_bottle", variant).vertices
        assert np.count_nonzero(low[:, 0] > 0.03) > 100, "some lie in front"


def test_pan_handle_sticks_out() -> None:
    for variant in range(VARIANTS["pan"]):
        x, y, z = anchor("pan_handle", variant, "handle_end")
        assert x == pytest.approx(0.35, abs=0.005)
        assert y == 0.0
        assert 0.04 < z < 0.10


def test_scissors_stand_open() -> None:
    for variant in range(VARIANTS["scissors_open"]):
        mesh = build("scissors_open", variant)
        steel = _bodies(mesh, Material.METAL)
        tips = steel[steel[:, 0] > steel[:, 0].max() - 0.01]
        assert np.ptp(tips[:, 1]) > 0.10


@pytest.mark.parametrize("kind", ["towel_draped", "towel_burning"])
def test_towels_hang_before_the_worktop(kind: str) -> None:
    for variant in range(VARIANTS[kind]):
        mesh = build(kind, variant)
        cloth = _bodies(mesh, Material.CLOTH)
        assert cloth[cloth[:, 2] < -0.02][:, 0].min() > 0.002
        assert cloth[cloth[:, 0] < -0.02][:, 2].min() > 0.0
        assert -0.27 < cloth[:, 2].min() < -0.22


def test_char_has_a_glowing_rim_and_no_hem() -> None:
    for variant in range(VARIANTS["towel_burning"]):
        mesh, whole = build("towel_burning", variant), build("towel_draped", variant)
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        edges = corners[:, 1:] - corners[:, :1]
        area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
        glow = mesh.materials == Material.EMISSIVE
        cloth = mesh.materials == Material.CLOTH
        black = cloth & (mesh.colours.max(axis=1) < 0.12)
        # Embers are a thin line; char is a large part.
        assert 0.0 < area[glow].sum() < 0.05 * area[cloth].sum()
        assert area[black].sum() > 0.25 * area[cloth].sum()
        # They lie at the char's border, each within millimetres of it.
        rim = mesh.vertices[mesh.faces[black]].reshape(-1, 3)
        for middle in corners[glow].mean(axis=1)[::7]:
            assert np.linalg.norm(rim - middle, axis=1).min() < 0.02
        for y in (-0.11, -0.06, 0.0, 0.06, 0.11):
            here = [
                points[np.abs(points[:, 1] - y) < 0.012][:, 2].min()
                for points in (_bodies(m, Material.CLOTH) for m in (mesh, whole))
            ]
            assert here[0] > here[1] - 1e-3


def test_fire_stands_on_the_burning_towel_only() -> None:
    for variant in range(VARIANTS["towel_burning"]):
        flames = _bodies(build("towel_burning", variant), Material.FLAME)
        assert 0.25 <= flames[:, 2].max() <= 0.36
        assert not len(_bodies(build("towel_draped", variant), Material.FLAME))


@pytest.mark.parametrize("kind", ["steam_small", "steam_wide", "steam_front", "smoke", "gas_flame"])
def test_vapours_and_flames_stop_no_light(kind: str) -> None:
    for variant in range(VARIANTS[kind]):
        assert set(np.unique(build(kind, variant).materials)) <= {int(m) for m in SOFT}


def test_gas_flame_is_a_blue_ring() -> None:
    mesh = build("gas_flame")
    away = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 1])
    assert away.min() > 0.04
    assert away.max() < 0.085
    assert np.all(mesh.colours[:, 2] > 1.5 * mesh.colours[:, 0])


def test_seat_is_where_feet_are_put() -> None:
    for variant in range(VARIANTS["chair"]):
        mesh = build("chair", variant)
        seat = mesh.vertices[np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 1]) < 0.22]
        seat = seat[seat[:, 2] < 0.47]
        assert anchor("chair", variant, "seat")[2] == pytest.approx(0.45)
        assert seat[:, 2].max() == pytest.approx(0.45, abs=0.002)


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="chef_knife"):
        build("chef_knive", 0)
    with pytest.raises(UnknownNameError, match="handle_end"):
        anchor("chef_knife", 0, "handel_end")
    with pytest.raises(UsageError, match="0 to"):
        build("mug", 99)
    with pytest.raises(UsageError, match="0 to"):
        anchors("mug", -1)


def test_tables_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        VARIANTS["mug"] = 9  # type: ignore[index]
    with pytest.raises(TypeError):
        anchors("mug", 0)["top"] = (0.0, 0.0, 0.0)  # type: ignore[index]
