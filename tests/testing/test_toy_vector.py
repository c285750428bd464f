"""Whole searches over scene vectors: contract, resume, boxes, on the toy domain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import vlmfail
from vlmfail.analysis.boxes import boxes_of, draw_in
from vlmfail.core import UsageError
from vlmfail.envs.failure_env import FailureEnv
from vlmfail.envs.options import EnvOptions
from vlmfail.searchers._kinds import KINDS
from vlmfail.testing.domain_suite import DomainContractSuite
from vlmfail.testing.toy import ToyModel, ToyVector

SEARCHERS = KINDS["vector"][1]


class TestToyVector(DomainContractSuite):
    renderer = "flat"

    def make_domain(self) -> ToyVector:
        return ToyVector()


def search(searcher: str, **kwargs: Any) -> vlmfail.Run:
    settings = {"model": "vlmfail.testing.toy:ToyModel", "budget": 30, "trials": 1, **kwargs}
    return vlmfail.search("vlmfail.testing.toy:ToyVector", searcher, **settings)


@pytest.mark.parametrize("searcher", SEARCHERS)
def test_a_stopped_search_goes_on_where_it_was(searcher: str, tmp_path: Path) -> None:
    whole = search(searcher)
    assert whole.calls == 30

    def stop(progress: Any) -> None:
        if progress.calls >= 12:
            raise KeyboardInterrupt

    search(searcher, out=tmp_path / "run", progress=stop).close()
    resumed = vlmfail.resume(tmp_path / "run")
    assert resumed.store.evaluation_log() == whole.store.evaluation_log()
    assert [r.trial for r in resumed.records.values()] == [r.trial for r in whole.records.values()]


def test_boxes_of_a_whole_run() -> None:
    run = search("sorting-dt", budget=160)
    space = ToyVector().space
    (box,) = boxes_of(run, space)
    # The toy model fails on cats by night and on tiny ones.
    values = [space.values(draw_in(box, np.random.default_rng(i))) for i in range(60)]
    rates = [
        ToyModel.failure_rate(
            [str(v["animal"]), *(["night"] * bool(v["night"])), *(["tiny"] * (v["height"] < 0.3))]  # type: ignore[operator]
        )
        for v in values
    ]
    assert np.mean(rates) > 0.5


@pytest.mark.parametrize("searcher", ["beam", "gpts"])
def test_searchers_of_sets_are_refused(searcher: str) -> None:
    with pytest.raises(UsageError, match="choose random, fscs-art, fscsart-dt, sorting-dt"):
        search(searcher)


def test_the_env_takes_sampled_and_broken_actions() -> None:
    env = FailureEnv(ToyVector(), EnvOptions(model=ToyModel(), trials=1, budget=5))
    env.reset(seed=0)
    env.action_space.seed(0)
    assert isinstance(env.action_space, gym.spaces.Box)
    _, _, _, _, info = env.step(env.action_space.sample())
    assert info["valid"]
    _, reward, _, _, info = env.step(np.array([0.1, 1.5, 0.2, 0.3], dtype=np.float32))
    assert (info["valid"], info["rule"]["id"], reward) == (False, "BOX", 0.0)
    assert "height is 1.5" in info["rule"]["text"]
