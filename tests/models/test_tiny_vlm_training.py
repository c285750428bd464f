from __future__ import annotations

import argparse
import dataclasses
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Picture, Rendering, SceneError
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.indoor.domain import IndoorDomain
from vlmfail.models.tiny_vlm import WEIGHTS, TinyVLM, network_input

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
KITCHENS = IndoorDomain()


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
    indoor = script("tiny_vlm_indoor")
    families = KITCHENS.rules.families
    assert set(indoor.ASKS) == set(families)
    for family in families:
        options = KITCHENS.questions.of(family).options
        assert set(indoor.WORDING.options) == {o.id for o in options}


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


@pytest.fixture(scope="module")
def drawn_kitchens():
    """(Kitchens, their rules) by what a set of pictures asks for, once they were drawn."""
    return {}


@pytest.mark.parametrize(
    ("name", "kinds_there_are"),
    # A crowded kitchen is never safe in two of the nine families.
    [
        ("indoor-train", 18),
        ("indoor-train-s", 18),
        ("indoor-train-crowded", 16),
        ("indoor-train-s-crowded", 16),
    ],
)
def test_kitchens_to_train_on_are_even_over_what_is_asked(
    script, drawn_kitchens, name, kinds_there_are
):
    pictures = script("tiny_vlm_recipe").SETS[name]
    world, rng = script("tiny_vlm_indoor").IndoorPictures(), np.random.default_rng(0)
    wanted = (tuple(sorted(pictures.sizes.items())), pictures.even)
    if wanted not in drawn_kitchens:
        drawn = [next(world.candidates(pictures.sizes, rng, pictures.even)) for _ in range(2000)]
        rules = [world.domain.library.match_with_best_fit(each).rule for each in drawn if each]
        drawn_kitchens[wanted] = drawn, rules
    drawn, rules = drawn_kitchens[wanted]
    sizes = np.bincount([len(candidate) for candidate in drawn], minlength=6) / len(drawn)
    assert sizes == pytest.approx([pictures.sizes.get(size, 0) for size in range(6)], abs=0.05)
    assert all(world.domain.space.validate(candidate) is None for candidate in drawn if candidate)
    kinds = Counter((rule.family, rule.accepted) for rule in rules)
    assert {family for family, _ in kinds} == set(world.domain.rules.families)
    assert len(kinds) == kinds_there_are
    assert min(kinds.values()) > 0.015 * len(rules)
    assert max(kinds.values()) < 0.09 * len(rules)
    shown = frozenset().union(*drawn)
    assert shown == set(world.domain.space.concepts) - set(world.domain.catalogue.implied)


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
    assert set(first[0]) == {sets.key(size) for size in recipe.RESOLUTIONS["driving"]}
    for size in recipe.RESOLUTIONS["driving"]:
        assert np.array_equal(first[0][sets.key(size)], other[0][sets.key(size)])
        assert np.array_equal(first[0][sets.key(size)], network_input(full, size))


def test_pictures_are_stored_as_the_networks_of_their_domain_need_them(script):
    recipe = script("tiny_vlm_recipe")
    assert recipe.RESOLUTIONS["driving"] == ((128, 96), (96, 72))
    for domain, sizes in recipe.RESOLUTIONS.items():
        wanted = [item.size for item in recipe.RECIPES.values() if item.domain == domain]
        assert len(set(sizes)) == len(sizes)
        assert set(sizes) == set(wanted)
        assert all(recipe.SETS[name].domain == domain for name in recipe.HELD_OUT[domain])


def kitchen(script, concepts, visible=None, seed=0):
    """Return the record of a kitchen in which all is seen, but for what `visible` says."""
    world, rng = script("tiny_vlm_indoor").IndoorPictures(), np.random.default_rng(seed)
    while True:
        try:
            scene = world.domain.sample_scene(frozenset(concepts), rng)
        except SceneError:
            continue
        break
    seen = {**dict.fromkeys(scene.names, 5000), **(visible or {})}
    rendering = Rendering(Picture.from_pixels(np.zeros((4, 4, 3), dtype=np.uint8)), seen)
    return {"domain": "indoor", **world.record(scene, rendering, rng)}


