from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlmfail.core import CandidateSpace, InvalidCandidateError, UnknownNameError, UsageError
from vlmfail.envs.vector_space import Dimension, VectorSpace

OBJECTS = ("can", "bottle", "eggplant", "carrot", "apple", "spoon", "sponge")


def table() -> VectorSpace:
    return VectorSpace(
        [
            Dimension("object", "choice", choices=OBJECTS),
            Dimension("x", "real", low=-0.5, high=-0.05, unit="m"),
            Dimension("y", "real", low=0.0, high=0.4, unit="m"),
            Dimension("standing", "flag", choices=("lying", "standing")),
            Dimension("yaw", "angle", only_if=("standing", False)),
        ]
    )


SPACE = table()
numbers = st.floats(0.0, 1.0)
vectors = st.lists(numbers, min_size=5, max_size=5)


def test_it_is_a_candidate_space() -> None:
    assert isinstance(SPACE, CandidateSpace)
    assert SPACE.kind == "vector"
    assert SPACE.features == (
        *(f"object={name}" for name in OBJECTS), "x", "y", "standing", "yaw.sin", "yaw.cos",
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(vectors)
def test_equal_scenes_have_equal_forms(raw: list[float]) -> None:
    one = SPACE.canonical(raw)
    assert np.array_equal(SPACE.canonical(one), one)
    for again in (
        SPACE.decode(SPACE.encode(raw)),
        SPACE.from_json(json.loads(json.dumps(SPACE.to_json(raw)))),
        SPACE.candidate(**SPACE.values(raw)),
    ):
        assert np.array_equal(SPACE.canonical(again), one)
        assert SPACE.key(again) == SPACE.key(raw)
        assert SPACE.values(again) == SPACE.values(raw)
        assert np.array_equal(SPACE.featurise(again), SPACE.featurise(raw))
    features = SPACE.featurise(raw)
    assert features.dtype == np.float32
    assert features.shape == (len(SPACE.features),)
    assert np.all((features >= 0) & (features <= 1))


def test_what_means_the_same_is_one_candidate() -> None:
    standing = [SPACE.key([0.3, 0.5, 0.5, 0.9, yaw]) for yaw in (0.1, 0.7)]
    assert standing[0] == standing[1] == "object=eggplant,x=0.500000,y=0.500000,standing=yes"
    lying = [SPACE.key([0.3, 0.5, 0.5, 0.1, yaw]) for yaw in (0.1, 0.7)]
    assert lying[0] != lying[1]
    assert SPACE.key([0.2, 0, 0, 0, 0]) == SPACE.key([0.25, 1e-9, 0, 0.49, 1.0])
    assert SPACE.key([0.2, 0, 0, 0, 0]) != SPACE.key([0.2, 2e-6, 0, 0, 0])


def test_keys_differ_where_canonical_forms_do() -> None:
    rng = np.random.default_rng(0)
    drawn = [SPACE.sample(rng) for _ in range(500)]
    assert len({SPACE.key(c) for c in drawn}) == len({c.tobytes() for c in drawn}) == 500
    assert all(SPACE.validate(c) is None and not c.flags.writeable for c in drawn)


def test_values_are_in_units() -> None:
    values = SPACE.values([0.99, 0.0, 0.5, 0.2, 0.75])
    assert values["object"] == "sponge"
    assert values["standing"] is False
    assert [values[n] for n in ("x", "y", "yaw")] == pytest.approx([-0.5, 0.2, math.pi / 2])
    spoon = SPACE.candidate(object="spoon", x=-0.05, y=0.4, standing=True)
    assert SPACE.describe(spoon) == "object = spoon, x = -0.05 m, y = 0.40 m, standing"
    turned = SPACE.candidate(object="can", x=-0.3, y=0.1, standing=False, yaw=math.pi / 2)
    assert SPACE.describe(turned) == "object = can, x = -0.30 m, y = 0.10 m, lying, yaw = 90°"
    assert SPACE.meaningful(spoon) == {**dict.fromkeys(SPACE.names, True), "yaw": False}


def test_candidates_are_parsed() -> None:
    written = SPACE.parse("object=spoon, x=-0.3, y=0.1, standing=lying, yaw=0")
    spoken = SPACE.candidate(object="spoon", x=-0.3, y=0.1, standing=False, yaw=0.0)
    assert np.array_equal(written, spoken)
    assert SPACE.key(SPACE.parse(json.dumps(SPACE.to_json(spoken)))) == SPACE.key(spoken)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object=fork, x=-0.3, y=0.1, standing=yes", "unknown object 'fork'"),
        ("object=spoon, x=-0.7, y=0.1, standing=yes", r"x = -0.7 m is outside -0.5 to -0.05"),
        ("object=spoon, x=far, y=0.1, standing=yes", "x: expected a number, got 'far'"),
        ("object=spoon, x=nan, y=0.1, standing=yes", "x = nan m is outside"),
        ("object=spoon, x=-0.3, y=0.1, standing=maybe", "standing: expected yes or no"),
        ("object=spoon, x=-0.3, y=0.1, standing=no", "needs yaw too"),
        ("object=spoon, z=1", "unknown dimension 'z'"),
        ("spoon", "write NAME=VALUE"),
        ("[0.1, 0.2", "list of 5 numbers"),
        ('{"x": 1}', "write NAME=VALUE"),
    ],
)
def test_wrong_words_are_told_in_a_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        SPACE.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "rule", "text"),
    [
        ([0.1, 0.2], "SHAPE", "5 numbers in [0, 1] (object, x, y, standing, yaw), got shape (2,)"),
        ([[0.5] * 5], "SHAPE", "got shape (1, 5)"),
        ("five", "SHAPE", "got 'five'"),
        (None, "SHAPE", "shape ()"),
        ([0.1, math.nan, 0, 0, 0], "NUMBER", "x is not a number"),
        ([0.1, 0, 1.2, 0, 0], "BOX", "y is 1.2, outside [0, 1]"),
        ([0.1, 0, 0, 0, -math.inf], "BOX", "yaw is -inf, outside [0, 1]"),
    ],
)
def test_broken_candidates_name_what_is_wrong(raw: Any, rule: str, text: str) -> None:
    violation = SPACE.validate(raw)
    assert violation is not None
    assert violation.rule == rule
    assert text in violation.text
    with pytest.raises(InvalidCandidateError):
        SPACE.check(raw)
    assert SPACE.key(raw).startswith("invalid ")


