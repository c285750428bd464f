"""`vlmfail bench` on a command line: files, options, exit codes, one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vlmfail.benchmarks.bench import command, plan
from vlmfail.benchmarks.bench import page as pages
from vlmfail.benchmarks.bench.work import perform
from vlmfail.benchmarks.studies import comparison

ENV = ("--env", "vlmfail.testing.toy:ToyDomain", "--models", "vlmfail.testing.toy:ToyModel")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Do the runs in this process, draw nothing, and leave the environment as it was."""
    for name in ("VLMFAIL_PICTURES", "VLMFAIL_PICTURES_GIB", "WANDB_RUN_GROUP", "WANDB_NAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name in ("curves", "boxes", "rate_against_diversity"):
        monkeypatch.setattr(pages.plots, name, lambda *_: "")

    def do_all(bench: Any, states: Any, *_: Any, **__: Any) -> dict[Any, str]:
        for task, state in states.items():
            if not state.complete:
                perform(bench, task, lambda _: None)
        return {}

    monkeypatch.setattr(command, "do_all", do_all)
    monkeypatch.setattr(comparison, "RESAMPLES", 200)
    monkeypatch.setattr(plan, "code_of", lambda: {"all": "the same, whoever edits it meanwhile"})
    monkeypatch.chdir(tmp_path)


def test_options_make_a_bench(cli, tmp_path):
    words = ("bench", *ENV, "--searchers", "random,beam", "--budget", "20", "--seeds", "0,1")
    shown = cli(*words)
    assert shown.code == 0
    assert "beam" in shown.out
    assert "page: runs/bench/bench.html" in shown.out
    assert (tmp_path / "runs" / "bench" / "table.md").is_file()
    again = cli(*words, "--report-only", "--json")
    assert again.code == 0
    assert again.json["runs"] == {"complete": 4, "unfinished": 0, "of": 4}
    assert again.json["command"].startswith("vlmfail bench --env")
    assert "--json" not in again.json["command"]
    assert {arm["searcher"] for arm in again.json["arms"]} == {"random", "beam"}


def test_a_file_makes_a_bench_and_options_override_it(cli, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "envs:\n"
        "  - id: vlmfail.testing.toy:ToyDomain\n"
        "    label: toy\n"
        "    args: {max_size: [2, 3]}\n"
        "    models: ['vlmfail.testing.toy:ToyModel']\n"
        "searchers:\n"
        "  - random\n"
        "  - {name: beam, label: beam k=2, args: {width: 2}}\n"
        "budget: 500\n"
    )
    shown = cli("bench", "mine.yaml", "--budget", "20", "--json")
    assert shown.code == 0
    assert shown.json["budget"] == 20
    assert [env["label"] for env in shown.json["envs"]] == ["toy 2", "toy 3"]
    assert [one["label"] for one in shown.json["searchers"]] == ["random", "beam k=2"]
    config = json.loads(
        next((tmp_path / "runs" / "bench-mine").rglob("beam-k-2/0/run.json")).read_text()
    )
    assert config["searcher"]["args"] == {"width": 2}


def test_a_preset_is_run_like_a_file(cli, tmp_path):
    words = ("bench", "preset:revelio-trials", *ENV, "--budget", "20", "--seeds", "1")
    shown = cli(*words, "--thresholds", "0.4,0.8", "--set", "trials=2,4", "--json")
    assert shown.code == 0
    assert {env["args"]["trials"] for env in shown.json["envs"]} == {2, 4}
    assert shown.json["about"].startswith("Revelio Tables 8 and 9")
    assert (tmp_path / "runs" / "bench-revelio-trials" / "bench.html").is_file()
    assert "Revelio Tables 8 and 9" in cli(*words, "--set", "trials=2,4", "--report-only").out


def test_presets_are_listed(cli):
    shown = cli("bench", "--list-presets", "--json")
    assert shown.code == 0
    assert {"name", "about", "path"} == set(shown.json["presets"][0])
    assert all(Path(row["path"]).is_file() for row in shown.json["presets"])
    text = cli("bench", "--list-presets").out
    assert "preset:revelio-kernel" in text
    assert "vlmfail bench preset:" in text


def test_what_is_not_over_is_a_fault(cli, monkeypatch):
    monkeypatch.setattr(command, "do_all", lambda *_, **__: {})
    shown = cli("bench", *ENV, "--searchers", "random", "--budget", "20", "--json")
    assert shown.code == 3
    assert shown.json["runs"] == {"complete": 0, "unfinished": 1, "of": 1}


def test_an_interrupted_bench_says_how_it_goes_on(cli, monkeypatch):
    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "do_all", stop)
    shown = cli("bench", *ENV, "--searchers", "random", "--budget", "20")
    assert shown.code == 130
    assert "goes on" in shown.err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "envs: none is named"),
        ((*ENV,), "searchers: none is named"),
        ((*ENV, "-s", "luck"), "unknown searcher 'luck'"),
        ((*ENV, "-s", "random,random"), "is there twice"),
        ((*ENV, "-s", "random", "--seeds", ","), "seeds: none is named"),
        ((*ENV, "-s", "random", "--set", "size"), "expected KEY=VALUE"),
        ((*ENV, "-s", "random", "--set", "siez=3"), "unknown env option 'siez'"),
        ((*ENV, "-s", "random", "--processes", "0"), "processes: expected a whole number"),
        ((*ENV, "-s", "random", "--report-only"), "holds no run of this bench"),
        (("none.yaml",), "none.yaml cannot be read"),
        (("preset:revelio-kernle",), "did you mean revelio-kernel"),
        ((*ENV, "-s", "random", "--thresholds", "0.4,2"), "thresholds: expected rates"),
        (("list.yaml",), "holds a list: a bench is a mapping"),
    ],
)
def test_mistakes_are_one_line(cli, tmp_path, words, part):
    (tmp_path / "list.yaml").write_text("- a\n- b\n")
    shown = cli("bench", *words)
    assert shown.code == 2
    assert part in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