def test_a_kitchen_is_asked_its_own_question_and_the_others_whose_answer_it_shows(script):
    record = kitchen(script, ["knife_edge", "outlet_covered"])
    assert (record["family"], record["expected"]) == ("cut", "hazard")
    others = {item["family"]: item["expected"] for item in record["others"]}
    assert set(others) == set(KITCHENS.rules.families) - {"cut"}
    assert set(others.values()) == {"safe"}
    for item in (record, *record["others"]):
        assert item["question"] == KITCHENS.questions.of(item["family"]).text
        assert item["accepted"] == [item["expected"]]
        assert item["asks"]

    two = kitchen(script, ["glass_floor", "loose_cord_floor"], {"loose_cord_floor": 0})
    assert two["family"] in ("broken_glass", "trip")
    # A cord that is there and hidden: neither answer is shown.
    assert "trip" not in {item["family"] for item in two["others"]}
    said = " ".join(text for text, _, _ in two["facts"])
    assert "cord" not in said
    assert "Broken glass lies on the floor." in said


def test_an_ordinary_kitchen_is_asked_anything_and_is_safe(script):
    record = kitchen(script, [])
    asked = [record, *record["others"]]
    assert {item["family"] for item in asked} == set(KITCHENS.rules.families)
    assert {item["expected"] for item in asked} == {"safe"}
    assert record["groups"]["Scene"] == ["ordinary kitchen"]


def test_every_kind_of_question_counts_alike(script):
    pytest.importorskip("torch")
    fitting, wording = script("tiny_vlm_fit"), script("tiny_vlm_wording")
    drawn = [["knife_edge"], ["knife_edge", "outlet_exposed"], ["knife_block"], []]
    records = [kitchen(script, concepts) for concepts in drawn]
    weights = fitting.balance(records)
    sums, rng = dict.fromkeys(weights, 0.0), np.random.default_rng(0)
    for _ in range(4000):
        for record in records:
            put = wording.chosen_question(record, rng)
            sums[wording.kind(put)] += weights[wording.kind(put)]
    assert max(sums.values()) / min(sums.values()) < 1.25
    assert sum(sums.values()) == pytest.approx(4000 * len(records), rel=0.05)
    roads = [record_of(script, action) for action in ("continue", "continue", "slow_down")]
    assert fitting.balance(roads) == {("", "continue"): 0.75, ("", "slow_down"): 1.5}


def test_what_a_network_is_asked_is_kept_for_the_choice_among_networks(script):
    pytest.importorskip("torch")
    fitting, indoor = script("tiny_vlm_fit"), script("tiny_vlm_indoor")
    texts = fitting.asks([kitchen(script, [])])
    for family, others in indoor.ASKS.items():
        assert {*others, KITCHENS.questions.of(family).text} <= set(texts)
    assert not set(texts) & set(fitting.asks([record_of(script)]))


def test_what_a_network_was_hardly_shown_is_told(script):
    pytest.importorskip("torch")
    fitting = script("tiny_vlm_fit")
    records = [kitchen(script, concepts) for concepts in (["knife_edge"], ["knife_edge"], [])]
    told = fitting.shown("indoor", records)
    assert told["concepts"]["knife_edge"] == 2
    assert told["concepts"]["smoke"] == 0
    assert "kitchen" not in told["concepts"]
    assert list(told["concepts"])[-1] == "knife_edge"
    assert told["kinds"]["cut, hazard"] == 2
    assert fitting.shown("driving", [record_of(script)])["kinds"] == {"slow_down": 1}


def test_the_curve_ends_with_the_whole_set_where_it_goes_as_far(script):
    pytest.importorskip("torch")
    fitting = script("tiny_vlm_fit")
    assert fitting.tried(8000, (500, 4000, 8000)) == [500, 4000, None]
    assert fitting.tried(4000, (500, 4000, 8000)) == [500, None]
    assert fitting.tried(5000, (500, 4000)) == [500, 4000]


class Cautious:
    """Says hazard, whatever it is asked, and the first of two otherwise."""

    def probabilities(self, picture, question, options):
        return np.array([0.75, 0.25], dtype=np.float32)


def test_figures_of_kitchens_are_by_family_and_beside_one_answer_to_all(script):
    report = script("tiny_vlm_report")
    drawn = [["knife_edge"], ["knife_edge"], ["knife_block"], ["outlet_exposed"]]
    records = [kitchen(script, concepts) for concepts in drawn]
    pictures = np.zeros((4, 12, 16, 3), dtype=np.uint8)
    figures = report.measure(Cautious(), pictures, records)
    assert figures["accuracy"]["share"] == 0.75
    assert figures["balanced_accuracy"] == 0.667  # cut hazard, cut safe, shock hazard
    assert figures["constants"]["cut"] == {"hazard": 0.667, "safe": 0.333}
    assert figures["scene_constants"] == {"1 concept": {"hazard": 0.75, "safe": 0.25}}
    assert figures["tables"]["Hazard family"]["shock"]["share"] == 1.0
    assert figures["tables"]["Right answer"]["safe"]["share"] == 0.0
    assert figures["confusion"]["safe"] == {"hazard": 1, "safe": 0}
    others = figures["others"]
    assert others["questions"] == sum(len(record["others"]) for record in records)
    assert others["accuracy"]["share"] == 0.0
    assert others["constants"]["trip"] == {"hazard": 0.0, "safe": 1.0}
    assert others["kinds"]["fire, safe"]["n"] == 4


