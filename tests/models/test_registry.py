from __future__ import annotations

import json

import pytest

from vlmfail.core import Reply, UnknownNameError, UsageError
from vlmfail.models.doubles import ScriptedVLM
from vlmfail.models.registry import MODELS, identity, make_model

PLUGIN = """
from vlmfail.core import Reply

class Mine:
    name = "mine"
    def answer(self, images, prompt, *, seed):
        return Reply("class")
    def identity(self):
        return {"sha256": "abc", "name": "liar"}

class Needy(Mine):
    def __init__(self, key):
        self.key = key

class Nameless:
    def answer(self, images, prompt, *, seed):
        return Reply("nameless")

class Deaf:
    pass

class Seedless:
    name = "seedless"
    def answer(self, images, prompt):
        return Reply("x")

def plain(images, prompt, *, seed):
    return f"{prompt} {seed}"

def full(images, prompt, *, seed):
    return Reply("full", "length")

def number(images, prompt, *, seed):
    return 3

def wrong(images):
    return "x"

instance = Mine()
value = 3
"""


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN)
    return str(path)


def test_every_registered_model_is_made():
    assert "tiny-vlm" in MODELS.names()
    for name in MODELS.rows:
        assert make_model(name).name == name


@pytest.mark.parametrize(
    ("name", "text"),
    [("Mine", "class"), ("instance", "class"), ("Nameless", "nameless"), ("plain", "hi 7")],
)
def test_classes_instances_and_functions_of_a_file_are_models(plugin, name, text):
    model = make_model(f"{plugin}:{name}")
    assert model.answer([], "hi", seed=7).text == text
    assert isinstance(model.name, str)


def test_a_function_may_return_a_reply(plugin):
    assert make_model(f"{plugin}:full").answer([], "hi", seed=0) == Reply("full", "length")


def test_a_function_that_returns_neither_text_nor_reply_says_so(plugin):
    with pytest.raises(TypeError, match="text or a Reply"):
        make_model(f"{plugin}:number").answer([], "hi", seed=0)


@pytest.mark.parametrize("name", ["Needy", "Deaf", "Seedless", "wrong", "value"])
def test_anything_else_is_refused_with_what_is_expected(plugin, name):
    with pytest.raises(UsageError, match=r"answer|without arguments"):
        make_model(f"{plugin}:{name}")


def test_an_unknown_name_names_what_is_close():
    with pytest.raises(UnknownNameError, match="tiny-vlm"):
        make_model("tiny-vml")


def test_a_model_object_stays_itself():
    model = ScriptedVLM()
    assert make_model(model) is model


def test_identity_is_json_and_the_model_cannot_rename_itself(plugin):
    kept = identity(make_model(f"{plugin}:Mine"))
    assert kept["name"] == "mine"
    assert kept["sha256"] == "abc"
    assert json.loads(json.dumps(kept)) == kept
    assert "plain" in identity(make_model(f"{plugin}:plain"))["class"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('no weights')", "failed: ValueError: no weights"),
        ("raise SystemExit(3)", "failed: SystemExit: 3"),
        ("return [1]", "got list"),
        ("a = {}; a['a'] = a; return a", "what is none"),
    ],
)
def test_an_identity_that_is_none_is_told_in_a_line(tmp_path, body, said):
    path = tmp_path / "odd.py"
    path.write_text(
        "class Odd:\n    name = 'odd'\n    def answer(self, images, prompt, *, seed):\n"
        f"        return ''\n    def identity(self):\n        {body}\n"
    )
    with pytest.raises(UsageError, match=r"odd\.identity\(\)") as caught:
        identity(make_model(f"{path}:Odd"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", ["import sys; sys.exit(3)", "class M:\n    exit()"])
def test_a_file_that_exits_while_it_loads_is_told(tmp_path, where):
    path = tmp_path / "leaver.py"
    path.write_text(where)
    with pytest.raises(UsageError, match=r"leaver\.py failed while loading: SystemExit"):
        make_model(f"{path}:M")


def test_a_model_that_exits_when_made_is_told(tmp_path):
    path = tmp_path / "leaver.py"
    path.write_text(
        "class M:\n    def __init__(self):\n        raise SystemExit(3)\n"
        "    def answer(self, images, prompt, *, seed):\n        return ''\n"
    )
    with pytest.raises(UsageError, match="making it failed: SystemExit: 3"):
        make_model(f"{path}:M")


def test_a_long_name_is_told_short():
    with pytest.raises(UnknownNameError) as caught:
        make_model("x" * 100_000)
    assert len(str(caught.value)) < 1000


def test_a_scripted_model_answers_by_seed():
    model = ScriptedVLM(["a", "b", Reply("c", "length")])
    assert [model.answer([], "", seed=s).text for s in (0, 1, 2, 3, 1)] == ["a", "b", "c", "a", "b"]
    assert ScriptedVLM("only").answer([], "", seed=5).text == "only"
    called = ScriptedVLM(lambda images, prompt, seed: f"{len(images)} {prompt} {seed}")
    assert called.answer([], "p", seed=4).text == "0 p 4"
    assert json.dumps(identity(model))
    with pytest.raises(UsageError):
        ScriptedVLM([])
