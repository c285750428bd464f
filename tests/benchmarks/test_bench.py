"""The bench on the toy world: runs, stop, go on, compare, show."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vlmfail.agents import SearchAgent
from vlmfail.benchmarks.bench import command, plan, plots
from vlmfail.benchmarks.bench import page as pages
from vlmfail.benchmarks.bench.arms import Bench, Task, part
from vlmfail.benchmarks.bench.command import run_bench
from vlmfail.benchmarks.bench.comparison import Arm, compare, paired
from vlmfail.benchmarks.bench.figures import RunFigures, read_run
from vlmfail.benchmarks.bench.spec import make_bench
from vlmfail.benchmarks.bench.tables import (
    Table,
    comparison_tables,
    cost_table,
    curve,
    figure_tables,
)
from vlmfail.benchmarks.bench.text import markdown, terminal
from vlmfail.benchmarks.bench.work import perform
from vlmfail.benchmarks.studies import comparison, processes
from vlmfail.benchmarks.studies.comparison import against
from vlmfail.core import UsageError
from vlmfail.runs.run import RunData

TOY = "vlmfail.testing.toy:ToyDomain"
VECTOR = "vlmfail.testing.toy:ToyVector"
MODEL = "vlmfail.testing.toy:ToyModel"
HERE = str(Path(__file__))
HOSTILE = "</script><img src=x onerror=alert(1)> {{7*7}} <b>$a$ | `_x_"


class Breaks(SearchAgent[Any]):
    """Proposes one candidate, then breaks."""

    def ask(self, n: int) -> list[Any]:
        if getattr(self, "asked", False):
            raise RuntimeError("no idea left")
        self.asked = True
        return [frozenset(["cat"])]

    def tell(self, evaluations: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # A run sets these for its own process; the tests share one.
    for name in ("VLMFAIL_PICTURES", "VLMFAIL_PICTURES_GIB", "WANDB_RUN_GROUP", "WANDB_NAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the runs in this process, which starts none."""

    def do_all(bench: Bench, states: Any, *_: Any, **__: Any) -> dict[Task, str]:
        failed = {}
        for task, state in states.items():
            if not state.complete:
                try:
                    perform(bench, task, lambda _: None)
                except Exception as error:
                    failed[task] = f"{type(error).__name__}: {error}"
        return failed

    monkeypatch.setattr(command, "do_all", do_all)
    monkeypatch.setattr(comparison, "RESAMPLES", 200)
    monkeypatch.setattr(plan, "code_of", lambda: {"all": "the same, whoever edits it meanwhile"})


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing: it takes most of a bench's time here."""
    for name in ("curves", "boxes", "rate_against_diversity"):
        monkeypatch.setattr(pages.plots, name, lambda *_: "")


def made(out: Path, **changes: Any) -> Bench:
    values = {"envs": TOY, "models": MODEL, "searchers": "random,beam", "seeds": 2, "budget": 40}
    return make_bench({**values, "out": out, "cache": False, **changes})


def quiet() -> Console:
    return Console(file=io.StringIO())


def test_a_bench_is_run_shown_and_not_run_again(tmp_path: Path, here: None, no_plots: None) -> None:
    bench = made(tmp_path / "b", confirm=True, top=2, fresh=4)
    result = run_bench(bench, command="vlmfail bench", console=quiet())
    assert result.complete
    kept = json.loads((bench.out / "results.json").read_text())
    assert kept == json.loads(json.dumps(result.document))
    assert kept["runs"] == {"complete": 4, "unfinished": 0, "of": 4}
    assert [arm["searcher"] for arm in kept["arms"]] == ["random", "beam"]
    for arm in kept["arms"]:
        assert [run["calls"] for run in arm["runs"]] == [40, 40], "the same charged budget"
        assert arm["curve"]["calls"][-1] == 40
        assert arm["metrics"]["confirmed_modes"]["n"] == 2
    assert set(kept["arms"][1]["against_baseline"]) >= {"pfm", "mfr"}
    assert "against_baseline" in kept["arms"][0]
    text = (bench.out / "table.md").read_text()
    assert "PFM − random" in text
    assert "2 surest modes" in text
    before = {p: p.stat().st_mtime_ns for p in bench.out.rglob("trials.sqlite")}
    again = run_bench(bench, command="vlmfail bench", console=quiet())
    assert json.loads(json.dumps(again.document)) == kept
    assert before == {p: p.stat().st_mtime_ns for p in bench.out.rglob("trials.sqlite")}


