from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vlmfail.core import Rendering
from vlmfail.rendering import noise
from vlmfail.rendering.accelerator import Accelerator
from vlmfail.rendering.bodies import Body, BodyCache
from vlmfail.rendering.camera import project
from vlmfail.rendering.embree import EmbreeRenderer
from vlmfail.rendering.kernels.fittings import fitting
from vlmfail.rendering.kernels.lamps import glint, smoothed
from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.occlusion import cut_fine, room_openness
from vlmfail.rendering.shapes.primitives import ellipsoid, lathe
from vlmfail.rendering.world import Atmosphere, Camera, Instance, Lamp, World

from .worlds import RAIN, box, busy_world, ground, world

RENDERER = EmbreeRenderer()
CAMERA = Camera(-1.8, 0.0, 1.5, pitch=-0.35, width=128, height=96)
LAMP = Lamp(-1.2, 0.8, 2.3, (2.4, 2.3, 2.1), 0.1)
LIT = Atmosphere(
    sun=(0, 0, 0), zenith=(0.4, 0.4, 0.4), horizon=(0.4, 0.4, 0.4), ground=(0.3, 0.3, 0.3),
    clouds=0.0, lamps=(LAMP,),
)  # fmt: skip
TOP = 0.9
GREY = (0.6, 0.6, 0.6)


def room(
    wall: Material = Material.MATTE, top: Material = Material.MATTE, colour=(0.75, 0.7, 0.6)
) -> Mesh:
    """Walls, floor, ceiling and a worktop against the back wall (x = 0)."""
    inside = box(3.0, 4.0, 2.5, (0.8, 0.8, 0.78), wall).transformed((-1.5, 0.0, 0.0))
    return Mesh.merge([inside, box(0.6, 4.0, TOP, colour, top).transformed((-0.3, 0.0, 0.0))])


def kitchen(*objects: Instance, atmosphere: Atmosphere = LIT, **changes) -> World:
    mesh = changes.pop("backdrop", None)
    key = changes.pop("backdrop_key", "kitchen")
    probes = changes.pop("probes", tuple(item.name for item in objects))
    scene = World(mesh or room(), key, objects, CAMERA, atmosphere, probes)
    return replace(scene, **changes)


def tumbler() -> Mesh:
    profile = [(0.0, 0.0), (0.04, 0.0), (0.05, 0.18), (0.047, 0.18), (0.037, 0.012), (0.0, 0.012)]
    return lathe(profile, 24, (0.9, 0.95, 0.95), Material.CLEAR)


def puff(material: Material, colour, radius: float = 0.15) -> Mesh:
    return ellipsoid((radius, radius, radius), (0.0, 0.0, radius), colour, material)


def pool(colour, size: float = 0.22) -> Mesh:
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rim = np.stack([size * np.cos(angles), size * np.sin(angles), np.full(24, 0.003)], axis=1)
    faces = [[24, k, (k + 1) % 24] for k in range(24)]
    return Mesh.build(np.r_[rim, [[0, 0, 0.003]]], faces, colour, Material.LIQUID)


def patch(rendering: Rendering, x: float, y: float, z: float, reach: int = 1) -> np.ndarray:
    """Return the mean display colour round a place in the room."""
    at, depth = project(CAMERA, [[x, y, z]])
    assert depth[0] > 0
    column, row = int(at[0, 0]), int(at[0, 1])
    pixels = rendering.picture.pixels
    return (
        pixels[row - reach : row + reach + 1, column - reach : column + reach + 1]
        .reshape(-1, 3)
        .mean(axis=0)
    )


# Lamps


def test_no_lamps_is_what_there_was_before_lamps():
    plain = busy_world()
    none = replace(plain, atmosphere=replace(plain.atmosphere, lamps=()))
    assert RENDERER.render_world(plain).picture == RENDERER.render_world(none).picture
    street = world(Instance("box", box(), 8.0, 0.0), atmosphere=RAIN)
    far_lamp = replace(RAIN, lamps=(Lamp(500.0, 0.0, 2.0),))
    with_lamp = RENDERER.render_world(replace(street, atmosphere=far_lamp))
    assert with_lamp.picture != RENDERER.render_world(street).picture, "a lamp makes it a room"


