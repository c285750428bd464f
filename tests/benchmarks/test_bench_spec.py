"""What a user writes of a bench: files, options, seeds, and mistakes in one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vlmfail.benchmarks.bench.reading import read_file
from vlmfail.benchmarks.bench.seeds import parse_seeds
from vlmfail.benchmarks.bench.spec import make_bench, merged
from vlmfail.core import UsageError

TOY = "vlmfail.testing.toy:ToyDomain"
MODEL = "vlmfail.testing.toy:ToyModel"
PLANTED = "VLMFail-Planted-v0"


def given(**changes: Any) -> dict[str, Any]:
    return {"envs": TOY, "models": MODEL, "searchers": "random,gpts", **changes}


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0,1", (0, 1)),
        ("0-3", (0, 1, 2, 3)),
        ("3", (0, 1, 2)),
        (2, (0, 1)),
        ([0], (0,)),
        ([5, "7-8"], (5, 7, 8)),
        (" 1 - 2 , 9", (1, 2, 9)),
    ],
)
def test_seeds_are_a_number_a_range_or_a_list(text: Any, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "none is named"),
        ([], "none is named"),
        (",", "none is named"),
        ("0", "0 seeds"),
        (0, "0 seeds"),
        ("3-1", "runs backwards"),
        ("1,1", "1 is named twice"),
        ("0-2,1", "1 is named twice"),
        ("a", "is no seed"),
        ("-1", "is no seed"),
        (True, "is no seed"),
        (1.5, "is no seed"),
        ([True], "is no seed"),
        ("0-99999999", "more than"),
        ([1 << 32], "from 0 to"),
        ({"from": 0}, "is no seed"),
    ],
)
def test_seeds_that_are_none_are_told(text: Any, part: str) -> None:
    with pytest.raises(UsageError, match=part) as told:
        parse_seeds(text)
    assert "\n" not in str(told.value)


def test_every_searcher_meets_every_env_model_and_seed_under_one_budget(tmp_path: Path) -> None:
    bench = make_bench(given(models=["a", "b"], seeds="0-1", budget=70, out=tmp_path))
    tasks = bench.tasks()
    assert len(tasks) == len(set(tasks)) == 8
    assert [(t.seed, t.model, t.searcher) for t in tasks[:4]] == [
        (0, "a", "random"), (0, "a", "gpts"), (0, "b", "random"), (0, "b", "gpts"),
    ]  # fmt: skip
    assert len({bench.folder(task) for task in tasks}) == 8
    assert bench.baseline == "random"
    assert bench.full == 70
    assert make_bench(given(confirm={"top": 2, "fresh": 3}, budget=70)).full == 76


def test_lists_of_options_are_one_env_each_and_landscapes_are_repetitions() -> None:
    entry = {
        "id": PLANTED,
        "label": "planted",
        "args": {"family": ["additive", "mixed"], "level": "hard", "landscape_seed": "1000-1002"},
    }
    bench = make_bench({"envs": [entry, TOY], "models": [MODEL], "searchers": ["random"]})
    planted = [env for env in bench.envs if env.id == PLANTED]
    assert len(planted) == 6
    assert {env.group for env in planted} == {"planted additive", "planted mixed"}
    assert planted[0].label == "planted additive landscape_seed=1000"
    assert planted[0].args == {"family": "additive", "level": "hard", "landscape_seed": 1000}
    assert {env.models for env in planted} == {("planted",)}, "it draws its outcomes itself"
    assert bench.envs[-1].models == (MODEL,)


def test_shared_options_reach_the_envs_that_know_them() -> None:
    bench = make_bench(given(envs=[TOY, PLANTED], env_args={"max_size": [2, 3]}))
    assert [dict(env.args) for env in bench.envs] == [{"max_size": 2}, {"max_size": 3}, {}]
    with pytest.raises(UsageError, match="unknown env option 'max_sise'"):
        make_bench(given(env_args={"max_sise": 2}))


def test_one_searcher_may_be_there_with_two_settings() -> None:
    arms = ["random", {"name": "beam", "label": "beam k=2", "args": {"width": 2}}, "beam"]
    bench = make_bench(given(searchers=arms, baseline="beam"))
    assert [one.label for one in bench.searchers] == ["random", "beam k=2", "beam"]
    assert bench.searcher("beam k=2").args == {"width": 2}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"envs": None}, "envs: none is named"),
        ({"envs": "VLMFail-Drivin-v0"}, "did you mean VLMFail-Driving-v0"),
        ({"envs": [{"label": "x"}]}, "envs: expected a name"),
        ({"envs": [{"id": TOY, "agrs": {}}]}, "did you mean args"),
        ({"envs": [{"id": TOY, "args": {"budget": 3}}]}, "give it for the whole bench"),
        ({"envs": [{"id": TOY, "args": {"model": "x"}}]}, "models: beside the env's id"),
        ({"envs": [{"id": TOY, "args": {"max_size": []}}]}, "max_size has no value"),
        ({"envs": [TOY, TOY]}, "is there twice"),
        ({"envs": [{"id": TOY, "args": {"trials": 3}}], "trials": 3}, "keep one of them"),
        ({"envs": 3}, "expected names"),
        ({"searchers": None}, "searchers: none is named"),
        ({"searchers": "random,random"}, "'random' is there twice"),
        ({"searchers": ["a b", "a/b"]}, "would share a folder"),
        ({"searchers": [{"label": "x"}]}, "searchers: expected a name"),
        ({"searchers": [{"name": "random", "args": 3}]}, "expected names with values"),
        ({"searchers": ["a\x1bb"]}, "no name can hold"),
        ({"searchers": ["x" * 500]}, "more than 200 characters"),
        ({"models": "m,m"}, "'m' is named twice"),
        ({"models": ["m/1", "m:1"]}, "would share a folder"),
        ({"models": [None]}, "models: expected a name"),
        ({"seeds": ""}, "seeds: none is named"),
        ({"budget": 0}, "budget: expected a whole number"),
        ({"budget": True}, "budget: expected a whole number"),
        ({"trials": 2.5}, "trials: expected a whole number"),
        ({"threshold": 0.0}, "threshold: expected a rate above 0"),
        ({"threshold": 2}, "threshold: expected a number"),
        ({"baseline": "bean"}, "unknown baseline 'bean'"),
        ({"confirm": "maybe"}, "confirm: expected yes or no"),
        ({"confirm": {"tpo": 3}}, "did you mean top"),
        ({"about": 3}, "about: expected a text"),
        ({"about": "x" * 3000}, "about: it has more than 2000 characters"),
        ({"thresholds": [0.4, 0]}, "thresholds: expected rates above 0 and at most 1, got 0"),
        ({"thresholds": [True]}, "thresholds: expected rates"),
        ({"thresholds": "half"}, "thresholds: expected rates"),
        ({"thresholds": [0.4, 0.4]}, "thresholds: 0.4 is named twice"),
        ({"statistic": "mode"}, "statistic: expected one of mean, median"),
        ({"log": "wendb"}, "unknown logger"),
        ({"max_dollars": -1}, "max_dollars: expected a number"),
        ({"out": "x" * 5000}, "can be no folder"),
        ({"out": "a\0b"}, "can be no folder"),
        ({"out": ""}, "out: expected a folder"),
        ({"sedes": 3}, "did you mean seeds"),
        ({"env": TOY}, "envs and env are the same key"),
    ],
)
def test_mistakes_are_one_line_each(change: dict[str, Any], part: str) -> None:
    with pytest.raises(UsageError) as told:
        make_bench(given(**change))
    assert part in str(told.value)
    assert "\n" not in str(told.value)


def test_options_override_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my bench.yaml"
    file.write_text(f"env: {TOY}\nsearchers: [random]\nseeds: 0-3\nbudget: 50\nmodels: {MODEL}\n")
    values = merged(file, {"seeds": "2,3", "budget": None, "envs": None})
    bench = make_bench(values)
    assert bench.seeds == (2, 3)
    assert bench.budget == 50
    assert bench.out == Path("runs/bench-my-bench")
    assert make_bench(merged(file, {"out": tmp_path})).out == tmp_path
    with file.open("a") as more:
        more.write("confirm: {top: 3, fresh: 4}\nenv_args: {max_size: 2}\n")
    bench = make_bench(merged(file, {"top": 2}))
    assert (bench.confirm, bench.top, bench.fresh) == (True, 2, 4)
    assert not make_bench(merged(file, {"confirm": False})).confirm
    assert make_bench(merged(file, {"env_args": {"max_size": 3}})).envs[0].args == {"max_size": 3}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"", "is empty: a bench is a mapping"),
        (b"- a\n- b\n", "holds a list: a bench is a mapping"),
        (b"just text", "holds text"),
        (b"envs: [a\n", "line 2"),
        (b"envs: a\nenvs: b\n", "line 2, column 1: 'envs' is there twice"),
        (b"envs: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        (b"1: a\n", "'1' is no name"),
        (b"seeds: 2020-01-01\n", "put it in quotes"),
        (b"\xff\xfe\x00", "is no UTF-8 text"),
        (b"a: " + b"[" * 40 + b"]" * 40, "too many values"),
        (b"x" * (1 << 21), "more than 1 MiB"),
        (
            b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 10))
                for c in range(ord("b"), ord("j"))
            ),
            "too many values",
        ),
    ],
)
def test_files_that_are_no_bench_are_told(tmp_path: Path, text: bytes, part: str) -> None:
    file = tmp_path / "bench.yaml"
    file.write_bytes(text)
    with pytest.raises(UsageError) as told:
        read_file(file)
    assert part in str(told.value)
    assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(tmp_path / "none.yaml")
