from __future__ import annotations

import json
import subprocess
import sys

import pytest

import vlmfail


def test_version_and_help(cli):
    assert cli("--version").out.strip() == f"vlmfail {vlmfail.__version__}"
    shown = cli()
    assert shown.code == 0
    for verb in (
        "list",
        "preview",
        "search",
        "resume",
        "replay",
        "runs",
        "report",
        "estimate",
        "doctor",
        "serve",
    ):
        assert verb in shown.out
        help_text = cli(verb, "--help")
        assert help_text.code == 0
        assert f"vlmfail {verb}" in " ".join(help_text.out.split())


def test_search_prints_the_findings_and_writes_the_run(search, tmp_path):
    shown = search("--out", "mine", "--report")
    assert shown.code == 0
    assert "failure mode" in shown.out
    assert "a model that talks" not in shown.out
    assert (tmp_path / "mine" / "report.html").is_file()
    config = json.loads((tmp_path / "mine" / "run.json").read_text())
    assert config["command"].startswith("vlmfail search world.py:Small -s random")


def test_search_json_is_one_strict_object(search):
    shown = search("--json")
    data = shown.json
    assert shown.code == 0
    assert {
        "env", "searcher", "model", "seed", "calls", "evaluations", "outcomes", "metrics",
        "failure_modes", "spent", "seconds", "run",
    } <= set(data)  # fmt: skip
    assert set(data["seconds"]) == {"total", "render", "model", "search"}
    assert set(data["spent"]) == {"requests", "tokens", "dollars"}
    assert data["calls"] == data["outcomes"]["pass"] + data["outcomes"]["fail"]
    assert data["failure_modes"]
    assert all("car" in mode["candidate"] for mode in data["failure_modes"])
    assert "a model that talks" in shown.err


def test_default_folders_are_named_and_numbered(search, tmp_path):
    names = [search("--json", "--seed", 4).json["run"] for _ in range(2)]
    assert names == ["runs/world-small-random-my_model-careful-s4", f"{names[0]}-2"]
    listed = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert listed == [name.removeprefix("runs/") for name in names]


def test_fail_on_modes_re_runs_and_exits_with_a_finding(search):
    shown = search("--fail-on-modes", 1, "--json")
    assert shown.code == 1
    data = shown.json
    modes = data["failure_modes"]
    assert modes[0]["confirmed"] is True
    assert modes[0]["fresh"]["n"] == 20
    assert data["calls"] <= 30, "re-runs are outside the budget"
    assert data["metrics"]["rerun_mean"] == 1.0
    assert search("--fail-on-modes", 100).code == 0
    assert search("--fail-on-modes", 0).code == 2


def test_confirm_re_runs_without_the_gate_and_is_offered_after_a_search(search, cli):
    shown = search("--out", "r")
    assert "try them on fresh scenes: vlmfail resume r --confirm" in shown.out
    shown = cli("resume", "r", "--confirm", "--json")
    assert shown.code == 0
    assert shown.json["failure_modes"][0]["confirmed"] is True
    assert "try them" not in cli("resume", "r").out


def test_runs_counts_the_trials_of_an_unfinished_batch(search, cli, tmp_path):
    import sqlite3

    search("--out", "runs/r")
    with sqlite3.connect(tmp_path / "runs" / "r" / "trials.sqlite") as db:
        (told,) = db.execute("SELECT indices FROM evaluations ORDER BY step DESC").fetchone()
        db.execute("DELETE FROM evaluations WHERE step = (SELECT MAX(step) FROM evaluations)")
    row = cli("runs", "--json").json["runs"][0]
    assert row["unfinished"] == len(json.loads(told)) > 0
    assert f"(+{row['unfinished']})" in cli("runs").out


def test_without_the_gate_nothing_is_re_run(search):
    assert {mode["confirmed"] for mode in search("--json").json["failure_modes"]} == {None}