def test_a_street_never_meets_the_code_of_rooms(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a street needs no room")

    monkeypatch.setattr("vlmfail.rendering.embree.RoomShader", refuse)
    pane = Instance("pane", box(0.02, 1, 1, GREY, Material.CLEAR), 5.0, 0.0)
    RENDERER.render_world(world(pane, Instance("box", box(), 8.0, 0.0)))
    with pytest.raises(AssertionError, match="no room"):
        RENDERER.render_world(kitchen())


def test_light_falls_off_with_the_square_of_the_distance():
    dark = replace(LIT, zenith=(0, 0, 0), horizon=(0, 0, 0), ground=(0, 0, 0), exposure=0.25)
    floor = Mesh.build(
        [[-3, -3, TOP], [3, -3, TOP], [3, 3, TOP], [-3, 3, TOP]], [[0, 1, 2], [0, 2, 3]], GREY
    )

    def bright(height: float) -> float:
        lamp = Lamp(-0.5, 0.0, TOP + height, (1.0, 1.0, 1.0), 0.01)
        scene = kitchen(
            atmosphere=replace(dark, lamps=(lamp,)), backdrop=floor, backdrop_key="bare floor"
        )
        shown = patch(RENDERER.render_world(scene), -0.5, 0.0, TOP)[0] / 255.0
        return ((shown + 0.055) / 1.055) ** 2.4

    # The tone curve is no straight line, hence the width of the bound.
    assert 2.8 < bright(0.7) / bright(1.4) < 6.5


def test_a_lamp_casts_a_shadow_that_is_soft_at_its_edge():
    screen = Instance("screen", box(0.4, 0.02, 0.2, GREY), -0.3, 0.35, TOP + 0.1)
    side = replace(LIT, lamps=(Lamp(-0.3, 1.2, 1.9, (2.5, 2.5, 2.5), 0.1),))
    lit, shaded = (
        RENDERER.render_world(kitchen(*items, atmosphere=side)) for items in ((), (screen,))
    )

    def share(y: float) -> float:
        return float(patch(shaded, -0.3, y, TOP).mean() / patch(lit, -0.3, y, TOP).mean())

    along = np.array([share(y) for y in np.linspace(-0.9, 0.2, 56)])
    assert along.min() < 0.85
    assert along.max() > 0.97
    steps = np.abs(np.diff(along))
    assert steps.max() < 0.6 * (along.max() - along.min()), "half shadow between"


def test_what_lies_beyond_a_lamp_casts_no_shadow():
    ceiling = Instance("lid", box(0.8, 0.8, 0.02, GREY), LAMP.x, LAMP.y, LAMP.z + 0.06)
    bare = RENDERER.render_world(kitchen())
    lidded = RENDERER.render_world(kitchen(ceiling))
    a, b = patch(bare, -0.3, -0.3, TOP), patch(lidded, -0.3, -0.3, TOP)
    assert np.abs(a - b).max() <= 1.0
    # A shade that fits closely round the lamp lets its light out.
    shade = Instance("shade", box(0.2, 0.2, 0.2, GREY), LAMP.x, LAMP.y, LAMP.z - 0.1)
    around = RENDERER.render_world(kitchen(shade))
    assert np.abs(patch(around, -0.3, -0.3, TOP) - a).max() <= 1.0


def test_a_large_lamp_glints_wider_and_weaker():
    point, ball = (np.array([0, 0, 2.0, 1, 1, 1, radius]) for radius in (0.0, 0.3))
    ahead, aside = (0.0, 0.0, 1.0), (float(np.sin(0.15)), 0.0, float(np.cos(0.15)))
    assert glint(point, 0, 0, 0, ahead, 500.0) == pytest.approx(1.0, abs=1e-3)
    assert glint(ball, 0, 0, 0, ahead, 500.0) < 1.0
    assert glint(ball, 0, 0, 0, aside, 500.0) > glint(point, 0, 0, 0, aside, 500.0)


def test_smoothing_stays_within_a_surface_and_fills_gaps():
    width, count = 8, 64
    rows, columns = np.divmod(np.arange(count), width)
    points = np.stack([np.zeros(count), columns * 0.01, rows * 0.01], 1).astype(np.float32)
    flats = np.zeros((count, 3), np.float32)
    flats[:, 0] = 1.0
    points[columns >= 4, 0] = 1.0  # another surface
    values = np.where(columns >= 4, 1.0, 0.0).astype(np.float32)[None].copy()
    values[0, (rows + columns) % 2 == 1] = np.nan
    out = np.empty_like(values)
    face = (np.arange(count) % 2 + 2 * (columns >= 4)).astype(np.int32)
    smoothed(values, points, flats, np.ones(count, np.float32), face, width, out)
    np.testing.assert_array_equal(out[0], np.where(columns >= 4, 1.0, 0.0))


def test_pictures_of_rooms_repeat():
    scene = kitchen(
        Instance("glass", tumbler(), -0.3, 0.0, TOP),
        Instance("steam", puff(Material.VAPOUR, (0.9, 0.9, 0.9)), -0.3, 0.4, TOP),
    )
    first, second = RENDERER.render_world(scene), EmbreeRenderer().render_world(scene)
    assert first.picture == second.picture
    assert first.visible == second.visible


# Ambient light of rooms


def test_a_closed_room_is_not_black_and_its_corners_are_darker():
    mesh = cut_fine(room(), 0.6)
    accelerator = Accelerator(mesh.vertices[mesh.faces])
    inward = replace(mesh, normals=-mesh.normals)
    openness = room_openness(inward, accelerator.nearest, 0.6)
    middle = np.abs(mesh.vertices[mesh.faces] - (-1.5, 0.0, 2.5)).max(axis=(1, 2)) < 0.6
    assert middle.any()
    assert openness[:, middle].min() > 0.95, "the ceiling's middle is open"
    assert 0.2 < openness.min() < 0.8


def test_under_a_shelf_it_is_darker_and_what_touches_agrees():
    wall = Mesh.build([[0, -1, 0], [0, 1, 0], [0, 1, 2], [0, -1, 2]], [[0, 2, 1], [0, 3, 2]])
    shelf = box(0.4, 2.0, 0.5).transformed((-0.2, 0.0, 1.0))
    mesh = cut_fine(Mesh.merge([wall, shelf]), 0.6)
    body = Accelerator(mesh.vertices[mesh.faces])
    openness = room_openness(mesh, body.nearest, 0.6)
    corners = mesh.vertices[mesh.faces]
    on_wall = (np.abs(corners[..., 0]) < 1e-6).all(axis=1) & (mesh.normals[:, 0, 0] < -0.9)
    places = {}
    for face in np.flatnonzero(on_wall):
        for k in range(3):
            key = tuple(np.rint(corners[face, k] * 2e3).astype(int))
            assert places.setdefault(key, openness[k, face]) == openness[k, face]
    low = min(v for (_, _, z), v in places.items() if 1600 < z <= 2000)
    assert low < 0.83
    assert max(v for (_, _, z), v in places.items() if z < 400) > 0.97


def test_cutting_keeps_the_surface_and_leaves_no_long_edge():
    mesh = room()
    fine = cut_fine(mesh, 0.6)

    def area(m: Mesh) -> float:
        c = m.vertices[m.faces]
        return float(np.linalg.norm(np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]), axis=1).sum())

    assert area(fine) == pytest.approx(area(mesh), rel=1e-4)
    corners = fine.vertices[fine.faces]
    assert np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max() < 0.28
    np.testing.assert_allclose(np.linalg.norm(fine.normals, axis=2), 1.0, atol=1e-4)
    assert len(cut_fine(Mesh.merge([]), 0.6).faces) == 0