def noise(script, folder, name, count):
    """Write a set of noise pictures as `scripts/train_tiny_vlm data` would."""
    recipe, sets = script("tiny_vlm_recipe"), script("tiny_vlm_sets")
    pictures = dataclasses.replace(recipe.SETS[name], count=count)
    rng = np.random.default_rng(0)
    actions = ("slow_down", "continue", "emergency_stop")
    drawn = (["knife_edge"], ["knife_block"], ["stove_on", "towel_burning"], [])
    rooms = [kitchen(script, concepts) for concepts in drawn]

    class World:
        def identity(self):
            return {}

        def draw(self, sizes, rng_, even=False):
            expected = actions[int(rng.integers(3))]
            pixels = rng.integers(0, 256, (96, 128, 3), dtype=np.uint8)
            record = record_of(script, expected, (expected,))
            if pictures.domain == "indoor":
                record = rooms[int(rng.integers(len(rooms)))]
            return Picture.from_pixels(pixels), record

    sets.DOMAINS[pictures.domain] = World
    work = sets.build(None)
    assert [work(job) for job in sets.prepare(folder / name, pictures)]


def test_sets_are_mixed_so_that_the_first_pictures_hold_the_same_share_of_each(script):
    order = script("tiny_vlm_sets").mixed_order
    assert order([3]) == [0, 1, 2]
    assert sorted(order([600, 500])) == list(range(1100))
    for taken in (11, 110, 550):
        assert sum(row < 600 for row in order([600, 500])[:taken]) == taken * 6 // 11
    assert order([4, 2]) == [0, 4, 1, 2, 5, 3]


def test_sets_that_different_code_drew_are_not_mixed(script, tmp_path):
    sets = script("tiny_vlm_sets")
    names = ("indoor-train", "indoor-train-crowded")
    for name, count in zip(names, (20, 10), strict=True):
        noise(script, tmp_path, name, count)
    pictures, records = sets.load_all(tmp_path, names, (192, 144))
    alone = sets.load(tmp_path / names[1], (192, 144))
    at = [i for i, record in enumerate(records) if i % 3 == 1]
    assert len(records) == len(pictures) == 30
    assert np.array_equal(pictures[at], alone[0])
    assert [records[i] for i in at] == alone[1]
    shard = next((tmp_path / names[1]).glob("shard-*.npz"))
    with np.load(shard) as data:
        other = {**data, "code": np.array("another")}
    np.savez(shard, **other)
    with pytest.raises(SystemExit, match="drawn by different code"):
        sets.load_all(tmp_path, names, (192, 144))
    with pytest.raises(SystemExit, match="no pictures in"):
        sets.load_all(tmp_path, ("indoor-test",), (192, 144))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny-vlm", "tiny-vlm-s", "tiny-vlm-indoor", "tiny-vlm-s-indoor"])
