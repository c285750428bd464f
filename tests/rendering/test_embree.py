from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Picture
from vlmfail.rendering.accelerator import Accelerator
from vlmfail.rendering.camera import project
from vlmfail.rendering.embree import COUNTED, EmbreeRenderer
from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.occlusion import baked_openness
from vlmfail.rendering.world import Atmosphere, Instance

from .worlds import CAMERA, CLEAR, FOG, OVERCAST, RAIN, box, busy_world, ground, world

RENDERER = EmbreeRenderer()


def _pixel(x: float, y: float, z: float, camera=CAMERA) -> tuple[int, int]:
    at, depth = project(camera, [[x, y, z]])
    assert depth[0] > 0
    return int(at[0, 1]), int(at[0, 0])


def test_index_pass_shows_sky_ground_and_box():
    rendering = RENDERER.render_world(world(Instance("box", box(), 8.0, 0.0)))
    index = rendering.index
    assert index.shape == (96, 128)
    assert index.dtype == np.int16
    assert index[_pixel(7.5, 0.0, 0.5)] == 1
    assert index[0, 64] == -1
    assert index[-1, 64] == 0
    rows, columns = np.nonzero(index == 1)
    corners = [[7.5, y, z] for y in (-0.5, 0.5) for z in (0.0, 1.0)]
    expected, _ = project(CAMERA, corners)
    assert abs(columns.min() - expected[:, 0].min()) <= 1
    assert abs(columns.max() + 1 - expected[:, 0].max()) <= 1
    assert abs(rows.max() + 1 - expected[:, 1].max()) <= 1


def test_nearer_object_hides_farther_whatever_the_order():
    near = Instance("near", box(1, 2, 2), 6.0, 0.0)
    far = Instance("far", box(1, 1, 1, (0.1, 0.1, 0.8)), 12.0, 0.0)
    for objects in ((near, far), (far, near)):
        rendering = RENDERER.render_world(world(*objects))
        names = [item.name for item in objects]
        assert rendering.visible["near"] > 100
        assert rendering.visible["far"] == 0
        assert (rendering.index != names.index("far") + 1).all()


def test_backdrop_hides_an_object():
    wall = Mesh.merge([ground(), box(0.2, 20, 10, (0.7, 0.7, 0.7)).transformed((5.0, 0.0, 0.0))])
    hidden = world(
        Instance("box", box(), 8.0, 0.0), backdrop=wall, backdrop_key="walled", probes=("box",)
    )
    assert RENDERER.render_world(hidden).visible == {"box": 0}


def test_sun_casts_a_shadow_and_a_grey_sky_none():
    scene = world(Instance("box", box(1, 1, 3), 8.0, 0.0), atmosphere=CLEAR)
    # Sun from the left: the shadow falls to the right of the box.
    shaded, open_ground = _pixel(7.9, -1.3, 0.0), _pixel(7.9, 2.2, 0.0)

    def brightness(atmosphere: Atmosphere, at: tuple[int, int]) -> float:
        pixels = RENDERER.render_world(replace(scene, atmosphere=atmosphere)).picture.pixels
        row, column = at
        return float(pixels[row - 1 : row + 2, column - 1 : column + 2].mean())

    assert brightness(CLEAR, shaded) < 0.75 * brightness(CLEAR, open_ground)
    assert brightness(OVERCAST, shaded) > 0.9 * brightness(OVERCAST, open_ground)


def test_contact_shadow_grounds_an_object_under_a_grey_sky():
    lifted = Instance("box", box(1.5, 1.5, 0.6), 6.0, 0.0, 0.12)
    scene = world(lifted, atmosphere=OVERCAST)
    row, column = _pixel(5.3, 0.0, 0.0)
    under = RENDERER.render_world(scene).picture.pixels[row, column].mean()
    bare = RENDERER.render_world(replace(scene, objects=())).picture.pixels[row, column].mean()
    assert under < 0.8 * bare