def test_bodies_are_kept_by_their_weight():
    cache = BodyCache(10, faces=30)
    for key in range(4):
        cache.get(key, None, lambda: Body(box()))  # 12 faces each
    made = []
    for key in (3, 2, 1):
        cache.get(key, None, lambda: made.append(1) or Body(box()))
    assert len(made) == 1
    BodyCache(10, faces=1).get(0, None, lambda: Body(box()))


def test_a_thing_on_the_worktop_darkens_it_round_its_foot():
    block = Instance("block", box(0.2, 0.2, 0.2, GREY), -0.3, 0.0, TOP)
    ambient = replace(LIT, lamps=(replace(LAMP, colour=(1e-4, 1e-4, 1e-4)),))
    bare, with_block = (
        RENDERER.render_world(kitchen(*items, atmosphere=ambient)) for items in ((), (block,))
    )
    beside = patch(with_block, -0.44, 0.0, TOP, 0) / patch(bare, -0.44, 0.0, TOP, 0)
    away = patch(with_block, -0.44, 0.75, TOP, 0) / patch(bare, -0.44, 0.75, TOP, 0)
    assert beside.mean() < 0.88
    assert away.mean() > 0.98


# Vapour and flames


def test_vapour_is_soft_at_its_silhouette_and_casts_no_shadow():
    cloud = Instance("steam", puff(Material.VAPOUR, (0.95, 0.95, 0.95)), -0.35, 0.0, TOP + 0.1)
    dark = room().painted((0.3, 0.3, 0.3))
    fine = replace(CAMERA, width=512, height=384)
    bare, steamy = (
        RENDERER.render_world(kitchen(*items, backdrop=dark, backdrop_key="dark", camera=fine))
        for items in ((), (cloud,))
    )
    gain = steamy.picture.pixels.astype(int).sum(2) - bare.picture.pixels.astype(int).sum(2)
    shown = steamy.index == 1
    assert shown.sum() > 100
    framed = np.zeros_like(shown)
    framed[1:-1, 1:-1] = True
    edge = (
        framed
        & shown
        & ~(
            np.roll(shown, 1, 0)
            & np.roll(shown, -1, 0)
            & np.roll(shown, 1, 1)
            & np.roll(shown, -1, 1)
        )
    )
    assert np.abs(gain[edge]).mean() < 0.15 * np.percentile(np.abs(gain[shown]), 90)
    assert np.abs(gain[~shown]).max() <= 3, "neither shadow nor halo"