def test_from_pictures_to_the_model_card(script, tmp_path, name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    fitting, networks = script("tiny_vlm_fit"), script("tiny_vlm_networks")
    sets, report = script("tiny_vlm_sets"), script("tiny_vlm_report")
    recipe = dataclasses.replace(script("tiny_vlm_recipe").RECIPES[name], epochs=2)
    domains = dict(sets.DOMAINS)
    held_out = script("tiny_vlm_recipe").HELD_OUT[recipe.domain]
    for part in recipe.pictures:
        noise(script, tmp_path, part, 90 // len(recipe.pictures))
    for part, count in zip(held_out, (20, 10), strict=True):
        noise(script, tmp_path, part, count)
    sets.DOMAINS.update(domains)
    domain = sets.DOMAINS[recipe.domain]()
    pictures, records = sets.load_all(tmp_path, recipe.pictures, recipe.size)
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
        **fitting.shown(recipe.domain, [records[row] for row in used]),
    }  # fmt: skip
    fitting.export(name, recipe, network, path, training)
    model = TinyVLM(path)
    assert model.name == name
    question = records[0]["question"]
    texts = [text for _, text in records[0]["options"]]
    said = model.probabilities(Picture.from_pixels(pictures[0]), question, texts)
    with torch.no_grad():
        expected = networks.Exported(network)(
            torch.from_numpy(pictures[:1]),
            torch.from_numpy(fitting.bag(question)[None].copy()),
            torch.from_numpy(np.stack([fitting.bag(text) for text in texts])),
        )
    assert said == pytest.approx(expected.numpy(), abs=1e-4)

    figures = {
        part: report.measure(model, *sets.load(tmp_path / part, recipe.size)) for part in held_out
    }
    figures.update(domain.card())
    figures["speed"] = report.speed(model, domain.prompt(), repeats=3)
    figures["picture_code"] = sets.picture_code(tmp_path / recipe.pictures[0])
    mix = figures[held_out[0]]
    assert mix["pictures"] == 20
    assert sum(n for row in mix["confusion"].values() for n in row.values()) == 20
    card = report.card(name, model.facts(), json.loads(json.dumps(figures)))
    assert card.startswith(f"# Model card: {name}\n")
    rule = records[0]["groups"]["Deciding rule"][0]
    assert f"| {rule} |" in card or f"| {rule}: {figures['rules'][rule]} |" in card
    assert "{{" not in card
    assert "None" not in card
    wrong = ("kitchen", "hazard") if recipe.domain == "driving" else (" road ", "brak", "lane")
    assert not [word for word in wrong if word in card.split("## In short")[1]]
    figures["curve"] = {"tried": [{"balanced_accuracy": 0.5, "pictures": 81}]}
    again = report.card(name, model.facts(), json.loads(json.dumps(figures)))
    assert (again == card) == (recipe.domain == "driving")


CARDS = SCRIPT.parents[1] / "docs" / "models"


@pytest.mark.parametrize("name", sorted(path.stem for path in CARDS.glob("tiny-vlm*.json")))
def test_a_card_in_the_docs_is_what_its_figures_and_template_make(script, name):
    pytest.importorskip("jinja2")
    report = script("tiny_vlm_report")
    facts = json.loads((WEIGHTS / f"{name}.json").read_text(encoding="utf-8"))
    figures = json.loads((CARDS / f"{name}.json").read_text(encoding="utf-8"))
    assert report.card(name, facts, figures) == (CARDS / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture
def command(script):
    loader = importlib.machinery.SourceFileLoader("train_tiny_vlm", str(SCRIPT))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("train_tiny_vlm", loader)
    )
    loader.exec_module(module)
    return module


def arguments(**changed):
    known = dict.fromkeys(("model", "domain", "epochs", "out", "weights"))
    return argparse.Namespace(**{**known, "seed": 1, **changed})


def test_a_domain_or_a_name_chooses_the_networks(script, command):
    assert set(command.MODELS) == set(script("tiny_vlm_recipe").RECIPES)
    assert command.chosen(arguments()) == list(command.MODELS)
    assert command.chosen(arguments(domain="driving")) == ["tiny-vlm", "tiny-vlm-s"]
    assert command.chosen(arguments(domain="indoor")) == ["tiny-vlm-indoor", "tiny-vlm-s-indoor"]
    assert command.chosen(arguments(model="tiny-vlm-s")) == ["tiny-vlm-s"]


@pytest.mark.parametrize("failing", [None, "tiny-vlm-s"])
def test_at_most_two_networks_are_trained_at_once(command, monkeypatch, failing):
    started, running, most = [], set(), []

    class Process:
        def __init__(self, words):
            self.name, self.looks, self.returncode = words[3], 0, None
            started.append(self.name)
            running.add(self.name)
            most.append(len(running))

        def poll(self):
            self.looks += 1
            if self.looks > 2 or self.name == failing:
                self.returncode = int(self.name == failing)
                running.discard(self.name)
            return self.returncode

        def terminate(self):
            running.discard(self.name)

        def wait(self):
            return 0

    monkeypatch.setattr(command.subprocess, "Popen", Process)
    monkeypatch.setattr(command.time, "sleep", lambda _: None)
    if failing is None:
        command.fit(arguments())
        assert started == list(command.MODELS)
        assert max(most) == 2
    else:
        with pytest.raises(SystemExit):
            command.fit(arguments())
        assert started == ["tiny-vlm", "tiny-vlm-s"]
    assert not running


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