def test_fog_swallows_the_far_object_alone():
    scene = world(
        Instance("near", box(1, 1, 1.5), 4.0, 1.0),
        Instance("far", box(2, 2, 2.5), 60.0, -5.0),
        atmosphere=FOG,
    )
    visible = RENDERER.render_world(scene).visible
    assert visible["near"] > 100
    assert visible["far"] == 0
    clear = RENDERER.render_world(replace(scene, atmosphere=CLEAR)).visible
    assert clear["far"] > 5


def test_lamp_is_plain_in_every_weather():
    lamp = Instance("lamp", box(0.3, 0.3, 0.3, (1.0, 0.1, 0.05), Material.EMISSIVE), 25.0, 0.0, 3.0)
    camera = replace(CAMERA, width=512, height=384)
    row, column = _pixel(25.0, 0.0, 3.15, camera)
    for atmosphere in (CLEAR, OVERCAST, RAIN, replace(OVERCAST, fog=0.05)):
        rendering = RENDERER.render_world(world(lamp, atmosphere=atmosphere, camera=camera))
        assert rendering.visible["lamp"] >= 12
        with_lamp = rendering.picture.pixels[row - 4 : row + 5, column - 4 : column + 5]
        redness = with_lamp[..., 0].astype(int) - with_lamp[..., 1]
        assert redness.max() > 80
        assert (redness > 25).sum() > 25, "the glow is wider than the lamp"


def test_no_objects():
    rendering = RENDERER.render_world(world())
    assert rendering.visible == {}
    assert set(np.unique(rendering.index)) == {-1, 0}


def test_unknown_probe_counts_nothing():
    scene = world(Instance("box", box(), 8.0, 0.0), probes=("lamp",))
    rendering = RENDERER.render_world(scene)
    assert rendering.visible == rendering.extent == {"lamp": 0}


def test_parts_with_the_same_name_are_one_probe():
    left, right = Instance("pair", box(), 8.0, 1.5), Instance("pair", box(), 8.0, -1.5)
    both = RENDERER.render_world(world(left, right, probes=("pair",))).visible["pair"]
    one = RENDERER.render_world(world(left, probes=("pair",))).visible["pair"]
    assert both > 1.8 * one


def _shares(scene) -> dict[str, float]:
    rendering = RENDERER.render_world(scene)
    return {name: rendering.visible[name] / count for name, count in rendering.extent.items()}


def test_extent_is_what_an_object_covers_alone():
    back = Instance("back", box(1, 2, 2, (0.1, 0.1, 0.8)), 12.0, 0.0)
    alone = RENDERER.render_world(world(back))
    assert alone.extent == {"back": np.count_nonzero(alone.index == 1)}
    assert _shares(world(back))["back"] > 0.98
    # A screen over its left half, as seen from the camera.
    half = Instance("screen", box(0.2, 4, 4, (0.9, 0.9, 0.1)), 6.0, 2.0)
    whole = Instance("screen", box(0.2, 4, 4, (0.9, 0.9, 0.1)), 6.0, 0.0)
    for screen, share in ((half, 0.5), (whole, 0.0)):
        rendering = RENDERER.render_world(world(screen, back))
        assert rendering.extent["back"] == alone.extent["back"]
        assert _shares(world(screen, back))["back"] == pytest.approx(share, abs=0.06)
        assert _shares(world(screen, back))["screen"] > 0.98


def test_extent_ignores_weather_and_backdrop():
    far = Instance("far", box(2, 2, 2.5), 60.0, -5.0)
    clear = RENDERER.render_world(world(far)).extent
    assert clear["far"] > 5
    assert RENDERER.render_world(world(far, atmosphere=FOG)).extent == clear
    wall = Mesh.merge([ground(), box(0.2, 40, 10, (0.7, 0.7, 0.7)).transformed((5.0, 0.0, 0.0))])
    walled = world(far, backdrop=wall, backdrop_key="walled in")
    assert RENDERER.render_world(walled).extent == clear