def test_smoke_hides_what_is_behind_it_and_many_puffs_hide_more():
    target = Instance("target", box(0.2, 0.5, 0.5, (0.9, 0.1, 0.1)), -0.2, 0.0, TOP)

    def redness(count: int) -> float:
        smoke = Mesh.merge(
            [
                puff(Material.VAPOUR, (0.4, 0.4, 0.4)).transformed((-0.05 * k, 0.0, 0.0))
                for k in range(count)
            ]
        )
        items = [target, Instance("smoke", smoke, -0.5, 0.0, TOP + 0.1)] if count else [target]
        colour = patch(RENDERER.render_world(kitchen(*items)), -0.3, 0.0, TOP + 0.25)
        return float(colour[0] - colour[1])

    assert redness(0) > redness(1) + 5 > redness(8) + 25


def test_a_flame_is_bright_in_its_colour_and_glows():
    fire = Instance("fire", puff(Material.FLAME, (1.0, 0.45, 0.05), 0.12), -0.35, 0.0, TOP + 0.1)
    bare, burning = (RENDERER.render_world(kitchen(*items)) for items in ((), (fire,)))
    core = patch(burning, -0.45, 0.0, TOP + 0.22)
    assert core[0] > 240
    assert core[0] > core[2]
    gain = burning.picture.pixels.astype(int).sum(2) - bare.picture.pixels.astype(int).sum(2)
    assert (gain[burning.index != 1] > 3).sum() > 10, "the glow reaches beyond the flame"
    assert gain.min() > -6, "no shadow"


# Glasses, liquids and what is counted