def test_the_same_out_continues_and_another_search_is_refused(search):
    first = search("--out", "mine", "--json").json
    again = search("--out", "mine", "--json")
    assert again.code == 0
    assert again.json["failure_modes"] == first["failure_modes"]
    refused = search("--out", "mine", "--seed", 9)
    assert refused.code == 2
    assert "seed" in refused.err


def test_resume_of_a_finished_run_is_fine(search, cli):
    first = search("--out", "mine", "--json").json
    again = cli("resume", "mine", "--json")
    assert again.code == 0
    assert again.json["failure_modes"] == first["failure_modes"]


def test_an_interrupted_search_leaves_a_run_and_says_how_to_go_on(cli):
    shown = cli(
        "search", "world.py:Small", "-s", "random", "-m", "my_model.py:interrupts", "--out", "r",
        "--json",
    )  # fmt: skip
    assert shown.code == 130
    assert shown.json["status"] == "interrupted"
    assert "interrupted before the first trial was stored" in shown.err
    assert "vlmfail resume r" in shown.err
    assert "No data" in cli("report", "r").out


def test_trials_of_a_batch_that_never_ended_are_told_and_replayed(cli):
    words = ("search", "world.py:Small", "-s", "random", "-m", "my_model.py:Tires", "--no-report")
    shown = cli(*words, "--trials", 3, "--out", "r")
    assert shown.code == 130
    assert "interrupted: 9 trials are stored (all of a batch that has not ended" in shown.err
    assert "none is run again; go on with: vlmfail resume r" in shown.err
    assert "0 of 1000 trials and 9 of a batch that has not ended, interrupted" in shown.out
    stored = [cli("replay", "r", n, "--rerender", "--json").json for n in range(1, 10)]
    assert all(one["rerender"]["same"] for one in stored)
    places = [(one["key"], one["index"]) for one in stored]
    assert len(set(places)) == 9
    by_key = cli("replay", "r", f"{places[8][0]}#{places[8][1]}", "--rerender", "--json")
    assert by_key.json == stored[8]
    missing = cli("replay", "r", 10)
    assert (missing.code, missing.out) == (2, "")
    assert "r holds 9, from 1" in missing.err
    again = cli("resume", "r", "--no-report")  # this model is new and answers nine more
    assert again.code == 130
    assert "interrupted: 18 trials are stored" in again.err


