from __future__ import annotations

import dataclasses
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Picture
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.models.tiny_vlm import TinyVLM, network_input

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_tiny_vlm"
SCENE = {
    "town": "town01",
    "weather": "weather_foggy",
    "junction": True,
    "in_lane": [],
    "objects": {"cyclist": "ahead", "cone": "far"},
    "sidewalk": ["cyclist"],
    "visible": {"light_red": 50, "cyclist": 900, "cone": 3},
}
CONCEPTS = ["light_red", "cyclist", "on_sidewalk", "weather_foggy"]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent / "train"))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith("tiny_vlm_")]:
        del sys.modules[name]


DOMAIN = DrivingDomain()


def record_of(script, expected="slow_down", accepted=("emergency_stop", "slow_down")):
    driving, domain = script("tiny_vlm_driving"), DOMAIN
    question = domain.prompt.question()
    return {
        "domain": "driving",
        "concepts": CONCEPTS,
        "question": question.text,
        "options": [[option.id, option.text] for option in question.options],
        "expected": expected,
        "accepted": list(accepted),
        "facts": driving.statements(SCENE, domain.catalogue),
        "groups": driving.groups(SCENE, CONCEPTS, False, "A3"),
    }


def test_statements_are_read_off_the_scene(script):
    driving = script("tiny_vlm_driving")
    said = {text: holds for text, holds, _ in driving.statements(SCENE, DrivingDomain().catalogue)}
    assert said["red traffic light"] is True
    assert said["green traffic light"] is False
    assert said["cyclist"] is True
    assert said["garbage bin"] is False
    assert said["intersection"] is True
    assert "traffic cone" not in said  # stands there and is hidden
    assert said["The lane ahead is free."] is True
    assert said["Something stands on the sidewalk."] is True
    assert said["Foggy noon."] is True
    assert said["Clear, sunny noon."] is False


def test_questions_keep_what_is_right(script):
    wording, driving = script("tiny_vlm_wording"), script("tiny_vlm_driving")
    record, rng = record_of(script), np.random.default_rng(0)
    texts = set()
    for _ in range(50):
        asked = wording.action_question(record, driving.WORDING, rng)
        texts.add(asked.question)
        right = [
            option
            for (option, _), right in zip(record["options"], asked.right, strict=True)
            if right
        ]
        assert sorted(right) == record["accepted"]
        fact = wording.statement_question(record, driving.WORDING, rng)
        assert sum(fact.right) == 1
        denied = " no " in f" {fact.question.lower()}"
        if "cyclist" in fact.question and "is directly" not in fact.question:
            assert fact.right == (not denied, denied)
    assert record["question"] in texts
    assert len(texts) > 1


def test_every_option_of_a_domain_has_other_words(script):
    question = DrivingDomain().prompt.question()
    assert set(script("tiny_vlm_driving").WORDING.options) == {o.id for o in question.options}


@pytest.fixture(scope="module")
def valid_rows():
    """Valid sets by size, enumerated once."""
    rows = DrivingDomain().space.valid_sets()
    return {size: rows[rows.sum(axis=1) == size] for size in range(1, 6)}


@pytest.mark.parametrize("name", ["train", "train-s", "test", "test-search"])
def test_the_drawn_mix_is_what_the_recipe_says(script, valid_rows, name):
    pictures = script("tiny_vlm_recipe").SETS[name]
    assert sum(pictures.sizes.values()) == pytest.approx(1.0)
    world, rng = script("tiny_vlm_driving").DrivingPictures(), np.random.default_rng(0)
    world.__dict__["valid_by_size"] = valid_rows
    space, catalogue = world.domain.space, world.domain.catalogue
    drawn = [next(world.candidates(pictures.sizes, rng)) for _ in range(1000)]
    roads = [candidate for candidate in drawn if space.validate(candidate) is not None]
    roles = {concept.id: concept.role for concept in catalogue.concepts}
    assert all({roles[i] for i in road} <= {"town", "weather"} for road in roads)
    assert len(roads) / len(drawn) == pytest.approx(pictures.sizes.get(0, 0.0), abs=0.05)
    valid = [candidate for candidate in drawn if candidate not in roads]
    for size in set(pictures.sizes) - {0}:
        share = sum(len(candidate) == size for candidate in valid) / len(drawn)
        assert share == pytest.approx(pictures.sizes[size], abs=0.05)
    assert frozenset().union(*drawn) == set(space.concepts)


def test_held_out_pictures_share_no_seed_with_training(script):
    sets = script("tiny_vlm_recipe").SETS
    assert len({pictures.seed for pictures in sets.values()}) == len(sets)


@pytest.mark.slow
def test_a_picture_depends_on_seed_and_index_alone_and_is_scaled_as_when_asked(script):
    sets, recipe = script("tiny_vlm_sets"), script("tiny_vlm_recipe")
    driving = script("tiny_vlm_driving")
    pictures = dataclasses.replace(recipe.SETS["train"], seed=5)
    world = driving.DrivingPictures()
    first = sets.draw(world, pictures, 3)
    other = sets.draw(driving.DrivingPictures(), pictures, 3)
    assert first[1] == other[1]
    rng = np.random.default_rng(np.random.SeedSequence(entropy=5, spawn_key=(3,)))
    full, _ = world.draw(pictures.sizes, rng)
    assert full.size == (512, 384)
    assert set(first[0]) == {sets.key(size) for size in recipe.RESOLUTIONS}
    for size in recipe.RESOLUTIONS:
        assert np.array_equal(first[0][sets.key(size)], other[0][sets.key(size)])
        assert np.array_equal(first[0][sets.key(size)], network_input(full, size))