def test_reported_modes_are_audited_where_no_true_rates_are_known(
    tmp_path: Path, here: None, no_plots: None
) -> None:
    sizes = {"searchers": "gpts+min", "seeds": 1, "budget": 150, "trials": 2}
    bench = made(tmp_path / "b", **sizes)
    plain = run_bench(bench, command="vlmfail bench", console=quiet())
    assert "modes_at_1k" not in plain.document["arms"][0]["metrics"]
    bench = replace(bench, audit=True)
    assert not plan.state_of(bench, bench.tasks()[0]).complete
    result = run_bench(bench, command="vlmfail bench", console=quiet())
    assert result.complete
    assert result.document["audit"] is True
    metrics = result.document["arms"][0]["metrics"]
    assert metrics["modes_at_1k"]["n"] == 1
    assert metrics["modes_at_1k"]["mean"] > 0
    assert "20 fresh trials each, 10 without each concept" in (bench.out / "table.md").read_text()
    scenes = made(tmp_path / "s", envs=VECTOR, searchers="random", budget=10, seeds=1, audit=True)
    assert run_bench(scenes, command="vlmfail bench", console=quiet()).complete


def test_auto_is_the_searcher_that_it_stands_for(tmp_path: Path) -> None:
    bench = made(tmp_path / "b", searchers="random,auto:rate")
    assert [(one.label, one.name) for one in bench.searchers][1] == ("level-set", "level-set")
    with pytest.raises(UsageError, match=r"level-set.*auto is one of the others"):
        made(tmp_path / "b", searchers="level-set,auto:rate")
    with pytest.raises(UsageError, match="is level-set and weighted-rf in these environments"):
        made(tmp_path / "b", envs=f"{TOY},{VECTOR}", searchers="auto:rate")


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    whole, halves = made(tmp_path / "whole"), made(tmp_path / "halves")
    task = whole.tasks()[1]
    perform(whole, task, lambda _: None)

    def stop(charged: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(halves, task, stop)
    assert not plan.state_of(halves, task).complete
    assert read_run(halves, task) is None
    perform(halves, task, lambda _: None)
    assert plan.state_of(halves, task).complete

    def trials(bench: Bench) -> list[Any]:
        run = RunData.open(bench.folder(task))
        return [record.trial for record in run.records.values()]

    assert trials(halves) == trials(whole)


def test_fresh_trials_may_come_later(tmp_path: Path) -> None:
    bench = made(tmp_path, searchers="random")
    task = bench.tasks()[0]
    perform(bench, task, lambda _: None)
    later = replace(bench, confirm=True, top=2, fresh=4)
    assert plan.state_of(bench, task).complete
    assert not plan.state_of(later, task).complete
    perform(later, task, lambda _: None)
    assert plan.state_of(later, task).complete


def test_a_bench_may_grow_but_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan.keep_asked(made(tmp_path))
    plan.keep_asked(made(tmp_path, seeds=5, searchers="random,gpts", models="another"))
    plan.keep_asked(made(tmp_path))
    asked = json.loads((tmp_path / "bench.json").read_text())
    assert list(asked["searchers"]) == ["random", "beam", "gpts"]
    with pytest.raises(UsageError, match="budget: 40 there, 41 here"):
        plan.keep_asked(made(tmp_path, budget=41))
    with pytest.raises(UsageError, match="holds another bench"):
        run_bench(made(tmp_path, budget=41), console=quiet())
    plan.keep_asked(made(tmp_path / "new"), dry=True)
    assert not (tmp_path / "new").exists()
    other = [{"name": "beam", "label": "gpts"}]
    with pytest.raises(UsageError, match=r"gpts: .*'gpts'.* there, .*'beam'.* here"):
        plan.keep_asked(made(tmp_path, searchers=other))
    there = plan.code_of()
    monkeypatch.setattr(plan, "code_of", lambda: {**there, "the renderer": "another"})
    with pytest.raises(UsageError, match=r"other code \(the renderer\)"):
        plan.keep_asked(made(tmp_path))


def test_another_search_in_the_folder_is_told(tmp_path: Path) -> None:
    bench = made(tmp_path)
    task = bench.tasks()[0]
    perform(bench, task, lambda _: None)
    with pytest.raises(UsageError, match="with budget 40, this bench has 50: choose another"):
        plan.state_of(replace(bench, budget=50), task)
    with pytest.raises(UsageError, match="with threshold"):
        plan.state_of(replace(bench, threshold=0.5), task)


def test_a_run_that_fails_is_told_and_the_others_go_on(
    tmp_path: Path, here: None, no_plots: None
) -> None:
    bench = made(tmp_path, searchers=["random", f"{HERE}:Breaks"], seeds=1)
    result = run_bench(bench, console=quiet())
    assert not result.complete
    assert ["no idea left" in why for why in result.failed.values()] == [True]
    assert result.document["failed"][0]["reason"].endswith("no idea left")
    assert result.document["runs"] == {"complete": 1, "unfinished": 1, "of": 2}
    assert "no idea left" in (tmp_path / "bench.html").read_text()
    assert "no idea left" in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"searchers": "luck"}, "unknown searcher 'luck'"),
        ({"searchers": [{"name": "beam", "args": {"wdith": 2}}]}, "argument of searcher beam"),
        ({"searchers": "no_such_module:Name"}, "no_such_module"),
        ({"models": "tiny-vml"}, "did you mean tiny-vlm"),
        ({"envs": VECTOR, "searchers": "random,gpts"}, "gpts works on concept sets"),
        ({"searchers": "random,fscs-art"}, "fscs-art works on scene vectors"),
        ({"envs": [{"id": TOY, "args": {"count_as_fail": ["pass"]}}]}, "count_as_fail"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_written(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    bench = made(tmp_path / "b", **change)
    with pytest.raises(UsageError) as told:
        run_bench(bench, console=quiet())
    assert words in str(told.value)
    assert "\n" not in str(told.value)
    assert not bench.out.exists()


def test_nothing_is_run_for_the_tables_alone(tmp_path: Path, no_plots: None) -> None:
    bench = made(tmp_path)
    with pytest.raises(UsageError, match="holds no run of this bench"):
        run_bench(bench, report_only=True)
    perform(bench, bench.tasks()[0], lambda _: None)
    result = run_bench(bench, report_only=True)
    assert (result.unfinished, result.complete) == (3, False)


def test_each_run_has_a_log_of_its_own(tmp_path: Path) -> None:
    bench = made(tmp_path, log="jsonl=mine.jsonl", searchers="random", seeds=1)
    perform(bench, bench.tasks()[0], lambda _: None)
    lines = (bench.folder(bench.tasks()[0]) / "mine.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["event"] == "start"


def test_a_planted_landscape_tells_what_is_true(tmp_path: Path, here: None, no_plots: None) -> None:
    env = {"id": "VLMFail-Planted-v0", "args": {"level": "easy", "landscape_seed": [3, 4]}}
    bench = made(tmp_path, envs=[env], searchers="random", seeds=1, budget=50)
    result = run_bench(bench, console=quiet())
    (arm,) = result.document["arms"]
    assert {"pfm_true", "recall", "oracle_share"} <= set(arm["metrics"])
    assert arm["metrics"]["pfm_true"]["n"] == 2
    assert arm["model"] == "planted"
    assert len(arm["runs"]) == 2


def figures(task: Task, calls: int = 4, **metrics: float | None) -> RunFigures:
    return RunFigures(
        task, "finished", metrics, tuple(range(1, calls + 1)), tuple([0] * calls), calls, 2
    )


def test_searchers_are_paired_by_seed_and_landscapes_count_once() -> None:
    ours = {("a", 0): 1.0, ("a", 1): 3.0, ("a", 2): 9.0}
    theirs = {("a", 0): 0.0, ("a", 1): 1.0}
    assert paired(ours, theirs) == ({("a", 0): 1.0, ("a", 1): 3.0}, theirs)
    ours |= {("b", 0): 5.0}
    theirs |= {("b", 0): 2.0}
    assert paired(ours, theirs) == ({"a": 2.0, "b": 5.0}, {"a": 0.5, "b": 2.0})


def test_differences_are_to_the_baseline_and_corrected_over_a_table(tmp_path: Path) -> None:
    bench = made(tmp_path, searchers="random,beam,gpts", seeds=6)
    level = {"random": 0.1, "beam": 0.3, "gpts": 0.11}
    runs = [
        figures(task, pfm=level[task.searcher] + 0.01 * task.seed, mfr=0.0)
        for task in bench.tasks()
        if (task.searcher, task.seed) != ("beam", 5)
    ]
    arms = {arm.searcher: arm for arm in compare(bench, runs)}
    assert not arms["random"].against
    beam = arms["beam"].against["pfm"]
    assert (beam.seeds, round(beam.difference.value, 9)) == (5, 0.2)
    assert beam.difference.low == pytest.approx(0.2)
    assert beam.p == pytest.approx(2 / 2**5)
    assert beam.p_holm == pytest.approx(beam.p)
    gpts = arms["gpts"].against["pfm"]
    assert (gpts.p, gpts.p_holm) == (pytest.approx(2 / 2**6), pytest.approx(4 / 2**6))
    assert "mfr" not in gpts.to_json()


def test_pfm_is_told_by_other_thresholds_from_the_same_runs(
    tmp_path: Path, here: None, no_plots: None
) -> None:
    adaptive = {"name": "level-set-adaptive", "label": "adaptive"}
    bench = made(tmp_path, searchers=["random", adaptive], seeds=2, thresholds=[1, 0.2])
    result = run_bench(bench, console=quiet())
    (table,) = [one for one in result.tables if "by threshold" in one.title]
    assert table.head == ("searcher", "τ = 0.2", "τ = 1")
    assert [row[0] for row in table.rows] == ["random", "adaptive"]
    assert table.rows[1][1:] == ("–", "–")
    runs = result.document["arms"][0]["runs"]
    for run in runs:
        assert run["pfm_at"]["0.2"] >= run["metrics"]["pfm"] >= run["pfm_at"]["1"]
    assert any(run["pfm_at"]["0.2"] > run["pfm_at"]["1"] for run in runs)
    assert "PFM % by threshold" in (tmp_path / "bench.html").read_text()
    without = run_bench(replace(bench, thresholds=()), report_only=True)
    assert not [one for one in without.tables if "by threshold" in one.title]


def test_medians_may_stand_for_runs(tmp_path: Path) -> None:
    values = {0: 1.0, 1: 2.0, 2: 30.0}
    one = against(values, dict.fromkeys(values, 1.0), "median")
    assert one is not None
    assert one.difference.value == 1.0
    bench = made(tmp_path, statistic="median", searchers="random", seeds=3)
    runs = [figures(task, pfm=values[task.seed] / 100) for task in bench.tasks()]
    (table,) = figure_tables(bench, compare(bench, runs))
    assert table.rows == (("random", "3", "2.0 [1.5, 16.0]"),)


def test_the_best_is_marked_whichever_way_is_better(tmp_path: Path) -> None:
    bench = made(tmp_path, searchers="random,beam", seeds=1)
    values = {"random": (0.2, 0.5), "beam": (0.3, 0.1)}
    runs = [
        figures(task, pfm_true=values[task.searcher][0], false_reports=values[task.searcher][1])
        for task in bench.tasks()
    ]
    (table,) = figure_tables(bench, compare(bench, runs))
    assert table.head == ("searcher", "runs", "true PFM %", "false reports %")
    assert table.best == {(1, 2), (1, 3)}


@pytest.mark.parametrize("envs", [[TOY], [TOY, VECTOR]])
def test_what_all_rows_have_in_common_is_left_out(tmp_path: Path, envs: list[str]) -> None:
    bench = made(tmp_path, envs=envs, searchers="random,beam")
    runs = [figures(task, mfr=0.1 + 0.1 * task.seed) for task in bench.tasks()]
    arms = compare(bench, runs)
    found = [*figure_tables(bench, arms), *comparison_tables(bench, arms), cost_table(arms)]
    assert len(found) == len(envs) + 2
    for table in found:
        assert {len(row) for row in table.rows} == {len(table.head)}
        assert table.left == table.head.index("searcher") + 1
    assert ("env" in found[-1].head) == (len(envs) > 1)
    assert "model" not in found[-1].head


def test_a_curve_counts_from_before_the_first_trial(tmp_path: Path) -> None:
    task = made(tmp_path).tasks()[0]
    runs = tuple(figures(task, calls) for calls in (6, 4))
    found = curve(Arm("e", "m", "s", tuple(replace(run, modes=None) for run in runs)))
    assert found["of"] == "failures"
    assert found["calls"] == [0, 1, 2, 3, 4], "as far as all runs reach"
    assert found["median"] == [0, 1, 2, 3, 4]


def test_long_and_strange_names_become_one_part_of_a_path() -> None:
    assert part("a b") == "a-b"
    long = [part("x" * 300 + end) for end in "ab"]
    assert long[0] != long[1]
    assert max(map(len, long)) <= 80


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def hostile_arms(out: Path, text: str) -> tuple[Bench, list[Arm]]:
    """A bench with `text` in everything that somebody else can write."""
    searchers = ["random", {"name": "beam", "label": f"beam{text}"}]
    env = {"id": TOY, "label": f"env{text}", "args": {"max_size": [2]}}
    names = {"models": [f"m{text}"], "searchers": searchers, "name": f"n{text}"}
    bench = made(out, envs=[env], **names)
    runs = [
        replace(figures(task, mfr=0.1 * task.seed + 0.1, div=0.5), notice=f"says{text}")
        for task in bench.tasks()
    ]
    return bench, compare(bench, runs)


def test_foreign_text_adds_nothing_to_the_page(tmp_path: Path, no_plots: None) -> None:
    shown = {}
    for name, text in (("plain", "xx"), ("hostile", HOSTILE)):
        bench, arms = hostile_arms(tmp_path, text)
        failed = {bench.tasks()[0]: f"why{text}"}
        shown[name] = pages.page(bench, arms, command=f"vlmfail{text}", failed=failed, unfinished=1)
    plain, hostile = Elements(shown["plain"]), Elements(shown["hostile"])
    assert plain.tags == hostile.tags
    assert sum("onerror=alert(1)" in word for word in hostile.words) > 10, "shown as text"
    assert "{{7*7}}" in "".join(hostile.words)


def test_foreign_text_is_drawn_as_it_is(tmp_path: Path) -> None:
    bench, arms = hostile_arms(tmp_path, f"{HOSTILE}$\\frac{{$\u4e00")
    for draw in (plots.curves, plots.boxes, plots.rate_against_diversity):
        tags = set(Elements(draw(bench, arms)).tags)
        assert (
            {"svg", "path"}
            <= tags
            <= {"svg", "path", "g", "use", "defs", "clippath", "rect", "style"}
        )


def test_foreign_text_is_no_markdown_and_obeys_no_terminal() -> None:
    table = Table("t[x](y)", ("a|b",), (("<img> *x* \x1b[31m",),), 1, best=frozenset({(0, 0)}))
    text = markdown([table], ["see <b>"], "a `b` `` c", "m")
    assert "\\<img\\>" in text
    assert "a\\|b" in text
    assert "\x1b" not in text
    assert text.startswith("``` a `b` `` c ``` (m)")
    file = io.StringIO()
    Console(file=file, force_terminal=False, width=80).print(terminal(table))
    assert "<img> *x*" in file.getvalue()
    assert "\x1b" not in file.getvalue()


def test_processes_do_several_runs_and_a_broken_one_ends_no_other(
    tmp_path: Path, no_plots: None
) -> None:
    bench = made(tmp_path, searchers=["random", f"{HERE}:Breaks"], seeds=2, budget=10)
    result = run_bench(bench, processes=1, console=quiet())
    assert sorted(task.seed for task in result.failed) == [0, 1]
    assert all("no idea left" in why for why in result.failed.values())
    assert result.document["runs"]["complete"] == 2


def test_a_process_that_was_ended_is_a_failed_run() -> None:
    class Gone:
        exitcode = -9

        def join(self, *_: Any) -> None:
            pass

    ours, theirs = processes.multiprocessing.Pipe()
    theirs.close()
    one = processes._Running("task", Gone(), ours, processes.Report(3))  # type: ignore[arg-type]
    assert not processes._listen(one, None)  # type: ignore[arg-type]
    assert processes._why(one) == "its process ended with code -9"
