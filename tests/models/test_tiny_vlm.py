from __future__ import annotations

import hashlib
import itertools
import json
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.core import EnvironmentFault, Option, Outcome, Picture, Question, UsageError
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.registry import make_domain
from vlmfail.models.answers import classify
from vlmfail.models.registry import MODELS, identity, make_model
from vlmfail.models.tiny_text import BUCKETS, bag, split_prompt, title
from vlmfail.models.tiny_vlm import (
    WEIGHTS,
    Network,
    TinyVLM,
    network_input,
    split_statements,
)

BUILT_IN = sorted(name for name in MODELS.rows if name.startswith("tiny-vlm"))


@pytest.fixture(scope="module", params=BUILT_IN)
def model(request):
    return make_model(request.param)


@pytest.fixture(scope="module")
def picture():
    rng = np.random.default_rng(0)
    low = rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)
    return Picture.from_pixels(np.repeat(np.repeat(low, 16, axis=0), 16, axis=1))


def driving_question():
    return DrivingDomain().prompt.question()


def test_the_prompt_of_a_question_is_split_into_its_parts():
    question = driving_question()
    text, options = split_prompt(question.prompt)
    assert text == question.text
    assert options == [(letter, option.text) for letter, option in question.lettered()]


@pytest.mark.parametrize(
    "prompt", ["", "What do you see?", "A) only one", "B) no\nC) first\nD) letter"]
)
def test_a_prompt_without_options_has_none(prompt):
    assert split_prompt(prompt) == (prompt, [])


def test_the_last_run_of_options_counts():
    prompt = "For example\nA) x\nB) y\nNow:\n(A) p\n(B) q\n(C) r\nANSWER: X"
    text, options = split_prompt(prompt)
    assert options == [("A", "p"), ("B", "q"), ("C", "r")]
    assert text.endswith("Now:")


@pytest.mark.parametrize(
    ("question", "rest", "statements"),
    [
        ("Is it safe?", "Is it safe?", []),
        ("Decide:\nS1. A cone.\nS2. No cone.\n\nIs it safe?\nSay.", "Is it safe?\nSay.", 2),
        ("Is it safe?\nS1. A cone.\nS2. No cone.", "Is it safe?", 2),
        ("The road S1. is closed\n2. What now?", "The road S1. is closed\n2. What now?", []),
        ("S2. A cone.\nWhat now?", "S2. A cone.\nWhat now?", []),
        ("S1. A cone.\nS1. No cone.\nWhat now?", "S1. No cone.\nWhat now?", 1),
        ("", "", []),
    ],
)
def test_statements_are_told_from_the_question(question, rest, statements):
    found = ["A cone.", "No cone."][:statements] if statements else []
    assert split_statements(question) == (rest, found)


def test_bags_know_words_alone():
    assert bag("Slow down!").shape == (BUCKETS,)
    assert np.array_equal(bag("Slow, down"), bag("down slow DOWN"))
    assert not np.array_equal(bag("slow down"), bag("slow"))
    assert np.linalg.norm(bag("a b c")) == pytest.approx(1.0)
    assert not bag("").any()
    assert title("Slow down: brake at half.") == "Slow down"
    assert title("Yes") == "Yes"


def test_without_options_or_pictures_it_says_so(model, picture):
    question = driving_question()
    for images, prompt in (([picture], "What do you see?"), ([], question.prompt)):
        outcome, option, _ = classify(model.answer(images, prompt, seed=0), question)
        assert (outcome, option) == (Outcome.UNPARSED, None)


def test_the_order_of_options_changes_the_letter_and_not_the_choice(model, picture):
    question = driving_question()
    chosen = set()
    for options in itertools.permutations(question.options):
        shown = Question(question.text, options, "x")
        chosen.add(classify(model.answer([picture], shown.prompt, seed=0), shown)[1])
    assert len(chosen) == 1


def scores(model, picture, question, options):
    chances = model.probabilities(picture, question, options)
    assert chances.sum() == pytest.approx(1.0, abs=1e-5)
    return np.log(np.maximum(chances, 1e-40))  # far from 0 and 1 too, where a sure network is


