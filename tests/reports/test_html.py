from __future__ import annotations

import pytest

from vlmfail.reports.html import render_report, view, write_report
from vlmfail.testing.made_runs import make_run

from .pages import HOSTILE, Page, run_with

SETS = [(["rain", "night"], "fffff"), (["fog"], "fffpp"), (["sun"], "ppppp"), (["ice"], "eeeee")]


def page(run) -> Page:
    return Page(render_report(run))


def test_shows_what_matters(tmp_path):
    run = make_run(tmp_path / "run", [*SETS, (["snow"], "fff")], pictures=True)
    shown = page(run)
    for text in (
        "3 failure modes in 5 evaluated candidates",
        "5/5 (0.57–1.00)",
        "3/3 (0.44–1.00)",
        "not re-run",
        "emergency stop",
        "continue ×5",
        "under reaction ×5",
        "A1: a cyclist stands 3.1 m ahead in the lane",
        "The road looks clear.",
        "vlmfail search VLMFail-Driving-v0 --searcher random --model made-model",
        "versions.vlmfail",
        "no data",  # the concept whose trials all errored
    ):
        assert text in shown.words, text
    assert sum(tag == "img" for tag, _ in shown.elements) == 9


@pytest.mark.parametrize(
    ("fresh", "text"),
    [
        ({}, "None has been re-run"),
        ({"fog": "f" * 20}, "The one that was tried on fresh scenes is confirmed."),
        ({"fog": "f" * 20, "sun": "p" * 20}, "Of the 2 that were tried on fresh scenes, 1 is"),
    ],
)
def test_headline_says_how_sure(tmp_path, fresh, text):
    sets = [(["fog"], "fffff"), (["sun"], "fffff")]
    adaptive = {"searcher": {"name": "s", "spec": "s", "fixed_trials": False}}
    later = [([key], letters) for key, letters in fresh.items()]
    run = make_run(tmp_path / "run", sets + later, config={**adaptive, "threshold": 0.1})
    assert text in page(run).words


def test_a_further_trial_of_an_adaptive_search_is_no_test(tmp_path):
    adaptive = {"searcher": {"name": "s", "spec": "s", "fixed_trials": False}}
    run = make_run(tmp_path / "run", [(["fog"], "fpf"), (["fog"], "f")], config=adaptive)
    shown = page(run)
    assert "None has been re-run on fresh scenes" in shown.words
    assert "none re-run" in shown.words
    assert "tried on fresh" not in shown.words


def test_the_share_of_failing_trials_is_not_passed_off_as_the_models_rate(tmp_path):
    shown = page(make_run(tmp_path / "run", [(["fog"], "fpppp")]))
    assert "Failing trials 20 % 1/5 · where this search looked; no rate of the model" in shown.words
    assert "Failure rate 20 %" not in shown.words


def test_loads_nothing_and_runs_nothing(tmp_path):
    shown = page(make_run(tmp_path / "run", SETS, pictures=True))
    assert all(url.startswith(("data:image/", "#")) for url in shown.urls)
    tags = {tag for tag, _ in shown.elements}
    assert not tags & {"script", "link", "iframe", "object", "embed", "form", "base"}
    assert not [name for _, names in shown.elements for name in names if name.startswith("on")]


def test_hostile_text_adds_no_element_and_no_attribute(tmp_path):
    plain, hostile = (page(run_with(tmp_path / n, t)) for n, t in (("p", ""), ("h", HOSTILE)))
    assert hostile.elements == plain.elements
    assert hostile.words.count("onerror=alert(1)") > 10, "shown as text"
    assert "8117*9001" in hostile.words
    assert str(8117 * 9001) not in hostile.words, "no template is evaluated"


def test_control_characters_do_not_reach_the_page(tmp_path):
    run = make_run(tmp_path / "run", SETS, trial={"reply": "a\x00b\x1b[31m\x07"})
    text = render_report(run)
    assert not [c for c in text if ord(c) < 32 and c not in "\n\t"]


