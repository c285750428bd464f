"""Re-runs of boxes in spaces so small that a scene is drawn several times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from vlmfail import Run, search
from vlmfail.analysis import rerun
from vlmfail.analysis.boxes import Box
from vlmfail.analysis.rerun import rerun_modes
from vlmfail.analysis.vector_modes import BOX_META, box_id, boxes_by_id, fresh_places
from vlmfail.core import Outcome, Trial, TrialRecord
from vlmfail.envs.registry import make_domain
from vlmfail.envs.vector_space import Dimension, VectorSpace
from vlmfail.runs.store import dump_json

HERE = Path(__file__)


class Engine:
    """Has nothing to do."""

    def close(self) -> None:
        pass


class Discrete:
    """256 scenes, of which those with the first two letters fail."""

    name = "discrete"
    defaults: ClassVar[dict[str, Any]] = {"trials": 1, "model": f"{HERE}:Still"}

    def __init__(self) -> None:
        letters = Dimension("letter", "choice", tuple("abcdefgh"))
        digits = Dimension("digit", "choice", tuple("0123456789ABCDEF"))
        self.space = VectorSpace([letters, digits, Dimension("flag", "flag")])

    def check(self) -> None:
        pass

    def make_world(self, policy: Any = None) -> Engine:
        return Engine()

    def preview(self, world: Any, candidate: Any) -> Any:
        raise NotImplementedError

    def run_episode(
        self, world: Any, policy: Any, candidate: Any, index: int, *, run_seed: int
    ) -> tuple[TrialRecord, None]:
        key = self.space.key(candidate)
        bad = self.space.values(candidate)["letter"] in "ab"
        outcome = Outcome.FAIL if bad else Outcome.PASS
        trial = Trial(key, index, outcome, rule="R", direction="slipped" if bad else None)
        return TrialRecord(trial, scene={"digest": key}), None


class Still:
    """Does nothing."""

    name = "still"

    def reset(self, instruction: str) -> None:
        pass

    def act(self, observation: Any) -> np.ndarray:
        return np.zeros((1, 7))


@pytest.fixture
def run(tmp_path: Path) -> Any:
    done = search(f"{HERE}:Discrete", "random", budget=200, seed=0, out=tmp_path / "run")
    yield done
    done.close()


def test_a_scene_is_one_observation_however_often_it_is_drawn(run: Run) -> None:
    before = set(run.records)
    confirmed = run.confirm()
    modes = confirmed.failure_modes
    listed = fresh_places(confirmed)
    assert len(listed) == len(modes) > 0
    for mode in modes:
        places = listed[dump_json(mode.candidate)]
        assert len(places) == len(set(places)) == mode.fresh.n == len(set(mode.fresh.trials))
        assert 0 < len(places) < 20, "the box has fewer scenes that the search did not meet"
        assert not before & set(places)
    assert set(confirmed.records) - before == {p for places in listed.values() for p in places}


def test_places_that_were_listed_twice_count_once(run: Run) -> None:
    confirmed = run.confirm()
    modes = confirmed.failure_modes
    twice = {name: places * 2 for name, places in fresh_places(confirmed).items()}
    confirmed.store.set_meta(BOX_META, dump_json(twice))
    again = Run.open(confirmed.path)
    assert [mode.fresh for mode in again.failure_modes] == [mode.fresh for mode in modes]


def test_boxes_that_share_scenes_share_their_trials(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the re-run was interrupted between the two or not."""
    box = next(iter(boxes_by_id(run, run.threshold).values()))
    mode = run.failure_modes[0]
    wider = Box(box.space, tuple(box.limits), 0.5, box.failures, box.n, box.scenes)
    other = {"letter": ["x"]}
    both = {box_id(box): box, dump_json(other): wider}
    monkeypatch.setattr(rerun, "boxes_by_id", lambda *_: both)
    two = [mode, replace(mode, candidate=other)]
    domain, model = make_domain(f"{HERE}:Discrete"), Still()

    def places(of: list[Any]) -> dict[str, list[Any]]:
        monkeypatch.setattr(rerun, "surest", lambda *_: of)
        return dict(fresh_places(rerun_modes(run, domain, model)))

    apart = [places(two[:1]), places(two)][-1]
    assert len(apart) == 2
    assert all(len(listed) == len(set(listed)) > 1 for listed in apart.values())
    shared = set.intersection(*map(set, apart.values()))
    assert shared, "what the first box drew is fresh for the second, too"
    fresh = {place for listed in apart.values() for place in listed}
    assert len(run.records) <= 200 + len(fresh)