def test_it_reads_options_and_question(model, picture):
    question = driving_question()
    texts = [option.text for option in question.options]
    real = scores(model, picture, question.text, texts)
    other = scores(model, picture, question.text, ["Something else", *texts[1:]])
    asked = scores(model, picture, "There is a cone in the picture.", texts)
    assert abs(real - other).max() > 0.1
    assert abs(real - asked).max() > 0.1


def test_it_looks_at_the_picture(model):
    domain, question = DrivingDomain(), driving_question()
    renderer = domain.make_renderer("embree")
    chosen = []
    for concepts in ({"pedestrian", "near"}, set()):
        scene = domain.sample_scene(frozenset(concepts), np.random.default_rng(1))
        shown = renderer.render(scene).picture
        chosen.append(classify(model.answer([shown], question.prompt, seed=0), question)[1])
    assert chosen == ["emergency_stop", "continue"]


def test_the_answer_has_the_asked_form_and_no_cost(model, picture):
    question = driving_question()
    reply = model.answer([picture], question.prompt, seed=0)
    lines = reply.text.splitlines()
    assert lines[-1].startswith("ANSWER: ")
    letter = lines[-1].removeprefix("ANSWER: ")
    assert title(question.by_letter(letter).text) in lines[0]
    assert reply.raw["probabilities"][letter] == max(reply.raw["probabilities"].values())
    assert (reply.usage.requests, reply.usage.dollars) == (0, 0.0)
    assert model.answer([picture], question.prompt, seed=9) == reply


def test_another_process_says_the_same(model, picture, tmp_path):
    (tmp_path / "p.png").write_bytes(picture.png)
    code = (
        "import sys; from vlmfail.core import Picture;"
        "from vlmfail.models.registry import make_model;"
        "from vlmfail.envs.driving.domain import DrivingDomain;"
        "p = Picture(open(sys.argv[1], 'rb').read());"
        "m = make_model(sys.argv[2]);"
        "print(m.answer([p], DrivingDomain().prompt.question().prompt, seed=1).raw)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p.png"), model.name],
        capture_output=True,
        text=True,
        check=True,
    )
    own = model.answer([picture], driving_question().prompt, seed=1).raw
    assert said.stdout.strip() == str(own)


def test_twenty_options_are_no_trouble(model, picture):
    question = Question("?", tuple(Option(f"o{i}", f"thing {i}") for i in range(20)), "x")
    reply = model.answer([picture], question.prompt, seed=0)
    assert classify(reply, question)[1] in {option.id for option in question.options}


@pytest.mark.parametrize("size", [(128, 96), (96, 72)])
def test_pictures_are_scaled_to_the_input(picture, size):
    scaled = network_input(picture, size)
    assert scaled.shape == (size[1], size[0], 3)
    assert scaled.dtype == np.uint8
    small = Picture.from_pixels(np.array(scaled))
    assert np.array_equal(network_input(small, size), scaled)


def test_a_picture_and_its_scaled_copy_get_the_same_answer(model, picture):
    size = model.facts()["input"]["width"], model.facts()["input"]["height"]
    small = Picture.from_pixels(np.array(network_input(picture, size)))
    prompt = driving_question().prompt
    assert model.answer([small], prompt, seed=0) == model.answer([picture], prompt, seed=0)