def test_extent_counts_only_what_is_in_the_frame():
    beside = Instance("beside", box(), 0.5, 9.0)
    behind = Instance("behind", box(), -8.0, 0.0)
    reaching = Instance("reaching", box(30.0, 0.2, 3.0), 0.0, -2.0)
    rendering = RENDERER.render_world(world(beside, behind, reaching, probes=("beside", "behind")))
    assert rendering.extent == {"beside": 0, "behind": 0}
    alone = RENDERER.render_world(world(reaching))
    # Which side of the silhouette a grazing ray falls on differs between processors.
    assert abs(alone.extent["reaching"] - np.count_nonzero(alone.index == 1)) <= 3
    twins = (Instance("pair", box(), 8.0, 1.5), Instance("pair", box(), 8.0, -1.5))
    pair = RENDERER.render_world(world(*twins, probes=("pair",)))
    assert abs(pair.extent["pair"] - np.count_nonzero(pair.index >= 1)) <= 3


def test_mirrored_mesh_looks_like_the_mirror_image():
    plain = box(1, 1, 1.5).transformed(yaw=0.4)
    mirrored = plain.transformed(scale=(1, -1, 1))
    flat = Atmosphere(sun_direction=(-0.6, 0.0, 0.8), clouds=0.0)
    a = RENDERER.render_world(world(Instance("a", plain, 6.0, 0.0), atmosphere=flat))
    b = RENDERER.render_world(world(Instance("a", mirrored, 6.0, 0.0), atmosphere=flat))
    box_a = a.picture.pixels[a.index == 1].mean(axis=0)
    box_b = b.picture.pixels[b.index == 1].mean(axis=0)
    assert np.abs(box_a - box_b).max() < 3
    np.testing.assert_array_equal(a.index == 1, (b.index == 1)[:, ::-1])


@pytest.mark.parametrize(("yaw", "pitch"), [(0.0, 0.0), (0.3, -0.1), (-0.5, 0.2), (2.0, 0.1)])
def test_turned_camera_projects_where_it_draws(yaw: float, pitch: float):
    camera = replace(CAMERA, yaw=yaw, pitch=pitch, x=1.0, y=-2.0)
    distance, lean = 12.0, 0.15
    x = camera.x + distance * np.cos(yaw + lean)
    y = camera.y + distance * np.sin(yaw + lean)
    ball = box(0.6, 0.6, 0.6)
    rendering = RENDERER.render_world(
        world(Instance("ball", ball, float(x), float(y), 1.6), camera=camera)
    )
    at, _ = project(camera, [[x, y, 1.9]])
    rows, columns = np.nonzero(rendering.index == 1)
    assert len(rows) > 5
    assert columns.mean() + 0.5 == pytest.approx(at[0, 0], abs=1.0)
    assert rows.mean() + 0.5 == pytest.approx(at[0, 1], abs=1.0)
    # A point to the left of the axis is in the left half of the picture.
    assert at[0, 0] < 64


def test_renders_leave_no_trace():
    first, second = busy_world(), world(Instance("box", box(), 8.0, 0.0), atmosphere=FOG)
    before = RENDERER.render_world(first)
    RENDERER.render_world(second)
    np.random.seed(3)  # noqa: NPY002 - global state must not matter
    after = EmbreeRenderer().render_world(first)
    assert before.picture == after.picture
    assert before.visible == after.visible


def test_rain_seed_changes_the_picture_and_nothing_else_does():
    scene = world(Instance("box", box(), 8.0, 0.0), atmosphere=RAIN)
    other = replace(scene, atmosphere=replace(RAIN, seed=1))
    assert RENDERER.render_world(scene).picture != RENDERER.render_world(other).picture


def test_same_bytes_in_another_process():
    code = (
        "from worlds import busy_world; from vlmfail.rendering.embree import EmbreeRenderer;"
        "print(EmbreeRenderer().render_world(busy_world()).picture.sha256)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
        env={"OMP_NUM_THREADS": "1", "PATH": "", "PYTHONHASHSEED": "7"},
    )
    assert out.stdout.strip() == RENDERER.render_world(busy_world()).picture.sha256


def test_scene_with_a_world_is_rendered():
    class Scene:
        def world(self):
            return world(Instance("box", box(), 8.0, 0.0))

    rendering = RENDERER.render(Scene())
    assert isinstance(rendering.picture, Picture)
    assert rendering.picture == RENDERER.render(Scene().world()).picture


