from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from vlmfail.core import Picture
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.models.tiny_vlm import TinyVLM

SCRIPTS = Path(__file__).parents[2] / "scripts" / "train"
RECORD = {
    "concepts": ["light_red", "cyclist", "on_sidewalk", "weather_foggy"],
    "empty": False,
    "expected": "slow_down",
    "accepted": ["emergency_stop", "slow_down"],
    "rule": "A3",
    "town": "town01",
    "weather": "weather_foggy",
    "junction": True,
    "in_lane": [],
    "objects": {"cyclist": "ahead", "cone": "far"},
    "sidewalk": ["cyclist"],
    "visible": {"light_red": 50, "cyclist": 900, "cone": 3},
}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith("tiny_vlm_")]:
        del sys.modules[name]


def test_statements_are_read_off_the_scene(script):
    wording = script("tiny_vlm_wording")
    said = {text: holds for text, holds, _ in wording.statements(RECORD, DrivingDomain().catalogue)}
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
    wording = script("tiny_vlm_wording")
    domain, rng = DrivingDomain(), np.random.default_rng(0)
    real = domain.prompt.question()
    for _ in range(50):
        asked = wording.action_question(RECORD, real, rng)
        right = [
            option.id for option, right in zip(real.options, asked.right, strict=True) if right
        ]
        assert sorted(right) == RECORD["accepted"]
        fact = wording.statement_question(RECORD, domain.catalogue, rng)
        assert sum(fact.right) == 1
        denied = " no " in f" {fact.question.lower()}"
        if "cyclist" in fact.question and "is directly" not in fact.question:
            assert fact.right == (not denied, denied)


def test_the_drawn_mix_is_valid_or_an_ordinary_road(script):
    data = script("tiny_vlm_data")
    domain, rng = DrivingDomain(), np.random.default_rng(0)
    drawn = [data.draw_candidate(domain, rng) for _ in range(2000)]
    roads = [candidate for candidate, empty in drawn if empty]
    assert 0.15 < len(roads) / len(drawn) < 0.21
    assert all(domain.space.validate(c) is None for c, empty in drawn if not empty)
    seen = frozenset().union(*(candidate for candidate, _ in drawn))
    assert seen == set(domain.space.concepts)
    roles = {c.id: c.role for c in domain.catalogue.concepts}
    assert all({roles[i] for i in road} <= {"town", "weather"} for road in roads)


@pytest.mark.slow
def test_a_picture_depends_on_seed_and_index_alone(script):
    data = script("tiny_vlm_data")
    domain = DrivingDomain()
    first, other = (data.draw(domain, domain.make_renderer("embree"), 5, 3) for _ in range(2))
    assert np.array_equal(first[0], other[0])
    assert first[1] == other[1]


@pytest.mark.slow
def test_what_is_trained_is_what_is_packaged(script, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    fitting, network_file = script("tiny_vlm_fit"), script("tiny_vlm_network")
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (96, 144, 192, 3), dtype=np.uint8)
    records = [
        {**RECORD, "expected": action, "accepted": [action]}
        for action in ("slow_down", "continue", "emergency_stop") * 32
    ]
    torch.set_num_threads(1)
    network = fitting.fit(pictures, records, seed=0, epochs=1)
    path = tmp_path / "tiny.onnx"
    fitting.export(network, path, {})
    question = DrivingDomain().prompt.question()
    texts = [option.text for option in question.options]
    asked = network_file.Exported(network)
    said = TinyVLM(path).probabilities(Picture.from_pixels(pictures[0]), question.text, texts)
    bags = fitting.bag
    with torch.no_grad():
        expected = asked(
            torch.from_numpy(pictures[:1]),
            torch.from_numpy(bags(question.text)[None].copy()),
            torch.from_numpy(np.stack([bags(text) for text in texts])),
        )
    assert said == pytest.approx(expected.numpy(), abs=1e-4)