def test_the_packaged_weights_are_what_their_file_says(model):
    known = identity(model)
    for name in model.experts:
        weights = WEIGHTS / f"{name}.onnx"
        facts = json.loads(weights.with_suffix(".json").read_text())
        said = known if name == model.name else known["further"][name]
        assert facts["sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()
        assert facts["sha256"] == said["weights_sha256"]
        assert facts["version"] == said["version"]
        assert weights.stat().st_size < 6_000_000


def test_no_weights_lie_about_that_no_model_uses():
    used = sorted(name for built_in in BUILT_IN for name in make_model(built_in).experts)
    assert sorted(path.stem for path in WEIGHTS.glob("tiny-vlm*.onnx")) == used


def test_own_weights_are_a_model_with_their_own_name(model, picture, tmp_path):
    for name, facts in (("mine", {"name": "other", "version": "v7"}), ("bare", None)):
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(model.weights.read_bytes())
        if facts is not None:
            path.with_suffix(".json").write_text(json.dumps(facts))
        own = TinyVLM(path)
        assert own.name == ("bare" if facts is None else "other")
        assert identity(own)["version"] == (None if facts is None else "v7")
        assert pickle.loads(pickle.dumps(own)).name == own.name
        prompt = driving_question().prompt
        assert own.answer([picture], prompt, seed=0) == model.answer([picture], prompt, seed=0)


def test_missing_weights_are_told_at_once(tmp_path):
    with pytest.raises(UsageError, match="train_tiny_vlm"):
        TinyVLM(tmp_path / "none.onnx")


def test_damaged_weights_are_told_in_a_line(tmp_path, picture):
    path = tmp_path / "damaged.onnx"
    path.write_bytes(b"no network")
    with pytest.raises(EnvironmentFault, match="train_tiny_vlm"):
        TinyVLM(path).answer([picture], driving_question().prompt, seed=0)
    path.with_suffix(".json").write_text("{")
    with pytest.raises(EnvironmentFault, match=r"damaged\.json"):
        TinyVLM(path)


@pytest.mark.parametrize(
    "facts",
    ["[1]", "3", "null", "[" * 100_000, '{"name": null}', '{"name": {"a": 1}}', '{"name": ""}',
     '{"name": "a\\nb"}', '{"name": "\\u001b[2J"}', '{"name": "\\ud800"}'],
    ids=range(10),
)  # fmt: skip
def test_facts_that_are_none_are_told_in_a_line(tmp_path, facts):
    path = tmp_path / "mine.onnx"
    path.write_bytes(b"any")
    path.with_suffix(".json").write_text(facts)
    with pytest.raises(EnvironmentFault, match=r"mine\.json") as caught:
        TinyVLM(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_weights_with_a_wrong_bit_are_not_used(model, picture, tmp_path):
    path = tmp_path / "mine.onnx"
    data = bytearray(model.weights.read_bytes())
    path.with_suffix(".json").write_bytes(model.weights.with_suffix(".json").read_bytes())
    path.write_bytes(data)
    prompt = driving_question().prompt
    assert TinyVLM(path).answer([picture], prompt, seed=0) == model.answer(
        [picture], prompt, seed=0
    )
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)
    with pytest.raises(EnvironmentFault, match=r"not the file that the \.json beside it"):
        TinyVLM(path).answer([picture], prompt, seed=0)


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000])
def test_names_that_no_file_can_have_are_missing_weights(name):
    with pytest.raises(UsageError, match="there are no weights") as caught:
        TinyVLM(name)
    assert len(str(caught.value)) < 1000


def test_weights_that_went_away_are_told_in_a_line(tmp_path):
    path = tmp_path / "mine.onnx"
    path.write_bytes(b"any")
    model = TinyVLM(path)
    path.unlink()
    with pytest.raises(EnvironmentFault, match=r"mine\.onnx cannot be read"):
        model.identity()


def test_the_identity_is_that_of_the_weights_that_are_there(tmp_path):
    path = tmp_path / "mine.onnx"
    path.write_bytes(b"some")
    first = TinyVLM(path).identity()["weights_sha256"]
    path.write_bytes(b"other")
    assert TinyVLM(path).identity()["weights_sha256"] == hashlib.sha256(b"other").hexdigest()
    assert first == hashlib.sha256(b"some").hexdigest()


def test_another_network_is_told_in_a_line(tmp_path, picture, monkeypatch):
    import onnxruntime

    class Session:
        def __init__(self, *_, **__):
            pass

        def get_inputs(self):
            return [type("Input", (), {"name": "data", "shape": [1, 3, 224, 224]})]

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    path = tmp_path / "resnet.onnx"
    path.write_bytes(b"any")
    with pytest.raises(EnvironmentFault, match=r"another network, with the inputs \['data'\]"):
        TinyVLM(path).answer([picture], driving_question().prompt, seed=0)


