"""The study of policies, in a world of points: run, stop, go on, compare, report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail.agents import SearchAgent
from vlmfail.analysis.shares import Share
from vlmfail.benchmarks.policy_study import plan, plots
from vlmfail.benchmarks.policy_study.__main__ import main
from vlmfail.benchmarks.policy_study.comparison import Middle, compare
from vlmfail.benchmarks.policy_study.figures import RunFigures, read_run
from vlmfail.benchmarks.policy_study.object_only import ObjectOnly
from vlmfail.benchmarks.policy_study.plan import Study, keep_provenance, state_of
from vlmfail.benchmarks.policy_study.tables import markdown
from vlmfail.benchmarks.policy_study.work import perform
from vlmfail.benchmarks.studies.folders import Task
from vlmfail.core import UsageError
from vlmfail.envs.pickup.space import pickup_space
from vlmfail.envs.vector_space import Dimension, VectorSpace
from vlmfail.runs.run import RunData
from vlmfail.testing.agent_suite import AgentContractSuite
from vlmfail.testing.toy import toy_vector_space

PICKUP = Path(__file__).parents[1] / "envs" / "pickup"
EXPERT = f"{PICKUP / 'policies.py'}:Expert"
STILL = f"{PICKUP / 'policies.py'}:Still"
WORLD = f"{PICKUP / 'fake_world.py'}:FakeWorld"
SEARCHERS = ("random", "object-only")


def study(out: Path, **changes: Any) -> Study:
    env_args = {"world": WORLD, "max_steps": 20}
    base = Study(out, (EXPERT,), SEARCHERS, seeds=2, budget=6, env_args=env_args)
    return replace(base, **changes)


def words(out: Path, *more: str) -> list[str]:
    text = f"--models {EXPERT} --env-arg world={WORLD} --env-arg max_steps=20 --budget 6 --seeds 2"
    return ["--out", str(out), *text.split(), "--searchers", *SEARCHERS, *more]


class TestObjectOnly(AgentContractSuite):
    trials = 1

    def make_agent(self) -> SearchAgent[Any]:
        return ObjectOnly(dimension="animal")

    def make_space(self) -> VectorSpace:
        return toy_vector_space()

    def make_tiny_space(self) -> VectorSpace:
        return VectorSpace([Dimension("animal", "choice", ("dog", "cat")), Dimension("b", "flag")])

    def drive(self, *args: Any, **settings: Any) -> Any:
        # Where nothing is charged, the search ends after so many batches: small ones here.
        return super().drive(*args, **({"batch": 1} if "outcome" in settings else {}) | settings)


def test_the_worst_object_is_found_and_the_rest_is_random() -> None:
    class Spoons(AgentContractSuite):
        trials = 1

        def make_agent(self) -> SearchAgent[Any]:
            return ObjectOnly()

        def make_space(self) -> Any:
            return pickup_space()

        def rate(self, candidate: Any) -> float:
            bad = self._space.values(candidate)["object"] == "spoon"
            return 0.9 if bad and candidate[1] < 0.5 else 0.1

    run = Spoons().drive(budget=200, batch=1)
    values = [pickup_space().values(evaluation.candidate) for evaluation in run.evaluations]
    late = Counter(value["object"] for value in values[100:])
    assert late.most_common(1)[0][0] == "spoon"
    assert late["spoon"] > 60
    spoons = np.array([value["x"] for value in values if value["object"] == "spoon"])
    assert 0.35 < (spoons < -0.275).mean() < 0.65, "it learns of the object alone"


def test_a_space_without_that_choice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a choice named 'object'.*animal, height"):
        ObjectOnly().bind(toy_vector_space(), seed=0, trials=1, budget=10)


# -- runs -------------------------------------------------------------------------------------


def test_runs_go_seed_by_seed(tmp_path: Path) -> None:
    tasks = study(tmp_path, models=("a", "b")).tasks()
    assert [(t.seed, t.model, t.searcher) for t in tasks[:5]] == [
        (0, "a", "random"), (0, "a", "object-only"), (0, "b", "random"), (0, "b", "object-only"),
        (1, "a", "random"),
    ]  # fmt: skip
    assert len(tasks) == 8


@pytest.mark.parametrize("searcher", SEARCHERS)
def test_a_run_is_continued_where_it_was_stopped(tmp_path: Path, searcher: str) -> None:
    task = Task(EXPERT, searcher, 0)
    whole, halves = study(tmp_path / "whole"), study(tmp_path / "halves")
    perform(whole, task, lambda _: None)

    def stop(charged: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(halves, task, stop)
    assert 0 < state_of(halves, task).charged < 6
    assert read_run(halves, task) is None
    perform(halves, task, lambda _: None)
    assert state_of(halves, task) == state_of(whole, task) == plan.State(True, 6)

    def trials(made: Study) -> list[Any]:
        run = RunData.open(made.folder(task))
        return [record.trial for record in run.records.values()]

    assert trials(halves) == trials(whole)


def test_a_search_with_other_settings_is_told(tmp_path: Path) -> None:
    task, made = Task(EXPERT, "random", 0), study(tmp_path)
    perform(made, task, lambda _: None)
    for change, part in (
        ({"budget": 7}, "budget 6, this study has 7"),
        ({"batch": 2}, "batch 1, this study has 2"),
        ({"env_args": {"world": WORLD}}, "made with options"),
    ):
        with pytest.raises(UsageError, match=part):
            state_of(replace(made, **change), task)


# -- provenance -------------------------------------------------------------------------------


def test_a_study_goes_on_with_the_code_and_the_weights_that_began_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_provenance(study(tmp_path))
    keep_provenance(study(tmp_path))
    before = (tmp_path / plan.PROVENANCE).read_bytes()
    with monkeypatch.context() as changed:
        changed.setattr(plan, "identity", lambda policy: {"weights": "others"})
        with pytest.raises(UsageError, match=r"other code or weights \(.*Expert\)"):
            keep_provenance(study(tmp_path))
    with monkeypatch.context() as changed:
        changed.setattr(plan, "drawing_digest", lambda: "another")
        with pytest.raises(UsageError, match=r"\(pictures\).*choose another --out"):
            keep_provenance(study(tmp_path))
    assert (tmp_path / plan.PROVENANCE).read_bytes() == before
    keep_provenance(study(tmp_path, models=(STILL,)))
    assert list(json.loads((tmp_path / plan.PROVENANCE).read_text())["models"]) == [EXPERT, STILL]
    keep_provenance(study(tmp_path))


def test_the_digest_covers_code_data_and_weights(tmp_path: Path) -> None:
    for name in ("pickup/arm.py", "pickup/arm.json", "weights/tiny-vla.onnx", "weights/other.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("before")
    patterns = ("pickup/**/*.*", "weights/tiny-vla*")
    first = plan._digest(tmp_path, *patterns)
    (tmp_path / "weights/other.onnx").write_text("after")
    assert plan._digest(tmp_path, *patterns) == first
    seen = {first}
    for name in ("pickup/arm.py", "pickup/arm.json", "weights/tiny-vla.onnx"):
        (tmp_path / name).write_text("after")
        seen.add(plan._digest(tmp_path, *patterns))
    assert len(seen) == 4


@pytest.mark.parametrize("data", [b"null", b"[]", b'{"code": 1}', b'{"pic'])
def test_damaged_provenance_is_told_and_kept(tmp_path: Path, data: bytes) -> None:
    (tmp_path / plan.PROVENANCE).write_bytes(data)
    with pytest.raises(UsageError, match=r"study\.json"):
        keep_provenance(study(tmp_path))
    assert (tmp_path / plan.PROVENANCE).read_bytes() == data


# -- figures ----------------------------------------------------------------------------------


def figures(searcher: str, seed: int, objects: dict[str, tuple[int, int]]) -> RunFigures:
    shares = {name: Share(name, *counts) for name, counts in objects.items()}
    failures, n = (sum(counts[i] for counts in objects.values()) for i in (0, 1))
    metrics = {"fr": failures / n, "tc": 0.5, "tcf": 0.25 + 0.05 * seed, "foc": 1.0}
    curve = tuple(int(k * failures / n) for k in range(1, n + 1))
    return RunFigures(
        Task("m", searcher, seed), metrics, {"objects": 2}, shares, curve, {"slipped": failures},
        {"fail": failures, "pass": n - failures}, n,
        {"total": 1.0, "render": 1.0, "model": 1.0, "search": 1.0}, {"name": "m"},
    )  # fmt: skip


def by_hand() -> list[RunFigures]:
    return [
        *(figures("random", s, {"can": (1, 5), "spoon": (3 + s % 2, 5)}) for s in range(4)),
        *(figures("object-only", s, {"can": (0, 1), "spoon": (6, 9)}) for s in range(4)),
        *(figures("weighted-rf", s, {"can": (2, 4), "spoon": (6, 6)}) for s in range(4)),
    ]


def test_gains_by_hand() -> None:
    arms = {arm.searcher: arm for arm in compare(by_hand(), ("random",))}
    assert arms["random"].middle("fr") == Middle(0.45, 0.4, 0.5, 4)
    gain = arms["weighted-rf"].gains["fr", "random"]
    assert gain.medians == pytest.approx(0.35)
    assert gain.paired is not None
    assert gain.paired.seeds == 4
    assert gain.paired.difference.value == pytest.approx(0.35)
    assert gain.paired.difference.low >= 0.3
    assert gain.paired.p == pytest.approx(2 / 16), "all signs alike, both ways"
    assert gain.paired.p_holm == pytest.approx(2 * 2 / 16), "of two comparisons in the table"
    assert arms["random"].gains.keys() == {(m, "object-only") for m in ("fr", "tc", "tcf", "foc")}
    beyond = arms["weighted-rf"].gains["fr", "object-only"]
    assert beyond.medians == pytest.approx(0.2)


def test_what_the_objects_explain_by_hand() -> None:
    arms = {arm.searcher: arm for arm in compare(by_hand(), ("random",))}
    # Random: can 4 of 20, spoon 14 of 20. Object-only has 10 % cans, weighted-rf 40 %.
    assert arms["random"].mix == pytest.approx(18 / 40)
    assert arms["object-only"].mix == pytest.approx(0.1 * 0.2 + 0.9 * 0.7)
    assert arms["weighted-rf"].mix == pytest.approx(0.4 * 0.2 + 0.6 * 0.7)
    text = markdown(study(Path("x")), list(arms.values()), command="c")
    [line] = [line for line in text.splitlines() if line.startswith("| m | weighted-rf | 80.0 |")]
    assert line.split(" | ")[3:6] == ["+35.0", "+5.0", "+30.0"]


def test_orientation_stands_beside_the_objects() -> None:
    shares = {
        "random": {"lying": (1, 4), "standing": (3, 6)},
        "object-only": {"lying": (2, 8), "standing": (2, 2)},
        "weighted-rf": {"lying": (4, 10)},
    }
    runs = [
        replace(run, orientations={n: Share(n, *c) for n, c in shares[run.task.searcher].items()})
        for run in by_hand()
    ]
    arms = compare(runs, ("random",))
    text = markdown(study(Path("x")), arms, command="c")
    _, _, table = text.partition("### FR by orientation")
    lying, standing = table.split("\n| lying ")[1].splitlines()[:2]
    assert lying.count("% of scenes") == 3
    assert "25.0 % (4/16), 40 % of scenes" in lying
    assert standing.count("% of scenes") == 2
    assert "60 % of scenes" in standing
    assert "20 % of scenes" in standing
    assert arms[0].to_json()["fr_by_orientation"]["standing"]["n"] == 24


def test_the_head_says_how_many_candidates_are_judged() -> None:
    knobs = {"random": {}, "object-only": {"candidates": 10},
             "weighted-rf": {"candidates": 10, "rounds": 7}}  # fmt: skip
    runs = [replace(run, knobs=knobs[run.task.searcher]) for run in by_hand()]
    text = markdown(study(Path("x")), compare(runs, ("random",)), command="c")
    assert "judges for a scene: 10 (object-only); up to 70 (weighted-rf)." in text
    assert "judges for a scene" not in markdown(
        study(Path("x")), compare(by_hand(), ("random",)), command="c"
    )


def test_two_baselines_are_compared_once() -> None:
    runs = [figures(name, s, {"can": (s, 5)}) for name in ("random", "fscs-art") for s in (1, 2)]
    arms = compare(runs)
    assert [sorted(other for metric, other in arm.gains if metric == "fr") for arm in arms] == [
        [], ["random"],
    ]  # fmt: skip


def test_an_object_that_random_never_met_explains_nothing() -> None:
    runs = [figures("random", 0, {"can": (1, 5)}), figures("x", 0, {"can": (1, 5), "cup": (1, 1)})]
    assert [arm.mix for arm in compare(runs, ("random",))] == [pytest.approx(0.2), None]


def test_verdict_names_what_is_below_random() -> None:
    text = markdown(study(Path("x")), compare(by_hand(), ("random",)), command="c")
    assert "weighted-rf finds +35.0 points FR over random, which is the 14 or more" in text
    assert "FOC +0.0 points, neither below" in text
    worse = [
        replace(run, metrics={**run.metrics, "fr": 0.5, "tcf": 0.1})
        if run.task.searcher == "weighted-rf"
        else run
        for run in by_hand()
    ]
    text = markdown(study(Path("x")), compare(worse, ("random",)), command="c")
    assert "+5.0 points FR over random, which is not the 14" in text
    assert "points, TCF below random's" in text


def test_plots_are_the_same_bytes_each_time() -> None:
    arms = compare(by_hand(), ("random",))
    first, again = (
        {**plots.files(plots.cumulative_failures(arms), "failures"),
         **plots.files(plots.boxes(arms), "boxes")}
        for _ in range(2)
    )  # fmt: skip
    assert first == again
    assert sorted(first) == ["boxes.png", "boxes.svg", "failures.png", "failures.svg"]
    assert all(data.startswith(b"<svg") for name, data in first.items() if name.endswith("svg"))


def test_curves_show_median_and_quartiles() -> None:
    runs = [figures("random", seed, {"can": (failures, 10)}) for seed, failures in
            enumerate((0, 2, 4, 8, 10))]  # fmt: skip
    [axes] = plots.cumulative_failures(compare(runs, ("random",))).axes
    [line] = axes.get_lines()
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 0)
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (10, 4)
    band = axes.collections[0].get_paths()[0].vertices
    assert sorted(set(band[band[:, 0] == 10][:, 1])) == [2, 8]


# -- command ----------------------------------------------------------------------------------


def test_command_goes_on_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = study(tmp_path)
    for searcher in SEARCHERS:
        perform(made, Task(EXPERT, searcher, 0), lambda _: None)
    assert main(words(tmp_path, "--report-only", "--json")) == 0
    captured = capsys.readouterr()
    assert "2 runs of the study are not over" in captured.err
    first = json.loads(captured.out)
    assert [arm["seeds"] for arm in first["arms"]] == [[0], [0]]
    for searcher in SEARCHERS:
        perform(made, Task(EXPERT, searcher, 1), lambda _: None)
    assert main(words(tmp_path, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((tmp_path / "results.json").read_text())
    assert found["coverage"] == {"grid": [10, 10], "bins": 100, "source": "object", "area": "table"}
    for arm, before in zip(found["arms"], first["arms"], strict=True):
        assert arm["runs"][0] == before["runs"][0]
        for one in arm["runs"]:
            objects = one["fr_by_object"].values()
            assert one["fr"] == sum(o["failures"] for o in objects) / 6
            assert sum(o["n"] for o in one["fr_by_orientation"].values()) == 6
            assert one["cumulative_failures"][-1] == sum(o["failures"] for o in objects)
            assert one["fr_by_object"].get("spoon", {"rate": 1.0})["rate"] == 1.0
    text = (tmp_path / "table.md").read_text()
    assert "vlmfail.benchmarks.policy_study --out" in text
    assert "cores" in text.splitlines()[0]
    assert "share of 100 bins (10 x 10) of the table that the object visited" in text
    for number in range(2, 6):
        assert f"(FATE-VLA Table {number})" in text
    assert "not over" not in text
    for name in ("boxes.png", "boxes.svg", "failures.png", "failures.svg"):
        assert (tmp_path / name).stat().st_size > 1000
    assert main([*words(tmp_path, "--report-only"), "--grid", "5", "4", "--source", "gripper"]) == 0
    assert "share of 20 bins (5 x 4) of the table that the gripper" in capsys.readouterr().out


@pytest.mark.slow
def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    arguments = words(tmp_path, "--seeds", "1", "--budget", "40", "--processes", "1")
    command = [sys.executable, "-m", "vlmfail.benchmarks.policy_study", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    end = time.monotonic() + 120
    while not list(tmp_path.glob("*/*/0/trials.sqlite")) and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2/2 runs" in done.stdout
    document = json.loads((tmp_path / "results.json").read_text())
    assert [run["calls"] for arm in document["arms"] for run in arm["runs"]] == [40, 40]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (["--env", "VLMFail-Driving-v0"], "plays no episodes"),
        (["--models", "tiny-vlm"], "does not act"),
        (["--env-arg", "world"], "expected KEY=VALUE"),
        (["--env-arg", "budget=3"], "none of the world's options"),
        (["--env-arg", "gravity=3"], "gravity"),
        (["--env-arg", "picture=" + "[" * 100_000], "picture: expected width and height"),
        (["--env-arg", "time_limit=Infinity"], "time_limit"),
        (["--searchers", "no_such_module:Name"], "no_such_module"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], part: str
) -> None:
    out = tmp_path / "study"
    given = ["--out", str(out), "--models", EXPERT, "--env-arg", f"world={WORLD}"]
    if "--env" in change:
        given = given[:2]
    assert main([*given, "--searchers", "random", *change]) == 2
    assert part in capsys.readouterr().err
    assert not out.exists()


def test_a_report_of_nothing_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(tmp_path / "typo", "--report-only")) == 2
    assert "holds no run" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()
    for name in ("n" * 300, "n\0"):
        assert main(["--out", name, "--searchers", "random"]) == 2
        assert "can be no folder" in capsys.readouterr().err
    for wrong in (["--searchers", "luck"], ["--seeds", "0"], ["--grid", "0", "5"]):
        with pytest.raises(SystemExit):
            main([*words(tmp_path), *wrong])