def test_broken_candidates_survive_json_and_actions() -> None:
    raw = np.array([0.1, math.nan, 1.5, 0, 0])
    text = json.dumps(SPACE.to_json(raw), allow_nan=False)
    for again in (SPACE.from_json(json.loads(text)), SPACE.decode(SPACE.encode(raw))):
        assert SPACE.validate(again) == SPACE.validate(raw)
    with pytest.raises(UsageError, match="list of 5 numbers"):
        SPACE.from_json({"x": 1})


def test_features_say_where_yaw_means_nothing() -> None:
    names = dict(zip(SPACE.features, range(12), strict=True))
    lying, standing = SPACE.featurise([0.5, 0.5, 0.5, 0, 0.5]), SPACE.featurise([0.5] * 5)
    assert lying[names["yaw.cos"]] == 1.0
    assert lying[names["yaw.sin"]] == pytest.approx(0.5)
    assert standing[[names["yaw.sin"], names["yaw.cos"]]].tolist() == [0.5, 0.5]
    assert [lying[names["standing"]], standing[names["standing"]]] == [0.0, 1.0]
    assert lying[names["object=carrot"]] == 1.0 == lying[:7].sum()


def test_actions_are_flat_boxes() -> None:
    single, batched = SPACE.action_space(), SPACE.action_space(3)
    assert (single.shape, batched.shape) == ((5,), (3, 5))
    batched.seed(0)
    assert all(SPACE.validate(SPACE.decode(row)) is None for row in batched.sample())
    assert single.contains(SPACE.encode(SPACE.sample(np.random.default_rng(0))))


def test_perturbed_candidates_are_near() -> None:
    rng = np.random.default_rng(0)
    lying = SPACE.candidate(object="apple", x=-0.06, y=0.2, standing=False, yaw=3.1)
    drawn = [SPACE.perturb(lying, rng, 0.1) for _ in range(400)]
    assert all(SPACE.validate(c) is None for c in drawn)
    values = [SPACE.values(c) for c in drawn]
    assert 0.85 < np.mean([v["object"] == "apple" for v in values]) < 0.97
    still = [v for v in values if not v["standing"]]
    assert np.mean([abs(float(v["x"]) + 0.06) < 0.1 for v in still]) > 0.9
    # Yaw goes round: some of the neighbours of 3.1 are just above -π.
    assert any(float(v["yaw"]) < -2.5 for v in still)
    assert np.mean([math.cos(float(v["yaw"]) - 3.1) > 0.2 for v in still]) > 0.95
    # Put down, it lies in any direction.
    standing = SPACE.candidate(object="apple", x=-0.06, y=0.2, standing=True)
    laid = [SPACE.values(SPACE.perturb(standing, rng, 0.5))["yaw"] for _ in range(400)]
    assert np.std([float(yaw) for yaw in laid if yaw]) > 1.4