@pytest.mark.parametrize("sets", [[], [(["a"], "eeeee")], [(["a"], "iiiii")]])
def test_without_data_says_so(tmp_path, sets):
    shown = page(make_run(tmp_path / "run", sets))
    assert "No data" in shown.words
    for name in ("PFM", "MFR", "Div", "Failing trials"):
        assert f"{name} no data" in shown.words


def test_a_single_evaluation(tmp_path):
    shown = page(make_run(tmp_path / "run", [(["a"], "p")]))
    assert "No failure mode" in shown.words
    assert "no proof of safety" in shown.words


@pytest.mark.parametrize("damage", [lambda p: p.unlink(), lambda p: p.write_bytes(b"\x89PNG\r\n")])
def test_missing_and_broken_pictures(tmp_path, damage):
    run = make_run(tmp_path / "run", [(["a"], "fffff")], pictures=True)
    damage(run.store.picture_path(run.records["a", 1].trial.picture))
    shown = page(run)
    assert "picture missing" in shown.words
    assert sum(tag == "img" for tag, _ in shown.elements) == 2


def test_partial_runs_name_the_way_on(tmp_path):
    run = make_run(tmp_path / "run", SETS, status="interrupted")
    assert f"vlmfail resume {tmp_path / 'run'}" in page(run).words


def test_many_modes_stay_a_small_page(tmp_path):
    run = make_run(tmp_path / "run", [([f"c{i}"], "fff") for i in range(230)], pictures=True)
    text = render_report(run)
    shown = Page(text)
    assert "Further failure modes" in shown.words
    assert "30 more are in the run" in shown.words
    assert len(text) < 2_000_000


def test_vector_candidates(tmp_path):
    run = make_run(tmp_path / "run", [(["a"], "fffff")])
    run.store._db.execute("UPDATE evaluations SET candidate = '[0.5, 0.25]'")
    assert "0.25" in page(run).words


@pytest.mark.parametrize(("vectors", "said"), [(True, "—"), (False, "0")])
def test_no_sure_region_is_not_called_no_failure_mode(tmp_path, vectors, said):
    run = make_run(tmp_path / "run", [(["a"], "ppppp")], config={"env": "VLMFail-PickUp-v0"})
    if vectors:
        run.store._db.execute("UPDATE evaluations SET candidate = '[0.5, 0.5, 0.5, 0.25, 0.5]'")
    facts = {name: value for name, value, _ in view(run)["facts"]}
    assert facts["Failure modes"] == said


def test_an_error_that_counts_is_shown_with_what_is_known_of_it(tmp_path):
    pose = {"object": "spoon", "x": -0.2, "y": 0.1, "standing": True, "yaw": 0.0}
    run = make_run(
        tmp_path / "run",
        [(["a"], "e")],
        config={"env": "VLMFail-PickUp-v0", "domain": "pickup", "count_as_fail": ["error"]},
        trial={"note": "the world: RuntimeError: gone"},
        record={"prompt": "", "scene": {"target": pose, "instruction": "pick spoon"}},
    )
    (strip,) = view(run)["episodes"]["shown"]
    assert (strip["reason"], strip["why"]) == ("error", "the world: RuntimeError: gone")
    assert (strip["instruction"], strip["steps"]) == ("pick spoon", 0)


def test_write_report_links_pictures_only_beside_them(tmp_path):
    run = make_run(tmp_path / "run", SETS, pictures=True)
    inside = write_report(run)
    assert inside == tmp_path / "run" / "report.html"
    links = [u for u in Page(inside.read_text("utf-8")).urls if u.startswith("images/")]
    assert links
    assert all((inside.parent / link).is_file() for link in links)
    elsewhere = write_report(run, tmp_path / "new" / "r.html")
    assert "images/" not in elsewhere.read_text("utf-8")


def test_the_same_run_gives_the_same_page(tmp_path):
    run = make_run(tmp_path / "run", SETS, pictures=True)
    assert render_report(run) == render_report(run)
