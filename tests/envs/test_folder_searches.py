"""Searches over the user's own pictures: each is one observation, and no other sets are tried."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from vlmfail import resume, search
from vlmfail.agents import SearchAgent
from vlmfail.analysis import suspicions
from vlmfail.analysis.estimate import estimate_run
from vlmfail.analysis.fresh import rerun_indices
from vlmfail.analysis.summary import summarise
from vlmfail.core import InvalidCandidateError, Outcome
from vlmfail.envs.concept_slots import ConceptSlots
from vlmfail.envs.pictured_sets import candidate_space
from vlmfail.envs.registry import make_domain
from vlmfail.models.registry import make_model
from vlmfail.reports.wording import confirmation, headline
from vlmfail.testing.picture_provider import noise_png

ENV = "VLMFail-Indoor-v0"

PICTURES = {
    "knife_edge": 1,
    "wet_floor": 12,
    "glass_upright+coffee_spill+hot_beverage": 2,
    "smoke": 3,  # breaks a rule of the domain
}

MODEL = """
from pathlib import Path

def wrong(images, prompt, *, seed):
    done = len(Path("asked").read_text().split()) if Path("asked").exists() else 0
    if Path("cut").exists() and done >= int(Path("cut").read_text()):
        raise KeyboardInterrupt
    with open("asked", "a") as file:
        file.write(images[0].sha256 + chr(10))
    safe = next(line for line in prompt.splitlines() if line[1:5] == ") No")
    return f"ANSWER: {safe[0]}"