def test_wet_road_mirrors_an_object():
    tall = Instance("box", box(1, 2, 4, (0.9, 0.05, 0.05)), 12.0, 0.0)
    dry = world(tall, atmosphere=OVERCAST)
    below = _pixel(9.0, 0.0, 0.0)

    def redness(scene) -> float:
        pixels = RENDERER.render_world(scene).picture.pixels
        patch = pixels[below[0] - 3 : below[0] + 4, below[1] - 6 : below[1] + 7].astype(float)
        return float((patch[..., 0] - patch[..., 1]).mean())

    assert redness(replace(dry, atmosphere=replace(OVERCAST, wetness=1.0))) > redness(dry) + 6


def test_object_beside_and_behind_the_camera_is_drawn():
    wall = Instance("wall", box(30.0, 0.2, 3.0), 0.0, -2.0)  # reaches from behind to far ahead
    index = RENDERER.render_world(world(wall)).index
    assert (index[40:60, 127] == 1).all()
    assert (index[:, :60] != 1).all()


def test_crowns_and_corners_of_a_backdrop_are_darker():
    flat = Mesh.build([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    lid = flat.transformed((-2.0, -2.0, 0.3), scale=5.0)
    meshes = Mesh.merge([flat, lid, flat.transformed((20.0, 0.0, 0.0))])
    openness = baked_openness(meshes, Accelerator(meshes.vertices[meshes.faces]).occluded)
    assert openness[:, :2].max() < 0.7  # under the lid
    assert openness[:, 4:].min() == 1.0


def test_world_without_light_is_black():
    extremes = Atmosphere(
        sun=(0, 0, 0), zenith=(0, 0, 0), horizon=(0, 0, 0), ground=(0, 0, 0), exposure=0.0
    )
    pixels = RENDERER.render_world(world(Instance("box", box(), 8.0, 0.0), atmosphere=extremes))
    assert pixels.picture.pixels.max() == 0
    assert pixels.visible == {"box": 0}


def test_panes_are_looked_through_and_cast_no_shadow():
    red = Instance("red", box(0.5, 2, 2, (0.9, 0.05, 0.05)), 10.0, 0.0)
    pane = Instance("pane", box(0.02, 3, 3, (0.8, 0.9, 0.9), Material.CLEAR), 6.0, 0.0)
    through = RENDERER.render_world(world(red, pane))
    assert through.visible["red"] > 0.95 * through.extent["red"]
    assert not (through.index == 2).any()
    row, column = _pixel(9.75, 0.0, 1.0)
    seen = through.picture.pixels[row, column].astype(int)
    plain = RENDERER.render_world(world(red)).picture.pixels[row, column].astype(int)
    assert seen[0] - seen[1] > 40, "still red"
    assert (seen != plain).any(), "but not as if nothing were there"
    opaque = replace(pane, mesh=box(0.02, 3, 3, (0.8, 0.9, 0.9)))
    shade = _pixel(5.9, -2.2, 0.0)  # the sun stands on the left

    def brightness(*objects: Instance) -> float:
        pixels = RENDERER.render_world(world(*objects, atmosphere=CLEAR)).picture.pixels
        return float(pixels[shade[0] - 1 : shade[0] + 2, shade[1] - 1 : shade[1] + 2].mean())

    assert brightness(opaque) < 0.9 * brightness()
    assert brightness(pane) > 0.98 * brightness()


def test_an_object_on_the_ground_hides_it_where_both_are_as_far():
    plate = Mesh.build([[0, -1, 0], [2, -1, 0], [2, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    rendering = RENDERER.render_world(world(Instance("plate", plate, 5.0, 0.0)))
    assert rendering.index[_pixel(6.0, 0.0, 0.0)] == 1


def test_many_visible_pixels_are_counted_by_a_sample():
    camera = replace(CAMERA, width=512, height=384)
    large = Instance("large", box(1, 3, 3, (0.9, 0.2, 0.1)), 6.0, 0.0)
    rendering = RENDERER.render_world(world(large, camera=camera))
    covered = np.count_nonzero(rendering.index == 1)
    assert covered > 3 * COUNTED
    assert 0.97 * covered <= rendering.visible["large"] <= covered