def noise(script, folder, name, count):
    """Write a set of noise pictures as `scripts/train_tiny_vlm data` would."""
    recipe, sets = script("tiny_vlm_recipe"), script("tiny_vlm_sets")
    pictures = dataclasses.replace(recipe.SETS[name], count=count)
    rng = np.random.default_rng(0)
    actions = ("slow_down", "continue", "emergency_stop")

    class World:
        def identity(self):
            return {}

        def draw(self, sizes, rng_):
            expected = actions[int(rng.integers(3))]
            pixels = rng.integers(0, 256, (96, 128, 3), dtype=np.uint8)
            return Picture.from_pixels(pixels), record_of(script, expected, (expected,))

    sets.DOMAINS["driving"] = World
    work = sets.build(None)
    assert [work(job) for job in sets.prepare(folder / name, pictures)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny-vlm", "tiny-vlm-s"])
def test_from_pictures_to_the_model_card(script, tmp_path, name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    fitting, networks = script("tiny_vlm_fit"), script("tiny_vlm_networks")
    sets, report = script("tiny_vlm_sets"), script("tiny_vlm_report")
    recipe = dataclasses.replace(script("tiny_vlm_recipe").RECIPES[name], epochs=2)
    driving = dict(sets.DOMAINS)
    for part, count in ((recipe.pictures, 90), ("test", 20), ("test-search", 10)):
        noise(script, tmp_path, part, count)
    sets.DOMAINS.update(driving)
    pictures, records = sets.load(tmp_path / recipe.pictures, recipe.size)
    assert pictures.shape == (90, recipe.size[1], recipe.size[0], 3)

    torch.set_num_threads(1)
    network, history = fitting.fit(recipe, pictures, records, seed=0)
    assert len(history) == 2
    assert all(0.0 <= row["balanced_accuracy"] <= 1.0 for row in history)

    path = tmp_path / f"{name}.onnx"
    used, held = fitting.split(len(records))
    assert not set(used) & set(held)
    training = {
        "pictures": len(used), "validation_pictures": len(held), "seed": 0, "epochs": 2,
        "minutes": 0.0, "torch": torch.__version__, "history": history,
    }  # fmt: skip
    fitting.export(name, recipe, network, path, training)
    model = TinyVLM(path)
    assert model.name == name
    question = DrivingDomain().prompt.question()
    texts = [option.text for option in question.options]
    said = model.probabilities(Picture.from_pixels(pictures[0]), question.text, texts)
    with torch.no_grad():
        expected = networks.Exported(network)(
            torch.from_numpy(pictures[:1]),
            torch.from_numpy(fitting.bag(question.text)[None].copy()),
            torch.from_numpy(np.stack([fitting.bag(text) for text in texts])),
        )
    assert said == pytest.approx(expected.numpy(), abs=1e-4)

    figures = {
        part: report.measure(model, *sets.load(tmp_path / part, recipe.size))
        for part in ("test", "test-search")
    }
    figures["speed"] = report.speed(model, question.prompt, repeats=3)
    figures["picture_code"] = sets.picture_code(tmp_path / recipe.pictures)
    assert figures["test"]["pictures"] == 20
    assert sum(n for row in figures["test"]["confusion"].values() for n in row.values()) == 20
    card = report.card(name, model.facts(), json.loads(json.dumps(figures)))
    assert card.startswith(f"# Model card: {name}\n")
    assert "| A3 |" in card
    assert "{{" not in card
    assert "None" not in card


def test_what_is_looked_at_was_never_trained_on(script):
    pytest.importorskip("torch")
    fitting = script("tiny_vlm_fit")
    for count, taken in ((8000, None), (8000, 1000), (5000, 4000), (5000, 4990), (900, 1000)):
        used, held = fitting.split(count, taken)
        assert not set(used) & set(held)
        assert 0 < len(held) <= 1000
        assert max(*used, *held) < count
        if taken is not None and taken < count:
            assert used.tolist() == list(range(taken))
            assert held.min() == taken
            assert held.max() > count - (count - taken) / 5
        else:
            assert len(used) + len(held) == count


def test_calibration_of_a_sure_and_right_model_is_perfect(script):
    report = script("tiny_vlm_report")
    assert report.calibration(np.ones(5), np.ones(5, dtype=bool))["error"] == 0.0
    half = report.calibration(np.full(4, 0.95), np.array([True, False, True, False]))
    assert half["error"] == pytest.approx(0.45)
    assert [row["n"] for row in half["bins"]] == [0] * 9 + [4]


def test_a_folder_of_another_set_is_left_alone(script, tmp_path):
    sets, recipe = script("tiny_vlm_sets"), script("tiny_vlm_recipe")
    jobs = sets.prepare(tmp_path / "test", recipe.SETS["test"])
    assert len(jobs) == 2000 // sets.SHARD
    with pytest.raises(SystemExit, match="another set"):
        sets.prepare(tmp_path / "test", recipe.SETS["train"])
    with pytest.raises(SystemExit, match="train_tiny_vlm data"):
        sets.load(tmp_path / "test", (128, 96))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_drawing_ends_cleanly_when_interrupted(tmp_path, ending):
    command = [sys.executable, str(SCRIPT), "data", "--out", str(tmp_path), "--processes", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert "pictures to draw" in process.stdout.readline()
    time.sleep(3.0)
    process.send_signal(ending)
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from here" in said
    assert "Traceback" not in complaints
    assert wait_for_the_end_of(process.pid)


def wait_for_the_end_of(group):
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
