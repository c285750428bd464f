"""`auto`: which searcher it becomes, and that the run is that searcher's from then on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vlmfail import Run, resume, search
from vlmfail.core import UnknownNameError, UsageError
from vlmfail.envs.registry import make_env
from vlmfail.searchers import make_searcher, searcher_names
from vlmfail.searchers.auto import GOALS, choose, is_auto
from vlmfail.testing.toy import toy_space, toy_vector_space

TUPLES = SimpleNamespace(kind="tuple")


@pytest.mark.parametrize("spec", ["auto", *(f"auto:{goal}" for goal in GOALS)])
@pytest.mark.parametrize("space", [toy_space(), toy_vector_space()])
def test_what_it_becomes_can_search_the_space(spec, space):
    choice = choose(spec, space)
    assert choice.spec in searcher_names()
    assert choice.line.startswith(f"searcher {choice.spec}, chosen by {spec}: ")
    agent = make_searcher(choice.spec)
    agent.bind(space, seed=0, trials=1, budget=20)
    assert agent.ask(2)


def test_goals_and_kinds_are_told_apart():
    assert choose("auto:rate", toy_space()).spec == "level-set"
    assert choose("auto", toy_space()).spec != "level-set"
    assert choose("auto", toy_space()).spec == choose("auto:modes", toy_space()).spec
    assert choose("auto", toy_vector_space()).spec == "weighted-rf"
    assert choose("auto", TUPLES).spec == choose("auto:rate", TUPLES).spec == "random"
    assert not is_auto("autonomous")
    assert not is_auto(make_searcher("random"))


@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [
        ("auto:pfm", UnknownNameError, "goal of auto 'pfm'"),
        ("auto+min", UsageError, "name the searcher before"),
        ("auto:rate+min", UsageError, "name the searcher before"),
    ],
)
def test_what_cannot_be_is_told(spec, error, said):
    assert is_auto(spec)
    with pytest.raises(error, match=said):
        choose(spec, toy_space())


@pytest.mark.parametrize("spec", ["auto", "auto:rate", "auto+min"])
def test_without_an_environment_nothing_can_be_chosen(spec):
    with pytest.raises(UsageError, match="chosen for an environment"):
        make_searcher(spec)


def test_the_run_is_the_searchers_that_was_chosen(tmp_path):
    run = search("VLMFail-Planted-v0", "auto:rate", budget=20, out=tmp_path / "run")
    assert run.config["searcher"]["spec"] == run.config["searcher"]["name"] == "level-set"
    assert run.config["chosen"].startswith("searcher level-set, chosen by auto:rate: ")
    calls = run.calls
    run.close()
    assert resume(tmp_path / "run").calls == calls
    # The same search by its name goes on with the same folder, and the other way round.
    same = search("VLMFail-Planted-v0", "level-set", budget=20, out=tmp_path / "run")
    assert isinstance(same, Run)
    assert same.calls == calls


def test_an_environment_object_and_arguments_of_the_searcher_serve_too(tmp_path):
    env = make_env("VLMFail-Planted-v0", budget=8, trials=2)
    run = search(env, "auto:rate", out=tmp_path / "run", agent_args={"order": 1})
    assert run.config["searcher"]["config"]["order"] == 1
