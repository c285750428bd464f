"""The package's benches: each can be made, says what it is, and is run like a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlmfail.benchmarks.bench import plan
from vlmfail.benchmarks.bench.presets import FOLDER, preset_name, preset_path, presets
from vlmfail.benchmarks.bench.spec import make_bench, merged
from vlmfail.core import UnknownNameError

NAMES = [path.stem for path in sorted(FOLDER.glob("*.yaml"))]

PAPERS = {
    "revelio-searchers": "Tables 1 and 2",
    "revelio-beam-width": "Tables 6 and 7",
    "revelio-warm-up": "Figures 6 and 7",
    "revelio-trials": "Tables 8 and 9",
    "revelio-kernel": "Table 10",
    "fate-vla": "Tables 2 to 5",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_a_bench_of_names_that_exist(name: str) -> None:
    bench = make_bench(merged(Path(f"preset:{name}"), {}))
    assert bench.out == Path(f"runs/bench-{name}")
    assert bench.about.endswith(".")
    assert preset_path(name).read_text(encoding="utf-8").startswith("# ")
    # Worlds are made by the runs themselves; that searchers take their spaces is seen here.
    if "planted" in name:
        plan.check(bench)


def test_the_published_tables_have_one_each() -> None:
    about = {one.name: one.about for one in presets()}
    assert list(about) == NAMES
    for name, table in PAPERS.items():
        assert table in about[name]


def test_held_out_landscapes_are_in_one_preset_alone() -> None:
    for name in NAMES:
        seeds = {
            env.args["landscape_seed"]
            for env in make_bench(merged(Path(f"preset:{name}"), {})).envs
            if "landscape_seed" in env.args
        }
        if name == "planted-held-out":
            assert seeds == set(range(1000, 1012))
        else:
            assert all(seed < 1000 for seed in seeds)


def test_options_replace_those_of_the_same_name(tmp_path: Path) -> None:
    given = {"env_args": {"family": "needles", "landscape_seed": 3}, "out": tmp_path}
    bench = make_bench(merged(Path("preset:planted-development"), given))
    assert [dict(env.args) for env in bench.envs] == [
        {"family": "needles", "level": level, "landscape_seed": 3} for level in ("easy", "hard")
    ]


def test_only_what_begins_with_the_word_is_a_preset() -> None:
    assert preset_name("preset:fate-vla") == "fate-vla"
    assert preset_name(Path("presets/mine.yaml")) is None
    with pytest.raises(UnknownNameError, match="did you mean fate-vla") as told:
        preset_path("fate-vl")
    assert "--list-presets" in str(told.value)
    with pytest.raises(UnknownNameError):
        preset_path("../presets/fate-vla")