"""

pytestmark = pytest.mark.filterwarnings("ignore:.*no search proposes")


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    """The folder; `knife_edge` holds four copies of its one picture."""
    monkeypatch.setenv("VLMFAIL_CACHE", str(tmp_path / "caches"))
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    for name, number in PICTURES.items():
        folder = Path("mine") / name
        folder.mkdir(parents=True)
        for i in range(number):
            (folder / f"{i}.png").write_bytes(noise_png(f"{name} {i}"))
    for i in range(1, 5):
        copy = Path("mine/knife_edge") / f"{i}.png"
        copy.write_bytes(Path("mine/knife_edge/0.png").read_bytes())
    return Path("mine")


def run(agent="random", out="run", **more):
    settings = {"model": "model.py:wrong", "budget": 100, "trials": 5, "renderer": "folder:mine"}
    return search(ENV, agent, out=out, **{**settings, **more})


def asked():
    return Path("asked").read_text().split()


@pytest.mark.parametrize("agent", ["random", "beam", "gpts"])
def test_only_the_folders_sets_are_proposed_and_each_picture_counts_once(agent):
    found = run(agent)
    data = summarise(found)
    assert set(found.candidates) == {
        "knife_edge", "wet_floor", "glass_upright+coffee_spill+hot_beverage"
    }  # fmt: skip
    assert found.status == "space exhausted"
    assert data["evaluations"] == 3
    assert found.calls == len(asked()) == len(set(asked())) == 1 + 5 + 2
    knife = found.candidates["knife_edge"].total
    assert (knife.n, knife.charged, knife.failures) == (1, 1, 1)
    (unmade,) = [t for t in knife.trials if t.outcome is Outcome.INVALID_SCENE]
    assert "the folder holds 1 picture of this set" in unmade.note
    assert data["outcomes"]["invalid_scene"] == 2, "one record says it for a set"
    assert data["short_of_pictures"] == 2
    said = headline(found, found.failure_modes)
    assert "in 3 evaluated candidates" in said
    assert "All 3 sets that have pictures were evaluated." in said
    assert "2 of 3 evaluated sets have fewer different pictures than the 5 trials" in said


def test_enough_pictures_say_nothing():
    for name in ("knife_edge", "glass_upright+coffee_spill+hot_beverage"):
        for i in range(8):
            (Path("mine") / name / f"more{i}.png").write_bytes(noise_png(f"{name} more {i}"))
    found = run(budget=10, concurrency=3)
    assert found.calls == 10
    assert summarise(found)["short_of_pictures"] == 0
    assert "different pictures" not in headline(found, found.failure_modes)


def test_another_seed_deals_otherwise_and_the_same_alike():
    def deal(out, seed):
        found = run(out=out, seed=seed)
        trials = found.candidates["wet_floor"].total.trials
        return [trial.picture for trial in trials]

    first = deal("a", 0)
    assert deal("b", 0) == first
    assert any(deal(f"c{seed}", seed) != first for seed in (1, 2, 3))


def test_fresh_trials_are_unseen_pictures_and_none_is_used_again():
    found = run().confirm(trials=20)
    fresh = {mode.key: mode for mode in [*found.failure_modes, *suspicions(found)]}
    wet = fresh["wet_floor"]
    assert wet.fresh.n == 12 - 5
    assert wet.confirmed is True
    shown = [t.picture for t in (*wet.trials, *wet.fresh.trials) if t.picture]
    assert len(shown) == len(set(shown)) == 12
    knife = fresh["knife_edge"]
    assert knife.fresh.n == 0
    assert knife.confirmed is None
    assert confirmation(knife) == "no picture left"
    assert knife.to_json()["fresh"]["n"] == 0
    assert len(asked()) == len(set(asked()))
    before, listed = len(found.records), rerun_indices(found)
    again = found.confirm(trials=20)
    assert len(again.records) == before
    assert rerun_indices(again) == listed


def test_when_no_mode_has_a_picture_left_the_headline_says_so():
    for i in range(5, 12):
        (Path("mine/wet_floor") / f"{i}.png").unlink()
    found = run().confirm()
    assert "None can be tried on fresh pictures" in headline(found, found.failure_modes)
    assert len(asked()) == 1 + 5 + 2


def test_pictures_that_are_added_later_are_fresh_and_the_old_ones_are_not():
    found = run()
    for i in range(30):
        (Path("mine/knife_edge") / f"new{i}.png").write_bytes(noise_png(f"new {i}"))
    again = {mode.key: mode for mode in found.confirm().failure_modes}["knife_edge"]
    old = {trial.picture for trial in again.trials if trial.picture}
    new = [trial.picture for trial in again.fresh.trials if trial.picture]
    assert again.fresh.n == 20
    assert not old & set(new)
    assert len(new) == len(set(new))


@pytest.mark.parametrize("cut", [1, 2, 4, 7])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_killed_run_goes_on_to_the_same(cut, concurrency):
    whole = run(out="whole", batch=2)
    Path("asked").write_text("")
    Path("cut").write_text(str(cut))
    stopped = run(out="stopped", batch=2, concurrency=concurrency)
    assert stopped.status == "interrupted"
    stopped.close()
    Path("cut").unlink()
    found = resume("stopped", concurrency=concurrency)
    assert found.status == "space exhausted"
    assert len(asked()) == len(set(asked())) == found.calls
    told = [(e.key, [(t.index, t.outcome, t.picture) for t in e.new.trials])
            for e in found.evaluations]  # fmt: skip
    assert told == [(e.key, [(t.index, t.outcome, t.picture) for t in e.new.trials])
                    for e in whole.evaluations]  # fmt: skip


class Stubborn(SearchAgent):
    """Asks for the same sets for ever."""

    name = "stubborn"

    def ask(self, n):
        rows = self.space.valid_sets()
        return [self.space.from_multi_hot(row) for row in rows[:n]]

    def tell(self, evaluations):
        pass


def test_an_agent_that_never_stops_ends_when_every_picture_was_shown():
    found = run(Stubborn, trials=4)
    assert found.calls == len(asked()) == len(set(asked())) == 1 + 12 + 2
    assert "every picture of the 3 sets has been shown" in found.store.meta("reason")
    assert len(found.records) == 15 + 3, "one record a set says that there is none left"


def test_an_environment_samples_the_folders_sets_and_ends():
    env = gym.make(
        f"vlmfail:{ENV}", renderer="folder:mine", model="model.py:wrong", trials=3, budget=100
    )
    env.reset(seed=0)
    env.action_space.seed(0)
    over, steps = False, 0
    while not over and steps < 100:
        _, _, _, over, info = env.step(env.action_space.sample())
        assert info["valid"]
        steps += 1
    assert over
    assert "every picture" in info["reason"]
    env.close()


def test_slots_always_name_a_set_of_the_folder():
    env = ConceptSlots(
        gym.make(f"vlmfail:{ENV}", renderer="folder:mine", model="model.py:wrong").unwrapped
    )
    rng = np.random.default_rng(0)
    space = env.unwrapped.candidates
    n, named = len(space.concepts), set()
    masks = env.action_masks().reshape(space.max_size, n + 1)
    for _ in range(200):
        slots = [int(rng.choice(np.flatnonzero(mask))) for mask in masks]
        candidate = env.candidate(np.array(slots))
        assert space.validate(candidate) is None
        named.add(space.key(candidate))
    assert len(named) == 3
    env.close()


def test_an_estimate_counts_pictures_not_the_budget():
    found = estimate_run(
        make_domain(ENV), make_model("model.py:wrong"), renderer="folder:mine", budget=1000, calls=4
    )
    assert found.measured == 4
    assert "3 sets have 15 pictures, each of which is one trial" in found.basis


def test_a_preview_shows_sets_of_the_folder(capfd):
    from vlmfail.cli.main import main

    assert main(["preview", ENV, "--renderer", "folder:mine", "--grid", "--json"]) == 0
    scenes = json.loads(capfd.readouterr().out)["scenes"]
    assert {scene["key"] for scene in scenes} <= set(PICTURES)
    shown = [scene["picture_sha256"] for scene in scenes if scene["valid"]]
    assert len(shown) == len(set(shown))
    domain = make_domain(ENV)
    space = candidate_space(domain.space, domain.make_renderer("folder:mine"))
    with pytest.raises(InvalidCandidateError, match="no picture shows this set"):
        space.check(frozenset({"knife_block"}))