def test_an_interruption_after_the_search_says_what_is_kept(search, cli, monkeypatch):
    import vlmfail

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(vlmfail.Run, "confirm", stop)
    shown = search("--out", "r", "--confirm", "--json")
    assert (shown.code, shown.out) == (130, "")
    assert "every trial is stored" in shown.err
    assert "vlmfail resume r --confirm" in shown.err
    monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_warning_is_one_line_without_a_path(cli, tmp_path, workers):
    world = (tmp_path / "world.py").read_text()
    world = world.replace(
        "        return Scene(",
        "        warnings.warn('lamps\\nflicker \\x1b[31m')\n"
        "        warnings.warn('too dark', RuntimeWarning)\n"
        "        return Scene(",
    )
    (tmp_path / "world.py").write_text(f"import warnings\n{world}")
    words = "search world.py:Small -s random -m my_model.py:careful --budget 3 --trials 1 --json"
    done = subprocess.run(
        [sys.executable, "-m", "vlmfail", *words.split(), "--no-report", "--workers", str(workers)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = set(done.stderr.splitlines()) - {"a model that talks"}
    assert lines == {"warning: lamps flicker [31m", "warning: too dark (RuntimeWarning)"}
    assert json.loads(done.stdout)["calls"] == 3


def test_errors_are_counted_beside_and_can_be_retried(cli):
    words = (
        "search",
        "world.py:Small",
        "-s",
        "random",
        "-m",
        "my_model.py:broken",
        "--budget",
        6,
        "--no-report",
    )
    data = cli(*words, "--out", "r", "--json", "--fail-on-modes", 1).json
    assert data["outcomes"]["error"] == 6
    assert data["metrics"]["mfr"] is None
    retried = cli("resume", "r", "--retry-errors", "--fork", "again", "--json")
    assert retried.code == 0
    assert retried.json["run"] == "again"


def test_replay_by_number_and_by_key(search, cli):
    search("--out", "mine")
    first = cli("replay", "mine", 1, "--json").json
    same = cli("replay", "mine", f"{first['key']}#{first['index']}", "--json", "--rerender")
    assert same.code == 0
    assert same.json.pop("rerender")["same"] is True
    assert same.json["reply"] == first["reply"]
    shown = cli("replay", "mine", 1)
    assert "ANSWER: " in shown.out
    assert "--- request ---" in shown.out
    for wrong in ("0", "9999", "x", "car#99", "unknown#0"):
        failed = cli("replay", "mine", wrong)
        assert (failed.code, failed.out) == (2, "")


def test_replay_finds_a_set_in_any_order(search, cli):
    modes = search("--out", "mine", "--json", "--budget", 60).json["failure_modes"]
    key = next(mode["key"] for mode in modes if "+" in mode["key"])
    turned = "+".join(reversed(key.split("+")))
    assert cli("replay", "mine", f"{turned}#0", "--json").json["key"] == key


def test_rerender_notices_a_changed_world(search, cli, tmp_path, monkeypatch):
    search("--out", "mine")
    world = tmp_path / "world.py"
    world.write_text(world.read_text().replace("(6, 8, 3)", "(8, 8, 3)"))
    for name in [name for name in sys.modules if name.startswith("vlmfail_plugin_world")]:
        monkeypatch.delitem(sys.modules, name)
    shown = cli("replay", "mine", 1, "--rerender")
    assert shown.code == 1
    assert "another picture" in shown.out


def test_runs_lists_good_and_unreadable_ones(search, cli, tmp_path):
    assert "no runs" in cli("runs").out
    run = search("--json").json["run"]
    broken = tmp_path / "runs" / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    (broken / "trials.sqlite").write_text("no database")
    rows = {row["run"]: row for row in cli("runs", "--json").json["runs"]}
    assert rows[run]["status"] == "space exhausted"
    assert rows[run]["failure_modes"] > 0
    assert rows["runs/broken"]["status"] == "unreadable"
    assert run in cli("runs").out


def test_report_writes_elsewhere(search, cli, tmp_path):
    search("--out", "mine")
    assert not (tmp_path / "mine" / "report.html").exists()
    assert cli("report", "mine", "--out", "there/page.html").code == 0
    assert "failure mode" in (tmp_path / "there" / "page.html").read_text("utf-8")


def test_preview_draws_a_scene_and_a_sheet(cli, tmp_path):
    shown = cli("preview", "world.py:Small", "--concepts", "night, car_0")
    assert shown.code == 0
    assert "stop it is" in shown.out
    assert (tmp_path / "preview.png").read_bytes().startswith(b"\x89PNG")
    sheet = cli("preview", "world.py:Small", "--grid", "--out", "sheet.png", "--json")
    assert len(sheet.json["scenes"]) == 9
    places = [(scene["key"], scene["index"]) for scene in sheet.json["scenes"]]
    assert len(set(places)) == 9, "no scene twice"
    assert len({key for key, _ in places}) > 1
    assert (tmp_path / "sheet.png").is_file()
    assert "nothing to see in fog alone" in cli("preview", "world.py:Small", "--concepts=fog").err


def test_list_names_everything(cli):
    names = cli("list", "--json").json
    assert "VLMFail-Driving-v0" in names["envs"]
    assert "random" in names["searchers"]
    assert "tiny-vlm" in names["models"]
    assert "embree" in names["renderers"]
    assert "openai-image:MODEL[@URL]" in names["renderers"]
    assert "VLMFail-Indoor-v0" in names["envs"]
    assert names["descriptions"]["envs"]["VLMFail-Driving-v0"].endswith("(Revelio)")
    assert all(names["descriptions"]["searchers"].values())
    concepts = cli("list", "--concepts", "VLMFail-Driving-v0", "--json").json["concepts"]
    assert len(concepts["VLMFail-Driving-v0"]) == 30
    assert "cyclist" in cli("list", "--concepts").out


DRIVING = ("search", "VLMFail-Driving-v0", "-m", "my_model.py:careful")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("search", "VLMFail-Drivng-v0"), "did you mean VLMFail-Driving-v0"),
        ((*DRIVING, "-s", "gtps"), "did you mean gpts?"),
        (("search", "VLMFail-Driving-v0", "-m", "tiny-vml"), "did you mean tiny-vlm"),
        (("search", "world.py:Small", "-m", "no.py:x"), "no file"),
        (("search", "world.py:Small", "-m", "my_model.py:carefull"), "did you mean careful?"),
        ((*DRIVING, "--env-arg", "max_sise=2"), "did you mean max_size"),
        ((*DRIVING, "--env-arg", "max_size=999"), "max_size"),
        ((*DRIVING, "--env-arg", "nothing"), "KEY=VALUE"),
        ((*DRIVING, "--budget", "0"), "budget"),
        ((*DRIVING, "--budget", "many"), "--budget"),
        ((*DRIVING, "--seed", "-1"), "seed"),
        ((*DRIVING, "--threshold", "7"), "threshold"),
        ((*DRIVING, "--out", "my_model.py"), "my_model.py is a file"),
        ((*DRIVING, "--log", "wandbb"), "logger"),
        (("preview", "VLMFail-Driving-v0", "--concepts", "cyclst"), "did you mean cyclist?"),
        (("preview", "VLMFail-Driving-v0", "--concepts", "near"), "rule D4"),
        (("list", "--concepts", "VLMFail-Drivng-v0"), "did you mean"),
        (("resume", "nowhere"), "vlmfail runs"),
        (("report", "nowhere"), "vlmfail runs"),
        (("replay", "nowhere", "1"), "vlmfail runs"),
        (("runs", "my_model.py"), "is a file"),
        (("search",), "env"),
        (("nosuch",), "nosuch"),
        (("search", "VLMFail-Driving-v0", "--bogus"), "--bogus"),
    ],
)
def test_a_mistake_is_one_clear_line(cli, tmp_path, words, hint):
    before = sorted(path.name for path in tmp_path.iterdir())
    shown = cli(*words)
    assert shown.code == 2
    assert shown.out == ""
    assert shown.err.startswith("vlmfail: ")
    assert shown.err.count("\n") == 1
    assert hint in shown.err
    left = sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__")
    assert left == before, "a mistake leaves nothing behind"


def test_an_agent_that_crashes_is_not_a_finding(cli, tmp_path):
    (tmp_path / "agent.py").write_text(
        "from vlmfail.agents import SearchAgent\n"
        "class Crash(SearchAgent):\n"
        "    def ask(self, n): return 1 // 0\n"
        "    def tell(self, evaluations): pass\n"
    )
    shown = cli("search", "world.py:Small", "-m", "my_model.py:careful", "-s", "agent.py:Crash")
    assert shown.code == 3
    assert "ZeroDivisionError" in shown.err.splitlines()[-1]


def test_the_command_is_light():
    code = (
        "import sys, vlmfail.cli.main; "
        "heavy = {'torch', 'scipy', 'sklearn', 'matplotlib', 'PIL', 'embreex', 'onnxruntime'}; "
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_as_a_module_stdout_holds_the_object_alone(cli, tmp_path):
    command = [
        sys.executable, "-m", "vlmfail", "search", "world.py:Small", "-s", "random",
        "-m", "my_model.py:careful", "--budget", "6", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["calls"] == 6