@pytest.mark.parametrize("size", [(1, 1), (1, 4000), (4000, 1)])
def test_pictures_of_any_shape_are_answered(model, size):
    picture = Picture.from_pixels(np.zeros((*size, 3), dtype=np.uint8))
    assert "ANSWER: " in model.answer([picture], driving_question().prompt, seed=0).text


def test_long_gaps_take_no_time_and_change_no_answer(model, picture):
    """A million characters of white space took hours to search."""
    text, options = "What now?", ["Slow down: brake", "Go on"]

    def shares(prompt):
        return model.answer([picture], prompt, seed=0).raw["probabilities"]

    plain = shares(f"{text}\nA) {options[0]}\nB) {options[1]}")
    long = 300_000
    for prompt in (
        "\n" * long + f"{text}\nA) {options[0]}\nB) {options[1]}",
        f"{text}{' ' * long}\n{' ' * long}A) Slow{chr(9) * long}down: brake{' ' * long}\nB) Go on",
        f"{text}\n{' ' * long}\n \nA) {options[0]}\n{' ' * long}B) {options[1]}",
    ):
        assert shares(prompt) == plain
    apart = f"{text}\nA) {options[0]}\n{' ' * long}\nB) {options[1]}"
    assert "no options" in model.answer([picture], apart, seed=0).text


def test_the_words_of_the_question_choose_among_experts(picture, tmp_path):
    """Two networks, each with its own questions: one answers as it would alone."""
    asks = {"road": ["What should the driver do now?"], "kitchen": ["Is there a shock risk?"]}
    for name, source in (("road", "tiny-vlm"), ("kitchen", "tiny-vlm-s")):  # any two
        path = tmp_path / f"{name}.onnx"
        path.write_bytes((WEIGHTS / f"{source}.onnx").read_bytes())
        path.with_suffix(".json").write_text(json.dumps({"version": name, "asks": asks[name]}))
    both = TinyVLM(tmp_path / "road.onnx")
    both.networks = tuple(Network(tmp_path / f"{name}.onnx") for name in asks)
    for name, question in (
        ("road", "What should the driver do?"),
        ("kitchen", "Is there a risk of a shock?"),
        ("road", "Mauve?"),  # near to neither: the first one's
    ):
        assert both.network_for(question).weights.stem == name
        alone = TinyVLM(tmp_path / f"{name}.onnx")
        options = ("Yes, it is so", "No, it is not")
        assert np.array_equal(
            both.probabilities(picture, question, options),
            alone.probabilities(picture, question, options),
        )
    assert both.identity()["further"]["kitchen"]["version"] == "kitchen"
    again = pickle.loads(pickle.dumps(both))
    assert again.network_for("Is there a shock risk?").weights.stem == "kitchen"


def test_a_network_knows_its_own_questions(model):
    for network in model.networks:
        for text in network.facts()["asks"]:
            assert network.knows(text) == pytest.approx(1.0)
            assert model.network_for(text) is network


def test_kitchens_are_looked_at_by_the_network_of_kitchens():
    """Every question of both domains, also with true/false statements about a set before it."""
    rng = np.random.default_rng(0)
    for env, place in (("Driving", 0), ("Indoor", 1)):
        domain = make_domain(f"VLMFail-{env}-v0", recognition=True)
        for question in questions_of(domain):
            sets = [domain.space.sample(rng) for _ in range(5)]
            prompts = [replace(question, recognition=domain.recognition.of(c)) for c in sets]
            for asked in (question, *prompts):
                text, _ = split_prompt(asked.prompt)
                for built_in in BUILT_IN:
                    model = make_model(built_in)
                    assert model.network_for(text).weights.stem == model.experts[place]


def questions_of(domain):
    if domain.name == "indoor":
        return [domain.questions.of(family) for family in domain.rules.families]
    return [domain.prompt.question()]