def test_a_drinking_glass_is_seen_and_counted():
    glass = Instance("glass", tumbler(), -0.35, 0.0, TOP)
    scene = kitchen(glass, backdrop=room(wall=Material.TILE), backdrop_key="tiled")
    rendering = RENDERER.render_world(scene)
    assert rendering.extent["glass"] > 60
    assert rendering.visible["glass"] > 0.4 * rendering.extent["glass"]
    assert (rendering.index == 1).sum() == pytest.approx(rendering.extent["glass"], rel=0.15)
    hidden = Instance("board", box(0.02, 0.6, 0.5, GREY), -0.5, 0.0, TOP)
    behind = RENDERER.render_world(replace(scene, objects=(glass, hidden), probes=("glass",)))
    assert behind.visible["glass"] == 0
    assert behind.extent == {"glass": rendering.extent["glass"]}


def test_steam_leaves_what_stands_behind_it_its_pixels():
    block = Instance("block", box(0.3, 0.4, 0.4, (0.2, 0.3, 0.7)), -0.2, 0.0, TOP)
    steam = Instance("steam", puff(Material.VAPOUR, (0.9, 0.9, 0.9), 0.2), -0.6, 0.0, TOP)
    rendering = RENDERER.render_world(kitchen(block, steam))
    alone = RENDERER.render_world(kitchen(block))
    assert (rendering.index == 2).any()
    assert rendering.visible["block"] > 0.9 * alone.visible["block"]
    assert rendering.visible["steam"] > 50


def test_a_thing_of_glass_and_solid_parts_counts_both():
    lamp = Mesh.merge(
        [box(0.1, 0.1, 0.1, GREY), tumbler().transformed((0.0, 0.0, 0.1), scale=(1.5, 1.5, 1.0))]
    )
    rendering = RENDERER.render_world(kitchen(Instance("both", lamp, -0.35, 0.0, TOP)))
    solid = (rendering.index == 1).sum()
    assert rendering.visible["both"] > solid + 20
    assert rendering.extent["both"] >= rendering.visible["both"]


def test_clear_water_darkens_wood_a_little_and_mirrors_while_coffee_is_brown():
    bright = (0.85, 0.75, 0.6)
    light = room(colour=bright)
    red = Instance("red", box(0.05, 0.5, 0.5, (0.9, 0.05, 0.05)), -0.03, 0.0, TOP)

    def colours(pool_colour=None, *more: Instance) -> np.ndarray:
        items = (
            [] if pool_colour is None else [Instance("pool", pool(pool_colour), -0.35, 0.0, TOP)]
        )
        scene = kitchen(*items, *more, backdrop=light, backdrop_key="light top")
        return patch(RENDERER.render_world(scene), -0.33, 0.0, TOP)

    dry, water, coffee = colours(), colours((0.75, 0.85, 0.9)), colours((0.25, 0.12, 0.05))
    assert 0.6 < (water / dry).mean() < 0.98
    assert coffee[0] > coffee[2] + 10
    assert coffee.mean() < 0.65 * water.mean()
    with_red = colours((0.75, 0.85, 0.9), red)
    assert (with_red[0] - with_red[1]) - (water[0] - water[1]) > 4, "it stands in the puddle"


def test_panes_of_a_room_itself_are_looked_through():
    pane = box(0.01, 1.0, 1.0, (0.3, 0.5, 0.9), Material.CLEAR).transformed((-0.5, 0.0, TOP))
    glazed = kitchen(backdrop=Mesh.merge([room(), pane]), backdrop_key="glazed")
    seen, bare = RENDERER.render_world(glazed), RENDERER.render_world(kitchen())
    a, b = patch(seen, -0.01, 0.0, TOP + 0.3), patch(bare, -0.01, 0.0, TOP + 0.3)
    assert np.abs(a - b).max() > 5
    assert (seen.index <= 0).all()


# Tiles, stone, planks


def _grained(material: Material, points: np.ndarray, normal, footprint: float = 1e-4):
    return np.array(
        [
            fitting(
                int(material),
                tuple(p),
                normal,
                (0.6, 0.6, 0.6),
                normal,
                footprint,
                noise.textures(),
            )
            for p in points.astype(float)
        ]
    )