def test_finite_spaces_know_their_size() -> None:
    assert SPACE.size is None
    two = Dimension("a", "flag")
    assert VectorSpace([two, Dimension("b", "choice", choices=("u", "v", "w"))]).size == 6
    tied = Dimension("b", "choice", choices=("u", "v", "w"), only_if=("a", True))
    assert VectorSpace([two, tied]).size == 4
    chained = Dimension("c", "flag", only_if=("b", ("u", "v")))
    assert VectorSpace([two, tied, chained]).size == 6


def test_spaces_travel() -> None:
    again = pickle.loads(pickle.dumps(SPACE))
    assert again.key([0.3] * 5) == SPACE.key([0.3] * 5)
    assert len(pickle.dumps(SPACE)) < 5000


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ([], "names must exist"),
        ([Dimension("a", "flag"), Dimension("a", "flag")], "differ"),
        ([Dimension("b", "real", only_if=("a", True)), Dimension("a", "flag")], "earlier"),
        ([Dimension("a", "real"), Dimension("b", "real", only_if=("a", 0.5))], "earlier choice"),
        ([Dimension("a", "flag"), Dimension("b", "real", only_if=("a", "yes"))], "its value"),
    ],
)
def test_impossible_spaces_are_refused(dimensions: list[Dimension], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        VectorSpace(dimensions)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("colour", {}),
        ("choice", {}),
        ("choice", {"choices": ("a", "a")}),
        ("flag", {"choices": ("a",)}),
        ("real", {"choices": ("a",)}),
        ("real", {"low": 1.0}),
        ("real", {"high": math.inf}),
    ],
)
def test_impossible_dimensions_are_refused(kind: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="d: "):
        Dimension("d", kind, **settings)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown dimension 'z'"):
        SPACE.candidate(z=1)
    with pytest.raises(UsageError, match="standing: expected true or false"):
        SPACE.candidate(standing=1)
    with pytest.raises(UsageError, match="x: expected a number in m, got True"):
        SPACE.candidate(x=True)


def test_a_zero_with_a_sign_is_the_same_place() -> None:
    for place in range(5):
        one, other = np.full(5, 0.1), np.full(5, 0.1)
        one[place], other[place] = 0.0, -0.0
        assert SPACE.key(one) == SPACE.key(other)
        assert SPACE.canonical(one).tobytes() == SPACE.canonical(other).tobytes()
        assert json.dumps(SPACE.to_json(one)) == json.dumps(SPACE.to_json(other))


DEEP: list[Any] = []
for _ in range(3000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "raw",
    [
        ["0.1"] * 5,
        [0.1, 0.1, 0.1, 0.1, "0.1"],
        np.full(5, 0.1 + 0.2j),
        np.zeros(5, "M8[D]"),
        np.array([object()] * 5, object),
        [10**400, 0, 0, 0, 0],
        [[1], [1, 2]],
        {"x": 1},
        {1, 2},
        b"12345",
        DEEP,
    ],
)
def test_what_holds_no_numbers_is_an_invalid_candidate_and_no_crash(raw: Any) -> None:
    violation = SPACE.validate(raw)
    assert violation is not None
    assert violation.rule == "SHAPE"
    assert len(violation.text) < 200
    assert SPACE.key(raw).startswith("invalid ")
    assert SPACE.to_json(raw) == []
    for again in (SPACE.decode(raw), SPACE.encode(raw)):
        assert SPACE.validate(again) is not None
    for told in (SPACE.check, SPACE.from_json):
        with pytest.raises(UsageError) as caught:
            told(raw)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" + "9" * 400 + ", 0, 0, 0, 0]",
        "[" + "9" * 5000 + "]",
        '["0.1", 0, 0, 0, 0]',
        "standing=" + "y" * 5000,
        "x=" + "y" * 5000,
    ],
)
def test_huge_and_odd_words_are_told_in_a_short_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        SPACE.check(SPACE.parse(text))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "values",
    [{"x": 10**400}, {"x": -(10**400)}, {"object": np.array([1, 2])}, {"object": ["spoon"]}],
)
def test_values_of_wrong_types_are_told(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        SPACE.candidate(**{"object": "spoon", "x": -0.3, "y": 0.1, "standing": True, **values})
