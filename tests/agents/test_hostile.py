"""Agents and models that break their contract: an outcome or one error, never a wrong rate."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import vlmfail
from vlmfail.agents import SearchAgent
from vlmfail.analysis.metrics import constant_answer, outcome_counts
from vlmfail.core import AgentError, Outcome, Reply, Usage, UsageError
from vlmfail.models.spending import Caps, Ledger
from vlmfail.testing.toy import ToyModel

ENV = "vlmfail.testing.toy:ToyDomain"
CAT, DOG = frozenset({"cat"}), frozenset({"dog"})


class Proposes(SearchAgent[frozenset[str]]):
    """Asks once for whatever it is given."""

    fixed_trials = False

    def __init__(self, batch: Any) -> None:
        self.batch = [batch]
        self.told: list[Any] = []

    def ask(self, n: int) -> Any:
        return self.batch.pop() if self.batch else []

    def tell(self, evaluations: Sequence[Any]) -> None:
        self.told += evaluations


def search(agent: Any, model: Any = None, **kwargs: Any) -> vlmfail.Run:
    return vlmfail.search(
        ENV, agent, model=model or ToyModel(), **{"budget": 24, "trials": 3, **kwargs}
    )


@pytest.mark.parametrize(
    "batch",
    [
        None,
        "cat",
        b"cat",
        np.zeros((2, 10)),
        {CAT},
        (c for c in [CAT]),
        5,
        [5],
        [(CAT, True)],
        [(CAT, -1)],
        [(CAT, 2.0)],
        [(CAT, "3")],
        [frozenset({"nope"})],
        [frozenset({1})],
        [frozenset({("cat",)})],
        [set()],
    ],
)
def test_an_agent_that_returns_no_candidates_is_told_so(batch: Any) -> None:
    with pytest.raises(AgentError):
        search(Proposes(batch))


def test_numpy_whole_numbers_are_trials() -> None:
    assert search(Proposes([(CAT, np.int64(2))])).calls == 2


def test_a_huge_number_of_trials_takes_the_budget_only() -> None:
    assert search(Proposes([(CAT, 10**9), DOG])).calls == 24


def test_a_set_has_one_key_and_one_stream_of_scenes_however_it_is_written() -> None:
    odd = [frozenset({"cat_0"}), frozenset({"cat", "cat_1"}), CAT]
    agent = Proposes([(candidate, 2) for candidate in odd])
    run = search(agent, env_args={"unplaceable": "dog"})
    assert [e.candidate for e in agent.told] == [CAT] * 3
    assert [[t.index for t in e.new.trials] for e in agent.told] == [[0, 1], [2, 3], [4, 5]]
    assert list(run.candidates) == ["cat"]
    odd_dog = search(Proposes([frozenset({"dog_0"})]), env_args={"unplaceable": "dog"})
    assert odd_dog.calls == 0


def right(images: Any, prompt: str, *, seed: int) -> str:
    """Names the right option by its text, whatever its letter."""
    return "ANSWER: yes" if images[0].pixels[0, 0, 0] else "ANSWER: no"


def exits(images: Any, prompt: str, *, seed: int) -> str:
    sys.exit(0)


def recurses(images: Any, prompt: str, *, seed: int) -> str:
    return recurses(images, prompt, seed=seed)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError


def unprintable(images: Any, prompt: str, *, seed: int) -> str:
    raise Unprintable


class Says:
    """A model object that hands back one thing."""

    name = "says"

    def __init__(self, said: Any) -> None:
        self.said = said

    def answer(self, images: Any, prompt: str, *, seed: int) -> Any:
        return self.said


NO_ANSWERS = [
    None, 5, b"ANSWER: A", ["ANSWER: A"], Reply(None), Reply(b"ANSWER: A"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("model", [exits, recurses, unprintable, *map(Says, NO_ANSWERS)])
def test_what_is_no_answer_is_an_error_and_never_a_failure(model: Any, concurrency: int) -> None:
    run = search("random", model, concurrency=concurrency)
    assert outcome_counts(run)["error"] == 24
    assert run.metrics["mfr"] is None
    assert not run.failure_modes


LETTER_A = [
    Reply("ANSWER: A", None),  # type: ignore[arg-type]
    Reply("ANSWER: A", "stop", None),  # type: ignore[arg-type]
    Reply("ANSWER: A \udcff\0"),
    Reply("ANSWER: A", usage=Usage(np.int64(0), "many", -1, float("nan"))),  # type: ignore[arg-type]
    Reply("ANSWER: A", raw={"\udcff": b"\xff", "set": {1, "a"}}),
    Reply("ANSWER: A", raw=["no mapping"]),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("reply", LETTER_A)
def test_odd_replies_are_judged_and_kept_and_one_letter_is_noticed(reply: Reply) -> None:
    run = search("random", Says(reply))
    counts = outcome_counts(run)
    assert counts["pass"] + counts["fail"] == 24
    assert 0 < run.metrics["mfr"] < 1
    assert "letter A" in (constant_answer(run) or "")
    assert len(list(run.store.records())) == 24


def test_a_circular_raw_reply_does_not_end_the_run() -> None:
    raw: dict[str, Any] = {}
    raw["raw"] = raw
    assert search("random", Says(Reply("ANSWER: A", raw=raw))).calls == 24


def test_a_model_that_is_right_by_text_never_fails() -> None:
    run = search("random", right, budget=60)
    assert run.metrics["mfr"] == 0.0
    assert {record.options for record in run.records.values()} == {("yes", "no"), ("no", "yes")}


def test_a_model_cannot_change_the_picture_that_is_kept() -> None:
    def vandal(images: Any, prompt: str, *, seed: int) -> str:
        images[0].png = b"junk"
        images.clear()
        return "ANSWER: A"

    run = search("random", vandal)
    clean = search("random", right)
    assert {r.trial.picture for r in run.records.values()} == {
        r.trial.picture for r in clean.records.values()
    }
    assert all(run.store.picture(r.trial.picture) for r in run.records.values())


def test_a_forked_child_does_not_go_on_with_the_run() -> None:
    driver = os.getpid()

    def forks(images: Any, prompt: str, *, seed: int) -> str:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return "ANSWER: A"

    run = search("random", forks, budget=3)
    if os.getpid() != driver:
        os._exit(3)
    assert run.calls == 3


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_cap_on_requests_never_stops_a_local_model(concurrency: int) -> None:
    run = search("random", ToyModel(requests=0), max_requests=1, concurrency=concurrency)
    assert run.status == "finished"
    assert run.calls == 24


def test_a_model_that_breaks_frees_its_request() -> None:
    def interrupts(images: Any, prompt: str, *, seed: int) -> str:
        raise KeyboardInterrupt

    run = search("random", interrupts, max_requests=1, concurrency=2)
    assert run.status == "interrupted"
    assert run.calls == 0


def test_reserving_waits_for_what_is_in_flight_alone() -> None:
    ledger = Ledger(Caps(max_requests=1))
    ledger.add(Usage(requests=1))
    assert not ledger.reserve(wait=True)


def test_ctrl_c_pays_no_request_that_has_not_begun() -> None:
    begun: list[int] = []

    def interrupts(images: Any, prompt: str, *, seed: int) -> str:
        begun.append(seed)
        raise KeyboardInterrupt

    search("random", interrupts, concurrency=2, budget=24, batch=8)
    assert len(begun) < 24


class Costly:
    name = "costly"

    def __init__(self) -> None:
        raise ValueError("no key")

    def answer(self, images: Any, prompt: str, *, seed: int) -> str:
        return ""


def test_a_model_that_cannot_be_made_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no key"):
        search("random", Costly)


def test_wrong_outcomes_are_never_counted_as_failures() -> None:
    for wrong in (5, ["pass"], ["invalid_scene"], [3], "bogus"):
        with pytest.raises(UsageError):
            search("random", env_args={"count_as_fail": wrong})
    run = search("random", Says(Reply("hm")), env_args={"count_as_fail": ["unparsed"]})
    assert run.metrics["mfr"] == 1.0
    assert run.count_as_fail == {Outcome.UNPARSED}