@pytest.mark.parametrize(
    ("normal", "along"),
    [((-1.0, 0.0, 0.0), 1), ((0.0, 1.0, 0.0), 0)],
)
def test_tiles_keep_their_bond_on_every_wall(normal, along: int):
    points = np.zeros((400, 3))
    points[:, 2] = 1.05  # the middle of a course
    points[:, along] = np.linspace(0.0, 1.0, 400, endpoint=False) + 0.001
    green = _grained(Material.TILE, points, normal)[:, 4]
    joints = np.flatnonzero(np.diff((green < 0.5).astype(int)) == 1)
    assert len(joints) in (4, 5)
    np.testing.assert_allclose(np.diff(joints), 80, atol=2)
    points[:, along] = 0.07
    points[:, 2] = np.linspace(0.9, 1.9, 400, endpoint=False) + 0.001
    green = _grained(Material.TILE, points, normal)[:, 4]
    assert np.count_nonzero(np.diff((green < 0.5).astype(int)) == 1) in (9, 10)


@pytest.mark.parametrize("material", [Material.TILE, Material.STONE, Material.PLANKS])
def test_grain_fades_with_distance_to_its_mean(material: Material):
    rng = np.random.default_rng(3)
    points = rng.uniform(0.0, 3.0, (1500, 3))
    normal = (0.0, 0.0, 1.0)
    near, far = (_grained(material, points, normal, f)[:, 3:] for f in (1e-4, 0.05))
    assert far.std() < near.std()
    assert far.mean() == pytest.approx(near.mean(), rel=0.12)
    np.testing.assert_allclose(
        np.linalg.norm(_grained(material, points, normal)[:, :3], axis=1), 1.0, atol=1e-6
    )


def test_a_tiled_wall_and_a_plank_floor_show_their_joints():
    plain = RENDERER.render_world(kitchen()).picture.pixels.astype(float)
    tiled = RENDERER.render_world(
        kitchen(backdrop=room(Material.TILE, Material.STONE), backdrop_key="all tiles")
    ).picture.pixels.astype(float)
    assert np.abs(np.diff(tiled, axis=0)).mean() > 1.5 * np.abs(np.diff(plain, axis=0)).mean()


def test_new_materials_do_no_harm_on_a_street():
    items = [
        Instance(material.name, box(1.0, 0.8, 1.0, GREY, material), 6.0 + k, -2.0 + k)
        for k, material in enumerate(m for m in Material if m > Material.CLEAR)
    ]
    rendering = RENDERER.render_world(world(*items, backdrop=ground()))
    assert all(rendering.visible[m.name] > 0 for m in (Material.TILE, Material.LIQUID))


def test_what_is_buried_in_a_skirting_has_the_value_of_the_wall_beside_it():
    wall = Mesh.build([[0, -1, 0], [0, 1, 0], [0, 1, 2], [0, -1, 2]], [[0, 2, 1], [0, 3, 2]])
    skirting = box(0.02, 2.2, 0.06).transformed((-0.01, 0.0, 0.0))
    mesh = cut_fine(Mesh.merge([wall, skirting]), 0.6)
    body = Accelerator(mesh.vertices[mesh.faces])
    openness = room_openness(mesh, body.nearest, 0.6)
    corners = mesh.vertices[mesh.faces]
    on_wall = (np.abs(corners[..., 0]) < 1e-6).all(axis=1) & (mesh.normals[:, 0, 0] < -0.9)
    foot = openness.T[on_wall][corners[on_wall][..., 2] < 1e-6]
    assert len(foot) > 8
    assert foot.min() > 0.8
    assert np.ptp(foot) < 0.08


def test_joints_are_lines_and_no_dashes_seen_at_a_slant():
    """Of rays a pixel apart one at least meets a joint, wherever they start beside it."""
    footprint, slant = 0.004, 0.3
    way, step = (np.sqrt(1.0 - slant**2), 0.0, -slant), footprint / slant
    for start in np.linspace(0.0, 1.0, 9, endpoint=False):
        points = np.zeros((6, 3))
        points[:, 0] = 0.45 + step * (start + np.arange(-3, 3))
        points[:, 1] = 0.2
        green = [
            fitting(int(Material.TILE), tuple(p), (0.0, 0.0, 1.0), (0.6, 0.6, 0.6), way, footprint,
                    noise.textures())[4]
            for p in points
        ]  # fmt: skip
        assert min(green) < 0.95 * np.median(green)
